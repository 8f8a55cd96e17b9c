"""The application: the page, the interface for programs, health and metrics."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from t1 import __version__
from t1.data.kinds import KINDS
from t1.errors import InputError
from t1.methods.catalog import METHODS
from t1.serve import create_api, files_api, fill_api, jobs_api
from t1.serve.core import Core, TheCore
from t1.serve.guard import Guard
from t1.serve.problems import Problem, Refused, answer, responses
from t1.serve.settings import Settings
from t1.serve.views import AboutView, HealthView

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings) -> FastAPI:
    """The server as an ASGI application; it takes the folder of the settings for itself."""
    core = Core(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        core.start()
        yield
        core.close()

    app = FastAPI(
        title="T1",
        version=__version__,
        summary="Fill the gaps in time series, and know how wrong the fill is.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.core = core
    for error in (
        Refused,
        InputError,
        RequestValidationError,
        HTTPException,
        OSError,
        sqlite3.OperationalError,
    ):
        app.add_exception_handler(error, answer)
    for module in (files_api, create_api, jobs_api, fill_api):
        app.include_router(module.router)
    app.add_api_route("/v1/about", about, responses=responses(), tags=["server"], summary="What it allows")
    app.add_api_route("/health", health, tags=["server"], summary="Whether the server works")
    app.add_api_route(
        "/metrics",
        metrics,
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **responses()},
        tags=["server"],
        summary="For Prometheus",
    )
    app.add_api_route("/", page, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_middleware(Guard, core=core)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "T1-Client"],
            expose_headers=["Location"],
        )
    _describe(app)
    return app


def page() -> FileResponse:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})


def about(core: TheCore) -> AboutView:
    s = core.settings
    return AboutView(
        version=__version__,
        methods={name: method.title for name, method in METHODS.items() if not method.absent},
        kinds=list(KINDS),
        limits={
            "max_upload": s.max_upload,
            "max_unpacked": s.max_unpacked,
            "max_cells": s.max_cells,
            "max_direct": s.max_direct,
            "max_direct_cells": s.max_direct_cells,
            "max_time": s.max_time,
            "keep": s.keep,
        },
    )


def health(core: TheCore) -> HealthView:
    return HealthView(
        status="ok", version=__version__, workers=core.settings.n_workers, jobs=core.store.counts()
    )


def metrics(core: TheCore) -> Response:
    return Response(core.measures.page(), media_type=CONTENT_TYPE_LATEST)


def _describe(app: FastAPI) -> None:
    """Put the problem document and the token into the description of the interface."""
    made = app.openapi()
    made.setdefault("components", {}).setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
    made["components"]["schemas"].pop("HTTPValidationError", None)
    made["components"]["schemas"].pop("ValidationError", None)
    app.openapi_schema = made
