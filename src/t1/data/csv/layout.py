"""Where a text table begins: preamble and comments, the line of names, units below it, then the data.

The first lines are looked at from the data's side. What most lines are like (how many cells, which of them
numbers or dates) is the table; a line of text where the table has numbers names the columns; what stands
above is preamble.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from t1.data.csv.cells import MISSING_TEXTS, CellLook, look
from t1.data.csv.dialect import BLANKS, find_separator, split
from t1.data.csv.head import MOST_UNITS, FirstLines
from t1.errors import InputError

HEAD = 1 << 20  # bytes that are looked at
MOST_LINES = 400  # of them
LEAST_LINES = 20  # if the file has as many
MOSTLY = 0.8  # of the lines
QUOTE = ord('"')
CELL_STARTS = b',;|\t "\n'  # what a quote that opens a cell comes after; after a quote it is a doubled one
COMMENTS = b"#%!"  # what a comment line may start with, if none is named


@dataclass(frozen=True)
class Line:
    """A line of the file, or several where a quoted cell goes over the line break."""

    begin: int
    end: int  # before the line break
    number: int  # the first is 1
    text: bytes


@dataclass(frozen=True)
class Layout:
    """What the lines of a text table are."""

    separator: bytes  # BLANKS: runs of blanks and tabs
    width: int  # cells in a row
    names: tuple[bytes, ...]  # () if the file names no columns
    header_line: int  # the number of the line of names; 0: there is none
    header_end: int | None  # the byte where the line of names ends, and where added names go
    body: int  # the first byte of the data
    comment: bytes | None
    looks: tuple[CellLook, ...]  # of each column
    said: tuple[str, ...]  # in words, for whoever wants to know


def find_layout(
    raw: bytes,
    start: int,
    size: int,
    *,
    separator: bytes | None = None,
    prefer_tab: bool = False,
    header_row: int | None = None,
    skip_rows: int = 0,
    comment: bytes | None = None,
    units_row: bool | None = None,
    missing: Collection[bytes] = (),
) -> Layout:
    """Look at the first lines of a file and tell what they are; each option decides instead of the look."""
    missing = MISSING_TEXTS | set(missing)
    every = first_lines(raw, start, size, comment)
    lines = [line for line in every if line.number > skip_rows and line.text.strip()]
    if not lines:
        raise InputError(
            "the file is empty.",
            cure="Its first line must hold the names of the columns.",
            option="skip_rows",
        )
    comment = comment or _find_comment(lines)
    remarks = [line for line in lines if comment and line.text.startswith(comment)]
    rest = [line for line in lines if line not in remarks] if remarks else lines
    separator = separator or find_separator([line.text for line in rest], prefer_tab=prefer_tab)
    table = FirstLines([line.text for line in rest], separator, missing)
    header: Line | None
    if header_row is None:
        header, body = _find_header(rest, remarks, table, separator, comment, units_row)
    elif header_row == 0:
        header, body = None, table.first_data() + bool(units_row)
    else:
        header, body = _given_header(header_row, every, rest, table, units_row)
    if header is None and separator == b"," and 0 < body < len(rest):
        _refuse_decimal_commas(rest[body - 1].text, [line.text for line in rest[body:]])
    names = [] if header is None else split(_uncommented(header, comment), separator)
    width = max(table.width, len(names)) if separator != BLANKS else table.width
    names = _fit_names(names, width, table)
    header = header if names else None
    return Layout(
        separator=separator,
        width=width,
        names=tuple(names),
        header_line=0 if header is None else header.number,
        header_end=None if header is None else header.end,
        body=_body_start(every, rest, body, header, size),
        comment=comment if remarks else None,
        looks=tuple(table.looks) + (CellLook.MISSING,) * (width - len(table.looks)),
        said=tuple(_said(header, remarks, rest[:body], separator)),
    )


def _refuse_decimal_commas(names: bytes, rows: Sequence[bytes]) -> None:
    """Refuse rows such as `10:00, 7,5, 12,25` below three names: a comma and a blank divide cells, others do not.

    Read with a comma between all cells, a row with an empty one has its numbers in other columns.
    """
    n = names.count(b", ")
    divided = sum(row.count(b", ") == n for row in rows)
    more = sum(row.count(b",") > n for row in rows)
    if n and names.count(b",") == n and divided > MOSTLY * len(rows) and more > MOSTLY * len(rows):
        raise InputError(
            f"{n + 1} names stand above rows with more commas: some divide cells, others are decimal signs.",
            cure="Save the table with ; between its cells, or with decimal points.",
            option="separator",
        )


def _given_header(
    number: int, every: Sequence[Line], rest: Sequence[Line], table: FirstLines, units_row: bool | None
) -> tuple[Line, int]:
    """The line of names that the user named by its number, and which of the `rest` is the first of the data."""
    header = next((line for line in every if line.number == number), None)
    if header is None:
        raise InputError(
            f"line {number} is not among the first {len(every)} lines, so it names no columns.",
            cure="Give the number of the line that holds the names; 0 if none does.",
            option="header_row",
        )
    body = next((k for k, line in enumerate(rest) if line.begin > header.begin), len(rest))
    if units_row is not None:
        return header, body + units_row
    first = body
    while body < len(rest) - 1 and table.is_units(body) and body - first < MOST_UNITS:
        body += 1
    return header, body


def _find_header(
    rest: Sequence[Line],
    remarks: Sequence[Line],
    table: FirstLines,
    separator: bytes,
    comment: bytes | None,
    units_row: bool | None,
) -> tuple[Line | None, int]:
    """The line of names, if there is one, and which of the `rest` is the first of the data."""
    found, body = table.find_header()
    if found is None:
        return _header_in_comments(remarks, rest, body, table, separator, comment), body
    return rest[found], body if units_row is None else found + 1 + units_row


def _said(
    header: Line | None, remarks: Sequence[Line], above: Sequence[Line], separator: bytes
) -> Iterator[str]:
    """What was found, in words; `above` are the lines above the data."""
    if header is None:
        yield "no line names the columns; they are called column 1, column 2 and so on"
    else:
        if header.number > 1 or header in remarks:
            where = "in the comment on" if header in remarks else "on"
            yield f"the names of the columns are {where} line {header.number}"
        if below := sum(header.begin < line.begin for line in above):
            yield "a line of units below the names" if below == 1 else f"{below} lines below the names"
    if separator == BLANKS:
        yield "cells are separated by white space"


def _body_start(
    every: Sequence[Line], rest: Sequence[Line], body: int, header: Line | None, size: int
) -> int:
    """The first byte after the names and units: in a table of one column an empty line there is a row."""
    last = rest[body - 1] if 0 < body <= len(rest) else None
    if header is not None and last is not None and last.begin >= header.begin:
        return next((line.begin for line in every if line.begin > last.begin), size)
    return rest[body].begin if body < len(rest) else size


def first_lines(raw: bytes, start: int, size: int, comment: bytes | None) -> list[Line]:
    """The first lines of a file, with their places; of a very wide table as many as tell what it is like."""
    length = HEAD
    while True:
        lines = _lines(raw[start : min(start + length, size)], start, comment)
        if start + length >= size:
            return lines
        if len(lines) > LEAST_LINES:
            return lines[:-1]  # the last one is cut
        length *= 4


def _lines(head: bytes, start: int, comment: bytes | None) -> list[Line]:
    newline = b"\n" if b"\n" in head else b"\r"
    lines: list[Line] = []
    at, held, first, number = 0, 0, 0, 1
    while at <= len(head) and len(lines) < MOST_LINES:
        stop = head.find(newline, at)
        stop = len(head) if stop < 0 else stop
        text = head[first:stop]
        is_remark = text[:1] in (b"#", b"%", b"!") or (comment is not None and text.startswith(comment))
        if not _in_quotes(text) or is_remark or held > 30 or stop == len(head):
            text = text[:-1] if text.endswith(b"\r") else text
            lines.append(Line(start + first, start + first + len(text), number - held, text))
            first, held = stop + 1, 0
        else:
            held += 1
        at, number = stop + 1, number + 1
    return lines


def _in_quotes(text: bytes) -> bool:
    """Whether a text ends inside a quoted cell; a quote within a cell (a pipe of 5") opens none."""
    if text.count(b'"') % 2 == 0:
        return False
    inside, before = False, CELL_STARTS[0]
    for byte in text:
        if byte == QUOTE:
            inside = not inside and before in CELL_STARTS
        before = byte
    return inside


def _find_comment(lines: Sequence[Line]) -> bytes | None:
    mark = lines[0].text[:1]
    if mark not in [bytes([byte]) for byte in COMMENTS]:
        return None
    return mark if any(not line.text.startswith(mark) for line in lines) else None


def _uncommented(line: Line, comment: bytes | None) -> bytes:
    text = line.text
    if comment and text.startswith(comment):
        bare = text[len(comment) :].lstrip(b" " + comment)
        return (
            comment + bare if bare[:1] in (b",", b";", b"\t", b"|") else bare
        )  # a column that is called "#"
    return text


def _header_in_comments(
    remarks: Sequence[Line],
    rest: Sequence[Line],
    body: int,
    table: FirstLines,
    separator: bytes,
    comment: bytes | None,
) -> Line | None:
    """The comment line that names the columns: above the data, with as many names as there are columns."""
    if body >= len(rest):
        return None
    above = [line for line in remarks if line.begin < rest[body].begin][-4:]
    for line in above:
        cells = split(_uncommented(line, comment), separator)
        kinds = [look(cell, table.missing) for cell in cells]
        fits = len(cells) == table.width or (len(cells) == table.width + 1 and not cells[-1].strip())
        if fits and kinds.count(CellLook.TEXT) * 2 > len(cells):
            return line
    return None


def _fit_names(names: Sequence[bytes], width: int, table: FirstLines) -> list[bytes]:
    """As many names as columns: where one lacks, rows have a name of their own, or the time has two cells."""
    names = list(names)
    if len(names) == width or not names:
        return names
    if len(names) > width:
        return names[:width] if not any(name.strip() for name in names[width:]) else []
    if len(names) != width - 1:
        return []
    last = [cells[-1] for cells in table.cells if len(cells) == width]
    if all(look(cell, table.missing) is CellLook.MISSING for cell in last[1:]):
        return [*names, b""]  # a separator at the end of each row
    if width > 1 and table.looks[0] is CellLook.DATE and table.looks[1] is CellLook.DATE:
        return [names[0], b"", *names[1:]]  # 2020-01-01 00:00 below one name
    return [b"", *names]
