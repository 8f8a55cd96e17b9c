"""Runs the application with uvicorn, on a socket that listens already."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from t1.serve.app import create_app
from t1.serve.settings import Settings

HEADER_SECONDS = 15.0  # for the head of a request: who sends it byte by byte is cut off


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever for the head of a request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._cut_off)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def run(settings: Settings, place: socket.socket, ready: Callable[[], None], *, quiet: bool = False) -> None:
    """Serve until a signal ends it."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("t1.serve").setLevel(logging.ERROR if quiet else logging.INFO)
    config = uvicorn.Config(
        create_app(settings),
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,  # it would write addresses with their tickets
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 << 10,
    )
    server: Any = uvicorn.Server(config)
    ready()
    server.run(sockets=[place])
