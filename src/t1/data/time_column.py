"""Dataframes: which column says when, found as in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.arrays import FloatArray, TimeArray
from t1.data.clocks import BESIDE, combined, find_clock
from t1.data.dates import Dates, is_time_name, may_be_a_code, read_dates, times_of
from t1.data.time_columns import TimeSource
from t1.data.time_format import TimeFormat
from t1.errors import InputError
from t1.registry import did_you_mean

DAYS = TimeFormat("%Y-%m-%d")  # of dates that are no text


def find_times(
    data: Any,
    time: Sequence[str] = (),
    *,
    names: Sequence[str] | None = None,
    free: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], TimeArray | None]:
    """The time columns of a dataframe and their times (rows,) in UTC; no names for a pandas index.

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
        return tuple(time), _combined(frame, time, called)
    if time:
        return tuple(time), _checked(
            time[0], times_of(_cells(frame[time[0]]), called[frame.columns.index(time[0])])
        )
    if isinstance(data, pd.DataFrame) and isinstance(data.index, pd.DatetimeIndex):
        return (), times_of(data.index)
    found = _one_column(frame, dict(zip(frame.columns, called, strict=True)))
    if found is None:
        return (), None
    name, times = found
    at = frame.columns.index(name)
    beside = [j for j, other in enumerate(frame.columns) if other != name and (free is None or other in free)]
    near = sorted(beside, key=lambda j: abs(j - at))[:BESIDE]
    zone = getattr(frame[name].dtype, "time_zone", None)
    both = None if zone else find_clock(_source(frame, called), at, Dates(times, DAYS), beside=near)
    if both is None:
        return (name,), times
    return tuple(frame.columns[j] for j in both.at), both.times


def _one_column(frame: nw.DataFrame[Any], called: Mapping[str, str]) -> tuple[str, TimeArray] | None:
    likely = sorted(frame.columns, key=lambda name: not is_time_name(called[name]))
    for name in [name for name in likely if isinstance(frame[name].dtype, nw.Datetime | nw.Date)]:
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
        return ["" if cell is None else str(cell) for cell in frame[frame.columns[j]].to_list()]

    def numbers(j: int) -> FloatArray | None:
        column = frame[frame.columns[j]]
        return column.cast(nw.Float64).to_numpy() if column.dtype.is_numeric() else None

    return TimeSource(called, texts, numbers)


def _cells(series: nw.Series[Any]) -> Any:
    native = series.to_native()
    if isinstance(native, pd.Series):
        return native
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
