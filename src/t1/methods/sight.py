"""What can be seen of a table from inside a column's gaps: the other columns, the season, the rows around."""

from typing import NamedTuple

import numpy as np

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.methods.memory import Memory
from t1.methods.seasons import season_beside
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
        first = np.flatnonzero(np.diff(rows, prepend=-2) > 1)  # of each gap
        size = np.diff(first, append=len(rows))
        before, after = np.repeat(rows[first] - 1, size), np.repeat(rows[first + size - 1] + 1, size)
        beside = np.unique(np.concatenate([before, after]))
        beside = beside[(beside >= 0) & (beside < len(hidden))]
        begins, ends = before < 0, after >= len(hidden)
        return cls(
            rows,
            beside,
            np.where(begins, FAR, rows - before),
            np.where(ends, FAR, after - rows),
            np.where(begins, len(beside), np.searchsorted(beside, before)),
            np.where(ends, len(beside), np.searchsorted(beside, after)),
        )

    def carried(self, memory: Memory, missed: FloatArray) -> FloatArray:
        """What is likely missed in the gaps, from what was `missed` beside them."""
        missed = np.append(missed, 0.0)
        return memory.carried(self.to_before, self.to_after, missed[self.before], missed[self.after])


class Sight:
    """Standardised columns (vars, time) with their gaps filled so far, first by straight lines over the season.

    32 bits are enough for what is learned from, and half the memory.
    """

    def __init__(
        self,
        values: FloatArray,
        columns: IntArray,
        centre: FloatArray,
        scale: FloatArray,
        cycle: FloatArray | None,
        phase: int,
    ) -> None:
        self.n_rows = len(values)
        self.hidden = np.empty((len(columns), len(values)), dtype=bool)
        self.fill = np.empty(self.hidden.shape, dtype=np.float32)
        self.cycle, self.phase = cycle, phase
        self.beside = np.empty(self.hidden.shape if cycle is not None else (0, 0), dtype=np.float32)
        for block in column_blocks((len(values), len(columns))):
            z = (values[:, columns[block]] - centre[block]) / scale[block]
            self.hidden[block] = np.isnan(z).T
            self.fill[block] = (linear(z) if cycle is None else over_season(z, cycle[:, block], phase)).T
            np.nan_to_num(self.fill[block], copy=False)  # nothing of it is known here: its mean
            if cycle is not None:
                self.beside[block] = _one_period_away(z, cycle[:, block], phase).T
        count = self.hidden.sum(axis=1)
        order = np.argsort(count, kind="stable")  # who knows most helps first
        self.gappy: list[int] = order[count[order] > 0].tolist()

    def look(self, j: int, helpers: IntArray, rows: IntArray | slice) -> Float32Array:
        """What may tell column j in some rows: (features, rows)."""
        at = np.arange(self.n_rows)[rows]
        near = helpers[:CLOSE, None]
        parts = [
            self.fill[helpers[:, None], at],
            self.fill[near, np.maximum(at - 1, 0)],
            self.fill[near, np.minimum(at + 1, self.n_rows - 1)],
        ]
        if self.cycle is not None:
            phase = (self.phase + at) % len(self.cycle)
            parts += [self.cycle[phase, j].astype(np.float32)[None], self.beside[j, at][None]]
        return np.concatenate(parts)


def _one_period_away(z: FloatArray, cycle: FloatArray, phase: int) -> FloatArray:
    """The mean of the nearest observations of the same phase (time, vars), of the mean cycle where there is none."""
    seen = np.isfinite(z)
    known = np.where(seen, z, 0).astype(np.float32)
    before, before_weight, after, after_weight = season_beside(known, seen, len(cycle))
    weight = before_weight + after_weight
    usual = cycle[(phase + np.arange(len(z))) % len(cycle)]
    mean = (before * before_weight + after * after_weight) / np.maximum(weight, 1e-9)
    away: FloatArray = np.where(weight > 0, mean, usual)
    return away
