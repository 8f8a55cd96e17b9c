"""One regression of series that share a clock, side by side: a station is told by its neighbours of the same hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.methods.base import Fill, Learning, Pace
from t1.methods.regression import RegressionFill, learn_regression, one_thread
from t1.methods.together import usual_period
from t1.panel import Panel

FEWEST_ROWS = 60  # of the clock: of fewer, series side by side tell each other by chance
MOST_CELLS = 1_000_000  # of the table with all series side by side
FULL = 0.6  # the share of its rows that a series has on average: else series are of different times


@dataclass(frozen=True, eq=False)
class BesideFill(RegressionFill):
    """A regression of the table that has every column of every series as a column of its own."""

    name: ClassVar[str] = "beside"
    ids: tuple[Any, ...]  # of the series, in their order side by side
    first: int  # row of the clock, that of the first row of
    table: FloatArray  # (time, series, vars): what was known when it was learned from
    step: int  # nanoseconds from row to row of the clock, where rows have times

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Learn from all series of the panel, one beside the other."""
        step, ids = _step(panel), tuple(dict.fromkeys(panel.ids))
        clock = _clock(panel, step)
        table = np.full((int(np.ptp(clock)) + 1, len(ids), panel.n_vars), np.nan)
        for key, span in zip(panel.ids, panel.spans, strict=True):
            table[clock[span] - clock.min(), ids.index(key)] = panel.values[span]
        period = usual_period(learning.periods)
        pace = Pace(learning, cls.name, times=3)
        with one_thread(table[0].size):
            found = learn_regression(_wide(table), period, every=learning.every, on_share=pace)
        return cls({None: found}, ids, int(clock.min()), table, step)

    def fill(self, panel: Panel, since: IntArray | None = None) -> Fill:
        """A series that was not learned from has no answer."""
        out = np.full(panel.values.shape, np.nan)
        with one_thread(self.table[0].size):
            for beside in self._side_by_side(panel):
                filled = _wide(beside.table).copy()
                for j, column in self.by_id[None].fill(_wide(beside.table), beside.phase):
                    filled[:, j] = column
                beside.give_back(filled, out)
        return Fill(out)

    def told(self, panel: Panel) -> FloatArray:
        """What the other columns of all series and the season say of every cell; NaN in unknown series."""
        out = np.full(panel.values.shape, np.nan)
        with one_thread(self.table[0].size):
            for beside in self._side_by_side(panel):
                beside.give_back(self.by_id[None].told(_wide(beside.table), beside.phase), out)
        return out

    def _side_by_side(self, panel: Panel) -> Iterator[_Beside]:
        """The series of a panel beside what is known of the others; copies of a stretch in tables of their own."""
        clock = _clock(panel, self.step)
        at = {key: k for k, key in enumerate(self.ids)}
        waiting = [(span, at[key]) for key, span in zip(panel.ids, panel.spans, strict=True) if key in at]
        while waiting:
            here = np.concatenate([clock[span] for span, _ in waiting])
            begin, end = int(here.min()), int(here.max()) + 1
            table = np.full((end - begin, *self.table.shape[1:]), np.nan)
            shared = slice(max(begin, self.first), min(end, self.first + len(self.table)))
            if shared.start < shared.stop:
                known = self.table[shared.start - self.first : shared.stop - self.first]
                table[shared.start - begin : shared.stop - begin] = known
            taken = np.zeros(table.shape[:2], dtype=bool)
            placed: list[tuple[slice, IntArray, int]] = []
            later = []
            for span, k in waiting:
                rows = clock[span] - begin
                if taken[rows, k].any():
                    later.append((span, k))
                    continue
                taken[rows, k] = True
                table[rows, k] = panel.values[span]
                placed.append((span, rows, k))
            yield _Beside(table, begin - self.first, placed)
            waiting = later


class _Beside(NamedTuple):
    """Series side by side, and where each row of a panel stands among them."""

    table: FloatArray  # (time, series, vars)
    phase: int  # rows of the clock after the first that was learned from
    placed: list[tuple[slice, IntArray, int]]

    def give_back(self, wide: FloatArray, out: FloatArray) -> None:
        """Write a table of this kind to where the rows of the panel stand."""
        filled = wide.reshape(self.table.shape)
        for span, rows, k in self.placed:
            out[span] = filled[rows, k]


def stand_side_by_side(panel: Panel) -> bool:
    """Whether a panel has several series, at the same times."""
    n_series = len(set(panel.ids))
    if n_series < 2 or len(panel.ids) > n_series:
        return False
    sizes = np.diff([*panel.starts.tolist(), panel.n_rows])
    if panel.times is None and (sizes != sizes[0]).any():
        return False  # the tenth row of one need not be of the time of another one's
    n_rows = int(np.ptp(_clock(panel, _step(panel)))) + 1
    few = n_rows * n_series * panel.n_vars <= MOST_CELLS
    return few and n_rows >= FEWEST_ROWS and panel.n_rows >= FULL * n_rows * n_series


def _step(panel: Panel) -> int:
    """Nanoseconds from row to row, 1 where rows have no times."""
    if panel.times is None:
        return 1
    steps = np.diff(panel.times.astype("M8[ns]").astype("i8"))
    inside = np.ones(len(steps), dtype=bool)
    inside[panel.starts[1:] - 1] = False
    steps = steps[inside & (steps > 0)]
    return int(np.median(steps)) if len(steps) else 1


def _clock(panel: Panel, step: int) -> IntArray:
    """The row of a common clock for every row of the panel."""
    if panel.times is not None:
        clock: IntArray = np.rint(panel.times.astype("M8[ns]").astype("i8") / step).astype(np.intp)
        return clock
    rows = [
        phase + np.arange(s.stop - s.start)
        for s, phase in zip(panel.spans, panel.phase.tolist(), strict=True)
    ]
    return np.concatenate(rows)


def _wide(table: FloatArray) -> FloatArray:
    return table.reshape(len(table), -1)
