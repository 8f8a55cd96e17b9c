"""When the rows are: their order, their usual step, and which time stamps are absent, per series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.arrays import AnyArray, IntArray, TimeArray
from t1.data.time_format import TimeFormat
from t1.errors import InputError

MOST_ADDED = 20  # times as many absent rows as rows: a step that leaves more out was found wrongly


@dataclass(frozen=True)
class Clock:
    """A regular series: time stamp k is `start + k * step`, in months if the calendar rules, else in ns."""

    start: np.datetime64
    step: int
    months: bool = False
    from_end: bool = False  # months count back from their last day

    @property
    def phase(self) -> int:
        """How many steps lie between 1970 and the start: tables of one clock agree on it."""
        unit = "M8[M]" if self.months else "M8[ns]"
        return int(self.start.astype(unit).astype("i8")) // self.step

    def times(self, k: IntArray) -> TimeArray:
        """The time stamps at some positions."""
        if not self.months:
            return np.asarray(self.start.astype("M8[ns]").astype("i8") + k * self.step).astype("M8[ns]")
        month = self.start.astype("M8[M]") + k * self.step
        if self.from_end:
            month, base = month + 1, self.start.astype("M8[M]") + 1
        else:
            base = self.start.astype("M8[M]")
        return np.asarray(month.astype("M8[ns]") + (self.start.astype("M8[ns]") - base.astype("M8[ns]")))


@dataclass(frozen=True, eq=False)
class Placement:
    """One series on its full regular grid."""

    rows: IntArray  # (rows of the series,) in time order
    positions: IntArray  # (rows of the series,) where each is on the grid
    length: int  # of the grid
    times: TimeArray  # (length,)

    @property
    def absent(self) -> IntArray:
        """The grid positions that no row has."""
        free = np.ones(self.length, dtype=bool)
        free[self.positions] = False
        return np.flatnonzero(free)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The time stamps of a table's rows, or just their order when there are none."""

    n_rows: int
    times: TimeArray | None = None  # (rows,)
    ids: AnyArray | None = None  # (rows,)

    def __post_init__(self) -> None:
        for what, given in (("times", self.times), ("ids", self.ids)):
            if given is not None and given.shape != (self.n_rows,):
                raise InputError(f"{what} have shape {given.shape}, expected {(self.n_rows,)}.")
        if self.times is not None:
            if np.isnat(self.times).any():
                row = int(np.isnat(self.times).argmax())
                raise InputError(
                    f"row {row} (the first is 0) has no time stamp.\nGive every row one, or no times."
                )
            object.__setattr__(self, "times", self.times.astype("M8[ns]"))

    @cached_property
    def _codes(self) -> IntArray:
        """A number for each row's series, in the order in which the series appear."""
        if self.ids is None:
            return np.zeros(self.n_rows, dtype=np.intp)
        codes, _ = pd.factorize(self.ids, use_na_sentinel=False)  # rows without an id are one series
        return codes.astype(np.intp)

    @cached_property
    def order(self) -> IntArray:
        """The permutation that sorts the rows by series, then by time; equal ones keep their order."""
        if self.times is None:
            return np.argsort(self._codes, kind="stable")
        return np.lexsort((self.times, self._codes))

    @cached_property
    def series(self) -> list[IntArray]:
        """The rows of each series in time order, one array per id."""
        bounds = np.flatnonzero(np.diff(self._codes[self.order])) + 1
        return list(np.split(self.order, bounds)) if self.n_rows else []

    @cached_property
    def names(self) -> list[Any]:
        """The id of each series, or None for the only one."""
        return [None if self.ids is None else self.ids[rows[0]] for rows in self.series]

    @cached_property
    def grids(self) -> list[Clock | None]:
        """The regular grid of each series, or None where it has none."""
        if self.times is None:
            return [None] * len(self.series)
        shared = _find_step([self.times[rows] for rows in self.series])
        return [_grid(self.times[rows], _own_step(self.times[rows]) or shared) for rows in self.series]

    @cached_property
    def step(self) -> np.timedelta64 | None:
        """The usual step between two rows (a month counts as its median length), None if there is none."""
        if self.times is None:
            return None
        steps = np.concatenate([np.diff(self.times[rows]) for rows in self.series] or [np.empty(0, "m8[ns]")])
        steps = steps[steps > np.timedelta64(0)]
        return _mode(steps) if len(steps) else None

    @cached_property
    def absent(self) -> list[TimeArray]:
        """The time stamps that are missing from each series' regular grid."""
        return [
            np.empty(0, "M8[ns]") if placed is None else placed.times[placed.absent]
            for placed in self.with_missing_rows()
        ]

    @cached_property
    def duplicates(self) -> IntArray:
        """The rows whose time stamp an earlier row of their series has already."""
        if self.times is None:
            return np.empty(0, dtype=np.intp)
        times = self.times
        return np.sort(
            np.concatenate([rows[1:][np.diff(times[rows]) == 0] for rows in self.series] or [self.order])
        )

    @cached_property
    def unsorted(self) -> IntArray:
        """The rows that come after a later row of their series; none if all of it runs backwards."""
        if self.times is None:
            return np.empty(0, dtype=np.intp)
        late: list[IntArray] = []
        for rows in self.series:
            rows = np.sort(rows)
            times = self.times[rows]
            if len(rows) > 1 and not (np.diff(times) <= np.timedelta64(0)).all():
                late.append(rows[times < np.maximum.accumulate(times)])
        return np.sort(np.concatenate(late)) if late else np.empty(0, dtype=np.intp)

    @property
    def irregular(self) -> bool:
        """Whether a series has time stamps that fit no regular step."""
        return self.times is not None and any(
            grid is None and len(rows) > 2 for grid, rows in zip(self.grids, self.series, strict=True)
        )

    def with_missing_rows(self) -> list[Placement | None]:
        """Each series on its full grid, so that absent rows are seen as rows of gaps; None without a grid."""
        return self._placements

    @cached_property
    def _placements(self) -> list[Placement | None]:
        placed: list[Placement | None] = []
        for rows, grid in zip(self.series, self.grids, strict=True):
            if grid is None or self.times is None:
                placed.append(None)
                continue
            positions = _positions(self.times[rows], grid)
            length = int(positions[-1]) + 1
            times = grid.times(np.arange(length))
            placed.append(Placement(rows, positions, length, times))
        return placed

    def problems(self, form: TimeFormat | None = None) -> list[str]:
        """What is odd about the time stamps, one sentence each; those without a date in their own `form`."""
        found: list[str] = []

        def show(time: np.datetime64) -> str:
            return _show(time) if form is None or form.dated else form.write(np.array([time]))[0]

        if self.times is None:
            return found
        if n := sum(map(len, self.absent)):
            s, first = self._first_absent()
            of = "" if self.ids is None else f" of {self.names[s]!r}"
            are = "stamp is" if n == 1 else "stamps are"
            found.append(f"{n} time {are} absent (first: {show(first)}{of}); rows for them can be added.")
        if n := len(self.duplicates):
            row = self.duplicates[0]
            rows = "1 row repeats" if n == 1 else f"{n} rows repeat"
            found.append(f"{rows} the time stamp of an earlier row (first: {show(self.times[row])}).")
        if n := len(self.unsorted):
            row = self.unsorted[0]
            rows = "1 row is" if n == 1 else f"{n} rows are"
            found.append(
                f"{rows} not in time order (first: {show(self.times[row])}); "
                "they are filled in time order and written back where they were."
            )
        if self.irregular:
            usual = "" if self.step is None else f" (usually {_show_step(self.step)})"
            found.append(f"the time stamps have no regular step{usual}; rows are taken as equally spaced.")
        return found

    def _first_absent(self) -> tuple[int, np.datetime64]:
        series = min(
            (s for s, times in enumerate(self.absent) if len(times)), key=lambda s: self.absent[s][0]
        )
        return series, self.absent[series][0]


