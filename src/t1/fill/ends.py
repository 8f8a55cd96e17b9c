"""A rehearsal of live filling: stretches that end somewhere, with gaps at their end or shortly before it.

A row that has just arrived has no rows after it, and what is missing in it may have been missing for some
time. How good a fill is there says only a hold-out there. The gaps of a rehearsed end are those that some row
of the panel has: the same columns, missing for as long; or drawn at random.

Gap classes count the other way round here: five classes of *open* gaps, by how long the column has been
silent, and two of gaps that a later row has closed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, FloatArray, IntArray, Lengths
from t1.fill.board import FOLDS
from t1.fill.gaps import Gaps, gap_class
from t1.panel import Panel

LAG = 48  # rows whose fills are revised as later rows arrive
MEMORY = 384  # rows that are remembered: four windows of the network
MOST_MEMORY = 4096
CELLS = 240_000  # of the last windows of all stretches together: bounds the time
STRETCHES = (12, 180)  # at least and at most
SHARE = 0.25  # of a column's observed cells are hidden at most
COPIED = 0.9  # share of stretches whose gaps are those of a row of the panel, if it has
ENOUGH = 30  # rows with gaps; with fewer more gaps are drawn at random
OPEN = 0.85  # share of stretches whose gaps reach the end
CHANCE = 0.35  # of a column to be silent, where gaps are drawn
LONGEST = 96  # rows of gaps that are drawn
LEAST = 16  # rows before an end


@dataclass(frozen=True, eq=False)
class Ends:
    """Stretches of one length with their hidden cells as NaN; for each scored cell, in arrays (cells,), what it is."""

    panel: Panel
    memory: int  # rows of each stretch
    hidden: BoolArray  # (rows, vars) of the whole panel: what methods may not learn from
    truth: FloatArray
    row: IntArray
    column: IntArray
    event: IntArray  # the stretch
    fold: IntArray
    code: Codes
    distance: Lengths


def end_class(length: Lengths, edge: BoolArray) -> Codes:
    """The class of a gap by its length; open gaps, which no later row has closed, are told apart more finely."""
    return gap_class(length, ~edge)


def memory_for(periods: list[int | None]) -> int:
    """Rows to remember: two periods before the last window, in whole windows."""
    longest = max((p for p in periods if p is not None), default=0)
    wanted = 96 * -(-(2 * longest + 96) // 96)
    return int(np.clip(wanted, MEMORY, MOST_MEMORY))


def rehearse_ends(panel: Panel, rng: Generator, memory: int) -> Ends | None:
    """Hide gaps at the ends of some stretches; None where the panel has no room for any."""
    observed, n_vars = panel.observed, panel.n_vars
    n = int(np.clip(CELLS // (96 * max(n_vars, 1)), *STRETCHES))
    places = np.concatenate([np.arange(span.start + LEAST, span.stop) for span in panel.spans])
    places = places[observed[places].any(axis=1)]
    if not len(places):
        return None
    ends = places[(len(places) * (np.arange(n) + rng.random(n)) / n).astype(np.intp)]
    silent = silence(observed, panel.starts)
    gappy = np.flatnonzero((~observed).any(axis=1) & observed.any(axis=1))
    owner = np.full(observed.shape, -1, dtype=np.int8)
    left = np.floor(SHARE * observed.sum(axis=0))
    stretches, hidden, folds = [], [], []
    for k, end in enumerate(rng.permutation(np.unique(ends)).tolist()):
        age = _ages(silent, gappy, n_vars, rng)
        back = 0 if rng.random() < OPEN else int(rng.integers(1, LAG + 1))
        series = int(np.searchsorted(panel.starts, end, side="right")) - 1
        first = max(int(panel.starts[series]), end - memory + 1)
        last = end - back
        when = np.arange(first, end + 1)[:, None]
        cells = (when > last - age) & (when <= last) & observed[first : end + 1]
        fold = k % len(FOLDS)
        taken = owner[first : end + 1]
        cells &= observed[max(last, first)] & ((taken < 0) | (taken == fold))
        cells &= cells.sum(axis=0) <= left
        # of a gap some cells may belong to another fold: then what is left is hidden, if its last cell is there
        cells &= cells[max(last, first) - first]
        if last < first + LEAST or not cells.any() or cells.all():
            continue
        row, column = np.nonzero(cells)
        owner[row + first, column] = fold
        left -= cells.sum(axis=0)
        stretches.append((series, first, end + 1))
        hidden.append(cells)
        folds.append(fold)
    if not stretches:
        return None
    return _scored(panel, owner >= 0, stretches, hidden, folds, memory)


def _scored(
    panel: Panel,
    owned: BoolArray,
    stretches: list[tuple[int, int, int]],
    hidden: list[BoolArray],
    folds: list[int],
    memory: int,
) -> Ends:
    """The stretches, filled up with empty rows in front, and the cells that count."""
    values = np.full((len(stretches), memory, panel.n_vars), np.nan)
    truth = np.full_like(values, np.nan)
    for k, ((_, first, stop), cells) in enumerate(zip(stretches, hidden, strict=True)):
        rows = panel.values[first:stop]
        values[k, memory - len(rows) :] = np.where(cells, np.nan, rows)
        truth[k, memory - len(rows) :] = np.where(cells, rows, np.nan)
    phase = [panel.phase[s] + stop - memory - panel.starts[s] for s, _, stop in stretches]
    copies = Panel.of(
        values.reshape(-1, panel.n_vars),
        panel.columns,
        starts=np.arange(len(stretches)) * memory,
        ids=[panel.ids[s] for s, _, _ in stretches],
        phase=np.array(phase),
    )
    gaps = Gaps.of(copies.observed, copies.starts)
    inside = gaps.row % memory
    open_end = open_gaps(gaps, copies.n_rows, memory)
    known = truth.reshape(-1, panel.n_vars)[gaps.row, gaps.column]
    # Of an open gap only its newest cell counts: the earlier ones are easier. Revisions reach back so far only.
    counts = ~np.isnan(known) & np.where(open_end, inside == memory - 1, inside >= memory - 1 - LAG)
    return Ends(
        panel=copies,
        memory=memory,
        hidden=owned,
        truth=known[counts],
        row=gaps.row[counts],
        column=gaps.column[counts],
        event=gaps.row[counts] // memory,
        fold=np.array(folds)[gaps.row[counts] // memory],
        code=end_class(gaps.length, open_end)[counts],
        distance=gaps.distance[counts],
    )


def last_rows(gaps: Gaps, n_rows: int, memory: int) -> IntArray:
    """Of each missing cell (cells,) the last row of its gap, counted in its stretch."""
    key = gaps.column * n_rows + gaps.row
    starts_run = np.diff(key, prepend=-2) != 1
    starts_run |= gaps.row % memory == 0
    if not len(key):
        return np.zeros(0, dtype=np.intp)
    run = np.cumsum(starts_run) - 1
    last = gaps.row[np.append(np.flatnonzero(starts_run)[1:] - 1, len(key) - 1)]
    counted: IntArray = last[run] % memory
    return counted


def open_gaps(gaps: Gaps, n_rows: int, memory: int) -> BoolArray:
    """Which missing cells (cells,) lie in a gap that reaches the end of its stretch."""
    return np.asarray(last_rows(gaps, n_rows, memory) == memory - 1, dtype=bool)


def silence(observed: BoolArray, starts: IntArray) -> IntArray:
    """For how many rows each cell's column has been silent, this one included; 0 where observed (rows, vars)."""
    rows = np.arange(len(observed))[:, None]
    first = np.zeros(len(observed), dtype=np.intp)
    first[starts[starts < len(observed)]] = starts[starts < len(observed)]
    first = np.maximum.accumulate(first)[:, None]
    seen = np.maximum.accumulate(np.where(observed, rows, -1), axis=0)
    silent: IntArray = np.where(observed, 0, rows - np.maximum(seen, first - 1))
    return silent


def _ages(silent: IntArray, gappy: IntArray, n_vars: int, rng: Generator) -> IntArray:
    """For how many rows each column (vars,) is silent at a rehearsed end; 0: it is not."""
    if rng.random() < COPIED * min(len(gappy) / ENOUGH, 1.0):
        copied: IntArray = np.minimum(silent[rng.choice(gappy)], 2 * LONGEST)
        return copied
    out = rng.random(n_vars) < CHANCE
    out[rng.integers(n_vars)] = True
    if n_vars > 1 and out.all():
        out[rng.integers(n_vars)] = False
    shared = rng.random() < 0.5
    drawn = np.exp(rng.random(1 if shared else n_vars) ** 1.5 * np.log(LONGEST))
    return np.where(out, np.floor(drawn), 0).astype(np.intp)
