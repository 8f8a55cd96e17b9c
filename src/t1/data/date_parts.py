"""Year, month, day, hour and the like in columns of their own: which they are, and the times that they give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from t1.arrays import AnyArray, IntArray, TimeArray
from t1.data.dates import Dates, regularity
from t1.data.ids import find_series, repeated
from t1.data.julian_days import from_day_counts
from t1.data.month_names import month_of, month_style
from t1.data.time_columns import CLOCK, TimeColumns, TimeSource, assign, read_clocks, whole_numbers
from t1.data.time_format import DAY_COUNTS, TimeFormat

CODES = {"month": re.compile(r"M(0[1-9]|1[0-2])"), "quarter": re.compile(r"Q(0?)([1-4])")}
CLOCKS = {"hhmm": "%H%M", "hour": "%H", "minute": "%M", "second": "%S"}
HIGHEST = {"hhmm": 2400, "hour": 24, "minute": 59, "second": 60}
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
class Parts:
    """The times that some parts give, and how each is written, in the order of the columns."""

    times: TimeArray  # (rows,)
    formats: dict[str, TimeFormat]


def find_parts(source: TimeSource, *, named: bool) -> TimeColumns | None:
    """Year, month, day and the like among the columns: by their names, or in front of a file without any."""
    if not named:
        return _find_unnamed(source)
    found_at = assign(source.names, range(len(source.names)))
    if "year" not in found_at:
        nameless = all(name == f"column {j + 1}" for j, name in enumerate(source.names[:2]))
        return _find_unnamed(source) if nameless and len(source.names) > 2 else None
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


def _years(source: TimeSource, j: int) -> TimeColumns | None:
    """Years alone, which go forward, or repeat where another column tells their rows apart: countries, firms."""
    numbers = source.numbers(j)
    if numbers is None or np.isnan(numbers).any() or not ((numbers >= 1500) & (numbers <= 2500)).all():
        return None
    if (numbers != np.floor(numbers)).any():
        return None
    times = (numbers - 1970).astype("M8[Y]").astype("M8[ns]")
    if not (np.diff(numbers) > 0).all() and not are_told_apart(source, j, times):
        return None
    return TimeColumns((j,), times, (TimeFormat(unit="year"),))


def are_told_apart(source: TimeSource, j: int, times: TimeArray) -> bool:
    """Whether columns other than `j` tell rows of one time stamp apart."""
    others = [k for k in range(len(source.names)) if k != j]
    words = {k: (source.names[k], source.texts) for k in others if source.numbers(k) is None}
    numbers = {k: (source.names[k], partial(source.numbers, k)) for k in others}
    return repeated(times) > 0 and bool(find_series(times, words, numbers))


def compose(source: TimeSource, at: dict[str, int], dates: Dates | None = None) -> TimeColumns | None:
    """The times of a date's parts, if all of them are what their names say; `dates` are those of "date"."""
    if "date" in at and dates is not None:
        day = Parts(dates.times.astype("M8[ns]"), {"date": replace(dates.format, midnight=True)})
    elif (found := _calendar(source, at)) is not None:
        day = found
    else:
        return None
    whole = _with_clock(source, at, day)
    used = {part: at[part] for part in whole.formats}
    first = next(iter(whole.formats.values()))
    formats = (
        replace(_as_written(part, own, source.texts(used[part])), offset=first.offset)
        for part, own in whole.formats.items()
    )
    return TimeColumns(tuple(used.values()), whole.times, tuple(formats))


def _calendar(source: TimeSource, at: dict[str, int]) -> Parts | None:
    """The days, weeks or months of a year and what stands beside it."""
    years = whole_numbers(source, at["year"], 0, 2500)
    if years is None or ((years > 99) & (years < 1500)).any():
        return None
    short = bool((years < 100).all())
    years = np.where(years < 100, np.where(years < 70, years + 2000, years + 1900), years)
    begin, year = (years - 1970).astype("M8[Y]"), {"year": TimeFormat("%y" if short else "%Y")}
    if (found := _months(source, at)) is not None:
        return _with_days(source, at, year, begin, found)
    if (of_year := _days_of_year(source, at, begin)) is not None:
        return Parts(of_year[0], {**year, "doy": of_year[1]})
    if "day" not in at and not short and (weeks := _weeks(source, at, begin)) is not None:
        return Parts(weeks, {"year": TimeFormat("%G"), "week": TimeFormat("%V")})
    return None


def _with_days(
    source: TimeSource,
    at: dict[str, int],
    year: dict[str, TimeFormat],
    begin: TimeArray,
    found: tuple[str, IntArray, TimeFormat],
) -> Parts | None:
    """The months of their years, with the day of the month if there is one."""
    part, months, form = found
    stamps = begin.astype("M8[M]") + months
    times, formats = stamps.astype("M8[ns]"), {**year, part: form}
    if "day" in at and part == "month":
        if (of_month := whole_numbers(source, at["day"], 1, 31)) is None:
            return None
        times = (stamps.astype("M8[D]") + (of_month - 1)).astype("M8[ns]")
        formats["day"] = TimeFormat("%d")
    if "doy" in at:
        formats["doy"] = TimeFormat("%j")
    return Parts(times, formats)


def _with_clock(source: TimeSource, at: dict[str, int], day: Parts) -> Parts:
    """Days with the hour, minute and second beside them, or a clock such as 18:00 where there is no hour."""
    times, formats = day.times, dict(day.formats)
    if "doy" in formats and formats["doy"].unit:  # its decimals are the clock
        return day
    latest = 0
    for part, pattern in CLOCKS.items():
        if part not in at or (part == "minute" and "hour" not in formats):
            continue
        clock = whole_numbers(source, at[part], 0, HIGHEST[part])
        if clock is None:
            continue
        seconds = clock // 100 * 3600 + clock % 100 * 60 if part == "hhmm" else clock * SIZES[part]
        times = times + (seconds * 10**9).astype("m8[ns]")
        latest = max(latest, int(seconds.max()))
        formats[part] = TimeFormat(pattern)
    for part in formats.keys() & {"hour", "hhmm"}:
        formats[part] = replace(formats[part], midnight_24=latest >= 24 * 3600)
    alone = "day" in formats and not formats.keys() & {"hour", "hhmm"}
    if alone and (clocks := _clocks(source, at)) is not None:
        times, formats["clock"] = times + clocks[0], clocks[1]
    return Parts(times, formats)


def _as_written(part: str, form: TimeFormat, texts: Sequence[str]) -> TimeFormat:
    """The format of a part, without leading zeros if the column has none."""
    width = min((len(text) for text in texts[:5000] if text), default=0)
    if part in ("date", "clock") or form.unit or width >= {"hhmm": 4, "doy": 3}.get(part, 2):
        return form
    return replace(form, bare=frozenset("mdHMSjyV"), strip=part == "hhmm")


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
    read = read_clocks(texts)
    return None if read is None else (read.times - np.datetime64(0, "ns"), read.format)