def anchors(
    times: TimeArray, ids: AnyArray | None, new_times: TimeArray, new_ids: AnyArray | None
) -> tuple[IntArray, IntArray]:
    """The row after which each new row belongs, and the order in which to insert them."""
    times, new_times = times.astype("M8[ns]"), new_times.astype("M8[ns]")
    steps = np.diff(times)
    forward = np.argsort(new_times, kind="stable")
    if (steps >= np.timedelta64(0)).all():  # also a panel that goes through time once, series by series
        return np.maximum(np.searchsorted(times, new_times, side="right") - 1, 0), forward
    if (steps <= np.timedelta64(0)).all():
        after = len(times) - 1 - np.searchsorted(times[::-1], new_times, side="left")
        return np.maximum(after, 0), forward[::-1]
    line = Timeline(len(times), times, ids)
    at = dict(zip(line.names, line.series, strict=True))
    after = np.full(len(new_times), len(times) - 1, dtype=np.intp)
    backward = np.zeros(len(new_times), dtype=bool)
    keys = [None] * len(new_times) if new_ids is None else new_ids.tolist()
    for i, key in enumerate(keys):
        if key in at:
            rows = at[key]
            k = int(np.searchsorted(times[rows], new_times[i], side="right"))
            backward[i] = len(rows) > 1 and rows[0] > rows[-1]
            after[i] = rows[min(k, len(rows) - 1)] if backward[i] else rows[max(k - 1, 0)]
    stamps = new_times.astype("i8")
    return after, np.argsort(np.where(backward, -stamps, stamps), kind="stable")


