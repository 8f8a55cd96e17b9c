"""The time of a table that keeps it in several columns: year, month, day, hour; a date and a clock as one text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t1.arrays import AnyArray, FloatArray, IntArray, TimeArray
from t1.data.dates import Dates, read_dates, regularity
from t1.data.julian_days import from_day_counts
from t1.data.month_names import month_of, month_style
from t1.data.time_format import DAY_COUNTS, TimeFormat

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
RANGES = {
    "month": (1, 12),
    "day": (1, 31),
    "doy": (1, 366),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 60),
}
PATTERNS = {
    "month": "%m",
    "day": "%d",
    "doy": "%j",
    "hour": "%H",
    "minute": "%M",
    "second": "%S",
    "hhmm": "%H%M",
    "week": "%V",
}
CODES = {"month": re.compile(r"M(0[1-9]|1[0-2])"), "quarter": re.compile(r"Q(0?)([1-4])")}
CLOCK = re.compile(r"\d{1,2}([:.])\d{2}(\1\d{2}([.,]\d+)?)?(\s?[AaPp](\.\s?)?[Mm]\.?)?")
SIZES = {"hour": 3600, "minute": 60, "second": 1}
# what the first columns may be in a file without names, the longest first
UNNAMED = (
    ("year", "doy", "month", "day", "hour", "minute"),
    ("year", "month", "day", "hour", "minute", "second"),
    ("year", "month", "day", "hour", "minute"),
    ("year", "month", "day", "hour"),
    ("year", "doy", "hour", "minute"),
    ("year", "doy", "hhmm"),
    ("year", "doy", "hour"),
    ("year", "month", "day"),
    ("year", "month"),
    ("year", "doy"),
)
REGULAR = 0.9  # of the steps, where two numbers without a name are all that says when


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


def find_parts(source: TimeSource, *, named: bool) -> TimeColumns | None:
    """Year, month, day and the like among the columns: by their names, or in front of a file without any."""
    if not named:
        return _find_unnamed(source)
    found_at = assign(source.names, range(len(source.names)))
    if "year" not in found_at:
        return None
    return compose(source, found_at) or _years(source, found_at["year"])


def _find_unnamed(source: TimeSource) -> TimeColumns | None:
    """What the first columns of a file without names are, if they run forward: the reading with the most regular steps.

    1990 1, 1990 2, ... may be months or days, and an hour may be minutes: it is the next year or day that tells.
    """
    best, most = None, (0.0, 0.0)
    for parts in UNNAMED:
        if len(parts) >= len(source.names):
            continue
        found = compose(source, {part: j for j, part in enumerate(parts)})
        if (
            found is None
            or len(found.at) < len(parts)
            or not (np.diff(found.times) > np.timedelta64(0)).all()
        ):
            continue
        regular = regularity(found.times)
        short = found.format.pattern == "%y" or len(np.unique(found.times.astype("M8[Y]"))) < 2
        if len(parts) == 2 and (regular[0] < REGULAR or short):
            continue
        if best is None or regular > most:
            best, most = found, regular
    return best


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


def _years(source: TimeSource, j: int) -> TimeColumns | None:
    numbers = source.numbers(j)
    if numbers is None or np.isnan(numbers).any() or not ((numbers >= 1500) & (numbers <= 2500)).all():
        return None
    if (numbers != np.floor(numbers)).any() or not (np.diff(numbers) > 0).all():
        return None
    return TimeColumns((j,), (numbers - 1970).astype("M8[Y]").astype("M8[ns]"), (TimeFormat(unit="year"),))


def whole_numbers(source: TimeSource, j: int, low: float, high: float) -> IntArray | None:
    """A column of whole numbers in a range, none missing; None if it is anything else."""
    numbers = source.numbers(j)
    if numbers is None or not len(numbers) or np.isnan(numbers).any() or (numbers != np.floor(numbers)).any():
        return None
    return numbers.astype(np.int64) if low <= numbers.min() and numbers.max() <= high else None


def compose(source: TimeSource, at: dict[str, int], dates: Dates | None = None) -> TimeColumns | None:
    """The times of a date's parts, if all of them are what their names say; `dates` are those of "date"."""
    used: dict[str, int] = {}
    written: dict[str, TimeFormat] = {}  # parts that are no plain numbers
    if "date" in at and dates is not None:
        times, first = dates.times.astype("M8[ns]"), replace(dates.format, midnight=True)
        used["date"] = at["date"]
    else:
        years = whole_numbers(source, at["year"], 0, 2500)
        if years is None or ((years > 99) & (years < 1500)).any():
            return None
        short = bool((years < 100).all())
        years = np.where(years < 100, np.where(years < 70, years + 2000, years + 1900), years)
        used["year"], first = at["year"], TimeFormat("%y" if short else "%Y")
        days = (years - 1970).astype("M8[Y]")
        if (found := _months(source, at)) is not None:
            part, months, written[part] = found
            used[part] = at[part]
            stamps = days.astype("M8[M]") + months
            times = stamps.astype("M8[ns]")
            if "day" in at and part == "month":
                if (of_month := whole_numbers(source, at["day"], 1, 31)) is None:
                    return None
                used["day"] = at["day"]
                times = (stamps.astype("M8[D]") + (of_month - 1)).astype("M8[ns]")
            if "doy" in at:
                used["doy"] = at["doy"]
        elif (of_year := _days_of_year(source, at, days)) is not None:
            used["doy"], times, written["doy"] = at["doy"], *of_year
        elif "day" not in at and not short and (weeks := _weeks(source, at, days)) is not None:
            used["week"], first, times = at["week"], TimeFormat("%G"), weeks
        else:
            return None
    latest = 0
    decimal = "doy" in written and bool(written["doy"].unit)  # its decimals are the clock
    for part in ("hhmm", "hour", "minute", "second"):
        if decimal or part not in at or (part == "minute" and "hour" not in used):
            continue
        clock = whole_numbers(source, at[part], 0, 2400 if part == "hhmm" else RANGES[part][1])
        if clock is None:
            continue
        seconds = clock // 100 * 3600 + clock % 100 * 60 if part == "hhmm" else clock * SIZES[part]
        times = times + (seconds * 10**9).astype("m8[ns]")
        latest = max(latest, int(seconds.max()))
        used[part] = at[part]
    if "day" in used and not used.keys() & {"hour", "hhmm"} and (clocks := _clocks(source, at)) is not None:
        used["clock"] = at["clock"]
        times, written["clock"] = times + clocks[0], clocks[1]
    formats = []
    for part, j in used.items():
        own = first if part in ("date", "year") else written.get(part) or TimeFormat(PATTERNS[part])
        texts = [text for text in source.texts(j)[:5000] if text]
        width = min(map(len, texts), default=0)
        own = replace(own, offset=first.offset)
        if part not in ("date", "clock") and not own.unit and width < {"hhmm": 4, "doy": 3}.get(part, 2):
            own = replace(own, bare=frozenset("mdHMSjyV"), strip=part == "hhmm")
        if part in ("hour", "hhmm") and latest >= 24 * 3600:
            own = replace(own, midnight_24=True)
        formats.append(own)
    return TimeColumns(tuple(used.values()), times, tuple(formats))


