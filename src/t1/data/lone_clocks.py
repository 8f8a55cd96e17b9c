"""A clock without a date (23:50, 00:00), and hours since a beginning (47:15): days are counted from the first row.

Nothing is taken for a time unless it is called so and runs forward; where a new day may as well be another series,
the rows stay in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from t1.arrays import AnyArray, BoolArray, IntArray
from t1.data.dates import is_time_name
from t1.data.ids import VARIABLES, is_id_name
from t1.data.time_columns import CLOCK, TimeColumns, TimeSource, part_of, read_clocks, whole_numbers
from t1.data.time_format import DAY, TimeFormat

ELAPSED = re.compile(r"(?P<H>\d{1,4}):(?P<M>[0-5]\d)(?P<sec>:(?P<S>[0-5]\d))?")
CALENDAR = ("year", "month", "quarter", "week", "doy", "date")
BESIDE = 8  # columns that are asked whether they tell series apart


@dataclass(frozen=True)
class LoneClock:
    """A clock that stands alone, and what to say of it."""

    time: TimeColumns
    said: str


def find_lone_clock(source: TimeSource, free: Sequence[int], *, named: bool = False) -> LoneClock | None:
    """The first column that is a clock by its name and its cells, if no other column knows the date.

    With `named` the user says that it is the time, so that its name need not tell.
    """
    called = [j for j in free if named or _is_clock_name(source.names[j])]
    found = next((j for j in called if source.numbers(j) is None and _are_clocks(source.texts(j))), None)
    if found is None or any(part_of(name) in CALENDAR for name in source.names):
        return None
    if not all(_are_clocks(source.texts(j)) for j in free if is_time_name(source.names[j])):
        return None  # a date that could not be read
    stamps, form = _stamps(source.texts(found))
    blocks = _blocks(source, found)
    back = np.append(False, np.diff(stamps) < 0)
    if form.unit:
        if (back & ~blocks).any():
            return None
        days, said = np.zeros_like(stamps), "taken for hours and minutes since a beginning"
    else:
        counted = _count_days(stamps, back, blocks)
        if counted is None or _may_be_series(source, found, back & ~blocks) or not _agrees(source, counted):
            return None
        days = counted
        said = "a clock without a date" + ("; days are counted from the first row" if days.any() else "")
    times = np.asarray(stamps + days * DAY).astype("M8[ns]")
    return LoneClock(TimeColumns((found,), times, (form,), whole=True), f"{source.names[found]!r} is {said}")


def _is_clock_name(name: str) -> bool:
    return is_time_name(name) or part_of(name) in ("clock", "hour", "hhmm") or "elapsed" in name.lower()


def _are_clocks(texts: Sequence[str]) -> bool:
    return len(texts) > 2 and all(CLOCK.fullmatch(text) or ELAPSED.fullmatch(text) for text in texts)


def _stamps(texts: Sequence[str]) -> tuple[IntArray, TimeFormat]:
    """Nanoseconds since midnight, or since a beginning where hours go beyond 24; and how they are written."""
    if (read := read_clocks(texts)) is not None:
        return read.times.astype("i8"), read.format
    parts = [match for text in texts if (match := ELAPSED.fullmatch(text))]
    seconds = [int(p["H"]) * 3600 + int(p["M"]) * 60 + int(p["S"] or 0) for p in parts]
    bare = frozenset("H") if min(len(p["H"]) for p in parts) < 2 else frozenset()
    pattern = "%H:%M:%S" if parts[0]["sec"] else "%H:%M"
    return np.array(seconds, dtype=np.int64) * 10**9, TimeFormat(pattern, unit="elapsed", bare=bare)


def _count_days(stamps: IntArray, back: BoolArray, blocks: BoolArray) -> IntArray | None:
    """How many midnights each row is behind the first of its block; None where clocks do not just run forward."""
    ahead = np.diff(stamps) % DAY
    if (ahead[~blocks[1:]] >= DAY // 2).any():  # a step back of a minute is no day less a minute
        return None
    passed = np.cumsum(back & ~blocks)
    begin = np.maximum.accumulate(np.where(blocks, np.arange(len(stamps)), 0))
    return np.asarray(passed - passed[begin])


def _blocks(source: TimeSource, clock: int) -> BoolArray:
    """Where a new series begins, if each has its rows together: by one or two columns called an id or a variable."""
    codes = [
        _codes(source.texts(j))
        for j in _beside(source, clock)
        if is_id_name(source.names[j]) or VARIABLES.fullmatch(source.names[j].strip())
    ]
    for some in (*combinations(codes, 2), *combinations(codes, 1)):
        key = pd.factorize(some[0] * (some[-1].max() + 1) + some[-1])[0]
        begins = np.append(True, np.diff(key) != 0)
        if begins.sum() == key.max() + 1 and 3 * begins.sum() <= len(key):
            return begins
    return np.append(True, np.zeros(len(source.texts(clock)) - 1, dtype=bool))


def _may_be_series(source: TimeSource, clock: int, new_day: BoolArray) -> bool:
    """Whether a column of text changes at midnights only: it may name the series that begins there, or the day."""
    for j in _beside(source, clock) if new_day.any() else ():
        if source.numbers(j) is None:
            changes = np.append(False, np.diff(_codes(source.texts(j))) != 0)
            if changes.any() and not (changes & ~new_day).any():
                return True
    return False


def _agrees(source: TimeSource, days: IntArray) -> bool:
    """Whether a number called day goes up with the days that were counted, if there is one."""
    for j, name in enumerate(source.names):
        if part_of(name) == "day":
            given = whole_numbers(source, j, 0, 10**6)
            if given is None or (np.diff(given) != np.diff(days)).any():
                return False
    return True


def _beside(source: TimeSource, at: int) -> list[int]:
    others = (j for j in range(len(source.names)) if j != at)
    return sorted(others, key=lambda j: abs(j - at))[:BESIDE]


def _codes(texts: Sequence[str]) -> AnyArray:
    return pd.factorize(np.array(texts, dtype=object))[0].astype(np.int64)
