"""Where the cells of a text table are: the byte spans of all cells. Nothing is decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from t1.arrays import BoolArray, IntArray
from t1.data.csv.dialect import BLANKS
from t1.data.csv.layout import QUOTE, Layout
from t1.data.csv.rows import (
    Bytes,
    drop_comments,
    drop_cut_off,
    drop_empty,
    drop_footer,
    drop_strays,
    drop_undated_start,
    line_at,
)
from t1.errors import InputError

PAD = 64  # zero bytes after the end, so that a cell can be read a little too far
CHUNK = 1 << 22


@dataclass(frozen=True)
class Cells:
    """The byte spans of a table: cell (i, j) is `data[starts[i, j]:ends[i, j]]`, quotes included."""

    data: Bytes  # padded by PAD
    size: int
    separator: int
    newline: bytes  # the line ending of the first line
    header_end: int | None
    row_starts: IntArray  # (rows,)
    ends: IntArray  # (rows, columns)
    counts: IntArray | None = None  # (rows,), cells that each row really has, where some have too few
    said: tuple[str, ...] = ()

    def starts(self, rows: slice) -> IntArray:
        """The first byte of each cell of some rows (rows, columns)."""
        starts = np.empty_like(self.ends[rows])
        starts[:, 0] = self.row_starts[rows]
        starts[:, 1:] = self.ends[rows, :-1] + 1
        return starts if self.counts is None else np.minimum(starts, self.ends[rows])

    def cell(self, row: int, column: int) -> bytes:
        """One cell as it stands in the file."""
        start = self.row_starts[row] if column == 0 else self.ends[row, column - 1] + 1
        return self.data[start : self.ends[row, column]].tobytes()

    def only(self, rows: BoolArray) -> Cells:
        """The table without the other rows; they stay in the file as they are."""
        counts = None if self.counts is None else self.counts[rows]
        return replace(self, row_starts=self.row_starts[rows], ends=self.ends[rows], counts=counts)

    def line(self, row: int) -> int:
        """The line of the file on which a row starts; the first is 1."""
        return line_at(self.data, int(self.row_starts[row]), self.newline)


def scan(data: Bytes, size: int, layout: Layout) -> Cells:
    """Find the cells of the rows below `layout.body`; lines that are no rows are left out, and told."""
    newline = _newline(data, 0, size)
    lines = _blank_lines if layout.separator == BLANKS else _separated_lines
    starts, ends, counts, first, stops = lines(data, layout.body, size, layout.separator[0], newline)
    width = layout.width
    blank = ends == starts
    for i in np.flatnonzero((counts <= 1) & ~blank & (ends - starts < 1000)):
        blank[i] = not data[starts[i] : ends[i]].tobytes().strip()
    full = np.flatnonzero(~blank)
    is_row = np.zeros(len(starts), dtype=bool)
    if width == 1 and len(
        full
    ):  # an empty line in a file of one column is an empty cell, but for those at the end
        is_row[: int(full[-1]) + 1] = True
    else:
        is_row = ~blank
    said: list[str] = []
    if layout.comment is not None and (n := drop_comments(data, starts, is_row, layout.comment)):
        said.append(f"{n} comment lines between the rows are left alone")
    drop_cut_off(data, starts, ends, counts, is_row, layout, said)
    drop_footer(data, starts, ends, counts, is_row, layout, said)
    drop_undated_start(data, starts, ends, is_row, layout, said)
    drop_empty(data, starts, ends, is_row, layout, said)
    drop_strays(data, starts, ends, counts, is_row, layout, newline, said)
    rows = np.flatnonzero(is_row)
    short = counts[rows] < width
    if short.any():
        said.append(f"{int(short.sum())} rows have fewer cells than there are columns")
        places = np.minimum(np.arange(width), counts[rows][:, None] - 1)
        spans = stops[first[rows][:, None] + places].reshape(len(rows), width)
        if layout.separator != BLANKS:
            last = np.arange(width) >= counts[rows][:, None] - 1
            spans = np.where(last, ends[rows][:, None], spans)
    elif len(rows) and rows[-1] - rows[0] + 1 == len(rows) and layout.separator != BLANKS:
        spans = stops[first[rows[0]] : first[rows[-1]] + width].reshape(
            len(rows), width
        )  # one piece: no copy
        spans[:, -1] = ends[rows]
    else:
        spans = stops[first[rows][:, None] + np.arange(width)].reshape(len(rows), width)
        if layout.separator != BLANKS:
            spans[:, -1] = ends[rows]
    return Cells(
        data=data,
        size=size,
        separator=layout.separator[0],
        newline=newline,
        header_end=layout.header_end,
        row_starts=starts[rows],
        ends=spans,
        counts=counts[rows] if short.any() else None,
        said=tuple(said),
    )


Lines = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]
# of each line: where it starts and ends, how many cells, and its first one among `stops`, the cells' ends


def _separated_lines(data: Bytes, start: int, size: int, separator: int, newline: bytes) -> Lines:
    stops = _stops(data, start, size, separator, newline[-1])
    if not len(stops) or (stops[-1] != size and (stops[-1] != size - 1 or data[size - 1] != newline[-1])):
        stops = np.append(stops, np.array([size], dtype=stops.dtype))  # no line break at the very end
    last = np.flatnonzero((data[stops] == newline[-1]) | (stops == size))
    counts = np.diff(last, prepend=-1)
    starts = np.empty(len(last), dtype=stops.dtype)
    starts[0] = start
    starts[1:] = stops[last[:-1]] + 1
    ends = stops[last]
    if newline != b"\r":
        ends = ends - ((ends > starts) & (data[ends - 1] == ord("\r")))
    return starts, ends, counts, last - counts + 1, stops


def _blank_lines(data: Bytes, start: int, size: int, separator: int, newline: bytes) -> Lines:
    """Cells are what stands between blanks; a cell's span begins with the blanks before it."""
    kind = np.int32 if size + PAD < 2**31 else np.int64
    text = data[start:size]
    breaks = text == newline[-1]
    gap = breaks | (text == ord(" ")) | (text == ord("\t")) | (text == ord("\r"))
    quotes = text == QUOTE
    if quotes.any():
        gap &= np.bitwise_xor.accumulate(quotes.view(np.uint8)) == 0
        breaks &= gap
    ends_here = ~gap
    ends_here[:-1] &= gap[1:]
    stops: IntArray = (np.flatnonzero(ends_here) + start + 1).astype(kind)
    ends: IntArray = (np.flatnonzero(breaks) + start).astype(kind)
    if not len(ends) or ends[-1] != size - 1:
        ends = np.append(ends, np.array([size], dtype=kind))
    starts = np.concatenate([np.array([start], dtype=kind), ends[:-1] + 1])
    after = np.searchsorted(stops, ends, side="right")
    first = np.concatenate([np.zeros(1, dtype=after.dtype), after[:-1]])
    if newline != b"\r":
        ends = np.where((ends > starts) & (data[ends - 1] == ord("\r")), ends - 1, ends)
    counts: IntArray = after - first
    return starts, ends, counts, first, stops


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
        f"a quote that is opened on line {line_at(data, position, bytes([newline]))} is never closed.",
        cure='Close it, or write a quote inside a cell twice ("").',
    )
