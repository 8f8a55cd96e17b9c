"""Where results are kept: one JSON line per run and scenario, only ever appended.

    store/
      rows.jsonl      committed; a row is written once, whole, under a lock
      traces/         committed too: small files of numbers that a picture is drawn from
      runs/<id>/      the checkpoints of a run, and the lock of the process that carries it out

A power cut can leave half a line at the end: it is not read, and cut off by the next append.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from t1.bench.standard import UNTRAINED
from t1.bench.study import MAX_EPOCHS, Run
from t1.data.atomic import open_target
from t1.errors import InputError, T1Error


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one run came to in one scenario; errors are on standardised values."""

    id: str  # of the run
    dataset: str
    model: str
    settings: dict[str, Any]
    mask: dict[str, Any]
    batch_size: int
    learning_rate: float
    seed: int
    split: str
    scenario: str  # "point 0.1", "block", "natural 0.1", "natural"
    metrics: dict[str, float]  # "mse", "mae", and whatever else a study measures
    cells: int  # scored
    eval_seconds: float
    peak_memory_mb: float
    versions: dict[str, str]
    finished: str  # UTC
    # Of the training, if there was any:
    epochs: int = 0  # run, the last one perhaps in part
    best_epoch: int = 0
    steps: int = 0
    best_valid: float | None = None
    stopped: str = "nothing to train"  # or by "patience", "epochs", or "seconds": a budget
    budget_seconds: float | None = None
    clock: str = "wall"  # that counted the seconds of training; cpu: processor time
    schedule: str = "none"
    train_seconds: float = 0.0
    parameters: int = 0
    threads: int = 1
    score_every: int = 1  # of the test windows; more than 1: not all were scored
    scale: str = "train"  # the rows that units come from, or "series" for all
    loss: str = ""  # if not the model's own
    average: float | None = None  # decay of the running average of the weights, if there is one
    start: str = ""  # "pretrained": the training began with the shipped weights
    # What the figures depend on besides the settings; rows from before these were recorded have none of them.
    data: str = ""  # the dataset's checksum
    training: int = 0  # version of the training protocol
    scoring: int = 0  # version of the scenario
    commit: str = ""  # of this package

    @property
    def mse(self) -> float:
        return self.metrics["mse"]

    @property
    def kind(self) -> str:
        """Of its scenario: "point", "block", ..."""
        return self.scenario.partition(" ")[0]

    @property
    def full(self) -> bool:
        """Whether the run went through the whole protocol, constant rate and all."""
        if self.stopped == "nothing to train":
            return True
        ended = self.stopped == "patience" or (self.stopped == "epochs" and self.epochs >= MAX_EPOCHS)
        return ended and self.schedule.endswith("constant")

    @property
    def budget(self) -> tuple[float | None, str]:
        """Seconds, and the clock that counts them."""
        return self.budget_seconds, self.clock

    @property
    def key(self) -> tuple[object, ...]:
        """A row with the same key is the same result."""
        made_with = self.data, self.training, self.scoring
        return self.id, self.scenario, self.steps, self.budget, self.score_every, *made_with

    def made_with(self, data: str, training: int, scoring: int) -> bool:
        """Whether it is of this data and these versions, as far as the row says."""
        pairs = (self.data, data), (self.training, training), (self.scoring, scoring)
        return all(not ours or not theirs or ours == theirs for ours, theirs in pairs)


PATIENT = 1.0  # seconds in which a run that another process only looks at becomes free


