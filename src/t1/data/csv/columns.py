"""What the columns of a text table are: the time, what tells series apart, numbers to fill, or left alone."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import partial

import numpy as np

from t1.arrays import AnyArray, FloatArray
from t1.data.csv.find_time import STAMP
from t1.data.csv.numbers import Numbers
from t1.data.csv.scan import Cells
from t1.data.csv.styles import (
    MISSING,
    OTHER_SIGN,
    Style,
    find_powers,
    find_style,
    may_have_style,
    told_marks,
    unmarked,
    without_marks,
)
from t1.data.csv.texts import decode, texts_of
from t1.data.data_file import Choice
from t1.data.dates import is_time_name
from t1.data.ids import find_series, join_ids, may_name_series, repeated, told_series
from t1.data.reading import Reading
from t1.data.suspicions import WHY_BLANK, blank_may_mean, told_blank, told_empty, told_nothing
from t1.data.time_columns import TimeColumns, TimeSource, are_mostly_clocks
from t1.errors import InputError

SOME = 50  # rows for a quick look
MOSTLY = 9  # numbers for each text cell: from there on the text is taken for a mistake
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}([.,' \u00a0\u202f]\d{3})+([.,]\d+)?")  # 1,234.5
POWER = re.compile(rb"\d[eE][-+]?\d")
MOST_TEXTS = 5  # that a message names
ROW_NAME = re.compile(r"#|no\.?|nr\.?|index|idx|row|record|rec|unnamed: 0|row_?num(ber)?", re.IGNORECASE)


class TextSheet:
    """A table that is being read."""

    def __init__(
        self,
        cells: Cells,
        names: tuple[str, ...],
        encoding: str,
        numbers: Numbers,
        choice: Choice,
        reading: Reading,
        *,
        named: bool,
        decimal: bytes,
        grouped: frozenset[int] = frozenset(),
    ) -> None:
        self.cells, self.names, self.encoding = cells, names, encoding
        self.numbers, self.choice, self.reading = numbers, choice, reading
        self.named, self.decimal = named, decimal.decode()
        self.grouped = grouped  # columns with what is the decimal sign elsewhere between thousands
        self.problems: list[str] = []
        self.said: list[str] = []
        self.passed_through: dict[str, str] = {}
        self.styles: dict[int, Style] = {}
        self._marked: dict[str, frozenset[str]] = {}  # columns with marks beside some numbers
        self._kept: dict[int, list[str]] = {}
        # Quick looks at all columns at once: then only few of a wide table have to be read as text.
        some = slice(0, SOME)
        self.largest = np.fmax.reduce(numbers.values[some], axis=0)
        self._zero_first = (cells.data[cells.starts(some)] == ord("0")).any(axis=0)
        last = int(cells.ends[some][-1, -1]) if len(cells.ends) else 0
        self._powers = POWER.search(cells.data[:last].tobytes(), int(cells.row_starts[0])) is not None
        self.source = TimeSource(names, self.all_texts, self.whole_column)

    def texts(self, column: int, limit: int | None = None) -> list[str]:
        """The cells of one column as text."""
        return texts_of(self.cells, column, self.encoding, limit)

    def all_texts(self, column: int) -> list[str]:
        """The cells of one column as text, kept to be asked for again."""
        if column not in self._kept:
            self._kept[column] = self.texts(column)
        return self._kept[column]

    def forget_texts(self) -> None:
        """Free the memory of the texts that were kept."""
        self._kept.clear()

    @property
    def texts_at(self) -> list[int]:
        """Where the columns are that are left alone because they hold text."""
        return [
            j
            for j, name in enumerate(self.names)
            if self.passed_through.get(name, "").startswith("holds text")
        ]

    def find_ids(self, time: TimeColumns | None) -> tuple[tuple[int, ...], AnyArray | None]:
        """The columns that tell series apart, and each row's id."""
        at = self.choice.id
        if not at and not self.choice.named and (time is not None or self.named):
            times, taken = (None, ()) if time is None else (time.times, time.at)
            again = 0 if times is None else repeated(times)
            free = [j for j in range(len(self.names)) if j not in taken]
            texts = [j for j in free if self._may_tell_apart(j, again)]
            numbers = {j: (self.names[j], partial(self.whole_column, j)) for j in free}
            at = find_series(times, {j: (self.names[j], self.all_texts) for j in texts}, numbers)
            if at:
                self.said.append(told_series((self.names[j] for j in at), times))
        if not at:
            return (), None
        ids = join_ids(map(self.all_texts, at))
        if nameless := int((ids == "").sum()):
            name = self.names[at[0]]
            self.problems.append(f"{nameless} rows have no {name!r}; they are taken for one series.")
        return at, ids

    def _may_tell_apart(self, j: int, again: int) -> bool:
        """Whether a column is text, or whole numbers under the name of an id; `again`: rows whose stamp repeats.

        A clock that could not be read tells no series apart: those would go from day to day at one hour.
        """
        if self.numbers.n_texts[j]:
            return (bool(again) or self._is_text(j)) and not are_mostly_clocks(self.texts(j, SOME))
        return may_name_series(self.names[j], lambda: self.whole_column(j), again)

    def find_numeric(self, taken: tuple[int, ...]) -> list[int]:
        """The columns to fill; all others are noted as passed through."""
        found: list[int] = []
        for j, name in enumerate(self.names):
            if j in taken:
                continue
            n_texts, n_numbers = int(self.numbers.n_texts[j]), int(self.numbers.n_numbers[j])
            if j not in self.choice.wanted:
                self.passed_through[name] = "was not asked for"
            elif is_time_name(name) and not self.choice.named and not self._is_text(j):
                self.passed_through[name] = "is named like a time (to have it filled, name it: columns)"
            elif self._nameless(j) and not n_texts and not n_numbers:
                self.passed_through[name] = "is empty and has no name"
            elif not n_texts and not n_numbers and {*self.texts(j)} == {"M"}:
                self.passed_through[name] = (
                    "holds text ('M' in every row)"  # monthly; elsewhere it means missing
                )
            elif (n_texts or j in self.grouped) and not self._read_style(j):
                self._refuse_mixed(j)
                row = int(self.numbers.first_text[j])
                self.passed_through[name] = (
                    f"holds text ({self._show(row, j)!r} on line {self.cells.line(row)})"
                )
                blanks = len(self.numbers.values) - n_texts - n_numbers
                if n_numbers > n_texts:
                    self.problems.append(self._told_mixed(j))
                elif blanks:
                    self.problems.append(told_empty(name, "text", blanks))
            elif not self.choice.named and self._is_stamp(j):
                self.passed_through[name] = "holds time stamps"
            elif not self.choice.named and self._is_code(j):
                self.passed_through[name] = "holds codes that begin with 0"
            elif not self.choice.named and self._counts_rows(j):
                self.passed_through[name] = "counts the rows"
            elif not self.choice.named and blank_may_mean(self.numbers.values[:, j], name):
                self.passed_through[name] = WHY_BLANK
                self.problems.append(told_blank(name))
            else:
                found.append(j)
                if self._powers and j not in self.styles:
                    powers = find_powers(self.texts(j, SOME), self.decimal)
                    self.styles |= {} if powers is None else {j: powers}
                if not self.numbers.n_numbers[j]:
                    self.problems.append(told_nothing(name))
        if self._marked:
            self.said += told_marks(self._marked)
        if not found:
            mixed = [j for j in range(len(self.names)) if j not in taken and self.numbers.n_texts[j]]
            for j in sorted(mixed, key=lambda j: -int(self.numbers.n_numbers[j])):
                self._refuse_mixed(j, mostly=1)
            raise InputError(
                f"no column holds numbers (found: {', '.join(map(repr, self.names[:8]))}).",
                cure="If the columns run together or the numbers look odd, name what separates cells "
                "(separator) and the decimal sign (decimal).",
                option="separator",
            )
        return found

    def _read_style(self, j: int) -> bool:
        """Whether a column of text is one of numbers with signs and units around them; they are read then."""
        codes = set(self.reading.missing_values)
        few = self.numbers.n_texts[j] * 20 < self.numbers.n_numbers[j] and j not in self.grouped
        # Few numbers may be above 1000 or below 0, but all have a unit or none.
        first = self._show(int(self.numbers.first_text[j]), j) if few else ""
        marked = unmarked(first, self.names[j]) is not None
        if few and not marked and not GROUPED.fullmatch(first) and not first.startswith("−"):
            return False
        if not may_have_style([text for text in self.texts(j, 100) if text not in codes]):
            return self._read_marked(j, codes)
        texts = self.all_texts(j)
        if codes:
            texts = ["" if text in codes else text for text in texts]
        other = OTHER_SIGN[self.decimal]
        found = find_style(
            texts, other if j in self.grouped and not self.numbers.n_texts[j] else self.decimal
        )
        if found is None:
            return self._read_marked(j, codes)
        self._take_style(j, found, codes)
        self.said.append(f"column {self.names[j]!r} is written with {found[0]}")
        return True

    def _read_marked(self, j: int, codes: Set[str]) -> bool:
        """Whether a column of text is one of numbers, some of them with a mark; they are read then."""
        name = self.names[j]
        if unmarked(self._show(int(self.numbers.first_text[j]), j), name) is None:
            return False
        plain, marks = without_marks(["" if text in codes else text for text in self.all_texts(j)], name)
        nothing = Style(decimal=self.decimal), np.full(len(plain), np.nan), 0
        found = nothing if MISSING.issuperset(plain) else find_style(plain, self.decimal)
        if found is None:
            return False
        self._take_style(j, found, codes)
        self._marked[name] = marks
        return True

    def _take_style(self, j: int, found: tuple[Style, FloatArray, int], codes: Set[str]) -> None:
        style, values, places = found
        for code in codes:
            if re.fullmatch(r"[-+]?\d+(\.\d+)?", code):
                values[values == float(code)] = np.nan
        self.styles[j] = style
        self.numbers.values[:, j] = values
        self.numbers.decimals[j] = places
        self.numbers.n_numbers[j] = int((~np.isnan(values)).sum())

    def _is_stamp(self, j: int) -> bool:
        """Whether numbers are time stamps such as 202001312300, beside those that were taken as the time."""
        if not self.largest[j] >= 1.9e9:
            return False
        some = [text for text in self.texts(j, SOME) if text]
        return bool(some) and all(STAMP.fullmatch(text) for text in some)

    def _is_code(self, j: int) -> bool:
        """Whether digits are a name, such as 01234567: as a number it would lose its zeros."""
        if not self._zero_first[j]:
            return False
        given = [text for text in self.texts(j, 200) if text]
        return bool(given) and all(re.fullmatch(r"0\d+", text) for text in given)

    def _nameless(self, j: int) -> bool:
        return self.names[j] == f"column {j + 1}"

    def _is_text(self, j: int) -> bool:
        return bool(self.numbers.n_texts[j] * MOSTLY > self.numbers.n_numbers[j])

    def is_numeric(self, j: int) -> bool:
        """Whether every cell of a column is a number or missing."""
        return bool(self.numbers.n_texts[j] == 0 and self.numbers.n_numbers[j] > 0)

    def whole_column(self, j: int) -> AnyArray | None:
        """The numbers of a column, None if it holds text."""
        return self.numbers.values[:, j] if self.is_numeric(j) else None

    def _refuse_mixed(self, j: int, mostly: int = MOSTLY) -> None:
        """Refuse a column with so many more numbers than texts that it must be one of numbers."""
        n_texts, n_numbers = int(self.numbers.n_texts[j]), int(self.numbers.n_numbers[j])
        if not self.choice.named and n_numbers < mostly * n_texts:
            return
        row, name = int(self.numbers.first_text[j]), self.names[j]
        text = self._show(row, j)
        infinite = text.strip("+-").lower() in ("inf", "infinity")
        what = "an infinite value, " if infinite else ""
        # a text with digits in it is a value that somebody wrote: never advise to overwrite it
        code = infinite or not any(letter.isdigit() for letter in text)
        more = ", or correct the cell"
        if code:
            texts = self._codes(j, mostly)
            more = f", or have cells with {', '.join(map(repr, texts))} filled (missing_values)"
            more += f": give {' '.join(map(repr, texts))}" if len(texts) > 1 else ""
        if row and self.cells.line(row) > self.cells.line(row - 1) + 1:
            more += f"; if another table begins on line {self.cells.line(row)}, take that out of the file"
        raise InputError(
            f"column {name!r} holds {what}{text!r} on line {self.cells.line(row)}, where a number was "
            f"expected ({n_numbers} cells are numbers, {n_texts} are not).",
            cure=f"Leave the column {name!r} as it is (exclude){more}.",
            option="exclude",
        )

    def _told_mixed(self, j: int) -> str:
        """What is said of a column of numbers and too many texts to be mistakes."""
        texts = self._codes(j, MOSTLY, only=True)
        more = f" If {' and '.join(map(repr, texts))} mean missing, say so (missing_values)." if texts else ""
        return (
            f"column {self.names[j]!r} holds {self.numbers.n_numbers[j]} numbers and {self.numbers.n_texts[j]} texts, "
            f"so it is left alone.{more}"
        )

    def _codes(self, first: int, mostly: int, *, only: bool = False) -> list[str]:
        """The first few different texts without a digit in this and, but for `only`, all columns refused as it is."""
        found: dict[str, None] = {}
        for j in [first] if only else [first, *(j for j in sorted(self.choice.wanted) if j > first)]:
            n_texts, n_numbers = int(self.numbers.n_texts[j]), int(self.numbers.n_numbers[j])
            if not n_texts or (j != first and n_numbers < mostly * n_texts):
                continue
            for i in np.flatnonzero(np.isnan(self.numbers.values[:, j])).tolist():
                text = self._show(i, j)
                if text not in MISSING and not any(letter.isdigit() for letter in text):
                    found[text] = None
                if len(found) == MOST_TEXTS:
                    return list(found)
        return list(found)

    def _show(self, row: int, j: int) -> str:
        return decode(self.cells.cell(row, j), self.encoding).strip()[:60]

    def _counts_rows(self, j: int) -> bool:
        """Whether a column is the number of its row: called so, or without a name and in front."""
        column = self.numbers.values[:, j]
        nameless = j == 0 and self._nameless(j) and len(self.names) > 1 and column[0] in (0, 1)
        named = ROW_NAME.fullmatch(self.names[j].strip()) is not None and len(column) > 2
        if not nameless and not named:
            return False
        steps = np.diff(column[~np.isnan(column)])
        # rows may have been taken out, or added without a number
        return bool((steps >= 1).all() and (steps == 1).sum() >= 0.9 * (len(column) - 1))