def _mode(steps: npt.NDArray[np.timedelta64]) -> np.timedelta64:
    kinds, counts = np.unique(steps, return_counts=True)
    usual: np.timedelta64 = kinds[counts.argmax()]
    return usual


def _find_step(series: list[TimeArray]) -> tuple[int, bool, bool] | None:
    """The step that all series share: (step, in months, months counted from their end)."""
    steps = [np.diff(times) for times in series]
    flat = np.concatenate(steps) if steps else np.empty(0, "m8[ns]")
    flat = flat[flat > np.timedelta64(0)]
    if not len(flat):
        return None
    day = np.timedelta64(24 * 3600 * 10**9, "ns")
    if flat.min() >= 27 * day:
        for from_end in (False, True):
            kept = [_months(times, from_end) for times in series if len(times)]
            if all(months is not None for months in kept):
                jumps = np.concatenate([np.diff(months) for months in kept if months is not None])
                jumps = jumps[jumps > 0]
                return int(_mode(jumps.astype("m8[ns]")).astype("i8")), True, from_end
    usual = int(_mode(flat).astype("i8"))
    return usual, False, False


def _own_step(times: TimeArray) -> tuple[int, bool, bool] | None:
    """A series' own step, if more than half of its rows follow at it."""
    own = _find_step([times])
    if own is None:
        return None
    count = np.diff(times.astype("M8[M]" if own[1] else "M8[ns]").astype("i8"))
    return own if 2 * np.count_nonzero(count == own[0]) > np.count_nonzero(count) else None


def _months(times: TimeArray, from_end: bool) -> IntArray | None:
    """The months of time stamps that lie equally far from the start (or end) of theirs, else None."""
    month = times.astype("M8[M]")
    offset = times - (month + int(from_end)).astype("M8[ns]")
    return month.astype("i8") if (offset == offset[0]).all() else None


def _grid(times: TimeArray, shared: tuple[int, bool, bool] | None) -> Clock | None:
    if shared is None or not len(times):
        return None
    step, months, from_end = shared
    grid = Clock(times[0], step, months, from_end)
    count = times.astype("M8[M]").astype("i8") if months else times.astype("i8")
    if ((count - count[0]) % step != 0).any():
        return None
    length = int((count[-1] - count[0]) // step) + 1
    return grid if length <= MOST_ADDED * len(times) + 1000 else None


def _positions(times: TimeArray, grid: Clock) -> IntArray:
    unit = "M8[M]" if grid.months else "M8[ns]"
    count = np.asarray(times.astype(unit) - grid.start.astype(unit)).astype("i8")
    return np.asarray(count // grid.step, dtype=np.intp)


def _show(time: np.datetime64) -> str:
    text = str(time.astype("M8[ns]"))
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("T", " ").removesuffix(" 00:00:00")


def _show_step(step: np.timedelta64) -> str:
    seconds = step.astype("m8[ns]").astype("i8") / 1e9
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds % size == 0:
            return f"{seconds / size:g} {name}"
    return f"{seconds:g} s"
