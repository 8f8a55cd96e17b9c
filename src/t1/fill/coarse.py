"""Gaps longer than the network sees: fill a coarser table first, then refine between its values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t1.arrays import FloatArray
from t1.data.blocks import column_blocks
from t1.fill.gaps import find_runs, gap_lengths
from t1.imputer import T1Imputer

SHORTEST = 24  # rows that a coarser table must have, to be worth a network


@dataclass(frozen=True)
class Coarse:
    """A network for the table averaged over `step` rows, used in gaps longer than `longest`."""

    imputer: T1Imputer
    step: int
    longest: int

    def supported(self, series: FloatArray) -> FloatArray:
        """The series (time, vars) with a coarse value in the middle of every block of a long gap."""
        length = gap_lengths(~np.isnan(series))
        far = length > self.longest
        if not far.any():
            return series
        (filled,) = self.imputer.fill_series([block_means(series, self.step)])
        middle = np.minimum(np.arange(len(filled)) * self.step + self.step // 2, len(series) - 1)
        out = series.copy()
        out[middle] = np.where(far[middle], filled, series[middle])
        return out


def coarse_step(series: Sequence[FloatArray], window: int) -> int | None:
    """How many rows to average so that the longest gap fits half a window; None: it does already.

    Columns with nothing observed are no gap of a series, they are filled from the others.
    """
    longest = 0
    for values in series:
        observed = ~np.isnan(values)
        alive = np.any(observed, axis=0)
        runs = find_runs(observed)
        length = (runs.stop - runs.start)[alive[runs.column]]
        longest = max(longest, int(length.max(initial=0)))
    step = -(-longest // (window // 2))
    step = min(step, max(len(values) for values in series) // SHORTEST)
    return step if step > 1 and longest > window // 2 else None


def block_means(values: FloatArray, step: int) -> FloatArray:
    """Means of the observed cells of every `step` rows, (blocks, vars); NaN where there is none."""
    means = np.empty((-(-len(values) // step), values.shape[1]))
    for block in column_blocks(values.shape):
        padded = np.pad(values[:, block], ((0, -len(values) % step), (0, 0)), constant_values=np.nan)
        blocks = padded.reshape(len(means), step, -1)
        count = (~np.isnan(blocks)).sum(axis=1)
        means[:, block] = np.nansum(blocks, axis=1) / np.where(count > 0, count, np.nan)
    return means
