"""A rehearsal: copies of stretches of the panel in which cells are hidden, shaped like the panel's own gaps.

What a method makes of the hidden cells says how good it is. Every hidden cell belongs to one of three folds,
and no cell of the panel to two: how wrong a fill is at a cell, and how wide its interval would be, is told by
what was learned from the other folds. The cells of each fold are hidden in copies of their own, so that little
is hidden at a time. Copies are cut into stretches that end somewhere: there gaps at the edge of a series are rehearsed.
Where a small panel has room for few events, it is rehearsed again with fresh placements.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, FloatArray, IntArray, Lengths
from t1.data.blocks import column_blocks
from t1.fill.board import FOLDS, Board
from t1.fill.events import Events, default_events, own_events
from t1.fill.gaps import EDGE, INNER, N_CLASSES, N_INNER, NEVER, Gaps, find_runs
from t1.panel import Panel

CELLS_PER_COPY = 160_000  # of all columns together: bounds the time that judging takes
ROWS_PER_COPY = (384, 4096)  # at least and at most
SERIES_PER_COPY = 128  # a short series takes a network as long as one of LEAST rows
LEAST = 96
STRETCH = 1024  # rows of a stretch of a long series; of a wide one fewer, as many as a copy has
WANTED_CELLS = 900  # wanted per column and gap class: 300 for each fold
WANTED_EVENTS = 240  # wanted per column and gap class: 80 for each fold
MOVES = 6000  # at most so many placements are tried, which bounds the time
RARE = 0.1  # of what may be hidden of a column: every gap class that it has gets as much, to be known at all
ROUNDS = 4  # rehearsals of a small panel at most
CELLS_OF_ROUNDS = 20_000  # all rounds together: bounds the time
ENOUGH = 24  # events of each column and gap class that has gaps: then no further round is needed
FIRST = 24  # events of each class of long gaps, and of each at an edge, that are placed before all others
WHOLE = 0.35  # of what may be hidden of a column, at most, are series hidden as a whole: their cells are all alike
LONG = INNER[-2][0]  # rows of a gap that is shortened no further where the panel has room for one
FIRST_CLASSES = (
    NEVER,
    NEVER - 1,
    N_INNER - 1,
    N_INNER - 2,
    N_INNER,
)  # never, edge 24+, 96+, 24-95, edge 1-23
ONE_OF_MANY = (
    12  # so many rows of a panel of many series, as many as one series has, may be hidden as one gap
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """The copies with their hidden cells as NaN; for each hidden cell, in arrays (cells,), what it is."""

    panel: Panel  # the copies
    masked: Panel  # the panel itself without any hidden cell: what methods may learn from
    truth: FloatArray
    row: IntArray  # in the copies
    source: IntArray  # the row of the panel that it is a copy of
    column: IntArray
    event: IntArray  # which event hid it
    fold: Codes
    code: Codes  # gap class, as the gap is seen once the cells are hidden
    distance: Lengths  # rows to the nearest observation of the column
    owner: Codes  # (rows, vars) of the panel: the fold in which a cell was hidden, now or before, or -1
    fold_of_row: IntArray  # of each row of the copies, which are sorted by it

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def known(self) -> float:
        """The share of the panel's observed cells that methods may learn from."""
        n_masked = int(self.masked.observed.sum())
        hidden = len(np.unique(self.source * self.panel.n_vars + self.column))
        return n_masked / max(n_masked + hidden, 1)

    @cached_property
    def by_fold(self) -> list[tuple[Panel, Panel, slice]]:
        """For each fold the panel without its hidden cells alone, its copies, and their rows among all copies.

        What is learned without one fold lacks a third of the cells that `masked` lacks.
        """
        parts = []
        for fold in FOLDS:
            known, others = self.masked.values.copy(), self.fold != fold
            known[self.source[others], self.column[others]] = self.truth[others]
            rows = slice(*np.searchsorted(self.fold_of_row, [fold, fold + 1]).tolist())
            spans = list(enumerate(self.panel.spans))
            copies = [(k, span.start, span.stop) for k, span in spans if rows.start <= span.start < rows.stop]
            parts.append((self.masked.with_values(known), self.panel.take(copies), rows))
        return parts

    def without(self, cells: BoolArray) -> "Rehearsal":
        """The same rehearsal, but methods may not learn from some more cells (rows, vars) of the panel."""
        return replace(self, masked=self.masked.with_values(np.where(cells, np.nan, self.masked.values)))


