"""A file that is larger than memory: a sample that tells how to read it, then piece after piece."""

from __future__ import annotations

import gzip
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from t1.data.data_file import DataFile, FileFill, container
from t1.data.in_order import in_order
from t1.data.reading import Reading
from t1.data.reshape import reshape
from t1.data.sentinels import drop_sentinels
from t1.errors import InputError

CELLS = 2 << 20  # of a piece, about: bounds the memory
ROWS = (1 << 15, 1 << 19)  # of a piece, at least and at most
STRETCHES = 8  # of the sample
STRETCH_ROWS = 12288
TIMES_TEXT = 12  # bytes of memory that a whole fill takes for each byte of a text file
TIMES_NUMBERS = 8  # numbers that it takes for each number of the table


@dataclass(frozen=True)
class Sample:
    """Some stretches of a file read as one table, in their order."""

    file: DataFile
    rows: tuple[int, ...]  # of the file, in each stretch
    first: tuple[int, ...]  # which row of the whole file each stretch begins with


FilledPiece = tuple[DataFile, FileFill]


class Pieces(ABC):
    """A file, piece after piece, each read in the way that the sample was understood."""

    kind: str  # csv or parquet
    source: Path
    reading: Reading
    sample: Sample
    n_rows: int  # about

    @abstractmethod
    def _tables(self, reading: Reading, rows: int) -> Iterator[DataFile]:
        """The pieces in their order, each of about so many rows."""

    @abstractmethod
    def write(self, stream: IO[bytes], fills: Iterable[FilledPiece], kind: str) -> None:
        """Write the file with its gaps filled, piece after piece."""

    def tables(self) -> Iterator[DataFile]:
        """The pieces with their numbers; all agree on what is a number, a time and missing."""
        known = self.sample.file
        rows = int(np.clip(CELLS // max(len(known.all_columns), 1), *ROWS))
        for table in self._tables(self._pinned(), rows):
            if table.columns != known.columns:
                raise InputError(
                    f"{self.source}: further down the columns to fill are "
                    f"{', '.join(map(repr, table.columns[:8]))}, not those of the rows that were looked at first",
                    cure="Name the columns to fill.",
                    option="columns",
                )
            drop_sentinels(table.values, table.columns, known.sentinels)
            if known.time is None:
                table = replace(table, time=None, time_columns=())
            yield replace(table, decimals=known.decimals)

    def _pinned(self) -> Reading:
        """How to read a piece: everything that was found out about the sample is decided."""
        known, reading = self.sample.file, self.reading
        form = known.time_format
        return replace(
            reading,
            time=known.time_columns or None,
            id=known.id_columns or None,
            columns=known.columns,
            exclude=(),
            keep_sentinels=True,
            layout="table",
            dayfirst=reading.dayfirst if form is None or form.day_first is None else form.day_first,
        )

    def check(self, target: str | Path) -> str:
        """The kind of the output, which must be that of the input; or why the file cannot be read in pieces."""
        wanted = container(target)
        given = "parquet" if wanted == "parquet" else "csv"
        if given != self.kind:
            raise InputError(
                "a file larger than memory is written as what it is, text or Parquet",
                cure="Give the output the ending of the input.",
                option="output",
            )
        return wanted


def upright(file: DataFile, reading: Reading) -> DataFile:
    """The sample, if every row of the file is a row of the table."""
    if reshape(file, reading) is not file:
        raise InputError(
            "a long or wide table is turned upright as a whole, and this one is larger than memory",
            cure="Turn it into one row per time stamp first.",
            option="memory",
        )
    return in_order(file)


def open_pieces(source: str | Path, options: Mapping[str, Any]) -> Pieces:
    """Look at some stretches of a CSV or Parquet file, to read it piece by piece."""
    from t1.data.csv.pieces import CsvPieces
    from t1.data.parquet_pieces import ParquetPieces

    reading, path = Reading.of(options), Path(source)
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}.", cure="Check the path.") from None
    if start.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{source} is an Excel file, which is only read as a whole",
            cure="Export it as CSV first.",
            option="memory",
        )
    try:
        return (ParquetPieces if start == b"PAR1" else CsvPieces)(path, reading)
    except InputError as error:
        raise InputError(f"{source}: {error.message}", cure=error.cure, option=error.option) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{source}: the gzip file is damaged: {error}.", cure="Download or create it again."
        ) from None


def memory_needed(source: str | Path) -> int:
    """About how many bytes of memory it takes to fill a file as a whole; 0 where that is not known."""
    path = Path(source)
    if not path.is_file():
        return 0
    with path.open("rb") as stream:
        start = stream.read(4)
        if start.startswith(b"\x1f\x8b") and len(start) == 4:
            stream.seek(-4, os.SEEK_END)  # the size of what is packed, up to 4 GB
            size = max(int.from_bytes(stream.read(4), "little"), path.stat().st_size)
            return TIMES_TEXT * size
    if start == b"PAR1":
        from t1.data.parquet import need_pyarrow

        pa, parquet = need_pyarrow()
        try:
            metadata = parquet.read_metadata(path)
        except (pa.ArrowException, OSError):
            return 0  # whoever reads it says what is wrong with it
        return TIMES_NUMBERS * 8 * int(metadata.num_rows) * int(metadata.num_columns)
    return 0 if start.startswith(b"PK") else TIMES_TEXT * path.stat().st_size


def memory_free() -> int:
    """Bytes of memory that are free now."""
    try:
        text = Path("/proc/meminfo").read_text()
        return 1024 * int(text.split("MemAvailable:")[1].split()[0])
    except (OSError, IndexError, ValueError):  # another system: half of what there is
        pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
        return pages * os.sysconf("SC_PAGE_SIZE") // 2 if pages else 4 << 30
