"""Dates in text: which format a column is written in, and how to write one more date in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.arrays import TimeArray

TIME_NAMES = frozenset(
    {
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
    }
)
CLOCK = r"(?P<gap>[T ])(?P<H>\d{1,2}):(?P<M>\d{2})(?P<sec>:\d{2}(?P<frac>\.\d{1,9})?)?(?P<half> ?[AaPp][Mm])?"
ZONE = r"(?P<zone> ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
YEAR_FIRST = re.compile(rf"\d{{4}}(?P<a>[-/.])\d{{1,2}}(?P=a)\d{{1,2}}(?:{CLOCK})?{ZONE}")
YEAR_LAST = re.compile(rf"\d{{1,2}}(?P<a>[-/.])\d{{1,2}}(?P=a)(?P<year>\d{{4}}|\d{{2}})(?:{CLOCK})?{ZONE}")
COMPACT = re.compile(r"\d{8}(?:(?P<gap>[T_ ]?)(?P<clock>\d{4}(?:\d{2})?))?Z?")
OFFSET = re.compile(r"[+-]\d{2}:?\d{2}$|Z$")
EPOCHS = (("s", 1e8, 1e11), ("ms", 1e11, 1e14), ("us", 1e14, 1e17), ("ns", 1e17, 9.2e18))
FIELD = re.compile(r"%([YymdHIMSfpbBjz])")
LENGTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "j": 3}


@dataclass(frozen=True)
class TimeFormat:
    """How the dates of a column are written: a strptime pattern, or a unit of numbers."""

    pattern: str = ""
    unit: str = ""  # s, ms, us, ns, year, or step for numbers that just count
    bare: frozenset[str] = frozenset()  # fields without leading zeros
    fraction: int = 6  # digits of %f
    suffix: str = ""  # a time zone that all dates share
    lower: bool = False  # am and pm rather than AM and PM

    def write(self, times: TimeArray) -> list[str]:
        """The dates as text, each as the column itself would have it."""
        if self.unit:
            return [self._number(time) for time in times.astype("M8[ns]")]
        return [self._text(pd.Timestamp(time)) for time in times]

    def _number(self, time: np.datetime64) -> str:
        if self.unit == "year":
            return str(time.astype("M8[Y]"))
        count = int(time.astype(np.int64))
        if self.unit != "step":
            return str(count // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[self.unit])
        return str(count // 10**9) if count % 10**9 == 0 else repr(count / 1e9)

    def _text(self, time: pd.Timestamp) -> str:
        def field(match: re.Match[str]) -> str:
            letter = match.group(1)
            if letter == "f":
                return f"{time.microsecond * 1000 + time.nanosecond:09d}"[: self.fraction]
            if letter == "z":
                return "+0000"
            text = time.strftime(f"%{letter}")
            if letter == "Y":
                text = text.zfill(4)
            if letter in self.bare:
                text = text.lstrip("0") or "0"
            return text.lower() if letter == "p" and self.lower else text

        return FIELD.sub(field, self.pattern) + self.suffix


@dataclass(frozen=True)
class Dates:
    """A column's dates, NaT where a cell is none."""

    times: TimeArray  # (rows,)
    format: TimeFormat


def is_time_name(name: str) -> bool:
    """Whether a column is called date, Timestamp, Date/Time and the like."""
    return re.sub(r"[^a-z]+", "_", name.lower()).strip("_") in TIME_NAMES


def looks_like_dates(texts: Sequence[str]) -> bool:
    """Whether a few cells are all dates: a quick look before the whole column is read."""
    return bool(texts) and not np.isnat(read_dates(texts).times).any()


def read_dates(texts: Sequence[str]) -> Dates:
    """Read dates in one format for the whole column: the one that explains most cells."""
    best = Dates(np.full(len(texts), np.datetime64("NaT", "ns")), TimeFormat())
    texts = [text.strip() for text in texts]
    sample = next((text for text in texts if text), "")
    most = 0
    for pattern, suffix in _patterns(sample):
        times = _parse(texts, pattern, suffix)
        found = int((~np.isnat(times)).sum())
        if found > most:
            best, most = Dates(times, _style(texts, times, pattern, suffix)), found
        if most == len(texts):
            break
    if most < len(texts) and YEAR_FIRST.fullmatch(sample) and most:  # seconds or fractions only where needed
        times = _parse(texts, "ISO8601", "")
        if not np.isnat(times).any():
            return Dates(times, best.format)
    return best


def read_numeric_dates(numbers: npt.NDArray[np.float64], texts: Sequence[str]) -> Dates:
    """Read a column of numbers that is called time: 20160701, an epoch, years, or just a count."""
    sample = next((text.strip() for text in texts if text.strip()), "")
    whole = bool((numbers == np.floor(numbers)).all())
    if whole and COMPACT.fullmatch(sample):
        dates = read_dates(texts)
        if not np.isnat(dates.times).any():
            return dates
    if whole and ((numbers >= 1600) & (numbers <= 2200)).all():
        return Dates((numbers - 1970).astype("M8[Y]").astype("M8[ns]"), TimeFormat(unit="year"))
    size = np.nanmedian(np.abs(numbers)) if len(numbers) else 0.0
    for unit, low, high in EPOCHS:
        if whole and low <= size < high and (np.abs(numbers) < high).all():
            exact = np.array(
                [int(float(t)) if "." in t or "e" in t.lower() else int(t) for t in texts], dtype="i8"
            )
            return Dates(exact.astype(f"M8[{unit}]").astype("M8[ns]"), TimeFormat(unit=unit))
    if (np.abs(numbers) < 9e9).all():
        return Dates(np.rint(numbers * 1e9).astype("i8").astype("M8[ns]"), TimeFormat(unit="step"))
    return Dates(np.full(len(numbers), np.datetime64("NaT", "ns")), TimeFormat())


