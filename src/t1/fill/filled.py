"""A filled panel, and where each filled cell came from."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.arrays import BoolArray, Codes, FloatArray, IntArray, Labels, Lengths
from t1.data.place import Placed
from t1.fill.gaps import put_missing
from t1.fill.rules import LEFT_EMPTY, LOCKED, rule_name
from t1.fill.scorecard import Scorecard

SAME_TIME = "same time stamp"  # another row with the same time stamp has the value


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What became of the missing cells: arrays (cells,), column by column and in each from first to last.

    Most tables have few gaps, and so there is no need for a table of each.
    """

    method: Labels  # which of method_names filled the cell; -1: left empty
    gap: Lengths  # length of the run the cell lies in
    rule: Codes  # sums of the codes in rules.py
    tested: BoolArray  # gaps like this one were rehearsed; else the interval follows a rule
    lo: FloatArray | None  # NaN where nothing was filled
    hi: FloatArray | None
    sure: FloatArray | None = None  # the probability that the state is right, NaN in columns of numbers

    def take(self, index: IntArray) -> "Missing":
        """Some of the cells, in a new order."""
        lo, hi, sure = (None if part is None else part[index] for part in (self.lo, self.hi, self.sure))
        return Missing(
            method=self.method[index],
            gap=self.gap[index],
            rule=self.rule[index],
            tested=self.tested[index],
            lo=lo,
            hi=hi,
            sure=sure,
        )


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A filled table (rows, vars); `method`, `gap`, `rule`, `lo` and `hi` are tables made when asked for.

    >>> import numpy as np, t1
    >>> table = np.sin(np.arange(300) / 5)[:, None] * [1.0, 2.0]
    >>> table[100:104, 0] = np.nan
    >>> filled = t1.impute(table, budget="fast", intervals=0.9)
    >>> bool((filled.lo[100:104, 0] <= filled.values[100:104, 0]).all()), filled.gap[100, 0].item()
    (True, 4)
    """

    values: FloatArray  # NaN where left empty
    observed: BoolArray
    missing: Missing = field(repr=False)
    method_names: tuple[str, ...]
    scorecard: Scorecard
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()  # which method was left out, and why

    def __str__(self) -> str:
        return f"{self.n_filled:,} cells filled\n{self.scorecard.to_text()}"

    @cached_property
    def n_filled(self) -> int:
        """How many cells were filled."""
        return self._count()

    def _count(self) -> int:
        return int(np.count_nonzero(self.missing.method >= 0))

    @cached_property
    def method(self) -> Labels:
        """Which of `method_names` filled the cell; -1: observed, or left empty."""
        return self._table(self.missing.method, -1)

    @cached_property
    def gap(self) -> Lengths:
        """Length of the run that the cell lies in, 0 where observed."""
        return self._table(self.missing.gap, 0)

    @cached_property
    def rule(self) -> Codes:
        """Sums of the codes in rules.py."""
        return self._table(self.missing.rule, 0)

    @cached_property
    def tested(self) -> BoolArray:
        """False for filled cells in gaps of a kind that could not be rehearsed."""
        return self._table(self.missing.tested, True)

    @cached_property
    def lo(self) -> FloatArray | None:
        """The lower ends of the intervals, NaN where nothing was filled."""
        return None if self.missing.lo is None else self._table(self.missing.lo, np.nan)

    @cached_property
    def hi(self) -> FloatArray | None:
        """The upper ends of the intervals, NaN where nothing was filled."""
        return None if self.missing.hi is None else self._table(self.missing.hi, np.nan)

    def band(self, which: str, column: int) -> FloatArray:
        """One column (rows,) of `lo` or `hi`, without making the whole table."""
        cells: FloatArray = getattr(self.missing, which)
        out = np.full(len(self.values), np.nan)
        out[~self.observed[:, column]] = cells[self._bounds[column] : self._bounds[column + 1]]
        return out

    def rows(self, at: IntArray, table: FloatArray | None = None) -> "Filled":
        """The table of some rows, in the order given.

        `table` (rows, vars) are the numbers of those rows themselves: they are kept, and a cell that is
        missing there but that another row of the same time stamp has is filled with that one's value.
        """
        known = self.observed[at]
        own = known if table is None else ~np.isnan(table)
        names = self.method_names
        parts: list[Missing] = []
        for j in range(len(self.columns)):
            place = np.cumsum(~self.observed[:, j]) + (self._bounds[j] - 1)
            mine = ~own[:, j]
            twin = known[mine, j]
            cells = (
                self.missing.take(np.where(twin, 0, place[at[mine]])) if len(self.missing.method) else None
            )
            if twin.any():
                if SAME_TIME not in names:
                    names = (*names, SAME_TIME)
                cells = _twins(cells, twin, names.index(SAME_TIME), self.values[at[mine], j])
            if cells is not None:
                parts.append(cells)
        return replace(
            self,
            values=self.values[at] if table is None else np.where(own, table, self.values[at]),
            observed=own,
            missing=_joined(parts, self.missing),
            method_names=names,
        )

    def without(self, cells: BoolArray) -> "Filled":
        """The same fill, but with some of the missing cells (rows, vars) left empty as if they were locked."""
        at = cells.T[~self.observed.T]

        def empty(part: FloatArray | None) -> FloatArray | None:
            return None if part is None else np.where(at, np.nan, part)

        missing = replace(
            self.missing,
            method=np.where(at, np.int16(-1), self.missing.method),
            rule=np.where(at, np.int8(LOCKED), self.missing.rule),
            lo=empty(self.missing.lo),
            hi=empty(self.missing.hi),
            sure=empty(self.missing.sure),
        )
        return replace(self, values=np.where(cells & ~self.observed, np.nan, self.values), missing=missing)

    def in_table(self, placed: Placed) -> "Filled":
        """The fill of a panel in the rows of the table that was placed on it."""
        return self if placed.as_they_are else self.rows(placed.at, placed.values)

    @cached_property
    def provenance(self) -> pd.DataFrame:
        """One row per cell that was filled or left empty on purpose, sorted by row and column.

        Rows are counted from 0, in the order of the table.
        """
        return self._origin()

    def _origin(self) -> pd.DataFrame:
        cells = self.missing
        keep = np.flatnonzero((cells.method >= 0) | (cells.rule & LEFT_EMPTY > 0))
        column, row = (index[keep] for index in np.nonzero(~self.observed.T))
        order = np.argsort(row, kind="stable")
        row, column, cells = row[order], column[order], cells.take(keep[order])
        rules, which_rule = np.unique(cells.rule, return_inverse=True)
        names = list(dict.fromkeys(self.columns))
        place = {name: i for i, name in enumerate(names)}
        of_column = np.array([place[name] for name in self.columns], dtype=np.intp)
        nothing = np.full(len(row), np.nan)
        probability = {} if cells.sure is None else {"probability": cells.sure}
        return pd.DataFrame(
            {
                "row": row,
                "column": pd.Categorical.from_codes(of_column[column], categories=pd.Index(names)),
                "method": pd.Categorical.from_codes(
                    cells.method, categories=pd.Index(self.method_names, dtype=object)
                ),
                "gap_length": cells.gap,
                "value": self.values[row, column],
                "lo": nothing if cells.lo is None else cells.lo,
                "hi": nothing if cells.hi is None else cells.hi,
                **probability,
                "tested": cells.tested,
                "rule": pd.Categorical.from_codes(
                    which_rule.reshape(-1),
                    categories=pd.Index([rule_name(int(r)) for r in rules], dtype=object),
                ),
            }
        )

    @cached_property
    def _bounds(self) -> IntArray:
        """Where the missing cells of each column begin and end, (vars + 1,)."""
        counts = len(self.observed) - np.count_nonzero(self.observed, axis=0)
        return np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(counts)])

    def _table(self, cells: npt.NDArray[Any], observed: float) -> npt.NDArray[Any]:
        table = np.full(self.observed.shape, observed, dtype=cells.dtype)
        put_missing(table, self.observed, cells)
        return table


def _twins(cells: Missing | None, twin: BoolArray, code: int, values: FloatArray) -> Missing:
    """Cells of which those in `twin` take the value of another row at the same time."""
    if cells is None:
        cells = Missing(
            method=np.zeros(len(twin), np.int16),
            gap=np.zeros(len(twin), np.int32),
            rule=np.zeros(len(twin), np.int8),
            tested=np.ones(len(twin), bool),
            lo=None,
            hi=None,
        )
    bands = (None if band is None else np.where(twin, values, band) for band in (cells.lo, cells.hi))
    lo, hi = bands
    return Missing(
        method=np.where(twin, code, cells.method).astype(np.int16),
        gap=np.where(twin, 1, cells.gap).astype(np.int32),
        rule=np.where(twin, 0, cells.rule).astype(np.int8),
        tested=twin | cells.tested,
        lo=lo,
        hi=hi,
        sure=None if cells.sure is None else np.where(twin, 1.0, cells.sure),
    )


def _joined(parts: list[Missing], like: Missing) -> Missing:
    if not parts:
        return like.take(np.zeros(0, dtype=np.intp))

    def join(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        return None if any(column is None for column in columns) else np.concatenate(columns)

    return Missing(**{name: join(name) for name in ("method", "gap", "rule", "tested", "lo", "hi", "sure")})
