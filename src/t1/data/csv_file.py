"""CSV files: read the numbers, and write the same bytes back with only the gaps replaced."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from t1.data.csv_numbers import CELLS, Numbers, inner_spans, read_numbers, write_numbers
from t1.data.csv_scan import PAD, Cells, IntArray, find_decimal, find_separator, scan
from t1.data.data_file import AnyArray, Choice, DataFile, FloatArray, NewRows, choose
from t1.data.dates import (
    Dates,
    TimeFormat,
    is_time_name,
    looks_like_dates,
    read_dates,
    read_numeric_dates,
)
from t1.data.timeline import anchors
from t1.errors import InputError

HEAD = 1 << 20  # bytes that are looked at to find the separator
MOSTLY = 9  # numbers for each text cell: from there on the text is taken for a mistake


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
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> None:
        if suffixes.endswith((".parquet", ".pq")):
            raise InputError("a CSV file is written back as CSV.\nGive the output a name that ends in .csv.")
        if not suffixes.endswith(".gz"):
            stream.writelines(self._pieces(filled, extra, new_rows))
            return
        with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as packed:
            for piece in self._pieces(filled, extra, new_rows):
                packed.write(piece)

    def _pieces(
        self, filled: FloatArray, extra: Mapping[str, AnyArray], new_rows: NewRows | None
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
            start, end, texts = self._fills(rows, filled[rows])
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

    def _fills(self, rows: slice, filled: FloatArray) -> tuple[IntArray, IntArray, list[bytes]]:
        """Which bytes of some rows to replace, from the first to the last, and by what."""
        write = np.isnan(self.values[rows]) & np.isfinite(filled)
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
            return [b"" if value is None else self._text(str(value)) for value in values.tolist()]
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


def read_csv(
    padded: bytes,
    *,
    time: str | None = None,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing_values: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    prefer_tab: bool = False,
) -> CsvFile:
    """Read a CSV file from its bytes, with PAD zero bytes after them (so that no copy is needed)."""
    problems: list[str] = []
    size = len(padded) - PAD
    encoding, start = _encoding(padded, size, encoding, problems)
    sep = _one_byte(separator, "--separator") or find_separator(
        padded[start : min(start + HEAD, size)], prefer_tab=prefer_tab
    )
    point = _one_byte(decimal, "--decimal") or find_decimal(padded, sep)
    if point not in (b".", b","):
        raise InputError(f"--decimal must be a point or a comma, got {decimal!r}.\nGive . or ,")
    data = np.frombuffer(padded, dtype=np.uint8)
    cells = scan(data, size, start, sep)
    names = tuple(decode(data[a:b].tobytes(), encoding).strip() for a, b in cells.header)
    choice = choose(names, time=time, id=id, columns=columns, exclude=exclude)
    if not len(cells.ends):
        raise InputError("the file has names in its first line, but no rows.\nAdd the data below the names.")
    codes = [value.encode(encoding, "replace") for value in missing_values]
    numbers = read_numbers(cells, point, codes)
    sheet = _Sheet(cells, names, encoding, numbers, choice, problems)
    time_at, dates = sheet.find_time()
    at = sheet.find_numeric(time_at)
    ids = None
    if choice.id is not None:
        ids = np.array(sheet.texts(choice.id), dtype=object)
        if nameless := int((ids == "").sum()):
            problems.append(f"{nameless} rows have no {names[choice.id]!r}; they are taken for one series.")
    return CsvFile(
        values=_keep_columns(numbers.values, at),
        columns=tuple(names[j] for j in at),
        decimals=tuple(int(numbers.decimals[j]) for j in at),
        time=dates.times if dates else None,
        time_column=names[time_at] if time_at is not None else None,
        ids=ids,
        id_column=names[choice.id] if choice.id is not None else None,
        passed_through=sheet.passed_through,
        problems=problems,
        cells=cells,
        names=names,
        at=tuple(at),
        decimal=point,
        encoding=encoding,
        time_format=dates.format if dates else None,
    )


def decode(raw: bytes, encoding: str) -> str:
    """A cell's text, without the quotes around it."""
    text = raw.decode(encoding, "replace")
    bare = text.strip(" \t")
    return bare[1:-1].replace('""', '"') if len(bare) >= 2 and bare[0] == bare[-1] == '"' else text


