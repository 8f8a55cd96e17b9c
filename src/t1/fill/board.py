"""The copies of a panel while events are laid on them: each is hidden where it touches no other and keeps its class."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, IntArray
from t1.fill.events import Event
from t1.fill.gaps import N_CLASSES, find_runs, gap_class
from t1.panel import Panel

FOLDS = (0, 1, 2)  # a hidden cell is judged by what was learned from those of the other folds
SHARE = 0.25  # of a column's observed cells are hidden at most, in all copies together
PLACES = 16  # tried for each event


class _Spot(NamedTuple):
    """A place for an event: which runs fit there, the cells they would hide, the gaps that would be seen."""

    fits: BoolArray  # (runs,)
    row: IntArray  # (cells,)
    run: IntArray  # (cells,), to which each belongs
    low: IntArray  # (runs,)
    high: IntArray


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
        self.first, self.past = self.starts[self.series], self.ends[self.series]  # of the series of each row
        self.taken = np.zeros_like(self.observed)
        # the fold in which a cell of the panel is hidden, now or in an earlier round
        self.owner = np.full(original.shape, -1, dtype=np.int8) if owner is None else owner.copy()
        self.density = original.sum(axis=0) / max(len(original), 1)  # (vars,), share of rows observed
        self.budget = np.floor(SHARE * original.sum(axis=0)).astype(np.int64)
        self.counts = np.zeros((len(FOLDS), self.n_vars, N_CLASSES), dtype=np.int64)
        self.cells = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.of_column = np.zeros(self.n_vars, dtype=np.int64)  # cells hidden in each
        self.n_events = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.hidden: list[tuple[IntArray, IntArray]] = []
        self.rows_of = [np.flatnonzero(fold == f) for f in FOLDS]

    def place(self, event: Event) -> bool:
        """Hide an event in a copy, where it touches no other and keeps its class; False: there is no room."""
        within = self.of_column[event.column] + event.length <= self.budget[event.column]
        if not within.any():
            return False
        event = event.take(within)
        so_far = self.counts[:, event.column, event.code].sum(axis=1)
        fold = int(np.argmin(so_far))
        if not len(self.rows_of[fold]):
            return False
        n_runs, most, best = len(event.column), 0, None
        look = self._try if n_runs > 1 else self._try_alone
        for place in self._places(event, fold):
            spot = look(event, place, fold)
            n_fit = int(np.count_nonzero(spot.fits))
            if n_fit > most:
                most, best = n_fit, spot
            if n_fit == n_runs:
                break
        if best is None:
            return False
        self._hide(event, fold, best)
        return True

    def _places(self, event: Event, fold: int) -> list[int]:
        """First rows to try an event at."""
        if event.edge:
            at = self._ends(fold, event)
        else:  # an observation before and after, in the same series
            rows = self.rows_of[fold]
            at = rows[self.rng.integers(0, len(rows), PLACES)]
            at = at[(at > self.first[at]) & (at + event.span < self.past[at])]
        places: list[int] = at.tolist()
        return places

    def _ends(self, fold: int, event: Event) -> IntArray:
        """First rows for an event at the beginning or the end of a stretch."""
        series = self.rng.permutation(np.unique(self.series[self.rows_of[fold]]))[:PLACES]
        first, last = self.starts[series], self.ends[series] - event.span
        chosen: IntArray = np.where(self.rng.random(len(series)) < 0.5, first, last)[last >= first]
        return chosen

    def _try(self, event: Event, at: int, fold: int) -> _Spot:
        """Which runs fit at a place."""
        begin = at + event.offset
        if event.edge and at != self.first[at]:  # at the end: runs end together
            begin = at + event.span - event.length
        end = begin + event.length
        columns = event.column
        first, past = self.first[at], self.past[at]
        # Beside or over a real gap the run is seen as a longer one, which must be of the same class.
        low, high = begin.copy(), end.copy()
        before, after = begin > first, end < past
        left = before & ~self.observed[begin - before, columns]
        low[left] = self._run(begin[left] - 1, columns[left])[0]
        inside = end - (~after)  # a row that exists
        right = after & ~self.observed[inside, columns]
        high[right] = self._run(end[right], columns[right])[1]
        keeps = gap_class(high - low, (low <= first) | (high >= past)) == event.code
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
        row, run = np.nonzero(cells & fits)
        return _Spot(fits, row + rows.start, run, low, high)

    def _try_alone(self, event: Event, at: int, fold: int) -> _Spot:
        """The same for an event of one run, as most are: in a quarter of the time."""
        column, length = int(event.column[0]), int(event.length[0])
        begin = at + int(event.offset[0])
        end = begin + length
        first, past = int(self.first[at]), int(self.past[at])
        low, high = np.array([begin]), np.array([end])
        if begin > first and not self.observed[begin - 1, column]:
            low = self._run(low - 1, event.column)[0]
        if end < past and not self.observed[end, column]:
            high = self._run(high, event.column)[1]
        cells = self.observed[begin:end, column]
        owner = self.owner[self.source[begin:end], column]
        n_cells = np.count_nonzero(cells)
        fits = (
            n_cells > 0
            and 2 * n_cells >= self.density[column] * length
            and not self.taken[max(begin - 1, first) : end + (end < past), column].any()
            and not (cells & (owner >= 0) & (owner != fold)).any()
            and (gap_class(high - low, (low <= first) | (high >= past)) == event.code).all()
        )
        row = np.flatnonzero(cells) + begin if fits else np.zeros(0, dtype=np.intp)
        return _Spot(np.array([fits]), row, np.zeros_like(row), low, high)

    def _run(self, row: IntArray, column: IntArray) -> tuple[IntArray, IntArray]:
        """Where the real gap that holds a cell begins and ends."""
        at = np.searchsorted(self.keys, column * (self.n_rows + 1) + row, side="right") - 1
        return self.runs.start[at], self.runs.stop[at]

    def _hide(self, event: Event, fold: int, spot: _Spot) -> None:
        column, code = event.column[spot.run], event.code[spot.run]
        self.owner[self.source[spot.row], column] = fold
        np.add.at(self.counts[fold], (column, code), 1)
        np.add.at(self.cells, (column, code), 1)
        np.add.at(self.of_column, column, 1)
        self.n_events[event.column[spot.fits], event.code[spot.fits]] += 1
        self.hidden.append((spot.row, column))
        for run in np.flatnonzero(spot.fits).tolist():
            self.taken[spot.low[run] : spot.high[run], event.column[run]] = True
