"""The columns of a dataframe by their position: which say when, what a row is of, and which hold numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import pandas as pd

from t1.arrays import AnyArray, FloatArray, TimeArray
from t1.data.ids import find_series, join_ids, may_name_series, repeated
from t1.data.suspicions import told_empty
from t1.data.table import Table, holds_numbers
from t1.data.time_column import Found, dated_levels, find_times
from t1.errors import InputError
from t1.registry import did_you_mean

WORDS = (nw.String, nw.Categorical, nw.Enum, nw.Object)  # columns of text


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A pandas, polars or pyarrow table; pandas names may be numbers or repeat themselves, so positions count."""

    native: Any
    frame: nw.DataFrame[Any]  # the columns of a pandas table are called by their position here
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: Any) -> FrameColumns:
        """The columns of a table, which must be one."""
        native = data
        if isinstance(data, pd.DataFrame):
            native = data.set_axis([str(j) for j in range(data.shape[1])], axis=1)
        try:
            frame = nw.from_native(native, eager_only=True)
        except TypeError:
            Table.from_any(data)  # says what is expected
            raise
        names = data.columns if isinstance(data, pd.DataFrame) else frame.columns
        return cls(data, frame, tuple(map(str, names)))

    def find(self, named: str | Sequence[str] | None, option: str) -> list[int]:
        """Where the columns are that an option names."""
        found = []
        for name in () if named is None else [named] if isinstance(named, str) else named:
            if str(name) not in self.names:
                some = ", ".join(self.names[:10]) + (", ..." if len(self.names) > 10 else "")
                hint = did_you_mean(name, self.names, f"It has: {some}.")
                raise InputError(f"the table has no column {name!r}", cure=hint, option=option)
            found.append(self.names.index(str(name)))
        return found

    def select(self, at: Sequence[int]) -> Any:
        """A container of the same kind with some of the columns."""
        return select(self.native, at)

    def dtype(self, j: int) -> Any:
        """The type of a column."""
        return self.frame[self.frame.columns[j]].dtype

    def texts(self, j: int) -> list[str]:
        """The cells of a column as text, empty where missing."""
        return ["" if cell is None else str(cell) for cell in self.frame[self.frame.columns[j]].to_list()]

    def numbers(self, j: int) -> FloatArray:
        """The cells of a column of numbers."""
        cells: FloatArray = self.frame[self.frame.columns[j]].cast(nw.Float64).to_numpy()
        return cells

    @cached_property
    def numeric(self) -> list[int]:
        """The columns of numbers, also of objects that are numbers."""
        return [
            j
            for j, series in enumerate(self.frame.iter_columns())
            if series.dtype.is_numeric() or (series.dtype == nw.Object and holds_numbers(series.to_numpy()))
        ]

    def times(self, named: Sequence[int], kept: Sequence[int]) -> tuple[tuple[int, ...], Found]:
        """The columns that say when, and the time; a clock may be in any column but those that are `kept`."""
        found = find_times(
            self.frame.to_native(),
            [self.frame.columns[j] for j in named],
            names=self.names,
            free=[name for j, name in enumerate(self.frame.columns) if j not in kept],
        )
        return tuple(self.frame.columns.index(name) for name in found.names), found

    def tell_apart(self, times: TimeArray | None, but: Sequence[int]) -> list[int]:
        """The columns of text or whole numbers that tell apart what has the same time; without one, blocks of rows."""
        free = [j for j in range(len(self.names)) if j not in but]
        numeric = {j: partial(self.numbers, j) for j in free if self.dtype(j).is_numeric()}
        again = 0 if times is None else repeated(times)
        words = [
            j
            for j in free
            if self.dtype(j) in WORDS or (j in numeric and may_name_series(self.names[j], numeric[j], again))
        ]
        numbers = {j: (self.names[j], of_column) for j, of_column in numeric.items()}
        return list(find_series(times, {j: (self.names[j], self.texts) for j in words}, numbers))

    def ids(self, at: Sequence[int]) -> tuple[tuple[str, ...], AnyArray | None]:
        """What tells series apart, and which of them each row belongs to, by one column or several."""
        names = tuple(self.names[j] for j in at)
        if len(at) == 1:
            return names, self.frame[self.frame.columns[at[0]]].to_numpy().astype(object)
        return names, join_ids(map(self.texts, at)) if at else None

    def index_ids(self) -> tuple[tuple[str, ...], AnyArray | None]:
        """The same by the levels of a pandas index that stand beside the one of dates."""
        index = self.native.index if isinstance(self.native, pd.DataFrame) else None
        if not isinstance(index, pd.MultiIndex) or len(dated := dated_levels(index)) != 1:
            return (), None
        levels = [k for k in range(index.nlevels) if k not in dated]
        names = [index.names[k] for k in levels]
        called = (
            f"level {k} of the index" if n is None else str(n) for k, n in zip(levels, names, strict=True)
        )
        return tuple(called), join_ids([str(cell) for cell in index.get_level_values(k)] for k in levels)

    def told_empty(self, at: Sequence[int]) -> list[str]:
        """What to say of columns that hold no numbers, and so keep their empty cells."""
        told = []
        for j in at:
            series = self.frame[self.frame.columns[j]]
            if not (n := int(series.null_count())):
                continue
            given = series.drop_nulls().to_list()
            text = bool(given) and all(isinstance(cell, str) for cell in given)
            switch = bool(given) and all(isinstance(cell, bool) for cell in given)
            what = "text" if text else "true/false values" if switch else "no numbers"
            told.append(told_empty(self.names[j], what, n, given if text else ()))
        return told


def select(data: Any, at: Sequence[int]) -> Any:
    """A container of the same kind with the columns at some positions."""
    if isinstance(data, pd.DataFrame):
        return data if len(at) == data.shape[1] else data.iloc[:, list(at)]
    frame = nw.from_native(data, eager_only=True)
    return frame.select([frame.columns[j] for j in at]).to_native()
