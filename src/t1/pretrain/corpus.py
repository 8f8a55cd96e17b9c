"""A folder of real tables: CATALOG.csv, and one .npz for each of its lines.

CATALOG.csv has at least the columns name, part and domain; only tables of the part "train" are ever read. An
.npz holds `values` (time, vars; NaN where missing) and `series_starts` (rows where a series begins).
"""

import csv
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from t1.arrays import Float32Array
from t1.errors import InputError
from t1.methods.seasons import find_period

CATALOG = "CATALOG.csv"
SHORTEST = 24  # rows; a shorter series teaches little
LOOKED_AT = 20_000  # rows in which the period is looked for


@dataclass(frozen=True, eq=False)
class CorpusTable:
    """Standardised columns of one or more series."""

    values: Float32Array  # (rows, vars), NaN where missing
    spans: tuple[tuple[int, int], ...]  # first row of each series, and the row after its last
    period: int | None
    name: str = ""
    domain: str = ""

    @property
    def n_vars(self) -> int:
        return int(self.values.shape[1])


def read_corpus(folder: str | Path) -> list[CorpusTable]:
    """The training tables of a corpus folder, in the order of its catalogue."""
    tables = [_read(Path(folder), row) for row in _catalogue(Path(folder)) if row["part"] == "train"]
    usable = [table for table in tables if table.spans and table.n_vars]
    if not usable:
        raise InputError(
            f"{Path(folder) / CATALOG} names no table of the part 'train' with {SHORTEST} rows or more",
            cure="Mark tables with 'train' in the column part.",
        )
    return usable


def fingerprint(tables: list[CorpusTable]) -> str:
    """A few letters that differ for different tables."""
    n = 0
    for table in tables:
        n = zlib.crc32(np.ascontiguousarray(table.values).view(np.uint8).data, n)
        n = zlib.crc32(repr((table.spans, table.period, table.domain)).encode(), n)
    return f"{len(tables)} tables, crc {n:08x}"


def _catalogue(folder: Path) -> Iterator[dict[str, str]]:
    path = folder / CATALOG
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            lacking = {"name", "part", "domain"} - set(reader.fieldnames or ())
            if lacking:
                raise InputError(
                    f"{path} has no column {', '.join(sorted(lacking))}",
                    cure="Give a folder such as docs/pretrained.md describes.",
                )
            yield from reader
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}",
            cure="Give the folder that holds the corpus, with its CATALOG.csv.",
        ) from None


def _read(folder: Path, row: dict[str, str]) -> CorpusTable:
    path = folder / f"{row['name']}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            values = np.asarray(file["values"], dtype=np.float32)
            starts = [int(start) for start in file["series_starts"]]
        if values.ndim != 2 or starts[:1] != [0] or starts != sorted({*starts}) or starts[-1] >= len(values):
            raise ValueError(f"values {values.shape}, series_starts {starts[:5]}")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot use {path}: {error}",
            cure="It must hold values (time, vars) and series_starts that begin with 0.",
        ) from None
    values = _standardise(values)
    spans = tuple((a, b) for a, b in pairwise([*starts, len(values)]) if b - a >= SHORTEST)
    first, last = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
    period = find_period(values[first : min(last, first + LOOKED_AT)].astype(np.float64))
    return CorpusTable(values, spans, period, row["name"], row["domain"])


def _standardise(values: Float32Array) -> Float32Array:
    """Columns of mean 0 and deviation 1, without those that do not vary."""
    seen = np.isfinite(values)
    count = np.maximum(seen.sum(0), 1)
    mean = np.where(seen, values, 0).sum(0, dtype=np.float64) / count
    centred = np.where(seen, values - mean, 0)
    std = np.sqrt((centred**2).sum(0) / count)
    varies = std > 0
    return np.where(seen, centred / np.where(varies, std, 1), np.nan)[:, varies].astype(np.float32)
