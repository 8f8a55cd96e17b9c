"""Which files a pattern, a folder or several names mean, and where each fill goes."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from t1.errors import InputError

TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".pq", ".xlsx")
NOT_DATA = ("_", ".")  # names that readers of partitioned datasets skip: _SUCCESS, .crc


@dataclass(frozen=True)
class Planned:
    """A file to fill, and the name of its fill below the output folder."""

    source: Path
    name: str  # with / between folders, on every system


def means_many(inputs: Sequence[str]) -> bool:
    """Whether an input is more than one file: several names, a folder, or a pattern such as in/*.csv."""
    return len(inputs) > 1 or Path(inputs[0]).is_dir() or _is_pattern(inputs[0])


def find_files(inputs: Sequence[str], *, without: Path | None = None) -> list[Planned]:
    """All files that are meant, sorted by name; what lies in the folder `without` is none of them.

    A folder means all tables below it, as a partitioned Parquet dataset has them (year=2024/part-0.parquet).
    Fills keep their place relative to the folder that all files share.
    """
    found: dict[Path, None] = {}
    for given in inputs:
        here = list(_files_of(given))
        if not here:
            what = "folder holds no" if Path(given).is_dir() else "pattern fits no"
            raise InputError(
                f"the {what} table to fill: {given}",
                cure=f"Tables end in {', '.join(TABLES)}; put a pattern in quotes, as in 'in/*.csv'.",
            )
        found.update(dict.fromkeys(here))
    outside = [path for path in found if without is None or without.resolve() not in path.resolve().parents]
    if not outside:
        raise InputError(
            f"all files to fill lie in the output folder {str(without)!r}",
            cure="Choose another output folder.",
            option="output",
        )
    root = Path(os.path.commonpath([path.parent.absolute() for path in outside]))
    planned = [Planned(path, path.absolute().relative_to(root).as_posix()) for path in outside]
    return sorted(planned, key=lambda one: one.name)


def _is_pattern(text: str) -> bool:
    return glob.has_magic(text) and not Path(text).exists()


def _files_of(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        return [one for one in sorted(path.rglob("*")) if one.is_file() and _is_data(one.relative_to(path))]
    if _is_pattern(given):
        names = (Path(name) for name in sorted(glob.glob(given, recursive=True)))  # noqa: PTH207  (it may be absolute)
        return [one for one in names if one.is_file() and not one.name.startswith(NOT_DATA)]
    if not path.is_file():
        raise InputError(f"there is no file {given!r}.", cure="Check the path.")
    return [path]


def _is_data(path: Path) -> bool:
    hidden = any(part.startswith(NOT_DATA) for part in path.parts)
    return not hidden and path.name.lower().endswith(TABLES)
