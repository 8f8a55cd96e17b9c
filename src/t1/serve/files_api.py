"""/v1/files: upload once, look at it as often as needed."""

from __future__ import annotations

import asyncio
import io
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request, Response

from t1.serve.core import Core, TheCore
from t1.serve.options import JobOptions
from t1.serve.problems import Refused, responses
from t1.serve.store import StoredFile
from t1.serve.uploads import form_of, keep, keep_stream, room_for, upload_of, whole_body
from t1.serve.views import FileView, LookView

router = APIRouter(prefix="/v1/files", tags=["files"])
SAMPLE = "airports.csv.gz"
FORM = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            }
        }
    },
}


@router.post(
    "",
    status_code=201,
    responses=responses(408, 413),
    openapi_extra={"requestBody": FORM},
    summary="Upload a file",
)
async def upload(request: Request, core: TheCore) -> FileView:
    async with form_of(request, core.settings, core.store) as form:
        file = await asyncio.to_thread(keep, upload_of(form), core.settings, core.store)
    return _view(file)


@router.post("/sample", status_code=201, responses=responses(), summary="A file to try")
def sample(core: TheCore) -> FileView:
    raw = (resources.files("t1.data") / "samples" / SAMPLE).read_bytes()
    room_for(core.settings, core.store, len(raw))
    return _view(keep_stream(io.BytesIO(raw), raw[:8], SAMPLE, len(raw), core.settings, core.store))


@router.post(
    "/{id}/look",
    responses=responses(404, 408, 413, 503, 504),
    summary="How a file is understood: its columns, its gaps, what looks odd",
    openapi_extra={
        "requestBody": {"content": {"application/json": {"schema": JobOptions.model_json_schema()}}}
    },
)
async def look(id: str, request: Request, core: TheCore) -> LookView:
    file = find(core, id)
    body = await whole_body(request, 1_000_000, core.settings.patience)
    options = given_options(body)
    path = core.settings.folder / "files" / file.id / file.source
    limits = (core.settings.max_unpacked, core.settings.max_cells)
    found = await core.direct.ask("look", path, options, *limits)
    return LookView(**found)


@router.delete("/{id}", status_code=204, responses=responses(404), summary="Delete an upload")
def delete(id: str, core: TheCore) -> Response:
    core.remove_file(find(core, id).id)
    return Response(status_code=204)


def find(core: Core, id: str) -> StoredFile:
    file = core.store.file(id)
    if file is None:
        raise Refused(404, "there is no such file, or it was deleted", cure="Upload it again.", field="file")
    return file


def given_options(body: bytes) -> Any:
    """The options in a body of JSON; none where it is empty."""
    import json

    try:
        return json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(422, "the body is not JSON", field="body") from None


def _view(file: StoredFile) -> FileView:
    return FileView(id=file.id, name=file.name, bytes=file.bytes)
