"""What an output folder knows of its files: from which bytes and with which options each was filled.

One line of JSON for each file that was filled, added when the fill is in its place; so after a kill only what
was under way is done again. The first line lists all files that were planned: anything else in the folder
belongs to somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from t1.bulk.plan import TABLES
from t1.data.atomic import check_target, left_over, open_target
from t1.errors import InputError

RECORD, LOCK = "_t1_record.jsonl", "_t1_record.lock"
SUMMARY, PAGE = "_t1_summary.json", "_t1_summary.html"
OURS = (RECORD, LOCK, SUMMARY, PAGE)


class FolderRecord:
    """The record of an output folder, held by this process alone."""

    def __init__(self, folder: Path, lines: Iterable[dict[str, Any]]) -> None:
        self.folder = folder
        self.planned: set[str] = set()
        self.done: dict[str, dict[str, Any]] = {}  # by the name of the file: the latest line
        for line in lines:
            if "planned" in line:
                self.planned |= set(line["planned"])
            else:
                self.done[line["name"]] = line

    @classmethod
    @contextmanager
    def open(cls, folder: Path, names: Iterable[str]) -> Iterator[FolderRecord]:
        """The record of a folder, which is made if need be; one that holds anything else is refused."""
        like_a_file = folder.name.lower().endswith(TABLES) and not folder.is_dir()
        if like_a_file or (folder.exists() and not folder.is_dir()):
            raise InputError(
                f"many files are filled into a folder, and {str(folder)!r} is a file",
                cure="Name a folder.",
                option="output",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the folder {str(folder)!r} cannot be made: {error.strerror}", option="output"
            ) from None
        if not (folder / RECORD).exists():
            _refuse_others(folder, set())
        lock = FileLock(folder / LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(
                f"another command fills files into {str(folder)!r} now",
                cure="Wait until it is done, or choose another folder.",
                option="output",
            ) from None
        except OSError as error:
            raise InputError(
                f"{str(folder)!r} cannot be written: {error.strerror}",
                cure="Choose another folder.",
                option="output",
            ) from None
        try:
            record = cls(folder, _lines(folder / RECORD))
            _refuse_others(folder, record.planned | set(names))
            record.planned |= set(names)
            record._write()
            yield record
        finally:
            lock.release()

    def has(self, name: str, source: str, options: str) -> bool:
        """Whether a file was filled from these bytes with these options, and its fill is still there."""
        line, path = self.done.get(name), self.folder / name
        same = line is not None and (line["source"], line["options"]) == (source, options)
        return same and line is not None and path.is_file() and path.stat().st_size == line["size"]

    def keep(self, name: str, fill: bytes, **facts: Any) -> None:
        """Put a fill in its place, then say so."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_target(check_target(path)) as stream:
            stream.write(fill)
        line = {"name": name, "size": len(fill), **facts}
        with (self.folder / RECORD).open("a", encoding="utf-8") as stream_of_lines:
            stream_of_lines.write(json.dumps(line, allow_nan=False) + "\n")
        self.done[name] = line

    def _write(self) -> None:
        lines = [{"planned": sorted(self.planned)}, *self.done.values()]
        with open_target(self.folder / RECORD) as stream:
            stream.write("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode())


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    whole = [
        line for line in lines[:-1] if line
    ]  # a kill may have cut the last line: that file is done again
    try:
        return [json.loads(line) for line in whole]
    except ValueError:
        raise InputError(
            f"{str(path)!r} is not what this command writes",
            cure="Choose another output folder, or delete this one.",
            option="output",
        ) from None


def _refuse_others(folder: Path, ours: set[str]) -> None:
    """A folder with files of somebody else is not written to."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        cut_off = path.name.endswith(".part") and any(
            left_over(path, Path(own).name) for own in (*ours, *OURS)
        )
        if path.is_file() and name not in ours and name not in OURS and not cut_off:
            raise InputError(
                f"the output folder {str(folder)!r} holds other files, such as {name!r}",
                cure="Choose an empty folder, or one that this command has filled before.",
                option="output",
            )
