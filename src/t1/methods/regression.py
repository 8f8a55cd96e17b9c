"""Ridge regression of each column on the others and on its own season, learned on rehearsed gaps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.data.blocks import BLOCK, column_blocks
from t1.methods.base import Fill, Learning, Pace
from t1.methods.pooled import pooled
from t1.methods.seasons import check_table, find_period, mean_cycle, moments
from t1.methods.simple import linear, over_season
from t1.panel import Panel

OnShare = Callable[[float], None]  # is told which share of the work is done; may raise to end it

REHEARSED = 1 << 16  # rows on which a regression is learned
NOISE = 1e-5  # of standard units: a smaller feature is rounding of 32-bit numbers, and must not be blown up
ROUNDS = 3  # of a regression
SEEN_AT_ONCE = 4096  # cells whose features exist at once


def regression(values: FloatArray, *, n_helpers: int = 8) -> FloatArray:
    """Correct the straight line by ridge regression on the season and the best-correlated columns.

    The weights are learned on cells hidden by the table's own gaps, moved elsewhere in time, so that what is
    trusted is what helped across gaps like these (scikit-learn's IterativeImputer ignores the order of rows).
    """
    filled = np.array(check_table(values), order="C")
    learned = learn_regression(filled, find_period(filled), n_helpers=n_helpers)
    for j, fill in learned.fill(filled):
        filled[:, j] = fill
    return filled


@dataclass(frozen=True, eq=False)
class Regression:
    """What was learned: for every round and column the weights, None where the season has to do."""

    cycle: FloatArray | None  # (period, columns), the mean cycle in standard units; None: no season
    columns: IntArray  # those that take part: with an observed value and a finite spread
    centre: FloatArray  # (columns,)
    scale: FloatArray
    low: FloatArray  # the least and the greatest value observed: fills stay between them
    high: FloatArray
    helpers: IntArray  # (columns, helpers), positions in `columns`
    weights: list[list[FloatArray | None]]  # (rounds, columns)

    def at_phase(self, phase: int) -> "Regression":
        """The same, for a clock on which the first row that it learned from stands at `phase`."""
        if self.cycle is None:
            return self
        return replace(self, cycle=np.roll(self.cycle, phase % len(self.cycle), axis=0))

    def fill(
        self, values: FloatArray, phase: int = 0, on_share: OnShare | None = None
    ) -> Iterator[tuple[int, FloatArray]]:
        """The columns of `values` (time, vars) that have gaps, filled, one after the other."""
        table = _Filler(values, self.columns, self.centre, self.scale, self.cycle, phase)
        if on_share is not None:
            on_share(0.0)
        for k, weights in enumerate(self.weights):
            fills = {}
            for j in table.gappy:
                if (w := weights[j]) is not None:
                    fills[j] = _apply(table.look(j, self.helpers[j]), w)
                if on_share is not None:
                    on_share((k + (j + 1) / len(self.columns)) / len(self.weights))
            table.put(fills)
        for j in table.gappy:
            column = values[:, self.columns[j]].copy()
            gap = table.hidden[j]
            fill = table.fill[j, gap].astype(np.float64) * self.scale[j] + self.centre[j]
            column[gap] = np.clip(fill, self.low[j], self.high[j])
            yield int(self.columns[j]), column


def learn_regression(
    values: FloatArray,
    period: int | None,
    *,
    n_helpers: int = 8,
    every: bool = False,
    pattern: BoolArray | None = None,
    on_share: OnShare | None = None,
) -> Regression:
    """Learn from the observed cells of `values` (time, vars); of a long table some stretches are enough.

    Weights are learned for the columns that have gaps, or for `every` one: then a column without gaps
    rehearses those of another. `pattern` (time, vars) is True where the table whose gaps are rehearsed is
    observed, if it is another one than `values`.
    """
    columns, centre, scale = _standard(values)
    cycle = None if period is None or period >= len(values) else np.empty((period, len(columns)))
    observed = np.empty((len(values), len(columns)), dtype=bool)
    for block in column_blocks(observed.shape):  # a whole table in standard units would take too much memory
        standard = (values[:, columns[block]] - centre[block]) / scale[block]
        observed[:, block] = ~np.isnan(standard)
        if cycle is not None:
            cycle[:, block] = mean_cycle(standard, len(cycle))
    rows = _rehearsed_rows(len(values), period)
    table = values if len(rows) == len(values) else values[rows]
    helpers = _helpers(_Filler(table, columns, centre, scale, cycle, 0).fill, n_helpers)
    own = observed if pattern is None else pattern[:, columns]
    hidden = _hide(observed, own, rows, every)
    rehearsal = _Filler(table, columns, centre, scale, cycle, 0, hidden)
    learning = np.flatnonzero(hidden.any(axis=1)).tolist()

    def truth(j: int) -> FloatArray:
        hidden_cells: FloatArray = (table[rehearsal.hidden[j], columns[j]] - centre[j]) / scale[j]
        return hidden_cells

    weights = _learn_weights(rehearsal, learning, truth, helpers, on_share)
    return Regression(
        cycle=cycle,
        columns=columns,
        centre=centre,
        scale=scale,
        low=np.fmin.reduce(values[:, columns], axis=0, initial=np.inf),
        high=np.fmax.reduce(values[:, columns], axis=0, initial=-np.inf),
        helpers=helpers,
        weights=weights,
    )


def _hide(observed: BoolArray, pattern: BoolArray, rows: IntArray, every: bool) -> BoolArray:
    """The observed cells (columns, rows) that are rehearsed: in columns that have gaps, or in `every` one."""
    hidden = np.zeros((observed.shape[1], len(rows)), dtype=bool)
    with_gaps = ~np.all(pattern, axis=0)
    donors = np.flatnonzero(with_gaps)
    for j in range(len(hidden)):
        if with_gaps[j]:
            hidden[j] = _hide_like_gaps(observed[:, j], pattern[:, j], rows)
        elif every and len(donors):
            # Elsewhere than the donor's: what is hidden together in all columns teaches nothing about the others.
            aside = (j + 1) * 0.7548776662 % 1
            hidden[j] = _hide_like_gaps(observed[:, j], pattern[:, donors[j % len(donors)]], rows, aside)
    return hidden


def _learn_weights(
    rehearsal: "_Filler",
    learning: list[int],
    truth: Callable[[int], FloatArray],
    helpers: IntArray,
    on_share: OnShare | None,
) -> list[list[FloatArray | None]]:
    """The weights (rounds, columns) of the columns to learn; `truth` is what their hidden cells hold."""
    n_columns, n_helpers = helpers.shape
    weights: list[list[FloatArray | None]] = []
    for k in range(ROUNDS):  # again with better helpers, where several columns are missing at once
        fills = {}
        weights.append([None] * n_columns)
        for j in learning:
            if on_share is not None:
                on_share((k + j / n_columns) / ROUNDS)
            values = truth(j)
            known = ~np.isnan(values)
            if known.sum() < _n_features(n_helpers):
                continue  # too little to learn from: the fill by the season is kept
            sight = rehearsal.look(j, helpers[j])
            w = weights[k][j] = _ridge(sight, values, known)
            if k < ROUNDS - 1:
                fills[j] = _apply(sight, w)
        rehearsal.put(fills)
    return weights


@dataclass(frozen=True, eq=False)
class RegressionFill:
    """One regression for each series that was learned from."""

    name: ClassVar[str] = "regression"
    by_id: dict[Any, Regression]

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Learn every series by itself."""
        pace = Pace(learning, cls.name, times=3)  # judging and filling take about twice as long as learning
        alone = len(set(panel.ids)) == 1
        learned: dict[Any, Regression] = {}
        for k, (key, values, phase, rows) in enumerate(pooled(panel, learning.periods)):
            found = learn_regression(
                values,
                learning.periods.get(key),
                every=learning.every,
                pattern=None if learning.pattern is None else learning.pattern[rows],
                on_share=pace if alone else None,
            )
            learned[key] = found.at_phase(phase)
            pace((k + 1) / len(set(panel.ids)))
        return cls(learned)

    def fill(self, panel: Panel) -> Fill:
        """A series that was not learned from takes what was learned under the id None, or has no answer."""
        out = np.full(panel.values.shape, np.nan)
        for key, span, phase in zip(panel.ids, panel.spans, panel.phase.tolist(), strict=True):
            learned = self.by_id.get(key, self.by_id.get(None))
            if learned is not None:
                for j, column in learned.fill(panel.values[span], phase):
                    out[span, j] = column
        return Fill(out)


class _Filler:
    """Standardised columns (vars, time) with their gaps filled so far, first by the season.

    32 bits are enough for what is learned from, and half the memory. `more` (vars, time) hides further cells.
    """

    def __init__(
        self,
        values: FloatArray,
        columns: IntArray,
        centre: FloatArray,
        scale: FloatArray,
        cycle: FloatArray | None,
        phase: int,
        more: BoolArray | None = None,
    ) -> None:
        self.hidden = np.empty((len(columns), len(values)), dtype=bool)
        self.fill = np.empty(self.hidden.shape, dtype=np.float32)
        self.season: list[npt.NDArray[np.float32]] = []  # at the gaps of each column
        for block in column_blocks((len(values), len(columns))):
            z = (values[:, columns[block]] - centre[block]) / scale[block]
            if more is not None:
                z[more[block].T] = np.nan
            self.hidden[block] = np.isnan(z).T
            self.fill[block] = (linear(z) if cycle is None else over_season(z, cycle[:, block], phase)).T
            np.nan_to_num(self.fill[block], copy=False)  # nothing of it is known here: its mean
            self.season += [fill[gap] for fill, gap in zip(self.fill[block], self.hidden[block], strict=True)]
        self.gappy: list[int] = np.flatnonzero(self.hidden.any(axis=1)).tolist()
        # rows, start and end of `_Sight`, of columns with few cells to fill: more would take memory
        self.known: dict[int, tuple[IntArray, IntArray, IntArray]] = {}

    def put(self, fills: dict[int, FloatArray]) -> None:
        """Replace the fills of some columns, each given at its gaps."""
        for j, fill in fills.items():
            self.fill[j, self.hidden[j]] = fill

    def look(self, j: int, helpers: IntArray) -> "_Sight":
        """What can be seen from inside the gaps of column j, which stay where they are from round to round."""
        if j in self.known:
            return _Sight(self, j, helpers[:, None], *self.known[j])
        rows = np.flatnonzero(self.hidden[j])
        first = np.flatnonzero(np.diff(rows, prepend=-2) > 1)  # of each gap
        size = np.diff(first, append=len(rows))
        before = np.repeat(rows[first] - 1, size)
        after = np.repeat(rows[first + size - 1] + 1, size)
        last = self.fill.shape[1] - 1
        # where nothing of the column is known, its ends: from the first row to the last
        start = np.where(before >= 0, before, np.where(after <= last, after, 0))
        end = np.where(after <= last, after, np.where(before >= 0, before, last))
        if len(rows) <= SEEN_AT_ONCE:
            self.known[j] = rows, start, end
        return _Sight(self, j, helpers[:, None], rows, start, end)


@dataclass(frozen=True)
class _Sight:
    """The gaps of column `j` of a table, and the observed rows around each of their cells."""

    table: _Filler
    j: int
    helpers: IntArray  # (helpers, 1)
    rows: IntArray  # (cells,)
    start: IntArray
    end: IntArray

    def parts(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Some cells, what may tell them (cells, features), and the straight line; then others."""
        for begin in range(0, len(self.rows), SEEN_AT_ONCE):
            part = slice(begin, begin + SEEN_AT_ONCE)
            yield part, *self._features(part)

    def _features(self, part: slice) -> tuple[FloatArray, FloatArray]:
        fill, helpers = self.table.fill, self.helpers
        rows, start, end = self.rows[part], self.start[part], self.end[part]
        share = (rows - start) / np.maximum(end - start, 1)
        columns = np.append(helpers, [[self.j]], axis=0)
        left, right = fill[columns, start], fill[columns, end]
        lines = (left + share * (right - left)).T  # (cells, columns): each column's line across the gap of j
        line, others = lines[:, -1], fill[helpers, rows].T
        off_line = others - lines[:, :-1]
        unseen = self.table.hidden[helpers, rows].T
        season = self.table.season[self.j][part] - line
        level = np.column_stack([np.ones(len(rows)), line, season, others])
        reach = np.minimum(np.abs(rows - start), np.abs(end - rows))[:, None]
        far = reach / (reach + 6.0)  # the line is worth less the further away its ends are
        parts = [level, level * far, off_line, off_line * unseen, others * unseen]
        return np.concatenate(parts, axis=1), line


def _apply(sight: _Sight, weights: FloatArray) -> FloatArray:
    fill = np.empty(len(sight.rows))
    for part, features, line in sight.parts():
        fill[part] = line + features @ weights
    return fill


def _n_features(n_helpers: int) -> int:
    return 2 * (3 + n_helpers) + 3 * n_helpers


def _standard(values: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """The columns that can be standardised, their means and their spreads (1 for a constant)."""
    centre, spread = np.empty((2, values.shape[1]))
    for block in column_blocks(values.shape):
        centre[block], spread[block] = moments(values[:, block], ~np.isnan(values[:, block]))
    columns = np.flatnonzero(np.isfinite(centre) & np.isfinite(spread))
    spread = spread[columns]
    return columns, centre[columns], np.where(spread > 0, spread, 1.0)


def _rehearsed_rows(n_rows: int, period: int | None) -> IntArray:
    """All rows of a short table; of a long one stretches, evenly spread and in step with the season."""
    if n_rows <= REHEARSED:
        return np.arange(n_rows)
    season = period or 1
    n_parts = min(max(REHEARSED // (2 * season), 1), 8)
    size = REHEARSED // n_parts
    begin = np.linspace(0, n_rows - size - season, n_parts).astype(np.intp)
    begin += (np.arange(n_parts) * size - begin) % season
    return (begin[:, None] + np.arange(size)).reshape(-1)


def _hide_like_gaps(observed: BoolArray, pattern: BoolArray, rows: IntArray, aside: float = 0.0) -> BoolArray:
    """Observed cells of a column (time,) to rehearse on, of the given rows: the gaps of `pattern`, moved in time.

    `aside` is a share of the table by which they are moved further.
    """
    n_rows = len(observed)
    seen = observed[rows]
    hidden = np.zeros_like(seen)
    for turn in range(1, 33):
        if hidden.sum() >= 0.2 * seen.sum():
            break
        # Multiples of the golden ratio are spread evenly and never line up with a season.
        shift = int((turn * 0.6180339887 + aside) * n_rows) % n_rows
        hidden |= seen & ~pattern[rows - shift]
    return hidden & (seen & ~hidden).any()  # a column must keep something to look at


def _helpers(filled: npt.NDArray[np.float32], n_helpers: int) -> IntArray:
    """For each column (vars, time) the others most correlated with it, in level and in change."""
    n_vars, n_rows = filled.shape
    likeness = np.zeros((n_vars, n_vars), dtype=np.float32)
    step = max(BLOCK // max(n_vars, 1), 2)
    for change in (False, True):
        product = np.zeros_like(likeness)
        total = np.zeros(n_vars)
        for begin in range(0, n_rows, step):
            x = filled[:, max(begin - change, 0) : begin + step]
            x = np.diff(x, axis=1) if change else x
            product += x @ x.T
            total += x.sum(axis=1, dtype=np.float64)
        product -= np.outer(total, total) / max(n_rows, 1)
        size = np.sqrt(np.maximum(product.diagonal(), 0.0))
        size = np.where(size > 1e-6 * np.sqrt(max(n_rows, 1)), size, np.inf)
        likeness += (product / size / size[:, None]) ** 2
    np.fill_diagonal(likeness, -1.0)
    n_helpers = min(n_helpers, n_vars - 1)
    return np.argsort(-likeness, axis=1, kind="stable")[:, : max(n_helpers, 0)]


def _ridge(sight: _Sight, truth: FloatArray, known: BoolArray) -> FloatArray:
    """Ridge weights (features,) from the known cells, the penalty chosen by generalised cross-validation."""
    products: FloatArray | float = 0.0
    for part, features, line in sight.parts():  # the target is one more feature
        cells = np.column_stack([features, truth[part] - line])[known[part]]
        products = products + cells.T @ cells
    n_cells = int(known.sum())
    products = np.asarray(products) / n_cells
    size = np.sqrt(products.diagonal()[:-1])
    size = np.where(size > NOISE, size, 1.0)
    cross = products[:-1, -1] / size
    power, basis = np.linalg.eigh(products[:-1, :-1] / size / size[:, None])
    power = np.maximum(power, 0.0)
    along = basis.T @ cross
    penalty = 10.0 ** np.arange(-5, 2)[:, None]
    weights = along / (power + penalty)  # (penalties, features)
    error = products[-1, -1] - 2 * weights @ along + weights**2 @ power
    freedom = (power / (power + penalty)).sum(axis=1)
    best = np.argmin(error / np.maximum(1 - freedom / n_cells, 1e-3) ** 2)
    chosen: FloatArray = basis @ weights[best] / size
    return chosen
