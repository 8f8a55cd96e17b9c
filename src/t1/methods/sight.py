"""What can be seen of a table from inside a column's gaps: the other columns, the season, the rows around."""

from typing import NamedTuple

import numpy as np

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.data.scale import Scaler
from t1.methods.memory import Memory
from t1.methods.seasons import mean_beside
from t1.methods.simple import linear, over_season

CLOSE = 6  # of the columns that tell another: these also by the rows before and after
FAR = 1 << 40  # rows away: nothing is known there


class Around(NamedTuple):
    """The cells of a column's gaps, and the observed rows beside these."""

    rows: IntArray
    beside: IntArray
    to_before: IntArray  # of each cell, how many rows away the last observation is; FAR if there is none
    to_after: IntArray
    before: IntArray  # the position of that observation in `beside`, one after the last if there is none
    after: IntArray

    @classmethod
    def of(cls, hidden: BoolArray) -> "Around":
        rows = np.flatnonzero(hidden)
        padded = np.zeros(len(hidden) + 2, dtype=bool)
        padded[1:-1] = hidden
        # the rows beside each gap, (gaps, 2): where it begins or ends, in turns
        ends = np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2)
        ends[:, 0] -= 1
        size = ends[:, 1] - ends[:, 0] - 1
        beside = ends[(ends >= 0) & (ends < len(hidden))]
        new = np.diff(beside, prepend=-1) > 0  # the row after a gap may be the one before the next
        beside = beside[new]
        at = np.searchsorted(beside, ends)
        at[ends < 0] = len(beside)
        before, after = np.repeat(ends, size, axis=0).T
        return cls(
            rows,
            beside,
            np.where(before < 0, FAR, rows - before),
            np.where(after >= len(hidden), FAR, after - rows),
            *np.repeat(at, size, axis=0).T,
        )

    def carried(self, memory: Memory, missed: FloatArray) -> FloatArray:
        """What is likely missed in the gaps, from what was `missed` beside them."""
        missed = np.append(missed, 0.0)
        return memory.carried(self.to_before, self.to_after, missed[self.before], missed[self.after])


class Features(NamedTuple):
    """What may tell a column in some rows."""

    places: IntArray  # (features, rows), of cells of the other columns
    season: Float32Array  # (0 or 2, rows)


class Sight:
    """Standardised columns (vars, time) with their gaps filled so far, first by straight lines over the season.

    Rows before `first` only tell the season of the others. 32 bits are enough for what is learned from, and half
    the memory.
    """

    def __init__(
        self,
        values: FloatArray,
        columns: IntArray,
        scaler: Scaler,
        cycle: FloatArray | None,
        phase: int,
        first: int = 0,
    ) -> None:
        self.n_rows = len(values) - first
        self.hidden = np.empty((len(columns), self.n_rows), dtype=bool)
        self.fill = np.empty(self.hidden.shape, dtype=np.float32)
        self.cycle, self.phase = cycle, phase + first
        self.beside = np.empty(self.hidden.shape if cycle is not None else (0, 0), dtype=np.float32)
        for block in column_blocks((len(values), len(columns))):
            z = scaler.of(block).scale(values[:, columns[block]])
            own = z[first:]
            self.hidden[block] = np.isnan(own).T
            lines = linear(own) if cycle is None else over_season(own, cycle[:, block], self.phase)
            self.fill[block] = lines.T
            np.nan_to_num(self.fill[block], copy=False)  # nothing of it is known here: its mean
            if cycle is not None:
                self.beside[block] = _one_period_away(z, cycle[:, block], phase, first).T

    def look(self, j: int, helpers: IntArray, rows: IntArray | slice) -> Float32Array:
        """What may tell column j in some rows: (features, rows)."""
        return self.seen(self.view(j, helpers, rows))

    def view(self, j: int, helpers: IntArray, rows: IntArray | slice) -> Features:
        """Where to look for what may tell column j in some rows, however gaps are filled meanwhile."""
        at = np.arange(self.n_rows)[rows]
        near = helpers[:CLOSE, None] * self.n_rows
        places = [
            helpers[:, None] * self.n_rows + at,
            near + np.maximum(at - 1, 0),
            near + np.minimum(at + 1, self.n_rows - 1),
        ]
        season = np.empty((0, len(at)), dtype=np.float32)
        if self.cycle is not None:
            phase = (self.phase + at) % len(self.cycle)
            season = np.stack([self.cycle[phase, j].astype(np.float32), self.beside[j, at]])
        return Features(np.concatenate(places), season)

    def seen(self, view: Features) -> Float32Array:
        """What is seen there now: (features, rows)."""
        return np.concatenate([self.fill.take(view.places), view.season])


def _one_period_away(z: FloatArray, cycle: FloatArray, phase: int, first: int) -> FloatArray:
    """The mean of the nearest observations of the same phase, of the mean cycle where there is none.

    Of the rows from `first` on (time, vars).
    """
    seen = np.isfinite(z)
    known = np.where(seen, z, 0).astype(np.float32)
    mean, weight = mean_beside(known, seen, len(cycle), first)
    usual = cycle[(phase + np.arange(first, len(z))) % len(cycle)]
    away: FloatArray = np.where(weight > 0, mean, usual)
    return away
