"""Parquet files through pyarrow: same schema, metadata and observed bits; only nulls and NaN are replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.data_file import DataFile, NewRows, choose
from t1.data.dates import is_time_name, read_dates, read_numeric_dates
from t1.data.fit import fit, fit_decimals
from t1.data.timeline import anchors
from t1.errors import InputError

CELLS_AT_ONCE = 1 << 20  # that are written together, as one row group


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet files need pyarrow, which is not installed.\nTry: pip install t1-impute[io]"
        ) from None
    return pyarrow, pyarrow.parquet


@dataclass(frozen=True, eq=False, kw_only=True)
class ParquetFile(DataFile):
    """A Parquet file and its table."""

    table: Any = field(repr=False)  # pyarrow.Table
    compression: str

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return tuple(self.table.column_names)

    def _write(
        self,
        stream: IO[bytes],
        suffixes: str,
        filled: FloatArray,
        missing: BoolArray,
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> None:
        pa, parquet = _pyarrow()
        if suffixes.endswith((".csv", ".tsv", ".txt", ".gz")):
            raise InputError(
                "a Parquet file is written back as Parquet.\nGive the output a name that ends in .parquet."
            )
        if new_rows is not None and len(new_rows.times):
            whole = self._insert(pa, self._filled(pa, slice(None), filled, missing, extra), new_rows)
            parquet.write_table(whole, stream, compression=self.compression)
            return
        step = max(CELLS_AT_ONCE // (self.table.num_columns + len(extra)), 1)
        parts = (
            self._filled(pa, slice(begin, begin + step), filled, missing, extra)
            for begin in range(0, len(self.table), step)
        )
        first = next(parts)
        with parquet.ParquetWriter(stream, first.schema, compression=self.compression) as writer:
            writer.write_table(first)
            for part in parts:
                writer.write_table(part)

    def _filled(
        self, pa: Any, rows: slice, filled: FloatArray, missing: BoolArray, extra: Mapping[str, AnyArray]
    ) -> Any:
        """Some rows of the table with their gaps filled and the extra columns at the end."""
        begin, end, _ = rows.indices(len(self.table))
        table = self.table.slice(begin, end - begin)
        for k, name in enumerate(self.columns):
            write = missing[rows, k]
            if write.any():
                j = table.schema.get_field_index(name)
                column = _fill(pa, table.column(j), write, filled[rows, k])
                table = table.set_column(j, table.schema.field(j), column)
        for name, cells in extra.items():
            # a copy: arrow would keep the whole column alive for the sake of a few rows
            table = table.append_column(name, _extra_column(pa, cells[rows].copy()))
        return table

    def _insert(self, pa: Any, table: Any, new: NewRows) -> Any:
        assert self.time is not None
        after, order = anchors(self.time, self.ids, new.times, new.ids)
        given = new.extra or {}
        arrays = []
        for field_ in table.schema:
            name = field_.name
            if name == self.time_column:
                cells = _time_column(pa, field_.type, new.times, self.table.column(name))
            elif name == self.id_column and new.ids is not None and self.ids is not None:
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


def read_parquet(
    raw: bytes,
    *,
    time: str | None = None,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing_values: Sequence[str] = (),
) -> ParquetFile:
    """Read a Parquet file from its bytes."""
    pa, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(pa.BufferReader(raw))
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}.\nWrite it again.") from None
    names = table.column_names
    if not names or not len(table):
        raise InputError("the file has no rows or no columns.\nGive at least one of each.")
    choice = choose(names, time=time, id=id, columns=columns, exclude=exclude)
    problems: list[str] = []
    time_at, times = _find_time(pa, table, choice.time, choice.wanted if choice.named else {choice.id})
    codes = [float(value) for value in missing_values if _is_number(value)]
    passed: dict[str, str] = {}
    at: list[int] = []
    numbers = np.empty((len(table), sum(_is_numeric(pa, kind) for kind in table.schema.types)))
    for j, field_ in enumerate(table.schema):
        kind = field_.type
        if j in (time_at, choice.id):
            continue
        if j not in choice.wanted:
            passed[field_.name] = "was not asked for"
        elif is_time_name(field_.name) and not choice.named and _is_numeric(pa, kind):
            passed[field_.name] = "is named like a time (to have it filled, name it in --columns)"
        elif not _is_numeric(pa, kind):
            if choice.named:
                raise InputError(
                    f"column {field_.name!r} holds {kind}, not numbers.\nTake it out of --columns."
                )
            passed[field_.name] = f"holds {kind}, not numbers"
        else:
            values = _numbers(pa, table.column(j))
            for code in codes:
                values[values == code] = np.nan
            if np.isinf(values).any():
                row = int(np.isinf(values).argmax())
                raise InputError(
                    f"column {field_.name!r} holds an infinite value in row {row} (the first row is 0).\n"
                    f"Leave the column as it is with --exclude {field_.name}."
                )
            if np.isnan(values).all():
                problems.append(f"column {field_.name!r} has no observed value.")
            numbers[:, len(at)] = values
            at.append(j)
    if not at:
        raise InputError(
            f"no column holds numbers (found: {', '.join(map(repr, names[:8]))}).\nCheck the file."
        )
    ids = None
    if choice.id is not None:
        cells = table.column(choice.id).to_pylist()
        ids = np.array(["" if cell is None else str(cell) for cell in cells], dtype=object)
    groups = file.metadata.num_row_groups
    packed = file.metadata.row_group(0).column(0).compression.lower() if groups else "snappy"
    return ParquetFile(
        values=numbers if len(at) == numbers.shape[1] else numbers[:, : len(at)].copy(),
        columns=tuple(names[j] for j in at),
        decimals=tuple(_decimals(pa, table.schema.field(j).type) for j in at),
        time=times,
        time_column=names[time_at] if time_at is not None else None,
        ids=ids,
        id_column=names[choice.id] if choice.id is not None else None,
        passed_through=passed,
        problems=problems,
        table=table,
        compression={"uncompressed": "none"}.get(packed, packed),
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_numeric(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def _decimals(pa: Any, kind: Any) -> int:
    if pa.types.is_integer(kind):
        return 0
    if pa.types.is_decimal(kind):
        return max(int(kind.scale), 0)
    return 7 if pa.types.is_float32(kind) or pa.types.is_float16(kind) else 15


def _numbers(pa: Any, column: Any) -> FloatArray:
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


def _find_time(
    pa: Any, table: Any, explicit: int | None, taken: Collection[int | None]
) -> tuple[int | None, TimeArray | None]:
    if explicit is not None:
        times = _times(pa, table, explicit, named=True)
        if times is None or np.isnat(times).any():
            row = 0 if times is None else int(np.isnat(times).argmax())
            raise InputError(
                f"--time {table.column_names[explicit]}: row {row} (the first is 0) has "
                f"{table.column(explicit)[row].as_py()!r}, which is no date.\n"
                "Correct it, or name another column with --time."
            )
        return explicit, times
    names = table.column_names
    for j in sorted(range(len(names)), key=lambda j: not is_time_name(names[j])):
        if j not in taken:
            times = _times(pa, table, j, named=is_time_name(names[j]))
            if times is not None and not np.isnat(times).any():
                return j, times
    return None, None


def _times(pa: Any, table: Any, j: int, *, named: bool) -> TimeArray | None:
    column = table.column(j)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        try:
            times: TimeArray = np.asarray(column.cast(pa.timestamp("ns")).to_numpy()).astype("M8[ns]")
        except pa.ArrowInvalid:
            return None  # outside the years that nanoseconds can count
        return times
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = [cell or "" for cell in column.to_pylist()]
        some = read_dates([text for text in texts[:50] if text] or [""])
        return None if np.isnat(some.times).any() else read_dates(texts).times
    if named and _is_numeric(pa, kind) and not column.null_count:
        numbers = _numbers(pa, column)
        if np.isfinite(numbers).all():
            return read_numeric_dates(numbers, [str(cell) for cell in column.to_pylist()]).times
    return None


def _time_column(pa: Any, kind: Any, times: TimeArray, like: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return pa.array(times.astype("M8[ns]").astype("i8"), type=pa.timestamp("ns", tz=kind.tz)).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(times.astype("M8[D]")).cast(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(read_dates([cell or "" for cell in like.to_pylist()]).format.write(times), type=kind)
    numbers = _numbers(pa, like)
    format_ = read_numeric_dates(numbers, [str(cell) for cell in like.to_pylist()]).format
    return pa.array([float(text) for text in format_.write(times)]).cast(kind, safe=False)
