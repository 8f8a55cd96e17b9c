"""Dataframes: which column says when, found as in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.arrays import FloatArray, TimeArray
from t1.data.clocks import BESIDE, combined, find_clock
from t1.data.dates import Dates, is_time_name, may_be_a_code, read_dates
from t1.data.lone_clocks import find_lone_clock
from t1.data.numeric_dates import times_of
from t1.data.time_columns import TimeSource, cell_text
from t1.data.time_format import TimeFormat
from t1.errors import InputError
from t1.registry import did_you_mean

DAYS = TimeFormat("%Y-%m-%d")  # of dates that are no text


@dataclass(frozen=True)
class Found:
    """The time of a dataframe: its columns, none for the index of pandas; the times; and what to say of them."""

    names: tuple[str, ...] = ()
    times: TimeArray | None = None
    said: str = ""


def find_times(
    data: Any,
    time: Sequence[str] = (),
    *,
    names: Sequence[str] | None = None,
    free: Sequence[str] | None = None,
) -> Found:
    """The time columns of a dataframe and their times (rows,) in UTC.

    Without `time` it is the index if that holds dates, else a column of dates, by its type or as text, rather one
    that is called time or date; and the clock beside it, if it has none itself. `names` are what the columns are
    called where `data` names them otherwise; `free` those that may have the clock.
    """
    frame = nw.from_native(data, eager_only=True)
    called = [str(name) for name in names or frame.columns]
    for name in time:
        if name not in frame.columns:
            raise InputError(
                f"the table has no column {name!r}.", cure=did_you_mean(name, frame.columns), option="time"
            )
    if len(time) > 1:
        return Found(tuple(time), _combined(frame, time, called))
    if time:
        at = frame.columns.index(time[0])
        if (lone := _lone_clock(frame, called, [at], named=True)) is not None:
            return lone
        return Found(tuple(time), _checked(time[0], times_of(_cells(frame[time[0]]), called[at])))
    if isinstance(data, pd.DataFrame) and (times := index_times(data.index)) is not None:
        return Found((), times)
    found = _one_column(frame, dict(zip(frame.columns, called, strict=True)))
    if found is None:
        free_at = [j for j, name in enumerate(frame.columns) if free is None or name in free]
        return _lone_clock(frame, called, free_at, named=False) or Found()
    name, times = found
    at = frame.columns.index(name)
    beside = [j for j, other in enumerate(frame.columns) if other != name and (free is None or other in free)]
    near = sorted(beside, key=lambda j: abs(j - at))[:BESIDE]
    zone = getattr(frame[name].dtype, "time_zone", None)
    both = None if zone else find_clock(_source(frame, called), at, Dates(times, DAYS), beside=near)
    if both is None:
        return Found((name,), times)
    return Found(tuple(frame.columns[j] for j in both.at), both.times)


def index_times(index: pd.Index) -> TimeArray | None:
    """The times of an index of dates, of periods, or of times that went by; of several levels the only one of dates."""
    if isinstance(index, pd.MultiIndex):
        found = [
            times for k in dated_levels(index) if (times := times_of(index.get_level_values(k))) is not None
        ]
        return found[0] if len(found) == 1 and not np.isnat(found[0]).any() else None
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    if isinstance(index, pd.TimedeltaIndex):
        return index.to_numpy().astype("m8[ns]") + np.datetime64(0, "ns")
    return times_of(index) if isinstance(index, pd.DatetimeIndex) else None


def dated_levels(index: pd.MultiIndex) -> list[int]:
    """Which levels of an index are dates."""
    return [k for k, level in enumerate(index.levels) if isinstance(level, pd.DatetimeIndex)]


def _lone_clock(
    frame: nw.DataFrame[Any], called: Sequence[str], free: Sequence[int], *, named: bool
) -> Found | None:
    """A clock without a date, or hours since a beginning, as in a text table."""
    may_be = [j for j in free if not frame[frame.columns[j]].dtype.is_numeric()]
    found = find_lone_clock(_source(frame, called), may_be, named=named)
    if found is None:
        return None
    return Found(tuple(frame.columns[j] for j in found.time.at), found.time.times, found.said)


def _one_column(frame: nw.DataFrame[Any], called: Mapping[str, str]) -> tuple[str, TimeArray] | None:
    likely = sorted(frame.columns, key=lambda name: not is_time_name(called[name]))
    for name in [name for name in likely if _is_dated(frame[name])]:
        times = times_of(_cells(frame[name]))
        if not np.isnat(times).any():
            return name, times
    for name in likely:
        dtype = frame[name].dtype
        if dtype == nw.String or (dtype == nw.Object and is_time_name(called[name])):
            cells = [cell for cell in frame[name].head(50).to_list() if cell is not None]
            typed = bool(cells) and all(isinstance(cell, date) for cell in cells)
            texts = [cell for cell in cells if isinstance(cell, str)]
            if typed or (texts and _are_dates(texts, called[name])):
                with suppress(InputError):  # a date here and there is no time column
                    return name, times_of(_cells(frame[name]))
    return None


def _is_dated(series: nw.Series[Any]) -> bool:
    """Whether a column is one of dates by its type, also of periods in pandas."""
    return isinstance(series.dtype, nw.Datetime | nw.Date) or _are_periods(series.to_native())


def _are_periods(native: Any) -> bool:
    return isinstance(native, pd.Series) and isinstance(native.dtype, pd.PeriodDtype)


def _are_dates(texts: Sequence[str], name: str) -> bool:
    """Whether a few cells are all dates; numbers of orders such as 2023-045 are none."""
    dates = read_dates(texts)
    return not np.isnat(dates.times).any() and not may_be_a_code(dates.format.pattern, name)


def _combined(frame: nw.DataFrame[Any], time: Sequence[str], called: Sequence[str]) -> TimeArray:
    """The times of columns that the user names together."""
    at = [frame.columns.index(name) for name in time]
    return combined(_source(frame, called), at).times


def _source(frame: nw.DataFrame[Any], called: Sequence[str]) -> TimeSource:
    def texts(j: int) -> list[str]:
        return list(map(cell_text, frame[frame.columns[j]].to_list()))

    def numbers(j: int) -> FloatArray | None:
        column = frame[frame.columns[j]]
        return column.cast(nw.Float64).to_numpy() if column.dtype.is_numeric() else None

    return TimeSource(called, texts, numbers)


def _cells(series: nw.Series[Any]) -> Any:
    native = series.to_native()
    if isinstance(native, pd.Series):
        return native.dt.to_timestamp() if _are_periods(native) else native
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return series.to_numpy()


def _checked(name: str, times: TimeArray) -> TimeArray:
    if np.isnat(times).any():
        row = int(np.isnat(times).argmax())
        raise InputError(
            f"the time column {name!r} has no date in row {row} (the first is 0).",
            cure="Give every row a time, or leave the time out.",
            option="time",
        )
    return times
