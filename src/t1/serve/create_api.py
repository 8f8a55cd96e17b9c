"""/v1/jobs: create a job; a request that is sent again with its key gives the same one."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from pydantic import ValidationError

from t1.serve.core import Core, TheCore, client_of
from t1.serve.files_api import find, given_options
from t1.serve.jobs_api import view
from t1.serve.options import JobOptions, parse
from t1.serve.problems import Refused, of_validation, responses
from t1.serve.scheduler import remove
from t1.serve.store import Job, KeyedRequest, StoredFile, new_id
from t1.serve.uploads import CLOSE, form_of, keep, link, options_of, room_for, upload_of, whole_body
from t1.serve.views import JobOrder, JobView

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="the same for a request that is sent again: it gives the same job, not a second one",
    ),
]
ORDER = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary"},
                    "options": {"type": "string", "description": "JSON, as the options below"},
                },
            }
        },
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "description": "the id of an upload"},
                    "options": JobOptions.model_json_schema(),
                },
            }
        },
    },
}


@router.post(
    "",
    status_code=201,
    responses=responses(404, 408, 413, 415, 429),
    openapi_extra={"requestBody": ORDER},
    summary="Create a job: a file and how to fill it",
)
async def create(request: Request, response: Response, core: TheCore, idempotency_key: Key = None) -> JobView:
    client, key = client_of(request), idempotency_key
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        if key is None:  # with a key the job may be there already, however many wait
            await asyncio.to_thread(_turn, core, client)
        async with form_of(request, core.settings, core.store) as form:
            options = options_of(form)
            _check(core, options)
            upload = upload_of(form)
            file = await asyncio.to_thread(keep, upload, core.settings, core.store)
        try:
            sent = None if key is None else await asyncio.to_thread(_sent, key, options, _path(core, file))
            job = await asyncio.to_thread(_queue, core, file, options, client, sent)
        finally:
            await asyncio.to_thread(core.remove_file, file.id)  # the job has its own link
    elif kind == "application/json":
        body = await whole_body(request, 1_000_000, core.settings.patience)
        try:
            order = JobOrder.model_validate(given_options(body))
        except ValidationError as error:
            raise of_validation(error) from None
        _check(core, order.options)
        sent = None if key is None else _sent(key, order.options, order.file)
        before = None if sent is None else await asyncio.to_thread(core.store.made_by, client, sent)
        if before is not None:  # the upload may be gone by now
            job = before
        else:
            file = await asyncio.to_thread(find, core, order.file)
            job = await asyncio.to_thread(_queue, core, file, order.options, client, sent)
    else:
        raise Refused(415, "a job is sent as multipart/form-data or application/json", field="Content-Type")
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return view(core, job)


def _check(core: Core, options: Any) -> None:
    parse(JobOptions, options).check(core.settings.max_time)


def _turn(core: Core, client: str) -> None:
    """Refuse one more job of a client of whom too many wait; asked before its upload comes in."""
    if core.store.queued(client) >= core.settings.max_queued:
        detail = f"{core.settings.max_queued} jobs of yours are waiting"
        raise Refused(429, detail, headers={"Retry-After": "30", **CLOSE})


def _sent(key: str, options: dict[str, Any], file: Path | str) -> KeyedRequest:
    """What tells a request that is sent again from another one: its options, and its file or the id of an upload."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    if isinstance(file, str):
        digest.update(file.encode())
    else:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return KeyedRequest(key=key, request=digest.hexdigest())


def _path(core: Core, file: StoredFile) -> Path:
    return core.settings.folder / "files" / file.id / file.source


def _queue(
    core: Core, file: StoredFile, options: dict[str, Any], client: str, sent: KeyedRequest | None
) -> Job:
    if sent is not None and (before := core.store.made_by(client, sent)) is not None:
        return before
    _turn(core, client)
    room_for(core.settings, core.store, file.bytes)
    id = new_id()
    try:
        link(file, core.settings.folder / "files", core.scheduler.folder(id))
        job = core.store.add(id, client, file, options, sent)
    except BaseException:
        remove(core.scheduler.folder(id))
        raise
    if job.id != id:  # the same request came twice at once
        remove(core.scheduler.folder(id))
    core.scheduler.wake()
    return job
