"""One series as it arrives: the rows that are remembered, on a regular clock."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from t1.arrays import FloatArray
from t1.live.adapt import Lean, Widths

CONFIRMED = 3  # rows in a row that agree on another time, before the clock is taken to have jumped


@dataclass(kw_only=True)
class Track:
    """The last rows (memory, vars), NaN where missing; row `end` of the clock is the last of them."""

    values: FloatArray
    widths: Widths  # of intervals, as the rows so far have them
    lean: Lean  # of fills, likewise
    shown: FloatArray  # (lag + 1, vars): the fills that were last given out, NaN where there was none
    fills: FloatArray  # (lag + 1, 3, vars): the last rows as they were last filled, and the ends of intervals
    filled_at: int | None = None  # the last row when that was
    step: int | None = None  # nanoseconds between rows; None: rows are counted
    end: int | None = None
    anchor: int | None = None  # the time of row `anchor_row`, in nanoseconds
    anchor_row: int = 0
    strays: list[tuple[int, FloatArray]] = field(
        default_factory=list
    )  # rows of another time, not yet believed
    dropped: int = 0  # rows that came too late, or whose time made no sense
    repeated: int = 0  # rows of a time that was there already
    jumps: int = 0  # times that the clock was taken to have jumped

    @classmethod
    def empty(cls, memory: int, lag: int, n_vars: int, n_leaders: int, step: int | None = None) -> Track:
        """A series of which no row has come yet."""
        return cls(
            values=np.full((memory, n_vars), np.nan),
            shown=np.full((lag + 1, n_vars), np.nan),
            fills=np.full((lag + 1, 3, n_vars), np.nan),
            widths=Widths.of_the_fit(n_vars),
            lean=Lean.of_the_fit(n_vars, n_leaders),
            step=step,
        )

    @property
    def memory(self) -> int:
        return len(self.values)

    @property
    def lag(self) -> int:
        return len(self.shown) - 1

    def row_of(self, time: int | None) -> int:
        """Where a time lies on the clock; the nearest row, as loggers are not exact. None: the next row."""
        if time is None or self.step is None:
            return 0 if self.end is None else self.end + 1
        if self.anchor is None:
            self.anchor, self.anchor_row = time, time // self.step
        return self.anchor_row + round((time - self.anchor) / self.step)

    def time_of(self, row: int) -> int | None:
        """The time of a row in nanoseconds, None where rows are only counted."""
        if self.step is None or self.anchor is None:
            return None
        return self.anchor + (row - self.anchor_row) * self.step

    def put(self, row: int, values: FloatArray) -> list[int]:
        """Take a row in; the rows that are new or have new values, none where it was set aside or dropped."""
        if self.end is None:
            self.end = row
            self.values[-1] = values
            return [row]
        ahead = row - self.end
        if -self.lag <= ahead <= self.memory:
            self.dropped += len(self.strays)
            self.strays.clear()
            return self._fitting(row, ahead, values)
        if self.strays and not 0 < row - self.strays[-1][0] <= self.memory:
            self.dropped += len(self.strays)
            self.strays.clear()
        self.strays.append((row, values))
        return self._jump() if len(self.strays) >= CONFIRMED else []

    def _fitting(self, row: int, ahead: int, values: FloatArray) -> list[int]:
        """A row of the remembered times, or soon after them: absent rows in between are empty."""
        if ahead > 0:
            for array in (self.values, self.shown, self.fills):
                length = len(array)
                step = min(ahead, length)
                array[: length - step] = array[step:].copy()
                array[length - step :] = np.nan
            first = (self.end or 0) + 1
            self.end = row
            self.values[-1] = values
            return list(range(max(first, row - self.lag), row + 1))
        here = self.values[self.memory - 1 + ahead]
        known = ~np.isnan(here)
        self.repeated += bool(known.any())
        here[~known] = values[~known]  # of two rows with one time the first is kept
        return [row]

    def _jump(self) -> list[int]:
        """Rows that agree on another time are believed: everything before them is forgotten."""
        self.jumps += 1
        strays, self.strays = self.strays, []
        self.values[:] = np.nan
        self.shown[:] = np.nan
        self.fills[:] = np.nan
        self.end = self.filled_at = None
        rows: list[int] = []
        for row, values in strays:
            rows += self.put(row, values)
        return rows
