"""Which columns of a text table say when: those the user names, or what is named or written like a time."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from t1.arrays import BoolArray, FloatArray
from t1.data.clocks import combine, find_clock
from t1.data.date_parts import are_told_apart, find_parts
from t1.data.dates import (
    EPOCH_NAME,
    Dates,
    is_time_name,
    looks_like_dates,
    may_be_a_code,
    read_dates,
)
from t1.data.julian_days import says_julian
from t1.data.lone_clocks import find_lone_clock
from t1.data.numeric_dates import read_numeric_dates
from t1.data.time_columns import TimeColumns
from t1.data.time_format import DAY_COUNTS, TimeFormat
from t1.errors import InputError

if TYPE_CHECKING:
    from t1.data.csv.columns import TextSheet

COUNT_NAMES = ("t", "elapsed", "elapsed_time", "time_s", "time (s)", "time [s]", "seconds", "t (s)", "t [s]")
STAMP = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-4])([0-5]\d([0-5]\d)?)?")
DATED = re.compile(r"dat(e|um|a)?(?![a-z])|day|tag(?![a-z])|fecha|jour|ymd", re.IGNORECASE)
DAYS = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


class TimeFinder:
    """Looks for the time among the columns of a table that is being read."""

    def __init__(self, sheet: TextSheet) -> None:
        self.sheet = sheet

    def find(self) -> TimeColumns | None:
        """The columns that say when: those the user named, or what is named or written like a time."""
        if self.sheet.choice.time:
            return self._explicit_time(self.sheet.choice.time)
        free = [
            j
            for j in range(len(self.sheet.names))
            if j not in self.sheet.choice.id
            and not (self.sheet.choice.named and j in self.sheet.choice.wanted)
        ]
        named = [j for j in free if is_time_name(self.sheet.names[j])]
        others = [
            j for j in np.flatnonzero(self.sheet.numbers.n_texts).tolist() if j in free and j not in named
        ]
        found: list[str] = []
        constant: TimeColumns | None = None
        for j in named + others:
            if j in others and not looks_like_dates([t for t in self.sheet.texts(j, 50) if t]):
                continue
            dates, texts = self._dates(j)
            bad = np.isnat(dates.times)
            if dates.format.unit == "step" and not self.sheet.choice.id:  # a lap time is no time stamp
                falls = np.append(False, np.diff(dates.times) < np.timedelta64(0))
                told = falls.any() and are_told_apart(self.sheet.source, j, dates.times)
                bad = bad if told else falls
            if may_be_a_code(dates.format.pattern, self.sheet.names[j]):
                continue
            if not bad.any():
                time = self._with_clock(j, dates)
                if len(time.times) < 2 or (time.times != time.times[0]).any():
                    return time
                constant = constant or time  # when a file was written is not when its rows were
                continue
            if (down := self._filled_down(j, texts, bad)) is not None:
                return down
            if j in named or bad.mean() <= 0.1:
                i = int(bad.argmax())
                found.append(
                    f"column {self.sheet.names[j]!r} looks like the time, but line {self.sheet.cells.line(i)} has "
                    f"{texts[i][:40]!r}; the rows are taken in their order. If that is a date, say how dates are "
                    "written (time_format)."
                )
        numeric = None if self.sheet.choice.named else self._numeric_time([j for j in free if j not in named])
        if numeric is not None:
            return numeric
        parts = None if self.sheet.choice.named else find_parts(self.sheet.source, named=self.sheet.named)
        if parts is not None and not set(parts.at) & set(self.sheet.choice.id):
            return parts
        lone = None if self.sheet.choice.named else find_lone_clock(self.sheet.source, free)
        if lone is not None:
            self.sheet.said.append(lone.said)
            return lone.time
        self.sheet.problems += found
        return constant

    def _numeric_time(self, free: list[int]) -> TimeColumns | None:
        """Numbers that are time stamps: 202001312300, seconds since 1970, or evenly counted seconds."""
        for j in free:
            dated = not self.sheet.named or DATED.search(self.sheet.names[j]) is not None
            may_be_days = dated and self.sheet.largest[j] >= 1.9e7  # may be days: 20240131
            large = may_be_days or self.sheet.largest[j] >= 1e9
            julian = says_julian(self.sheet.names[j])
            if not large and not julian and self.sheet.names[j].strip().lower() not in COUNT_NAMES:
                continue
            column = self.sheet.whole_column(j)
            if column is None or np.isnan(column).any() or len(column) < 2:
                continue
            forward = bool((np.diff(column) > 0).all())
            first, name = self.sheet.texts(j, 1)[0], self.sheet.names[j].strip().lower()
            stamps = STAMP.fullmatch(first) is not None or (may_be_days and DAYS.fullmatch(first) is not None)
            told_so = EPOCH_NAME.search(name) is not None or (not self.sheet.named and _may_be_epochs(column))
            epoch = forward and column[0] >= 1e9 and told_so
            counts = forward and name in COUNT_NAMES and len(column) >= 5 and _is_even(np.diff(column))
            if stamps or epoch or counts or julian:
                dates, _ = self._dates(j)
                known = dates.format.pattern == "%Y%j" or dates.format.unit in DAY_COUNTS
                told = known if julian else counts or dates.format.unit != "step"
                if told and not np.isnat(dates.times).any():
                    return self._with_clock(j, dates)
        return None

    def _with_clock(self, j: int, dates: Dates) -> TimeColumns:
        """A column of dates together with the clock beside it, if the dates have none themselves."""
        both = find_clock(self.sheet.source, j, dates)
        return both or TimeColumns((j,), dates.times, (dates.format,), dates.note)

    def _filled_down(self, j: int, texts: list[str], bad: BoolArray) -> TimeColumns | None:
        """Dates that are written once for all rows of a day, together with the clock of those rows."""
        given = [text for text in texts if text]
        if (
            not texts[0]
            or any(texts[i] for i in np.flatnonzero(bad).tolist())
            or len(set(given)) < len(given)
        ):
            return None
        filled: list[str] = []
        for text in texts:
            filled.append(text or filled[-1])
        dates = read_dates(
            filled, day_first=self.sheet.reading.dayfirst, pattern=self.sheet.reading.time_format
        )
        source = replace(self.sheet.source, texts=lambda k: filled if k == j else self.sheet.all_texts(k))
        found = find_clock(source, j, dates)
        if found is None or not (np.diff(found.times) > np.timedelta64(0)).all():
            return None
        self.sheet.said.append(f"{self.sheet.names[j]!r} has its date once for all rows of a day")
        return replace(found, whole=True)

    def _dates(self, j: int) -> tuple[Dates, list[str]]:
        texts = self.sheet.all_texts(j)
        if self.sheet.reading.time_format is not None:
            return read_dates(texts, pattern=self.sheet.reading.time_format), texts
        column = self.sheet.numbers.values[:, j]
        if self.sheet.is_numeric(j):
            if np.isnan(column).any():
                nothing = np.where(np.isnan(column), np.datetime64("NaT"), np.datetime64(0, "ns"))
                return Dates(nothing, TimeFormat()), texts
            serial = self.sheet.names[j].strip().lower() not in COUNT_NAMES
            return read_numeric_dates(column, texts, serial=serial, name=self.sheet.names[j]), texts
        return read_dates(texts, day_first=self.sheet.reading.dayfirst), texts

    def _explicit_time(self, at: tuple[int, ...]) -> TimeColumns:
        if len(at) > 1:
            both = combine(
                self.sheet.source,
                at,
                day_first=self.sheet.reading.dayfirst,
                pattern=self.sheet.reading.time_format,
            )
            if both is None:
                row = " ".join(self.sheet.texts(j, 1)[0] for j in at)
                names = " and ".join(self.sheet.names[j] for j in at)
                raise InputError(
                    f"{names} together are no time (first row: {row!r}).",
                    cure="Name a date and a clock, or year, month, day, hour, or the format (time_format).",
                    option="time",
                )
            return both
        dates, texts = self._dates(at[0])
        bad = np.isnat(dates.times)
        if bad.any():
            lone = find_lone_clock(self.sheet.source, at, named=True)
            if lone is not None and self.sheet.reading.time_format is None:
                self.sheet.said.append(lone.said)
                return lone.time
            i = int(bad.argmax())
            raise InputError(
                f"the time column {self.sheet.names[at[0]]!r} has {texts[i][:60]!r} "
                f"on line {self.sheet.cells.line(i)}, which is no date in the format of the column.",
                cure="Correct the line, name another column (time), or give the format (time_format).",
                option="time",
            )
        return TimeColumns(at, dates.times, (dates.format,), dates.note)


def _may_be_epochs(column: FloatArray) -> bool:
    """Whether numbers without a name are seconds since 1970, or parts of one: of this century, mostly in even steps."""
    unit = next(
        (size for size in (1, 1e3, 1e6, 1e9) if 9.5e8 * size < column[0] and column[-1] < 4e9 * size), None
    )
    steps = np.diff(column)
    return unit is not None and len(steps) > 8 and bool(2 * (steps == np.median(steps)).sum() > len(steps))


def _is_even(steps: FloatArray) -> bool:
    """Whether all steps are multiples of the least: an even count, with rows missing here and there."""
    ratio = steps / steps.min()
    return bool(np.allclose(ratio, np.rint(ratio), rtol=0, atol=1e-3))
