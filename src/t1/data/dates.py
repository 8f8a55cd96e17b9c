"""Dates: read a column of them, a single one, or a span; whatever names a time zone becomes UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t1.arrays import TimeArray
from t1.data.date_patterns import COMPACT, YEAR_FIRST, YEAR_LAST, Pattern, parse, patterns, style, zone_offset
from t1.data.julian_days import from_day_counts, says_julian
from t1.data.periods import roman_periods
from t1.data.time_format import DAY, DAY_COUNTS, UNITS, TimeFormat, shifted, shorter_forms
from t1.errors import InputError

DATED = re.compile(r"date|time|day|datum|fecha|jour|tag(?![a-z])", re.IGNORECASE)  # a name that says when
EPOCH_NAME = re.compile(r"^ts$|time|epoch|unix|date")  # of numbers as large as epochs
TIME_NAMES = frozenset(
    [
        "time",
        "date",
        "timestamp",
        "datetime",
        "date_time",
        "time_stamp",
        "ds",
        "timestamp_utc",
        "datetime_utc",
        "time_utc",
        "date_utc",
        "datum",
        "zeit",
        "zeitstempel",
        "datum_zeit",
        "fecha",
        "fecha_hora",
        "data_hora",
        "horodatage",
        "valid_time",
        "obs_time",
        "date_time_utc",
        "utc_time",
        "utc_timestamp",
        "local_time",
        "measured_at",
        "created_at",
        "recorded_at",
        "observation_period",
        "time_period",
        "mess_datum",
        "decimal_date",
        "decimal_year",
        "yyyymmdd",
    ]
)
YEAR_MONTH = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])")  # 200401
INTERVAL = re.compile(r"(?P<start>.*\d{1,2}:\d{2}.*?)(?P<between> ?/ ?| ?[-–] | to | bis )(?P<end>.*\d.*)")
NAT = np.datetime64("NaT", "ns")
SOME = 1000  # rows that tell which patterns are worth trying
MOST_FORMS = 3  # ways to write a column that are tried: with a clock, with seconds, with a fraction


@dataclass(frozen=True)
class Dates:
    """A column's dates in UTC, NaT where a cell is none."""

    times: TimeArray  # (rows,)
    format: TimeFormat
    note: str = ""  # how an ambiguous order of day and month was decided


def is_time_name(name: str) -> bool:
    """Whether a column is called date, Timestamp, Date/Time and the like."""
    return re.sub(r"[^a-z]+", "_", name.lower()).strip("_") in TIME_NAMES


def may_be_a_code(pattern: str, name: str) -> bool:
    """Whether what reads like a day of a year, 2023-045, may as well be the number of an order or a sample."""
    said = is_time_name(name) or says_julian(name) or DATED.search(name)
    return pattern == "%Y-%j" and not said


def looks_like_dates(texts: Sequence[str]) -> bool:
    """Whether a few cells are all dates: a quick look before the whole column is read."""
    return bool(texts) and not np.isnat(read_dates(texts).times).any()


def read_dates(texts: Sequence[str], *, day_first: bool | None = None, pattern: str | None = None) -> Dates:
    """Read dates in one format for the whole column: the one that explains most cells.

    Where 01/02/2020 could be both 1 February and 2 January throughout, the order that makes the steps regular
    is taken. `day_first` decides instead; `pattern` is a strptime pattern that leaves nothing open.
    """
    texts = [text.strip() for text in texts]
    sample = next((text for text in texts if text), "")
    if pattern is not None:
        times = parse(texts, pattern, "")
        return Dates(
            times, style(texts, times, pattern, "") if not np.isnat(times).all() else TimeFormat(pattern)
        )
    if (interval := INTERVAL.fullmatch(sample)) and looks_like_dates([interval["start"]]):
        return _read_intervals(texts, interval["between"], day_first)
    if (roman := roman_periods(texts)) is not None:
        dates = read_dates(roman)
        bare = re.sub("[SQM](?=%[hqm])", "", dates.format.pattern)
        return replace(dates, format=replace(dates.format, pattern=bare, roman=True, bare=frozenset()))
    found = [_read_in(texts, *each) for each in _likely(texts, patterns(sample, day_first))]
    for _ in range(MOST_FORMS):
        # the first cell may lack what others have: a clock, seconds, fractions of one
        unread = _first_unread(texts, found)
        longer = [_read_in(texts, *each) for each in patterns(unread, day_first)] if unread else []
        if not longer or max(one.count for one in longer) <= max((one.count for one in found), default=0):
            break
        found = longer
    most = max((one.count for one in found), default=0)
    if not most:
        return Dates(np.full(len(texts), NAT), TimeFormat())
    best = _without_years_first([one for one in found if one.count == most])
    note = "year first, which makes the steps regular" if best[0].pattern.startswith("%y") else ""
    if len(best) > 1:
        note = "day first" if best[0].day_first else "month first"
        if regularity(best[1].times) > regularity(best[0].times):
            best.reverse()
            note = f"{'month' if note == 'day first' else 'day'} first, which makes the steps regular"
        else:
            dotted = (
                "." in best[0].pattern.split(" ")[0]
            )  # 01.02.2020 has the day first wherever it is written
            note = "" if dotted and day_first is None else f"{note} (both orders are possible)"
    one = best[0]
    form = style(texts, one.times, one.pattern, one.suffix)
    times = _in_one_run(one.times) if "%y" in one.pattern else one.times
    return Dates(times, replace(form, shorter=one.shorter), note)


