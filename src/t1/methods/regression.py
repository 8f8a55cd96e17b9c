"""Ridge regression of each column on the others and on its own season, and a memory of what it misses.

A column is told by the others in the same row, the closest of them also in the rows before and after, by the mean
cycle and by its own values one period away. Rows of a series are not independent: weights are learned from what
changes between rows beyond what the last row said anyway (generalised least squares), the penalty by leaving out
stretches, and what the regression misses beside a gap is carried into it as far as such misses last.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.blocks import BLOCK, column_blocks
from t1.data.scale import Scaler
from t1.methods.base import Fill, Learning, Pace
from t1.methods.catalog import fit_of
from t1.methods.memory import Memory, sampled_every
from t1.methods.pooled import pooled
from t1.methods.ridge import ridge
from t1.methods.seasons import check_table, find_period, mean_cycle
from t1.methods.sight import CLOSE, Around, Features, Sight
from t1.panel import Panel

OnShare = Callable[[float], None]  # is told which share of the work is done; may raise to end it

HELPERS = 16  # columns that tell another
ROUNDS = 3  # again with better helpers, where several columns are missing at once
LEARNED_ROWS = (1 << 11, 1 << 16)  # at least and at most, between them
LEARNED_CELLS = 1 << 22  # of all columns together
FEWEST = 20  # observed rows of a column from which a regression is learned
MOST = 0.995  # of a value that is taken off the next one while weights are learned
WIDE = 100  # columns
STEPS_BACK = 6  # from one fill to those that it looks at
AT_ONCE = 1 << 15  # cells whose features exist at once while a table is filled


def regression(values: FloatArray) -> FloatArray:
    """The table (time, vars) filled by what was learned from itself."""
    filled = np.array(check_table(values), order="C")
    for j, fill in learn_regression(filled, find_period(filled)).fill(filled):
        filled[:, j] = fill
    return filled


@dataclass(frozen=True, eq=False)
class Regression:
    """What was learned, in standard units."""

    cycle: FloatArray | None  # (period, columns), the mean cycle; None: no season
    columns: IntArray  # those that take part: with an observed value, and none that is infinite
    scaler: Scaler  # of these columns
    low: FloatArray  # the least and the greatest value observed: fills stay between them and those of their table
    high: FloatArray
    n_missing: IntArray  # (columns,), when they were learned, which says in which order
    helpers: IntArray  # (columns, helpers), positions in `columns`, the closest first
    weights: FloatArray  # (rounds, columns, features); NaN where nothing was learned, and straight lines have to do
    intercept: FloatArray  # (rounds, columns)
    share: FloatArray  # (rounds, columns), with `decay` the Memory of each
    decay: FloatArray

    def at_phase(self, phase: int) -> "Regression":
        """The same, for a clock on which the first row that it learned from stands at `phase`."""
        if self.cycle is None:
            return self
        return replace(self, cycle=np.roll(self.cycle, phase % len(self.cycle), axis=0))

    def fill(self, values: FloatArray, phase: int = 0, since: int = 0) -> Iterator[tuple[int, FloatArray]]:
        """The columns of `values` (time, vars) that have gaps, filled, one after the other.

        Only fills of the rows from `since` on are wanted, and of earlier rows some have no answer.
        """
        low, high = within = self._range(values)
        first = self._first_needed(values, since) if since else 0
        table = self._filled(values, phase, within, first)
        for j in self._gappy(table):
            column = values[:, self.columns[j]].copy()
            gap = np.flatnonzero(table.hidden[j])
            column[first + gap] = self._unscaled(j, table.fill[j, gap]).clip(low[j], high[j])
            yield int(self.columns[j]), column

    def _gappy(self, table: Sight) -> list[int]:
        """The columns that have gaps, in the order in which they were learned.

        The weights of each hold for what those before it have been filled with. Columns that had no gaps then come
        first; among them those that know most now.
        """
        n_missing = np.count_nonzero(table.hidden, axis=1)
        order = np.lexsort((np.where(self.n_missing > 0, 0, n_missing), self.n_missing))
        return [j for j in order.tolist() if n_missing[j]]

    def _first_needed(self, values: FloatArray, since: int) -> int:
        """The row from which on fills tell those of the rows from `since` on.

        A fill looks at the rows beside its gap and, in other columns, at the rows beside these, whose fills do the
        same. What is more than STEPS_BACK such steps away does not change it by more than rounding does.
        """
        seen = ~np.isnan(values[: since + 1, self.columns])
        seen = seen[:, seen.any(axis=0)]
        last = np.maximum.accumulate(np.where(seen, np.arange(since + 1)[:, None], 0), axis=0)
        for _ in range(STEPS_BACK):
            since = max(int(last[since].min(initial=since)) - 1, 0)
        return since

    def told(self, values: FloatArray, phase: int = 0) -> FloatArray:
        """What the other columns and the season say of every cell (time, vars), the mean where nothing was learned."""
        table = self._filled(values, phase, self._range(values))
        out = np.zeros(values.shape)
        for j, (weights, intercept) in enumerate(zip(self.weights[-1], self.intercept[-1], strict=True)):
            said = np.zeros(len(values))
            if np.isfinite(weights).all():
                for begin in range(0, len(values), AT_ONCE):
                    rows = slice(begin, begin + AT_ONCE)
                    said[rows] = weights @ table.look(j, self.helpers[j], rows) + intercept
            out[:, self.columns[j]] = self._unscaled(j, said)
        return out

    def _unscaled(self, j: int, x: Float32Array | FloatArray) -> FloatArray:
        """A column's standard units back to its own."""
        return self.scaler.of(slice(j, j + 1)).unscale(x[:, None])[:, 0]

    def _filled(
        self, values: FloatArray, phase: int, within: tuple[FloatArray, FloatArray], first: int = 0
    ) -> Sight:
        """The columns with their gaps filled, in as many rounds as there were to learn; rows from `first` on."""
        table = Sight(values, self.columns, self.scaler, self.cycle, phase, first)
        low, high = (self.scaler.scale(end) for end in within)
        gaps = {j: Around.of(table.hidden[j]) for j in self._gappy(table)}
        views: dict[int, list[Features]] = {}
        if (
            sum(len(of_column.rows) for of_column in gaps.values()) <= AT_ONCE
        ):  # else they would take much memory
            views = {j: list(self._views(table, of_column, j)) for j, of_column in gaps.items()}
        learned: BoolArray = np.all(np.isfinite(self.weights), axis=2)
        for k in range(len(self.weights)):
            for j, of_column in gaps.items():
                if learned[k, j]:
                    fill = self._expected(table, of_column, views.get(j), k, j)
                    table.fill[j, of_column.rows] = fill.clip(low[j], high[j])
        return table

    def _views(self, table: Sight, gaps: Around, j: int) -> Iterator[Features]:
        """Where to look for what tells the cells of a column's gaps and those beside them, some rows at a time."""
        rows = np.concatenate([gaps.rows, gaps.beside])
        return (table.view(j, self.helpers[j], rows[i : i + AT_ONCE]) for i in range(0, len(rows), AT_ONCE))

    def _range(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest value of each column that was observed, while it was learned or here."""
        low, high = _observed_range(values[:, self.columns])
        return np.fmin(self.low, low), np.fmax(self.high, high)

    def _expected(
        self, table: Sight, gaps: Around, views: list[Features] | None, k: int, j: int
    ) -> FloatArray:
        """What the cells of a column's gaps are likely to hold, in round k."""
        every = views or self._views(table, gaps, j)
        parts = [self.weights[k, j] @ table.seen(view) for view in every]
        told: FloatArray = np.concatenate(parts) + self.intercept[k, j]
        likely, there = told[: len(gaps.rows)], told[len(gaps.rows) :]
        memory = Memory(float(self.share[k, j]), float(self.decay[k, j]))
        return likely + gaps.carried(memory, table.fill[j, gaps.beside] - there)


def learn_regression(
    values: FloatArray, period: int | None, *, every: bool = False, on_share: OnShare | None = None
) -> Regression:
    """Learn from the observed cells of `values` (time, vars); of a long table some stretches are enough.

    Weights are learned for the columns that have gaps, or for `every` one.
    """
    low, high = _observed_range(values)
    columns = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    scaler = Scaler.even(values if len(columns) == values.shape[1] else values[:, columns])
    cycle = None if period is None or period >= len(values) else np.empty((period, len(columns)))
    if cycle is not None:
        for block in column_blocks((len(values), len(columns))):
            cycle[:, block] = mean_cycle(scaler.of(block).scale(values[:, columns[block]]), len(cycle))
    rows = _learned_rows(values.shape, period)
    table = Sight(values if len(rows) == len(values) else values[rows], columns, scaler, cycle, 0)
    gappy = np.isnan(values[:, columns]).any(axis=0)
    learned = _Learned.of(table, _helpers(table.fill))
    learned.learn(np.arange(len(columns)) if every else np.flatnonzero(gappy), on_share)
    return Regression(
        cycle=cycle,
        columns=columns,
        scaler=scaler,
        low=low[columns],
        high=high[columns],
        n_missing=learned.n_missing,
        helpers=learned.helpers,
        weights=learned.weights,
        intercept=learned.intercept,
        share=learned.share,
        decay=learned.decay,
    )


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
        with one_thread(panel.n_vars):
            for k, (key, values, phase) in enumerate(pooled(panel, learning.periods)):
                found = learn_regression(
                    values,
                    learning.periods.get(key),
                    every=learning.every,
                    on_share=pace if alone else None,
                )
                learned[key] = found.at_phase(phase)
                pace((k + 1) / len(set(panel.ids)))
        return cls(learned)

    @classmethod
    def of_every(cls, panel: Panel, learning: Learning) -> "RegressionFill":
        """Of every column, also of those without gaps; several methods ask for it, and it is learned once."""
        key = id(panel), learning.tells
        if key not in learning.told_by:
            fit = fit_of(learning.tells)
            learning.told_by[key] = panel, fit(panel, replace(learning, every=True))
        found: RegressionFill = learning.told_by[key][1]
        return found

    def fill(self, panel: Panel, since: IntArray | None = None) -> Fill:
        """A series that was not learned from takes what was learned under the id None, or has no answer.

        Where only fills of the rows from `since` (series,) on are wanted, of earlier rows some have no answer.
        """
        out = np.full(panel.values.shape, np.nan)
        with one_thread(panel.n_vars):
            for k, (span, phase, learned) in self._learned(panel):
                wanted = 0 if since is None else int(since[k])
                for j, column in learned.fill(panel.values[span], phase, wanted):
                    out[span, j] = column
        return Fill(out)

    def told(self, panel: Panel) -> FloatArray:
        """What the other columns and the season say of every cell; NaN in series that were not learned from."""
        out = np.full(panel.values.shape, np.nan)
        with one_thread(panel.n_vars):
            for _, (span, phase, learned) in self._learned(panel):
                out[span] = learned.told(panel.values[span], phase)
        return out

    def _learned(self, panel: Panel) -> Iterator[tuple[int, tuple[slice, int, Regression]]]:
        """The rows and the phase of each series for which there is a regression, and that; its number first."""
        every = zip(panel.ids, panel.spans, panel.phase.tolist(), strict=True)
        for k, (key, span, phase) in enumerate(every):
            learned = self.by_id.get(key, self.by_id.get(None))
            if learned is not None:
                yield k, (span, phase, learned)


def one_thread(n_vars: int) -> AbstractContextManager[Any]:
    """For a wide table: thousands of small products, at which threads wait for each other longer than they work."""
    if n_vars < WIDE:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


@dataclass(eq=False)
class _Learned:
    """Weights while they are learned from a table, whose gaps they fill better from round to round."""

    table: Sight
    n_missing: IntArray  # this and the others as in Regression
    helpers: IntArray
    weights: FloatArray
    intercept: FloatArray
    share: FloatArray
    decay: FloatArray

    @classmethod
    def of(cls, table: Sight, helpers: IntArray) -> "_Learned":
        n_columns, n_helpers = helpers.shape
        n_features = n_helpers + 2 * min(n_helpers, CLOSE) + (0 if table.cycle is None else 2)
        weights = np.full((ROUNDS, n_columns, n_features), np.nan)
        n_missing = np.count_nonzero(table.hidden, axis=1)
        return cls(table, n_missing, helpers, weights, *np.zeros((3, ROUNDS, n_columns)))

    def learn(self, columns: IntArray, on_share: OnShare | None) -> None:
        """Learn some columns, those that know most first."""
        asked = set(columns.tolist())
        order = np.argsort(self.n_missing, kind="stable").tolist()
        gaps = {j: Around.of(self.table.hidden[j]) for j in order if j in asked}
        for k in range(ROUNDS):
            for i, (j, of_column) in enumerate(gaps.items()):
                if on_share is not None:
                    on_share((k + i / len(gaps)) / ROUNDS)
                self._learn(k, j, of_column)

    def _learn(self, k: int, j: int, gaps: Around) -> None:
        table = self.table
        seen = np.flatnonzero(~table.hidden[j])
        if len(seen) < FEWEST:
            return
        step = sampled_every(seen)
        last = self.share[k - 1, j] * self.decay[k - 1, j] ** step if k else 0.0
        features, own = table.look(j, self.helpers[j], slice(None)), table.fill[j]
        pairs = ~(table.hidden[j, step:] | table.hidden[j, :-step])
        if last > 0 and pairs.sum() >= FEWEST:
            last = np.float32(min(last, MOST))
            changes = (features[:, step:] - last * features[:, :-step])[:, pairs]
            weights, _ = ridge(changes, (own[step:] - last * own[:-step])[pairs])
            intercept = float((own[seen] - weights @ features[:, seen]).mean())
        else:
            weights, intercept = ridge(features[:, seen], own[seen])
        told = weights @ features + intercept
        missed = np.where(table.hidden[j], np.nan, own - told)
        memory = Memory.of(missed)
        self.weights[k, j], self.intercept[k, j] = weights, intercept
        self.share[k, j], self.decay[k, j] = memory
        fill = told[gaps.rows] + gaps.carried(memory, missed[gaps.beside])
        table.fill[j, gaps.rows] = np.clip(fill, own[seen].min(), own[seen].max())


def _observed_range(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest value of each column; infinite the wrong way round where none was observed."""
    return (
        np.fmin.reduce(values, axis=0, initial=np.inf),
        np.fmax.reduce(values, axis=0, initial=-np.inf),
    )


def _learned_rows(shape: tuple[int, ...], period: int | None) -> IntArray:
    """All rows of a small table; of a large one stretches, evenly spread and in step with the season."""
    n_rows = shape[0]
    most = int(np.clip(LEARNED_CELLS // max(shape[1], 1), *LEARNED_ROWS))
    if n_rows <= most:
        return np.arange(n_rows)
    season = period or 1
    n_parts = min(max(most // (2 * season), 1), 8)
    size = most // n_parts
    begin = np.linspace(0, n_rows - size - season, n_parts).astype(np.intp)
    begin += (np.arange(n_parts) * size - begin) % season
    return (begin[:, None] + np.arange(size)).reshape(-1)


def _helpers(filled: Float32Array) -> IntArray:
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
    n = max(min(HELPERS, n_vars - 1), 0)
    near = np.sort(np.argpartition(likeness, n_vars - n - 1, axis=1)[:, n_vars - n :], axis=1)
    order = np.argsort(-np.take_along_axis(likeness, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)
