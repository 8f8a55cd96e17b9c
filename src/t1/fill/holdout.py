"""Cells to hold out, so that a fill can be judged: the table's own gaps, moved onto observed stretches.

A gap event (runs of several columns that begin and end nearly together) is moved as one and belongs to one
part: CHOOSE (which method), CALIBRATE (how wide an interval) or REPORT (how wrong in the end).
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, IntArray, Lengths
from t1.errors import InputError
from t1.fill.events import Events, default_events, own_events
from t1.fill.gaps import N_CLASSES, find_runs, gap_class

CHOOSE, CALIBRATE, REPORT = PARTS = (0, 1, 2)
CELLS = 900  # wanted per column and gap class: 300 for each part
EVENTS = 240  # wanted per column and gap class: 80 for each part
MOVES = 6000  # at most so many are tried, which bounds the time
PLACES = 16  # tried for each event


@dataclass(frozen=True, kw_only=True)
class HoldOut:
    """Hidden cells (time, vars), and for each of them, in arrays (cells,), what it is evidence for."""

    hidden: BoolArray
    row: IntArray
    column: IntArray
    event: IntArray  # which moved event it belongs to
    part: Codes  # CHOOSE, CALIBRATE or REPORT: the same for a whole event
    length: Lengths  # of the gap as it is seen once the cells are hidden
    starts: IntArray  # first rows of the series that are stacked in the table

    def of(self, part: int) -> BoolArray:
        """Which hidden cells (cells,) belong to a part."""
        mine: BoolArray = self.part == part
        return mine

    @property
    def gap_class(self) -> Codes:
        """The gap class of each hidden cell (cells,)."""
        return gap_class(self.length)


def plan_holdout(
    observed: BoolArray, rng: Generator, *, share: float = 0.12, starts: IntArray | None = None
) -> HoldOut:
    """Hide at most `share` of the observed cells of each column of `observed` (time, vars)."""
    if not 0 <= share <= 0.5:
        raise InputError(f"share must be between 0 and 0.5, got {share}.\nGive 0.12 for 12 %.")
    starts = np.zeros(1, dtype=np.intp) if starts is None else starts
    board = _Board(observed, rng, share, starts)
    longest = int(np.diff(np.append(starts, len(observed))).max())
    typical = int(np.median(board.budget[board.budget > 0])) if (board.budget > 0).any() else 0
    # A long gap is shortened, within its class if three of it fit: each part needs one.
    limit = min(longest // 4, max(min(96, typical // 3), typical // 6))
    alive: BoolArray = np.any(observed, axis=0)
    whole = bool(observed[:, alive].all())
    events = default_events(alive, limit) if whole else own_events(board.runs, alive, limit)
    if limit and len(events):
        events = events.thinned(rng)
        _move_in_the_tables_mix(board, events, rng)
        _move_where_evidence_is_thin(board, events, rng)
    return board.holdout()


def _move_in_the_tables_mix(board: "_Board", events: Events, rng: Generator) -> None:
    """First half: every event is as likely as another."""
    order = np.resize(rng.permutation(len(events)), min(MOVES // 2, 3 * len(events) + 100))
    for e in order.tolist():
        if board.cells.sum() >= board.budget.sum() / 2:
            return
        board.move(*events[e])


def _move_where_evidence_is_thin(board: "_Board", events: Events, rng: Generator) -> None:
    """Second half: events of the columns and classes that have too few, each class within its quota."""
    code = gap_class(events.length)
    in_column = np.zeros((board.n_vars, N_CLASSES), dtype=bool)
    in_column[events.column, code] = True
    quota = board.budget / np.maximum(in_column.sum(axis=1), 1)

    def wanted(runs: slice) -> BoolArray:
        group = events.column[runs], code[runs]
        thin = (board.cells[group] < CELLS) | (board.n_events[group] < EVENTS)
        want: BoolArray = thin & (board.cells[group] + events.length[runs] <= quota[group[0]])
        return want

    tries = MOVES // 2
    moved = 1
    while moved:
        moved = 0
        useful = np.logical_or.reduceat(wanted(slice(None)), events.bounds[:-1])
        for e in rng.permutation(np.flatnonzero(useful)).tolist():
            if not wanted(slice(events.bounds[e], events.bounds[e + 1])).any():
                continue
            moved += board.move(*events[e])
            tries -= 1
            if not tries:
                return


class _Board:
    """The table while events are laid on it: what is taken, and how much evidence there is already."""

    def __init__(self, observed: BoolArray, rng: Generator, share: float, starts: IntArray) -> None:
        self.observed, self.rng, self.starts = observed, rng, starts
        self.n_rows, self.n_vars = observed.shape
        self.runs = find_runs(observed, starts)
        self.keys = self.runs.column * (self.n_rows + 1) + self.runs.start
        self.series = np.searchsorted(starts, np.arange(self.n_rows), side="right")
        self.taken = np.zeros_like(observed)
        self.hidden = np.zeros_like(observed)
        self.budget = np.floor(share * observed.sum(axis=0)).astype(np.int64)
        self.counts = np.zeros((len(PARTS), self.n_vars, N_CLASSES), dtype=np.int64)
        self.cells = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.n_events = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.moved: list[tuple[IntArray, IntArray, int]] = []

    def move(self, columns: IntArray, offset: IntArray, length: IntArray) -> bool:
        """Hide an event where it touches no other and its runs keep their class; False: no room."""
        within = self.cells[columns].sum(axis=1) + length <= self.budget[columns]
        if not within.all():
            columns, offset, length = columns[within], offset[within], length[within]
        span = int((offset + length).max()) if len(columns) else self.n_rows
        if self.n_rows - span <= 1:
            return False
        at = self.rng.integers(1, self.n_rows - span, size=PLACES)
        at = at[self.series[at - 1] == self.series[at + span]]
        begin = at[:, None] + offset  # (places, runs)
        end = begin + length
        wanted = gap_class(length)
        # Beside or over a real gap the run is seen as a longer one, which must be of the same class.
        low = np.where(self.observed[begin - 1, columns], begin, self._run(begin - 1, columns)[0])
        high = np.where(self.observed[end, columns], end, self._run(end, columns)[1])
        keeps = gap_class(high - low) == wanted
        clear = keeps & (high - low == length)
        best: BoolArray | None = None
        for place in np.argsort(-(keeps.sum(axis=1) + clear.sum(axis=1)), kind="stable")[:4]:
            if not keeps[place].any():
                break
            rows = slice(int(at[place]) - 1, int(at[place]) + span + 1)
            when = np.arange(rows.start, rows.stop)[:, None]
            inside = (when >= begin[place]) & (when < end[place])
            near = (when >= begin[place] - 1) & (when <= end[place])
            cells = inside & self.observed[rows, columns]
            fits = keeps[place] & ~(near & self.taken[rows, columns]).any(axis=0)
            fits &= 2 * cells.sum(axis=0) >= length
            if best is None or fits.sum() > best.sum():
                best, chosen, hide = fits, place, cells & fits
            if fits.all():
                break
        if best is None or not best.any():
            return False
        row, which = np.nonzero(hide)
        self._take(row + int(at[chosen]) - 1, columns[which], wanted[which], columns[best], wanted[best])
        for run in np.flatnonzero(best):
            self.taken[low[chosen, run] : high[chosen, run], columns[run]] = True
        return True

    def _run(self, row: IntArray, column: IntArray) -> tuple[IntArray, IntArray]:
        """Where the last real gap that begins at or before a cell begins and ends; of use if it holds it."""
        if not len(self.keys):
            return row, row
        at = np.maximum(np.searchsorted(self.keys, column * (self.n_rows + 1) + row, side="right") - 1, 0)
        return self.runs.start[at], self.runs.stop[at]

    def _take(self, row: IntArray, column: IntArray, code: Codes, columns: IntArray, codes: Codes) -> None:
        """Hide the cells, as the part that has least of this kind so far."""
        so_far = self.counts[:, columns, codes].sum(axis=1)
        part = REPORT - int(np.argmin(so_far[::-1]))  # a lone event is reported: it could not choose anyway
        self.hidden[row, column] = True
        np.add.at(self.counts[part], (column, code), 1)
        np.add.at(self.cells, (column, code), 1)
        self.n_events[columns, codes] += 1
        self.moved.append((row, column, part))

    def holdout(self) -> HoldOut:
        """What was hidden, with each gap's length as it is now seen."""
        none = np.zeros(0, dtype=np.intp)
        row = np.concatenate([none, *(row for row, _, _ in self.moved)])
        column = np.concatenate([none, *(column for _, column, _ in self.moved)])
        sizes = [len(row) for row, _, _ in self.moved]
        parts = np.array([part for _, _, part in self.moved], dtype=np.int8)
        runs = find_runs(self.observed & ~self.hidden, self.starts)
        keys = runs.column * (self.n_rows + 1) + runs.start
        run = np.searchsorted(keys, column * (self.n_rows + 1) + row, side="right") - 1
        return HoldOut(
            hidden=self.hidden,
            row=row,
            column=column,
            event=np.repeat(np.arange(len(sizes)), sizes),
            part=np.repeat(parts, sizes),
            length=(runs.stop - runs.start)[run].astype(np.int32),
            starts=self.starts,
        )
