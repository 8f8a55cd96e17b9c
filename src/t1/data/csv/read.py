"""Reading a text table: its encoding, its layout, its cells, and what its columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t1.arrays import FloatArray
from t1.data.csv.columns import TextSheet
from t1.data.csv.dialect import BLANKS, find_decimal
from t1.data.csv.encoding import find_encoding
from t1.data.csv.events import SELDOM, find_events, told_events
from t1.data.csv.file import CsvFile
from t1.data.csv.find_time import TimeFinder
from t1.data.csv.layout import Layout, find_layout
from t1.data.csv.numbers import CELLS, read_numbers
from t1.data.csv.scan import PAD, scan
from t1.data.csv.styles import OTHER_SIGN
from t1.data.csv.texts import decode
from t1.data.csv.thousands import Thousands
from t1.data.data_file import choose
from t1.data.reading import Reading
from t1.data.sentinels import doubtful_sentinels, take_out_sentinels
from t1.errors import InputError


def read_csv(
    padded: bytes,
    reading: Reading | None = None,
    *,
    prefer_tab: bool = False,
    commas: bool = False,
    wide: str | None = None,
    layout: Layout | None = None,
    grouped: frozenset[int] = frozenset(),
) -> CsvFile:
    """Read a text table from its bytes, with PAD zero bytes after them (so that no copy is needed).

    `wide` is the encoding to write back where the bytes came as UTF-16; `commas` separate a sheet's cells;
    `layout`, and the columns in which the decimal sign separates thousands (`grouped`), are known where a table is
    read in pieces, or again after it was filled.
    """
    reading = reading or Reading()
    problems: list[str] = []
    size = len(padded) - PAD
    wanted = None if wide is not None else reading.encoding
    encoding, start = find_encoding(padded, size, wanted, problems)
    codes = [value.encode(encoding, "replace") for value in reading.missing_values]
    layout = layout or find_layout(
        padded,
        start,
        size,
        separator=b"," if commas else _separator(reading.separator),
        prefer_tab=prefer_tab,
        header_row=reading.header_row,
        skip_rows=reading.skip_rows,
        comment=reading.comment.encode(encoding) if reading.comment else None,
        units_row=reading.units_row,
        missing=codes,
    )
    point = b"." if commas else _decimal(reading.decimal)
    point = point or find_decimal(padded, layout.separator, layout.body)
    cells = scan(np.frombuffer(padded, dtype=np.uint8), size, layout)
    names = _names([decode(name, encoding).strip() for name in layout.names], layout.width, problems)
    choice = choose(names, reading)
    if not len(cells.ends):
        raise InputError(
            "the file has names in its first line, but no rows.",
            cure="Add the data below the names, or say which line holds them (header_row).",
            option="header_row",
        )
    numbers = read_numbers(cells, point, codes)
    if reading.decimal is None and not commas:
        thousands = Thousands(cells, numbers, point, encoding, reading.missing_values)
        in_all, grouped = thousands.find(names, problems)
        if in_all:
            point = OTHER_SIGN[point.decode()].encode()
            numbers = read_numbers(cells, point, codes)
    sheet = TextSheet(
        cells,
        names,
        encoding,
        numbers,
        choice,
        reading,
        named=bool(layout.names),
        decimal=point,
        grouped=grouped,
    )
    return _understand(sheet, layout, problems, wide)


def _understand(sheet: TextSheet, layout: Layout, problems: Sequence[str], wide: str | None) -> CsvFile:
    """The file, once it is known what its columns are: the time, the ids, numbers, or left alone."""
    names, numbers, reading = sheet.names, sheet.numbers, sheet.reading
    time = TimeFinder(sheet).find()
    id_at, ids = sheet.find_ids(time)
    sheet.forget_texts()
    at = sheet.find_numeric((*(time.at if time else ()), *id_at))
    columns = tuple(names[j] for j in at)
    values = _keep_columns(numbers.values, at)
    sentinels = take_out_sentinels(values, columns, reading.keep_sentinels)
    most = SELDOM * len(values)
    marks = [j for j in sheet.texts_at if not numbers.n_numbers[j] and numbers.n_texts[j] <= most]
    events = None if id_at else find_events(values, sheet.cells, marks, time.times if time else None)
    cells = sheet.cells
    if events is not None:
        kept = ~events
        values, cells = values[kept], cells.only(kept)
        time = replace(time, times=time.times[kept]) if time else None
        sheet.said.append(told_events(int(events.sum())))
    note = [f"dates are read {time.note}"] if time is not None and time.note else []
    return CsvFile(
        values=values,
        columns=columns,
        decimals=tuple(int(numbers.decimals[j]) for j in at),
        time=time.times if time else None,
        time_columns=tuple(names[j] for j in sorted(time.at)) if time else (),
        time_format=time.format if time else None,
        ids=ids,
        id_columns=tuple(names[j] for j in id_at),
        passed_through=sheet.passed_through,
        problems=[*problems, *sheet.problems, *doubtful_sentinels(sentinels)],
        said=(*layout.said, *cells.said, *sheet.said, *note, *(["the text is UTF-16"] if wide else [])),
        sentinels=sentinels,
        kind=reading.kind,
        cells=cells,
        layout=layout,
        names=names,
        at=tuple(at),
        decimal=sheet.decimal.encode(),
        encoding=sheet.encoding,
        time_at=time,
        styles=sheet.styles,
        wide=wide,
    )


def _names(given: Sequence[str], width: int, problems: list[str]) -> tuple[str, ...]:
    """A name of its own for every column: column 3 for one without, and "a (2)" for the second a."""
    names = [name or f"column {j + 1}" for j, name in enumerate(given or [""] * width)]
    seen: Counter[str] = Counter()
    for j, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while f"{name} ({seen[name]})" in names:
                seen[name] += 1
            names[j] = f"{name} ({seen[name]})"
    for name, n in Counter(name for name in given if name).items():
        if n > 1:
            problems.append(
                f"{n} columns are named {name!r}; here they are {name!r}, '{name} (2)' and so on."
            )
    return tuple(names)


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


def _separator(text: str | None) -> bytes | None:
    if text is None:
        return None
    byte = {"\\t": b"\t", "tab": b"\t", "space": BLANKS, "blank": BLANKS, "whitespace": BLANKS}.get(
        text, text.encode()
    )
    if len(byte) != 1 or byte.isalnum() or (byte in b'"+-\r\n\0'):
        raise InputError(
            f"the separator must be a single character, got {text!r}.",
            cure="Give , or ; or | or tab or space.",
            option="separator",
        )
    return byte


def _decimal(text: str | None) -> bytes | None:
    if text is not None and text not in (".", ","):
        raise InputError(
            f"the decimal sign must be a point or a comma, got {text!r}.",
            cure="Give . or ,",
            option="decimal",
        )
    return text.encode() if text else None
