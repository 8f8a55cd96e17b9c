"""Errors as RFC 9457 problem documents, which name the field they concern."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

from t1.errors import InputError

MEDIA = "application/problem+json"
STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO)
TITLES = {
    400: "The request cannot be understood",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    408: "The request took too long",
    409: "Not now",
    411: "Its length is not given",
    413: "Too large",
    415: "Of a kind that cannot be read",
    422: "The input cannot be used",
    429: "Too many jobs",
    500: "An error of the server",
    503: "The server is busy",
    504: "It took too long",
    507: "The server cannot store it",
}


class Problem(BaseModel):
    """What went wrong (RFC 9457); `field` names the option or part of the request, `cure` says what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = None
    cure: str | None = None
    errors: list[dict[str, str]] = Field(default_factory=list, description="all of several wrong fields")


class Refused(Exception):
    """An answer that is a problem document."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        cure: str | None = None,
        field: str | None = None,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.problem = Problem(
            title=TITLES.get(status, "An error"),
            status=status,
            detail=detail,
            field=field,
            cure=cure,
            errors=errors or [],
        )

    def answer(self) -> JSONResponse:
        body = self.problem.model_dump()
        return JSONResponse(body, self.problem.status, media_type=MEDIA, headers=self.headers)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a path may answer with, for OpenAPI."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    every = {400, 401, 403, 422, 507, *statuses}
    return {status: {"description": TITLES[status], "content": {MEDIA: schema}} for status in sorted(every)}


def of_error(error: Exception) -> Refused | None:
    """The problem that an error is, or None where it is an error of this program."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, InputError):
        return Refused(422, error.message, cure=error.cure, field=error.option)
    if isinstance(error, RequestValidationError | ValidationError):
        return of_validation(error)
    if isinstance(error, HTTPException):
        return Refused(error.status_code, str(error.detail), headers=error.headers)
    if isinstance(error, OSError) and error.errno in STORAGE:
        return storage(error.strerror or "an error of the disk")
    if isinstance(error, sqlite3.OperationalError):
        return storage(str(error))
    return None


def storage(why: str) -> Refused:
    """The server's folder cannot take it."""
    return Refused(
        507,
        f"the server's folder cannot be written: {why}",
        cure="Tell whoever runs the server, or try later.",
    )


def of_validation(error: RequestValidationError | ValidationError) -> Refused:
    """Every wrong field of a request, the first one in front."""
    found = []
    for one in error.errors():
        place = [str(part) for part in one["loc"] if part not in ("body", "query", "path", "header")]
        found.append({"field": ".".join(place) or "body", "detail": str(one["msg"])})
    first = found[0]
    return Refused(422, f"{first['field']}: {first['detail']}", field=first["field"], errors=found)


async def answer(request: Request, error: Exception) -> JSONResponse:
    """The handler of all errors that are somebody's problem."""
    refused = of_error(error)
    if refused is None:
        raise error
    return refused.answer()
