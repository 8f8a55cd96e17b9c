"""A CSV file that gives the same bytes back, with only the gaps replaced."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray
from t1.data.csv_numbers import CELLS, inner_spans, write_numbers
from t1.data.csv_scan import Cells
from t1.data.data_file import DataFile, NewRows
from t1.data.dates import TimeFormat
from t1.data.timeline import anchors
from t1.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class CsvFile(DataFile):
    """A CSV file, its bytes, and where its cells are."""

    cells: Cells = field(repr=False)
    names: tuple[str, ...]
    at: tuple[int, ...]  # where the numeric columns are among all columns
    decimal: bytes
    encoding: str
    time_format: TimeFormat | None

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return self.names

    def _write(
        self,
        stream: IO[bytes],
        suffixes: str,
        filled: FloatArray,
        missing: BoolArray,
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> None:
        if suffixes.endswith((".parquet", ".pq")):
            raise InputError("a CSV file is written back as CSV.\nGive the output a name that ends in .csv.")
        if not suffixes.endswith(".gz"):
            stream.writelines(self._pieces(filled, missing, extra, new_rows))
            return
        with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
            for piece in self._pieces(filled, missing, extra, new_rows):
                packed.write(piece)

    def _pieces(
        self,
        filled: FloatArray,
        missing: BoolArray,
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> Iterator[bytes]:
        """The file's bytes from first to last, a few rows at a time."""
        cells, raw = self.cells, memoryview(self.cells.data.data)
        tails = self._new_rows(new_rows, extra) if new_rows is not None and len(new_rows.times) else {}
        done = cells.header_end
        separator = bytes([cells.separator])
        yield bytes(raw[:done]) + b"".join(separator + self._text(name) for name in extra)
        step = max(1, CELLS // len(self.names))
        for begin in range(0, len(cells.ends), step):
            rows = slice(begin, min(begin + step, len(cells.ends)))
            start, end, texts = self._fills(rows, filled[rows], missing[rows])
            if extra or tails:
                row_ends = cells.ends[rows, -1]
                added = [b""] * len(row_ends)
                for name, values in extra.items():
                    pairs = zip(added, self._extra_cells(name, values[rows]), strict=True)
                    added = [before + separator + cell for before, cell in pairs]
                added = [text + tails.get(begin + i, b"") for i, text in enumerate(added)]
                start, end = np.concatenate([start, row_ends]), np.concatenate([end, row_ends])
                order = np.argsort(start, kind="stable")  # a fill at the end of a row comes before its tail
                texts += added
                start, end, texts = start[order], end[order], [texts[i] for i in order.tolist()]
            out: list[bytes | memoryview] = []
            for first, last, text in zip(start.tolist(), end.tolist(), texts, strict=True):
                out += (raw[done:first], text)
                done = last
            yield b"".join(out)
        yield bytes(raw[done : cells.size])

    def _fills(
        self, rows: slice, filled: FloatArray, write: BoolArray
    ) -> tuple[IntArray, IntArray, list[bytes]]:
        """Which bytes of some rows to replace, from the first to the last, and by what."""
        i, j = np.nonzero(write)
        column = np.asarray(self.at, dtype=np.int64)[j]
        starts, ends = self.cells.starts(rows), self.cells.ends[rows]
        raw_start, raw_end = starts[i, column], ends[i, column]
        start, end = inner_spans(self.cells.data, raw_start, raw_end)
        numbers, decimals = filled[write], np.asarray(self.decimals, dtype=np.int64)[j]
        texts = np.empty(len(i), dtype=object)
        for places in np.unique(decimals).tolist():
            those = decimals == places
            texts[those] = write_numbers(numbers[those], places, self.decimal)
        if self.decimal[0] == self.cells.separator:
            quoted = self.cells.data[np.maximum(start - 1, 0)] == ord('"')
            texts[:] = [
                text if has or self.decimal not in text else b'"' + text + b'"'
                for text, has in zip(texts, quoted & (start > raw_start), strict=True)
            ]
        return start, end, texts.tolist()

    def _extra_cells(self, name: str, values: AnyArray) -> list[bytes]:
        if values.dtype.kind not in "iuf":
            return [
                b"" if cell is None or cell != cell else self._text(str(cell)) for cell in values.tolist()
            ]
        if values.dtype.kind != "f":
            return [str(value).encode() for value in values.tolist()]
        good = np.isfinite(values)
        texts = np.full(len(values), b"", dtype=object)
        written = write_numbers(values[good].astype(np.float64), self.decimals_for(name), self.decimal)
        texts[good] = [self._safe(text) for text in written]
        return list(texts)

    def _new_rows(self, new: NewRows, extra: Mapping[str, AnyArray]) -> dict[int, bytes]:
        """The text of the new rows by the row that they follow, each with a line break before it."""
        assert self.time is not None and self.time_column is not None and self.time_format is not None
        after, order = anchors(self.time, self.ids, new.times, new.ids)
        time_at = self.names.index(self.time_column)
        id_at = self.names.index(self.id_column) if self.id_column is not None else None
        times = self.time_format.write(new.times)
        table = np.full((len(times), len(self.names)), b"", dtype=object)
        for k, j in enumerate(self.at):
            good = np.isfinite(new.values[:, k])
            written = write_numbers(new.values[good, k], self.decimals[k], self.decimal)
            table[good, j] = [self._safe(text) for text in written]
        quoted = self.cells.cell(0, time_at).startswith(b'"')
        for i, text in enumerate(times):
            table[i, time_at] = b'"' + text.encode() + b'"' if quoted else self._text(text)
        if id_at is not None and new.ids is not None and self.ids is not None:
            where = {key: row for row, key in reversed(list(enumerate(self.ids.tolist())))}
            for i, key in enumerate(new.ids.tolist()):
                table[i, id_at] = self.cells.cell(where[key], id_at) if key in where else self._text(str(key))
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
                f"{text!r} cannot be written in the file's encoding, {self.encoding}.\n"
                "Save the file as UTF-8 first."
            ) from None

    def _safe(self, text: bytes) -> bytes:
        if any(byte in b'"\r\n' or byte == self.cells.separator for byte in text):
            return b'"' + text.replace(b'"', b'""') + b'"'
        return text
