"""Parquet files through pyarrow: same schema, metadata and observed bits; only nulls and NaN are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.data_file import Choice, DataFile, NewRows, choose
from t1.data.dates import is_time_name, read_dates, read_numeric_dates
from t1.data.fit import fit, fit_decimals
from t1.data.ids import tell_apart
from t1.data.reading import Reading
from t1.data.sentinels import drop_sentinels, find_sentinels
from t1.data.time_columns import Source, combine, find_parts
from t1.data.time_format import TimeFormat
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

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return tuple(self.table.column_names)

    def _check_container(self, kind: str) -> None:
        if kind == "excel":
            raise InputError(
                "a Parquet file cannot be written as an Excel file.",
                cure="Give the output a name that ends in .parquet or .csv.",
                option="output",
            )

    def _write(
        self,
        stream: IO[bytes],
        kind: str,
        filled: FloatArray,
        missing: BoolArray,
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> None:
        pa, parquet = need_pyarrow()
        if new_rows is not None or kind != "parquet":
            whole = self._filled(pa, slice(None), filled, missing, extra)
            whole = whole if new_rows is None else self._insert(pa, whole, new_rows)
            if kind == "parquet":
                parquet.write_table(whole, stream, compression=self.compression)
            else:
                from t1.data.convert import parquet_to_csv

                parquet_to_csv(whole, stream, packed=kind == "csv.gz")
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
            if name in self.time_columns:
                cells = _time_column(pa, field_.type, new.times, self.table.column(name))
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


def read_parquet(raw: bytes, reading: Reading | None = None) -> ParquetFile:
    """Read a Parquet file from its bytes."""
    reading = reading or Reading()
    pa, parquet = need_pyarrow()
    try:
        file = parquet.ParquetFile(pa.BufferReader(raw))
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}.", cure="Write it again.") from None
    names = table.column_names
    if not names or not len(table):
        raise InputError("the file has no rows or no columns.", cure="Give at least one of each.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"several columns are named {twice!r}.", cure="Give every column a name of its own.")
    choice = choose(names, reading)
    missing_values = reading.missing_values
    problems: list[str] = []
    time_at, times, form = _find_time(pa, table, choice, reading)
    codes = [float(value) for value in missing_values if _is_number(value)]
    passed: dict[str, str] = {}
    at: list[int] = []
    numbers = np.empty((len(table), sum(_is_numeric(pa, kind) for kind in table.schema.types)))
    for j, field_ in enumerate(table.schema):
        kind = field_.type
        if j in time_at or j in choice.id:
            continue
        if j not in choice.wanted:
            passed[field_.name] = "was not asked for"
        elif is_time_name(field_.name) and not choice.named and _is_numeric(pa, kind):
            passed[field_.name] = "is named like a time (to have it filled, name it: columns)"
        elif not _is_numeric(pa, kind):
            if choice.named:
                raise InputError(
                    f"column {field_.name!r} holds {kind}, not numbers.",
                    cure="Take it out of the columns to fill.",
                    option="columns",
                )
            passed[field_.name] = f"holds {kind}, not numbers"
        else:
            values = _numbers(pa, table.column(j))
            for code in codes:
                values[values == code] = np.nan
            if np.isinf(values).any():
                row = int(np.isinf(values).argmax())
                raise InputError(
                    f"column {field_.name!r} holds an infinite value in row {row} (the first row is 0).",
                    cure="Leave the column as it is.",
                    option="exclude",
                )
            if np.isnan(values).all():
                problems.append(f"column {field_.name!r} has no observed value, so it stays empty.")
            numbers[:, len(at)] = values
            at.append(j)
    if not at:
        raise InputError(
            f"no column holds numbers (found: {', '.join(map(repr, names[:8]))}).", cure="Check the file."
        )
    id_at, ids, said = _find_ids(pa, table, choice, times, time_at)
    values = numbers if len(at) == numbers.shape[1] else numbers[:, : len(at)].copy()
    kept = tuple(names[j] for j in at if j not in id_at)
    sentinels = [] if reading.keep_sentinels else find_sentinels(values, kept)
    drop_sentinels(values, kept, sentinels)
    problems += [
        f"{one} may mean missing; if it does, say so (missing_values)." for one in sentinels if not one.sure
    ]
    groups = file.metadata.num_row_groups
    packed = file.metadata.row_group(0).column(0).compression.lower() if groups else "snappy"
    return ParquetFile(
        values=values,
        columns=kept,
        decimals=tuple(_decimals(pa, table.schema.field(j).type) for j in at),
        time=times,
        time_columns=tuple(names[j] for j in time_at),
        time_format=form,
        ids=ids,
        id_columns=tuple(names[j] for j in id_at),
        passed_through=passed,
        problems=problems,
        said=tuple(said),
        sentinels=tuple(sentinels),
        kind=reading.kind,
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


def _find_ids(
    pa: Any, table: Any, choice: Choice, times: TimeArray | None, time_at: tuple[int, ...]
) -> tuple[tuple[int, ...], AnyArray | None, list[str]]:
    """The columns that tell series apart, each row's id, and what to say about it."""

    def texts(j: int) -> list[str]:
        return ["" if cell is None else str(cell) for cell in table.column(j).to_pylist()]

    at, said = choice.id, []
    if not at and times is not None and not choice.named:
        kinds = table.schema.types
        words = [j for j, kind in enumerate(kinds) if _is_text(pa, kind) and j not in time_at]
        at = tell_apart(times, {j: (table.column_names[j], texts) for j in words})
        if at:
            names = " and ".join(repr(table.column_names[j]) for j in at)
            said.append(f"time stamps repeat, so each {names} is taken as a series of its own")
    if not at:
        return (), None, said
    ids = [" / ".join(parts) for parts in zip(*map(texts, at), strict=True)]
    return at, np.array(ids, dtype=object), said


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _find_time(
    pa: Any, table: Any, choice: Choice, reading: Reading
) -> tuple[tuple[int, ...], TimeArray | None, TimeFormat | None]:
    """The columns that say when, their times, and the format of text."""
    names = table.column_names

    def numbers(j: int) -> FloatArray | None:
        kind = table.schema.field(j).type
        return _numbers(pa, table.column(j)) if _is_numeric(pa, kind) else None

    def texts(j: int) -> list[str]:
        return ["" if cell is None else f"{cell}".removesuffix(".0") for cell in table.column(j).to_pylist()]

    if len(choice.time) > 1:
        both = combine(
            Source(names, texts, numbers),
            choice.time,
            day_first=reading.dayfirst,
            pattern=reading.time_format,
        )
        if both is None:
            raise InputError(
                f"{' and '.join(names[j] for j in choice.time)} together are no time.",
                cure="Name a date and a clock, or year, month, day and hour.",
                option="time",
            )
        return both.at, both.times, both.format
    if choice.time:
        found = _times(pa, table, choice.time[0], reading, named=True)
        if found is None or np.isnat(found[0]).any():
            row = 0 if found is None else int(np.isnat(found[0]).argmax())
            raise InputError(
                f"row {row} (the first is 0) of the time column {names[choice.time[0]]!r} has "
                f"{table.column(choice.time[0])[row].as_py()!r}, which is no date.",
                cure="Correct it, or name another column.",
                option="time",
            )
        return choice.time, *found
    taken = {*choice.id, *(choice.wanted if choice.named else ())}
    for j in sorted(range(len(names)), key=lambda j: not is_time_name(names[j])):
        if j not in taken:
            found = _times(pa, table, j, reading, named=is_time_name(names[j]))
            if found is not None and not np.isnat(found[0]).any():
                return (j,), *found
    parts = None if choice.named else find_parts(Source(names, texts, numbers), named=True)
    return (parts.at, parts.times, parts.format) if parts is not None else ((), None, None)


def _times(
    pa: Any, table: Any, j: int, reading: Reading, *, named: bool
) -> tuple[TimeArray, TimeFormat | None] | None:
    column = table.column(j)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        try:
            times: TimeArray = np.asarray(column.cast(pa.timestamp("ns")).to_numpy()).astype("M8[ns]")
        except pa.ArrowInvalid:
            return None  # outside the years that nanoseconds can count
        return times, None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = [cell or "" for cell in column.to_pylist()]
        some = read_dates([text for text in texts[:50] if text] or [""], pattern=reading.time_format)
        if np.isnat(some.times).any():
            return None
        dates = read_dates(texts, day_first=reading.dayfirst, pattern=reading.time_format)
        return dates.times, dates.format
    if named and _is_numeric(pa, kind) and not column.null_count:
        numbers = _numbers(pa, column)
        if np.isfinite(numbers).all():
            dates = read_numeric_dates(numbers, [str(cell) for cell in column.to_pylist()])
            return dates.times, dates.format
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
