"""Who may ask: the token, and tickets for what a browser fetches without it (downloads, events, the report)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from time import time
from urllib.parse import quote

VALID = 24 * 3600  # seconds


@dataclass(frozen=True)
class Tickets:
    """Signs addresses; without a token nothing has to be signed."""

    token: str | None

    def admits(self, authorization: str | None) -> bool:
        """Whether a request brought the token; compared in constant time."""
        if self.token is None:
            return True
        given = (authorization or "").removeprefix("Bearer ").strip()
        return hmac.compare_digest(given.encode(), self.token.encode())

    def link(self, path: str) -> str:
        if self.token is None:
            return path
        until = str(int(time()) + VALID)
        return f"{path}?ticket={until}.{self._sign(path, until)}"

    def admits_ticket(self, path: str, ticket: str | None) -> bool:
        until, dot, signature = (ticket or "").partition(".")
        if not dot or not until.isdigit() or int(until) < time():
            return False
        return hmac.compare_digest(signature.encode(), self._sign(path, until).encode())

    def _sign(self, path: str, until: str) -> str:
        key = (self.token or "").encode()
        return hmac.new(key, f"{until} {path}".encode(), hashlib.sha256).hexdigest()


def attachment(name: str) -> str:
    """The header that saves an answer under a name, whatever letters it has."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
