"""Numbers that are written with more than digits: $1,234.50, 12 %, 3.5 °C. Fills are written the same way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t1.arrays import FloatArray
from t1.data.csv.cells import MISSING_TEXTS

CURRENCY = r"US\$|[$€£¥₹]|EUR|USD|GBP|CHF"
UNITS = (
    r"%|‰|°C|°F|°|K|kWh|MWh|Wh|kW|MW|W|mV|kV|V|mA|A|mm|cm|km|m|m/s|km/h|mph|kt|kn|hPa|mbar|kPa|Pa|bar|psi|ppm|ppb"
    r"|[µu]g/m[³3]|mg/[lL]|[lL]|kg|g|t|ms|s|min|h|Hz|dB|W/m[²2]|m[³3]/s|m[³3]|bpm|C|F|[lL]/(?:s|min|h)|m[³3]/h|rpm"
    r"|[kKMGT]i?B|B|M|bn"
)
WORD = r"[ \u00a0][^\W\d_][\w/²³·^°%.-]{0,11}"  # any other unit, if it is set off by a blank and all numbers have it
NO_UNITS = re.compile(
    r"[ap]\.?m\.?|utc|gmt|(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\w*\.?", re.I
)
WHOLE = re.compile(
    rf"(?P<sign>[-+−]?)(?P<prefix>(?:{CURRENCY}) ?)?(?P<minus>[-−]?)"
    rf"(?P<body>\d(?:[\d.,' \u00a0\u202f]*[\d.,'])?|[.,]\d+)(?P<suffix>[ \u00a0]?(?:{CURRENCY}|{UNITS})|{WORD})?"
)
SCALE = re.compile(r"K|M|bn|[kKMGT]?i?B")  # 950 beside 1.2M is no 950 million
UNIT = re.compile(rf"[ \u00a0]?(?:{CURRENCY}|{UNITS})")
# A mark behind a number says how it came about, not what it is: 12.3* (estimated), 110.1 p (provisional). It may also
# stand behind the colon of a value that is not told.
MARKED = re.compile(
    r"(?P<cell>[-+−]?\d[\d.,]*|:)(?P<mark>[ \u00a0]?[*#†‡]{1,2}|[ \u00a0](?=[a-z])b?c?d?e?f?n?p?r?s?u?z?)"
)
# A value below or above what could be measured counts as that: <0.05, > 2400
LIMIT = re.compile(r"(?P<mark>[<>≤≥])=?[ \u00a0]?(?P<cell>\d[\d.,]*)")
TRACE = re.compile(r"T|[Tt]r(ace)?")  # of rain or snow, too little to measure: 0
SAID_LIMIT, SAID_TRACE = "are given as limits ({}), and count as these", "are a trace ({}), and count as 0"
SAID_MARK = "have a mark behind them ({})"
FALLEN = re.compile(r"rain|precip|prcp|snow|pcpn|ppt", re.IGNORECASE)
OTHER_SIGN = {".": ",", ",": "."}  # of decimals
MISSING = frozenset(text.decode() for text in MISSING_TEXTS)


@dataclass(frozen=True)
class Style:
    """What stands around and inside the numbers of a column."""

    prefix: str = ""
    suffix: str = ""
    group: str = ""  # between thousands
    decimal: str = "."
    minus: str = "-"
    power: str = ""  # an example of how powers of ten are written: E+09
    mantissa: int = 0  # decimals before it

    def write(self, number: str) -> str:
        """A number written plainly, such as -1234.5, in this style."""
        if self.power:
            return self._with_power(float(number))
        sign = self.minus if number.startswith("-") else ""
        whole, point, fraction = number.lstrip("-").partition(".")
        if self.group and whole.isdigit():
            whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", self.group, whole)
        return f"{sign}{self.prefix}{whole}{self.decimal if point else ''}{fraction}{self.suffix}"

    def _with_power(self, number: float) -> str:
        digits, _, power = f"{number:.{self.mantissa}e}".partition("e")
        sign = "-" if int(power) < 0 else "+" if "+" in self.power or "-" in self.power else ""
        width = len(self.power.lstrip("eE+-"))
        return f"{digits.replace('.', self.decimal)}{self.power[0]}{sign}{abs(int(power)):0{width}d}"

    def __str__(self) -> str:
        parts = [f"{self.prefix}…{self.suffix}"] if self.prefix or self.suffix else []
        parts += [f"{self.group!r} between thousands"] if self.group else []
        parts += [f"{self.minus!r} as its minus"] if self.minus != "-" else []
        return " and ".join(parts) or f"{self.decimal!r} as its decimal sign"


def may_have_style(texts: Sequence[str]) -> bool:
    """A quick look at a few cells, before a whole column of text is read."""
    return all(text in MISSING or WHOLE.fullmatch(text) for text in texts)


def unmarked(text: str, name: str) -> tuple[str, str] | None:
    """A cell of the column `name` without its mark, and the mark; None where it has none."""
    if (match := MARKED.fullmatch(text) or LIMIT.fullmatch(text)) is not None:
        return match["cell"], match["mark"].strip()
    return ("0", text) if TRACE.fullmatch(text) and FALLEN.search(name) else None


def without_marks(texts: Sequence[str], name: str) -> tuple[list[str], frozenset[str]]:
    """The cells of the column `name` without the marks beside some of their numbers, and these marks."""
    marked = [unmarked(text, name) for text in texts]
    plain = [text if found is None else found[0] for text, found in zip(texts, marked, strict=True)]
    return plain, frozenset(found[1] for found in marked if found is not None)


def told_marks(marks: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """What is said of columns, by name, of which some numbers have marks: one sentence for each kind of mark."""
    for said in (SAID_LIMIT, SAID_TRACE, SAID_MARK):
        found = {name: mine for name, of in marks.items() if (mine := {m for m in of if _said_of(m) == said})}
        if found:
            more = f" and {len(found) - 1} more columns" if len(found) > 1 else ""
            every = ", ".join(sorted(set().union(*found.values())))
            yield f"some numbers of {next(iter(found))!r}{more} {said.format(every)}"


def _said_of(mark: str) -> str:
    return SAID_LIMIT if mark in "<>≤≥" else SAID_TRACE if TRACE.fullmatch(mark) else SAID_MARK


def find_style(texts: Sequence[str], decimal: str) -> tuple[Style, FloatArray, int] | None:
    """The style that explains every cell of a column, its numbers (NaN where missing) and usual decimals."""
    given = [text for text in texts if text not in MISSING]
    matches = [WHOLE.fullmatch(text) for text in given]
    found = [match for match in matches if match is not None]
    if not found or len(found) < len(given):
        return None
    prefix = Counter(match["prefix"] or "" for match in found)
    suffix = Counter(match["suffix"] or "" for match in found)
    if any(len([p for p in counts if p]) > 1 for counts in (prefix, suffix)):
        return None
    unit = max(suffix, key=len)
    known = UNIT.fullmatch(unit) is not None
    if unit and "" in suffix and (not known or SCALE.fullmatch(unit.strip())):
        return None
    if not known and NO_UNITS.fullmatch(unit.strip()):
        return None
    for sign in (decimal, OTHER_SIGN[decimal]):
        for group in ("", *(g for g in ",.' \u00a0\u202f" if g != sign)):
            body = re.compile(_body(group, sign))
            if not all(body.fullmatch(match["body"]) for match in found):
                continue
            # +0150,5 beside numbers with points is no 150.5, but a code and its flag
            if sign == decimal or not any(re.match(r"0\d", match["body"]) for match in found):
                long_minus = any("−" in (match["sign"], match["minus"]) for match in found)
                style = Style(max(prefix, key=len), unit, group, sign, "−" if long_minus else "-")
                return style, *_numbers(texts, style)
    return None


def find_powers(texts: Sequence[str], decimal: str) -> Style | None:
    """The style of a column whose numbers are written as 1.5E+09."""
    given = [text for text in texts if text not in MISSING]
    number = re.compile(rf"[-+]?\d(?:{re.escape(decimal)}(\d*))?([eE][-+]?\d+)")
    found = [match for text in given if (match := number.fullmatch(text)) is not None]
    if not found or len(found) < 0.9 * len(given):
        return None
    power = max((match[2] for match in found), key=lambda text: ("+" in text, -len(text)))
    places = Counter(len(match[1] or "") for match in found)
    mantissa = places.most_common(1)[0][0]
    return (
        Style(decimal=decimal, power=power, mantissa=mantissa) if mantissa else None
    )  # 3e-1 says too little


def _body(group: str, decimal: str) -> str:
    point = re.escape(decimal)
    grouped = rf"|[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+" if group else ""  # no 0,125
    return rf"(?:\d+{grouped})?(?:{point}\d*)?"


def _numbers(texts: Sequence[str], style: Style) -> tuple[FloatArray, int]:
    values = np.full(len(texts), np.nan)
    places: Counter[int] = Counter()
    for i, text in enumerate(texts):
        if text in MISSING or (match := WHOLE.fullmatch(text)) is None:
            continue
        body = match["body"].replace(style.group, "") if style.group else match["body"]
        plain = body.replace(style.decimal, ".")
        values[i] = float(plain) * (-1 if {match["sign"], match["minus"]} & {"-", "−"} else 1)
        places[len(plain.partition(".")[2])] += 1
    return values, places.most_common(1)[0][0] if places else 0
