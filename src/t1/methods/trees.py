"""Boosted trees on what a regression leaves: columns that tell each other, but not in straight lines.

A cell is told by what the regression says of it, by the other columns in its row and the closest of them in the rows
beside it, by the observations on both sides of its gap and how far away they are, by the phase of its season and the
day of the week. The trees of a column learn from its own observed cells, hidden in gaps as long as those it has.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator, default_rng

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.scale import Scaler
from t1.methods.base import Fill, Learning, LeftOut, Pace
from t1.methods.forest import Forest, Growth
from t1.methods.regression import RegressionFill
from t1.methods.seasons import DAY, WEEK
from t1.panel import Panel

HELPERS, CLOSE = 12, 4  # columns that tell another, and those of them that also do in the rows beside
SHARE = 0.25  # of the rows that are hidden at a time to learn from
FEWEST_COPIES = 4  # times that they are: a cell in another gap is as good as another cell
FEWEST = 60  # cells from which trees are grown
USUAL_GAPS = np.array([1, 1, 1, 4, 24])  # lengths for a column without gaps
RARE = 0.01  # the share of misses, at each end, that are taken for the largest of the others
MOST_DEVIATIONS = 1e6  # of a feature: what is further out is no number that 32 bits can tell apart
LONG = 100.0  # seconds of a budget from which on more is learned: with less, T1 makes more of the time
OF_BUDGET = 0.5  # of what is left of the budget: the rest is T1's


class _Effort(NamedTuple):
    """How much is learned."""

    copies: int  # at most
    cells: int  # that a column learns from, at most
    cells_of_all: int  # columns together
    growth: Growth
    fits: float  # as long as so many there must be time for: they are judged, learn again from all cells, and fill


SHORT_EFFORT = _Effort(16, 1 << 14, 1 << 17, Growth(trees=50, rate=0.11, leaves=31), 2.5)
# 2.5 times as long, and 4 % less error of the trees on eight tables of the training corpus; only where there is time to
# judge it fold by fold
LONG_EFFORT = _Effort(32, 1 << 15, 1 << 18, Growth(trees=80, rate=0.09, leaves=63), 6.0)


@dataclass(frozen=True, eq=False)
class ColumnTrees:
    """The trees of one column."""

    helpers: IntArray  # other columns, the closest first
    guess: int  # which simple guess they correct
    forest: Forest
    low: float  # the least and the greatest value it was observed to have
    high: float


@dataclass(frozen=True, eq=False)
class TreesFill:
    """A regression, and for each column the trees that correct what it says."""

    name: ClassVar[str] = "trees"
    regression: RegressionFill
    scaler: Scaler
    periods: dict[Any, int | None]
    columns: dict[int, ColumnTrees]

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Grow trees for the columns that have gaps, or for every one if the fit is to be kept."""
        if learning.is_long(LONG):
            with suppress(LeftOut):  # there is no time for that much
                return cls._fit(panel, learning, LONG_EFFORT)
        return cls._fit(panel, learning, SHORT_EFFORT)

    @classmethod
    def _fit(cls, panel: Panel, learning: Learning, effort: _Effort) -> Self:
        pace = Pace(learning, cls.name, times=effort.fits, share=OF_BUDGET)
        regression = RegressionFill.of_every(panel, learning)
        scaler = Scaler.even(panel.values)
        helpers = _Surroundings(panel, regression, scaler, learning.periods).helpers()
        wanted = np.flatnonzero(panel.known & (learning.every | ~panel.observed.all(axis=0))).tolist()
        lessons: dict[int, list[_Lesson]] = {j: [] for j in wanted}
        most = min(effort.cells, effort.cells_of_all // max(len(wanted), 1))
        copies = int(np.clip(most / (SHARE * panel.n_rows), FEWEST_COPIES, effort.copies))
        for copy in range(copies):
            pace(copy / (copies + len(wanted)))
            rng = default_rng([learning.seed, copy])
            hidden = np.zeros(panel.values.shape, dtype=bool)
            for j in wanted:
                hidden[:, j] = panel.observed[:, j] & _hidden(~panel.observed[:, j], rng)
            # a regression says more of cells that it has learned from than it will say of those to be filled
            masked = panel.with_values(np.where(hidden, np.nan, panel.values))
            blind = regression.fit(masked, replace(learning, every=True, budget=None))
            sight = _Surroundings(panel, blind, scaler, learning.periods)
            for j, of_column in lessons.items():
                rows = rng.permutation(np.flatnonzero(hidden[:, j]))[: most // copies]
                seen = panel.observed[:, j] & ~hidden[:, j]
                of_column.append(_Lesson(*sight.of(j, helpers[j], seen, rows), sight.values[rows, j]))
        columns = {}
        for k, (j, of_column) in enumerate(lessons.items()):
            if learning.stopped:
                raise LeftOut("trees was left out: the run was stopped early")
            pace((copies + k) / (copies + len(wanted)))
            if (found := _grow(of_column, helpers[j], effort.growth, learning.seed)) is not None:
                columns[j] = found
        return cls(regression, scaler, dict(learning.periods), columns)

    def fill(self, panel: Panel) -> Fill:
        """Columns without trees, and series that the regression has not learned from, have no answer."""
        out = np.full(panel.values.shape, np.nan)
        sight = _Surroundings(panel, self.regression, self.scaler, self.periods)
        for j, of_column in self.columns.items():
            rows = np.flatnonzero(~panel.observed[:, j])
            features, guesses = sight.of(j, of_column.helpers, panel.observed[:, j], rows)
            fill = guesses[of_column.guess] + of_column.forest.ask(features)
            fill = fill.clip(of_column.low, of_column.high)
            out[rows, j] = self.scaler.of(slice(j, j + 1)).unscale(fill[:, None])[:, 0]
        return Fill(np.where(panel.observed, panel.values, out))


class _Lesson(NamedTuple):
    """Some observed cells of a column as they would be seen in a gap, and what they are."""

    features: Float32Array  # (cells, features)
    guesses: FloatArray  # (guesses, cells)
    truth: FloatArray


class _Surroundings:
    """A panel in standard units, as it is seen from inside a column's gaps."""

    def __init__(
        self, panel: Panel, regression: RegressionFill, scaler: Scaler, periods: dict[Any, int | None]
    ) -> None:
        self.values = scaler.scale(panel.values)
        self.told = scaler.scale(regression.told(panel))
        filled = scaler.scale(regression.fill(panel).values)
        self.filled = np.where(panel.observed, self.values, filled).astype(np.float32)
        sizes = panel.sizes
        self.first = np.repeat(panel.starts, sizes)  # (rows,), of the row's own series
        self.last = np.repeat(panel.starts + sizes - 1, sizes)
        usual = next((p for p in periods.values() if p is not None), None)
        period = np.array([periods.get(key, usual) or np.nan for key in panel.ids], dtype=np.float64)
        row = np.arange(panel.n_rows) - self.first + np.repeat(panel.phase, sizes)
        cycle = row / np.repeat(period, sizes)
        self.phase = np.mod(cycle, 1.0)
        self.day = np.where(np.repeat(period, sizes) >= DAY, np.floor(np.mod(cycle, WEEK)), 0.0)

    def helpers(self) -> IntArray:
        """Of each column the others (vars, helpers), those most correlated with it first."""
        x = np.nan_to_num(self.filled)
        x = x - x.mean(axis=0)
        size = np.sqrt((x**2).sum(axis=0))
        likeness = np.abs(x.T @ x) / np.where(size > 0, size, np.inf)
        np.fill_diagonal(likeness, -1.0)
        return np.argsort(-likeness, axis=1, kind="stable")[:, : max(min(HELPERS, len(size) - 1), 0)]

    def of(self, j: int, helpers: IntArray, seen: BoolArray, at: IntArray) -> tuple[Float32Array, FloatArray]:
        """What tells the cells in rows `at` of column j, of which only rows `seen` are known.

        Features (cells, features), and simple guesses (3, cells): a straight line, what the regression says, and
        that with what it misses beside the gap carried along in a straight line.
        """
        rows = np.arange(len(seen))
        before = np.maximum.accumulate(np.where(seen, rows, -1))[at]
        after = np.minimum.accumulate(np.where(seen, rows, len(seen))[::-1])[::-1][at]
        before = np.where(before < self.first[at], -1, before)
        after = np.where(after > self.last[at], -1, after)
        to_before = np.where(before >= 0, at - before, np.nan)
        to_after = np.where(after >= 0, after - at, np.nan)
        own, told = self.values[:, j], self.told[:, j]
        sides = [np.where(side >= 0, own[side], np.nan) for side in (before, after)]
        missed = [value - told[side] for value, side in zip(sides, (before, after), strict=True)]
        line = _between(sides[0], sides[1], to_before, to_after)
        carried = _between(missed[0], missed[1], to_before, to_after)
        said = told[at]
        close = self.filled[:, helpers[:CLOSE]]
        features = np.column_stack(
            [
                *sides,
                *missed,
                np.log(to_before),
                np.log(to_after),
                line,
                said,
                carried,
                said + carried,
                line - said - carried,
                self.phase[at],
                self.day[at],
                self.filled[at[:, None], helpers],
                close[np.maximum(at - 1, self.first[at])],
                close[np.minimum(at + 1, self.last[at])],
            ]
        )
        features = features.clip(-MOST_DEVIATIONS, MOST_DEVIATIONS).astype(np.float32)
        return features, np.stack([line, said, said + carried])


def _between(
    before: FloatArray, after: FloatArray, to_before: FloatArray, to_after: FloatArray
) -> FloatArray:
    """Straight lines between what is known on both sides, constant where one side is not."""
    share = to_before / (to_before + to_after)
    line = before * (1 - share) + after * share
    return np.where(np.isnan(line), np.where(np.isnan(before), after, before), line)


def _grow(lessons: list[_Lesson], helpers: IntArray, growth: Growth, seed: int) -> ColumnTrees | None:
    """The trees of a column; None if there is too little to learn from."""
    features = np.concatenate([lesson.features for lesson in lessons])
    guesses = np.concatenate([lesson.guesses for lesson in lessons], axis=1)
    truth = np.concatenate([lesson.truth for lesson in lessons])
    known = np.isfinite(guesses).all(axis=0)
    if known.sum() < FEWEST:
        return None
    misses = truth[known] - guesses[:, known]
    guess = int(np.argmin(np.abs(misses).mean(axis=1)))
    target = misses[guess].clip(*np.quantile(misses[guess], [RARE, 1 - RARE]))
    forest = Forest.grow(features[known], target, growth, seed)
    return ColumnTrees(helpers, guess, forest, float(truth.min()), float(truth.max()))


def _hidden(missing: BoolArray, rng: Generator) -> BoolArray:
    """About a SHARE of the rows, in gaps as long as those of a column that is `missing` (rows,)."""
    n_rows = len(missing)
    ends = np.flatnonzero(np.diff(missing, prepend=False, append=False))
    lengths = ends[1::2] - ends[::2] if len(ends) else USUAL_GAPS
    lengths = np.minimum(lengths, max(n_rows // 4, 1))
    count = int(np.ceil(SHARE * n_rows / lengths.mean()))
    start = rng.integers(0, n_rows, count)
    change = np.zeros(n_rows + 1, dtype=np.intp)
    np.add.at(change, start, 1)
    np.add.at(change, np.minimum(start + rng.choice(lengths, count), n_rows), -1)
    hidden: BoolArray = np.cumsum(change)[:-1] > 0
    return hidden
