"""Greedy choice of cells to measure: the one that would lower the spread of all others most, then the next.

The network is asked what it would think if a cell were known (at its present guess): by how much the spread of
every other missing cell around it would fall, in units of the column's deviation. Relations between columns and
attention act as in a fill. After each choice the cell counts as known, and what it has changed is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t1.arrays import BoolArray, IntArray
from t1.fill.gaps import find_runs
from t1.sense.outlook import WINDOW, Outlook

PLACES = (0.5, 0.25, 0.75, 0.125, 0.875)  # of a gap that are tried: its middle first
SHORT = 3  # rows; all cells of a gap as short are tried
MOST = 480  # candidates that are tried at the beginning, those in the widest gaps
AT_ONCE = 8  # candidates that are asked again at once


@dataclass(eq=False)
class Candidate:
    """A missing cell that could be measured, and by how much that would lower the spread of the others."""

    view: int
    row: int  # of the series
    column: int  # of the view
    gain: float = np.inf
    asked: int = -1  # how many cells were chosen when it was last asked


@dataclass(frozen=True)
class CellChoice:
    """A cell to measure: its row and column in the table, and the share of all spread that it takes away."""

    row: int
    column: int
    share: float


def choose_cells(found: list[Outlook], budget: int, allowed: BoolArray) -> list[CellChoice]:
    """The cells to measure, best first; `allowed` (rows, vars) says where measuring is possible."""
    total = sum(_whole_spread(view) for view in found)
    pool = _candidates(found, allowed)
    chosen: list[CellChoice] = []
    changed: list[tuple[int, int, int]] = []  # view, first and last row that a choice has changed
    while pool and len(chosen) < budget:
        best = _best(found, pool, changed)
        view = found[best.view]
        row, column = view.first + best.row, int(view.columns[best.column])
        chosen.append(CellChoice(row, column, best.gain / total if total else 0.0))
        for k, other in enumerate(found):  # the cell is known in every group that has its column
            if other.first == view.first and column in other.columns:
                other.observed[best.row, np.flatnonzero(other.columns == column)] = True
                changed.append((k, best.row - WINDOW, best.row + WINDOW))
        pool = [
            c for c in pool if not (c.view == best.view and c.row == best.row and c.column == best.column)
        ]
        pool += _halves(view, best, allowed, {(c.view, c.row, c.column) for c in pool})
    return chosen


def _best(found: list[Outlook], pool: list[Candidate], changed: list[tuple[int, int, int]]) -> Candidate:
    """The candidate of the largest gain; those that may have changed are asked again, from the top, until it stands."""
    while True:
        pool.sort(key=lambda c: -c.gain)
        stale = [c for c in pool[: 4 * AT_ONCE] if _stale(c, changed)]
        if not stale or not _stale(pool[0], changed):
            return pool[0]
        unasked = [c for c in pool if c.asked < 0]
        _ask(found, unasked or stale[:AT_ONCE], len(changed))


def _stale(c: Candidate, changed: list[tuple[int, int, int]]) -> bool:
    return c.asked < 0 or any(v == c.view and a <= c.row <= b for v, a, b in changed[c.asked :])


def _ask(found: list[Outlook], candidates: list[Candidate], now: int) -> None:
    """The gain of each candidate, as the table is now."""
    for k in sorted({c.view for c in candidates}):
        view, mine = found[k], [c for c in candidates if c.view == k]
        starts = np.array([view.start(c.row) for c in mine])
        bases = np.unique(starts)
        before = dict(zip(bases.tolist(), view.spread(bases, [None] * len(bases)), strict=True))
        after = view.spread(starts, [(c.row, c.column) for c in mine])
        for c, start, spread in zip(mine, starts.tolist(), after, strict=True):
            gain = before[start] - spread
            if c.column < view.n_own:
                gain[c.row - start, c.column] = (
                    0  # a cell that is measured needs no prediction: it counts as no gain
                )
            c.gain, c.asked = float(gain.sum()), now


def _candidates(found: list[Outlook], allowed: BoolArray) -> list[Candidate]:
    """Some cells of every gap; of many gaps the longest."""
    pool: list[tuple[int, Candidate]] = []
    for k, view in enumerate(found):
        runs = find_runs(view.observed[:, : view.n_own], np.zeros(1, dtype=np.intp))
        for column, start, stop in zip(
            runs.column.tolist(), runs.start.tolist(), runs.stop.tolist(), strict=True
        ):
            for row in _places(start, stop):
                if allowed[view.first + row, view.columns[column]]:
                    pool.append((stop - start, Candidate(k, row, column)))
    pool.sort(key=lambda pair: -pair[0])
    return [candidate for _, candidate in pool[:MOST]]


def _places(start: int, stop: int) -> list[int]:
    length = stop - start
    if length <= SHORT:
        return list(range(start, stop))
    return sorted({start + min(int(share * length), length - 1) for share in PLACES})


def _halves(
    view: Outlook, best: Candidate, allowed: BoolArray, known: set[tuple[int, int, int]]
) -> list[Candidate]:
    """New candidates in the two gaps that a measured cell leaves."""
    gap = ~view.observed[:, best.column]
    fresh: list[Candidate] = []
    for step in (-1, 1):
        end = best.row + step
        while 0 <= end < view.n_rows and gap[end]:
            end += step
        first, stop = sorted((best.row + (step > 0), end + (step < 0)))
        for row in _places(first, stop):
            free = (best.view, row, best.column) not in known
            if free and allowed[view.first + row, view.columns[best.column]]:
                fresh.append(Candidate(best.view, row, best.column))
    return fresh


def _whole_spread(view: Outlook) -> float:
    """The spread of all missing cells of a view."""
    starts: IntArray = np.unique(
        np.append(np.arange(0, view.n_rows - WINDOW + 1, WINDOW), view.n_rows - WINDOW)
    )
    gappy = [s for s in starts.tolist() if not view.observed[s : s + WINDOW, : view.n_own].all()]
    total = 0.0
    for i in range(0, len(gappy), 64):
        some = np.array(gappy[i : i + 64])
        part = view.spread(some, [None] * len(some))
        part[some == view.n_rows - WINDOW, : (-view.n_rows) % WINDOW] = 0  # counted in the window before
        total += float(part.sum())
    return total
