"""A panel: one or many series with the same columns, stacked; what every floor speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from t1.arrays import BoolArray, FloatArray, IntArray, TimeArray
from t1.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """Numbers (rows, vars), NaN where missing; each series in time order, one after the other.

    >>> panel = Panel.of([[1.0, 2.0], [float("nan"), 3.0]])
    >>> panel.columns, panel.observed.tolist()
    (('x0', 'x1'), [[True, True], [False, True]])
    """

    values: FloatArray
    columns: tuple[str, ...]
    starts: IntArray  # the first row of each series
    ids: tuple[Any, ...] = (None,)  # the name of each series
    phase: IntArray  # where the first row of each series stands on the series' own clock, in rows
    times: TimeArray | None = None  # (rows,)
    absent: BoolArray | None = None  # (rows,): rows that the table does not have, whose fill nobody asks for

    @classmethod
    def of(
        cls,
        values: Any,
        columns: Sequence[str] | None = None,
        *,
        starts: Sequence[int] | IntArray = (0,),
        ids: Sequence[Any] | None = None,
        phase: Sequence[int] | IntArray | None = None,
        times: TimeArray | None = None,
        absent: BoolArray | None = None,
    ) -> Panel:
        """A panel of checked parts; columns without a name are x0, x1, ..."""
        table = np.asarray(values, dtype=np.float64)
        if table.ndim != 2 or (columns is not None and table.shape[1] != len(columns)):
            raise InputError(
                f"expected values (rows, columns) with one name per column, got shape {table.shape} and "
                f"{'no' if columns is None else len(columns)} names",
                cure="Use x.reshape(-1, 1) for a single series.",
            )
        first = np.asarray(starts, dtype=np.intp)
        if len(first) == 0 or first[0] != 0 or (np.diff(first) < 0).any() or first[-1] > len(table):
            raise InputError(f"series must start at rising rows from 0 on, got {first.tolist()[:10]}")
        return cls(
            values=table,
            columns=tuple(columns) if columns is not None else tuple(f"x{j}" for j in range(table.shape[1])),
            starts=first,
            ids=tuple(ids) if ids is not None else tuple(range(len(first))) if len(first) > 1 else (None,),
            phase=np.zeros(len(first), dtype=np.intp) if phase is None else np.asarray(phase, dtype=np.intp),
            times=times,
            absent=absent,
        )

    @classmethod
    def stack(cls, panels: Sequence[Panel]) -> Panel:
        """Panels of the same columns as one: the series of each after those of the one before."""
        sizes = np.array([panel.n_rows for panel in panels])
        begin = np.cumsum(sizes) - sizes
        times = [panel.times for panel in panels if panel.times is not None]
        absent = None
        if any(panel.absent is not None for panel in panels):
            absent = np.concatenate(
                [np.zeros(p.n_rows, dtype=bool) if p.absent is None else p.absent for p in panels]
            )
        return cls.of(
            np.concatenate([panel.values for panel in panels]),
            panels[0].columns,
            starts=np.concatenate([panel.starts + at for panel, at in zip(panels, begin, strict=True)]),
            ids=[key for panel in panels for key in panel.ids],
            phase=np.concatenate([panel.phase for panel in panels]),
            times=np.concatenate(times) if len(times) == len(panels) else None,
            absent=absent,
        )

    @cached_property
    def observed(self) -> BoolArray:
        """True where a value is known (rows, vars)."""
        return ~np.isnan(self.values)

    @cached_property
    def known(self) -> BoolArray:
        """The columns of which anything is observed (vars,)."""
        known: BoolArray = np.any(self.observed, axis=0)
        return known

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to fill: no cell is missing that any row of the table could show."""
        rows = slice(None) if self.absent is None else ~self.absent
        return bool(self.observed[rows][:, self.known].all())

    @property
    def n_rows(self) -> int:
        return len(self.values)

    @property
    def n_vars(self) -> int:
        return int(self.values.shape[1])

    @property
    def spans(self) -> list[slice]:
        """The rows of each series."""
        return [slice(a, b) for a, b in pairwise([*self.starts.tolist(), self.n_rows])]

    @property
    def sizes(self) -> IntArray:
        """How many rows each series has (series,)."""
        return np.diff(np.append(self.starts, self.n_rows))

    def series(self) -> Iterator[FloatArray]:
        """The numbers of each series (time, vars): views."""
        return (self.values[span] for span in self.spans)

    def with_values(self, values: FloatArray) -> Panel:
        """The same rows with other numbers."""
        return replace(self, values=values)

    def take(self, stretches: Sequence[tuple[int, int, int]]) -> Panel:
        """Some stretches, each (series, first row, row after the last), as series of their own."""
        rows = [np.arange(a, b) for _, a, b in stretches]
        every = np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp)
        sizes = np.array([len(r) for r in rows], dtype=np.intp)
        return Panel(
            values=self.values[every],
            columns=self.columns,
            starts=np.cumsum(sizes) - sizes,
            ids=tuple(self.ids[s] for s, _, _ in stretches),
            phase=np.array([self.phase[s] + a - self.starts[s] for s, a, _ in stretches], dtype=np.intp),
            times=None if self.times is None else self.times[every],
            absent=None if self.absent is None else self.absent[every],
        )

    def select(self, columns: IntArray) -> Panel:
        """Some of the columns."""
        return replace(
            self, values=self.values[:, columns], columns=tuple(self.columns[j] for j in columns.tolist())
        )