def _in_one_run(times: TimeArray) -> TimeArray:
    """Times of two digits of a year, taken for 1969 to 2068: from 1920 on where that makes steps more regular."""
    month = times.astype("M8[M]")
    late = month >= np.datetime64("2020-01")
    if not late.any() or not (month < np.datetime64("2000-01")).any():
        return times
    earlier = np.where(late, (month - 1200).astype("M8[ns]") + (times - month.astype("M8[ns]")), times)
    return earlier if regularity(earlier) > regularity(times) else times


@dataclass(frozen=True)
class _Guess:
    """A column's dates in one pattern."""

    times: TimeArray
    pattern: str
    suffix: str
    shorter: tuple[str, ...]  # patterns of cells that leave out a clock, seconds or a fraction that is zero

    @property
    def count(self) -> int:
        return int((~np.isnat(self.times)).sum())

    @property
    def day_first(self) -> bool:
        return self.pattern.index("%d") < self.pattern.index("%m")


def _likely(texts: Sequence[str], every: list[Pattern]) -> list[Pattern]:
    """The patterns to try: of a long column one with two digits of a year in front only if some of the rows say so."""
    others = [each for each in every if not each[0].startswith("%y")]
    if len(texts) < 2 * SOME or len(others) in (0, len(every)):
        return every
    some = read_dates(texts[:: len(texts) // SOME])
    return every if some.format.pattern.startswith("%y") else others


def _without_years_first(best: list[_Guess]) -> list[_Guess]:
    """Of dates such as 24/01/31 those with the year in front, if nothing else is as regular; else the others."""
    years = [one for one in best if one.pattern.startswith("%y")]
    others = [one for one in best if not one.pattern.startswith("%y")]
    if not years or not others:
        return best
    return years if regularity(years[0].times) > max(regularity(one.times) for one in others) else others


def _first_unread(texts: Sequence[str], found: Sequence[_Guess]) -> str:
    """The first cell that the best guess so far does not read; empty if there is none."""
    best = max(found, key=lambda one: one.count, default=None)
    if best is None:
        return next((text for text in texts if ":" in text), "")
    return next((texts[i] for i in np.flatnonzero(np.isnat(best.times)).tolist() if texts[i]), "")


def _read_in(texts: Sequence[str], pattern: str, suffix: str) -> _Guess:
    """The dates of a pattern, and of what is left of it without a clock, seconds or a fraction: they are zero."""
    times, shorter = parse(texts, pattern, suffix), []
    for form, unit in shorter_forms(pattern):
        bad = np.flatnonzero(np.isnat(times)).tolist()
        if not bad:
            break
        left = [texts[i] for i in bad]
        dated = "%H" not in form and "%I" not in form
        more = shifted(parse(left, form, ""), -zone_offset(suffix)) if dated else parse(left, form, suffix)
        if np.isnat(more).all():
            continue
        local = shifted(times, zone_offset(suffix))
        if not (local == local.astype(unit)).any():  # no cell writes the zero
            shorter.append(form)
        times = times.copy()
        times[bad] = more
    return _Guess(times, pattern, suffix, tuple(shorter))


def regularity(times: TimeArray) -> tuple[float, float]:
    """How regular time stamps are: the share of their usual step, then how rarely the file steps back."""
    stamps = np.unique(times[~np.isnat(times)])
    if len(stamps) < 3:
        return 0.0, 0.0
    steps = np.diff(stamps).astype("i8")
    if steps.min() >= 27 * DAY:
        month = stamps.astype("M8[M]")
        if len(np.unique(stamps - month.astype("M8[ns]"))) == 1:
            steps = np.diff(month.astype("i8"))
    _, counts = np.unique(steps, return_counts=True)
    forward = float((np.diff(times.astype("i8")) >= 0).mean())
    return round(float(counts.max()) / len(steps), 3), round(forward, 3)


def parse_time(text: str, like: TimeFormat | None = None) -> np.datetime64:
    """One time, read as the column would read it: 05.01.2024 is 5 January where days come first.

    >>> parse_time("05/01/2024", TimeFormat("%d/%m/%Y %H:%M"))
    np.datetime64('2024-01-05T00:00:00.000000000')
    """
    return _moment(text.strip(), like)[0]


def parse_span(
    text: str, format: TimeFormat | None = None
) -> tuple[np.datetime64 | None, np.datetime64 | None]:
    """A span START..END, both included; either may be left out. An end without a clock ends with its day.

    >>> parse_span("05.01.2024..06.01.2024", TimeFormat("%d.%m.%Y %H:%M"))[1]
    np.datetime64('2024-01-06T23:59:59.999999999')
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise InputError(f"{text!r} is no span.", cure="Give START..END; one of them may be left out.")
    start = parse_time(first, format) if first.strip() else None
    if not last.strip():
        return start, None
    moment, length = _moment(last.strip(), format)
    end = moment + length - np.timedelta64(1, "ns") if length else moment
    if start is not None and start > end:
        raise InputError(f"the span {text!r} ends before it starts.", cure="Swap the two.")
    return start, end


def _moment(text: str, like: TimeFormat | None) -> tuple[np.datetime64, np.timedelta64]:
    """A time in UTC, and how long the unit is that was written: a day for a date, nothing for a clock."""
    like = like or TimeFormat()
    nothing = np.timedelta64(0, "ns")
    if like.unit in (*UNITS, "step") and re.fullmatch(r"[-+]?\d+(\.\d+)?", text):
        return np.datetime64(round(float(text) * UNITS.get(like.unit, 10**9)), "ns"), nothing
    if like.unit in DAY_COUNTS and re.fullmatch(r"\d+(\.\d+)?", text) and len(text) > 4:
        length = nothing if "." in text else np.timedelta64(DAY, "ns")
        return from_day_counts(np.array([float(text)]), like.unit, like.fraction)[0], length
    if like.pattern == "%Y%m" and YEAR_MONTH.fullmatch(text):
        text = f"{text[:4]}-{text[4:]}"
    for unit, shape in (("M8[Y]", r"\d{4}"), ("M8[M]", r"\d{4}-(0[1-9]|1[0-2])")):
        if re.fullmatch(shape, text):
            begin = np.datetime64(text).astype(unit)
            length = (begin + 1).astype("M8[ns]") - begin.astype("M8[ns]")
            return begin.astype("M8[ns]") - np.timedelta64(like.offset, "ns"), length
    dates = read_dates([text], day_first=like.day_first)
    if np.isnat(dates.times[0]):
        raise InputError(
            f"{text!r} is not a time.",
            cure="Write it as the table does, or as in 2024-01-31 or 2024-01-31 12:00.",
        )
    time = dates.times[0]
    if not dates.format.suffix:  # no zone of its own: it is meant in the file's
        time = time - np.timedelta64(like.offset, "ns")
    match = YEAR_FIRST.fullmatch(text) or YEAR_LAST.fullmatch(text) or COMPACT.fullmatch(text)
    has_clock = (
        match["gap"] is not None if match else "%H" in dates.format.pattern or "%I" in dates.format.pattern
    )
    return time, nothing if has_clock else np.timedelta64(DAY, "ns")


def _read_intervals(texts: Sequence[str], between: str, day_first: bool | None) -> Dates:
    """The starts of intervals such as 06.05.2024 21:00 - 06.05.2024 22:00; the end may be a clock alone."""
    parts = [text.partition(between) for text in texts]
    dates = read_dates([start for start, _, _ in parts], day_first=day_first)
    if np.isnat(dates.times).any():
        return dates
    ends, end = [last for _, _, last in parts], ""
    if all(re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", last) for last in ends):
        end = "%H:%M:%S" if ends[0].count(":") == 2 else "%H:%M"
        days = shifted(dates.times, dates.format.offset).astype("M8[D]").astype(str)
        ends = [f"{day} {last}" for day, last in zip(days.tolist(), ends, strict=True)]
        stops = shifted(read_dates(ends).times, -dates.format.offset)
    else:
        stops = read_dates(ends, day_first=dates.format.day_first).times
    if np.isnat(stops).any():
        return Dates(np.where(np.isnat(stops), NAT, dates.times), dates.format)
    lengths = np.asarray(stops - dates.times).astype("i8") % (DAY if end else 2**62)
    form = replace(dates.format, span=int(np.median(lengths)), between=between, end=end)
    return replace(dates, format=form)
