"""Excel files: read as the text table that a sheet shows, written with only the missing cells changed."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field, fields
from typing import IO
from xml.sax.saxutils import escape

import numpy as np

from t1.arrays import BoolArray, IntArray
from t1.data.csv.file import CsvFile
from t1.data.csv.read import read_csv
from t1.data.csv.scan import PAD
from t1.data.data_file import DataFile, FileFill
from t1.data.dates import is_time_name
from t1.data.excel_sheet import CELL, ROW, ExcelSheet, attributes, column_index, column_letters, read_sheet
from t1.data.reading import Reading
from t1.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcelFile(DataFile):
    """A sheet of a workbook; `table` is the same as a text table, line k for row k."""

    table: CsvFile = field(repr=False)
    sheet: ExcelSheet = field(repr=False)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the sheet, in its order."""
        return self.table.all_columns

    def texts(self, name: str) -> list[str]:
        """The cells of any column as text."""
        return self.table.texts(name)

    def places(self, k: int) -> IntArray:
        """How many decimals each cell of one of the `columns` is written with (rows,)."""
        return self.table.places(k)

    def _check_container(self, kind: str) -> None:
        if kind != "excel":
            self.table._check_container(kind)

    def _write(self, stream: IO[bytes], kind: str, fill: FileFill) -> None:
        if kind != "excel":
            self.table._write(stream, kind, fill)
            return
        if fill.new_rows is not None:
            raise InputError(
                "rows cannot be added to an Excel sheet.",
                cure="Give the output a name that ends in .csv or .parquet.",
                option="output",
            )
        xml = _change(self.sheet.xml, self._changes(fill))
        with (
            zipfile.ZipFile(io.BytesIO(self.sheet.raw)) as source,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for info in source.infolist():
                data = xml if info.filename == self.sheet.path else source.read(info)
                target.writestr(info, data)

    def _changes(self, fill: FileFill) -> dict[int, dict[int, bytes]]:
        """What goes into which cell, by row and column of the sheet: the rest of its element, with its type."""
        lines = _lines(self.table)
        changes: dict[int, dict[int, bytes]] = {}
        for i, k in zip(*(part.tolist() for part in np.nonzero(fill.missing)), strict=True):
            places = self.decimals[k] if fill.decimals is None else int(fill.decimals[i, k])
            number = round(float(fill.values[i, k]), min(places, 15))
            text = repr(int(number)) if places == 0 else repr(number)
            at = self.table.at[k]
            kind = ' t="b"' if at in self.sheet.switches and text in ("0", "1") else ""
            changes.setdefault(int(lines[i]), {})[at] = f"{kind}><v>{text}</v>".encode()
        for n, name in enumerate(fill.extra):
            at = len(self.table.names) + n
            if (header := self.table.layout.header_line) > 0:
                changes.setdefault(header, {})[at] = f' t="inlineStr"><is><t>{escape(name)}</t></is>'.encode()
            column = np.asarray(fill.extra[name])
            for i in np.flatnonzero(np.isfinite(column)).tolist():
                changes.setdefault(int(lines[i]), {})[at] = f"><v>{float(column[i])!r}</v>".encode()
        return changes


def read_excel(raw: bytes, reading: Reading) -> ExcelFile:
    """Read the first sheet of a workbook, or the one that is named."""
    sheet = read_sheet(raw, reading.sheet)
    others = ", ".join(map(repr, sheet.others))
    if not sheet.text.strip(b", \n"):
        cure = f"Name another one: {others}." if others else "Fill it."
        raise InputError(f"the sheet {sheet.name!r} is empty.", cure=cure, option="sheet")
    try:
        table = read_csv(sheet.text + bytes(PAD), reading, commas=True)
    except InputError as error:
        if reading.sheet is not None or not others:
            raise
        raise InputError(
            f"in the first sheet, {sheet.name!r}, {error.message}",
            cure=f"If the table is on another sheet, name it (sheet): {others}. {error.cure or ''}".strip(),
            option="sheet",
        ) from None
    said = (f"sheet {sheet.name!r} is read, not {others}",) if others else ()
    fixed, told = _formulas(table, sheet)
    common = {
        **{f.name: getattr(table, f.name) for f in fields(DataFile)},
        "said": (*said, *table.said),
        "problems": [*table.problems, *told],
        "fixed": fixed,
    }
    return ExcelFile(**common, table=table, sheet=sheet)


def _lines(table: CsvFile) -> IntArray:
    """The row of the sheet on which each row of the table stands; the first is 1."""
    cells = table.cells
    breaks = np.flatnonzero(cells.data[: cells.size] == ord("\n"))
    return np.searchsorted(breaks, cells.row_starts) + 1


def _formulas(table: CsvFile, sheet: ExcelSheet) -> tuple[BoolArray | None, list[str]]:
    """The missing cells (rows, vars) that hold a formula and so are never written, and what to say of them."""
    if not sheet.formulas:
        return None, []
    row_of = {line: i for i, line in enumerate(_lines(table).tolist())}
    place = {column: k for k, column in enumerate(table.at)}
    fixed = np.zeros(table.values.shape, dtype=bool)
    unknown: list[str] = []  # no result is stored
    no_number: list[str] = []  # the result is an error, or an empty text
    of_column = [0] * len(table.names)
    for (line, column), stored in sheet.formulas.items():
        i, k = row_of.get(line), place.get(column)
        if i is None:
            continue
        if not stored:
            unknown.append(f"{column_letters(column)}{line}")
            of_column[column] += 1
        if k is not None and np.isnan(table.values[i, k]):
            fixed[i, k] = True
            if stored:
                no_number.append(f"{column_letters(column)}{line}")
    for name, n in zip(table.names, of_column, strict=True):
        if is_time_name(name) and name not in table.time_columns and 2 * n > len(table.values):
            raise InputError(
                f"column {name!r} says when, but {n} of its cells are formulas without a stored result.",
                cure="Open the file in Excel or LibreOffice and save it: that stores the results.",
            )
    told = []
    if unknown:
        told.append(
            f"formulas without a stored result are not known and stay as they are: {_some(unknown)}. "
            "To have them read, open the file in Excel or LibreOffice and save it."
        )
    if no_number:
        told.append(f"formulas whose result is empty or an error stay as they are: {_some(no_number)}.")
    return fixed, told


def _some(places: list[str]) -> str:
    shown = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
    return f"{shown} ({len(places):,} cell{'s' * (len(places) > 1)})"


def _change(xml: bytes, changes: dict[int, dict[int, bytes]]) -> bytes:
    """The sheet with some cells replaced or added."""
    out: list[bytes] = []
    done = 0
    for number, match in enumerate(ROW.finditer(xml), 1):
        row = int(attributes(match[1]).get(b"r", b"%d" % number))
        new = changes.get(row)
        if not new:
            continue
        inner = match[2] or b""
        old: dict[int, bytes] = {}
        at = -1
        for cell in CELL.finditer(inner):
            given = attributes(cell[1])
            at = column_index(given[b"r"]) if b"r" in given else at + 1
            old[at] = cell[0]
        for column, value in new.items():
            style = b""
            if column in old:
                style = attributes(old[column].partition(b">")[0]).get(b"s", b"")
            place = f"{column_letters(column)}{row}".encode()
            styled = b' s="' + style + b'"' if style else b""
            old[column] = b'<c r="' + place + b'"' + styled + value + b"</c>"
        cells = b"".join(old[column] for column in sorted(old))
        out += [xml[done : match.start()], b"<row" + match[1] + b">" + cells + b"</row>"]
        done = match.end()
    return b"".join([*out, xml[done:]])
