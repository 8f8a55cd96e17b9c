"""The copies of a panel while events are laid on them: each is hidden where it touches no other and keeps its class."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, IntArray
from t1.fill.events import Event
from t1.fill.gaps import N_CLASSES, class_of, find_runs, gap_class
from t1.panel import Panel

FOLDS = (0, 1, 2)  # a hidden cell is judged by what was learned from those of the other folds
SHARE = 0.25  # of a column's observed cells are hidden at most, in all copies together
AT_A_TIME = 0.1  # ... and of those in the copies: with more, gaps are harder to fill than those of the panel
MORE = 0.05  # of the columns may miss at once beside those of the panel: in a wide table that makes nothing harder
PLACES = 16  # tried for each event
DENSE = 0.9  # share of rows observed above which gaps are seldom beside each other
FEW = 8  # runs of an event: with more, arrays are faster
NOT_HIDDEN = 255  # the byte of -1

Byte = TypeVar("Byte", np.bool_, np.int8)


class _LaidRun(NamedTuple):
    """A run of an event at a place where it fits: what it hides, and the gap that is seen then."""

    column: int
    code: int
    begin: int
    end: int
    low: int
    high: int


class Board:
    """The copies while events are laid on them: what is taken, and how much evidence there is already."""

    def __init__(
        self,
        copies: Panel,
        whole: BoolArray,
        fold: IntArray,
        source: IntArray,
        original: BoolArray,
        owner: Codes | None,
        rng: Generator,
    ) -> None:
        self.copies, self.fold, self.source, self.rng = copies, fold, source, rng
        self.whole = whole  # (series of the copies,): copies of whole series, not of stretches
        self._seen, self.observed = _as_bytes(copies.observed)
        self.starts = copies.starts
        self.n_rows, self.n_vars = self.observed.shape
        self.runs = find_runs(self.observed, self.starts)
        self.keys = self.runs.column * (self.n_rows + 1) + self.runs.start
        self.series = np.searchsorted(self.starts, np.arange(self.n_rows), side="right") - 1
        self.ends = np.append(self.starts[1:], self.n_rows)
        self.first, self.past = self.starts[self.series], self.ends[self.series]  # of the series of each row
        self._taken, self.taken = _as_bytes(np.zeros_like(self.observed))
        # the fold in which a cell of the panel is hidden, now or in an earlier round
        self._owner, self.owner = _as_bytes(
            np.full(original.shape, -1, dtype=np.int8) if owner is None else owner
        )
        alive = original.any(axis=0)
        self.n_alive = int(alive.sum())
        # (rows,), of the columns of which anything is known
        self.n_missing = np.count_nonzero(~self.observed[:, alive], axis=1)
        self.density = original.sum(axis=0) / max(len(original), 1)  # (vars,), share of rows observed
        most = np.minimum(SHARE * original.sum(axis=0), AT_A_TIME * copies.observed.sum(axis=0))
        self.budget = np.floor(most).astype(np.int64)
        self.counts = np.zeros((len(FOLDS), self.n_vars, N_CLASSES), dtype=np.int64)
        self.cells = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.of_column = np.zeros(self.n_vars, dtype=np.int64)  # cells hidden in each
        self.n_events = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.rows: list[int] = []  # of the cells that are hidden
        self.columns: list[int] = []
        self.event: list[int] = []  # which event hid each
        self.n_placed = 0
        self.rows_of = [np.flatnonzero(fold == f) for f in FOLDS]
        self._found: dict[tuple[int, int, int], IntArray] = {}  # what `_whole_gaps` gave

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
        cells = self._lay_few(event, fold) if len(event.column) <= FEW else self._lay_many(event, fold)
        for row, column in cells:
            self.rows.append(row)
            self.columns.append(column)
            self.n_missing[row] += 1
        self.event += [self.n_placed] * len(cells)
        self.n_placed += bool(cells)
        return bool(cells)

    def _thinned(self, columns: Sequence[int] | IntArray, event: Event, at: int) -> IntArray:
        """Which of the runs that fit at a place are hidden: then as many columns are missing as in its own rows.

        Where cells are missing at random, others are missing in the new rows already: with all runs of the event
        fewer columns would be left to tell the hidden ones than there are in the panel.
        """
        if len(columns) == 1:
            return np.arange(1)
        rows = slice(at, at + event.span)
        others = self.n_missing[rows].sum() - np.count_nonzero(~self.observed[rows, columns])
        n = max(round(event.at_once - float(others) / event.span), int(MORE * self.n_alive), 1)
        if n >= len(columns):
            return np.arange(len(columns))
        return np.sort(self.rng.permutation(len(columns))[:n])

    def _places(self, event: Event, fold: int) -> list[int]:
        """First rows to try an event at."""
        if event.edge:
            at = self._ends(fold, event)
        else:  # an observation before and after, in the same series
            rows = self._whole_gaps(event, fold)
            rows = rows if len(rows) else self.rows_of[fold]
            at = rows[self.rng.integers(0, len(rows), PLACES)]
            at = at[(at > self.first[at]) & (at + event.span < self.past[at])]
        places: list[int] = at.tolist()
        return places

    def _whole_gaps(self, event: Event, fold: int) -> IntArray:
        """Of a column with many gaps: first rows at which a run would be a gap of just its length.

        Elsewhere it would join the gaps beside it, and be seen as one that is longer than those of the panel.
        """
        column, length = int(event.column[0]), int(event.length[0])
        if len(event.column) > 1 or self.density[column] > DENSE:
            return np.zeros(0, dtype=np.intp)
        key = (column, length, fold)
        if key not in self._found:
            seen, rows = self.observed[:, column], self.rows_of[fold]
            rows = rows[(rows > self.first[rows]) & (rows + length < self.past[rows])]
            n_before = np.append(0, np.cumsum(seen))
            inside = n_before[rows + length] - n_before[rows]
            self._found[key] = rows[seen[rows - 1] & seen[rows + length] & (inside > 0)]
        return self._found[key]

    def _ends(self, fold: int, event: Event) -> IntArray:
        """First rows for an event at the beginning or the end of a stretch, or of one that takes whole series."""
        series = np.unique(self.series[self.rows_of[fold]])
        series = self.rng.permutation(series[self.whole[series]] if event.never else series)[:PLACES]
        if event.never:
            places: IntArray = self.starts[series]
            return places
        first, last = self.starts[series], self.ends[series] - event.span
        chosen: IntArray = np.where(self.rng.random(len(series)) < 0.5, first, last)[last >= first]
        return chosen

    # ------------------------------------------------------------ events of a few runs, as most are

    def _lay_few(self, event: Event, fold: int) -> list[tuple[int, int]]:
        """Hide the runs that fit at the best of some places, one by one; the cells (row, column) hidden."""
        runs = list(
            zip(*(x.tolist() for x in (event.column, event.offset, event.length, event.code)), strict=True)
        )
        best: list[_LaidRun] = []
        place = 0
        for at in self._places(event, fold):
            fit = [found for run in runs if (found := self._fit(run, at, event, fold)) is not None]
            if len(fit) > len(best):
                best, place = fit, at
            if len(fit) == len(runs):
                break
        if best:
            best = [best[k] for k in self._thinned([run.column for run in best], event, place).tolist()]
        cells: list[tuple[int, int, int]] = []
        for k, run in enumerate(best):
            base = run.column * self.n_rows
            rows = [row for row in range(run.begin, run.end) if self._seen[base + row]]
            self.owner[self.source[rows], run.column] = fold
            self.taken[run.low : run.high, run.column] = True
            self.counts[fold, run.column, run.code] += len(rows)
            self.cells[run.column, run.code] += len(rows)
            self.of_column[run.column] += len(rows)
            self.n_events[run.column, run.code] += 1
            cells += [(row, k, run.column) for row in rows]
        return [(row, column) for row, _, column in sorted(cells)]

    def _fit(self, run: tuple[int, int, int, int], at: int, event: Event, fold: int) -> _LaidRun | None:
        """The same question as `_try` answers, for one run: searching bytes is faster than small arrays."""
        column, offset, length, code = run
        first, past = int(self.first[at]), int(self.past[at])
        begin = at + offset
        if event.edge and at != first:
            begin = at + event.span - length
        begin, end = (first, past) if event.never else (begin, begin + length)
        base = column * self.n_rows
        n_cells = self._seen.count(1, base + begin, base + end)
        if not n_cells or 2 * n_cells < self.density[column] * (end - begin):
            return None
        if event.never and self.of_column[column] + n_cells > self.budget[column]:
            return None  # series differ in length
        if self._taken.find(1, base + max(begin - 1, first), base + min(end + 1, past)) >= 0:
            return None
        there = column * len(self.owner) + int(self.source[begin])
        size = end - begin
        free = self._owner.count(NOT_HIDDEN, there, there + size) + self._owner.count(
            fold, there, there + size
        )
        if free < size:
            return None
        low = max(self._seen.rfind(1, base + first, base + begin) + 1 - base, first)
        high = self._seen.find(1, base + end, base + past)
        high = past if high < 0 else high - base
        if class_of(high - low, low <= first or high >= past, low <= first and high >= past) != code:
            return None
        return _LaidRun(column, code, begin, end, low, high)

    # ------------------------------------------------------------ events of many columns

    def _lay_many(self, event: Event, fold: int) -> list[tuple[int, int]]:
        """As `_lay_few`, all runs at once."""
        best: tuple[BoolArray, tuple[IntArray, IntArray], IntArray, IntArray] | None = None
        place = 0
        for at in self._places(event, fold):
            found = self._try(event, at, fold)
            if best is None or found[0].sum() > best[0].sum():
                best, place = found, at
            if found[0].all():
                break
        if best is None or not best[0].any():
            return []
        fits, (row, run), low, high = best
        kept = np.flatnonzero(fits)[self._thinned(event.column[fits], event, place)]
        hidden = np.isin(run, kept)
        row, run = row[hidden], run[hidden]
        column, code = event.column[run], event.code[run]
        self.owner[self.source[row], column] = fold
        np.add.at(self.counts[fold], (column, code), 1)
        np.add.at(self.cells, (column, code), 1)
        np.add.at(self.of_column, column, 1)
        self.n_events[event.column[kept], event.code[kept]] += 1
        for k in kept.tolist():
            self.taken[low[k] : high[k], event.column[k]] = True
        return list(zip(row.tolist(), column.tolist(), strict=True))

    def _try(
        self, event: Event, at: int, fold: int
    ) -> tuple[BoolArray, tuple[IntArray, IntArray], IntArray, IntArray]:
        """Which runs fit at a place, the cells (row, run) they would hide, and the gaps that would be seen."""
        begin = at + event.offset
        if event.edge and at != self.first[at]:  # at the end: runs end together
            begin = at + event.span - event.length
        end = begin + event.length
        columns = event.column
        first, past = self.first[at], self.past[at]
        if event.never:
            begin, end = np.full_like(begin, first), np.full_like(end, past)
        # Beside or over a real gap the run is seen as a longer one, which must be of the same class.
        low, high = begin.copy(), end.copy()
        before, after = begin > first, end < past
        left = before & ~self.observed[begin - before, columns]
        low[left] = self._run(begin[left] - 1, columns[left])[0]
        inside = end - (~after)  # a row that exists
        right = after & ~self.observed[inside, columns]
        high[right] = self._run(end[right], columns[right])[1]
        at_start, at_end = low <= first, high >= past
        keeps = gap_class(high - low, at_start | at_end, at_start & at_end) == event.code
        rows = slice(max(at - 1, first), past if event.never else min(at + event.span + 1, past))
        when = np.arange(rows.start, rows.stop)[:, None]
        inner = (when >= begin) & (when < end)
        near = (when >= begin - 1) & (when <= end)
        cells = inner & self.observed[rows, columns]
        owner = self.owner[self.source[rows]][:, columns]
        blocked = (near & self.taken[rows, columns]) | (cells & (owner >= 0) & (owner != fold))
        fits = keeps & ~blocked.any(axis=0)
        # Half as many cells as such a run usually holds: a column sampled every third row has a third of them.
        fits &= (2 * cells.sum(axis=0) >= self.density[columns] * (end - begin)) & cells.any(axis=0)
        if event.never:
            fits &= self.of_column[columns] + cells.sum(axis=0) <= self.budget[columns]
        row, run = np.nonzero(cells & fits)
        return fits, (row + rows.start, run), low, high

    def _run(self, row: IntArray, column: IntArray) -> tuple[IntArray, IntArray]:
        """Where the real gap that holds a cell begins and ends."""
        at = np.searchsorted(self.keys, column * (self.n_rows + 1) + row, side="right") - 1
        return self.runs.start[at], self.runs.stop[at]


def _as_bytes(table: npt.NDArray[Byte]) -> tuple[bytearray, npt.NDArray[Byte]]:
    """A copy of a table (rows, vars) of one-byte numbers, column by column, and the same memory as a table."""
    flat = bytearray(np.ascontiguousarray(table.T).tobytes())
    return flat, np.frombuffer(flat, dtype=table.dtype).reshape(table.shape[::-1]).T
