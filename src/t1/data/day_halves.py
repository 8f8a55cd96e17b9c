"""The halves of a day behind a clock: PM, p.m., p. m., p; read as PM, and written as the column does."""

from __future__ import annotations

import re
from collections.abc import Sequence

DOTTED = re.compile(r"(?P<half>[AaPp])\.\s?(?P<m>[Mm])\.")
BARE = re.compile(r"(?<=:\d\d)(?P<gap>\s?)(?P<half>[AaPp])(?![\w.])")  # 12:30a, as Davis writes it
UNUSUAL_HALF = re.compile(
    f"{re.sub('[?]P<[a-z]+>', '', DOTTED.pattern)}|{re.sub('[?]P<[a-z]+>', '', BARE.pattern)}"
)
HALF = re.compile(r"(?<![^\W\d_])[AaPp](?:(?:\.\s?)?[Mm](?![^\W\d_])\.?|(?![\w.]))")


def without_dots(text: str) -> str:
    """A clock with p.m. or p as pm."""
    return BARE.sub(r"\g<gap>\g<half>m", DOTTED.sub(r"\g<half>\g<m>", text))


def half_style(texts: Sequence[str]) -> tuple[str, str]:
    """How a column writes the two halves of a day; AM and PM where it does not.

    >>> half_style(["1/2/2023 3:15 p. m."])
    ('a. m.', 'p. m.')
    """
    given = next((match[0] for text in texts[:1] if (match := HALF.search(text))), "AM")
    first, second = "ap" if given[0].islower() else "AP"
    return first + given[1:], second + given[1:]
