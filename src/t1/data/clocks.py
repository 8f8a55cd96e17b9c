"""The clock of dates that have none: 18:00 in another column, an hour, or the number of a part of the day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t1.arrays import AnyArray, IntArray, TimeArray
from t1.data.date_parts import compose
from t1.data.dates import Dates, read_dates, regularity
from t1.data.ids import is_id_name
from t1.data.time_columns import (
    CLOCK,
    TimeColumns,
    TimeSource,
    assign,
    join,
    part_of,
    whole_numbers,
)
from t1.data.time_format import DAY, TimeFormat, shifted
from t1.errors import InputError

# 00-01, 00:00 - 01:00: an hour from its beginning to its end
RANGE = re.compile(
    r"(?P<start>\d{1,2}(?P<minute>:\d{2})?)(?P<between>\s*(?:[-–—/]|to|bis|à)\s*)(?P<end>\d{1,2}(?(minute):\d{2}))"
)
HOURS = re.compile(r"(?P<H>\d{1,2})(?P<gap> ?)(?:h(?P<M>\d{2})?|(?P<half>[AaPp][Mm]))")  # 0h30, 09 h, 12 AM
AUTUMN = re.compile(r"(\d{1,2}:\d{2}(?::\d{2})?) ?[AB]")  # the hour that comes twice: 02:00A, 02:00B
SELDOM = 0.1  # of the rows at most are of it
OWN_CLOCK = re.compile(r"[T ]\d{1,2}[:.]\d{2}.*")  # behind a date
PART_NAME = re.compile(
    r"hour|period|interval|slot|block|stunde|hora\b|heure|uur|(?<![a-z])(h[eb]|hr|sp|ptu|mtu)(?![a-z])",
    re.IGNORECASE,
)
SINCE_MIDNIGHT = re.compile(
    r"(sec|min)(ond|ute)?s?[ _]?(of|in|since)[ _]?(the[ _]?)?(day|midnight)", re.IGNORECASE
)
HOUR = DAY // 24
USUAL_PARTS = {DAY: (24, 48, 96, 144, 288, 1440), HOUR: (4, 6, 12, 60)}  # where the name does not tell
BESIDE = 8  # columns that are looked at, the nearest first
FULL = 0.75  # of all numbered parts must be there: rows may be absent


def combine(
    source: TimeSource, at: Sequence[int], *, day_first: bool | None, pattern: str | None
) -> TimeColumns | None:
    """Columns that the user names together: a date and a clock, or the parts of a date by their names."""
    parts = [part_of(source.names[j]) for j in at]
    if "year" in parts:
        found = compose(source, assign(source.names, at))
        if found is not None:
            return found
    for order in (at, at[::-1]):  # a clock may stand before its date
        dates = read_dates(source.texts(order[0]), day_first=day_first)
        if pattern is None and not np.isnat(dates.times).any():
            found = find_clock(source, order[0], dates, beside=order[1:], named=True)
            if found is not None:
                return found
        found = join(source, order, day_first=day_first, pattern=pattern)
        if found is not None:
            return found
    return None


def combined(
    source: TimeSource, at: Sequence[int], *, day_first: bool | None = None, pattern: str | None = None
) -> TimeColumns:
    """The same; raises InputError where they are no time."""
    found = combine(source, at, day_first=day_first, pattern=pattern)
    if found is None:
        raise InputError(
            f"{' and '.join(source.names[j] for j in at)} together are no time.",
            cure="Name a date and a clock, or year, month, day and hour.",
            option="time",
        )
    return found


def find_clock(
    source: TimeSource,
    date: int,
    dates: Dates,
    *,
    beside: Sequence[int] | None = None,
    named: bool = False,
) -> TimeColumns | None:
    """The clock beside a column of dates, if these have none of their own or always midnight's.

    With `named` the columns `beside` are what the user says, so that their names need not tell. Where day and
    month can be read both ways, the clock helps: hours of ten days in a row are more regular than of ten months.
    """
    found = _clock_of(source, date, dates, beside, named=named)
    if found is not None and not named and _only_blurs(found.times, dates.times):
        return None
    if found is None or not dates.note:
        return found
    other = read_dates(source.texts(date), day_first=not dates.format.day_first)
    swapped = _clock_of(source, date, other, beside, named=named)
    if swapped is None or regularity(swapped.times) <= regularity(found.times):
        return found
    first = "day" if other.format.day_first else "month"
    return replace(swapped, note=f"{first} first, which makes the steps regular")


def _clock_of(
    source: TimeSource, date: int, dates: Dates, beside: Sequence[int] | None, *, named: bool
) -> TimeColumns | None:
    """The clock beside dates that are read in one order of day and month."""
    local = shifted(dates.times, dates.format.offset)
    if dates.format.unit not in ("", "excel day") or dates.format.span:
        return None
    if np.isnat(local).any() or (local != local.astype("M8[D]")).any():
        return None
    if beside is None:
        others = (j for j in range(len(source.names)) if j != date)
        beside = sorted(others, key=lambda j: abs(j - date))[:BESIDE]
    for j in beside:
        if source.numbers(j) is None:
            texts = source.texts(j)
            if texts and all(CLOCK.fullmatch(text) for text in texts):
                return _with_texts(source, (date, j), dates)
            if texts and (plain := _without_letters(texts)) is not None:
                same = _with_column(source, j, plain)
                return _with_texts(same, (date, j), dates)
            if texts and all(RANGE.fullmatch(text) for text in texts):
                return _with_ranges(source, (date, j), dates)
            if texts and all(HOURS.fullmatch(text) for text in texts):
                return _with_hours(source, (date, j), dates)
        elif (clocks := _six_digits(source, j)) is not None:
            found = _with_texts(_with_column(source, j, clocks), (date, j), dates)
            strip = any(len(text) < 6 for text in source.texts(j))
            own = None if found is None else replace(found.formats[1], pattern="%H%M%S", strip=strip)
            return None if found is None or own is None else replace(found, formats=(found.formats[0], own))
        elif part_of(source.names[j]) in ("hour", "hhmm", "clock") or _is_padded(source, j):
            which = "hhmm" if _is_hhmm(source, j) else "hour"
            found = compose(source, {"date": date, which: j}, dates)
            if found is not None and len(found.at) > 1:
                return _finer(source, found, beside, named=named)
    for j in beside:
        if (
            found := _since_midnight(
                source, TimeColumns((date,), dates.times, (dates.format,), dates.note), j
            )
        ) is not None:
            return found
    for j in beside:
        found = _with_parts(source, TimeColumns((date,), dates.times, (dates.format,)), j, DAY, named=named)
        if found is not None:
            return _finer(source, found, beside, named=named)
    return None


def _with_texts(source: TimeSource, at: tuple[int, int], dates: Dates) -> TimeColumns | None:
    """A date and a clock read as one text; a midnight that stands behind the date is taken off first."""

    def texts(j: int) -> list[str]:
        given = source.texts(j)
        return [OWN_CLOCK.sub("", text) for text in given] if j == at[0] else given

    bare = replace(source, texts=texts)
    found = join(bare, at, day_first=dates.format.day_first, pattern=None)
    if found is None:
        return None
    offset = dates.format.offset
    clock = replace(found.formats[1], offset=offset)
    form = replace(dates.format, midnight=True)
    return replace(found, times=shifted(found.times, -offset), formats=(form, clock), note=dates.note)


def _with_ranges(source: TimeSource, at: tuple[int, int], dates: Dates) -> TimeColumns | None:
    """Dates with the beginnings of ranges such as 00-01; a row that is added gets its range as well."""
    ranges = [RANGE.fullmatch(text) for text in source.texts(at[1])]
    found = [each for each in ranges if each is not None]
    minutes = [tuple(map(_minutes, (each["start"], each["end"]))) for each in found]
    lengths = [(end - start) % (24 * 60) for start, end in minutes]
    if not all(lengths):
        return None
    starts = [each["start"] if each["minute"] else f"{each['start']}:00" for each in found]
    begun = replace(source, texts=lambda j: starts if j == at[1] else source.texts(j))
    joined = _with_texts(begun, at, dates)
    if joined is None:
        return None
    clock = replace(
        joined.formats[1],
        pattern="%H:%M" if found[0]["minute"] else "%H",
        span=int(np.median(lengths)) * 60 * 10**9,
        between=found[0]["between"],
        end_24=any(end == 24 * 60 for _, end in minutes),
    )
    return replace(joined, formats=(joined.formats[0], clock))


def _with_hours(source: TimeSource, at: tuple[int, int], dates: Dates) -> TimeColumns | None:
    """Dates with hours such as 0h30, 09 h or 12 AM."""
    hours = [each for text in source.texts(at[1]) if (each := HOURS.fullmatch(text)) is not None]
    clocks = [
        f"{each['H']}:{each['M'] or '00'}{' ' * bool(each['half'])}{each['half'] or ''}" for each in hours
    ]
    plain = replace(source, texts=lambda j: clocks if j == at[1] else source.texts(j))
    joined, first = _with_texts(plain, at, dates), hours[0]
    if joined is None or len({(each["M"] is None, each["half"] is None) for each in hours}) > 1:
        return None
    pattern = f"%I{first['gap']}%p" if first["half"] else f"%H{first['gap']}h{'%M' if first['M'] else ''}"
    return replace(joined, formats=(joined.formats[0], replace(joined.formats[1], pattern=pattern)))


def _minutes(clock: str) -> int:
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes or 0)


def _finer(source: TimeSource, found: TimeColumns, beside: Sequence[int], *, named: bool) -> TimeColumns:
    """The same with the minute, or the part of the hour, where hours repeat without it."""
    if len(found.at) < 2 or _distinct(found.times) == len(found.times):
        return found
    for j in beside:
        if j in found.at:
            continue
        minutes = whole_numbers(source, j, 0, 59) if part_of(source.names[j]) == "minute" else None
        if minutes is not None and (found.times == found.times.astype("M8[h]")).all():
            times = found.times + (minutes * 60 * 10**9).astype("m8[ns]")
            texts = source.texts(j)[:5000]
            bare = frozenset("M") if min(map(len, texts)) < 2 else frozenset()
            own = TimeFormat("%M", bare=bare, offset=found.format.offset)
            return replace(found, at=(*found.at, j), times=times, formats=(*found.formats, own))
        finer = _with_parts(source, found, j, HOUR, named=named)
        if finer is not None:
            return finer
    return found


def _with_parts(
    source: TimeSource, found: TimeColumns, j: int, whole: int, *, named: bool
) -> TimeColumns | None:
    """Times with the numbered part of their day or hour: a column that runs from 0 or 1 to n in each of them."""
    numbers = whole_numbers(source, j, 0, 1600)
    if numbers is None or numbers.min() > 1 or _distinct(found.times) == len(numbers):
        return None
    first, told = int(numbers.min()), named or PART_NAME.search(source.names[j]) is not None
    n_parts = _count_parts(found.times, numbers - first, whole)
    if n_parts is None or (not told and (n_parts not in USUAL_PARTS[whole] or is_id_name(source.names[j]))):
        return None
    length = whole // n_parts
    times = found.times + ((numbers - first) * length).astype("m8[ns]")
    if not told and _distinct(times) < len(times):
        return None
    own = TimeFormat(unit="part", part=(length, whole, first), offset=found.format.offset)
    formats = (replace(found.formats[0], midnight=True), *found.formats[1:])
    return TimeColumns((*found.at, j), times, (*formats, own), found.note)


def _since_midnight(source: TimeSource, found: TimeColumns, j: int) -> TimeColumns | None:
    """Dates with the seconds or minutes of their day in a column that is called so."""
    unit = SINCE_MIDNIGHT.search(source.names[j])
    length = {"s": DAY // 86_400, "m": DAY // 1440}[unit[1][0].lower()] if unit else DAY
    counts = whole_numbers(source, j, 0, DAY // length) if unit else None
    if counts is None:
        return None
    own = TimeFormat(unit="part", part=(length, DAY, 0), offset=found.format.offset)
    formats = (replace(found.formats[0], midnight=True), own)
    return TimeColumns((*found.at, j), found.times + (counts * length).astype("m8[ns]"), formats, found.note)


def _count_parts(times: TimeArray, numbers: IntArray, whole: int) -> int | None:
    """Into how many parts days or hours are divided, if numbers from 0 on run through all of them."""
    _, days = np.unique(times, return_inverse=True)
    highest = np.zeros(days.max() + 1, dtype=np.int64)
    np.maximum.at(highest, days, numbers)
    kinds, counts = np.unique(highest, return_counts=True)
    n_parts = int(kinds[counts.argmax()]) + 1
    # a day of 25 hours has one part more, and where clocks go forward one lacks
    if n_parts < 2 or whole % n_parts or numbers.max() >= n_parts * 1.1:
        return None
    pairs = np.unique(days * (int(numbers.max()) + 1) + numbers)
    inner = max(len(highest) - 2, 0)  # the first and the last day may be cut
    needed = FULL * n_parts * inner if inner else n_parts
    return n_parts if len(pairs) >= needed else None


def _only_blurs(times: TimeArray, dates: TimeArray) -> bool:
    """Whether dates are apart without a clock that changes and makes them no more regular: sunset, or of a minimum."""
    if _distinct(dates) < len(dates) or _distinct(times - dates) == 1:
        return False
    return regularity(times) <= regularity(dates)


def _distinct(times: AnyArray) -> int:
    return len(np.unique(times))


def _with_column(source: TimeSource, at: int, texts: list[str]) -> TimeSource:
    """The same columns, one of them with other cells."""
    return replace(source, texts=lambda j: texts if j == at else source.texts(j))


def _without_letters(texts: Sequence[str]) -> list[str] | None:
    """Clocks without the letter that tells the two hours of autumn apart; None where it is no such column."""
    plain = [AUTUMN.sub(r"\1", text) for text in texts]
    seldom = sum(a != b for a, b in zip(plain, texts, strict=True)) <= SELDOM * len(texts)
    return plain if seldom and all(CLOCK.fullmatch(text) for text in plain) else None


def _six_digits(source: TimeSource, j: int) -> list[str] | None:
    """The clocks of numbers such as 093000, if all have six digits or the column is called time; None otherwise."""
    numbers = whole_numbers(source, j, 0, 235_959)
    if numbers is None or numbers.max() <= 2400:
        return None
    hours, minutes, seconds = numbers // 10_000, numbers // 100 % 100, numbers % 100
    told = part_of(source.names[j]) in ("clock", "hhmm") or all(len(text) == 6 for text in source.texts(j))
    if not told or minutes.max() > 59 or seconds.max() > 59:
        return None
    parts = zip(hours.tolist(), minutes.tolist(), seconds.tolist(), strict=True)
    return [f"{hour:02}:{minute:02}:{second:02}" for hour, minute, second in parts]


def _is_padded(source: TimeSource, j: int) -> bool:
    """Whether numbers are clocks without a colon, all of four digits: 0000, 0030, 2330."""
    first = source.texts(j)[:1]
    if not first or not re.fullmatch(r"[01]\d[0-5]\d|2[0-4][0-5]\d", first[0]) or not _is_hhmm(source, j):
        return False
    return all(re.fullmatch(r"\d{4}", text) for text in source.texts(j))


def _is_hhmm(source: TimeSource, j: int) -> bool:
    numbers = source.numbers(j)
    return numbers is not None and bool(np.nanmax(numbers) >= 100 and (numbers % 100 < 60).all())