class Store:
    """The rows in a folder, and the runs in progress."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / "rows.jsonl"

    def rows(self) -> list[Row]:
        """All rows, in the order they were written."""
        if not self.path.exists():
            return []
        return _parse(self.path, self.path.read_bytes())[0]

    def latest(self) -> list[Row]:
        """For every run and scenario the row that was trained longest, and scored on most windows."""
        return latest(self.rows())

    def append(self, rows: Sequence[Row]) -> None:
        """Append the rows that are not in the file yet, in one locked write."""
        lock = self.folder / "runs" / "rows.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock), self.path.open("a+b") as stream:  # a killed process gives the lock back
            stream.seek(0)
            there, whole = _parse(self.path, stream.read())
            stream.truncate(whole)
            known = {row.key for row in there}
            lines = [_line(row) for row in rows if row.key not in known]
            stream.write("".join(lines).encode())
            stream.flush()
            os.fsync(stream.fileno())

    def checkpoint(self, run: Run) -> Path:
        """The folder of the run's checkpoints."""
        return self.folder / "runs" / run.id

    def trace(self, kind: str, run_id: str) -> dict[str, Any] | None:
        """Numbers that a picture is drawn from, if they were kept."""
        path = self._trace(kind, run_id)
        found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
        return found

    def keep_trace(self, kind: str, run: Run, steps: int, content: Mapping[str, Any]) -> None:
        """Keep such numbers of a run after so many steps; those of a longer training are not replaced."""
        before = self.trace(kind, run.id)
        if before is not None and before["steps"] > steps:
            return
        path = self._trace(kind, run.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"dataset": run.dataset, "model": run.model, "steps": steps, **content}
        with open_target(path) as stream:
            stream.write(json.dumps(about, allow_nan=False).encode())

    def _trace(self, kind: str, run_id: str) -> Path:
        return self.folder / "traces" / f"{kind}-{run_id}.json"

    @contextmanager
    def claim(self, run: Run) -> Iterator[bool]:
        """True if the run is ours until the block ends, False if another process is at it."""
        folder = self.checkpoint(run)
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        try:
            # `claimed` holds the lock for a moment to see whether it is free, so one refusal says nothing.
            lock.acquire(timeout=PATIENT, poll_interval=0.02)
        except Timeout:
            yield False
            return
        try:
            about = {"title": str(run), "pid": os.getpid(), **asdict(run)}
            (folder / "run.json").write_text(json.dumps(about, indent=1))
            yield True
        finally:
            lock.release()

    def kept(self) -> list[Run]:
        """The runs of networks that have been at work here, whatever study or option they came from."""
        found = []
        for path in sorted((self.folder / "runs").glob("*/run.json")):
            about = json.loads(path.read_text())
            run = Run(**{f.name: about[f.name] for f in fields(Run) if f.name in about})
            found += [run] * (run.model not in UNTRAINED)
        return found

    def unfinished(self) -> list[tuple[str, str, float]]:
        """Id, title and hours of training so far of the runs that have a checkpoint and no row."""
        known = {row.id for row in self.rows()}
        found = []
        for folder in sorted((self.folder / "runs").glob("*")):
            state = folder / "training" / "config.json"
            if folder.name not in known and (folder / "run.json").exists() and state.exists():
                title = json.loads((folder / "run.json").read_text())["title"]
                seconds = json.loads(state.read_text())["info"]["state"]["seconds"]
                found.append((folder.name, title, seconds / 3600))
        return found

    def claimed(self, run_id: str) -> bool:
        """Whether a process is at this run now."""
        path = self.folder / "runs" / run_id / "lock"
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        return False


def latest(rows: Sequence[Row]) -> list[Row]:
    """For every run and scenario the row that was trained longest, and scored on most windows.

    If the data or the protocol changed between two rows, the older one no longer counts.
    """
    last = {(row.id, row.scenario): row for row in rows}
    best: dict[tuple[str, str], Row] = {}
    for row in rows:
        newest = last[row.id, row.scenario]
        if not row.made_with(newest.data, newest.training, newest.scoring):
            continue
        before = best.get((row.id, row.scenario))
        if before is None or _rank(row) >= _rank(before):
            best[row.id, row.scenario] = row
    return list(best.values())


def _rank(row: Row) -> tuple[int, bool, int]:
    return row.steps, row.full, -row.score_every


def _line(row: Row) -> str:
    """The row as it is kept; what is at its default is left out."""
    for name, value in row.metrics.items():
        if not isfinite(value):
            raise T1Error(
                f"{row.model} on {row.dataset}, {row.scenario}: {name} = {value} over {row.cells} cells "
                "is no result.\nScore more windows, or train longer."
            )
    kept = {f.name: getattr(row, f.name) for f in fields(Row) if getattr(row, f.name) != f.default}
    return json.dumps(kept, allow_nan=False) + "\n"


NAMES = {f.name for f in fields(Row)}
REQUIRED = {f.name for f in fields(Row) if f.default is MISSING}


def _parse(path: Path, content: bytes) -> tuple[list[Row], int]:
    """The rows, and how many bytes of the file are whole lines."""
    rows: list[Row] = []
    lines = content.splitlines(keepends=True)
    whole = 0
    for number, line in enumerate(lines, start=1):
        try:
            found = _renamed(json.loads(line))
            complete = line.endswith(b"\n")
        except ValueError:
            complete = False
        if not complete and number == len(lines):
            break  # a power cut
        if not complete or not REQUIRED <= set(found) <= NAMES:
            raise InputError(
                f"line {number} of {path} is no result row of this version.",
                cure="Restore the file from its history, or give another folder.",
                option="store",
            )
        rows.append(Row(**found))
        whole += len(line)
    return rows, whole


def _renamed(found: dict[str, Any]) -> dict[str, Any]:
    """A row from before rows could carry other metrics, in today's names: nothing is measured anew."""
    if "mse" in found and "mae" in found:
        found["metrics"] = {"mse": found.pop("mse"), "mae": found.pop("mae")}
        if found.get("scenario") == "block":
            found["scenario"] = "block-heavy"  # the masks that this name stood for then
    return found
