"""Where a text table begins: preamble and comments, the line of names, units below it, then the data.

The first lines are looked at from the data's side. What most lines are like (how many cells, which of them numbers
or dates) is the table; a line of text where the table has numbers names the columns; what stands above is preamble.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from t1.data.csv.cells import MISSING_TEXTS, Look, look, usual_looks
from t1.data.csv.dialect import BLANKS, find_separator, split, usual_width
from t1.errors import InputError

HEAD = 1 << 20  # bytes that are looked at
MOST_LINES = 400  # of them
COMMENTS = b"#%!"  # what a comment line may start with, if none is named
MOST_UNITS = 3  # lines of units, formats and the like below the names
VALUES = (Look.NUMBER, Look.DATE)


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
    looks: tuple[Look, ...]  # of each column
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
    table = _Table(rest, separator, missing)
    said: list[str] = []
    names: Sequence[bytes] = ()
    header: Line | None = None
    if header_row is not None and header_row > 0:
        header = next((line for line in every if line.number == header_row), None)
        if header is None:
            raise InputError(
                f"line {header_row} is not among the first {len(every)} lines, so it names no columns.",
                cure="Give the number of the line that holds the names; 0 if none does.",
                option="header_row",
            )
        names = split(_uncommented(header, comment), separator)
        body = next((k for k, line in enumerate(rest) if line.begin > header.begin), len(rest))
        if units_row is None:
            first = body
            while body < len(rest) - 1 and table.is_units(body) and body - first < MOST_UNITS:
                body += 1
        elif units_row:
            body += 1
    elif header_row == 0:
        body = table.first_data() + bool(units_row)
    else:
        found, body = table.find_header()
        if units_row is not None and found is not None:
            body = found + 1 + units_row
        if found is not None:
            header, names = rest[found], table.cells[found]
        elif (remark := _header_in_comments(remarks, rest, body, table, separator, comment)) is not None:
            header = remark
            names = split(_uncommented(remark, comment), separator)
    width = max(table.width, len(names)) if separator != BLANKS else table.width
    names = _fit_names(names, width, table)
    if names and header is not None:
        if header.number > 1 or header in remarks:
            where = "in the comment on" if header in remarks else "on"
            said.append(f"the names of the columns are {where} line {header.number}")
        if below := sum(header.begin < line.begin for line in rest[:body]):
            said.append("a line of units below the names" if below == 1 else f"{below} lines below the names")
    elif not names:
        header = None
        said.append("no line names the columns; they are called column 1, column 2 and so on")
    if separator == BLANKS:
        said.append("cells are separated by white space")
    return Layout(
        separator=separator,
        width=width,
        names=tuple(names),
        header_line=0 if header is None else header.number,
        header_end=None if header is None else header.end,
        body=_body_start(every, rest, body, header, size),
        comment=comment if remarks else None,
        looks=tuple(table.looks) + (Look.MISSING,) * (width - len(table.looks)),
        said=tuple(said),
    )


def _body_start(
    every: Sequence[Line], rest: Sequence[Line], body: int, header: Line | None, size: int
) -> int:
    """The first byte after the names and units: in a table of one column an empty line there is a row."""
    last = rest[body - 1] if 0 < body <= len(rest) else None
    if header is not None and last is not None and last.begin >= header.begin:
        return next((line.begin for line in every if line.begin > last.begin), size)
    return rest[body].begin if body < len(rest) else size


class _Table:
    """The first lines that are no comments, as cells, and what the table's columns look like."""

    def __init__(self, lines: Sequence[Line], separator: bytes, missing: Collection[bytes]) -> None:
        self.missing = missing
        self.cells = [split(line.text, separator) for line in lines]
        self.width = usual_width([line.text for line in lines], separator)
        same = [cells for cells in self.cells if len(cells) == self.width]
        # the head of the file is what is asked about, so the rest of it answers
        body = same[max(1, min(len(same) // 4, 20)) :] or same[1:] or same
        self.looks = usual_looks(body, missing)

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
        while end < len(self.cells) and self.is_units(end) and end - at <= MOST_UNITS:
            end += 1
        for later in range(end, min(end + 5, len(self.cells))):
            if self.is_units(later):  # what seemed the table was its preamble
                more, body = _from(self, later)
                return more, body
        block = range(at, end)
        return next((k for k in block if self._all_named(k)), at), end

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
        return any(a not in (b, Look.MISSING) for a, b in pairs) and not any(a is b for a, b in pairs)

    def _is_names(self, k: int) -> bool:
        """Whether a line of names has numbers among them: date, 0, 1, 2, OT."""
        cells = self.cells[k]
        if len(cells) != self.width:
            return False
        pairs = [(cell.strip(b' "\t'), kind) for cell, kind in zip(cells, self.looks, strict=True)]
        texts = [kind for cell, kind in pairs if kind in VALUES and look(cell, self.missing) is Look.TEXT]
        others = [
            cell for cell, kind in pairs if kind in VALUES and look(cell, self.missing) is not Look.TEXT
        ]
        named = Look.DATE in texts or len(texts) > 1
        return named and all(cell.isdigit() for cell in others) and len(set(others)) == len(others)

    def _is_data(self, k: int) -> bool:
        cells = self.cells[k]
        if len(cells) != self.width:
            return False
        kinds = [look(cell, self.missing) for cell in cells]
        pairs = [(a, b) for a, b in zip(kinds, self.looks, strict=True) if b in VALUES]
        wrong = sum(a not in (b, Look.MISSING) for a, b in pairs)
        dated = all(a in (b, Look.MISSING) for a, b in pairs if b is Look.DATE)
        return dated and any(a is b for a, b in pairs) and wrong * 4 <= len(pairs)

    def _is_near_header(self, k: int) -> bool:
        cells = self.cells[k]
        kinds = [look(cell, self.missing) for cell in cells]
        texts = kinds.count(Look.TEXT)
        return self.width - 1 <= len(cells) and texts > 1 and texts + kinds.count(Look.MISSING) == len(cells)

    def _counts_columns(self, k: int) -> bool:
        """Whether a first line of numbers still names columns: 773869, 767541, ... above numbers with decimals."""
        if k + 1 >= len(self.cells):
            return False
        names = [
            cell.strip(b' "\t')
            for cell, kind in zip(self.cells[k], self.looks, strict=True)
            if kind is Look.NUMBER
        ]
        if len(names) < 2 or len(set(names)) < len(names) or not all(name.isdigit() for name in names):
            return False
        numbers = [int(name) for name in names]
        steps = {b - a for a, b in zip(numbers, numbers[1:], strict=False)}
        if steps == {1} and (numbers[0] in (0, 1) or numbers[0] >= 1600):  # 1, 2, 3 or 2001, 2002, 2003
            return True
        body = [cells for cells in self.cells[k + 1 :] if len(cells) == self.width]
        points = sum(b"." in cell or b"," in cell for cells in body for cell in cells)
        return points * 2 > sum(map(len, body))

    def _all_named(self, k: int) -> bool:
        names = [name.strip(b' "\t') for name in self.cells[k]]
        return all(names) and len(set(names)) == len(names)


def _from(table: _Table, first: int) -> tuple[int | None, int]:
    """The same search from a later line on."""
    below = object.__new__(_Table)
    below.missing, below.width, below.looks = table.missing, table.width, table.looks
    below.cells = table.cells[first:]
    header, body = below.find_header()
    return None if header is None else header + first, body + first


def first_lines(raw: bytes, start: int, size: int, comment: bytes | None) -> list[Line]:
    """The first lines of a file, with their places."""
    head = raw[start : min(start + HEAD, size)]
    newline = b"\n" if b"\n" in head else b"\r"
    lines: list[Line] = []
    at, held, first, number = 0, 0, 0, 1
    while at <= len(head) and len(lines) < MOST_LINES:
        stop = head.find(newline, at)
        stop = len(head) if stop < 0 else stop
        text = head[first:stop]
        quotes = text.count(b'"')
        is_remark = text[:1] in (b"#", b"%", b"!") or (comment is not None and text.startswith(comment))
        if quotes % 2 == 0 or is_remark or held > 30 or stop == len(head):
            text = text[:-1] if text.endswith(b"\r") else text
            lines.append(Line(start + first, start + first + len(text), number - held, text))
            first, held = stop + 1, 0
        else:
            held += 1
        at, number = stop + 1, number + 1
    return lines


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
    table: _Table,
    separator: bytes,
    comment: bytes | None,
) -> Line | None:
    """The comment line that names the columns: above the data, and with as many names as there are columns."""
    if body >= len(rest):
        return None
    above = [line for line in remarks if line.begin < rest[body].begin][-4:]
    for line in above:
        cells = split(_uncommented(line, comment), separator)
        kinds = [look(cell, table.missing) for cell in cells]
        if len(cells) in (table.width, table.width + 1) and kinds.count(Look.TEXT) * 2 > len(cells):
            if len(cells) == table.width or not cells[-1].strip():
                return line
    return None


def _fit_names(names: Sequence[bytes], width: int, table: _Table) -> list[bytes]:
    """As many names as columns: where one is lacking, the rows have a name of their own, or the time two cells."""
    names = list(names)
    if len(names) == width or not names:
        return names
    if len(names) > width:
        return names[:width] if not any(name.strip() for name in names[width:]) else []
    if len(names) != width - 1:
        return []
    last = [cells[-1] for cells in table.cells if len(cells) == width]
    if all(look(cell, table.missing) is Look.MISSING for cell in last[1:]):
        return [*names, b""]  # a separator at the end of each row
    if width > 1 and table.looks[0] is Look.DATE and table.looks[1] is Look.DATE:
        return [names[0], b"", *names[1:]]  # 2020-01-01 00:00 below one name
    return [b"", *names]
