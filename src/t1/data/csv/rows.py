"""Which lines below the names are no rows: comments, totals and remarks at the end, names once more.

Each function takes lines out of `is_row` (lines,), in place, and says so.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, IntArray
from t1.data.csv.cells import TOTALS, CellLook, look
from t1.data.csv.dialect import BLANKS, split
from t1.data.csv.head import VALUES
from t1.data.csv.layout import Layout
from t1.data.dates import is_time_name
from t1.errors import InputError

BLANK = b' \t"'
RULE = b"-=_+:|"  # what a line below the names is drawn with
LOOK_BACK = 200  # rows at the end that are looked at
TOTAL_LETTERS = b"gtsmac"  # what the words for totals begin with
MOST_SETTINGS = 30  # lines without a date above those with one
MOST_SUMS = 3  # lines of sums below a table
LEAST_WHOLE = 10  # rows without a cell less, beside which a last one is cut off

WORD_AND_NUMBER = re.compile(rb"[^\s\d:]+[-. ]{0,2}\d{2,4}")

Bytes = npt.NDArray[np.uint8]


def line_at(data: Bytes, position: int, newline: bytes = b"\n") -> int:
    """The number of the line that holds a byte; the first is 1."""
    return int(np.count_nonzero(data[:position] == newline[-1])) + 1


def drop_comments(data: Bytes, starts: IntArray, is_row: BoolArray, comment: bytes) -> int:
    """Lines that start with the comment sign are no rows; how many there were."""
    found = is_row & (data[starts] == comment[0])
    if len(comment) > 1:
        for i in np.flatnonzero(found).tolist():
            found[i] = data[starts[i] : starts[i] + len(comment)].tobytes() == comment
    is_row[found] = False
    return int(found.sum())


def drop_footer(
    data: Bytes,
    starts: IntArray,
    ends: IntArray,
    counts: IntArray,
    is_row: BoolArray,
    layout: Layout,
    said: list[str],
) -> None:
    """Lines at the end that are no rows: totals, remarks, and rows without a single cell."""
    empty = remarks = 0
    rows = np.flatnonzero(is_row)
    undated = _undated_end(data, starts, ends, rows, layout)
    for i in rows[:0:-1].tolist():  # the first row is never taken for a footer
        cells = split(data[starts[i] : ends[i]].tobytes(), layout.separator)
        if layout.width > 1 and len(cells) > 1 and not any(cell.strip() for cell in cells):
            empty += 1
        elif i in undated or _is_remark(cells, int(counts[i]), layout):
            remarks += 1
        else:
            break
        is_row[i] = False
    if empty:
        said.append(f"{empty} empty rows at the end are left alone")
    if remarks:
        said.append(
            "the last line is no row of the table"
            if remarks == 1
            else f"the last {remarks} lines are no rows"
        )


def _is_remark(cells: list[bytes], n_cells: int, layout: Layout) -> bool:
    """Whether a last line is no row: text where the table has values, or a single text."""
    short = n_cells != layout.width or TOTALS.match(cells[0].strip(BLANK)) is not None
    alone = n_cells == 1 and layout.width > 2
    short = short or _stands_alone(cells)
    return look(cells[0]) is CellLook.TEXT and ((layout.looks[0] in VALUES and short) or alone)


def _stands_alone(cells: list[bytes]) -> bool:
    """Whether nothing stands beside the first cell: a sheet saved as CSV has separators behind a remark as well.

    A month in an encoding or a language that is not known here (décembre 2020) is no remark.
    """
    month = WORD_AND_NUMBER.fullmatch(cells[0].strip(BLANK)) is not None
    return len(cells) > 1 and not month and not any(cell.strip(BLANK) for cell in cells[1:])


def drop_undated_start(
    data: Bytes, starts: IntArray, ends: IntArray, is_row: BoolArray, layout: Layout, said: list[str]
) -> None:
    """The first lines if they alone have no date in any column of dates: who and what was measured, settings."""
    dated = [j for j, kind in enumerate(layout.looks) if kind is CellLook.DATE]
    rows = np.flatnonzero(is_row)[: MOST_SETTINGS + MOST_SUMS + 1].tolist()
    if not dated or layout.width < 3:
        return
    lines = [split(data[starts[i] : ends[i]].tobytes(), layout.separator) for i in rows]
    missing = [not any(cells[j].strip(BLANK) for j in dated if j < len(cells)) for cells in lines]
    n = missing.index(False) if False in missing else 0
    if not 0 < n <= MOST_SETTINGS or any(missing[n:]):
        return
    is_row[rows[:n]] = False
    said.append(
        f"the first {f'{n} rows have' if n > 1 else 'row has'} no date and {'are' if n > 1 else 'is'} left alone"
    )


def _undated_end(data: Bytes, starts: IntArray, ends: IntArray, rows: IntArray, layout: Layout) -> set[int]:
    """The last lines if they alone have no date in any column of dates: sums without a word, the end of a report."""
    dated = [j for j, kind in enumerate(layout.looks) if kind is CellLook.DATE]
    if not dated or layout.width < 2:
        return set()
    tail = rows[-LOOK_BACK:].tolist()
    lines = (split(data[starts[i] : ends[i]].tobytes(), layout.separator) for i in tail)
    missing = [_has_no_date(cells, dated, layout.width) for cells in lines]
    n = missing[::-1].index(False) if False in missing else len(tail)
    return set(tail[len(tail) - n :]) if sum(missing) == n <= MOST_SUMS < len(tail) else set()


def _has_no_date(cells: list[bytes], dated: list[int], width: int) -> bool:
    """Whether a line has no cell in the columns of dates; a short line may have another one in their place."""
    given = [cells[j] for j in dated if j < len(cells) and cells[j].strip(BLANK)]
    return not given or (len(cells) < width and all(look(cell) is not CellLook.DATE for cell in given))


def drop_cut_off(
    data: Bytes,
    starts: IntArray,
    ends: IntArray,
    counts: IntArray,
    is_row: BoolArray,
    layout: Layout,
    said: list[str],
) -> None:
    """The last line if it alone has too few cells, and no line break: the logger stopped while it wrote."""
    rows = np.flatnonzero(is_row)
    ended = len(rows) < LEAST_WHOLE or layout.separator == BLANKS or data[ends[rows[-1]]] != 0
    if ended or counts[rows[-1]] >= layout.width or (counts[rows[:-1]] != layout.width).any():
        return
    is_row[rows[-1]] = False
    said.append("the last line is cut off and left alone")


def drop_empty(
    data: Bytes, starts: IntArray, ends: IntArray, is_row: BoolArray, layout: Layout, said: list[str]
) -> None:
    """Lines of separators, blanks and dashes only, where a row has a date or a name: they are there for the eye.

    In a table of numbers only they stay rows, of which nothing is known: order is all that says when those were.
    """
    named = any(kind in (CellLook.DATE, CellLook.TEXT) for kind in layout.looks)
    if layout.width < 2 or not (named or any(is_time_name(name.decode("latin-1")) for name in layout.names)):
        return
    signs = np.frombuffer(layout.separator + BLANK + RULE, dtype=np.uint8)
    may_be = is_row & np.isin(data[starts], signs) & np.isin(data[np.maximum(ends - 1, 0)], signs)
    strip = signs.tobytes()
    found = [
        i for i in np.flatnonzero(may_be).tolist() if not data[starts[i] : ends[i]].tobytes().strip(strip)
    ]
    is_row[found] = False
    if found:
        said.append(f"{len(found)} empty row{'s' * (len(found) > 1)} between the others left alone")


def drop_strays(
    data: Bytes,
    starts: IntArray,
    ends: IntArray,
    counts: IntArray,
    is_row: BoolArray,
    layout: Layout,
    newline: bytes,
    said: list[str],
) -> None:
    """Lines between the rows that are none: a remark of the logger, or the names once more."""
    strays = 0
    for i in np.flatnonzero(is_row & (counts != layout.width)).tolist():
        remark = (
            counts[i] == 1
            and layout.width > 1
            and layout.looks[0] in VALUES
            and look(data[starts[i] : ends[i]].tobytes()) is CellLook.TEXT
        )
        if remark:
            is_row[i] = False
            strays += 1
        elif counts[i] > layout.width or layout.separator == BLANKS:
            raise InputError(
                f"line {line_at(data, int(starts[i]), newline)} has {counts[i]} cells, "
                f"the table has {layout.width} columns.",
                cure="Between blanks an empty cell cannot be seen: write NA into it, or save the table with another "
                "separator."
                if layout.separator == BLANKS and counts[i] < layout.width
                else "Correct the line (quote a cell that holds the separator), or name the right separator "
                "(separator).",
                option="separator",
            )
    strays += _drop_subtotals(data, starts, ends, is_row, layout)
    strays += _drop_padded_remarks(data, starts, ends, is_row, layout)
    if layout.header_end is not None and layout.names:
        strays += _drop_repeated_names(data, starts, ends, is_row, layout)
    if strays:
        said.append(
            "a line between the rows is no row"
            if strays == 1
            else f"{strays} lines between the rows are no rows"
        )


def _drop_subtotals(data: Bytes, starts: IntArray, ends: IntArray, is_row: BoolArray, layout: Layout) -> int:
    """Take out lines that begin with the word for a total where the table has dates; how many there were."""
    if layout.looks[0] is not CellLook.DATE or layout.width < 2:
        return 0
    first = data[np.minimum(starts + (data[starts] == ord('"')), len(data) - 1)] | 0x20  # in lower case
    may_be = is_row & np.isin(first, np.frombuffer(TOTAL_LETTERS, dtype=np.uint8))
    found = [
        i
        for i in np.flatnonzero(may_be).tolist()
        if TOTALS.match(cell := split(data[starts[i] : ends[i]].tobytes(), layout.separator)[0].strip(BLANK))
        and look(cell) is CellLook.TEXT
    ]
    is_row[found] = False
    return len(found)


def _drop_padded_remarks(
    data: Bytes, starts: IntArray, ends: IntArray, is_row: BoolArray, layout: Layout
) -> int:
    """Take out lines with a text where the table has dates, and nothing beside it; how many there were."""
    if layout.looks[0] is not CellLook.DATE or layout.width < 2:
        return 0
    # (a date may begin with a letter as well, but then something was measured at it)
    may_be = is_row & (data[np.maximum(ends - 1, 0)] == layout.separator[0])
    may_be &= (data[starts] < ord("0")) | (data[starts] > ord("9"))
    found = []
    for i in np.flatnonzero(may_be).tolist():
        cells = split(data[starts[i] : ends[i]].tobytes(), layout.separator)
        if _stands_alone(cells) and look(cells[0]) is CellLook.TEXT:
            found.append(i)
    is_row[found] = False
    return len(found)


def _drop_repeated_names(
    data: Bytes, starts: IntArray, ends: IntArray, is_row: BoolArray, layout: Layout
) -> int:
    assert layout.header_end is not None
    end = layout.header_end
    begin = max(data[:end].tobytes().rfind(b"\n"), data[:end].tobytes().rfind(b"\r")) + 1
    names = data[begin:end].tobytes()
    found = np.flatnonzero(is_row & (np.abs(ends - starts - (end - begin)) <= 2 * layout.width))
    found = found[data[starts[found]] == data[begin]] if len(found) else found
    bare = names.replace(b" ", b"")  # there may be a blank more or less
    same = [i for i in found.tolist() if data[starts[i] : ends[i]].tobytes().replace(b" ", b"") == bare]
    if any(look(cell) not in (CellLook.TEXT, CellLook.MISSING) for cell in split(names, layout.separator)):
        return 0  # names that are numbers could be a row
    is_row[same] = False
    return len(same)
