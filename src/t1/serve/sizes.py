"""How large a file is once it is unpacked and read: a small upload can become larger than the memory."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

from t1.errors import InputError
from t1.serve.settings import size

CHUNK = 1 << 20
SUFFIXES = (".csv", ".tsv", ".txt")


def suffix_of(head: bytes, name: str) -> str:
    """The suffix under which an upload is kept: by its first bytes, and for text by the name it was given."""
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        return ".xlsx"
    lower = name.lower()
    text = next((s for s in SUFFIXES if lower.removesuffix(".gz").endswith(s)), ".csv")
    return f"{text}.gz" if head.startswith(b"\x1f\x8b") else text


def check_unpacked(path: Path, most: int) -> int:
    """The bytes that a file becomes; refused as soon as they are too many, without keeping any."""
    with path.open("rb") as stream:
        head = stream.read(4)
    if head.startswith(b"\x1f\x8b"):
        n = _gunzipped(path, most)
    elif head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                n = sum(info.file_size for info in archive.infolist())
        except zipfile.BadZipFile:
            n = path.stat().st_size  # reading it will say what is wrong
    else:
        n = path.stat().st_size
    if n > most:
        raise InputError(
            f"the file holds more than {size(most)} once it is unpacked, which is the limit of this server",
            cure="Split it into parts of fewer rows.",
            option="file",
        )
    return n


def _gunzipped(path: Path, most: int) -> int:
    n = 0
    machine = zlib.decompressobj(wbits=31)
    with path.open("rb") as stream:
        rest = b""
        while n <= most and (chunk := rest or stream.read(CHUNK)):
            try:
                n += len(machine.decompress(chunk, CHUNK))
            except zlib.error:
                return n  # damaged: reading it will say so
            rest = machine.unconsumed_tail
            if machine.eof:  # a gzip file may have several parts
                rest = machine.unused_data.lstrip(b"\0")
                machine = zlib.decompressobj(wbits=31)
    return n


def check_cells(shape: tuple[int, ...], most: int) -> None:
    """Refuse a table with more cells than that."""
    rows, columns = shape
    if rows * columns > most:
        raise InputError(
            f"the table has {rows:,} x {columns:,} cells, and this server takes {most:,}",
            cure="Split it into parts of fewer rows.",
            option="file",
        )


def check_table(path: Path, reading: dict[str, Any], most_bytes: int, most_cells: int) -> None:
    """Refuse a file that is too large to be read, or has too many cells, before it is filled."""
    from t1.data.files import read_file

    n = check_unpacked(path, most_bytes)
    if path.suffix == ".parquet":
        check_parquet(path, most_cells)
    elif n > most_cells:  # a cell of a text takes at least one byte
        values = read_file(path, **reading).values
        check_cells(values.shape, most_cells)


def check_parquet(source: Any, most_cells: int) -> None:
    """Parquet says how many rows it has without being read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.ParquetFile(source).metadata
    except (pa.ArrowException, OSError):
        return  # reading it will say what is wrong
    check_cells((about.num_rows, about.num_columns), most_cells)
