"""Numbers that stand for a missing value: -9999, 999.9 and the like, far outside of what is measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t1.arrays import FloatArray

KNOWN = frozenset({-200.0, -32768.0, 32767.0, 65535.0, 6999.0, 7999.0, 9.969209968386869e36})
ABSURD = 1e20  # from there on a power of ten is a code: 1e31
LEAST_REST = 10  # other values: with fewer there is no telling what is far outside
LEAST_TIMES = 3  # that a code stands in a column, or columns that it stands in
ROUNDS = 3  # codes on each side of a column: -9999 and -999, say


@dataclass(frozen=True)
class Sentinel:
    """A value of a column that probably means missing."""

    column: str
    value: float
    count: int
    sure: bool  # taken as missing; otherwise only told
    rest: tuple[float, float]  # the least and the greatest of the other values

    def __str__(self) -> str:
        cells = "1 cell" if self.count == 1 else f"{self.count:,} cells"
        low, high = self.rest
        return f"{self.value:g} in {self.column!r} ({cells}; the others go from {low:g} to {high:g})"


def find_sentinels(values: FloatArray, columns: Sequence[str]) -> list[Sentinel]:
    """The codes in a table (rows, vars), sure or suspicious.

    Sure is what looks like a code, recurs in its column or in others, and lies further from all others than these
    from one another; or what is sure in another column and stands outside here as well.
    """
    found: list[Sentinel] = []
    if not len(values):
        return found
    ends = np.fmin.reduce(values, axis=0).tolist(), np.fmax.reduce(values, axis=0).tolist()
    for j, name in enumerate(columns):
        if not _code_digits(ends[0][j]) and not _code_digits(ends[1][j]):
            continue
        column = values[:, j]
        seen = column[~np.isnan(column)]
        for _ in range(2 * ROUNDS):
            one = _outermost(seen, name)
            if one is None:
                break
            found.append(one)
            seen = seen[seen != one.value]
    outside = Counter(one.value for one in found if one.rest[0] < one.rest[1] and _code_digits(one.value) > 2)
    agreed = {one.value for one in found if one.sure or outside[one.value] >= LEAST_TIMES}
    return [
        Sentinel(one.column, one.value, one.count, one.sure or one.value in agreed, one.rest) for one in found
    ]


def drop_sentinels(values: FloatArray, columns: Sequence[str], found: Sequence[Sentinel]) -> None:
    """Count the sure ones as missing, in place."""
    at = {name: j for j, name in enumerate(columns)}
    for one in found:
        if one.sure:
            column = values[:, at[one.column]]
            column[column == one.value] = np.nan


def take_out_sentinels(values: FloatArray, columns: Sequence[str], keep: bool) -> tuple[Sentinel, ...]:
    """Find the codes in a table (rows, vars) and count the sure ones as missing, unless they are to be kept."""
    found = [] if keep else find_sentinels(values, columns)
    drop_sentinels(values, columns, found)
    return tuple(found)


def doubtful_sentinels(found: Sequence[Sentinel]) -> list[str]:
    """What to say about codes of a file that are not sure."""
    return [f"{one} may mean missing; if it does, say so (missing_values)." for one in found if not one.sure]


def _outermost(seen: FloatArray, name: str) -> Sentinel | None:
    """The least or the greatest value, if it looks like a code and stands far outside the rest."""
    if len(seen) < LEAST_REST:
        return None
    for value in (float(seen.min()), float(seen.max())):
        digits = _code_digits(value)
        if not digits:
            continue
        rest = seen[seen != value]
        if len(rest) < LEAST_REST:
            continue
        count = len(seen) - len(rest)
        low, high = float(rest.min()), float(rest.max())
        away = max(low - value, value - high)
        size = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
        if away <= size or (abs(value) < 1000 and away <= 0.5 * max(abs(low), abs(high))):
            continue
        # 99 among whole numbers may be a category of its own
        short = digits < 3 and (count < 5 or away <= 3 * size or bool((rest == np.rint(rest)).all()))
        sure = high > low and count >= LEAST_TIMES and not short
        return Sentinel(name, value, count, sure, (low, high))
    return None


def _code_digits(value: float) -> int:
    """How many digits of a code a number has: 4 for -9999 and 999.9, 0 for a number that is no code."""
    if value in KNOWN or (abs(value) >= ABSURD and f"{abs(value):.6e}".startswith("1.000000e")):
        return 5
    text = f"{abs(value):.10g}".replace(".", "")
    if value < 0 and re.fullmatch("[1-9]999", text):  # -6999 and -7999 of loggers
        return 4
    text = text.rstrip("0") or text
    return len(text) if len(text) >= 2 and set(text) in ({"9"}, {"8"}, {"7"}) else 0
