"""The one way to write a file: all of it or nothing, whatever fails on the way."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from t1.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream that becomes the file `path`, in one step, only when all went well.

    The bytes go to a hidden file beside it, which is then renamed. An error leaves the old file as it was and
    nothing else behind; a kill may leave the hidden file (see `left_over`).
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file at once, all of it or nothing."""
    with replacing(path) as stream:
        stream.write(data)


def left_over(path: Path, name: str) -> bool:
    """Whether `path` is what a killed write of a file called `name` left behind."""
    return path.name.startswith(f".{name[:80]}.") and path.name.endswith(".part")


def sync_folder(folder: Path) -> None:
    """Make new names last through a power cut, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def open_target(target: str | os.PathLike[str], option: str = "output") -> Iterator[IO[bytes]]:
    """A stream for the user's output file, written all or nothing; "-" is the standard output."""
    try:
        if str(target) == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        path = check_target(target, option)
        if path.exists() and not path.is_file():  # a pipe or a device can be written only in place
            with path.open("wb") as stream:
                yield stream
            return
        with replacing(path) as stream:
            yield stream
    except BrokenPipeError:
        raise  # whoever read the pipe has gone: not an error of the user's
    except PermissionError:
        raise InputError(
            f"no permission to write {str(target)!r}.", cure="Choose another folder.", option=option
        ) from None
    except OSError as error:
        raise InputError(
            f"{str(target)!r} could not be written: {error.strerror or error}.",
            cure="Nothing was left behind. Free some space, or choose another folder.",
            option=option,
        ) from None


def check_target(target: str | os.PathLike[str], option: str = "output") -> Path:
    """The file that `target` names, links followed so that a link stays a link; or why it cannot be one."""
    path = Path(target).resolve()
    if path.is_dir():
        raise InputError(
            f"{str(target)!r} is a folder.",
            cure="Give the name of a file in it.",
            option=option,
        )
    if not path.parent.is_dir():
        raise InputError(
            f"the folder {str(path.parent)!r} does not exist.",
            cure=f"Try: mkdir -p {path.parent}",
            option=option,
        )
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
