"""The rows of a table on the regular clock of their time stamps, as a panel, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray, TimeArray
from t1.data.timeline import Timeline
from t1.panel import Panel


@dataclass(frozen=True, eq=False)
class Placed:
    """A panel in which absent time stamps are empty rows, and where each row of the table stands in it.

    Rows of one series that share a time stamp share a row of the panel: the first one's values, and of the
    others what the first lacks.
    """

    panel: Panel
    at: IntArray  # (rows of the table,)
    values: FloatArray  # (rows of the table, vars): what the table itself has
    timeline: Timeline

    @classmethod
    def of(
        cls,
        values: FloatArray,
        columns: Sequence[str],
        time: TimeArray | None = None,
        ids: AnyArray | None = None,
        *,
        add_rows: bool = False,
    ) -> Placed:
        """Place the rows of a table (rows, vars); with `add_rows` absent ones are to be filled as well."""
        timeline = Timeline(len(values), time, ids)
        observed = ~np.isnan(values)
        at = np.empty(len(values), dtype=np.intp)
        starts, times, names, phase, begin = [], [], [], [], 0
        placements = timeline.with_missing_rows()
        clocks = timeline.grids
        for rows, placed, clock, name in zip(
            timeline.series, placements, clocks, timeline.names, strict=True
        ):
            positions = np.arange(len(rows)) if placed is None else placed.positions
            length = len(rows) if placed is None else placed.length
            at[rows if placed is None else placed.rows] = begin + positions
            starts.append(begin)
            names.append(_plain(name))
            phase.append(0 if clock is None else clock.phase)
            if timeline.times is not None:
                times.append(timeline.times[rows] if placed is None else placed.times)
            begin += length
        table = values
        if begin != len(values) or not (np.diff(at) == 1).all():
            table = np.full((begin, values.shape[1]), np.nan)
            twice = len(np.unique(at)) < len(at)
            # From the last row to the first: of rows with the same time stamp the first one's value is kept.
            for j in range(values.shape[1] if twice else 0):
                seen = np.flatnonzero(observed[:, j])[::-1]
                table[at[seen], j] = values[seen, j]
            if not twice:
                table[at] = values
        absent = np.ones(begin, dtype=bool)
        absent[at] = False
        panel = Panel.of(
            table,
            columns,
            starts=starts or [0],
            ids=names or None,
            phase=phase or None,
            times=np.concatenate(times) if times else None,
            absent=absent if absent.any() and not add_rows else None,
        )
        return cls(panel, at, values, timeline)

    @property
    def observed(self) -> BoolArray:
        """What the table itself has (rows of the table, vars)."""
        return ~np.isnan(self.values)

    @property
    def as_they_are(self) -> bool:
        """Whether the rows of the panel are those of the table."""
        return len(self.at) == self.panel.n_rows and bool((np.diff(self.at) == 1).all())

    @property
    def absent(self) -> IntArray:
        """The rows of the panel that no row of the table has."""
        free = np.ones(self.panel.n_rows, dtype=bool)
        free[self.at] = False
        return np.flatnonzero(free)

    def ids_of(self, rows: IntArray) -> AnyArray:
        """The id of the series that each of some rows of the panel belongs to."""
        series = np.searchsorted(self.panel.starts, rows, side="right") - 1
        ids: AnyArray = np.empty(len(rows), dtype=object)
        ids[:] = [self.panel.ids[s] for s in series.tolist()]
        return ids


def _plain(name: Any) -> Any:
    """The id of a series as a value that can be kept: rows without an id are the series None."""
    if name is None or name is pd.NA or name is pd.NaT or name != name:
        return None
    name = name.item() if isinstance(name, np.generic) else name
    return name if isinstance(name, bool | int | float | str) else str(name)
