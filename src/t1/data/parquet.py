"""Parquet files through pyarrow: same schema, metadata and observed bits; only nulls and NaN are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import time
from typing import IO, Any

import numpy as np

from t1.arrays import AnyArray, FloatArray, TimeArray
from t1.data.data_file import DataFile, FileFill, NewRows
from t1.data.fit import fit, fit_decimals
from t1.data.time_columns import TimeColumns
from t1.data.timeline import anchors
from t1.errors import InputError

CELLS_AT_ONCE = 1 << 20  # that are written together, as one row group


def need_pyarrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part, or how to get them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet files need pyarrow, which is not installed.", cure="Try: pip install t1-impute[io]"
        ) from None
    return pyarrow, pyarrow.parquet


@dataclass(frozen=True, eq=False, kw_only=True)
class ParquetFile(DataFile):
    """A Parquet file and its table."""

    table: Any = field(repr=False)  # pyarrow.Table
    compression: str
    time_at: TimeColumns | None = field(repr=False, default=None)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return tuple(self.table.column_names)

    def texts(self, name: str) -> list[str]:
        """The cells of any column as text."""
        return ["" if cell is None else str(cell) for cell in self.table.column(name).to_pylist()]

    def _check_container(self, kind: str) -> None:
        if kind == "excel":
            raise InputError(
                "a Parquet file cannot be written as an Excel file.",
                cure="Give the output a name that ends in .parquet or .csv.",
                option="output",
            )

    def _write(self, stream: IO[bytes], kind: str, fill: FileFill) -> None:
        pa, parquet = need_pyarrow()
        if fill.new_rows is not None or kind != "parquet":
            whole = self._filled(pa, slice(None), fill)
            whole = whole if fill.new_rows is None else self._insert(pa, whole, fill.new_rows)
            if kind == "parquet":
                parquet.write_table(whole, stream, compression=self.compression)
            else:
                from t1.data.convert import parquet_to_csv

                parquet_to_csv(whole, stream, packed=kind == "csv.gz")
            return
        parts = self.filled_parts(fill)
        first = next(parts)
        with parquet.ParquetWriter(stream, first.schema, compression=self.compression) as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(part)

    def filled_parts(self, fill: FileFill) -> Iterator[Any]:
        """The table with its gaps filled, a few rows at a time: pyarrow tables."""
        pa, _ = need_pyarrow()
        step = max(CELLS_AT_ONCE // (self.table.num_columns + len(fill.extra)), 1)
        for begin in range(0, len(self.table), step):
            yield self._filled(pa, slice(begin, begin + step), fill)

    def _filled(self, pa: Any, rows: slice, fill: FileFill) -> Any:
        """Some rows of the table with their gaps filled and the extra columns at the end."""
        begin, end, _ = rows.indices(len(self.table))
        table = self.table.slice(begin, end - begin)
        for k, name in enumerate(self.columns):
            write = fill.missing[rows, k]
            if write.any():
                j = table.schema.get_field_index(name)
                column = _fill(pa, table.column(j), write, fill.values[rows, k])
                table = table.set_column(j, table.schema.field(j), column)
        for name, cells in fill.extra.items():
            # a copy: arrow would keep the whole column alive for the sake of a few rows
            table = table.append_column(name, _extra_column(pa, cells[rows].copy()))
        return table

    def _insert(self, pa: Any, table: Any, new: NewRows) -> Any:
        assert self.time is not None and self.time_at is not None
        written = dict(zip(self.time_at.at, self.time_at.write(new.times), strict=True))
        after, order = anchors(self.time, self.ids, new.times, new.ids)
        given = new.extra or {}
        arrays = []
        for j, field_ in enumerate(table.schema):
            name = field_.name
            if j in written:
                cells = _time_column(pa, field_.type, new.times if len(written) == 1 else None, written[j])
            elif name in self.id_columns and new.ids is not None and self.ids is not None:
                where = {key: row for row, key in reversed(list(enumerate(self.ids.tolist())))}
                cells = self.table.column(name).take(
                    pa.array([where.get(key) for key in new.ids.tolist()], "int64")
                )
            elif name in self.columns:
                values = new.values[:, self.columns.index(name)]
                blank = pa.chunked_array([pa.nulls(len(values), field_.type)])
                cells = _fill(pa, blank, np.isfinite(values), values)
            elif name in given:
                cells = _extra_column(pa, np.asarray(given[name])).cast(field_.type)
            else:
                cells = pa.nulls(len(new.times), field_.type)
            arrays.append(cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells]))
        schema = pa.schema([f.with_nullable(True) for f in table.schema], metadata=table.schema.metadata)
        added = pa.Table.from_arrays(arrays, schema=schema)
        both = pa.concat_tables([table.cast(schema), added])
        place = np.concatenate([np.arange(len(table)), after[order]])
        later = np.concatenate([np.zeros(len(table), int), np.arange(1, len(order) + 1)])
        index = np.concatenate([np.arange(len(table)), len(table) + order])
        return both.take(pa.array(index[np.lexsort((later, place))]))


def is_numeric(pa: Any, kind: Any) -> bool:
    """Whether a column of this type holds numbers."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def numbers_of(pa: Any, column: Any) -> FloatArray:
    """The numbers of a column, NaN where missing."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not pa.types.is_floating(column.type) and not pa.types.is_integer(column.type):
        column = column.cast(pa.float64())
    cells = column.to_numpy()
    return np.array(cells, dtype=np.float64)


def _fill(pa: Any, column: Any, write: AnyArray, filled: FloatArray) -> Any:
    """The column with some cells replaced, in its own type: kept in its range, rounded for integers."""
    kind = column.type
    if pa.types.is_null(kind):
        return column  # it has no type to keep
    fills: Any = (
        fit_decimals(filled[write], kind.scale)
        if pa.types.is_decimal(kind)
        else fit(filled[write], np.dtype(kind.to_pandas_dtype()))
    )
    index = np.arange(len(column))
    index[write] = len(column) + np.arange(int(write.sum()))  # one take, so that observed bits are copied
    return pa.chunked_array([*column.chunks, pa.array(fills, type=kind)]).take(pa.array(index))


def _extra_column(pa: Any, cells: AnyArray) -> Any:
    return pa.array(cells, from_pandas=True)


def _time_column(pa: Any, kind: Any, times: TimeArray | None, texts: list[str]) -> Any:
    """New times in the type of their column; `times` are None where it holds only a part of them, as written."""
    types = pa.types
    if types.is_timestamp(kind) or types.is_date(kind):
        stamps = np.array(texts, dtype="M8[ns]") if times is None else times.astype("M8[ns]")
        if types.is_date(kind):
            return pa.array(stamps.astype("M8[D]")).cast(kind)
        return pa.array(stamps.astype("i8"), type=pa.timestamp("ns", tz=kind.tz)).cast(kind)
    if types.is_time(kind):
        return pa.array([time.fromisoformat(text) for text in texts], type=kind)
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.array(texts, type=kind)
    if types.is_dictionary(kind):
        return pa.array(texts, type=kind.value_type).cast(kind)
    if types.is_duration(kind) and times is not None:
        return pa.array(times.astype("i8"), type=pa.duration("ns")).cast(kind)
    return pa.array([float(text) for text in texts]).cast(kind, safe=False)