def rehearse_until_clear(panel: Panel, rng: Generator) -> list[Rehearsal]:
    """Rehearsals with fresh placements, until every kind of gap that the panel has was tried often enough.

    A large panel has room for many events in one round, and rounds would take too long. In rounds every fold
    has one copy, not two: the next round adds more than a second copy does, at the same price.
    """
    observed = panel.observed
    wanted = Gaps.of(observed, panel.starts).count(panel, panel.known) > 0
    tried = np.zeros((panel.n_vars, N_CLASSES), dtype=np.intp)
    rounds: list[Rehearsal] = []
    most = int(np.clip(CELLS_OF_ROUNDS // max(observed.size, 1), 1, ROUNDS))
    for _ in range(most):
        owner = rounds[-1].owner if rounds else None
        rounds.append(rehearse(panel, rng, owner, each=2 if most == 1 else 1))
        first = _first_cells(rounds[-1])
        np.add.at(tried, (rounds[-1].column[first], rounds[-1].code[first]), 1)
        if (tried >= ENOUGH)[wanted].all():
            break
    return rounds


def _first_cells(r: Rehearsal) -> IntArray:
    """One cell of each run that was hidden: of each event in each column."""
    first: IntArray = np.unique(r.event * r.panel.n_vars + r.column, return_index=True)[1]
    return first


def rehearse(panel: Panel, rng: Generator, owner: Codes | None = None, *, each: int = 2) -> Rehearsal:
    """Hide cells in copies of the panel, of a small one `each` so many for a fold.

    `owner` says in which fold a cell was hidden in rounds before this one.
    """
    observed = panel.observed
    alive = panel.known
    runs = find_runs(observed, panel.starts)
    if panel.absent is not None:  # gaps that lie in absent rows alone are not filled
        n_absent = np.append(0, np.cumsum(panel.absent))
        runs = runs.take(n_absent[runs.stop] - n_absent[runs.start] < runs.length)
    has_gaps = bool(alive[runs.column].any())
    never = runs.never & alive[runs.column]
    edges = bool((runs.edge & ~runs.never & alive[runs.column]).any())
    cut = (0.5 if never.any() else 1.0) if edges else 0.0
    stretches, folds = _copies(panel, rng, cut, each)
    copies = panel.take(stretches)
    source = np.concatenate([np.arange(a, b) for _, a, b in stretches] or [np.zeros(0, dtype=np.intp)])
    sizes = copies.sizes
    spans = panel.spans
    whole = np.array([(a, b) == (spans[s].start, spans[s].stop) for s, a, b in stretches], dtype=bool)
    board = Board(copies, whole, np.repeat(folds, sizes), source, panel.observed, owner, rng)
    budget = board.budget[alive]
    typical = int(np.median(budget)) if len(budget) else 0
    longest = int(sizes.max(initial=0))
    # A long gap is shortened, within its class if three of it fit: each fold needs one. Of a small panel one of each
    # column is enough, as columns learn from each other: shorter gaps would say little of those of a day or more.
    of_series = max(longest // 4, min(longest - 2, panel.n_rows // ONE_OF_MANY))
    limit = min(of_series, max(min(96, typical // 3), typical // 6, min(LONG, typical)))
    # Edges are shortened more, as each fold needs a few; how errors grow with distance is seen on the way.
    edge_limit = min(limit, max(EDGE[-1][0], typical // 9))
    events = own_events(runs, alive, limit, edge_limit) if has_gaps else default_events(alive, limit)
    if limit and len(events):
        events = events.thinned(rng)
        _place_long_ones_first(board, events, rng)
        # of whole series there are enough then: more of them would leave no room for other gaps
        events = events.take(~events.never[events.bounds[:-1]])
        if len(events):
            _place_in_the_panels_mix(board, events, rng)
            _place_where_evidence_is_thin(board, events, rng)
    return _finished(board, panel)


def _copies(
    panel: Panel, rng: Generator, cut: float, each: int
) -> tuple[list[tuple[int, int, int]], IntArray]:
    """Stretches (series, first row, row after the last) of all copies, and the fold of each.

    A panel that is small enough is copied as a whole, `each` times for a fold: less is hidden at a time then.
    """
    rows = int(np.clip(CELLS_PER_COPY // max(panel.n_vars, 1), *ROWS_PER_COPY))
    cost = int(np.maximum(panel.sizes, LEAST).sum())
    small = panel.n_rows <= rows and cost <= max(rows, SERIES_PER_COPY * LEAST)
    worth = np.zeros(0) if small else np.cumsum(_worth(panel.observed))
    stretches: list[tuple[int, int, int]] = []
    folds: list[int] = []
    length = panel.n_rows if small else min(STRETCH, rows)
    for fold in np.repeat(FOLDS, each if small else 1).tolist():
        pieces = _pieces(panel, rng, cut=cut, length=length)
        if not small:
            value = np.array([worth[b - 1] - (worth[a - 1] if a else 0.0) for _, a, b in pieces])
            value = np.maximum(value, 1e-9 * value.sum() + 1e-12)
            order = rng.choice(len(pieces), len(pieces), replace=False, p=value / value.sum())
            sizes = np.array([b - a for _, a, b in pieces])[order]
            n = int(np.searchsorted(np.cumsum(sizes), rows - length / 2)) + 1
            n_short = int(np.searchsorted(np.cumsum(np.maximum(sizes, LEAST)), SERIES_PER_COPY * LEAST)) + 1
            pieces = [pieces[i] for i in np.sort(order[: min(n, n_short)])]
        stretches += pieces
        folds += [fold] * len(pieces)
    return stretches, np.array(folds, dtype=np.intp)


def _pieces(panel: Panel, rng: Generator, *, cut: float, length: int) -> list[tuple[int, int, int]]:
    """The series, long ones in pieces of about `length` rows; a share `cut` of short ones too, to have edges."""
    pieces = []
    for s, span in enumerate(panel.spans):
        size = span.stop - span.start
        n = max(1, round(size / max(length, 1)))
        borders = [span.start + round(size * (k + (rng.random() - 0.5) * 0.5) / n) for k in range(1, n)]
        if n == 1 and cut and size >= 96 and (cut == 1 or rng.random() < cut):
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


def _place_long_ones_first(board: Board, events: Events, rng: Generator) -> None:
    """Long gaps and those at an edge find no room any more once the others are placed."""
    code = events.code[events.bounds[:-1]]
    for c in FIRST_CLASSES:
        of_class = rng.permutation(np.flatnonzero(code == c))
        placed = 0
        for e in np.resize(of_class, min(6 * FIRST, FIRST * len(of_class))).tolist():
            event = events[e]
            so_far, budget = board.of_column[event.column], board.budget[event.column]
            # half of what may be hidden is left for the others; a whole series hides many cells that are all alike
            within = so_far + event.length <= WHOLE * budget if event.never else 2 * so_far <= budget
            if placed >= FIRST:
                break
            if within.any():
                placed += board.place(event.take(within) if event.never else event)


def _place_in_the_panels_mix(board: Board, events: Events, rng: Generator) -> None:
    """The first third: every event is as likely as another."""
    order = np.resize(rng.permutation(len(events)), min(MOVES // 2, 3 * len(events) + 100))
    third = board.budget.sum() / 3
    for e in order.tolist():
        if board.of_column.sum() >= third:
            return
        board.place(events[e])


def _place_where_evidence_is_thin(board: Board, events: Events, rng: Generator) -> None:
    """Then events of the columns and classes that have too few, each class within its quota."""
    code = events.code
    count = np.zeros((board.n_vars, N_CLASSES))
    total = np.zeros((board.n_vars, N_CLASSES))
    np.add.at(count, (events.column, code), 1)
    np.add.at(total, (events.column, code), events.length)
    size = total / np.maximum(count, 1)
    # What is known of a class goes by its number of events, and what of the whole fill by how many of its cells are of
    # the class: the error of the whole is known best when cells are shared out like this.
    need = total * np.sqrt(size)
    share = need / np.maximum(need.sum(axis=1, keepdims=True), 1)
    quota = board.budget[:, None] * np.maximum(share, RARE)

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
        order = rng.permutation(np.flatnonzero(useful))
        order = order[np.argsort(share[events.column, code][events.bounds[order]], kind="stable")]
        for e in order.tolist():  # rare ones first, of which few are wanted: tries are bounded
            if not wanted(slice(events.bounds[e], events.bounds[e + 1])).any():
                continue
            placed += board.place(events[e])
            tries -= 1
            if not tries:
                return


def _finished(board: Board, panel: Panel) -> Rehearsal:
    """The copies of the board with all that was hidden."""
    row, column = np.array(board.rows, dtype=np.intp), np.array(board.columns, dtype=np.intp)
    truth = board.copies.values[row, column]
    values = board.copies.values.copy()
    values[row, column] = np.nan
    copies = board.copies.with_values(values)
    gaps = Gaps.of(copies.observed, copies.starts)
    keys = gaps.column * board.n_rows + gaps.row
    at = np.searchsorted(keys, column * board.n_rows + row)
    known = panel.values.copy()
    known[board.source[row], column] = np.nan
    return Rehearsal(
        panel=copies,
        masked=panel.with_values(known),
        truth=truth,
        row=row,
        source=board.source[row],
        column=column,
        event=np.array(board.event, dtype=np.intp),
        fold=board.fold[row].astype(np.int8),
        code=gaps.code[at],
        distance=gaps.distance[at],
        owner=board.owner,
        fold_of_row=board.fold,
    )
