"""Statistical periods: 2010M01, 1Q00, 2010-S1, KW 5/2023, the 45th day of 2023. Each is the time at which it begins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from t1.data.time_format import FIELD, ROMANS

# Each group is a field of the pattern; all else is written as it stands. Weeks are those of ISO 8601, as KW always
# is; a small w may be Stata's, which begin on 1 January.
SHAPES = tuple(
    map(
        re.compile,
        (
            r"(?P<Y>\d{4})[-/:. ]?[Mm](?P<m>\d{1,2})",
            r"[Mm](?P<m>\d{1,2})[-/:. ](?P<Y>\d{4})",
            r"(?P<Y>\d{4})[-/:. ]?[QqK](?P<q>[1-4])",
            r"[Qq](?P<q>[1-4])[-/:. ]?(?P<Y>\d{4})",
            r"[Qq](?P<q>[1-4])[-/: ](?P<y>\d{2})",
            r"(?P<q>[1-4])[Qq][-/: ]?(?P<Y>\d{4})",
            r"(?P<q>[1-4])[Qq][-/: ]?(?P<y>\d{2})",
            r"(?P<Y>\d{4})[-/:. ]?[SsHh](?P<h>[12])",
            r"[SsHh](?P<h>[12])[-/:. ](?P<Y>\d{4})",
            r"(?P<h>[12])[Hh][-/: ]?(?P<Y>\d{4})",
            r"(?P<G>\d{4})[-/ ]?(?:KW|CW|W) ?(?P<V>\d{1,2})(?:-(?P<u>[1-7]))?",
            r"(?:KW|CW|W) ?(?P<V>\d{1,2})[-/. ](?P<G>\d{4})",
        ),
    )
)
ROMAN = re.compile(r"(?P<Y>\d{4})(?P<gap>[-/. ])(?P<n>[IVX]+)|(?P<m>[IVX]+)(?P<between>[-/. ])(?P<Z>\d{4})")
SIZES = {"Y": r"\d{4}", "y": r"\d{2}", "q": r"[1-4]", "h": r"[12]"}
MONTHS = {"q": 3, "h": 6}  # of a quarter, of half a year


def period_pattern(text: str) -> str | None:
    """The pattern of a period, in the fields of strptime, %q for a quarter and %h for half a year; None if it is none.

    >>> period_pattern("1Q00"), period_pattern("KW 5/2023")
    ('%qQ%y', 'KW %V/%G')
    """
    for shape in SHAPES:
        if (match := shape.fullmatch(text)) is None:
            continue
        at = sorted((match.span(name), name) for name in match.groupdict() if match[name] is not None)
        for (begin, end), name in reversed(at):
            text = f"{text[:begin]}%{name}{text[end:]}"
        return text
    return None


def roman_periods(texts: Sequence[str]) -> list[str] | None:
    """Halves, quarters or months in Roman numbers (2000 I, IV/2000) in a way that is read: by the highest of them."""
    if not texts or not ROMAN.fullmatch(texts[0]):
        return None
    found = [match for text in texts if (match := ROMAN.fullmatch(text)) is not None]
    numbers = [ROMANS.index(n) + 1 for match in found if (n := match["n"] or match["m"]) in ROMANS]
    if len(numbers) < len(texts):
        return None
    letter = next(sign for sign, most in (("S", 2), ("Q", 4), ("M", 12)) if max(numbers) <= most)
    return [
        f"{match['Y']}{match['gap']}{letter}{number}"
        if match["Y"]
        else f"{letter}{number}{match['between']}{match['Z']}"
        for match, number in zip(found, numbers, strict=True)
    ]


def as_months(texts: Sequence[str], pattern: str) -> tuple[list[str], str]:
    """Quarters and half years by the month in which they begin, and the pattern of that."""
    parts = FIELD.split(pattern)
    form = re.compile(
        "".join(re.escape(p) if i % 2 == 0 else f"(?P<{p}>{SIZES[p]})" for i, p in enumerate(parts))
    )
    year = "Y" if "%Y" in pattern else "y"
    part = "q" if "%q" in pattern else "h"
    found = [form.fullmatch(text) for text in texts]
    begins = [(match[year], MONTHS[part] * (int(match[part]) - 1) + 1) if match else None for match in found]
    return [f"{begin[0]}-{begin[1]:02}" if begin else "" for begin in begins], f"%{year}-%m"