class _Sheet:
    """A table that is being read: which column is the time, which are numbers, and which stay as they are."""

    def __init__(
        self,
        cells: Cells,
        names: tuple[str, ...],
        encoding: str,
        numbers: Numbers,
        choice: Choice,
        problems: list[str],
    ) -> None:
        self.cells, self.names, self.encoding = cells, names, encoding
        self.numbers, self.choice, self.problems = numbers, choice, problems
        self.passed_through: dict[str, str] = {}

    def texts(self, column: int, limit: int | None = None) -> list[str]:
        """The cells of one column as text."""
        end = self.cells.ends[:limit, column].tolist()
        first = self.cells.row_starts if column == 0 else self.cells.ends[:, column - 1] + 1
        raw = memoryview(self.cells.data.data)
        spans = zip(first[:limit].tolist(), end, strict=True)
        return [decode(bytes(raw[a:b]), self.encoding).strip() for a, b in spans]

    def find_time(self) -> tuple[int | None, Dates | None]:
        """The column that says when: the one the user named, one with the name of a time, or one of dates."""
        if self.choice.time is not None:
            return self.choice.time, self._explicit_time(self.choice.time)
        named = [j for j, name in enumerate(self.names) if is_time_name(name)]
        others = [j for j in np.flatnonzero(self.numbers.n_texts).tolist() if j not in named]
        for j in named + others:
            if j == self.choice.id or (self.choice.named and j in self.choice.wanted):
                continue
            if j in others and not looks_like_dates([t for t in self.texts(j, 50) if t]):
                continue
            dates, texts = self._dates(j)
            bad = np.isnat(dates.times)
            if not bad.any():
                return j, dates
            if j in named and self._is_numeric(j):
                self.passed_through[self.names[j]] = "is named like a time, but has empty cells"
            elif bad.mean() > 0.1:
                continue
            i = int(bad.argmax())
            self.problems.append(
                f"column {self.names[j]!r} looks like the time, but line {self.cells.line(i)} has "
                f"{texts[i][:40]!r}; the rows are taken in their order."
            )
        return None, None

    def find_numeric(self, time_at: int | None) -> list[int]:
        """The columns to fill; all others are noted as passed through."""
        found: list[int] = []
        for j, name in enumerate(self.names):
            if name in self.passed_through or j in (time_at, self.choice.id):
                continue
            if j not in self.choice.wanted:
                self.passed_through[name] = "was not asked for"
            elif self.numbers.n_texts[j]:
                self._refuse_mixed(j)
                row = int(self.numbers.first_text[j])
                text = self._show(row, j)
                self.passed_through[name] = f"holds text ({text!r} on line {self.cells.line(row)})"
            elif j == 0 and name == "" and len(self.names) > 1 and self._counts_rows(j):
                self.passed_through[name] = "counts the rows"
            else:
                found.append(j)
                if not self.numbers.n_numbers[j]:
                    self.problems.append(f"column {name!r} has no observed value.")
        if not found:
            raise InputError(
                f"no column holds numbers (found: {', '.join(map(repr, self.names[:8]))}).\n"
                "If the columns run together or the numbers look odd, name --separator and --decimal."
            )
        return found

    def _is_numeric(self, j: int) -> bool:
        return bool(self.numbers.n_texts[j] == 0 and self.numbers.n_numbers[j] > 0)

    def _dates(self, j: int) -> tuple[Dates, list[str]]:
        texts = self.texts(j)
        column = self.numbers.values[:, j]
        if self._is_numeric(j):
            if np.isnan(column).any():
                return Dates(
                    np.where(np.isnan(column), np.datetime64("NaT"), np.datetime64(0, "ns")), TimeFormat()
                ), texts
            return read_numeric_dates(column, texts), texts
        return read_dates(texts), texts

    def _explicit_time(self, j: int) -> Dates:
        dates, texts = self._dates(j)
        bad = np.isnat(dates.times)
        if bad.any():
            i = int(bad.argmax())
            raise InputError(
                f"--time {self.names[j]}: line {self.cells.line(i)} has {texts[i][:60]!r}, which is no date "
                "in the format of the column.\nCorrect the line, or name another column with --time."
            )
        return dates

    def _refuse_mixed(self, j: int) -> None:
        n_texts, n_numbers = int(self.numbers.n_texts[j]), int(self.numbers.n_numbers[j])
        if not self.choice.named and n_numbers < MOSTLY * n_texts:
            return
        row, name = int(self.numbers.first_text[j]), self.names[j]
        text = self._show(row, j)
        what = "an infinite value, " if text.strip("+-").lower() in ("inf", "infinity") else ""
        raise InputError(
            f"column {name!r} holds {what}{text!r} on line {self.cells.line(row)}, where a number was "
            f"expected ({n_numbers} cells are numbers, {n_texts} are not).\n"
            f"Leave the column as it is with --exclude {name}, or have such cells filled with "
            f"--missing-value {text}."
        )

    def _show(self, row: int, j: int) -> str:
        return decode(self.cells.cell(row, j), self.encoding).strip()[:60]

    def _counts_rows(self, j: int) -> bool:
        column = self.numbers.values[:, j]
        return bool((np.diff(column) == 1).all() and column[0] in (0, 1))


