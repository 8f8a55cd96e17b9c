"""How the dates of a column are written, so that one more can be written the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from t1.arrays import TimeArray

FIELD = re.compile(r"%([YymdeHIMSfpaAbBjzGVuqh])")
DAY = 86_400 * 10**9  # nanoseconds
WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun"
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
ROMANS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
DAY_COUNTS = {
    "excel day": 25_569.0,
    "modified julian day": 40_587.0,
    "julian day": 2_440_587.5,
}  # 1970 in each
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True)
class TimeFormat:
    """A strptime pattern, or a unit of numbers. Times with a zone are UTC, `offset` apart from the file's."""

    pattern: str = ""
    # s, ms, us, ns, year, decimal year, day of year, a name of DAY_COUNTS, part (of a day), elapsed for hours that go
    # beyond 24, or step for numbers that just count
    unit: str = ""
    bare: frozenset[str] = frozenset()  # fields without leading zeros
    fraction: int = 6  # digits of %f, of a decimal year or a count of days
    suffix: str = ""  # a time zone that all dates share
    offset: int = 0  # nanoseconds that the file's clock is ahead of UTC
    halves: tuple[str, str] = ("AM", "PM")  # of a day, as they are written
    strip: bool = False  # a clock such as 30 for 00:30
    midnight_24: bool = False  # the end of a day is written 24:00
    roman: bool = False  # halves, quarters and months are written II
    midnight: bool = False  # the clock of its dates always says midnight: another column has the hour
    part: tuple[int, int, int] = (
        0,
        0,
        0,
    )  # of numbered parts: nanoseconds of one, of all, and the first number
    shorter: tuple[
        str, ...
    ] = ()  # patterns of times whose clock, seconds or fraction is zero and not written
    months: tuple[str, ...] = tuple(MONTHS.split())  # their names
    weekdays: tuple[str, ...] = tuple(WEEKDAYS.split())
    span: int = 0  # nanoseconds: each cell is start/end, and this far apart
    between: str = "/"  # the start and the end
    end: str = ""  # the pattern of the end, where it is not that of the start
    end_24: bool = False  # an end at midnight is written 24:00
    month_part: float | None = None  # decimal years of a monthly series: where in its month each one lies

    def write(self, times: TimeArray) -> list[str]:
        """The dates as text, each as the column itself would have it."""
        times = shifted(times, self.offset)
        if self.midnight:
            times = times.astype("M8[D]").astype("M8[ns]")
        if self.unit:
            return [self._number(time) for time in times]
        texts = [self._text(pd.Timestamp(time)) for time in times]
        if self.span:
            last = replace(
                self, pattern=self.end or self.pattern, midnight_24=self.midnight_24 or self.end_24
            )
            ends = [last._text(pd.Timestamp(time)) for time in shifted(times, self.span)]
            texts = [f"{start}{self.between}{end}" for start, end in zip(texts, ends, strict=True)]
        return texts

    @property
    def day_first(self) -> bool | None:
        """Whether the day stands before the month; None where no order is written."""
        if not ("%d" in self.pattern and "%m" in self.pattern):
            return None
        return self.pattern.index("%d") < self.pattern.index("%m")

    @property
    def dated(self) -> bool:
        """Whether its times have a date: a clock that stands alone, hours and numbers that count have none."""
        return self.unit not in ("elapsed", "step") and not self.pattern.startswith(("%H", "%I"))

    def _number(self, time: np.datetime64) -> str:
        if self.unit == "year":
            return str(time.astype("M8[Y]"))
        if self.unit == "decimal year":
            return f"{to_decimal_year(time, self.month_part):.{self.fraction}f}"
        count = int(time.astype(np.int64))
        if self.unit == "day of year":
            begin = int(time.astype("M8[Y]").astype("M8[ns]").astype(np.int64))
            return f"{(count - begin) / DAY + 1:.{self.fraction}f}"
        if self.unit in DAY_COUNTS:
            return f"{count / DAY + DAY_COUNTS[self.unit]:.{self.fraction}f}"
        if self.unit == "elapsed":
            minutes, seconds = divmod(count // 10**9, 60)
            hours = f"{minutes // 60}" if "H" in self.bare else f"{minutes // 60:02}"
            return f"{hours}:{minutes % 60:02}" + (f":{seconds:02}" if "%S" in self.pattern else "")
        if self.unit == "part":
            length, whole, first = self.part
            return str(count % whole // length + first)
        if self.unit != "step":
            return str(count // UNITS[self.unit])
        return str(count // 10**9) if count % 10**9 == 0 else repr(count / 1e9)

    def _text(self, time: pd.Timestamp) -> str:
        ends_day = self.midnight_24 and time == time.normalize()
        if ends_day:
            time = time - pd.Timedelta(days=1)

        def field(match: re.Match[str]) -> str:
            letter = match.group(1)
            if letter == "f":
                return f"{time.microsecond * 1000 + time.nanosecond:09d}"[: self.fraction]
            if letter == "z":
                return "+0000"
            if letter in "qh" or (self.roman and letter == "m"):
                number = {"q": time.quarter, "h": 1 if time.month <= 6 else 2, "m": time.month}[letter]
                return ROMANS[number - 1] if self.roman else str(number)
            if letter in "bB":
                return self.months[time.month - 1]
            if letter == "a":
                return self.weekdays[time.weekday()]
            if letter == "p":
                return self.halves[time.hour // 12]
            if letter == "e":
                return f"{time.day:2}"
            text = "24" if ends_day and letter == "H" else time.strftime(f"%{letter}")
            if letter == "Y":
                text = text.zfill(4)
            if letter in self.bare:
                text = text.lstrip("0") or "0"
            return text

        pattern, stamp = self.pattern, time.to_datetime64()
        for form, unit in shorter_forms(self.pattern) if self.shorter else ():
            if form in self.shorter and stamp == stamp.astype(unit):
                pattern = form
        text = FIELD.sub(field, pattern)
        return ((text.lstrip("0") or "0") if self.strip else text) + self.suffix


def without_clock(pattern: str) -> str:
    """The part of a pattern before the hour and the sign in front of it.

    >>> without_clock("%d.%m.%Y %H:%M"), without_clock("%Y%m%d%H")
    ('%d.%m.%Y', '%Y%m%d')
    """
    return re.split(r"(?:(?<!%)[T_]|[^%\w]+)?%[HI]", pattern)[0]


def shorter_forms(pattern: str) -> list[tuple[str, str]]:
    """A pattern without its fraction, its seconds and its clock, and what times so written are multiples of.

    >>> shorter_forms("%d.%m.%Y %H:%M:%S")
    [('%d.%m.%Y %H:%M', 'M8[m]'), ('%d.%m.%Y', 'M8[D]')]
    """
    forms = {
        "M8[s]": re.sub(r"[.,:]%f", "", pattern),
        "M8[m]": re.sub(r"[.:]%S([.,:]%f)?", "", pattern),
        "M8[D]": without_clock(pattern),
    }
    dated = re.compile("%[yYG]" if re.search("%[yYG]", pattern) else "")  # a year behind the clock stays
    return [(form, unit) for unit, form in forms.items() if form and form != pattern and dated.search(form)]


def shifted(times: TimeArray, nanoseconds: int) -> TimeArray:
    """Times that are so much later; what is no time stays none."""
    return np.asarray(times.astype("M8[ns]") + np.timedelta64(nanoseconds, "ns"))


def to_decimal_year(time: np.datetime64, month_part: float | None) -> float:
    """1958.2027 for 15 March 1958; in a monthly series every month is a twelfth of a year."""
    year = time.astype("M8[Y]")
    number = int(year.astype("i8")) + 1970
    if month_part is not None:
        month = int((time.astype("M8[M]") - year.astype("M8[M]")).astype("i8"))
        return number + (month + month_part) / 12
    begin, end = year.astype("M8[ns]"), (year + 1).astype("M8[ns]")
    return number + float((time.astype("M8[ns]") - begin) / (end - begin))


def from_decimal_years(years: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[TimeArray, float | None]:
    """The times of decimal years, snapped to months, days or hours where the steps say so."""
    whole = np.floor(years)
    steps = np.diff(np.unique(years))
    usual = float(np.median(steps)) if len(steps) else 1.0
    if abs(usual - 1 / 12) < 0.004:  # monthly; the rounding of three decimals is less than a tenth of a month
        place = (years - whole) * 12
        part = float(np.median(place - np.floor(place + 0.02)))
        months = np.rint(whole * 12 + place - part).astype("i8") - 1970 * 12
        return months.astype("M8[M]").astype("M8[ns]"), part
    begin = (whole - 1970).astype("M8[Y]").astype("M8[ns]")
    end = (whole - 1969).astype("M8[Y]").astype("M8[ns]")
    exact = begin.astype("i8") + (years - whole) * (end - begin).astype("i8")
    unit = DAY if usual > 0.9 / 366 else DAY // 24 if usual > 0.9 / 8784 else 10**9
    return (np.rint(exact / unit).astype("i8") * unit).astype("M8[ns]"), None
