"""A rehearsal: copies of stretches of the panel in which cells are hidden, shaped like the panel's own gaps.

What a method makes of the hidden cells says how good it is. Every hidden cell belongs to one part: CHOOSE
(which methods fill), CALIBRATE (how wide an interval) or REPORT (how wrong in the end), and no cell of the
panel serves two parts. The cells of each part are hidden in copies of their own, so that little is hidden at
a time. Copies are cut into stretches that end somewhere: there gaps at the edge of a series are rehearsed.
Where a small panel has room for few events, it is rehearsed again with fresh placements.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, FloatArray, IntArray, Lengths
from t1.data.blocks import column_blocks
from t1.fill.events import Event, Events, default_events, own_events
from t1.fill.gaps import EDGE, N_CLASSES, N_INNER, Gaps, find_runs, gap_class
from t1.panel import Panel

CHOOSE, CALIBRATE, REPORT = PARTS = (0, 1, 2)
CELLS_PER_COPY = 160_000  # of all columns together: bounds the time that judging takes
ROWS_PER_COPY = (288, 4096)  # at least and at most
STRETCH = 1024  # rows of a stretch of a long series
SHARE = 0.25  # of a column's observed cells are hidden at most, in all copies together
WANTED_CELLS = 900  # wanted per column and gap class: 300 for each part
WANTED_EVENTS = 240  # wanted per column and gap class: 80 for each part
MOVES = 3600  # at most so many placements are tried, which bounds the time
PLACES = 16  # tried for each event
ROUNDS = 4  # rehearsals of a small panel at most
CELLS_OF_ROUNDS = 20_000  # all rounds together: bounds the time
ENOUGH = 12  # CHOOSE events of each column and gap class that has gaps: then no further round is needed
FIRST = 24  # events of each class of long gaps, and of each at an edge, that are placed before all others
FIRST_CLASSES = (N_CLASSES - 1, N_INNER - 1, N_INNER - 2, N_INNER)  # edge 24+, 96+, 24-95, edge 1-23


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """The copies with their hidden cells as NaN; for each hidden cell, in arrays (cells,), what it is."""

    panel: Panel  # the copies
    masked: Panel  # the panel itself without any hidden cell: what methods may learn from
    truth: FloatArray
    row: IntArray  # in the copies
    column: IntArray
    event: IntArray  # which event hid it
    part: Codes  # CHOOSE, CALIBRATE or REPORT
    code: Codes  # gap class, as the gap is seen once the cells are hidden
    distance: Lengths  # rows to the nearest observation of the column
    owner: Codes  # (rows, vars) of the panel: the part that has hidden a cell, in this round or before, or -1

    def __len__(self) -> int:
        return len(self.row)

    def of(self, part: int) -> BoolArray:
        """Which hidden cells (cells,) belong to a part."""
        mine: BoolArray = self.part == part
        return mine

    def without(self, cells: BoolArray) -> "Rehearsal":
        """The same rehearsal, but methods may not learn from some more cells (rows, vars) of the panel."""
        return replace(self, masked=self.masked.with_values(np.where(cells, np.nan, self.masked.values)))


def rehearse_until_clear(panel: Panel, rng: Generator) -> list[Rehearsal]:
    """Rehearsals with fresh placements, until every kind of gap that the panel has was tried often enough.

    A large panel has room for many events in one round, and rounds would take too long.
    """
    observed = panel.observed
    wanted = Gaps.of(observed, panel.starts).count(panel, panel.known) > 0
    tried = np.zeros((panel.n_vars, N_CLASSES), dtype=np.intp)
    rounds: list[Rehearsal] = []
    for _ in range(int(np.clip(CELLS_OF_ROUNDS // max(observed.size, 1), 1, ROUNDS))):
        rounds.append(rehearse(panel, rng, rounds[-1].owner if rounds else None))
        first = _first_cells(rounds[-1])
        np.add.at(tried, (rounds[-1].column[first], rounds[-1].code[first]), 1)
        if (tried >= ENOUGH)[wanted].all():
            break
    return rounds


def _first_cells(r: Rehearsal) -> IntArray:
    """One cell of each run that chooses: of each event in each column."""
    mine = np.flatnonzero(r.of(CHOOSE))
    _, first = np.unique(np.stack([r.event[mine], r.column[mine]]), axis=1, return_index=True)
    return mine[first]


def rehearse(panel: Panel, rng: Generator, owner: Codes | None = None) -> Rehearsal:
    """Hide cells in copies of the panel; `owner` says which part hid a cell in rounds before this one."""
    observed = panel.observed
    alive = panel.known
    runs = find_runs(observed, panel.starts)
    if panel.absent is not None:  # gaps that lie in absent rows alone are not filled
        n_absent = np.append(0, np.cumsum(panel.absent))
        runs = runs.take(n_absent[runs.stop] - n_absent[runs.start] < runs.length)
    has_gaps = bool(alive[runs.column].any())
    edges = bool((runs.edge & alive[runs.column]).any())
    stretches, parts = _copies(panel, rng, edges, 2 if owner is None else 1)
    copies = panel.take(stretches)
    source = np.concatenate([np.arange(a, b) for _, a, b in stretches] or [np.zeros(0, dtype=np.intp)])
    sizes = np.diff(np.append(copies.starts, copies.n_rows))
    board = _Board(copies, np.repeat(parts, sizes), source, panel.observed, owner, rng)
    budget = board.budget[alive]
    typical = int(np.median(budget)) if len(budget) else 0
    longest = int(sizes.max(initial=0))
    # A long gap is shortened, within its class if three of it fit: each part needs one.
    limit = min(longest // 4, max(min(96, typical // 3), typical // 6))
    # Edges are shortened more, as each part needs a few; how errors grow with distance is seen on the way.
    edge_limit = min(limit, max(EDGE[-1][0], typical // 9))
    events = own_events(runs, alive, limit, edge_limit) if has_gaps else default_events(alive, limit)
    if limit and len(events):
        events = events.thinned(rng)
        _place_long_ones_first(board, events, rng)
        _place_in_the_panels_mix(board, events, rng)
        _place_where_evidence_is_thin(board, events, rng)
    return board.rehearsal(panel)


def _copies(
    panel: Panel, rng: Generator, edges: bool, each: int
) -> tuple[list[tuple[int, int, int]], IntArray]:
    """Stretches (series, first row, row after the last) of all copies, and the part of each.

    A panel that is small enough is copied as a whole, `each` times for a part: less is hidden at a time then.
    """
    rows = int(np.clip(CELLS_PER_COPY // max(panel.n_vars, 1), *ROWS_PER_COPY))
    small = panel.n_rows <= rows
    worth = np.zeros(0) if small else np.cumsum(_worth(panel.observed))
    stretches: list[tuple[int, int, int]] = []
    parts: list[int] = []
    for part in np.repeat(PARTS, each if small else 1).tolist():
        pieces = _pieces(panel, rng, cut=edges, length=panel.n_rows if small else STRETCH)
        if not small:
            value = np.array([worth[b - 1] - (worth[a - 1] if a else 0.0) for _, a, b in pieces])
            value = np.maximum(value, 1e-9 * value.sum() + 1e-12)
            order = rng.choice(len(pieces), len(pieces), replace=False, p=value / value.sum())
            ends = np.cumsum([pieces[i][2] - pieces[i][1] for i in order])
            pieces = [pieces[i] for i in np.sort(order[: int(np.searchsorted(ends, rows)) + 1])]
        stretches += pieces
        parts += [part] * len(pieces)
    return stretches, np.array(parts, dtype=np.intp)


def _pieces(panel: Panel, rng: Generator, *, cut: bool, length: int) -> list[tuple[int, int, int]]:
    """The series, long ones in pieces of about `length` rows; with `cut` a short one too, to have edges."""
    pieces = []
    for s, span in enumerate(panel.spans):
        size = span.stop - span.start
        n = max(1, round(size / max(length, 1)))
        borders = [span.start + round(size * (k + (rng.random() - 0.5) * 0.5) / n) for k in range(1, n)]
        if n == 1 and cut and size >= 96:
            n = int(np.clip(size // 400, 2, 4))
            borders = [span.start + int(size * (k + rng.uniform(-0.3, 0.3)) / n) for k in range(1, n)]
        ends = [span.start, *borders, span.stop]
        pieces += [(s, a, b) for a, b in pairwise(ends) if b > a]
    return pieces


def _worth(observed: BoolArray) -> FloatArray:
    """How much each row (rows,) can show: its share of what is known of each column that has gaps."""
    worth = np.zeros(len(observed))
    for block in column_blocks(observed.shape):
        part = observed[:, block]
        known = part.sum(axis=0)
        gappy = (known > 0) & (known < len(observed))
        worth += part[:, gappy] @ (1 / known[gappy])
    return worth if worth.any() else np.ones(len(observed))


def _place_long_ones_first(board: "_Board", events: Events, rng: Generator) -> None:
    """Long gaps and those at an edge find no room any more once the others are placed."""
    code = events.code[events.bounds[:-1]]
    for c in FIRST_CLASSES:
        of_class = rng.permutation(np.flatnonzero(code == c))
        placed = 0
        for e in np.resize(of_class, min(6 * FIRST, FIRST * len(of_class))).tolist():
            # half of what may be hidden is left for the others
            within = 2 * board.cells[events[e].column].sum(axis=1) <= board.budget[events[e].column]
            if placed >= FIRST:
                break
            if within.any():
                placed += board.place(events[e])


def _place_in_the_panels_mix(board: "_Board", events: Events, rng: Generator) -> None:
    """The first third: every event is as likely as another."""
    order = np.resize(rng.permutation(len(events)), min(MOVES // 2, 3 * len(events) + 100))
    for e in order.tolist():
        if board.cells.sum() >= board.budget.sum() / 3:
            return
        board.place(events[e])


def _place_where_evidence_is_thin(board: "_Board", events: Events, rng: Generator) -> None:
    """Then events of the columns and classes that have too few, each class within its quota."""
    code = events.code
    count = np.zeros((board.n_vars, N_CLASSES))
    total = np.zeros((board.n_vars, N_CLASSES))
    np.add.at(count, (events.column, code), 1)
    np.add.at(total, (events.column, code), events.length)
    size = total / np.maximum(count, 1)
    # as many events of each class as of the others: a class of long gaps gets more cells
    quota = board.budget[:, None] * np.maximum(size / np.maximum(size.sum(axis=1, keepdims=True), 1), 0.1)

    def wanted(runs: slice) -> BoolArray:
        group = events.column[runs], code[runs]
        thin = (board.cells[group] < WANTED_CELLS) | (board.n_events[group] < WANTED_EVENTS)
        want: BoolArray = thin & (board.cells[group] + events.length[runs] <= quota[group])
        return want

    tries = MOVES // 2
    placed = 1
    while placed:
        placed = 0
        useful = np.logical_or.reduceat(wanted(slice(None)), events.bounds[:-1])
        for e in rng.permutation(np.flatnonzero(useful)).tolist():
            if not wanted(slice(events.bounds[e], events.bounds[e + 1])).any():
                continue
            placed += board.place(events[e])
            tries -= 1
            if not tries:
                return


class _Board:
    """The copies while events are laid on them: what is taken, and how much evidence there is already."""

    def __init__(
        self,
        copies: Panel,
        part: IntArray,
        source: IntArray,
        original: BoolArray,
        owner: Codes | None,
        rng: Generator,
    ) -> None:
        self.copies, self.part, self.source, self.rng = copies, part, source, rng
        self.observed, self.starts = copies.observed, copies.starts
        self.n_rows, self.n_vars = self.observed.shape
        self.runs = find_runs(self.observed, self.starts)
        self.keys = self.runs.column * (self.n_rows + 1) + self.runs.start
        self.series = np.searchsorted(self.starts, np.arange(self.n_rows), side="right") - 1
        self.ends = np.append(self.starts[1:], self.n_rows)
        self.taken = np.zeros_like(self.observed)
        # the part that hides a cell of the panel, now or in an earlier round
        self.owner = np.full(original.shape, -1, dtype=np.int8) if owner is None else owner.copy()
        self.density = original.sum(axis=0) / max(len(original), 1)  # (vars,), share of rows observed
        self.budget = np.floor(SHARE * original.sum(axis=0)).astype(np.int64)
        self.counts = np.zeros((len(PARTS), self.n_vars, N_CLASSES), dtype=np.int64)
        self.cells = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.n_events = np.zeros((self.n_vars, N_CLASSES), dtype=np.int64)
        self.hidden: list[tuple[IntArray, IntArray]] = []
        self.rows_of = [np.flatnonzero(part == p) for p in PARTS]

    def place(self, event: Event) -> bool:
        """Hide an event in a copy, where it touches no other and keeps its class; False: there is no room."""
        within = self.cells[event.column].sum(axis=1) + event.length <= self.budget[event.column]
        if not within.any():
            return False
        event = event.take(within)
        code = gap_class(event.length, np.full(len(event.length), event.edge))
        so_far = self.counts[:, event.column, code].sum(axis=1)
        part = REPORT - int(np.argmin(so_far[::-1]))  # a lone event is reported: it could not choose anyway
        rows = self.rows_of[part]
        if not len(rows):
            return False
        at = self._ends(part, event) if event.edge else rows[self.rng.integers(0, len(rows), PLACES)]
        ok = (at >= 0) & (at + event.span <= self.n_rows)
        at = at[ok]
        series = self.series[at]
        if event.edge:
            at = at[at >= self.starts[series]]
        else:  # an observation before and after, in the same series
            at = at[(at > self.starts[series]) & (at + event.span < self.ends[series])]
        best: BoolArray | None = None
        for place in at[: 4 * PLACES].tolist():
            fits, hide, low, high = self._try(event, code, place, part)
            if best is None or fits.sum() > best.sum():
                best, chosen = fits, (place, hide, low, high)
            if fits.all():
                break
        if best is None or not best.any():
            return False
        self._hide(event, code, best, part, *chosen)
        return True

    def _ends(self, part: int, event: Event) -> IntArray:
        """First rows for an event at the beginning or the end of a stretch."""
        series = self.rng.permutation(np.unique(self.series[self.rows_of[part]]))[:PLACES]
        first, last = self.starts[series], self.ends[series] - event.span
        chosen: IntArray = np.where(self.rng.random(len(series)) < 0.5, first, last)
        return chosen

    def _try(
        self, event: Event, code: Codes, at: int, part: int
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
        blocked = (near & self.taken[rows, columns]) | (cells & (owner >= 0) & (owner != part))
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
        part: int,
        at: int,
        hide: BoolArray,
        low: IntArray,
        high: IntArray,
    ) -> None:
        row, which = np.nonzero(hide)
        row = row + max(at - 1, int(self.starts[self.series[at]]))
        column = event.column[which]
        self.owner[self.source[row], column] = part
        np.add.at(self.counts[part], (column, code[which]), 1)
        np.add.at(self.cells, (column, code[which]), 1)
        self.n_events[event.column[fits], code[fits]] += 1
        self.hidden.append((row, column))
        for run in np.flatnonzero(fits).tolist():
            self.taken[low[run] : high[run], event.column[run]] = True

    def rehearsal(self, panel: Panel) -> Rehearsal:
        """The copies with all that was hidden."""
        none = np.zeros(0, dtype=np.intp)
        row = np.concatenate([none, *(row for row, _ in self.hidden)])
        column = np.concatenate([none, *(column for _, column in self.hidden)])
        sizes = [len(row) for row, _ in self.hidden]
        truth = self.copies.values[row, column]
        values = self.copies.values.copy()
        values[row, column] = np.nan
        copies = self.copies.with_values(values)
        gaps = Gaps.of(copies.observed, copies.starts)
        keys = gaps.column * self.n_rows + gaps.row
        at = np.searchsorted(keys, column * self.n_rows + row)
        known = panel.values.copy()
        known[self.source[row], column] = np.nan
        return Rehearsal(
            panel=copies,
            masked=panel.with_values(known),
            truth=truth,
            row=row,
            column=column,
            event=np.repeat(np.arange(len(sizes)), sizes),
            part=self.part[row].astype(np.int8),
            code=gaps.code[at],
            distance=gaps.distance[at],
            owner=self.owner,
        )
