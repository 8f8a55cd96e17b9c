"""Excel files: read as the text table that a sheet shows, written with only the missing cells changed."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, field, fields
from typing import IO
from xml.sax.saxutils import escape

import numpy as np

from t1.arrays import IntArray
from t1.data.csv.file import CsvFile
from t1.data.csv.read import read_csv
from t1.data.csv.scan import PAD
from t1.data.data_file import DataFile, FileFill
from t1.data.excel_sheet import CELL, ROW, ExcelSheet, attributes, column_index, column_letters, read_sheet
from t1.data.reading import Reading
from t1.errors import InputError

CHAIN = "xl/calcChain.xml"  # where the formulas are; dropped where one of them becomes a number


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
        xml, formulas = _change(self.sheet.xml, self._changes(fill))
        with (
            zipfile.ZipFile(io.BytesIO(self.sheet.raw)) as source,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for info in source.infolist():
                data = xml if info.filename == self.sheet.path else source.read(info)
                if formulas and info.filename == CHAIN:
                    continue
                target.writestr(info, _without_chain(info.filename, data) if formulas else data)

    def _changes(self, fill: FileFill) -> dict[int, dict[int, bytes]]:
        """What goes into which cell, by row and column of the sheet: numbers, or names as inline text."""
        lines = self._lines()
        changes: dict[int, dict[int, bytes]] = {}
        for i, k in zip(*(part.tolist() for part in np.nonzero(fill.missing)), strict=True):
            number = round(float(fill.values[i, k]), min(self.decimals[k], 15))
            text = repr(int(number)) if self.decimals[k] == 0 else repr(number)
            changes.setdefault(int(lines[i]), {})[self.table.at[k]] = f"<v>{text}</v>".encode()
        for n, name in enumerate(fill.extra):
            at = len(self.table.names) + n
            if (header := self.table.layout.header_line) > 0:
                changes.setdefault(header, {})[at] = f"<is><t>{escape(name)}</t></is>".encode()
            column = np.asarray(fill.extra[name])
            for i in np.flatnonzero(np.isfinite(column)).tolist():
                changes.setdefault(int(lines[i]), {})[at] = f"<v>{float(column[i])!r}</v>".encode()
        return changes

    def _lines(self) -> IntArray:
        """The row of the sheet on which each row of the table stands; the first is 1."""
        cells = self.table.cells
        breaks = np.flatnonzero(cells.data[: cells.size] == ord("\n"))
        return np.searchsorted(breaks, cells.row_starts) + 1


def read_excel(raw: bytes, reading: Reading) -> ExcelFile:
    """Read the first sheet of a workbook, or the one that is named."""
    sheet = read_sheet(raw, reading.sheet)
    if not sheet.text.strip(b", \n"):
        raise InputError(f"the sheet {sheet.name!r} is empty.", cure="Name another one.", option="sheet")
    table = read_csv(sheet.text + bytes(PAD), reading, commas=True)
    said = (f"sheet {sheet.name!r} of {sheet.n_sheets}",) if sheet.n_sheets > 1 else ()
    common = {f.name: getattr(table, f.name) for f in fields(DataFile)}
    return ExcelFile(**{**common, "said": (*said, *table.said)}, table=table, sheet=sheet)


def _change(xml: bytes, changes: dict[int, dict[int, bytes]]) -> tuple[bytes, bool]:
    """The sheet with some cells replaced or added, and whether a formula was among them."""
    out: list[bytes] = []
    done, formulas = 0, False
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
                formulas |= b"<f" in old[column]
                style = attributes(old[column].partition(b">")[0]).get(b"s", b"")
            kind = b' t="inlineStr"' if value.startswith(b"<is>") else b""
            place = f"{column_letters(column)}{row}".encode()
            styled = b' s="' + style + b'"' if style else b""
            old[column] = b'<c r="' + place + b'"' + styled + kind + b">" + value + b"</c>"
        cells = b"".join(old[column] for column in sorted(old))
        out += [xml[done : match.start()], b"<row" + match[1] + b">" + cells + b"</row>"]
        done = match.end()
    return b"".join([*out, xml[done:]]), formulas


def _without_chain(name: str, data: bytes) -> bytes:
    """A part of the workbook that does not mention the list of formulas: Excel makes it anew."""
    if name in ("[Content_Types].xml", "xl/_rels/workbook.xml.rels"):
        return re.sub(rb"<(?:Override|Relationship)\b[^>]*calcChain\.xml[^>]*/>", b"", data)
    return data
