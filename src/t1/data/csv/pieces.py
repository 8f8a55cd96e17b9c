"""A text table piece by piece: every piece is the lines above the data, and some lines of the data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np

from t1.data.csv.dialect import split
from t1.data.csv.file import CsvFile
from t1.data.csv.layout import HEAD, Layout
from t1.data.csv.read import read_csv
from t1.data.csv.scan import PAD
from t1.data.data_file import DataFile
from t1.data.pieces import STRETCH_ROWS, STRETCHES, FilledPiece, Pieces, Sample, upright
from t1.data.reading import Reading
from t1.errors import InputError

BLOCK = 1 << 23  # bytes that are read at once
LOOK = 200  # lines that are tried as the first one of a stretch


class CsvPieces(Pieces):
    """A .csv, .tsv or .txt file, also gzipped."""

    kind = "csv"

    def __init__(self, source: Path, reading: Reading) -> None:
        self.source, self.reading = source, reading
        with self._open() as stream:
            first = _whole_lines(stream.read(4 * HEAD))
        if b"\0" in first[:2000]:
            raise InputError(
                "the text is UTF-16 or no text at all, which is only read as a whole",
                cure="Save it as UTF-8.",
                option="memory",
            )
        self.prefer_tab = ".tsv" in source.name.lower()
        look = read_csv(first + bytes(PAD), reading, prefer_tab=self.prefer_tab)
        self.layout: Layout = look.layout
        self.head = first[: look.layout.body]
        self.newline = look.cells.newline[-1:]
        if self.newline != b"\n":
            raise InputError(
                "lines end in carriage returns, and so the file is only read as a whole",
                cure="Save it with usual line ends.",
                option="memory",
            )
        self.sample = self._sample()

    def _open(self) -> IO[bytes] | gzip.GzipFile:
        with self.source.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
        return gzip.open(self.source, "rb") if packed else self.source.open("rb")

    def _sample(self) -> Sample:
        """Stretches that are evenly spread over the file, its beginning and its end among them."""
        starts = self._line_starts()
        parts: list[bytes] = []
        with self._open() as stream:
            for at, _ in starts:
                stream.seek(at)
                every = stream.read() if len(starts) == 1 else None
                parts.append(b"".join(islice(stream, STRETCH_ROWS)) if every is None else every)
        text = self.head + b"".join(parts)
        known = read_csv(text + bytes(PAD), self.reading, prefer_tab=self.prefer_tab, layout=self.layout)
        if known.time_at is not None and known.time_at.whole:  # a piece would not know its day
            known = replace(known, time=None, time_columns=(), time_format=None, time_at=None)
        bounds = len(self.head) + np.cumsum([0, *map(len, parts)])
        rows = np.diff(np.searchsorted(known.cells.row_starts, bounds)).tolist()
        return Sample(upright(known, self.reading), tuple(rows), tuple(line for _, line in starts))

    def _line_starts(self) -> list[tuple[int, int]]:
        """Where stretches of the sample begin: the byte, and how many lines of data come before it.

        All lines are counted on the way: where a row stands in its season depends on it.
        """
        with self._open() as stream:
            body, size, lines = len(self.head), 0, 0
            counts: list[tuple[int, int]] = []  # bytes and lines read so far, block by block
            while block := stream.read(BLOCK):
                counts.append((size, lines))
                size += len(block)
                lines += block.count(self.newline)
            above = self.head.count(self.newline)
            self.n_rows = max(lines - above, 1)
            per_line = max((size - body) / self.n_rows, 1.0)
            length = int(STRETCH_ROWS * per_line)
            last = max(size - length, body)
            wanted = np.linspace(body, last, STRETCHES).astype(np.int64).tolist()
            if size - body <= STRETCHES * length:
                wanted = [body]
            starts = [(body, 0)]
            for at in wanted[1:]:
                block_at, before = next((b, n) for b, n in reversed(counts) if b <= at)
                stream.seek(block_at)
                start = self._first_row(stream, stream.read(at - block_at), before)
                if start is not None:
                    starts.append((start[0], start[1] - above))
        return starts

    def _first_row(
        self, stream: IO[bytes] | gzip.GzipFile, read: bytes, before: int
    ) -> tuple[int, int] | None:
        """The byte and the line of the next line that looks like a row: it may begin inside a quoted cell."""
        lines = before + read.count(self.newline) + 1
        stream.readline()
        for k in range(LOOK):
            at = stream.tell()
            line = stream.readline().rstrip(b"\r\n")
            if line.count(b'"') % 2 == 0 and len(split(line, self.layout.separator)) == self.layout.width:
                return at, lines + k
        return None

    def _tables(self, reading: Reading, rows: int) -> Iterator[DataFile]:
        known = self.sample.file
        assert isinstance(known, CsvFile)
        exact = replace(reading, decimal=known.decimal.decode(), encoding=known.encoding)
        skipped = 0
        for lines in self._lines(rows):
            try:
                piece = read_csv(
                    self.head + lines + bytes(PAD), exact, layout=self.layout, grouped=known.grouped
                )
            except InputError as error:
                message = _with_lines_added(error.message, skipped)
                raise InputError(f"{self.source}: {message}", cure=error.cure, option=error.option) from None
            skipped += lines.count(self.newline)
            yield replace(piece, styles=known.styles)

    def _lines(self, rows: int) -> Iterator[bytes]:
        """The lines of the data, so many at a time; a short rest goes with the lines before it."""
        with self._open() as stream:
            stream.seek(len(self.head))
            held = b""
            for block in chain(iter(partial(stream.read, BLOCK), b""), [b""]):
                held += block
                while block and held.count(self.newline) >= rows + rows // 4:
                    cut = self._cut(held, rows)
                    if cut is None:
                        break
                    yield held[:cut]
                    held = held[cut:]
            yield held

    def _cut(self, text: bytes, rows: int) -> int | None:
        """Behind so many lines, or the next place that is in no quoted cell and behind a row with a digit.

        (A row without one could be taken for a remark at the end of the file.) None: not in this text.
        """
        ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == self.newline[0])
        quoted = text.count(b'"', 0, int(ends[rows - 1]) + 1) % 2 == 1
        for k in range(rows - 1, len(ends) - rows // 8):
            line = text[int(ends[k - 1]) + 1 : int(ends[k])]
            if k >= rows:
                quoted ^= line.count(b'"') % 2 == 1
            if not quoted and any(48 <= byte <= 57 for byte in line):
                return int(ends[k]) + 1
        return None

    def write(self, stream: IO[bytes], fills: Iterable[FilledPiece], kind: str) -> None:
        """The head once, with the names of added columns; then the lines of every piece."""
        if kind == "csv.gz":
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
                packed.writelines(self._bytes(fills))
        else:
            stream.writelines(self._bytes(fills))

    def _bytes(self, fills: Iterable[FilledPiece]) -> Iterator[bytes]:
        first = True
        for file, fill in fills:
            assert isinstance(file, CsvFile)
            # what a piece writes above its rows: the head, and the names of added columns in its line of names
            above = 0 if first else len(self.head)
            if fill.extra and self.layout.header_end is not None and not first:
                above += sum(len(file._text(name)) + 1 for name in fill.extra)
            for text in file._pieces(fill):
                skip = min(above, len(text))
                above -= skip
                yield text[skip:]
            first = False


def _with_lines_added(message: str, lines: int) -> str:
    """A message about a line of a piece, as one about a line of the file."""
    return re.sub(r"\bline (\d+)", lambda match: f"line {int(match[1]) + lines}", message)


def _whole_lines(text: bytes) -> bytes:
    """Text that was cut somewhere, without its last line."""
    end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    return text[:end] if end else text
