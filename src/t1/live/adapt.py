"""Fills that go on to hold while the rows that arrive become other than those of the fit.

Every few rows a stream rehearses: cells of the last rows that were observed are hidden for a moment, in gaps such
as the stream itself had, and filled. How far the fill was from the truth, in half widths of its interval, is
remembered: if nine in ten were within 1.4 of them, intervals of level 0.9 become 1.4 times as wide. A column goes by
its own rehearsals, by those of the others as far as it had few, and at first by the fit; and whether intervals have
held of late makes those of all columns a little wider or narrower. Where one method would have been nearer to the
truth than the blend, fills lean towards it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.fill.ends import LEAST, silence

EVERY = 4  # rows from one rehearsal to the next at least
LONGEST = 48  # rows of a gap that is rehearsed: the network looks across it without a coarser rate
KEPT = 60  # rehearsed cells of a column that are remembered, for each kind of gap
ENOUGH = (
    40  # cells of its own with which a column goes by them alone; the others' make up what is short of it
)
STEP = 0.05  # by which widths grow for a rehearsed cell that is outside; for each inside they shrink by a ninth of it
FURTHEST = 10.0  # times as wide or as narrow as those of the fit
SAME = 1e-9  # of a column's spread: no difference
# kinds of gaps: those that a later row has ended, and open ones by how many rows they have, in the classes of a fit
AGES = np.array([1, 2, 6, 24])  # rows from which on
KINDS = 1 + len(AGES)
LEANS = np.array([0.25, 0.5, 0.75, 1.0])  # shares of one method in a fill
FORGET = 0.95  # what the error at a cell of a column counts for when the next one is known
FEWEST = 8.0  # rehearsed cells before fills lean at all
FEW = 24.0  # rehearsed cells that have to be twice as clear as many
OTHERS = 12.0  # cells of its own that those of all columns count for, when a column leans
TINY = 0.05  # deviations of a column
CLEARLY = 0.03  # of its error that the blend may have more than one of the methods and still fill
BAD = 3.0  # times the least error: how much worse something is does not count


@dataclass(frozen=True, eq=False)
class Widths:
    """How many times wider than those of the fit intervals have to be, for each kind of gap."""

    misses: FloatArray  # (kinds, vars, KEPT): how far off rehearsed fills were, in half widths; NaN where none yet
    factors: FloatArray  # (kinds, vars): what follows for each column
    drift: FloatArray  # (kinds,): the log of how much wider all columns have to be, by whether that has held of late

    @classmethod
    def of_the_fit(cls, n_vars: int) -> Widths:
        return cls(np.full((KINDS, n_vars, KEPT), np.nan), np.ones((KINDS, n_vars)), np.zeros(KINDS))

    def factor(self, kind: IntArray, column: IntArray) -> FloatArray:
        """How many times wider the intervals of some cells are."""
        wider = self.factors[kind, column] * np.exp(self.drift[kind])
        return np.clip(wider, 1 / FURTHEST, FURTHEST)

    def learn(self, kind: IntArray, column: IntArray, miss: FloatArray, level: float) -> None:
        """Take in how far off the fills of some cells were, in half widths of the intervals of the fit."""
        outside = miss > self.factor(kind, column)
        np.add.at(self.drift, kind, STEP * (outside - (1 - level)))
        np.clip(self.drift, -1.0, 1.0, out=self.drift)
        for which, j, off in zip(kind.tolist(), column.tolist(), miss.tolist(), strict=True):
            mine = self.misses[which, j]
            mine[:-1] = mine[1:].copy()
            mine[-1] = off
        for which in np.unique(kind).tolist():
            _renew(self.factors[which], self.misses[which], np.unique(column[kind == which]), level)


def _renew(factors: FloatArray, misses: FloatArray, columns: IntArray, level: float) -> None:
    """Renew the factors (vars,), once some columns have new misses: the quantile of them that holds for a new cell.

    What a column lacks in cells of its own the others' make up, and what these lack the fit. The quantile is half a
    rank above the share `level` of n + 1: the cells of one outage are alike, and tell less than as many others.
    """
    owner, at = np.nonzero(np.isfinite(misses))
    fit = _like_the_fit(level)
    values = np.concatenate([misses[owner, at], fit])
    order = values.argsort()
    values, owner = values[order], np.concatenate([owner, np.full(len(fit), -1)])[order]
    few = np.flatnonzero(np.isfinite(misses).sum(axis=1) < ENOUGH)
    for j in np.union1d(columns, few).tolist():
        mine, others = owner == j, (owner != j) & (owner >= 0)
        n_own, n_others = int(mine.sum()), int(others.sum())
        lacking = max(ENOUGH - n_own, 0)
        of_others = min(lacking, n_others)
        weight = np.where(mine, 1.0, of_others / max(n_others, 1))
        weight[owner < 0] = (lacking - of_others) / len(fit)
        reached = np.cumsum(weight) - weight / 2
        some = weight > 0
        found = np.interp(level * (n_own + lacking + 1), reached[some], values[some])
        factors[j] = np.clip(found, 1 / FURTHEST, FURTHEST)


def kind_of(is_open: BoolArray, length: npt.ArrayLike) -> IntArray:
    """The kind of gap that some cells lie in, by whether it is open and how many rows it has."""
    return np.where(is_open, np.searchsorted(AGES, length, side="right"), 0)


def _like_the_fit(level: float) -> FloatArray:
    """Misses of intervals of this level that hold: errors of a bell curve, whose `level` lies within 1."""
    bell = NormalDist()
    shares = (np.arange(20) + 0.5) / 20
    widest = bell.inv_cdf((1 + level) / 2)
    return np.array([bell.inv_cdf((1 + share) / 2) / widest for share in shares])


@dataclass(frozen=True, eq=False)
class Lean:
    """Errors of fills that lean more or less towards one of some methods, for closed and for open gaps."""

    errors: FloatArray  # (2, vars, 1 + methods x LEANS): sums, in deviations of a column; what is long ago counts less
    count: FloatArray  # (2, vars): rehearsed cells, likewise
    shares: FloatArray  # (2, vars, methods): what follows, the share of each method beyond what the blend gives it

    @classmethod
    def of_the_fit(cls, n_vars: int, n_methods: int) -> Lean:
        errors = np.zeros((2, n_vars, 1 + n_methods * len(LEANS)))
        return cls(errors, np.zeros((2, n_vars)), np.zeros((2, n_vars, n_methods)))

    def learn(self, is_open: BoolArray, column: IntArray, blend: FloatArray, methods: FloatArray) -> None:
        """Take in the errors of the blend (cells,) and of the methods (methods, cells) at the cells of a rehearsal."""
        leaning = blend + LEANS[:, None] * (methods[:, None] - blend)  # (methods, LEANS, cells)
        found = np.abs(np.concatenate([blend[None], leaning.reshape(-1, len(blend))]))
        for k, at in enumerate(zip(is_open.astype(np.intp).tolist(), column.tolist(), strict=True)):
            self.errors[at] = FORGET * self.errors[at] + found[:, k]
            self.count[at] = FORGET * self.count[at] + 1
        self.shares[:] = self._best()

    def _best(self) -> FloatArray:
        """The shares that had the least error, unless those of the blend were nearly as good."""
        n_methods = self.shares.shape[2]
        towards = np.kron(np.eye(n_methods), LEANS[:, None])  # (methods x LEANS, methods)
        choices = np.concatenate([np.zeros((1, n_methods)), towards])
        found = np.zeros_like(self.shares)
        for kind in np.flatnonzero(self.count.sum(axis=1) >= FEWEST).tolist():
            errors, count = self.errors[kind], self.count[kind]
            clearly = CLEARLY * (1 + FEW / count.sum())
            # in a column that stands still errors are tiny, and whose is less says nothing
            least = errors.min(axis=1) + TINY * np.maximum(count, 1)
            relative = np.minimum(errors / least[:, None], BAD)
            judged = count[:, None] * relative + OTHERS * relative[count > 0].mean(axis=0)
            found[kind] = choices[np.argmin(judged * (1 + clearly * choices.sum(axis=1)), axis=1)]
        return found


@dataclass(frozen=True, eq=False)
class Trial:
    """A rehearsal: the remembered rows without some observed cells, and which of these count."""

    rows: FloatArray  # (memory, vars)
    counts: BoolArray  # (memory, vars)


def draw_trial(values: FloatArray, end: int, lag: int) -> Trial | None:
    """Hide some cells of the remembered rows (memory, vars), the last of which is row `end`; None where none can be.

    Two remembered rows are drawn. The columns that are missing in the first are hidden at the end, for as long as they
    had been silent then; those of the second further back in the lag, until they spoke again. The cells of these two
    rows count: every row is as likely as any other, and so rehearsed cells are as deep in gaps as missing ones are.
    What is drawn depends on the rows and their number alone, so that a stream that is restored goes on in the same way.
    """
    if np.isnan(values[:-LEAST]).all():  # too little is known yet
        return None
    rng = np.random.default_rng([end % 2**32, EVERY])
    observed, row = ~np.isnan(values), np.arange(len(values))[:, None]
    last = len(values) - 1
    before, _ = _silent_row(observed, rng)
    hidden = (row > last - before) & observed & observed[last]
    counts = hidden & (row == last)
    if lag > 0:
        here = last - int(rng.integers(1, lag + 1))
        before, after = _silent_row(observed, rng)
        speaks = np.minimum(here + after + 1, last)  # the row that closes the gap
        closed = np.take_along_axis(observed & ~hidden, speaks[None], axis=0)[0] & (here + after < last)
        hidden |= (row > here - before) & (row <= here + after) & observed & closed & (before > 0)
        counts |= hidden & (row == here)
    return Trial(np.where(hidden, np.nan, values), counts) if counts.any() else None


def _silent_row(observed: BoolArray, rng: Generator) -> tuple[IntArray, IntArray]:
    """Of some row with a gap, how long each column (vars,) has been silent, this row included, and still will be.

    Where there are no gaps, one column is missing in this row alone.
    """
    start = np.zeros(1, dtype=np.intp)
    observed = observed[observed.any(axis=1).argmax() :]  # since the stream began
    rows = np.flatnonzero(~observed[LEAST:].all(axis=1)) + LEAST
    if not len(rows):
        before = np.zeros(observed.shape[1], dtype=np.intp)
        before[rng.integers(len(before))] = 1
        return before, np.zeros_like(before)
    at = rng.choice(rows)
    before, after = silence(observed, start)[at], silence(observed[::-1], start)[::-1][at]
    return np.minimum(before, LONGEST), np.clip(after - 1, 0, LONGEST)
