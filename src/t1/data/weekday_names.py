"""The day of the week in front of a date: taken off to read it, compared with it, and written as the column does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from t1.arrays import BoolArray, TimeArray
from t1.data.month_names import plain

LINES = (
    "mon tue wed thu fri sat sun",
    "mon tues wed thurs fri sat sun",
    "monday tuesday wednesday thursday friday saturday sunday",
    "mo di mi do fr sa so",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lun mar mer jeu ven sam dim",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lun mar mié jue vie sáb dom",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lun mar mer gio ven sab dom",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "seg ter qua qui sex sáb dom",
    "ma di wo do vr za zo",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)
ROWS = tuple(tuple(line.split()) for line in LINES)
NUMBERS = {plain(name): k for row in ROWS for k, name in enumerate(row)}
LEADING = re.compile(r"(?P<name>[^\W\d_]{2,})(?P<sep>\.?,? +)(?=\S)")  # "Tue, " and "Di. "


def weekday_of(word: str) -> int | None:
    """Which day of the week a word is: 0 for Monday; None if it is none."""
    return NUMBERS.get(plain(word))


def without_weekday(text: str) -> tuple[int | None, str, str]:
    """The day of the week in front of a date, what separates it, and the date; None where there is none."""
    match = LEADING.match(text)
    day = weekday_of(match["name"]) if match else None
    return (None, "", text) if match is None or day is None else (day, match["sep"], text[match.end() :])


def are_weekdays(times: TimeArray, days: Sequence[int | None]) -> BoolArray:
    """Which times are on the day of the week that stands in front of them."""
    given = np.array([-1 if day is None else day for day in days])
    with np.errstate(all="ignore"):
        own = (times.astype("M8[D]").astype("i8") + 3) % 7  # 1 January 1970 was a Thursday
    return np.asarray((given == own) & ~np.isnat(times))


def weekday_style(texts: Sequence[str]) -> tuple[str, ...]:
    """How a column writes each day of the week, those that it does not name in the way of the others; (7,)."""
    seen: list[Counter[str]] = [Counter() for _ in range(7)]
    for text in texts:
        match = LEADING.match(text)
        day = weekday_of(match["name"]) if match else None
        if match is not None and day is not None:
            seen[day][match["name"]] += 1
    usual = [counts.most_common(1)[0][0] if counts else "" for counts in seen]
    row = max(ROWS, key=lambda row: sum(a.lower() == b for a, b in zip(usual, row, strict=True)))
    given = "".join(usual)
    case = str.upper if given.isupper() else str.lower if given.islower() else str.capitalize
    return tuple(name or case(row[k]) for k, name in enumerate(usual))
