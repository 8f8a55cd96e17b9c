"""The names of months in the languages that tables come in: found in a date, and written as the column does."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from t1.data.time_format import MONTHS

# short and full names of a language; where a short name is usual in two ways, each is a line of its own
LINES = (
    MONTHS,
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sept oct nov dec",
    "jan feb mär apr mai jun jul aug sep okt nov dez",
    "jan feb mrz apr mai jun jul aug sep okt nov dez",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "ene feb mar abr may jun jul ago sept oct nov dic",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
ROWS = tuple(tuple(line.lower().split()) for line in LINES)
WORD = re.compile(r"(?P<name>[^\W\d_]{3,})(?P<dot>\.(?!\d))?")  # juil. 2023, but 06.Jun.2023
BETWEEN = frozenset(("de", "del", "of"))  # 5 de junio de 2023


def plain(name: str) -> str:
    """A name in lower case and without accents, which many files leave out."""
    parts = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


NUMBERS = {plain(name): k for row in ROWS for k, name in enumerate(row)}


def month_of(word: str) -> int | None:
    """Which month a word is: 0 for January; None if it is none."""
    return NUMBERS.get(plain(word))


def in_english(text: str) -> str:
    """A date with the name of its month as Jan, Feb, ..."""

    def short(match: re.Match[str]) -> str:
        month = month_of(match["name"])
        return match[0] if month is None else MONTHS.split()[month]

    return WORD.sub(short, text)


def day_pattern(text: str) -> str | None:
    """The strptime pattern of a date without a clock that names its month: "%d-%b-%Y"; None if it is none."""
    words = re.findall(r"[^\W\d_]+", text)
    if sum(month_of(word) is not None for word in words) != 1:
        return None
    if not all(month_of(word) is not None or word.lower() in BETWEEN for word in words):
        return None
    sizes = [len(number) for number in re.findall(r"\d+", text)]
    shape = "".join("Y" if size == 4 else "d" if size <= 2 else "?" for size in sizes)
    if shape == "dd" and sizes[1] == 2:
        shape = "dy"
    if shape == "d" and sizes == [2] and not text[:1].isdigit():  # 06-May is a day without a year
        shape = "y"
    if shape not in ("dY", "Yd", "dy", "Y", "y"):
        return None
    fields = iter(shape)
    named = WORD.sub(lambda m: m[0] if month_of(m["name"]) is None else "%b", text)
    return re.sub(r"\d+", lambda _: f"%{next(fields)}", named)


def month_style(texts: Sequence[str]) -> tuple[str, ...]:
    """How a column writes each month, those that it does not name in the way of the others; (12,)."""
    seen: list[Counter[str]] = [Counter() for _ in range(12)]
    for text in texts:
        for match in WORD.finditer(text):
            month = month_of(match["name"])
            if month is not None:
                seen[month][match[0]] += 1
    usual = [counts.most_common(1)[0][0] if counts else "" for counts in seen]
    names = [name.rstrip(".").lower() for name in usual]
    row = max(ROWS, key=lambda row: sum(a == b for a, b in zip(names, row, strict=True)))
    given = "".join(usual)
    case = str.upper if given.isupper() else str.lower if given.islower() else str.capitalize
    dotted = any(name.endswith(".") for name in usual)
    full = [max((other[k] for other in ROWS if other[k].startswith(row[k])), key=len) for k in range(12)]
    made = [case(name) + "." * (dotted and name != full[k]) for k, name in enumerate(row)]
    return tuple(name or made[k] for k, name in enumerate(usual))
