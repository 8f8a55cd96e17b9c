"""Intervals that go on to hold while the rows that arrive become rougher or calmer than those of the fit.

Every few rows a stream rehearses: cells of the last rows that were observed are hidden for a moment, in gaps such
as the stream itself had, and filled. Where more of them lie outside their intervals than should, intervals
become wider, else narrower: a step in their logarithm (online conformal prediction), half of it large and shared
by all columns, half small and of each column by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.fill.ends import LEAST, silence

EVERY = 4  # rows from one rehearsal to the next; gaps that are open and gaps that are closed take turns
LONGEST = 48  # rows of a gap that is rehearsed: the network looks across it without a coarser rate
SHARED, OWN = 0.3, 0.1  # steps of the logarithm of a width, for a share of 1 outside: of all columns, of one
FURTHEST = np.log(10.0)  # that widths go from those of the fit
SAME = 1e-9  # of a column's spread: no difference
CLOSED, OPEN = 0, 1


@dataclass(frozen=True, eq=False)
class Widths:
    """By how much intervals are wider than those of the fit, as logarithms; for closed and for open gaps."""

    shared: FloatArray  # (2,)
    own: FloatArray  # (2, vars)

    @classmethod
    def of_the_fit(cls, n_vars: int) -> Widths:
        return cls(np.zeros(2), np.zeros((2, n_vars)))

    def factor(self, is_open: BoolArray, column: IntArray) -> FloatArray:
        """How many times wider the intervals of some cells are."""
        kind = is_open.astype(np.intp)
        return np.exp(np.clip(self.shared[kind] + self.own[kind, column], -FURTHEST, FURTHEST))

    def learn(self, kind: int, column: IntArray, outside: BoolArray, level: float) -> None:
        """Follow what a rehearsal showed: which of its cells lay outside their intervals."""
        self.shared[kind] += SHARED * (outside.mean() - (1 - level))
        for j in np.unique(column).tolist():
            self.own[kind, j] += OWN * (outside[column == j].mean() - (1 - level))
        for part in (self.shared, self.own):
            np.clip(part, -FURTHEST, FURTHEST, out=part)


@dataclass(frozen=True, eq=False)
class Trial:
    """A rehearsal: the remembered rows without some observed cells, and which of these count."""

    kind: int  # CLOSED or OPEN
    rows: FloatArray  # (memory, vars)
    counts: BoolArray  # (memory, vars)


def draw_trial(values: FloatArray, end: int, lag: int) -> Trial | None:
    """Hide some cells of the remembered rows (memory, vars), the last of which is row `end`; None if there are none.

    The gap is that of some remembered cell, moved to the end or to where it has been closed again; what is
    drawn depends on the rows and their number alone, so that a stream that is restored goes on in the same way.
    """
    if end % EVERY or np.isnan(values[:-LEAST]).all():  # too little is known yet
        return None
    rng = np.random.default_rng([end % 2**32, EVERY])
    kind = OPEN if lag == 0 or end // EVERY % 2 else CLOSED
    observed = ~np.isnan(values)
    length = _lengths(observed, kind, rng)
    row = np.arange(len(values))[:, None]
    last = len(values) - 1 - (0 if kind == OPEN else int(rng.integers(1, lag + 1)))
    hidden = (row > last - length) & (row <= last) & observed & observed[last]
    # of an open gap the newest cell counts, as when the gaps of the fit were rehearsed
    counts = hidden & (row == last if kind == OPEN else row >= len(values) - 1 - lag)
    if not counts.any():
        return None
    return Trial(kind, np.where(hidden, np.nan, values), counts)


def _lengths(observed: BoolArray, kind: int, rng: Generator) -> IntArray:
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
    if kind == CLOSED:  # the whole gap, not only its rows so far
        length = length + np.maximum(silence(observed[::-1], start)[::-1][at] - 1, 0)
    return np.asarray(np.minimum(length, LONGEST), dtype=np.intp)
