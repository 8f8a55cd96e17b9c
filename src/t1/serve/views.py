"""What the server tells, as it is described in OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from t1.serve.store import Job
from t1.serve.tickets import Tickets


class ProgressView(BaseModel):
    """Where a running job stands; what is not known is null."""

    stage: str
    stopping: bool = Field(
        False,
        description="it was asked to fill with the best so far: it judges the methods to the end, then fills",
    )
    seconds: float
    seconds_left: float | None = Field(None, description="at most so long, by the budget")
    best_error: float | None = Field(
        None,
        description="mean absolute error of the best method so far on hidden cells, in units of the spread",
    )
    step: int | None = None
    best_loss: float | None = Field(None, description="of the training, on its validation part")


class SummaryView(BaseModel):
    """What a job that is done has made."""

    filled: int
    missing: int
    verdict: str
    scaled_mae: float | None
    linear_scaled_mae: float | None
    coverage: float | None
    level: float | None
    understood: list[str]
    problems: list[str]
    columns: list[str]
    seconds: float


class JobView(BaseModel):
    """A job and where its things are."""

    id: str
    state: str = Field(description="queued, running, done, failed or cancelled")
    name: str
    options: dict[str, Any]
    created: float = Field(description="seconds since 1970")
    started: float | None
    ended: float | None
    expires: float | None = Field(description="when it will be forgotten")
    attempt: int = Field(description="how often it was begun")
    waiting: int = Field(description="queued jobs beside this one, if it is queued")
    progress: ProgressView | None
    problem: dict[str, Any] | None = Field(description="why it failed: detail, cure, field")
    summary: SummaryView | None
    model: str | None
    links: dict[str, str]


class FileView(BaseModel):
    """An upload."""

    id: str
    name: str
    bytes: int


class JobOrder(BaseModel):
    """A job for a file that was uploaded before."""

    file: str = Field(max_length=100)
    options: dict[str, Any] = {}


class ColumnView(BaseModel):
    """What a column is taken for, and its gaps."""

    name: str
    kind: str
    why: str
    missing: int
    gaps: int
    longest: int
    low: float | None
    high: float | None
    map: list[float] = Field(description="the share that is missing, from the first rows to the last")


class LookView(BaseModel):
    """How a file is understood."""

    understood: list[str]
    problems: list[str]
    rows: int
    bytes: str
    missing: int
    time: list[str]
    id: list[str]
    found: dict[str, str] = Field(
        description="how a text file is written, by option: separator, decimal, encoding"
    )
    all_columns: list[str]
    left_alone: dict[str, str]
    columns: list[ColumnView]
    more_columns: int
    preview: list[list[str]] = Field(description="the first cells of each column, as text")


class CellView(BaseModel):
    """A filled cell."""

    row: int | None
    time: str | None = None
    id: str | None = None
    value: float | None
    lo: float | None
    hi: float | None
    method: str | None
    gap_length: int
    tested: bool
    rule: str | None


class CellsView(BaseModel):
    """The filled cells of one gap."""

    column: str
    cells: list[CellView]
    more: int = Field(description="cells of the gap that are not listed")


class WithoutColumn(BaseModel):
    """What the fill would be without a column nearby."""

    column: str
    without: float | None
    moved: float | None = Field(description="how far the fill moves")
    attention: float | None = Field(description="the share of T1's attention, where T1 fills")


class ExplanationView(BaseModel):
    """From which columns the fill of a cell was taken."""

    column: str
    time: str | None
    value: float
    method: str
    gap: int
    spread: float
    columns: list[WithoutColumn]


class ModelView(BaseModel):
    """A fitted fill that was kept."""

    id: str
    name: str
    created: float
    bytes: int
    columns: list[str]
    scorecard: dict[str, Any]


class FillView(BaseModel):
    """A filled table as JSON, and how wrong the fill is."""

    table: dict[str, list[Any]]
    filled: int
    problems: list[str]
    scorecard: dict[str, Any]
    seconds: float


class AboutView(BaseModel):
    """What this server knows and allows."""

    version: str
    methods: dict[str, str]
    kinds: list[str]
    limits: dict[str, float]


class HealthView(BaseModel):
    """Whether the server works."""

    status: str
    version: str
    workers: int
    jobs: dict[str, int]


def job_view(
    job: Job, progress: dict[str, Any] | None, waiting: int, keep: float, tickets: Tickets
) -> JobView:
    """A job as its owner sees it."""
    here = f"/v1/jobs/{job.id}"
    names = ["events"]
    if job.state == "done":
        names += ["result", "scorecard", "provenance", "report"]
    links = {"self": here, **{name: tickets.link(f"{here}/{name}") for name in names}}
    if job.model is not None:
        links["model"] = f"/v1/models/{job.model}"
    return JobView(
        id=job.id,
        state=job.state,
        name=job.name,
        options=dict(job.options),
        created=job.created,
        started=job.started,
        ended=job.ended,
        expires=None if job.ended is None else job.ended + keep,
        attempt=job.attempt,
        waiting=waiting if job.state == "queued" else 0,
        progress=None if progress is None or job.state != "running" else ProgressView(**progress),
        problem=None if job.problem is None else dict(job.problem),
        summary=None if job.summary is None else SummaryView(**job.summary),
        model=job.model,
        links=links,
    )
