"""An Excel sheet as text: its cells out of the XML, with nothing but the standard library."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from xml.sax.saxutils import unescape

import numpy as np

from t1.errors import InputError

ROW = re.compile(rb"<row\b([^>]*?)(?:/>|>(.*?)</row>)", re.DOTALL)
CELL = re.compile(rb"<c\b([^>]*?)(?:/>|>(.*?)</c>)", re.DOTALL)
FORMULA = re.compile(rb"<f\b([^>]*)>")
VALUE = re.compile(rb"<v\b[^>]*>(.*?)</v>", re.DOTALL)
TEXT = re.compile(rb"<t\b[^>]*?(?:/>|>(.*?)</t>)", re.DOTALL)
ATTRIBUTE = re.compile(rb'\b([\w:]+)="([^"]*)"')
DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # built-in date formats
ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)  # in a format: hours that go on beyond a day
MOST_UNPACKED = 4 << 30  # bytes

Place = tuple[int, int]  # the row of a cell, the first is 1, and its column, the first is 0


@dataclass(frozen=True)
class ExcelSheet:
    """One sheet of a workbook."""

    raw: bytes  # the whole file
    path: str  # of the sheet inside it
    xml: bytes
    name: str
    text: bytes  # the sheet as CSV: line k is row k
    others: tuple[str, ...]  # the names of the other sheets
    formulas: dict[Place, bool]  # the cells with a formula, and whether its result is stored
    switches: frozenset[int]  # the columns with cells that are TRUE or FALSE


def attributes(raw: bytes) -> dict[bytes, bytes]:
    """The attributes of an element."""
    return {match[1]: match[2] for match in ATTRIBUTE.finditer(raw)}


def column_index(reference: bytes) -> int:
    """The column of a cell: 0 for A5, 27 for AB12."""
    number = 0
    for letter in reference:
        if not 65 <= letter <= 90:
            break
        number = number * 26 + letter - 64
    return number - 1


def column_letters(index: int) -> str:
    """The letters of a column: AB for 27."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def read_sheet(raw: bytes, wanted: str | None = None) -> ExcelSheet:
    """The first sheet of a workbook, or the one of that name."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        names = archive.namelist()
        if "xl/workbook.xml" not in names:
            raise InputError("this is a zip file, not an Excel sheet.", cure="Unpack it first.")
        if sum(info.file_size for info in archive.infolist()) > MOST_UNPACKED:
            raise InputError("the Excel file is too large to be read at once.", cure="Export it as CSV.")
        _check_whole(archive)
        sheets = _sheets(archive)
        title = next(iter(sheets)) if wanted is None else wanted
        if title not in sheets:
            raise InputError(
                f"the workbook has no sheet {wanted!r}.",
                cure=f"It has {', '.join(map(repr, sheets))}.",
                option="sheet",
            )
        shared = (
            _shared_strings(archive.read("xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
        )
        dates = _date_styles(archive.read("xl/styles.xml")) if "xl/styles.xml" in names else {}
        from_1904 = b'date1904="1"' in archive.read("xl/workbook.xml")
        xml = archive.read(sheets[title])
    except (zipfile.BadZipFile, KeyError, EOFError, StopIteration) as error:
        raise InputError(f"the Excel file is damaged: {error}.", cure="Save it again.") from None
    if b"<sheetData" not in xml:
        raise InputError("the Excel sheet is written in an unusual way.", cure="Export it as CSV first.")
    text, formulas, switches = _to_csv(xml, shared, dates, from_1904)
    others = tuple(name for name in sheets if name != title)
    return ExcelSheet(raw, sheets[title], xml, title, text, others, formulas, frozenset(switches))


def _check_whole(archive: zipfile.ZipFile) -> None:
    """Every part of the file must be readable: all of them are written back."""
    try:
        bad = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise InputError(f"the Excel file is damaged: {error}.", cure="Save it again.") from None
    if bad is not None:
        raise InputError(f"the Excel file is damaged: {bad!r} is not whole.", cure="Save it again.")


def _sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """The sheets of a workbook by name, in its order."""
    links = {}
    for match in re.finditer(rb"<Relationship\b([^>]*)>", archive.read("xl/_rels/workbook.xml.rels")):
        given = attributes(match[1])
        target = given[b"Target"].decode()
        links[given[b"Id"]] = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    sheets = {}
    for match in re.finditer(rb"<sheet\b([^>]*)>", archive.read("xl/workbook.xml")):
        given = attributes(match[1])
        if given.get(b"state", b"visible") == b"visible":
            sheets[_plain(given[b"name"])] = links[given[b"r:id"]]
    return sheets


def _plain(text: bytes) -> str:
    return unescape(
        text.decode("utf-8", "replace"), {"&quot;": '"', "&apos;": "'", "&#10;": " ", "&#13;": " "}
    )


def _shared_strings(xml: bytes) -> list[str]:
    items = re.findall(rb"<si\b[^>]*?(?:/>|>(.*?)</si>)", xml, re.DOTALL)
    return ["".join(_plain(t) for t in TEXT.findall(re.sub(rb"<rPh.*?</rPh>", b"", item))) for item in items]


def _date_styles(xml: bytes) -> dict[int, bool]:
    """The cell styles that show a number as a date; True for hours that go beyond 24: [h]:mm."""
    custom = {}
    for match in re.finditer(rb"<numFmt\b([^>]*)>", xml):
        given = attributes(match[1])
        whole = _plain(given.get(b"formatCode", b""))
        code = re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", whole)
        elapsed = ELAPSED.search(whole) is not None
        if elapsed or (re.search(r"[ymdhs]", code, re.IGNORECASE) and "General" not in code):
            custom[int(given[b"numFmtId"])] = elapsed
    block = re.search(rb"<cellXfs\b.*?</cellXfs>", xml, re.DOTALL)
    if block is None:
        return {}
    known = dict.fromkeys(DATES, False) | {46: True} | custom
    formats = [int(attributes(m[1]).get(b"numFmtId", b"0")) for m in re.finditer(rb"<xf\b([^>]*)>", block[0])]
    return {i: known[number] for i, number in enumerate(formats) if number in known}


def _to_csv(
    xml: bytes, shared: list[str], dates: dict[int, bool], from_1904: bool
) -> tuple[bytes, dict[Place, bool], set[int]]:
    rows: dict[int, dict[int, str]] = {}
    formulas: dict[Place, bool] = {}
    switches: set[int] = set()
    width = 1
    for number, match in enumerate(ROW.finditer(xml), 1):
        row = int(attributes(match[1]).get(b"r", b"%d" % number))
        cells = rows.setdefault(row, {})
        at = -1
        for cell in CELL.finditer(match[2] or b""):
            given = attributes(cell[1])
            at = column_index(given[b"r"]) if b"r" in given else at + 1
            inner = cell[2] or b""
            text = _text(given, inner, shared, dates, from_1904)
            if text:
                cells[at] = text
                if given.get(b"t") == b"b":
                    switches.add(at)
            formula = FORMULA.search(inner)
            if formula:
                formulas |= dict.fromkeys(_range(attributes(formula[1])), True)
                formulas[row, at] = bool(text) or given.get(b"t") == b"str"  # a result may be an empty text
            if text or formula:
                width = max(width, at + 1)
    lines = []
    for row in range(1, max(rows, default=0) + 1):
        cells = rows.get(row, {})
        lines.append(",".join(cells.get(j, "") for j in range(width)) if cells else "")
    return ("\n".join(lines) + "\n").encode(), formulas, switches


def _range(formula: dict[bytes, bytes]) -> list[Place]:
    """The cells that one formula fills (A2:B9); only the first of them holds it."""
    if formula.get(b"t") not in (b"array", b"dataTable"):
        return []
    first, _, last = formula.get(b"ref", b"").partition(b":")
    if not first or not last:
        return []
    (top, left), (bottom, right) = (
        (int(re.sub(rb"\D", b"", corner)), column_index(corner)) for corner in (first, last)
    )
    return [(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]


def _text(
    given: dict[bytes, bytes], inner: bytes, shared: list[str], dates: dict[int, bool], from_1904: bool
) -> str:
    kind = given.get(b"t", b"n")
    if kind == b"inlineStr":
        return _quoted("".join(_plain(t) for t in TEXT.findall(inner)))
    found = VALUE.search(inner)
    if found is None or not found[1]:
        return ""
    text = _plain(found[1])
    if kind == b"s":
        return _quoted(shared[int(text)])
    elapsed = dates.get(int(given.get(b"s", b"0"))) if kind == b"n" else None
    if elapsed is not None:
        return _elapsed(float(text)) if elapsed else _date(float(text), from_1904)
    return text if kind == b"n" else _quoted(text)


def _quoted(text: str) -> str:
    text = re.sub(r"[\r\n]+", " ", text)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text


def _elapsed(days: float) -> str:
    """Days as hours, minutes and seconds: 47:15:00."""
    seconds = round(abs(days) * 86_400)
    return f"{'-' * (days < 0)}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _date(serial: float, from_1904: bool) -> str:
    """Days since 1899-12-30 (or 1904-01-01), to the nearest millisecond."""
    begin = np.datetime64("1904-01-01" if from_1904 else "1899-12-30", "ms")
    if 0 <= serial < 1:  # a clock without a day
        return str(begin + np.timedelta64(round(serial * 86_400_000), "ms"))[11:19]
    time = begin + np.timedelta64(round(serial * 86_400_000), "ms")
    return str(time).replace("T", " ").removesuffix(".000")
