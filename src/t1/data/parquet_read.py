"""Reading a Parquet file: which columns are numbers, which one is the time, and what tells series apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from t1.arrays import AnyArray, FloatArray, TimeArray
from t1.data.clocks import combined, find_clock
from t1.data.data_file import Choice, choose
from t1.data.date_parts import find_parts
from t1.data.dates import EPOCH_NAME, Dates, is_time_name, may_be_a_code, read_dates
from t1.data.ids import find_series, join_ids, may_name_series, repeated, told_series
from t1.data.lone_clocks import find_lone_clock
from t1.data.numeric_dates import read_numeric_dates
from t1.data.parquet import ParquetFile, is_numeric, need_pyarrow, numbers_of
from t1.data.reading import Reading
from t1.data.sentinels import doubtful_sentinels, take_out_sentinels
from t1.data.suspicions import WHY_BLANK, blank_may_mean, told_blank, told_empty, told_nothing
from t1.data.time_columns import TimeColumns, TimeSource, cell_text
from t1.data.time_format import TimeFormat
from t1.errors import InputError


def read_parquet(raw: bytes, reading: Reading | None = None) -> ParquetFile:
    """Read a Parquet file from its bytes."""
    reading = reading or Reading()
    pa, parquet = need_pyarrow()
    try:
        file = parquet.ParquetFile(pa.BufferReader(raw))
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}.", cure="Write it again.") from None
    return read_table(table, compression_of(file.metadata), reading)


def compression_of(metadata: Any) -> str:
    """How a file is packed, by its first column."""
    packed = metadata.row_group(0).column(0).compression.lower() if metadata.num_row_groups else "snappy"
    return {"uncompressed": "none"}.get(packed, packed)


def read_table(table: Any, compression: str, reading: Reading) -> ParquetFile:
    """Understand a pyarrow table, which is a Parquet file or some rows of one."""
    pa, _ = need_pyarrow()
    names = table.column_names
    if not names or not len(table):
        raise InputError("the file has no rows or no columns.", cure="Give at least one of each.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"several columns are named {twice!r}.", cure="Give every column a name of its own.")
    choice = choose(names, reading)
    problems: list[str] = []
    told: list[str] = []
    time = _find_time(pa, table, choice, reading, told)
    time_at = () if time is None else time.at
    passed: dict[str, str] = {}
    id_at, ids, said = _find_ids(pa, table, choice, time)
    said = [*told, *said]
    values, at = _find_numeric(pa, table, choice, reading, {*time_at, *id_at}, passed, problems)
    if len(time_at) == 1 and (zone := getattr(table.schema.field(time_at[0]).type, "tz", None)):
        said.append(f"times are in {zone}")
    if not choice.named:
        left = [
            j for j, name in enumerate(names) if passed.get(name, "").startswith("holds") and j not in id_at
        ]
        problems += _empty_cells(pa, table, left)
    kept = tuple(names[j] for j in at)
    sentinels = take_out_sentinels(values, kept, reading.keep_sentinels)
    return ParquetFile(
        values=values,
        columns=kept,
        decimals=tuple(_decimals(pa, table.schema.field(j).type) for j in at),
        time=None if time is None else time.times,
        time_columns=tuple(names[j] for j in sorted(time_at)),
        time_format=None if time is None else time.format,
        ids=ids,
        id_columns=tuple(names[j] for j in id_at),
        passed_through=passed,
        problems=[*problems, *doubtful_sentinels(sentinels)],
        said=tuple(said),
        sentinels=sentinels,
        kind=reading.kind,
        table=table,
        compression=compression,
        time_at=time,
    )


def _find_numeric(
    pa: Any,
    table: Any,
    choice: Choice,
    reading: Reading,
    taken: set[int],
    passed: dict[str, str],
    problems: list[str],
) -> tuple[FloatArray, list[int]]:
    """The numbers (rows, vars) to fill and their columns; `passed` learns why others are left alone."""
    names = table.column_names
    codes = [float(value) for value in reading.missing_values if _is_number(value)]
    at: list[int] = []
    numbers = np.empty((len(table), sum(is_numeric(pa, kind) for kind in table.schema.types)))
    for j, name in enumerate(names):
        if j in taken:
            continue
        if why := _not_filled(pa, table.schema.field(j), choice, j in choice.wanted):
            passed[name] = why
            continue
        values = _numbers(pa, table, j, codes)
        if not choice.named and blank_may_mean(values, name):
            passed[name] = WHY_BLANK
            problems.append(told_blank(name))
            continue
        if np.isnan(values).all():
            problems.append(told_nothing(name))
        numbers[:, len(at)] = values
        at.append(j)
    if not at:
        raise InputError(
            f"no column holds numbers (found: {', '.join(map(repr, names[:8]))}).", cure="Check the file."
        )
    return (numbers if len(at) == numbers.shape[1] else numbers[:, : len(at)].copy()), at


def _not_filled(pa: Any, field: Any, choice: Choice, wanted: bool) -> str | None:
    """Why a column is left alone, by its name and type; None if it is to be filled."""
    if not wanted:
        return "was not asked for"
    if is_numeric(pa, field.type):
        by_name = is_time_name(field.name) and not choice.named
        return "is named like a time (to have it filled, name it: columns)" if by_name else None
    if choice.named:
        raise InputError(
            f"column {field.name!r} holds {field.type}, not numbers.",
            cure="Take it out of the columns to fill.",
            option="columns",
        )
    return f"holds {'text' if _is_text(pa, field.type) else field.type}, not numbers"


def _empty_cells(pa: Any, table: Any, at: Sequence[int]) -> list[str]:
    """What to say of columns that hold no numbers, and so keep their empty cells."""
    told = []
    for j in at:
        column = table.column(j)
        if is_numeric(pa, column.type) or not column.null_count:
            continue
        text = _is_text(pa, column.type)
        given = [cell for cell in column.to_pylist() if cell is not None] if text else []
        what = (
            "text" if text else "true/false values" if pa.types.is_boolean(column.type) else str(column.type)
        )
        told.append(told_empty(table.column_names[j], what, column.null_count, map(str, given)))
    return told


def _numbers(pa: Any, table: Any, j: int, codes: Sequence[float]) -> FloatArray:
    """A column (rows,), NaN where it is missing or holds one of the codes."""
    values = numbers_of(pa, table.column(j))
    for code in codes:
        values[values == code] = np.nan
    if np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise InputError(
            f"column {table.column_names[j]!r} holds an infinite value in row {row} (the first row is 0).",
            cure="Leave the column as it is.",
            option="exclude",
        )
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decimals(pa: Any, kind: Any) -> int:
    if pa.types.is_integer(kind):
        return 0
    if pa.types.is_decimal(kind):
        return max(int(kind.scale), 0)
    return 7 if pa.types.is_float32(kind) or pa.types.is_float16(kind) else 15


def _find_ids(
    pa: Any, table: Any, choice: Choice, time: TimeColumns | None
) -> tuple[tuple[int, ...], AnyArray | None, list[str]]:
    """The columns that tell series apart, each row's id, and what to say about it."""

    def texts(j: int) -> list[str]:
        return ["" if cell is None else str(cell) for cell in table.column(j).to_pylist()]

    at, said = choice.id, []
    if not at and not choice.named:
        times, taken = (None, ()) if time is None else (time.times, time.at)
        again = 0 if times is None else repeated(times)
        kinds, names = table.schema.types, table.column_names
        free = [j for j in range(len(kinds)) if j not in taken]
        numeric = {j: partial(numbers_of, pa, table.column(j)) for j in free if is_numeric(pa, kinds[j])}
        named = [j for j in numeric if may_name_series(names[j], numeric[j], again)]
        words = [j for j in free if j in named or _is_text(pa, kinds[j])]
        numbers = {j: (names[j], of_column) for j, of_column in numeric.items()}
        at = find_series(times, {j: (names[j], texts) for j in words}, numbers)
        if at:
            said.append(told_series((names[j] for j in at), times))
    if not at:
        return (), None, said
    return at, join_ids(map(texts, at)), said


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _find_time(pa: Any, table: Any, choice: Choice, reading: Reading, said: list[str]) -> TimeColumns | None:
    """The columns that say when, their times, and how they are written; `said` learns what was found out."""
    names = table.column_names

    def numbers(j: int) -> FloatArray | None:
        kind = table.schema.field(j).type
        return numbers_of(pa, table.column(j)) if is_numeric(pa, kind) else None

    def texts(j: int) -> list[str]:
        return [cell_text(cell).removesuffix(".0") for cell in table.column(j).to_pylist()]

    source = TimeSource(names, texts, numbers)
    if len(choice.time) > 1:
        return combined(source, choice.time, day_first=reading.dayfirst, pattern=reading.time_format)
    if choice.time:
        found = _times(pa, table, choice.time[0], reading, named=True)
        if found is None and (lone := find_lone_clock(source, choice.time, named=True)) is not None:
            said.append(lone.said)
            return lone.time
        if found is None or np.isnat(found.times).any():
            row = 0 if found is None else int(np.isnat(found.times).argmax())
            raise InputError(
                f"row {row} (the first is 0) of the time column {names[choice.time[0]]!r} has "
                f"{table.column(choice.time[0])[row].as_py()!r}, which is no date.",
                cure="Correct it, or name another column.",
                option="time",
            )
        return TimeColumns(choice.time, found.times, (found.format,))
    taken = {*choice.id, *(choice.wanted if choice.named else ())}
    for j in sorted(range(len(names)), key=lambda j: not is_time_name(names[j])):
        if j not in taken:
            found = _times(pa, table, j, reading, named=is_time_name(names[j]))
            if found is not None and may_be_a_code(found.format.pattern, names[j]):
                continue
            if found is not None and not np.isnat(found.times).any():
                zone = getattr(table.schema.field(j).type, "tz", None)
                typed = not found.format.pattern and not found.format.unit
                plain = replace(found, format=TimeFormat("%Y-%m-%d")) if typed else found
                both = find_clock(source, j, plain) if zone is None else None
                return both or TimeColumns((j,), found.times, (found.format,))
    if choice.named:
        return None
    parts = find_parts(source, named=True)
    lone = None
    if parts is None:
        may_be = [
            j for j in range(len(names)) if j not in taken and not is_numeric(pa, table.schema.types[j])
        ]
        lone = find_lone_clock(source, may_be)
    if lone is not None:
        said.append(lone.said)
        return lone.time
    return parts


def _times(pa: Any, table: Any, j: int, reading: Reading, *, named: bool) -> Dates | None:
    column = table.column(j)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        try:
            times: TimeArray = np.asarray(column.cast(pa.timestamp("ns")).to_numpy()).astype("M8[ns]")
        except pa.ArrowInvalid:
            return None  # outside the years that nanoseconds can count
        return Dates(times, TimeFormat())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = [cell or "" for cell in column.to_pylist()]
        if not any(texts[:50]):
            return None
        some = read_dates([text for text in texts[:50] if text], pattern=reading.time_format)
        if np.isnat(some.times).any():
            return None
        return read_dates(texts, day_first=reading.dayfirst, pattern=reading.time_format)
    name = table.column_names[j]
    epoch = not named and pa.types.is_integer(kind) and EPOCH_NAME.search(name.strip().lower()) is not None
    if (named or epoch) and is_numeric(pa, kind) and not column.null_count:
        numbers = numbers_of(pa, column)
        if np.isfinite(numbers).all() and (named or (numbers.min() >= 1e9 and (np.diff(numbers) >= 0).all())):
            texts = [str(cell) for cell in column.to_pylist()]
            return read_numeric_dates(numbers, texts, name=name)
    return None
