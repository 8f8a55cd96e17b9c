"""What a server may use, and where it keeps things."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from t1.errors import InputError

KB, MB, GB = 10**3, 10**6, 10**9
UNITS = {"": 1, "B": 1, "KB": KB, "MB": MB, "GB": GB, "TB": 1000 * GB}
DAY = 86400.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The limits of a server; all sizes in bytes, all times in seconds."""

    folder: Path
    workers: int = 0  # processes that fill files; 0: one per core
    direct: int = 1  # processes that look at files and answer /v1/fill
    token: str | None = None
    hosts: tuple[str, ...] = LOOPBACK  # names that a request may use for this server
    origins: tuple[str, ...] = ()  # other web sites whose pages may call it
    max_upload: int = 200 * MB
    max_unpacked: int = 1 * GB
    max_cells: int = 20_000_000  # rows x columns of a file
    max_direct: int = 8 * MB  # of a body of /v1/fill
    max_direct_cells: int = 500_000
    max_waiting: int = 64  # direct requests that wait for a process
    max_queued: int = 1000  # jobs of one client
    max_time: float = 3600.0  # of a job
    max_direct_time: float = 60.0
    max_disk: int = 20 * GB
    spare_disk: int = 50 * MB  # left free whatever comes
    memory: int = 4 * GB  # of a worker
    keep: float = 7 * DAY  # jobs and models, from their end on
    keep_files: float = 1 * DAY
    patience: float = 15.0  # for the next bytes of a request
    crashes: int = 3  # of its worker, after which a job has failed

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise InputError(f"{self.workers} workers", cure="Give 1 or more.", option="workers")

    @property
    def n_workers(self) -> int:
        return self.workers or os.cpu_count() or 1


def bytes_of(text: str, option: str) -> int:
    """A size as it is written: 200MB, 2GB, 1000.

    >>> bytes_of("1.5GB", "max_upload")
    1500000000
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b?)\s*", text, re.IGNORECASE)
    unit = "" if found is None else found[2].upper()
    if found is None or float(found[1]) <= 0:
        raise InputError(f"{text!r} is no size", cure="Give for example 200MB or 2GB.", option=option)
    return int(float(found[1]) * UNITS[unit if unit.endswith("B") or not unit else f"{unit}B"])


def size(n: float) -> str:
    """A number of bytes in words.

    >>> size(200_000_000), size(1_500_000_000), size(512)
    ('200 MB', '1.5 GB', '512 B')
    """
    for unit, large in (("GB", GB), ("MB", MB), ("kB", KB)):
        if n >= large:
            return f"{n / large:.3g} {unit}"
    return f"{n:.0f} B"


def read_token(path: str | Path) -> str:
    """The token in a file, which only the server and its users know."""
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"the token file {str(path)!r} cannot be read: {why}", option="token_file") from None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"the token in {str(path)!r} is not at least 16 letters and digits",
            cure="Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))' > token.txt",
            option="token_file",
        )
    return token
