"""Which strptime pattern a date is written in."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from t1.arrays import TimeArray
from t1.data.day_halves import UNUSUAL_HALF, half_style, without_dots
from t1.data.month_names import day_pattern, in_english, month_of, month_style
from t1.data.periods import as_months, period_pattern
from t1.data.time_format import DAY, FIELD, TimeFormat, shifted
from t1.data.weekday_names import are_weekdays, weekday_style, without_weekday

CLOCK = (
    r"(?P<gap>T|,? |:)(?P<H>\d{1,2}):(?P<M>\d{2})(?P<sec>:\d{2}(?P<frac>[.,]\d{1,9}|:\d{3})?)?"
    r"(?P<half>\s?[AaPp][Mm])?"
)
# zones by name, in hours ahead of UTC; a name that stands for several (CST, BST) as it is mostly meant
ZONES = {
    "CET": 1,
    "CEST": 2,
    "MEZ": 1,
    "MESZ": 2,
    "WET": 0,
    "WEST": 1,
    "EET": 2,
    "EEST": 3,
    "BST": 1,
    "MSK": 3,
}
ZONES |= {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
ZONES |= {"JST": 9, "AEST": 10, "AEDT": 11, "SAST": 2}
ZONE_NAME = re.compile(rf" ?({'|'.join(ZONES)})$")
ZONE = rf"(?P<zone> ?(?:Z|UTC|GMT|\(UTC\)|\(GMT\)|{'|'.join(ZONES)}|[+-]\d{{2}}(?::?\d{{2}})?))?"
YEAR_FIRST = re.compile(rf"\d{{4}}(?P<a>[-/.])\d{{1,2}}(?P=a)\d{{1,2}}(?:{CLOCK})?{ZONE}")
YEAR_LAST = re.compile(rf"\d{{1,2}}(?P<a>[-/.])\d{{1,2}}(?P=a)(?P<year>\d{{4}}|\d{{2}})(?:{CLOCK})?{ZONE}")
COMPACT = re.compile(
    r"\d{8}(?:(?P<gap>[T_: -]?)(?P<clock>\d{2}(?:(?P<colon>:?)\d{2}(?:(?P=colon)\d{2}(?P<frac>\.\d{1,9})?)?)?))?Z?"
)
NUMBERED = re.compile(r"(?:(?P<year>\d{4})(?P<a>[-/. ])\d{1,2}|\d{1,2}(?P<b>[-/. ])\d{4})")  # 01/2004
NAMED = re.compile(rf"(?P<day>.+?)(?:{CLOCK}{ZONE})?")  # 06-May-24 00:00
# 2023-045, the 45th day of 2023; with a clock also 2023:045:12:00:00
OF_YEAR = re.compile(rf"(?:19|20)\d{{2}}(?P<a>-|:(?=\d{{3}}:))\d{{3}}(?:{CLOCK}{ZONE})?")
IN_SIGNS = re.compile(rf"\d{{4}}年\d{{1,2}}月\d{{1,2}}日(?:{CLOCK})?")  # 2024年5月6日 13:00
# 2024-05-06_13-00-00, as in names of files
OF_A_FILE = re.compile(
    r"\d{4}(?P<a>[-_])\d{2}(?P=a)\d{2}(?P<gap>[_T ])\d{2}(?P<b>[-_])\d{2}(?P<sec>(?P=b)\d{2})?"
)
# Jan  3 14:00:00 UTC 2023
YEAR_AT_END = re.compile(rf"(?P<day>[^\W\d_]{{3,}} (?:\d| \d|\d{{2}})){CLOCK}{ZONE} (?P<year>\d{{4}})")
INNER_ZONE = re.compile(rf"(?P<before>.*:\d{{2}}){ZONE}(?P<year> \d{{4}})")
WEEKDAY = re.compile(r"%a\.?,? +")
DOTTED = re.compile(
    r"(?P<day>.*\d)(?P<gap>[ T]|-(?=\d\d\.\d\d\.\d\d))(?P<H>\d{1,2})\.(?P<M>\d{2})(?P<sec>\.\d{2}(?P<frac>\.\d{1,9})?)?"
)  # 18.00.00
OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})?$")
LENGTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "j": 3, "V": 2}

Pattern = tuple[str, str]  # a strptime pattern, and the zone after it, or where it says %Z


def patterns(sample: str, day_first: bool | None) -> list[Pattern]:
    """The patterns that may explain a date, the likeliest first."""
    sample = without_dots(sample)
    weekday, sep, rest = without_weekday(sample)
    if weekday is not None:
        whole = [each for each in patterns(rest, day_first) if "%d" in each[0]]  # mar 2023 is no Tuesday
        if whole:
            return [(f"%a{sep}{pattern}", suffix) for pattern, suffix in whole]
    if match := YEAR_FIRST.fullmatch(sample):
        sep = match["a"]
        return [(f"%Y{sep}%m{sep}%d{_clock(match)}", match["zone"] or "")]
    if match := YEAR_LAST.fullmatch(sample):
        sep, year = match["a"], "%Y" if len(match["year"]) == 4 else "%y"
        days = [f"%d{sep}%m{sep}{year}", f"%m{sep}%d{sep}{year}"]
        # 01/02/2020: with slashes the month usually comes first
        if (sep == "/") if day_first is None else not day_first:
            days.reverse()
        if day_first is not None:
            days = days[:1]
        elif year == "%y":
            days.append(f"%y{sep}%m{sep}%d")
        return [(day + _clock(match), match["zone"] or "") for day in days]
    if match := COMPACT.fullmatch(sample):
        colon = match["colon"] or ""
        digits = len((match["clock"] or "").replace(":", ""))
        fields = ["%H", "%M", "%S"][: digits // 2]
        clock = match["gap"] + colon.join(fields) if fields else ""
        clock += ".%f" if match["frac"] else ""
        return [("%Y%m%d" + clock, "Z" if sample.endswith("Z") else "")]
    if match := DOTTED.fullmatch(sample):
        clock = f"{match['gap']}%H.%M{'.%S' if match['sec'] else ''}{'.%f' if match['frac'] else ''}"
        return [(day + clock, "") for day, _ in patterns(match["day"], day_first)]
    if (period := period_pattern(sample)) is not None:
        return [(period, "")]
    if (match := OF_YEAR.fullmatch(sample)) is not None:
        return [(f"%Y{match['a']}%j{_clock(match)}", match["zone"] or "")]
    if (match := IN_SIGNS.fullmatch(sample)) is not None:
        return [(f"%Y年%m月%d日{_clock(match)}", "")]
    if (match := OF_A_FILE.fullmatch(sample)) is not None:
        a, b = match["a"], match["b"]
        return [(f"%Y{a}%m{a}%d{match['gap']}%H{b}%M{f'{b}%S' if match['sec'] else ''}", "")]
    if (match := YEAR_AT_END.fullmatch(sample)) is not None:
        zone = "%Z" if match["zone"] else ""
        return [(f"%b %d{_clock(match)}{zone} %Y", match["zone"] or "")] if _names_month(match["day"]) else []
    if (match := NUMBERED.fullmatch(sample)) is not None:
        return [(f"%Y{match['a']}%m" if match["year"] else f"%m{match['b']}%Y", "")]
    if (match := NAMED.fullmatch(sample)) is not None and (day := day_pattern(match["day"])) is not None:
        return [(day + _clock(match), match["zone"] or "")]
    if not re.search(r"\d", sample) or not re.search(r"[-/:. ]", sample) or len(sample) > 60:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        firsts = (False, True) if day_first is None else (day_first,)
        guessed = [pd.tseries.api.guess_datetime_format(sample, dayfirst=first) for first in firsts]
    known = [pattern for pattern in dict.fromkeys(guessed) if pattern and re.search("%[yY]", pattern)]
    known = [pattern for pattern in known if not re.match("%Y.*%d.*%m", pattern)]  # nobody has the day there
    return [(pattern, "") for pattern in known]


def zone_offset(suffix: str) -> int:
    """How far a zone is ahead of UTC, in nanoseconds: +01:00 is an hour."""
    if name := ZONE_NAME.search(suffix):
        return ZONES[name[1]] * DAY // 24
    if match := OFFSET.search(suffix):
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        return (-1 if match[1] == "-" else 1) * minutes * 60 * 10**9
    return 0


def parse(texts: Sequence[str], pattern: str, suffix: str) -> TimeArray:
    """The dates of texts in one pattern, in UTC if they name a zone; NaT where a text does not fit."""
    if (leading := WEEKDAY.match(pattern)) is not None:
        return _parse_with_weekdays(texts, pattern[leading.end() :], suffix)
    shift = 0
    if "%Z" in pattern:
        texts, pattern = _zones_last(texts), pattern.replace("%Z", "")
    if "%p" in pattern and UNUSUAL_HALF.search(next(filter(None, texts), "")):
        texts = [without_dots(text) for text in texts]
    if "%q" in pattern or "%h" in pattern:
        texts, pattern = as_months(texts, pattern)
    if "%b" in pattern or "%B" in pattern:  # in any language, and a May may be short or not
        texts, pattern = [in_english(text) for text in texts], pattern.replace("%B", "%b")
    if "%V" in pattern and "%u" not in pattern:  # the week's Monday
        texts, pattern = [f"{text}-1" for text in texts], f"{pattern}-%u"
    if suffix:
        if all(text.endswith(suffix) for text in texts):
            texts = [text.removesuffix(suffix) for text in texts]
            shift = zone_offset(suffix)
        else:  # the zone changes with the season
            texts = [ZONE_NAME.sub(_offset, text) for text in texts]
            pattern += " %z" if suffix.startswith(" ") else "%z"
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
    if (
        pattern.startswith("%Y") and "%j" in pattern
    ):  # a 366th day is the next year's first, where there is none
        given = np.array([int(text[:4]) if text[:4].isdigit() else 0 for text in texts])
        times = np.where(years == given, times, np.datetime64("NaT"))
    found = shifted(times, -shift)
    bad = np.flatnonzero(np.isnat(found)).tolist() if "%H" in pattern else []
    late = [i for i in bad if _MIDNIGHT.search(texts[i])]
    if late:  # 24:00 is the next day's 00:00
        early = parse([_MIDNIGHT.sub(r"\g<1>00\g<2>", texts[i]) for i in late], pattern, "")
        found[late] = shifted(early, DAY - shift)
    return found


def _parse_with_weekdays(texts: Sequence[str], pattern: str, suffix: str) -> TimeArray:
    """Dates behind a day of the week: NaT where they are on another day, so were not meant so."""
    days, _, dates = zip(*map(without_weekday, texts), strict=True)
    times = parse(dates, pattern, suffix)
    if not all(suffix in text for text in texts):
        return times  # the zone changes with the season, and the day at midnight with it
    return np.where(
        are_weekdays(shifted(times, zone_offset(suffix)), days), times, np.datetime64("NaT", "ns")
    )


def _zones_last(texts: Sequence[str]) -> list[str]:
    """Dates whose year stands behind the zone, the other way round."""
    return [INNER_ZONE.sub(r"\g<before>\g<year>\g<zone>", text) for text in texts]


def _offset(zone: re.Match[str]) -> str:
    hours, blank = ZONES[zone[1]], " " * zone[0].startswith(" ")
    return f"{blank}{'-' if hours < 0 else '+'}{abs(hours):02}00"


_MIDNIGHT = re.compile(r"((?:^|[ T:_]))24([:.]?00(?:[:.]?00)?)$")


def style(texts: Sequence[str], times: TimeArray, pattern: str, suffix: str) -> TimeFormat:
    """The details that strptime does not care about: leading zeros, digits of a second, the zone."""
    good = [text for text, time in zip(texts[:5000], times, strict=False) if not np.isnat(time)]
    if (leading := WEEKDAY.match(pattern)) is not None:
        form = style([without_weekday(text)[2] for text in texts], times, pattern[leading.end() :], suffix)
        return replace(form, pattern=leading[0] + form.pattern, weekdays=weekday_style(good))
    if "%Z" in pattern:
        form = style(_zones_last(texts), times, pattern.replace("%Z", ""), suffix)
        return replace(form, pattern=form.pattern.replace(" %Y", f"{form.suffix} %Y"), suffix="")
    if " %d" in pattern and any(re.search(r"  \d\b", text) for text in good):
        pattern = pattern.replace(" %d", " %e")
    offset = 0
    if suffix:
        if all(text.endswith(suffix) for text in good):
            offset = zone_offset(suffix)
        else:
            given = next((text for text in good if OFFSET.search(text)), "Z")
            named = ZONE_NAME.search(good[0])
            utc = "UTC" if named else "+00:00" if ":" in given[-4:] else "Z" if given == "Z" else "+0000"
            suffix = " " * suffix.startswith(" ") + utc
    fractions = (
        (re.search(r"\d[:.]?\d\d[:.]?\d\d[.,:](\d+)", text) for text in good) if "%f" in pattern else ()
    )
    fraction = next(filter(None, fractions), None)
    bare: frozenset[str] = frozenset()
    parts = FIELD.split(pattern)
    loose = re.compile("".join(re.escape(p) if i % 2 == 0 else _field(p) for i, p in enumerate(parts)))
    for text in good:
        if match := loose.match(text):
            bare |= {k for k, v in match.groupdict().items() if k in LENGTHS and len(v) < LENGTHS[k]}
    return TimeFormat(
        pattern=pattern,
        bare=bare,
        fraction=len(fraction.group(1)) if fraction else 6,
        suffix=suffix,
        offset=offset,
        months=month_style(good) if "%b" in pattern or "%B" in pattern else TimeFormat.months,
        halves=half_style(good) if "%p" in pattern else TimeFormat.halves,
        midnight_24=_has_24(texts, times, pattern),
    )


def _names_month(day: str) -> bool:
    return month_of(day.partition(" ")[0]) is not None


def _has_24(texts: Sequence[str], times: TimeArray, pattern: str) -> bool:
    """Whether the end of a day is written 24:00."""
    if "%H" not in pattern:
        return False
    midnights = np.flatnonzero(times == times.astype("M8[D]"))[:1000].tolist()
    return any(_MIDNIGHT.search(texts[i]) for i in midnights)


def _clock(match: re.Match[str]) -> str:
    if not match["gap"]:
        return ""
    hour = "%I" if match["half"] else "%H"
    half = match["half"].replace(match["half"].strip(), "%p") if match["half"] else ""
    fraction = f"{match['frac'][0]}%f" if match["frac"] else ""
    return f"{match['gap']}{hour}:%M{':%S' if match['sec'] else ''}{fraction}{half}"


def _field(letter: str) -> str:
    digits = {"Y": r"\d{4}", "f": r"\d+", "j": r"\d{1,3}"}.get(letter, r"\d{1,2}")
    return f"(?P<{letter}>{digits if letter in LENGTHS or letter == 'f' else '.+?'})"
