"""Dates in columns of numbers: 20160701, epochs, years, days as Excel or astronomers count them, or just a count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from t1.arrays import FloatArray, TimeArray
from t1.data.date_patterns import COMPACT
from t1.data.dates import NAT, YEAR_MONTH, Dates, read_dates, regularity
from t1.data.excel_days import are_excel_days, from_excel_days
from t1.data.julian_days import are_short_year_days, are_year_days, from_day_counts, julian_unit
from t1.data.time_format import TimeFormat, from_decimal_years
from t1.errors import InputError

EPOCHS = (("s", 1e8, 1e11), ("ms", 1e11, 1e14), ("us", 1e14, 1e17), ("ns", 1e17, 9.2e18))
SHORT_STAMP = re.compile(r"\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d")  # 2401311200
# 23152 is a day of 2023, not of 1963; as days of Excel's, numbers from here on are from 1990
MOST_YEAR_DAY = 33_000


def read_numeric_dates(
    numbers: FloatArray, texts: Sequence[str], *, serial: bool = True, name: str = ""
) -> Dates:
    """Read a column of numbers that is called time: 20160701, 201607, an epoch, years, or just a count.

    Days since 1900 as Excel counts them are dates if `serial`, not where a name says that seconds are counted;
    Julian days are if the column's `name` says so.
    """
    sample = next((text.strip() for text in texts if text.strip()), "")
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and COMPACT.fullmatch(sample):
        dates = read_dates(texts)
        if not np.isnat(dates.times).any():
            return dates
    if whole and all(YEAR_MONTH.fullmatch(text.strip()) for text in texts):
        return read_dates(texts, pattern="%Y%m")
    if whole and serial and are_year_days(texts):
        return read_dates(texts, pattern="%Y%j")
    if whole and numbers.max() < MOST_YEAR_DAY and are_short_year_days(texts, name):
        dates = read_dates(texts, pattern="%y%j")
        if not np.isnat(dates.times).any():
            return dates
    if (unit := julian_unit(name, numbers)) is not None:
        digits = max(len(text.partition(".")[2].strip()) for text in texts)
        return Dates(from_day_counts(numbers, unit, digits), TimeFormat(unit=unit, fraction=digits))
    if ((numbers >= 1600) & (numbers < 2201)).all():
        if whole:
            return Dates((numbers - 1970).astype("M8[Y]").astype("M8[ns]"), TimeFormat(unit="year"))
        times, part = from_decimal_years(numbers)
        digits = max(len(text.partition(".")[2].strip()) for text in texts)
        return Dates(times, TimeFormat(unit="decimal year", fraction=digits, month_part=part))
    if serial and are_excel_days(numbers):
        digits = max(len(text.partition(".")[2].strip()) for text in texts)
        return Dates(from_excel_days(numbers), TimeFormat(unit="excel day", fraction=digits))
    if whole and len(texts) > 2 and all(SHORT_STAMP.fullmatch(text.strip()) for text in texts):
        stamps = read_dates(texts, pattern="%y%m%d%H%M")
        epochs = numbers.astype("M8[s]").astype("M8[ns]")
        if not np.isnat(stamps.times).any() and regularity(stamps.times) > regularity(epochs):
            return stamps
    size = np.nanmedian(np.abs(numbers)) if len(numbers) else 0.0
    for unit, low, high in EPOCHS:
        if whole and low <= size < high and (np.abs(numbers) < high).all():
            exact = np.array(
                [int(float(t)) if "." in t or "e" in t.lower() else int(t) for t in texts], dtype="i8"
            )
            return Dates(exact.astype(f"M8[{unit}]").astype("M8[ns]"), TimeFormat(unit=unit))
    if (np.abs(numbers) < 9e9).all():
        return Dates(np.rint(numbers * 1e9).astype("i8").astype("M8[ns]"), TimeFormat(unit="step"))
    return Dates(np.full(len(numbers), NAT), TimeFormat())


def times_of(cells: Any, name: str = "") -> TimeArray:
    """The times of a dataframe's index or column, (rows,) in UTC: the one way for both.

    Stamps with a zone are converted; stamps without one are taken as they are. Text is read as in a file, and so are
    numbers, with what the column's `name` says of them.
    """
    array = np.asarray(cells)
    if array.dtype.kind == "M":  # pandas gives the UTC instants of a zone here
        return array.astype("M8[ns]")
    if array.dtype.kind in "iuf":
        texts = [str(cell) for cell in array.tolist()]
        return read_numeric_dates(array.astype(np.float64), texts, name=name).times
    given = [cell for cell in array.tolist() if cell is not None and cell == cell]
    if given and all(isinstance(cell, str) for cell in given):
        dates = read_dates(["" if not isinstance(cell, str) else cell for cell in array.tolist()])
        bad = np.isnat(dates.times)
        if bad.any():
            row = int(bad.argmax())
            raise InputError(
                f"row {row} (the first is 0) has {str(array[row])[:60]!r}, which is no date.",
                cure="Correct it, or name another column.",
                option="time",
            )
        return dates.times
    try:
        stamps = pd.to_datetime(pd.Series(array, dtype=object), utc=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"the times cannot be read: {error}.", cure="Give dates.", option="time") from None
    return stamps.dt.tz_localize(None).to_numpy("M8[ns]")
