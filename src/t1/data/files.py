"""Read a data file of any kind, by its name and its first bytes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from t1.data.csv_read import read_csv
from t1.data.csv_scan import PAD
from t1.data.data_file import DataFile, NewRows, read_bytes
from t1.data.parquet_file import read_parquet
from t1.errors import InputError

__all__ = ["DataFile", "NewRows", "read_file"]

KNOWN = {  # files that are no table, by their first bytes
    b"PK\x03\x04": "a zip file or an Excel sheet",
    b"\xd0\xcf\x11\xe0": "an old Excel sheet",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"ARROW1": "an Arrow file",
}


def read_file(
    source: str | Path,
    *,
    time: str | None = None,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing_values: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> DataFile:
    """Read a CSV file (also gzipped, or "-" for the standard input) or a Parquet file."""
    raw = read_bytes(source)
    name = str(source).lower()
    try:
        if raw.startswith(b"\x1f\x8b"):
            raw = _unpack(raw)
            name = name.removesuffix(".gz")
        if raw.startswith(b"PAR1") or name.endswith((".parquet", ".pq")):
            return read_parquet(
                raw, time=time, id=id, columns=columns, exclude=exclude, missing_values=missing_values
            )
        for magic, kind in KNOWN.items():
            if raw.startswith(magic):
                raise InputError(f"this is {kind}, not a CSV or Parquet file.\nExport it as CSV first.")
        if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
            raise InputError("the file is empty.\nIts first line must hold the names of the columns.")
        raw += bytes(PAD)
        return read_csv(
            raw,
            time=time,
            id=id,
            columns=columns,
            exclude=exclude,
            missing_values=missing_values,
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            prefer_tab=name.endswith(".tsv"),
        )
    except InputError as error:
        where = "standard input" if str(source) == "-" else str(source)
        raise InputError(f"{where}: {error}") from None


def _unpack(raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the gzip file is damaged: {error}.\nDownload or create it again.") from None
