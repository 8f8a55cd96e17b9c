"""Read a data file of any kind, by its name and its first bytes."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

from t1.data.csv import read_csv
from t1.data.csv.encoding import narrow
from t1.data.csv.scan import PAD
from t1.data.data_file import DataFile, NewRows, read_bytes
from t1.data.excel import read_excel
from t1.data.in_order import in_order
from t1.data.other_formats import refuse_other_formats
from t1.data.parquet_read import read_parquet
from t1.data.reading import Reading
from t1.data.reshape import reshape
from t1.errors import InputError
from t1.registry import did_you_mean

__all__ = ["DataFile", "NewRows", "read_file"]

MOST_UNPACKED = 8 << 30  # bytes that a packed file may become, or half of the memory if that is less


def read_file(source: str | Path, **options: Any) -> DataFile:
    """Read a text table (also gzipped, or "-" for the standard input), an Excel sheet or a Parquet file.

    The options are those of `Reading`: time, id, columns, exclude, missing_values, separator and so on.
    """
    reading = Reading.of(options)
    raw = read_bytes(source)
    name = str(source).lower()
    try:
        if raw.startswith(b"\x1f\x8b"):
            raw = unpack(raw)
            name = name.removesuffix(".gz")
        file = in_order(reshape(_read(raw, name, reading), reading))
        for column in reading.kind:
            if column not in file.columns:
                raise InputError(
                    f"a kind is given for {column!r}, which is no column to fill.",
                    cure=did_you_mean(column, file.columns),
                    option="kind",
                )
        return file
    except InputError as error:
        where = "standard input" if str(source) == "-" else str(source)
        raise InputError(f"{where}: {error.message}", cure=error.cure, option=error.option) from None


def _read(raw: bytes, name: str, reading: Reading) -> DataFile:
    if raw.startswith(b"PAR1") or name.endswith((".parquet", ".pq")):
        return read_parquet(raw, reading)
    if raw.startswith(b"PK\x03\x04"):
        return read_excel(raw, reading)
    refuse_other_formats(raw)
    raw, wide = narrow(raw)
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError("the file is empty.", cure="Its first line must hold the names of the columns.")
    raw += bytes(PAD)
    return read_csv(raw, reading, prefer_tab=name.endswith(".tsv"), wide=wide)


def unpack(raw: bytes) -> bytes:
    """What a gzip file holds, part by part, up to a limit: a small file can become larger than the memory."""
    limit = min(MOST_UNPACKED, _memory() // 2)
    pieces, size = [], 0
    rest = raw
    try:
        while rest:
            machine = zlib.decompressobj(wbits=31)
            piece = machine.decompress(rest, limit - size + 1)
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise InputError(
                    f"the gzip file holds more than {limit / 2**30:.1f} GB, too much to be read at once.",
                    cure="Split it into parts of fewer rows.",
                )
            if not machine.eof:
                raise EOFError("it ends too early")
            rest = machine.unused_data.lstrip(b"\0")
    except (EOFError, zlib.error) as error:
        raise InputError(f"the gzip file is damaged: {error}.", cure="Download or create it again.") from None
    return b"".join(pieces)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not told here
        return 2 * MOST_UNPACKED
