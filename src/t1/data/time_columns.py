"""The columns that say when: what they are called, what they say together, and a date and a clock read as one text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from t1.arrays import FloatArray, IntArray, TimeArray
from t1.data.dates import Dates, read_dates
from t1.data.time_format import TimeFormat

WORDS = {
    "year": "year yr yy yyyy jahr año ano annee année",
    "month": "month mo mm mon monat mes mois",
    "period": "period",
    "quarter": "quarter qtr quartal trimestre kwartaal",
    "week": "week wk weeknum week_number week_no iso_week isoweek kalenderwoche woche semaine semana",
    "day": "day dy dd tag dom dia jour mday",
    "doy": "doy jday julian julian_day dayofyear day_of_year yday jd day_number",
    "hour": "hour hr hh h stunde hora heure",
    "minute": "minute min mn mm minutes",
    "second": "second sec ss seconds",
    "hhmm": "hhmm hrmn time_hhmm hour_minute",
    "date": "yyyymmdd date datum",
    "clock": "time clock uhrzeit zeit hora heure",
}
PARTS = {word: part for part in reversed(WORDS) for word in WORDS[part].split()}
CLOCK = re.compile(r"\d{1,2}([:.])\d{2}(\1\d{2}([.,]\d+)?)?(\s?[AaPp]((\.\s?)?[Mm]\.?)?)?")


@dataclass(frozen=True)
class TimeColumns:
    """The columns that say when, by position, and what they say."""

    at: tuple[int, ...]
    times: TimeArray  # (rows,), UTC if the file names a zone
    formats: tuple[TimeFormat, ...]  # of each column
    note: str = ""
    whole: bool = (
        False  # what a row says depends on the rows before it: a clock without a date, a date once a day
    )

    @property
    def format(self) -> TimeFormat:
        """The format of the column that holds the date: how a span is to be read."""
        return self.formats[0]

    def write(self, times: TimeArray) -> list[list[str]]:
        """More times as text, for each column."""
        if len(self.formats) == 1:
            return [self.formats[0].write(times)]
        days = times
        if any(part.midnight_24 for part in self.formats):  # midnight belongs to the day that ends with it
            stamps = times.astype("M8[ns]")
            days = np.where(stamps == stamps.astype("M8[D]"), stamps - np.timedelta64(1, "ns"), stamps)
        return [part.write(times if part.midnight_24 else days) for part in self.formats]


@dataclass(frozen=True)
class TimeSource:
    """A table's columns as they can be looked at."""

    names: Sequence[str]
    texts: Callable[[int], list[str]]
    numbers: Callable[[int], FloatArray | None]  # None for a column of text


def are_mostly_clocks(texts: Sequence[str]) -> bool:
    """Whether texts are clocks but for a few, which may be the hour that comes twice in autumn: 02:00B."""
    found = [CLOCK.match(text) is not None for text in texts if text]
    return sum(found) > 0.9 * len(found)


def read_clocks(texts: Sequence[str]) -> Dates | None:
    """Clocks such as 18:00 as times of 1 January 1970, and how they are written; None where one is no clock."""
    read = read_dates([f"1970-01-01 {text}" for text in texts])
    if np.isnat(read.times).any():
        return None
    return replace(read, format=replace(read.format, pattern=read.format.pattern.partition(" ")[2]))


def cell_text(cell: object) -> str:
    """A typed cell as text: what a clock or a time that went by (4 days, 5:00) would be written as in a text table."""
    if cell is None:
        return ""
    if isinstance(cell, timedelta) and not cell.microseconds and cell >= timedelta(0):
        seconds = cell.days * 86_400 + cell.seconds
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return str(cell)


def part_of(name: str) -> str | None:
    """What part of a time a column is by its name: year, month, hour and so on; None if none."""
    bare = re.sub(r"\(.*?\)|\[.*?\]", "", name).strip(" #").lower()
    return PARTS.get(re.sub(r"[^a-zñé]+", "_", bare).strip("_"))


def assign(names: Sequence[str], at: Sequence[int] | range) -> dict[str, int]:
    """Which column is which part; MM is the month, the second of two is the minute."""
    found: dict[str, int] = {}
    for j in at:
        part = part_of(names[j])
        if part == "month" and "month" in found and names[j].strip().lower() == "mm":
            part = "minute"
        if part is not None and part not in found:
            found[part] = j
    return found


def whole_numbers(source: TimeSource, j: int, low: float, high: float) -> IntArray | None:
    """A column of whole numbers in a range, none missing; None if it is anything else."""
    numbers = source.numbers(j)
    if numbers is None or not len(numbers) or np.isnan(numbers).any() or (numbers != np.floor(numbers)).any():
        return None
    return numbers.astype(np.int64) if low <= numbers.min() and numbers.max() <= high else None


def join(
    source: TimeSource, at: Sequence[int], *, day_first: bool | None, pattern: str | None
) -> TimeColumns | None:
    """A date and a clock read as one text, and written as two."""
    rows = list(zip(*(source.texts(j) for j in at), strict=True))
    if not all(map(all, rows)):  # a date whose clock is not given is no midnight
        return None
    texts = [" ".join(parts) for parts in rows]
    dates = read_dates(texts, day_first=day_first, pattern=pattern)
    if np.isnat(dates.times).any():
        return None
    pieces = dates.format.pattern.split(" ")
    if len(pieces) < len(at):
        return None
    pieces[len(at) - 1 :] = [" ".join(pieces[len(at) - 1 :])]
    formats = [
        replace(
            dates.format,
            pattern=piece,
            suffix=dates.format.suffix if k == len(pieces) - 1 else "",
            midnight_24=dates.format.midnight_24 and "%H" in piece,
        )
        for k, piece in enumerate(pieces)
    ]
    return TimeColumns(tuple(at), dates.times, tuple(formats), dates.note)
