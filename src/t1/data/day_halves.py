"""The halves of a day behind a clock: PM, p.m., p. m.; read as PM, and written as the column does."""

from __future__ import annotations

import re
from collections.abc import Sequence

DOTTED = re.compile(r"(?P<half>[AaPp])\.\s?(?P<m>[Mm])\.")
HALF = re.compile(r"(?<![^\W\d_])[AaPp](?:\.\s?)?[Mm](?![^\W\d_])\.?")


def without_dots(text: str) -> str:
    """A clock with p.m. as pm."""
    return DOTTED.sub(r"\g<half>\g<m>", text)


def half_style(texts: Sequence[str]) -> tuple[str, str]:
    """How a column writes the two halves of a day; AM and PM where it does not.

    >>> half_style(["1/2/2023 3:15 p. m."])
    ('a. m.', 'p. m.')
    """
    given = next((match[0] for text in texts[:1] if (match := HALF.search(text))), "AM")
    first, second = "ap" if given[0].islower() else "AP"
    return first + given[1:], second + given[1:]
