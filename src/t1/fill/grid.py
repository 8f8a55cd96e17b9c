"""A table on the regular grid of its time stamps, absent ones counted as gaps, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import FloatArray, IntArray
from t1.data.timeline import Timeline
from t1.fill.filled import Filled


@dataclass(frozen=True)
class Absent:
    """What was filled in at time stamps that the table lacks."""

    times: npt.NDArray[Any]
    ids: npt.NDArray[Any] | None
    values: FloatArray
    lo: FloatArray | None
    hi: FloatArray | None


@dataclass(frozen=True)
class Grid:
    """The rows of all series on their regular grids, one series after the other."""

    values: FloatArray
    series: list[IntArray]
    times: npt.NDArray[Any] | None
    at: IntArray  # where each row of the table is on the grid
    ids: npt.NDArray[Any] | None

    @classmethod
    def of(cls, values: FloatArray, timeline: Timeline) -> Grid:
        placements = [p for p in timeline.with_missing_rows() if p is not None and p.one_row_each]
        as_they_are = cls(values, timeline.series, timeline.times, np.arange(len(values)), timeline.ids)
        if len(placements) < len(timeline.series):  # no grid, or two rows at one time stamp
            return as_they_are
        at = np.empty(len(values), dtype=np.intp)
        begin = np.cumsum([0, *(p.length for p in placements)])
        for p, first in zip(placements, begin, strict=False):
            at[p.rows] = first + p.positions
        if begin[-1] == len(values) and (np.diff(at) == 1).all():  # nothing is absent, all is in order
            return as_they_are
        grid = np.full((begin[-1], values.shape[1]), np.nan)
        grid[at] = values
        ids = None
        if timeline.ids is not None:
            ids = np.repeat(np.array(timeline.names, dtype=object), [p.length for p in placements])
        return cls(
            values=grid,
            series=[np.arange(a, b) for a, b in pairwise(begin)],
            times=np.concatenate([p.times for p in placements]),
            at=at,
            ids=ids,
        )

    def back(self, filled: Filled) -> Filled:
        """The fill in the rows of the table."""
        in_order = len(self.at) == len(self.values) and (np.diff(self.at) == 1).all()
        return filled if in_order else filled.rows(self.at)

    def absent(self, filled: Filled) -> Absent | None:
        """The fill at time stamps that no row of the table has."""
        free = np.ones(len(self.values), dtype=bool)
        free[self.at] = False
        if self.times is None or not free.any():
            return None
        part = filled.rows(np.flatnonzero(free))
        return Absent(
            self.times[free], None if self.ids is None else self.ids[free], part.values, part.lo, part.hi
        )
