"""Where the cells of a CSV file are: its dialect, and the byte spans of all cells. Nothing is decoded."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from t1.arrays import IntArray
from t1.errors import InputError

Bytes = npt.NDArray[np.uint8]

PAD = 64  # zero bytes after the end, so that a cell can be read a little too far
CHUNK = 1 << 22
SEPARATORS = (b",", b";", b"\t", b"|")
QUOTE = ord('"')


@dataclass(frozen=True)
class Cells:
    """The byte spans of a table: cell (i, j) is `data[starts(j)[i]:ends[i, j]]`, quotes included."""

    data: Bytes  # padded by PAD
    size: int
    separator: int
    newline: bytes  # the line ending of the first line
    header: tuple[tuple[int, int], ...]
    header_end: int
    row_starts: IntArray  # (rows,)
    ends: IntArray  # (rows, columns)

    def starts(self, rows: slice) -> IntArray:
        """The first byte of each cell of some rows (rows, columns)."""
        starts = np.empty_like(self.ends[rows])
        starts[:, 0] = self.row_starts[rows]
        starts[:, 1:] = self.ends[rows, :-1] + 1
        return starts

    def cell(self, row: int, column: int) -> bytes:
        """One cell as it stands in the file."""
        start = self.row_starts[row] if column == 0 else self.ends[row, column - 1] + 1
        return self.data[start : self.ends[row, column]].tobytes()

    def line(self, row: int) -> int:
        """The line of the file on which a row starts; the first is 1."""
        return line_at(self.data, int(self.row_starts[row]), self.newline)


def line_at(data: Bytes, position: int, newline: bytes = b"\n") -> int:
    """The number of the line that holds a byte; the first is 1."""
    return int(np.count_nonzero(data[:position] == newline[-1])) + 1


def find_separator(head: bytes, *, prefer_tab: bool = False) -> bytes:
    """The separator for which the first lines have as many cells as the names, and rather more than fewer."""
    lines = [line for line in _logical_lines(head, 200) if line.strip()]
    if not lines:
        return b","
    if prefer_tab and b"\t" in lines[0]:
        return b"\t"
    best, best_score = b",", (0.0, 0)
    for separator in SEPARATORS:
        counts = Counter(len(_split(line, separator)) for line in lines)
        width = len(_split(lines[0], separator))
        if width > 1:
            score = (round(counts[width] / len(lines), 1), width)
            if score > best_score:
                best, best_score = separator, score
    return best


def find_decimal(raw: bytes, separator: bytes) -> bytes:
    """A comma if numbers are written with it: `1,5` between other separators, or `"1,5"` between commas."""
    end = rb'(?=["\s]*(?:[%s\r\n\0]|\Z))' % re.escape(separator)
    start = rb"(?:^|[%s\n])" % re.escape(separator)
    if separator == b",":
        quoted = [m.group(1) for m in islice(re.finditer(rb'"[-+]?\d*,(\d+)"', raw), 1000)]
        if all(len(fraction) == 3 for fraction in quoted):  # none, or thousands
            return b"."
        return b"." if re.search(start + rb'["\s]*[-+]?\d*\.\d+' + end, raw) else b","
    if b"," not in raw:
        return b"."
    count = {
        sign: sum(
            1
            for _ in islice(
                re.finditer(
                    start + rb'["\s]*[-+]?\d*' + re.escape(sign) + rb"\d+(?:[eE][-+]?\d+)?" + end, raw
                ),
                1000,
            )
        )
        for sign in (b".", b",")
    }
    return b"," if count[b","] > count[b"."] else b"."


def _logical_lines(head: bytes, n: int) -> list[bytes]:
    """The first lines; a line break inside quotes ends none."""
    newline = b"\n" if b"\n" in head else b"\r"
    lines: list[bytes] = []
    held = b""
    for line in head.split(newline):
        held = held + newline + line if held else line
        if held.count(b'"') % 2 == 0:
            lines.append(held)
            held = b""
            if len(lines) == n:
                break
    return lines


def _split(line: bytes, separator: bytes) -> list[bytes]:
    pieces = line.split(separator)
    if b'"' not in line:
        return pieces
    whole: list[bytes] = []
    for piece in pieces:
        if whole and whole[-1].count(b'"') % 2:
            whole[-1] += separator + piece
        else:
            whole.append(piece)
    return whole


def scan(data: Bytes, size: int, start: int, separator: bytes) -> Cells:
    """Find the cells of the table that starts at byte `start`, after a byte order mark."""
    newline = _newline(data, start, size)
    stops = _stops(data, start, size, separator[0], newline[-1])
    if not len(stops) or (stops[-1] != size and (stops[-1] != size - 1 or data[size - 1] != newline[-1])):
        stops = np.append(stops, np.array([size], dtype=stops.dtype))  # no line break at the very end
    last = np.flatnonzero((data[stops] == newline[-1]) | (stops == size))  # of each line
    counts = np.diff(last, prepend=-1)
    starts = np.empty(len(last), dtype=stops.dtype)  # of each line
    starts[0] = start
    starts[1:] = stops[last[:-1]] + 1
    line_ends = stops[last]
    if newline != b"\r":
        line_ends = line_ends - ((line_ends > starts) & (data[line_ends - 1] == ord("\r")))
    blank = line_ends == starts
    for i in np.flatnonzero((counts == 1) & ~blank & (line_ends - starts < 1000)):
        blank[i] = not data[starts[i] : line_ends[i]].tobytes().strip()
    full = np.flatnonzero(~blank)
    if not len(full):
        raise InputError("the file is empty.\nIts first line must hold the names of the columns.")
    first, width = int(full[0]), int(counts[full[0]])
    if width == 1:  # an empty line in a file of one column is an empty cell, but for those at the end
        is_row = np.zeros(len(last), dtype=bool)
        is_row[first + 1 : int(full[-1]) + 1] = True
    else:
        is_row = ~blank
        is_row[: first + 1] = False
    ragged = np.flatnonzero(is_row & (counts != width))
    if len(ragged):
        k = int(ragged[0])
        raise InputError(
            f"line {line_at(data, int(starts[k]), newline)} has {counts[k]} cells, "
            f"the first line has {width}.\n"
            "Correct the line (quote a cell that holds the separator), or give the right --separator."
        )
    head_stops = stops[last[first] - width + 1 : last[first] + 1].tolist()
    head_starts = [int(starts[first])] + [stop + 1 for stop in head_stops[:-1]]
    head_stops[-1] = int(line_ends[first])
    rows = np.flatnonzero(is_row)
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):  # no copy when the rows are in one piece
        ends = stops[last[rows[0]] - width + 1 : last[rows[-1]] + 1].reshape(len(rows), width)
    else:
        ends = stops[(last[rows] - width + 1)[:, None] + np.arange(width)].reshape(len(rows), width)
    ends[:, -1] = line_ends[rows]
    return Cells(
        data=data,
        size=size,
        separator=separator[0],
        newline=newline,
        header=tuple(zip(head_starts, head_stops, strict=True)),
        header_end=head_stops[-1],
        row_starts=starts[rows],
        ends=ends,
    )


def _newline(data: Bytes, start: int, size: int) -> bytes:
    for begin in range(start, size, CHUNK):
        found = np.flatnonzero(data[begin : min(begin + CHUNK, size)] == ord("\n"))
        if len(found):
            at = begin + int(found[0])
            return b"\r\n" if at > start and data[at - 1] == ord("\r") else b"\n"
    return b"\r" if (data[start:size] == ord("\r")).any() else b"\n"


def _stops(data: Bytes, start: int, size: int, separator: int, newline: int) -> IntArray:
    """The bytes that end a cell: separators and line breaks that are not inside quotes."""
    kind = np.int32 if size + PAD < 2**31 else np.int64
    pieces: list[IntArray] = []
    inside = False
    opened = start
    for begin in range(start, size, CHUNK):
        chunk = data[begin : min(begin + CHUNK, size)]
        stop = (chunk == separator) | (chunk == newline)
        quotes = np.flatnonzero(chunk == QUOTE)
        if len(quotes):
            if not _quotes_are_plain(data, quotes + begin, inside, start, size, separator, newline):
                return _stops_one_by_one(data, start, size, separator, newline).astype(kind)
            opened = begin + int(quotes[-1])
            parity = np.zeros(len(chunk), dtype=np.uint8)
            parity[quotes] = 1
            np.bitwise_xor.accumulate(parity, out=parity)
            stop &= (parity == 1) if inside else (parity == 0)
            inside ^= len(quotes) % 2 == 1
        elif inside:
            continue
        pieces.append((np.flatnonzero(stop) + begin).astype(kind))
    if inside:
        _refuse_open_quote(data, opened, newline)
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=kind)


def _quotes_are_plain(
    data: Bytes, quotes: IntArray, inside: bool, start: int, size: int, separator: int, newline: int
) -> bool:
    """Whether each opening quote starts a cell and each closing one ends it: then counting is enough."""
    opening, closing = quotes[int(inside) :: 2], quotes[int(not inside) :: 2]
    before = data[np.maximum(opening - 1, 0)]
    after = data[closing + 1]
    good_before = (before == separator) | (before == newline) | (before == QUOTE) | (opening == start)
    good_after = (after == separator) | (after == newline) | (after == QUOTE) | (after == ord("\r"))
    return bool(good_before.all() and (good_after | (closing + 1 >= size)).all())


def _stops_one_by_one(data: Bytes, start: int, size: int, separator: int, newline: int) -> IntArray:
    """The slow way for files with quotes in odd places: a quote means something only where a cell starts."""
    stop = re.escape(bytes([separator])) + re.escape(bytes([newline]))
    cell = re.compile(rb'(?:"[^"]*(?:""[^"]*)*("?))?[^%s]*([%s]|\Z)' % (stop, stop))
    raw = memoryview(data.data)[:size]
    found: list[int] = []
    at = start
    while at < size:
        match = cell.match(raw, at)
        if match is None or match.group(1) == b"":
            _refuse_open_quote(data, at, newline)
        if match.start(2) == size:
            break
        found.append(match.start(2))
        at = match.end()
    return np.array(found, dtype=np.int64)


def _refuse_open_quote(data: Bytes, position: int, newline: int) -> NoReturn:
    raise InputError(
        f"a quote that is opened on line {line_at(data, position, bytes([newline]))} is never closed.\n"
        'Close it, or write a quote inside a cell twice ("").'
    )
