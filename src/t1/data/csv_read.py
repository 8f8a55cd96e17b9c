"""Reading a CSV file: its encoding, its time column, which columns are numbers, and which are left alone."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

import numpy as np

from t1.arrays import FloatArray
from t1.data.csv_file import CsvFile
from t1.data.csv_numbers import CELLS, Numbers, read_numbers
from t1.data.csv_scan import PAD, Cells, find_decimal, find_separator, scan
from t1.data.data_file import Choice, choose
from t1.data.dates import (
    Dates,
    TimeFormat,
    is_time_name,
    looks_like_dates,
    read_dates,
    read_numeric_dates,
)
from t1.errors import InputError

HEAD = 1 << 20  # bytes that are looked at to find the separator
MOSTLY = 9  # numbers for each text cell: from there on the text is taken for a mistake


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
        found: list[str] = []
        for j in named + others:
            if j == self.choice.id or (self.choice.named and j in self.choice.wanted):
                continue
            if j in others and not looks_like_dates([t for t in self.texts(j, 50) if t]):
                continue
            dates, texts = self._dates(j)
            bad = np.isnat(dates.times)
            if dates.format.unit == "step" and self.choice.id is None:  # a lap time is no time stamp
                bad = np.append(False, np.diff(dates.times) < np.timedelta64(0))
            if not bad.any():
                return j, dates
            if j in named or bad.mean() <= 0.1:
                i = int(bad.argmax())
                found.append(
                    f"column {self.names[j]!r} looks like the time, but line {self.cells.line(i)} has "
                    f"{texts[i][:40]!r}; the rows are taken in their order."
                )
        self.problems += found
        return None, None

    def find_numeric(self, time_at: int | None) -> list[int]:
        """The columns to fill; all others are noted as passed through."""
        found: list[int] = []
        for j, name in enumerate(self.names):
            if name in self.passed_through or j in (time_at, self.choice.id):
                continue
            if j not in self.choice.wanted:
                self.passed_through[name] = "was not asked for"
            elif is_time_name(name) and not self.choice.named and not self._is_text(j):
                self.passed_through[name] = "is named like a time (to have it filled, name it in --columns)"
            elif name == "" and not self.numbers.n_texts[j] and not self.numbers.n_numbers[j]:
                self.passed_through[name] = "is empty and has no name"
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

    def _is_text(self, j: int) -> bool:
        return bool(self.numbers.n_texts[j] * MOSTLY > self.numbers.n_numbers[j])

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


def _is_like_ascii(codec: str) -> bool:
    try:
        return '0,;\t|"\n'.encode(codec) == b'0,;\t|"\n'
    except (LookupError, UnicodeError):  # base64 and the like are no text encodings
        return False


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
    if codec != "utf-8-sig" and not _is_like_ascii(codec):
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
