"""Whether the sign that was taken for the decimal sign stands between thousands: 1.820 beside 315.

Decimals are not written so that every number has either three of them or none: 2.500 would be 2.5, or 315 be 315.000.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from t1.arrays import BoolArray, IntArray
from t1.data.csv.numbers import Numbers
from t1.data.csv.scan import Cells
from t1.data.csv.styles import MISSING
from t1.data.csv.texts import texts_of

OFTEN = 0.05  # of a column's numbers are written with the sign, and as many without
LEAST = 3  # numbers of each
APART = 5.0  # read as decimals, the greatest number without the sign is so many times the greatest with it


class Thousands:
    """Looks for a sign between thousands among the columns of a table that is being read."""

    def __init__(
        self, cells: Cells, numbers: Numbers, sign: bytes, encoding: str, codes: Collection[str]
    ) -> None:
        self.cells, self.numbers, self.sign, self.encoding = cells, numbers, sign.decode(), encoding
        self.missing = MISSING | set(codes)
        grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(self.sign)}\d{{3}})+"
        self.number = re.compile(rf"[-+]?(?:(?P<plain>\d{{1,3}})|(?P<grouped>{grouped}))")

    def find(self, names: Sequence[str], problems: list[str]) -> tuple[bool, frozenset[int]]:
        """Whether the sign separates thousands in the whole file, and the columns in which it does.

        Where it stays open, `problems` says so.
        """
        places = self.numbers.places
        often = np.maximum(OFTEN * places.sum(axis=1), LEAST)
        may_be = _three_or_none(places) & (places[:, 0] >= often) & (places[:, 3] >= often)
        found = {j: sure for j in np.flatnonzero(may_be).tolist() if (sure := self._surely(j)) is not None}
        if not found:
            return False, frozenset()
        others = [j for j in np.flatnonzero(places[:, 1:].any(axis=1)).tolist() if j not in found]
        nowhere_decimal = all(_three_or_none(places)[j] and self._surely(j) is not None for j in others)
        usual = self.sign == "." and self.cells.separator in b";\t"
        grouped = frozenset(found if nowhere_decimal and usual else (j for j in found if found[j]))
        if nowhere_decimal and grouped:
            return True, grouped
        for j in sorted(found.keys() - grouped):
            problems.append(
                f"column {names[j]!r} has whole numbers below 1000 and numbers such as 1{self.sign}234: "
                f"{self.sign!r} is taken for its decimal sign; if it separates thousands, "
                "name the other sign (decimal)."
            )
        return False, grouped

    def _surely(self, j: int) -> bool | None:
        """Whether the sign cannot be a decimal sign in a column; None if it cannot stand between thousands."""
        plain, grouped = [0.0], [0.0]
        twice = False
        for text in texts_of(self.cells, j, self.encoding):
            if text in self.missing:
                continue
            match = self.number.fullmatch(text)
            if match is None:
                return None
            if match["plain"]:
                plain.append(float(match["plain"]))
            elif match["grouped"].count(self.sign) > 1:
                twice = True
            else:
                grouped.append(float(match["grouped"].replace(self.sign, ".")))
        return twice or max(plain) > APART * max(grouped)


def _three_or_none(places: IntArray) -> BoolArray:
    """Which columns (columns,) have numbers with three decimals, perhaps with none, and no others."""
    others = places.sum(axis=1) - places[:, 0] - places[:, 3]
    return np.asarray((others == 0) & (places[:, 3] > 0))
