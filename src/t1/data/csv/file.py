"""A text table that gives the same bytes back, with only the gaps replaced."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray
from t1.data.csv.dialect import BLANKS
from t1.data.csv.extra import ExtraCells, sparse
from t1.data.csv.layout import Layout
from t1.data.csv.numbers import CELLS, inner_spans, write_numbers
from t1.data.csv.scan import Cells
from t1.data.csv.styles import Style
from t1.data.csv.texts import texts_of
from t1.data.data_file import DataFile, FileFill, NewRows
from t1.data.time_columns import TimeColumns
from t1.data.timeline import anchors
from t1.errors import InputError

LEAST_ROWS = 256  # written at a time, however many columns: each column of each piece takes its own time


@dataclass(frozen=True, eq=False, kw_only=True)
class CsvFile(DataFile):
    """A text table, its bytes, and where its cells are."""

    cells: Cells = field(repr=False)
    layout: Layout = field(repr=False)
    names: tuple[str, ...]
    at: tuple[int, ...]  # where the numeric columns are among all columns
    decimal: bytes
    encoding: str
    time_at: TimeColumns | None = field(repr=False, default=None)
    styles: Mapping[int, Style] = field(default_factory=dict)  # of columns whose numbers carry signs or units
    wide: str | None = None  # the UTF-16 that the file came in

    @property
    def grouped(self) -> frozenset[int]:
        """The columns in which the decimal sign of the others stands between thousands."""
        return frozenset(j for j, style in self.styles.items() if style.group == self.decimal.decode())

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return self.names

    def texts(self, name: str) -> list[str]:
        """The cells of any column as text."""
        return texts_of(self.cells, self.names.index(name), self.encoding)

    def places(self, k: int) -> IntArray:
        """How many decimals each cell of one of the `columns` is written with (rows,)."""
        style = self.styles.get(self.at[k])
        sign = self.decimal.decode() if style is None else style.decimal
        fraction, power = re.compile(re.escape(sign) + r"(\d+)"), re.compile(r"\d[eE]([-+]?\d+)")
        places = []
        for text in self.texts(self.columns[k]):
            digits, shift = fraction.search(text), power.search(text)
            places.append(max((len(digits[1]) if digits else 0) - (int(shift[1]) if shift else 0), 0))
        return np.array(places, dtype=np.intp)

    def check(self, target: str | Path, *, extra: Sequence[str] = (), new_rows: bool = False) -> None:
        """Refuse at once what `write` could only refuse after the work."""
        super().check(target, extra=extra, new_rows=new_rows)
        if new_rows and self.time_at is not None and self.time_at.whole and len(self.time_at.at) > 1:
            raise InputError(
                "rows cannot be added to a table that has a date once for all rows of a day.",
                cure="Write the date into every row.",
            )

    def _check_container(self, kind: str) -> None:
        if kind == "parquet":
            from t1.data.parquet import need_pyarrow

            need_pyarrow()
        if kind == "excel":
            raise InputError(
                "a text table cannot be written as an Excel file.",
                cure="Give the output a name that ends in .csv or .parquet.",
                option="output",
            )

    def _write(self, stream: IO[bytes], kind: str, fill: FileFill) -> None:
        pieces = self._pieces(fill)
        if kind == "parquet":
            from t1.data.convert import csv_to_parquet

            csv_to_parquet(self, b"".join(pieces), [self._text(name) for name in fill.extra], stream)
            return
        if self.wide is not None:
            pieces = (piece.decode().encode(self.wide) for piece in pieces)
        if kind != "csv.gz":
            stream.writelines(pieces)
            return
        with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
            for piece in pieces:
                packed.write(piece)

    def _pieces(self, fill: FileFill) -> Iterator[bytes]:
        """The file's bytes from first to last, a few rows at a time."""
        cells, raw = self.cells, memoryview(self.cells.data.data)
        # Each column is made once, and of it only the cells that hold a number are kept.
        added = {name: sparse(fill.extra[name]) for name in fill.extra}
        tails = self._new_rows(fill.new_rows, added) if fill.new_rows is not None else {}
        separator = bytes([cells.separator])
        done = 0
        if added and cells.header_end is not None:
            done = cells.header_end
            yield bytes(raw[:done]) + b"".join(separator + self._text(name) for name in added)
        step = max(LEAST_ROWS, CELLS // len(self.names))
        for begin in range(0, len(cells.ends), step):
            rows = slice(begin, min(begin + step, len(cells.ends)))
            decimals = None if fill.decimals is None else fill.decimals[rows][fill.missing[rows]]
            start, end, texts = self._fills(
                rows, fill.values[rows], fill.missing[rows], decimals, pad=bool(added)
            )
            if added or tails:
                row_ends = cells.ends[rows, -1]
                columns = [self._extra_cells(name, column.rows(rows)) for name, column in added.items()]
                by_row = zip(*columns, strict=True) if columns else [()] * len(row_ends)
                more = [separator.join((b"", *row)) for row in by_row]
                more = [text + tails.get(begin + i, b"") for i, text in enumerate(more)]
                start, end = np.concatenate([start, row_ends]), np.concatenate([end, row_ends])
                order = np.argsort(start, kind="stable")  # a fill at the end of a row comes before its tail
                texts += more
                start, end, texts = start[order], end[order], [texts[i] for i in order.tolist()]
            out: list[bytes | memoryview] = []
            for first, last, text in zip(start.tolist(), end.tolist(), texts, strict=True):
                out += (raw[done:first], text)
                done = last
            yield b"".join(out)
        yield bytes(raw[done : cells.size])

    def _fills(
        self, rows: slice, filled: FloatArray, write: BoolArray, decimals: IntArray | None, *, pad: bool
    ) -> tuple[IntArray, IntArray, list[bytes]]:
        """Which bytes of some rows to replace, from the first to the last, and by what."""
        i, j = np.nonzero(write)
        column = np.asarray(self.at, dtype=np.int64)[j]
        starts, ends = self.cells.starts(rows), self.cells.ends[rows]
        raw_start, raw_end = starts[i, column], ends[i, column]
        start, end = inner_spans(self.cells.data, raw_start, raw_end)
        texts = self._numbers(filled[write], j, column, decimals)
        if self.decimal[0] == self.cells.separator or self.styles:
            quoted = self.cells.data[np.maximum(start - 1, 0)] == ord('"')
            texts[:] = [
                text if has or self.cells.separator not in text else b'"' + text + b'"'
                for text, has in zip(texts, quoted & (start > raw_start), strict=True)
            ]
        sizes = np.array([len(text) for text in texts.tolist()], dtype=np.int64)
        if self.cells.separator == BLANKS[0]:  # numbers stay below each other where there is room
            room = end - raw_start - (column > 0)
            width = np.maximum(np.minimum(sizes, room), end - start)
        else:  # so they do in a cell of blanks
            blanks = raw_end - raw_start
            width = np.where((start == raw_end) & (blanks >= sizes) & (blanks > 1), blanks, 0)
        if width.any():
            padded = zip(texts.tolist(), width.tolist(), strict=True)
            texts[:] = [text.rjust(w) if w else text for text, w in padded]
            start = np.where(width > 0, end - width, start)
        if self.cells.counts is not None:
            return self._with_short_rows(rows, i, column, start, end, texts, pad=pad)
        return start, end, texts.tolist()

    def _numbers(
        self, numbers: FloatArray, j: IntArray, column: IntArray, decimals: IntArray | None = None
    ) -> AnyArray:
        """Fills as text, each in the decimals (of its column, if not given) and the style of its column."""
        decimals = np.asarray(self.decimals, dtype=np.int64)[j] if decimals is None else decimals
        texts = np.empty(len(j), dtype=object)
        for places in np.unique(decimals).tolist():
            those = decimals == places
            texts[those] = write_numbers(numbers[those], places, self.decimal)
        for at, style in self.styles.items():
            those = np.flatnonzero(column == at)
            for places in np.unique(decimals[those]).tolist():
                part = those[decimals[those] == places]
                plain = write_numbers(numbers[part], places, b".")
                texts[part] = [style.write(text.decode()).encode(self.encoding) for text in plain]
        return texts

    def _with_short_rows(
        self,
        rows: slice,
        i: IntArray,
        column: IntArray,
        start: IntArray,
        end: IntArray,
        texts: AnyArray,
        *,
        pad: bool,
    ) -> tuple[IntArray, IntArray, list[bytes]]:
        """The same where rows lack cells at their end: these are added, up to the last one that is filled."""
        assert self.cells.counts is not None
        counts = self.cells.counts[rows]
        absent = column >= counts[i]
        keep = np.flatnonzero(~absent)
        found = [(int(start[k]), int(end[k]), texts[k]) for k in keep.tolist()]
        new: dict[int, dict[int, bytes]] = {}
        for k in np.flatnonzero(absent).tolist():
            new.setdefault(int(i[k]), {})[int(column[k])] = texts[k]
        width, separator = len(self.names), bytes([self.cells.separator])
        for row in np.flatnonzero(counts < width).tolist() if pad else list(new):
            given = new.get(row, {})
            last = width if pad else max(given) + 1
            text = b"".join(separator + given.get(c, b"") for c in range(int(counts[row]), last))
            place = int(self.cells.ends[rows][row, -1])
            found.append((place, place, text))
        found.sort(key=lambda span: span[0])
        kind = start.dtype
        return (
            np.array([a for a, _, _ in found], dtype=kind),
            np.array([b for _, b, _ in found], dtype=kind),
            [text for _, _, text in found],
        )

    def _extra_cells(self, name: str, values: AnyArray) -> list[bytes]:
        if values.dtype.kind not in "iuf":
            return [
                b"" if cell is None or cell != cell else self._text(str(cell)) for cell in values.tolist()
            ]
        if values.dtype.kind != "f":
            return [str(value).encode() for value in values.tolist()]
        blank = b"NA" if self.cells.separator == BLANKS[0] else b""  # an empty cell between blanks is none
        good = np.isfinite(values)
        texts = np.full(len(values), blank, dtype=object)
        written = write_numbers(values[good].astype(np.float64), self.decimals_for(name), self.decimal)
        texts[good] = [self._safe(text) for text in written]
        return list(texts)

    def _new_rows(self, new: NewRows, extra: Mapping[str, ExtraCells]) -> dict[int, bytes]:
        """The text of the new rows by the row that they follow, each with a line break before it."""
        assert self.time is not None and self.time_at is not None
        after, order = anchors(self.time, self.ids, new.times, new.ids)
        blank = b"NA" if self.cells.separator == BLANKS[0] else b""
        table = np.full((len(new.times), len(self.names)), blank, dtype=object)
        for k, j in enumerate(self.at):
            good = np.flatnonzero(np.isfinite(new.values[:, k]))
            place = np.full(len(good), k), np.full(len(good), j)
            table[good, j] = [self._safe(text) for text in self._numbers(new.values[good, k], *place)]
        for j, times in zip(self.time_at.at, self.time_at.write(new.times), strict=True):
            quoted = self.cells.cell(0, j).startswith(b'"')
            for i, text in enumerate(times):
                table[i, j] = b'"' + text.encode() + b'"' if quoted else self._text(text)
        if new.ids is not None and self.ids is not None:
            where = {key: row for row, key in reversed(list(enumerate(self.ids.tolist())))}
            for name in self.id_columns:
                j = self.names.index(name)
                for i, key in enumerate(new.ids.tolist()):
                    table[i, j] = self.cells.cell(where[key], j) if key in where else self._text(str(key))
        separator = bytes([self.cells.separator])
        texts = [separator.join(row) for row in table]
        given = new.extra or {}
        for name in extra:
            cells = self._extra_cells(name, np.asarray(given[name])) if name in given else [b""] * len(texts)
            texts = [text + separator + cell for text, cell in zip(texts, cells, strict=True)]
        tails: dict[int, bytes] = {}
        for i in order.tolist():
            row = int(after[i])
            tails[row] = tails.get(row, b"") + self.cells.newline + texts[i]
        return tails

    def _text(self, text: str) -> bytes:
        try:
            return self._safe(text.encode(self.encoding))
        except UnicodeEncodeError:
            raise InputError(
                f"{text!r} cannot be written in the file's encoding, {self.encoding}.",
                cure="Save the file as UTF-8 first.",
            ) from None

    def _safe(self, text: bytes) -> bytes:
        if any(byte in b'"\r\n' or byte == self.cells.separator for byte in text):
            return b'"' + text.replace(b'"', b'""') + b'"'
        return text