def _months(source: TimeSource, at: dict[str, int]) -> tuple[str, IntArray, TimeFormat] | None:
    """The part that says in which month of its year a row begins, those months from 0 on, and how it is written."""
    if "month" in at:
        if (months := whole_numbers(source, at["month"], 1, 12)) is not None:
            return "month", months - 1, TimeFormat("%m")
        texts = source.texts(at["month"])
        named = [month_of(text.strip().rstrip(".")) for text in texts]
        if named and None not in named:
            return "month", np.array(named, dtype=np.int64), TimeFormat("%b", months=month_style(texts))
    if "quarter" in at and (quarters := whole_numbers(source, at["quarter"], 1, 4)) is not None:
        return "quarter", 3 * (quarters - 1), TimeFormat("%q")
    for part in ("month", "period", "quarter"):  # M01 or Q1
        codes = source.texts(at[part]) if part in at else []
        if codes and all(map(CODES["month"].fullmatch, codes)):
            return part, np.array([int(code[1:]) - 1 for code in codes]), TimeFormat("M%m")
        if codes and all(map(CODES["quarter"].fullmatch, codes)):
            zero = "0" * (len(codes[0]) > 2)
            return part, np.array([3 * int(code[1:]) - 3 for code in codes]), TimeFormat(f"Q{zero}%q")
    return None


def _days_of_year(
    source: TimeSource, at: dict[str, int], years: TimeArray
) -> tuple[TimeArray, TimeFormat] | None:
    """The times of days in their year, also with decimals (45.25 is six in the morning of the 45th)."""
    numbers = source.numbers(at["doy"]) if "doy" in at else None
    if numbers is None or not len(numbers) or not ((numbers >= 1) & (numbers < 367)).all():
        return None
    begin = years.astype("M8[D]")
    if (numbers == np.floor(numbers)).all():
        return (begin + (numbers - 1).astype("i8")).astype("M8[ns]"), TimeFormat("%j")
    digits = max(len(text.partition(".")[2].strip()) for text in source.texts(at["doy"]))
    counted = numbers - 1 + begin.astype("i8") + DAY_COUNTS["modified julian day"]
    times = from_day_counts(counted, "modified julian day", digits)
    return times, TimeFormat(unit="day of year", fraction=digits)


def _weeks(source: TimeSource, at: dict[str, int], years: TimeArray) -> TimeArray | None:
    """The Mondays of numbered weeks (ISO 8601); None where a year has no such week."""
    weeks = whole_numbers(source, at["week"], 1, 53) if "week" in at else None
    if weeks is None:
        return None
    fourth = years.astype("M8[D]") + 3  # of January, which is always in the first week
    mondays = fourth - (fourth.astype("i8") + 3) % 7 + 7 * (weeks - 1)
    return mondays.astype("M8[ns]") if ((mondays + 3).astype("M8[Y]") == years).all() else None


def _clocks(source: TimeSource, at: dict[str, int]) -> tuple[AnyArray, TimeFormat] | None:
    """How long after midnight rows are by a clock such as 18:00, and how that is written."""
    texts = source.texts(at["clock"]) if "clock" in at else []
    if not texts or not all(map(CLOCK.fullmatch, texts)):
        return None
    read = read_dates([f"1970-01-01 {text}" for text in texts])
    if np.isnat(read.times).any():
        return None
    return read.times - np.datetime64(0, "ns"), replace(
        read.format, pattern=read.format.pattern.partition(" ")[2]
    )


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
