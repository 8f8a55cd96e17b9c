"""Days by their number where the column's name says so: Julian days (2459945.5), modified ones, 2023045."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from t1.arrays import FloatArray, TimeArray
from t1.data.time_format import DAY, DAY_COUNTS

MODIFIED = re.compile(r"(^|[^a-z])(mjd|modified[ _]?julian([ _]?(day|date))?)([^a-z]|$)", re.IGNORECASE)
JULIAN = re.compile(r"(^|[^a-z])([bh]?jd|jday|julian([ _]?(day|date))?)([^a-z]|$)", re.IGNORECASE)
OF_YEAR = re.compile(r"(^|[^a-z])(doy|day_?of_?year|yday|y{2,4}_?(ddd|jjj|doy))([^a-z]|$)", re.IGNORECASE)
RANGES = {"julian day": (2_415_020, 2_488_070), "modified julian day": (15_020, 88_070)}  # 1900 to 2099
DATE = re.compile(r"date|day|yyddd|yrdoy", re.IGNORECASE)
SHORT_YEAR_DAY = re.compile(r"\d{2}(?!000)([0-2]\d{2}|3[0-5]\d|36[0-6])")
YEAR_DAY = re.compile(r"(19|20)\d{2}(00[1-9]|0[1-9]\d|[12]\d{2}|3[0-5]\d|36[0-6])")  # 2023045


def says_julian(name: str) -> bool:
    """Whether a column is called JD, MJD, julian, YYYYDDD and the like."""
    return any(words.search(name) for words in (MODIFIED, JULIAN, OF_YEAR))


def are_year_days(texts: Sequence[str]) -> bool:
    """Whether all cells are a year and the day in it: 2023045."""
    return bool(texts) and all(YEAR_DAY.fullmatch(text.strip()) for text in texts)


def are_short_year_days(texts: Sequence[str], name: str) -> bool:
    """Whether all cells are two digits of a year and the day in it, 23045, under the name of a date (DSSAT's @DATE)."""
    return DATE.search(name) is not None and all(SHORT_YEAR_DAY.fullmatch(text.strip()) for text in texts)


def julian_unit(name: str, numbers: FloatArray) -> str | None:
    """Which days a column counts by its name, if its numbers are such days; None if none."""
    for unit, words in (("modified julian day", MODIFIED), ("julian day", JULIAN)):
        low, high = RANGES[unit]
        if words.search(name) and ((numbers >= low) & (numbers <= high)).all():
            return unit
    return None


def from_day_counts(numbers: FloatArray, unit: str, digits: int) -> TimeArray:
    """The times of counted days, no finer than their decimals: to the minute, the second or the millisecond."""
    step = 60 * 10**9 if digits <= 4 else 10**9 if digits <= 7 else 10**6
    days = numbers - DAY_COUNTS[unit]
    whole = np.floor(days)
    parts = np.rint((days - whole) * (DAY / step)).astype("i8") * step
    return np.asarray(whole.astype("i8") * DAY + parts).astype("M8[ns]")
