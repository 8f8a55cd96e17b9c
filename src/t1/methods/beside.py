"""One regression of series that share a clock, side by side: a station is told by its neighbours of the same hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.methods.base import Fill, Learning, LeftOut, Pace
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

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Learn from all series of the panel, one beside the other."""
        clock, at = _clock(panel), {key: k for k, key in enumerate(dict.fromkeys(panel.ids))}
        n_rows = int(np.ptp(clock)) + 1
        if n_rows > panel.n_rows and n_rows * len(at) * panel.n_vars > MOST_CELLS:
            raise LeftOut(f"{cls.name} was left out: the series are of different times")
        table = np.full((n_rows, len(at), panel.n_vars), np.nan)
        for key, span in zip(panel.ids, panel.spans, strict=True):
            table[clock[span] - clock.min(), at[key]] = panel.values[span]
        period = usual_period(learning.periods)
        pace = Pace(learning, cls.name, times=3)
        with one_thread(table[0].size):
            found = learn_regression(_wide(table), period, every=learning.every, on_share=pace)
        return cls({None: found}, tuple(at), int(clock.min()), table)

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
        clock = _clock(panel)
        most = max(
            MOST_CELLS // self.table[0].size, len(self.table)
        )  # rows of a table, unless one series has more
        at = {key: k for k, key in enumerate(self.ids)}
        waiting = [(span, at[key]) for key, span in zip(panel.ids, panel.spans, strict=True) if key in at]
        waiting = sorted((w for w in waiting if w[0].stop > w[0].start), key=lambda w: int(clock[w[0].start]))
        while waiting:
            begin, end = int(clock[waiting[0][0].start]), int(clock[waiting[0][0].stop - 1]) + 1
            end = max(
                [end, *(e for span, _ in waiting if (e := int(clock[span.stop - 1]) + 1) <= begin + most)]
            )
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
                if rows[-1] >= len(table) or taken[rows, k].any():
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
    sizes, clock = np.diff([*panel.starts.tolist(), panel.n_rows]), _clock(panel)
    if panel.times is None:
        same = bool(
            (sizes == sizes[0]).all()
        )  # else the tenth row of one need not be of the time of another one's
    else:  # one time stamp for each row of the clock
        first, row = np.unique(clock, return_index=True, return_inverse=True)[1:]
        same = bool((panel.times == panel.times[first][row]).all())
    n_rows = int(np.ptp(clock)) + 1 if len(clock) else 0
    few = n_rows * n_series * panel.n_vars <= MOST_CELLS
    return same and few and n_rows >= FEWEST_ROWS and panel.n_rows >= FULL * n_rows * n_series


def _clock(panel: Panel) -> IntArray:
    """The row of the clock that the series share, for every row of the panel."""
    sizes = np.diff([*panel.starts.tolist(), panel.n_rows])
    clock: IntArray = np.repeat(panel.phase - panel.starts, sizes) + np.arange(panel.n_rows)
    return clock


def _wide(table: FloatArray) -> FloatArray:
    return table.reshape(len(table), -1)
