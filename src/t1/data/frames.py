"""Dataframes and arrays: which columns are numbers, which say when and what a row is, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.blocks import column_blocks
from t1.data.frame_columns import FrameColumns, select
from t1.data.ids import contradicting, told_in_order
from t1.data.sentinels import Sentinel, take_out_sentinels
from t1.data.suspicions import WHY_BLANK, blank_may_mean, told_blank
from t1.data.table import Table
from t1.data.time_column import Found
from t1.data.understood import spoken_sentinels, spoken_time
from t1.errors import InputError


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
        all_columns = FrameColumns.of(data)
        chosen = None if columns is None else all_columns.find(columns, "columns")
        without = all_columns.find(exclude, "exclude")
        time_at, found = all_columns.times(all_columns.find(time, "time"), kept=chosen or ())
        id_at = all_columns.find(id, "id") or all_columns.tell_apart(
            found.times, but=(*time_at, *(chosen or ()))
        )
        wanted = [j for j in chosen or all_columns.numeric if j not in (*time_at, *id_at, *without)]
        if not wanted:
            raise InputError(
                "no column is numeric, so there is nothing to fill", cure="Turn the columns into numbers."
            )
        table, blank = Table.from_any(all_columns.select(wanted)), set[int]()
        if chosen is None:
            table, wanted, blank = _without_blank(all_columns, table, wanted)
        left = [j for j in range(len(all_columns.names)) if j not in (*wanted, *time_at, *id_at)]
        id_columns, ids = all_columns.ids(id_at) if id_at or time_at else all_columns.index_ids()
        untold = ""
        if n := 0 if found.times is None else contradicting(found.times, ids, table.values):
            told = " + ".join(all_columns.names[j] for j in time_at) or "the index"
            untold, found, time_at = told_in_order(n, len(table.values), told), Found(), ()
        silent = [j for j in left if j not in (*all_columns.numeric, *without)] if chosen is None else []
        return cls(
            data,
            table.values,
            table.columns,
            tuple(wanted),
            found.times,
            ids,
            id_columns=id_columns,
            time_columns=tuple(all_columns.names[j] for j in time_at),
            said=found.said,
            untold=untold,
            left_alone={
                all_columns.names[j]: WHY_BLANK if j in blank else f"holds {all_columns.dtype(j)}"
                for j in left
            },
            sentinels=take_out_sentinels(table.values, table.columns, keep_sentinels),
            notes=tuple(all_columns.told_empty(silent)),
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
        part = self.native if self.positions is None else select(self.native, self.positions)
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


def _without_blank(
    all_columns: FrameColumns, table: Table, wanted: list[int]
) -> tuple[Table, list[int], set[int]]:
    """The table without columns in which a blank may mean no, unless all are such; what is left; and those."""
    blank = {j for k, j in enumerate(wanted) if blank_may_mean(table.values[:, k], all_columns.names[j])}
    kept = [j for j in wanted if j not in blank]
    if not blank or not kept:
        return table, wanted, set()
    return Table.from_any(all_columns.select(kept)), kept, blank


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
