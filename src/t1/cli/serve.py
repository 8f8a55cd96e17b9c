"""`t1 serve`: the same engine in a browser and over HTTP."""

import argparse
import os
import socket
from pathlib import Path

from t1.errors import InputError

DEFAULT_FOLDER = "~/.local/share/t1-serve"


def add_serve(p: argparse.ArgumentParser) -> None:
    """The one command `t1 serve`."""
    p.description = (
        "Open a page in which files are filled, and an interface for programs. It listens on this machine "
        "alone; another address needs a token."
    )
    p.set_defaults(run=_serve)
    p.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    p.add_argument("--port", type=int, default=8750, help="0: any free one (default: 8750)")
    p.add_argument(
        "--folder", default=DEFAULT_FOLDER, help=f"where jobs are kept (default: {DEFAULT_FOLDER})"
    )
    p.add_argument("--token-file", metavar="FILE", help="a file with the token that requests must bring")
    p.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name by which it is called"
    )
    p.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="URL",
        help="a web site whose pages may call it",
    )
    p.add_argument(
        "--workers", type=int, default=0, metavar="N", help="jobs at a time (default: one per core)"
    )
    limits = p.add_argument_group("limits")
    limits.add_argument("--max-upload", default="200MB", metavar="SIZE", help="of a file (default: 200MB)")
    limits.add_argument("--max-unpacked", default="1GB", metavar="SIZE", help="of an unpacked file")
    limits.add_argument("--max-cells", type=int, default=20_000_000, metavar="N", help="rows x columns")
    limits.add_argument("--max-time", default="1h", metavar="TIME", help="of a job (default: 1h)")
    limits.add_argument("--max-disk", default="20GB", metavar="SIZE", help="of all files together")
    limits.add_argument("--max-queued", type=int, default=1000, metavar="N", help="waiting jobs of a client")
    limits.add_argument("--memory", default="4GB", metavar="SIZE", help="of a worker (default: 4GB)")
    limits.add_argument(
        "--keep", default="168h", metavar="TIME", help="finished jobs so long (default: a week)"
    )
    p.add_argument("-q", "--quiet", action="store_true", help="log errors only")


def _serve(a: argparse.Namespace) -> int:
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import pyarrow  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the server needs {error.name}, which is not installed",
            cure="Install it: pip install 't1-impute[serve]'",
        ) from None
    from t1.schedule import seconds_of
    from t1.serve.run import run
    from t1.serve.settings import LOOPBACK, Settings, bytes_of, read_token

    token = None if a.token_file is None else read_token(a.token_file)
    alone = a.host in LOOPBACK
    if not alone and token is None:
        raise InputError(
            f"on {a.host} others can reach the server, so it needs a token",
            cure="Put one into a file and name it, or listen on 127.0.0.1.",
            option="token_file",
        )
    hosts = LOOPBACK if alone or a.allow_host else ("*",)
    settings = Settings(
        folder=Path(a.folder).expanduser().absolute(),
        workers=a.workers,
        token=token,
        hosts=(*hosts, *a.allow_host),
        origins=tuple(a.allow_origin),
        max_upload=bytes_of(a.max_upload, "max_upload"),
        max_unpacked=bytes_of(a.max_unpacked, "max_unpacked"),
        max_cells=a.max_cells,
        max_time=seconds_of(a.max_time, "max_time"),
        max_disk=bytes_of(a.max_disk, "max_disk"),
        max_queued=a.max_queued,
        memory=bytes_of(a.memory, "memory"),
        keep=seconds_of(a.keep, "keep"),
    )
    place = _listen(a.host, a.port)
    host, port = place.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host

    def ready() -> None:
        print(
            f"T1 is at http://{shown}:{port}/  (its jobs are in {settings.folder}; Ctrl-C ends it)",
            flush=True,
        )

    run(settings, place, ready, quiet=a.quiet)
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is listening already, so that the address is good as soon as it is printed."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((host, port))
        place.listen(1024)
        return place
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"the server cannot listen on {host}, port {port}: {why}",
            cure="Give another port; 0 takes any that is free.",
            option="port",
        ) from None