def _keep_columns(values: FloatArray, at: list[int]) -> FloatArray:
    """Some columns of a table (rows, columns), moved together inside its own memory."""
    n_rows, width = values.shape
    if len(at) == width:
        return values
    flat = values.reshape(-1)
    step = max(1, CELLS // width)
    for begin in range(0, n_rows, step):
        block = values[begin : begin + step, at]  # a copy; it moves towards the front, over rows already read
        flat[begin * len(at) : begin * len(at) + block.size] = block.reshape(-1)
    return flat[: n_rows * len(at)].reshape(n_rows, len(at))


def _one_byte(text: str | None, option: str) -> bytes | None:
    if text is None:
        return None
    byte = {"\\t": "\t", "tab": "\t"}.get(text, text).encode()
    if len(byte) != 1 or byte.isalnum() or (byte in b'"+-\r\n\0'):
        raise InputError(f"{option} must be a single character, got {text!r}.\nGive , or ; or | or tab.")
    return byte


def _encoding(raw: bytes, size: int, wanted: str | None, problems: list[str]) -> tuple[str, int]:
    """The encoding, and where the text starts behind a byte order mark."""
    wide = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    if raw.startswith(wide):
        raise InputError(
            "the file is UTF-16 or UTF-32.\nSave it as UTF-8: iconv -f UTF-16 -t UTF-8 in.csv > utf8.csv"
        )
    if (at := raw.find(b"\0", 0, size)) >= 0:
        line = raw.count(b"\n", 0, at) + 1
        raise InputError(
            f"line {line} holds a NUL byte, so this is no text file, or one in UTF-16.\n"
            "Save it as CSV in UTF-8."
        )
    start = 3 if raw.startswith(codecs.BOM_UTF8) else 0
    if wanted is None and raw.isascii():
        return "utf-8", start
    try:
        codec = codecs.lookup(wanted or "utf-8").name
    except LookupError:
        raise InputError(f"--encoding {wanted!r} is unknown.\nTry utf-8, latin-1 or cp1252.") from None
    if '0,;\t|"\n'.encode(codec) != b'0,;\t|"\n' and codec != "utf-8-sig":
        raise InputError(f"--encoding {wanted!r} is not supported.\nSave the file as UTF-8 first.")
    codec = "utf-8" if codec == "utf-8-sig" else codec
    try:
        decoder = codecs.getincrementaldecoder(codec)()
        for begin in range(start, size, HEAD):
            decoder.decode(raw[begin : min(begin + HEAD, size)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if wanted is not None:
            raise InputError(f"the file is not {wanted}: {error.reason}.\nTry --encoding latin-1.") from None
        problems.append("the file is not UTF-8; its names and texts were read as Latin-1.")
        return "latin-1", start
    return codec, start
