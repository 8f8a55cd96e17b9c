"""Which rows of a long series are drawn: extremes everywhere, everything near gaps where it fits."""

import numpy as np

from t1.arrays import BoolArray, FloatArray, IntArray

LARGEST = 1e300  # beyond it an axis would overflow
THINNED = 6_000  # rows of a thinned series: fills in many short stretches are slow to draw
NEAR = (96, 48, 24, 12, 6, 3, 1)  # rows around a gap kept in full, the most that fits


def drawable(values: FloatArray) -> BoolArray:
    """Where a value can be put on an axis."""
    with np.errstate(invalid="ignore"):
        inside: BoolArray = np.abs(values) < LARGEST
    return inside


def thin(values: FloatArray, filled: BoolArray, limit: int) -> tuple[IntArray, int]:
    """At most about `limit` rows of a column (time,), and how many rows one drawn row may stand for.

    0 rows: nothing was left out. Else each bin keeps the least and the greatest observed and filled value,
    fills with their neighbours; what is left of `limit` goes to the surroundings of the gaps, or at least to
    the longest gaps.
    """
    can = drawable(values)
    if np.count_nonzero(can) <= limit:
        return np.flatnonzero(can), 0
    limit = min(limit, THINNED)
    step = -(-len(values) // max(limit // 10, 1))  # a bin keeps 8 rows at most
    keep = np.zeros(len(values), dtype=bool)
    keep[_extremes(values, can & ~filled, step)] = True
    fills = _extremes(values, can & filled, step)
    around = np.concatenate([fills - 1, fills, fills + 1])  # a fill is drawn from neighbour to neighbour
    keep[around[(around >= 0) & (around < len(values))]] = True
    keep &= can
    distance = _distance(filled)
    for near in NEAR:
        more = keep | (can & (distance <= near))
        if np.count_nonzero(more) <= limit:
            return np.flatnonzero(more), step
    edges = np.diff(np.concatenate([[False], filled, [False]]).astype(np.int8))
    start, stop = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    room = max(limit - int(np.count_nonzero(keep)), 0)
    longest = np.argsort(start - stop, kind="stable")[: room // 4]
    start, stop = start[longest], stop[longest]
    ends = np.concatenate([start - 1, start, stop - 1, stop])
    keep[ends[(ends >= 0) & (ends < len(values))]] = True
    return np.flatnonzero(keep & can), step


def _extremes(values: FloatArray, mask: BoolArray, step: int) -> IntArray:
    """Rows of the least and the greatest masked value in each bin of `step` rows."""
    bins = -(-len(values) // step)
    rows = []
    for sign in (1.0, -1.0):
        padded = np.full(bins * step, np.inf)
        padded[: len(values)] = np.where(mask, sign * values, np.inf)
        table = padded.reshape(bins, step)
        best = table.argmin(axis=1)
        known = np.isfinite(table[np.arange(bins), best])
        rows.append((np.arange(bins) * step + best)[known])
    return np.concatenate(rows)


def _distance(filled: BoolArray) -> IntArray:
    """Rows to the nearest filled cell."""
    n, row = len(filled), np.arange(len(filled))
    before = np.maximum.accumulate(np.where(filled, row, -n))
    after = np.minimum.accumulate(np.where(filled, row, 2 * n)[::-1])[::-1]
    return np.minimum(row - before, after - row)
