"""Dataframes and arrays: which columns are numbers, which say when and what a row is, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.blocks import column_blocks
from t1.data.ids import (
    contradicting,
    join_ids,
    may_name_series,
    numbers_that_tell,
    repeated,
    tell_apart,
    told_in_order,
)
from t1.data.sentinels import Sentinel, take_out_sentinels
from t1.data.suspicions import WHY_BLANK, blank_may_mean, told_blank, told_empty
from t1.data.table import Table, holds_numbers
from t1.data.time_column import dated_levels, find_times
from t1.data.understood import spoken_sentinels, spoken_time
from t1.errors import InputError
from t1.registry import did_you_mean

WORDS = (nw.String, nw.Categorical, nw.Enum, nw.Object)  # columns of text


@dataclass(frozen=True, eq=False)
class Frame:
    """A table that was read from a container: its numbers, times and ids."""

    native: Any
    values: FloatArray  # (rows, vars)
    columns: tuple[str, ...]
    positions: tuple[int, ...] | None  # of the columns in the container; None: all of an array's
    time: TimeArray | None
    ids: AnyArray | None
    id_columns: tuple[str, ...] = ()  # what tells series apart
    time_columns: tuple[str, ...] = ()  # none for a pandas index, and without times
    left_alone: Mapping[str, str] = field(default_factory=dict)  # the other columns, and why
    sentinels: tuple[Sentinel, ...] = ()  # values that mean missing; the sure ones are NaN in `values`
    notes: tuple[str, ...] = ()  # the columns without numbers whose empty cells stay empty
    said: str = ""  # what was found out about the time
    untold: str = ""  # why the rows are taken in their order although there is a time

    @classmethod
    def read(
        cls,
        data: Any,
        *,
        time: str | Sequence[str] | None = None,
        id: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        keep_sentinels: bool = False,
    ) -> Frame:
        """Read a pandas, polars or pyarrow table, an array (rows, columns) or a list of rows.

        Columns that are not numbers pass through. As in a file, a pandas index of dates or a column of dates says
        when the rows are, with the clock beside it, unless `time` does; where times repeat, the columns that tell
        rows apart name the series, unless `id` does; and what is surely a code for missing (-9999) counts as missing.
        """
        if isinstance(data, np.ndarray | list | tuple):
            table = Table.from_any(data)
            sentinels = take_out_sentinels(table.values, table.columns, keep_sentinels)
            return cls(data, table.values, table.columns, None, None, None, sentinels=sentinels)
        frame = _by_position(data)
        names = [str(name) for name in (data.columns if isinstance(data, pd.DataFrame) else frame.columns)]
        chosen = None if columns is None else [_find(str(name), names, "columns") for name in columns]
        without = {_find(str(name), names, "exclude") for name in exclude}
        asked = [] if time is None else [time] if isinstance(time, str) else list(time)
        found = find_times(
            frame.to_native(),
            [frame.columns[_find(name, names, "time")] for name in asked],
            names=names,
            free=[frame.columns[j] for j in range(len(names)) if j not in (chosen or ())],
        )
        times = found.times
        time_at = tuple(frame.columns.index(name) for name in found.names)
        dtypes = [frame[name].dtype for name in frame.columns]
        given = [] if id is None else [id] if isinstance(id, str) else list(id)
        id_at = tuple(_find(name, names, "id") for name in given)
        if not id_at:
            id_at = _tell_apart(frame, names, times, but=(*time_at, *(chosen or ())))
        numeric = [
            j
            for j, (name, dtype) in enumerate(zip(frame.columns, dtypes, strict=True))
            if dtype.is_numeric() or (dtype == nw.Object and holds_numbers(frame[name].to_numpy()))
        ]
        wanted = [j for j in (chosen or numeric) if j not in (*time_at, *id_at) and j not in without]
        if not wanted:
            raise InputError(
                "no column is numeric, so there is nothing to fill", cure="Turn the columns into numbers."
            )
        table = Table.from_any(_select(data, wanted))
        blank = [
            j for k, j in enumerate(wanted) if chosen is None and blank_may_mean(table.values[:, k], names[j])
        ]
        if len(blank) == len(wanted):
            blank = []
        if blank:
            wanted = [j for j in wanted if j not in blank]
            table = Table.from_any(_select(data, wanted))
        others = [j for j in range(len(names)) if j not in (*wanted, *time_at, *id_at)]
        levels = () if id_at or time_at else _levels(data)
        ids = _ids(frame, id_at) if not levels else join_ids(_level_texts(data, levels))
        told = " + ".join(names[j] for j in time_at) or "the index"
        n = 0 if times is None else contradicting(times, ids, table.values)
        return cls(
            data,
            table.values,
            table.columns,
            tuple(wanted),
            None if n else times,
            ids,
            id_columns=tuple(names[j] for j in id_at) or tuple(_level_name(data, k) for k in levels),
            time_columns=() if n else tuple(names[j] for j in time_at),
            said="" if n else found.said,
            untold=told_in_order(n, len(table.values), told) if n else "",
            left_alone={names[j]: WHY_BLANK if j in blank else f"holds {dtypes[j]}" for j in others},
            sentinels=take_out_sentinels(table.values, table.columns, keep_sentinels),
            notes=tuple(
                _empty_cells(frame, names, [j for j in others if j not in (*numeric, *without)])
                if chosen is None
                else ()
            ),
        )

    @property
    def understood(self) -> tuple[str, ...]:
        """How the table was read, in one line."""
        parts = [spoken_time(self.time_columns, self.time)]
        if self.ids is not None:
            told = " and ".join(map(repr, self.id_columns))
            parts.append(f"{pd.Series(self.ids).nunique(dropna=False):,} series, told apart by {told}")
        n, missing = len(self.columns), int(np.isnan(self.values).sum())
        cells = f"{n} column{'s' * (n != 1)}, {missing:,} of {self.values.size:,} values missing"
        said = [self.said] if self.said else []
        return ("; ".join([*parts, cells, *spoken_sentinels(self.sentinels), *said]) + ".",)

    @property
    def doubts(self) -> list[str]:
        """Times that do not tell rows apart, values that may mean missing, and blanks that may not."""
        return [
            *([self.untold] if self.untold else []),
            *(
                f"{one} may mean missing: replace it by NaN to have it filled"
                for one in self.sentinels
                if not one.sure
            ),
            *(told_blank(name) for name, why in self.left_alone.items() if why is WHY_BLANK),
            *self.notes,
        ]

    def restore(self, values: FloatArray, observed: BoolArray) -> Any:
        """The container with `values` (rows, vars) in its missing cells."""
        part = self.native if self.positions is None else _select(self.native, self.positions)
        new = _write(part, self.columns, values, observed)
        if self.positions is None:
            return new
        if isinstance(self.native, pd.DataFrame):
            if len(self.positions) == self.native.shape[1]:
                return new
            out = self.native.copy()
            for k, j in enumerate(self.positions):
                out.isetitem(j, new.iloc[:, k])
            out.attrs.update(self.native.attrs)
            return out
        filled = nw.from_native(new, eager_only=True)
        frame = nw.from_native(self.native, eager_only=True)
        return frame.with_columns(*(filled[name] for name in filled.columns)).to_native()


def _levels(data: Any) -> tuple[int, ...]:
    """The levels of a pandas index that stand beside the one of dates: they tell series apart."""
    index = data.index if isinstance(data, pd.DataFrame) else None
    if not isinstance(index, pd.MultiIndex) or len(dated := dated_levels(index)) != 1:
        return ()
    return tuple(k for k in range(index.nlevels) if k not in dated)


def _level_texts(data: pd.DataFrame, levels: Sequence[int]) -> list[list[str]]:
    return [[str(cell) for cell in data.index.get_level_values(k)] for k in levels]


def _level_name(data: pd.DataFrame, level: int) -> str:
    name = data.index.names[level]
    return f"level {level} of the index" if name is None else str(name)


def _texts(frame: nw.DataFrame[Any], j: int) -> list[str]:
    return ["" if cell is None else str(cell) for cell in frame[frame.columns[j]].to_list()]


def _empty_cells(frame: nw.DataFrame[Any], names: Sequence[str], at: Sequence[int]) -> list[str]:
    """What to say of columns that hold no numbers, and so keep their empty cells."""
    told = []
    for j in at:
        series = frame[frame.columns[j]]
        if not (n := int(series.null_count())):
            continue
        given = series.drop_nulls().to_list()
        text = bool(given) and all(isinstance(cell, str) for cell in given)
        switch = bool(given) and all(isinstance(cell, bool) for cell in given)
        what = "text" if text else "true/false values" if switch else "no numbers"
        told.append(told_empty(names[j], what, n, given if text else ()))
    return told


def _tell_apart(
    frame: nw.DataFrame[Any], names: Sequence[str], times: TimeArray | None, but: tuple[int, ...]
) -> tuple[int, ...]:
    """The columns of text or whole numbers that tell apart what has the same time, or, without one, blocks of rows."""
    free = [j for j in range(len(names)) if j not in but]
    dtypes = [frame[name].dtype for name in frame.columns]
    numeric = {j: partial(_numbers, frame, j) for j in free if dtypes[j].is_numeric()}
    again = 0 if times is None else repeated(times)
    words = [
        j
        for j in free
        if dtypes[j] in WORDS or (j in numeric and may_name_series(names[j], numeric[j], again))
    ]
    at = tell_apart(times, {j: (names[j], lambda j: _texts(frame, j)) for j in words})
    if at or times is None or not again:
        return at
    return numbers_that_tell(times, {j: (names[j], numbers()) for j, numbers in numeric.items()})


def _numbers(frame: nw.DataFrame[Any], j: int) -> FloatArray:
    numbers: FloatArray = frame[frame.columns[j]].cast(nw.Float64).to_numpy()
    return numbers


def _ids(frame: nw.DataFrame[Any], at: tuple[int, ...]) -> AnyArray | None:
    """Which series each row belongs to, of one column or several."""
    if len(at) == 1:
        return frame[frame.columns[at[0]]].to_numpy().astype(object)
    return join_ids(_texts(frame, j) for j in at) if at else None


def _by_position(data: Any) -> nw.DataFrame[Any]:
    """pandas names may be numbers or repeat themselves: columns go by their position."""
    if isinstance(data, pd.DataFrame):
        data = data.set_axis([str(j) for j in range(data.shape[1])], axis=1)
    try:
        return nw.from_native(data, eager_only=True)
    except TypeError:
        Table.from_any(data)  # says what is expected
        raise


def _find(name: str, names: Sequence[str], option: str) -> int:
    if str(name) in names:
        return names.index(str(name))
    some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    hint = did_you_mean(name, names, f"It has: {some}.")
    raise InputError(f"the table has no column {name!r}", cure=hint, option=option)


def _select(data: Any, positions: Sequence[int]) -> Any:
    if isinstance(data, pd.DataFrame):
        return data if len(positions) == data.shape[1] else data.iloc[:, list(positions)]
    frame = nw.from_native(data, eager_only=True)
    return frame.select([frame.columns[j] for j in positions]).to_native()


def _write(part: Any, columns: tuple[str, ...], values: FloatArray, observed: BoolArray) -> Any:
    """The container `part` with its gaps filled; a wide pandas table a few columns at a time."""
    if not isinstance(part, pd.DataFrame) or part.shape[1] < 2:
        return Table(np.where(observed, values, np.nan), columns, part).to_native(values)
    pieces = []
    for block in column_blocks(values.shape):
        known = np.where(observed[:, block], values[:, block], np.nan)
        pieces.append(Table(known, columns[block], part.iloc[:, block]).to_native(values[:, block]))
    whole = pd.concat(pieces, axis=1)
    whole.columns = part.columns
    whole.attrs.update(part.attrs)
    return whole
