"""What every request passes: host, origin, token; strict headers on every answer; a log without contents."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from t1.serve.problems import Refused, of_error

if TYPE_CHECKING:
    from t1.serve.core import Core

LOG = logging.getLogger("t1.serve")
OWN = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
STRICT = {
    "Content-Security-Policy": OWN
    + "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
WITH_TICKET = re.compile(r"/v1/jobs/[0-9a-f]{32}/(events|result|scorecard|provenance|report)")
ID = re.compile(r"\b([0-9a-f]{6})[0-9a-f]{26}\b")


class Guard:
    """The outermost application."""

    def __init__(self, app: ASGIApp, core: Core) -> None:
        self.app, self.core = app, core

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = perf_counter(), 0

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in STRICT.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._admit(scope)
            await self.app(scope, receive, tell)
        except ClientDisconnect:
            status = 499
        except Exception as error:
            refused = of_error(error)
            if refused is None:
                where = "".join(traceback.format_tb(error.__traceback__)[-3:])
                LOG.error("%s\n%s", type(error).__name__, where)  # its message may quote a file
                refused = Refused(500, f"an unexpected {type(error).__name__}", cure="Please report it.")
            if status:  # half of an answer is out: closing the connection says that it is not whole
                raise
            await refused.answer()(scope, receive, tell)
        self._note(scope, status, perf_counter() - began)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        settings, tickets = self.core.settings, self.core.tickets
        host = headers.get("host", "")
        name = urlsplit(f"//{host}").hostname if _sane(host) else None
        if name is None or ("*" not in settings.hosts and name not in settings.hosts):
            raise Refused(400, "the request is for another host", field="Host")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host and origin not in settings.origins:
            raise Refused(403, "pages of other web sites may not call this server", field="Origin")
        path = scope["path"]
        if not path.startswith("/v1") and path != "/metrics":
            return
        if tickets.admits(headers.get("authorization")):
            return
        if scope["method"] == "GET" and WITH_TICKET.fullmatch(path):
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if tickets.admits_ticket(path, query.get("ticket", [""])[0]):
                return
        raise Refused(
            401,
            "this server needs a token",
            cure="Send the header Authorization: Bearer TOKEN.",
            field="Authorization",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        own = scope["path"] == "/" or scope["path"].startswith("/static/")
        template = "page" if own else getattr(route, "path", "other")
        self.core.measures.answered(scope["method"], template, status, seconds)
        shown = ID.sub(r"\1…", scope["path"]) if template != "other" else "(unknown path)"
        LOG.info("%s %s %d %.0f ms", scope["method"], shown, status, 1000 * seconds)


def _sane(host: str) -> bool:
    return bool(re.fullmatch(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?", host))


def report_headers() -> Mapping[str, str]:
    """A report brings its own scripts; it runs in a sandbox, so that it can reach nothing of the server."""
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    )
    return {
        "Content-Security-Policy": policy + "frame-ancestors 'self'; sandbox allow-scripts allow-downloads",
    }
