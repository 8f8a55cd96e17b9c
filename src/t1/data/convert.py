"""From a text table to Parquet and back: the same columns in the other container's types."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from t1.arrays import FloatArray
from t1.data.csv.cells import CellLook
from t1.data.csv.scan import PAD
from t1.data.parquet import need_pyarrow
from t1.data.reading import Reading

if TYPE_CHECKING:
    from t1.data.csv.file import CsvFile


def csv_to_parquet(file: CsvFile, text: bytes, added: Sequence[bytes], stream: IO[bytes]) -> None:
    """Write the text of a filled table as Parquet: time stamps, numbers, and the rest as text.

    `added` are the names of columns that the file itself does not have.
    """
    from t1.data.csv.read import read_csv

    pa, parquet = need_pyarrow()
    reading = Reading(
        time=file.time_columns[0] if len(file.time_columns) == 1 else None,
        id=file.id_columns or None,
        decimal=file.decimal.decode(),
        encoding=file.encoding,
        keep_sentinels=True,
    )
    old = file.layout
    longer = sum(1 + len(name) for name in added) if old.header_end is not None else 0
    layout = replace(
        old,
        width=old.width + len(added),
        names=(*old.names, *added) if old.names else (),
        header_end=None if old.header_end is None else old.header_end + longer,
        body=old.body + longer,
        looks=(*old.looks, *(CellLook.NUMBER for _ in added)),
    )
    table = read_csv(text + bytes(PAD), reading, layout=layout, grouped=file.grouped)
    columns: dict[str, Any] = {}
    at = {name: k for k, name in enumerate(table.columns)}
    for name in table.names:
        if table.time is not None and (name,) == table.time_columns:
            zone = "UTC" if table.time_format is not None and table.time_format.suffix else None
            columns[name] = pa.array(
                table.time.astype("M8[ns]").astype("i8"), type=pa.timestamp("ns", tz=zone)
            )
        elif name in at:
            columns[name] = pa.array(
                _narrow(table.values[:, at[name]], table.decimals[at[name]]), from_pandas=True
            )
        else:
            columns[name] = pa.array(_cells(table.texts(name)))
    parquet.write_table(pa.table(columns), stream)


def _cells(texts: list[str]) -> list[Any]:
    """Whole numbers such as the parts of a date as numbers; anything else as text."""
    if all(text == str(int(text)) for text in texts if text.isdigit()) and all(map(str.isdigit, texts)):
        return [int(text) for text in texts]
    return [text or None for text in texts]


def _narrow(values: FloatArray, decimals: int) -> Any:
    """Whole numbers as integers, where none is missing and none too large."""
    whole = decimals == 0 and bool(np.isfinite(values).all()) and bool((values == np.rint(values)).all())
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values


def parquet_to_csv(table: Any, stream: IO[bytes], *, packed: bool) -> None:
    """Write a Parquet file's table as CSV; times without fractions as 2020-01-31 12:00:00."""
    pa, _ = need_pyarrow()
    import pyarrow.csv

    for j, one in enumerate(table.schema):
        if pa.types.is_timestamp(one.type):
            whole = table.column(j).cast(pa.timestamp("ns", tz=one.type.tz))
            counts = np.asarray(whole.cast(pa.int64()).drop_null())
            if not (counts % 10**9).any():
                table = table.set_column(j, one.name, whole.cast(pa.timestamp("s", tz=one.type.tz)))
    sink = pa.BufferOutputStream()
    try:  # without quotes, as most tables are; with them around every text if one needs them
        options = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
        pyarrow.csv.write_csv(table, sink, options)
    except pa.ArrowInvalid:
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(quoting_style="needed"))
    text = sink.getvalue().to_pybytes()
    stream.write(gzip.compress(text, mtime=0) if packed else text)
