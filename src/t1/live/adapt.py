"""Fills that go on to hold while the rows that arrive become other than those of the fit.

Every few rows a stream rehearses: cells of the last rows that were observed are hidden for a moment, in gaps such
as the stream itself had, and filled. How far the fill was from the truth, in half widths of its interval, is
remembered: if nine in ten were within 1.4 of them, intervals of level 0.9 become 1.4 times as wide. A column goes by
its own rehearsals, by those of the others as far as it had few, and at first by the fit. Where straight lines would
have been nearer to the truth than the blend, fills lean towards lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.fill.ends import LEAST, silence

EVERY = (
    4  # rows from one rehearsal to the next at least; gaps that are open and gaps that are closed take turns
)
LONGEST = 48  # rows of a gap that is rehearsed: the network looks across it without a coarser rate
KEPT = 40  # rehearsed cells of a column that are remembered, for closed and for open gaps
ENOUGH = (
    24  # cells of its own with which a column goes by them alone; what is short of it the others' make up
)
FURTHEST = 10.0  # times as wide or as narrow as those of the fit
SAME = 1e-9  # of a column's spread: no difference
CLOSED, OPEN, LONG_OPEN = 0, 1, 2  # kinds of gaps: a later row has ended it; none has, since few rows or many
LONG = 6  # rows
LEANS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # shares of straight lines in a fill
FORGET = 0.95  # what the error at a cell of a column counts for when the next one is known
FEWEST = 8.0  # rehearsed cells before fills lean at all
FEW = 24.0  # rehearsed cells that have to be twice as clear as many
OTHERS = 12.0  # cells of its own that those of all columns count for, when a column leans
TINY = 0.05  # deviations of a column
CLEARLY = 0.1  # of its error that the blend may have more than lines and still fill


@dataclass(frozen=True, eq=False)
class Widths:
    """How many times wider than those of the fit intervals have to be, for each kind of gap."""

    misses: FloatArray  # (kinds, vars, KEPT): how far off rehearsed fills were, in half widths; NaN where none yet
    factors: FloatArray  # (kinds, vars)

    @classmethod
    def of_the_fit(cls, n_vars: int) -> Widths:
        return cls(np.full((3, n_vars, KEPT), np.nan), np.ones((3, n_vars)))

    def factor(self, kind: IntArray, column: IntArray) -> FloatArray:
        """How many times wider the intervals of some cells are."""
        wider: FloatArray = self.factors[kind, column]
        return wider

    def learn(self, kind: IntArray, column: IntArray, miss: FloatArray, level: float) -> None:
        """Take in how far off the fills of some cells were, in half widths of the intervals of the fit."""
        for which, j, off in zip(kind.tolist(), column.tolist(), miss.tolist(), strict=True):
            mine = self.misses[which, j]
            mine[:-1] = mine[1:].copy()
            mine[-1] = off
        for which in np.unique(kind).tolist():
            known = self.misses[which]
            for j in range(len(known)):
                own, others = known[j], np.delete(known, j, axis=0)
                own, others = own[np.isfinite(own)], others[np.isfinite(others)]
                lacking = max(ENOUGH - len(own), 0)
                of_others = min(lacking, len(others))
                fit = lacking - of_others
                parts = [(own, len(own)), (others, of_others), (_like_the_fit(level), fit)]
                self.factors[which, j] = np.clip(_quantile(parts, level), 1 / FURTHEST, FURTHEST)


def kind_of(is_open: BoolArray, length: npt.ArrayLike) -> IntArray:
    """The kind of gap that some cells lie in, by whether it is open and how many rows it has."""
    return np.where(is_open, np.where(np.asarray(length) < LONG, OPEN, LONG_OPEN), CLOSED)


def _like_the_fit(level: float) -> FloatArray:
    """Misses of intervals of this level that hold: errors of a bell curve, whose `level` lies within 1."""
    bell = NormalDist()
    shares = (np.arange(20) + 0.5) / 20
    widest = bell.inv_cdf((1 + level) / 2)
    return np.array([bell.inv_cdf((1 + share) / 2) / widest for share in shares])


def _quantile(parts: list[tuple[FloatArray, int]], level: float) -> float:
    """The quantile of several samples, each of which has some weight in all."""
    values = np.concatenate([sample for sample, _ in parts])
    weights = np.concatenate([np.full(len(sample), w / max(len(sample), 1)) for sample, w in parts])
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(level * weights.sum(), reached, values[order]))


@dataclass(frozen=True, eq=False)
class Lean:
    """Errors of fills that lean more or less towards straight lines, for gaps that are closed and that are open."""

    errors: FloatArray  # (2, vars, LEANS): sums, in deviations of a column; what is long ago counts less
    count: FloatArray  # (2, vars): rehearsed cells, likewise

    @classmethod
    def of_the_fit(cls, n_vars: int) -> Lean:
        return cls(np.zeros((2, n_vars, len(LEANS))), np.zeros((2, n_vars)))

    @property
    def shares(self) -> FloatArray:
        """The share of straight lines in fills (2, vars)."""
        found = np.zeros(self.count.shape)
        for kind in np.flatnonzero(self.count.sum(axis=1) >= FEWEST).tolist():
            errors, count = self.errors[kind], self.count[kind]
            clearly = CLEARLY * (1 + FEW / count.sum())
            # in a column that stands still errors are tiny, and whose is less says nothing
            size = errors.mean(axis=1) + TINY * np.maximum(count, 1)
            relative = errors / size[:, None]
            judged = count[:, None] * relative + OTHERS * relative[count > 0].mean(axis=0)
            found[kind] = LEANS[np.argmin(judged * (1 + clearly * LEANS), axis=1)]
        return found

    def share(self, is_open: BoolArray, column: IntArray) -> FloatArray:
        """The share of straight lines in some cells."""
        found: FloatArray = self.shares[is_open.astype(np.intp), column]
        return found

    def learn(self, is_open: bool, column: IntArray, blend: FloatArray, lines: FloatArray) -> None:
        """Take in the errors (cells,) of both at the cells of a rehearsal."""
        errors, count = self.errors[int(is_open)], self.count[int(is_open)]
        leaning = np.abs(blend + LEANS[:, None] * (lines - blend))
        for k, j in enumerate(column.tolist()):
            errors[j] = FORGET * errors[j] + leaning[:, k]
            count[j] = FORGET * count[j] + 1


@dataclass(frozen=True, eq=False)
class Trial:
    """A rehearsal: the remembered rows without some observed cells, and which of these count."""

    is_open: bool  # its gaps reach the end
    length: IntArray  # (vars,): rows of the gap in each column
    rows: FloatArray  # (memory, vars)
    counts: BoolArray  # (memory, vars)


def draw_trial(values: FloatArray, end: int, lag: int) -> Trial | None:
    """Hide some cells of the remembered rows (memory, vars), the last of which is row `end`; None where none can be.

    The gap is that of some remembered cell, moved to the end or to where it has been closed again; what is
    drawn depends on the rows and their number alone, so that a stream that is restored goes on in the same way.
    """
    if np.isnan(values[:-LEAST]).all():  # too little is known yet
        return None
    rng = np.random.default_rng([end % 2**32, EVERY])
    is_open = lag == 0 or end // EVERY % 2 == 1
    observed = ~np.isnan(values)
    length = _lengths(observed, is_open, rng)
    row = np.arange(len(values))[:, None]
    last = len(values) - 1 - (0 if is_open else int(rng.integers(1, lag + 1)))
    hidden = (row > last - length) & (row <= last) & observed & observed[last]
    # of an open gap the newest cell counts, as when the gaps of the fit were rehearsed
    counts = hidden & (row == last if is_open else row >= len(values) - 1 - lag)
    if not counts.any():
        return None
    return Trial(is_open, length, np.where(hidden, np.nan, values), counts)


def _lengths(observed: BoolArray, is_open: bool, rng: Generator) -> IntArray:
    """How long each column (vars,) is to be silent: as at some missing cell, or in one cell where there is none."""
    start = np.zeros(1, dtype=np.intp)
    observed = observed[observed.any(axis=1).argmax() :]  # since the stream began
    row = np.nonzero(~observed[LEAST:])[0] + LEAST  # of each missing cell: all are equally likely
    if not len(row):
        one = np.zeros(observed.shape[1], dtype=np.intp)
        one[rng.integers(len(one))] = 1
        return one
    at = rng.choice(row)
    length: IntArray = silence(observed, start)[at]
    if not is_open:  # the whole gap, not only its rows so far
        length = length + np.maximum(silence(observed[::-1], start)[::-1][at] - 1, 0)
    return np.asarray(np.minimum(length, LONGEST), dtype=np.intp)
