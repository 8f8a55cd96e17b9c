"""The first lines of a text table against what most of its lines are like: names, units, or data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from t1.data.csv.cells import CellLook, look, usual_looks
from t1.data.csv.dialect import BLANKS, split, usual_width

MOST_UNITS = 3  # lines of units, formats and the like below the names
VALUES = (CellLook.NUMBER, CellLook.DATE)
LETTERS = (b"M", b"MM", b"ND")  # mean missing in a row, but may be names as well
MOST_CELLS = 20_000  # that are looked at to tell what the columns are like
LEAST_BODY = 12  # lines of them, however wide


class FirstLines:
    """The first lines that are no comments, as cells, and what the table's columns look like."""

    def __init__(self, lines: Sequence[bytes], separator: bytes, missing: Collection[bytes]) -> None:
        self.missing, self.separator = missing, separator
        self.cells = [split(line, separator) for line in lines]
        self.width = usual_width(lines, separator)
        same = [cells for cells in self.cells if len(cells) == self.width]
        # The first lines may be names or units, so the columns are judged by the lines after them.
        body = same[max(1, min(len(same) // 4, 20)) :] or same[1:] or same
        self.looks = usual_looks(body[: max(LEAST_BODY, MOST_CELLS // self.width)], missing)

    def find_header(self) -> tuple[int | None, int]:
        """The line of names, if one of these lines is it, and the first line of data."""
        if not any(kind in VALUES for kind in self.looks):  # a table of text: nothing tells its names apart
            first = next((k for k, cells in enumerate(self.cells) if len(cells) == self.width), 0)
            return first, first + 1
        at = 0
        while at < len(self.cells) and not (self.is_units(at) or self._is_names(at) or self._is_data(at)):
            at += 1
        if at == len(self.cells):
            return 0, 1
        if not (self.is_units(at) or self._is_names(at)):
            if at and self._is_near_header(at - 1):  # a trailing separator more or less, or short rows
                return at - 1, at
            return (at, at + 1) if self._counts_columns(at) else (None, at)
        end = at + 1
        while end < len(self.cells) and self._is_below_names(end) and end - at <= MOST_UNITS:
            end += 1
        for later in range(end, min(end + 5, len(self.cells))):
            if self._is_data(later, wrong=0.0) and self._has_date(later):
                break
            if self.is_units(later):  # what seemed the table was its preamble
                more, body = _from(self, later)
                return more, body
        block = range(at, end)
        return next((k for k in block if self._all_named(k)), max(block, key=self._n_named)), end

    def first_data(self) -> int:
        """The first line that is like the others."""
        return next((k for k in range(len(self.cells)) if self._is_data(k)), 0)

    def is_units(self, k: int) -> bool:
        """Whether a line has text where the table has numbers or dates, and none of its own."""
        cells = self.cells[k]
        if len(cells) != self.width:
            return False
        kinds = [look(cell, self.missing) for cell in cells]
        pairs = [(a, b) for a, b in zip(kinds, self.looks, strict=True) if b in VALUES]
        return any(a not in (b, CellLook.MISSING) for a, b in pairs) and not any(a is b for a, b in pairs)

    def _is_below_names(self, k: int) -> bool:
        """Whether a line is one of units; between blanks it has fewer cells where a column has no unit."""
        cells = self.cells[k]
        short = self.separator == BLANKS and 1 < len(cells) < self.width
        return self.is_units(k) or (
            short and all(look(cell, self.missing) is CellLook.TEXT for cell in cells)
        )

    def _is_names(self, k: int) -> bool:
        """Whether a line of names has numbers among them: date, 0, 1, 2, OT."""
        cells = self.cells[k]
        if len(cells) != self.width:
            return False
        pairs = [(cell.strip(b' "\t'), kind) for cell, kind in zip(cells, self.looks, strict=True)]
        texts = [kind for cell, kind in pairs if kind in VALUES and look(cell, self.missing) is CellLook.TEXT]
        others = [
            cell for cell, kind in pairs if kind in VALUES and look(cell, self.missing) is not CellLook.TEXT
        ]
        named = CellLook.DATE in texts or len(texts) > 1
        return named and all(cell.isdigit() for cell in others) and len(set(others)) == len(others)

    def _is_data(self, k: int, wrong: float = 0.25) -> bool:
        """Whether a line is like the others, but for so many of its numbers."""
        cells = self.cells[k]
        if len(cells) != self.width:
            return False
        kinds = [look(cell, self.missing) for cell in cells]
        pairs = [(a, b) for a, b in zip(kinds, self.looks, strict=True) if b in VALUES]
        odd = sum(a not in (b, CellLook.MISSING) for a, b in pairs)
        dated = all(a in (b, CellLook.MISSING) for a, b in pairs if b is CellLook.DATE)
        return dated and any(a is b for a, b in pairs) and odd <= wrong * len(pairs)

    def _has_date(self, k: int) -> bool:
        """Whether a line has a date, if there are any: numbers of devices may stand below the names."""
        dated = [j for j, kind in enumerate(self.looks) if kind is CellLook.DATE]
        return not dated or any(look(self.cells[k][j], self.missing) is CellLook.DATE for j in dated)

    def _is_near_header(self, k: int) -> bool:
        """Whether a line just above the data names its columns, though not as many, or as M for missing."""
        cells = self.cells[k]
        kinds = [look(cell, self.missing) for cell in cells]
        letters = sum(cell.strip(b' "\t') in LETTERS for cell in cells)
        texts = kinds.count(CellLook.TEXT) + letters
        enough = texts > 1 or (texts == len(cells) == self.width)
        blank = kinds.count(CellLook.MISSING) - letters
        return self.width - 1 <= len(cells) and enough and texts + blank == len(cells)

    def _counts_columns(self, k: int) -> bool:
        """Whether a first line of numbers names columns: 773869, 767541, ... above numbers with decimals."""
        if k + 1 >= len(self.cells):
            return False
        names = [
            cell.strip(b' "\t')
            for cell, kind in zip(self.cells[k], self.looks, strict=True)
            if kind is CellLook.NUMBER
        ]
        if len(names) < 2 or len(set(names)) < len(names) or not all(name.isdigit() for name in names):
            return False
        numbers = [int(name) for name in names]
        steps = {b - a for a, b in pairwise(numbers)}
        years = min(steps) > 0 and numbers[0] >= 1600 and numbers[-1] <= 2200
        if years or (steps == {1} and numbers[0] in (0, 1)):  # 2001, 2002, 2003, or 1, 2, 3
            return True
        body = [cells for cells in self.cells[k + 1 :] if len(cells) == self.width]
        points = sum(b"." in cell or b"," in cell for cells in body for cell in cells)
        return points * 2 > sum(map(len, body))

    def _n_named(self, k: int) -> int:
        """How many columns a line names: of groups (Boiler, Pump) above the names only the first of each has one."""
        return sum(bool(name.strip(b' "\t')) for name in self.cells[k])

    def _all_named(self, k: int) -> bool:
        names = [name.strip(b' "\t') for name in self.cells[k]]
        return all(names) and len(set(names)) == len(names)


def _from(table: FirstLines, first: int) -> tuple[int | None, int]:
    """The same search from a later line on."""
    below = object.__new__(FirstLines)
    below.missing, below.separator, below.width = table.missing, table.separator, table.width
    below.looks = table.looks
    below.cells = table.cells[first:]
    header, body = below.find_header()
    return None if header is None else header + first, body + first
