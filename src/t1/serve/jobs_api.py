"""/v1/jobs: watch a job, take its results, cancel it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, StreamingResponse

from t1.serve.cells import gap_at
from t1.serve.core import Core, TheCore
from t1.serve.guard import report_headers
from t1.serve.problems import Refused, responses
from t1.serve.store import Job
from t1.serve.tickets import attachment
from t1.serve.views import CellsView, ExplanationView, JobView, job_view

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
EVENT = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string", "description": "the job as JSON"}},
}
STILL_HERE = 15.0  # seconds after which a silent stream of events gives a sign of life


@router.get("/{id}", responses=responses(404), summary="The state of a job")
def state(id: str, core: TheCore) -> JobView:
    return view(core, find(core, id))


@router.get(
    "/{id}/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": EVENT}}, "description": "events"},
        **responses(404),
    },
    summary="The job each time it changes, as server-sent events; the last one when it is over",
)
async def events(id: str, core: TheCore) -> StreamingResponse:
    await asyncio.to_thread(find, core, id)
    return StreamingResponse(_events(core, id), media_type="text/event-stream")


@router.get(
    "/{id}/result",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "the filled file"},
        **responses(404, 409),
    },
    summary="The filled file, of the same kind as the one that came",
)
def result(id: str, core: TheCore) -> FileResponse:
    job = _done(core, id)
    suffix = "".join(Path(job.source).suffixes)
    stem = job.name.split(".")[0] or "table"
    return _file(core, job, f"filled{suffix}", f"{stem}-filled{suffix}", "application/octet-stream")


@router.get(
    "/{id}/scorecard",
    response_class=FileResponse,
    responses={
        200: {
            "content": {"application/json": {"schema": {"type": "object"}}},
            "description": "the scorecard",
        },
        **responses(404, 409),
    },
    summary="How wrong the fill is",
)
def scorecard(id: str, core: TheCore) -> FileResponse:
    job = _done(core, id)
    return _file(core, job, "scorecard.json", f"{job.name.split('.')[0]}-scorecard.json", "application/json")


@router.get(
    "/{id}/provenance",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
            },
            "description": "a row per filled cell",
        },
        **responses(404, 409),
    },
    summary="Where each fill came from",
)
def provenance(
    id: str, core: TheCore, format: Annotated[str, Query(pattern="^(csv|parquet)$")] = "csv"
) -> Response:
    job = _done(core, id)
    name = f"{job.name.split('.')[0]}-provenance.{format}"
    path = core.scheduler.attempt(job) / "provenance.parquet"
    if format == "parquet":
        return _file(core, job, path.name, name, "application/vnd.apache.parquet")
    import pandas as pd

    text = pd.read_parquet(path).to_csv(index=False)
    return Response(text, media_type="text/csv", headers={"Content-Disposition": attachment(name)})


@router.get(
    "/{id}/report",
    response_class=FileResponse,
    responses={
        200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "one HTML page"},
        **responses(404, 409),
    },
    summary="The report: what was filled, by what, and how wrong it is",
)
def report(id: str, core: TheCore, download: bool = False) -> FileResponse:
    job = _done(core, id)
    path = core.scheduler.attempt(job) / "report.html"
    headers = dict(report_headers())
    if download:
        headers["Content-Disposition"] = attachment(f"{job.name.split('.')[0]}-report.html")
    return FileResponse(path, media_type="text/html", headers=headers)


@router.get("/{id}/cells", responses=responses(404, 409), summary="The filled cells of one gap")
def cells(
    id: str,
    core: TheCore,
    column: Annotated[str, Query(max_length=1000)],
    row: Annotated[int | None, Query(ge=0, description="a row in the gap, the first is 0")] = None,
    time: Annotated[str | None, Query(max_length=40, description="or a time in it")] = None,
    place: Annotated[int | None, Query(ge=0, description="or where the report draws it")] = None,
) -> CellsView:
    return gap_at(core.scheduler.attempt(_done(core, id)), column, row=row, time=time, place=place)


@router.get(
    "/{id}/explain",
    responses=responses(404, 409, 413, 503, 504),
    summary="From which columns a fill was taken; of a job that kept its model",
)
async def explain(
    id: str,
    core: TheCore,
    column: Annotated[str, Query(max_length=1000)],
    row: Annotated[int, Query(ge=0, le=10**12, description="of the cell, the first is 0")],
) -> ExplanationView:
    job = await asyncio.to_thread(_done, core, id)
    model = None if job.model is None else await asyncio.to_thread(core.store.model, job.model)
    if model is None:
        raise Refused(
            409,
            "the job kept no model to explain it by",
            cure="Create it with keep_model.",
            field="keep_model",
        )
    source = core.scheduler.folder(id) / job.source
    folder = core.settings.folder / "models" / model["id"]
    found = await core.direct.ask("explain", source, column, row, dict(job.options), folder)
    return ExplanationView(**found)


@router.post("/{id}/stop", responses=responses(404, 409), summary="Stop learning, fill with the best so far")
def stop(id: str, core: TheCore) -> JobView:
    job = find(core, id)
    if not core.scheduler.stop(id) and job.state != "running":
        raise Refused(409, f"the job is {job.state}, so there is nothing to stop")
    return view(core, job)


@router.post("/{id}/cancel", responses=responses(404, 409), summary="End a job without a result")
def cancel(id: str, core: TheCore) -> JobView:
    job = find(core, id)
    if not core.scheduler.cancel(id):
        raise Refused(409, f"the job is {job.state} already")
    return view(core, find(core, id))


@router.delete("/{id}", status_code=204, responses=responses(404), summary="Delete a job and its files")
def delete(id: str, core: TheCore) -> Response:
    core.scheduler.delete(find(core, id).id)
    return Response(status_code=204)


def find(core: Core, id: str) -> Job:
    job = core.store.job(id)
    if job is None:
        raise Refused(404, "there is no such job, or it was deleted", field="id")
    return job


def _done(core: Core, id: str) -> Job:
    job = find(core, id)
    if job.state != "done":
        raise Refused(409, f"the job is {job.state}, so it has no result", cure="Wait until it is done.")
    return job


def view(core: Core, job: Job) -> JobView:
    waiting = core.store.ahead(job) if job.state == "queued" else 0
    progress = core.scheduler.where(job.id)
    return job_view(job, progress, waiting, core.settings.keep, core.tickets)


def _file(core: Core, job: Job, name: str, called: str, media: str) -> FileResponse:
    path = core.scheduler.attempt(job) / name
    return FileResponse(path, media_type=media, headers={"Content-Disposition": attachment(called)})


async def _events(core: Core, id: str) -> AsyncIterator[str]:
    """Each state is whole, so that whoever comes back late has missed nothing."""
    bell, last = core.bell.watch(id), ""
    try:
        while True:
            bell.clear()
            job = await asyncio.to_thread(core.store.job, id)
            if job is None:
                yield "event: gone\ndata: {}\n\n"
                return
            now = (await asyncio.to_thread(view, core, job)).model_dump_json()
            if now != last:
                last = now
                yield f"event: job\ndata: {now}\n\n"
            if job.over:
                return
            try:
                await asyncio.wait_for(bell.wait(), STILL_HERE)
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        core.bell.leave(id, bell)