def _patterns(sample: str) -> list[tuple[str, str]]:
    """The strptime patterns that may explain a date, the likeliest first, and the zone after it."""
    if match := YEAR_FIRST.fullmatch(sample):
        sep = match["a"]
        return [(f"%Y{sep}%m{sep}%d{_clock(match)}", match["zone"] or "")]
    if match := YEAR_LAST.fullmatch(sample):
        sep, year = match["a"], "%Y" if len(match["year"]) == 4 else "%y"
        days = [f"%d{sep}%m{sep}{year}", f"%m{sep}%d{sep}{year}"]
        if sep == "/":  # 01/02/2020: with slashes the month comes first unless a day says otherwise
            days.reverse()
        return [(day + _clock(match), match["zone"] or "") for day in days]
    if match := COMPACT.fullmatch(sample):
        clock = f"{match['gap']}%H%M{'%S' if len(match['clock']) == 6 else ''}" if match["clock"] else ""
        return [("%Y%m%d" + clock, "Z" if sample.endswith("Z") else "")]
    if not re.search(r"\d", sample) or not re.search(r"[-/:. ]", sample) or len(sample) > 60:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guessed = [pd.tseries.api.guess_datetime_format(sample, dayfirst=first) for first in (False, True)]
    known = [pattern for pattern in dict.fromkeys(guessed) if pattern and re.search("%[yY]", pattern)]
    return [(pattern, "") for pattern in known]


def _clock(match: re.Match[str]) -> str:
    if not match["gap"]:
        return ""
    hour = "%I" if match["half"] else "%H"
    half = match["half"].replace(match["half"].strip(), "%p") if match["half"] else ""
    return f"{match['gap']}{hour}:%M{':%S' if match['sec'] else ''}{'.%f' if match['frac'] else ''}{half}"


def _parse(texts: Sequence[str], pattern: str, suffix: str) -> TimeArray:
    if suffix:
        if all(text.endswith(suffix) for text in texts):
            texts = [text.removesuffix(suffix) for text in texts]
        else:  # the zone changes with the season: all in UTC
            pattern += "%z"
    utc = "%z" in pattern or pattern == "ISO8601"
    read = pd.to_datetime(pd.Series(texts, dtype=object), format=pattern, errors="coerce", utc=utc)
    if utc:
        read = read.dt.tz_localize(None)
    if not pd.api.types.is_datetime64_dtype(read):
        return np.full(len(texts), np.datetime64("NaT", "ns"))
    with np.errstate(all="ignore"):
        times = read.to_numpy()
        limits = pd.Timestamp.min.year + 1, pd.Timestamp.max.year - 1
        years = times.astype("M8[Y]").astype("i8") + 1970
        times = np.where((years >= limits[0]) & (years <= limits[1]), times, np.datetime64("NaT"))
    return times.astype("M8[ns]")


def _style(texts: Sequence[str], times: TimeArray, pattern: str, suffix: str) -> TimeFormat:
    """The details that strptime does not care about: leading zeros, digits of a second, the zone."""
    good = [text for text, time in zip(texts[:5000], times, strict=False) if not np.isnat(time)]
    shared = all(text.endswith(suffix) for text in good)
    if suffix and not shared:
        offset = next((m.group() for text in good if (m := OFFSET.search(text))), "Z")
        suffix = "+00:00" if ":" in offset else "Z" if offset == "Z" else "+0000"
    fraction = re.search(r"\.(\d+)(?=\D*$)", good[0]) if "%f" in pattern else None
    base = TimeFormat(
        pattern=pattern,
        fraction=len(fraction.group(1)) if fraction else 6,
        suffix=suffix,
        lower=bool(re.search(r"[ap]m\b", good[0])),
    )
    bare: frozenset[str] = frozenset()
    parts = FIELD.split(pattern)
    loose = re.compile("".join(re.escape(p) if i % 2 == 0 else _field(p) for i, p in enumerate(parts)))
    for text in good:
        if match := loose.match(text):
            bare |= {k for k, v in match.groupdict().items() if k in LENGTHS and len(v) < LENGTHS[k]}
    return TimeFormat(
        pattern=base.pattern, bare=bare, fraction=base.fraction, suffix=base.suffix, lower=base.lower
    )


def _field(letter: str) -> str:
    digits = {"Y": r"\d{4}", "f": r"\d+", "j": r"\d{1,3}"}.get(letter, r"\d{1,2}")
    return f"(?P<{letter}>{digits if letter in LENGTHS or letter == 'f' else '.+?'})"
