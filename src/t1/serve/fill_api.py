"""/v1/fill and /v1/models: small tables, answered while the caller waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from t1.serve.core import Core, TheCore
from t1.serve.options import DirectOptions
from t1.serve.problems import Refused, responses
from t1.serve.tables import ARROW, JSON, PARQUET
from t1.serve.uploads import query_options, whole_body
from t1.serve.views import FillView, ModelView

router = APIRouter(prefix="/v1", tags=["fill"])
BINARY = {"schema": {"type": "string", "format": "binary"}}
CELL = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]}
TABLE = {
    "type": "object",
    "required": ["table"],
    "properties": {
        "table": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "items": CELL},
        },
        "options": DirectOptions.model_json_schema(),
    },
    "additionalProperties": False,
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": TABLE}, ARROW: BINARY, PARQUET: BINARY},
    },
    "parameters": [
        {
            "name": "options",
            "in": "query",
            "description": "JSON, for a body that is not",
            "schema": {"type": "string"},
        }
    ],
}
ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"description": "the filled table", "content": {ARROW: BINARY, PARQUET: BINARY}},
    **responses(404, 408, 413, 415, 503, 504),
}


@router.post("/fill", response_model=FillView, responses=ANSWER, openapi_extra=BODY, summary="Fill a table")
async def fill(request: Request, core: TheCore) -> Response:
    return await _fill(request, core, None)


@router.post(
    "/models/{id}/fill",
    response_model=FillView,
    responses=ANSWER,
    openapi_extra=BODY,
    summary="Fill new rows with a fitted model",
)
async def fill_with(id: str, request: Request, core: TheCore) -> Response:
    model = _model(core, id)
    return await _fill(request, core, core.settings.folder / "models" / model["id"])


@router.get("/models/{id}", responses=responses(404), summary="A fitted model and how wrong it is")
def model(id: str, core: TheCore) -> ModelView:
    found = _model(core, id)
    about = found.pop("about")
    return ModelView(**found, columns=about["columns"], scorecard=about["scorecard"])


@router.delete("/models/{id}", status_code=204, responses=responses(404), summary="Delete a model")
def delete_model(id: str, core: TheCore) -> Response:
    core.remove_model(_model(core, id)["id"])
    return Response(status_code=204)


def _model(core: Core, id: str) -> dict[str, Any]:
    found = core.store.model(id)
    if found is None:
        raise Refused(404, "there is no such model, or it was deleted", field="id")
    return found


async def _fill(request: Request, core: Core, folder: Path | None) -> Response:
    known = (JSON, ARROW, PARQUET)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in known:
        raise Refused(415, f"a table is sent as {', '.join(known)}", field="Content-Type")
    wanted = [part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")]
    answer = next((kind for kind in wanted if kind in known), media)
    query = query_options(request.query_params)
    settings = core.settings
    body = await whole_body(request, settings.max_direct, settings.patience)
    made = await core.direct.ask("fill", body, media, answer, query, settings.max_direct_cells, folder)
    return Response(made, media_type=answer)
