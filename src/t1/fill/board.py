"""The copies of a panel while events are laid on them: each is hidden where it touches no other and keeps its class."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, IntArray
from t1.fill.events import Event
from t1.fill.gaps import N_CLASSES, find_runs, gap_class
from t1.panel import Panel

FOLDS = (0, 1, 2)  # a hidden cell is judged by what was learned from those of the other folds
SHARE = 0.25  # of a column's observed cells are hidden at most, in all copies together
PLACES = 16  # tried for each event


class Board:
    """The copies while events are laid on them: what is taken, and how much evidence there is already."""

    def __init__(
        self,
        copies: Panel,
        fold: IntArray,
        source: IntArray,
        original: BoolArray,
        owner: Codes | None,
        rng: Generator,
    ) -> None:
        self.copies, self.fold, self.source, self.rng = copies, fold, source, rng
        self.observed, self.starts = copies.observed, copies.starts
        self.n_rows, self.n_vars = self.observed.shape
        self.runs = find_runs(self.observed, self.starts)
        self.keys = self.runs.column * (self.n_rows + 1) + self.runs.start
        self.series = np.searchsorted(self.starts, np.arange(self.n_rows), side="right") - 1
        self.ends = np.append(self.starts[1:], self.n_rows)
        self.taken = np.zeros_like(self.observed)
        # the fold in which a cell of the panel is hidden, now or in an earlier round
        self.owner = np.full(original.shape, -1, dtype=np.int8) if owner is None else owner.copy()
        self.density = original.sum(axis=0) / max(len(original), 1)  # (vars,), share of rows observed
        self.budget = np.floor(SHARE * original.sum(axis=0)).astype(np.int64)
        self.counts = np.zeros((len(FOLDS), self.n_vars, N_CLASSES), dtype=np.int64)
        self.cells = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.n_events = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.hidden: list[tuple[IntArray, IntArray]] = []
        self.rows_of = [np.flatnonzero(fold == f) for f in FOLDS]

    def place(self, event: Event) -> bool:
        """Hide an event in a copy, where it touches no other and keeps its class; False: there is no room."""
        within = self.cells[event.column].sum(axis=1) + event.length <= self.budget[event.column]
        if not within.any():
            return False
        event = event.take(within)
        code = gap_class(event.length, np.full(len(event.length), event.edge))
        so_far = self.counts[:, event.column, code].sum(axis=1)
        fold = int(np.argmin(so_far))
        rows = self.rows_of[fold]
        if not len(rows):
            return False
        at = self._ends(fold, event) if event.edge else rows[self.rng.integers(0, len(rows), PLACES)]
        ok = (at >= 0) & (at + event.span <= self.n_rows)
        at = at[ok]
        series = self.series[at]
        if event.edge:
            at = at[at >= self.starts[series]]
        else:  # an observation before and after, in the same series
            at = at[(at > self.starts[series]) & (at + event.span < self.ends[series])]
        best: BoolArray | None = None
        for place in at[: 4 * PLACES].tolist():
            fits, hide, low, high = self._try(event, code, place, fold)
            if best is None or fits.sum() > best.sum():
                best, chosen = fits, (place, hide, low, high)
            if fits.all():
                break
        if best is None or not best.any():
            return False
        self._hide(event, code, best, fold, *chosen)
        return True

    def _ends(self, fold: int, event: Event) -> IntArray:
        """First rows for an event at the beginning or the end of a stretch."""
        series = self.rng.permutation(np.unique(self.series[self.rows_of[fold]]))[:PLACES]
        first, last = self.starts[series], self.ends[series] - event.span
        chosen: IntArray = np.where(self.rng.random(len(series)) < 0.5, first, last)
        return chosen

    def _try(
        self, event: Event, code: Codes, at: int, fold: int
    ) -> tuple[BoolArray, BoolArray, IntArray, IntArray]:
        """Which runs fit at a place, the cells they would hide, and the gaps that would be seen there."""
        begin = at + event.offset
        if event.edge and at != self.starts[self.series[at]]:  # at the end: runs end together
            begin = at + event.span - event.length
        end = begin + event.length
        columns = event.column
        first, past = self.starts[self.series[at]], self.ends[self.series[at]]
        # Beside or over a real gap the run is seen as a longer one, which must be of the same class.
        low, high = begin.copy(), end.copy()
        before, after = begin > first, end < past
        left = before & ~self.observed[begin - before, columns]
        low[left] = self._run(begin[left] - 1, columns[left])[0]
        inside = end - (~after)  # a row that exists
        right = after & ~self.observed[inside, columns]
        high[right] = self._run(end[right], columns[right])[1]
        keeps = gap_class(high - low, (low <= first) | (high >= past)) == code
        rows = slice(max(at - 1, first), min(at + event.span + 1, past))
        when = np.arange(rows.start, rows.stop)[:, None]
        inner = (when >= begin) & (when < end)
        near = (when >= begin - 1) & (when <= end)
        cells = inner & self.observed[rows, columns]
        owner = self.owner[self.source[rows]][:, columns]
        blocked = (near & self.taken[rows, columns]) | (cells & (owner >= 0) & (owner != fold))
        fits = keeps & ~blocked.any(axis=0)
        # Half as many cells as such a run usually holds: a column sampled every third row has a third of them.
        fits &= (2 * cells.sum(axis=0) >= self.density[columns] * event.length) & cells.any(axis=0)
        return fits, cells & fits, low, high

    def _run(self, row: IntArray, column: IntArray) -> tuple[IntArray, IntArray]:
        """Where the real gap that holds a cell begins and ends."""
        at = np.searchsorted(self.keys, column * (self.n_rows + 1) + row, side="right") - 1
        return self.runs.start[at], self.runs.stop[at]

    def _hide(
        self,
        event: Event,
        code: Codes,
        fits: BoolArray,
        fold: int,
        at: int,
        hide: BoolArray,
        low: IntArray,
        high: IntArray,
    ) -> None:
        row, which = np.nonzero(hide)
        row = row + max(at - 1, int(self.starts[self.series[at]]))
        column = event.column[which]
        self.owner[self.source[row], column] = fold
        np.add.at(self.counts[fold], (column, code[which]), 1)
        np.add.at(self.cells, (column, code[which]), 1)
        self.n_events[event.column[fits], code[fits]] += 1
        self.hidden.append((row, column))
        for run in np.flatnonzero(fits).tolist():
            self.taken[low[run] : high[run], event.column[run]] = True
