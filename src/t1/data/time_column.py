"""Dataframes: which column says when, found as in a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.arrays import TimeArray
from t1.data.dates import is_time_name, looks_like_dates, times_of
from t1.errors import InputError
from t1.registry import did_you_mean


def find_times(
    data: Any, time: str | None = None, *, names: Sequence[str] | None = None
) -> tuple[str | None, TimeArray | None]:
    """The time column of a dataframe and its times (rows,) in UTC; the name is None for a pandas index.

    Without `time` it is the index if that holds dates, else a column of dates, by its type or as text, rather one
    that is called time or date. `names` are what the columns are called where `data` names them otherwise.
    """
    frame = nw.from_native(data, eager_only=True)
    if time is not None:
        if time not in frame.columns:
            raise InputError(
                f"the table has no column {time!r}.", cure=did_you_mean(time, frame.columns), option="time"
            )
        return time, _checked(time, times_of(_cells(frame[time])))
    if isinstance(data, pd.DataFrame) and isinstance(data.index, pd.DatetimeIndex):
        return None, times_of(data.index)
    called = dict(zip(frame.columns, names or frame.columns, strict=True))
    likely = sorted(frame.columns, key=lambda name: not is_time_name(str(called[name])))
    for name in [name for name in likely if isinstance(frame[name].dtype, nw.Datetime | nw.Date)]:
        times = times_of(_cells(frame[name]))
        if not np.isnat(times).any():
            return name, times
    for name in likely:
        dtype = frame[name].dtype
        if dtype == nw.String or (dtype == nw.Object and is_time_name(str(called[name]))):
            texts = [cell for cell in frame[name].head(50).to_list() if isinstance(cell, str)]
            if texts and looks_like_dates(texts):
                with suppress(InputError):  # a date here and there is no time column
                    return name, times_of(_cells(frame[name]))
    return None, None


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
