"""What a single cell may be, looked at on its own: missing, a number, a date, or text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum

MARKERS = (
    *("NaN", "nan", "NAN", "-NaN", "-nan", "null", "NULL", "None", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaT"),
    *("-", "--", "---", "?", ".", "MM", "M", "ND", "n.a.", "#VALUE!", "#DIV/0!", "#REF!", "#NUM!", "#NAME?"),
    *("unavailable", "unknown", "missing", "none", "Null", "(null)", r"\N", "n/d", "na", "Nan", ":"),
    *("no data", "No Data", "No data", "NO DATA", "nodata", "NoData", "NODATA", "n.d.", "k.A."),
    # ENTSO-E, JMA, Bloomberg, and what the historian PI writes where it has no value
    *("n/e", "N/E", "//", "///", "#N/A N/A", "#N/A Field Not Applicable"),
    *("Bad Input", "Bad Data", "I/O Timeout", "Comm Fail", "Pt Created", "No Sample", "Intf Shut"),
    *("Scan Off", "Scan Timeout", "Not Connect", "Out of Serv", "Calc Failed"),
    *("..", "...", "…", "***", "****", "*****"),
)
MISSING_TEXTS = frozenset({b"", *(marker.encode() for marker in MARKERS)})
NUMBER = re.compile(
    rb"[-+]?[$\xe2\x82\xac\xc2\xa3\xc2\xa5]{0,3} ?[-+]?(\d[\d,.' ]*\d|\d)?[.,]?\d*([eE][-+]?\d+)? ?"
    rb"(%|[$]|\xe2\x82\xac|\xc2\xa3|\xc2\xa5)?"
)
DATE = re.compile(
    rb"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*|/.*)?"  # 2020-01-31, 31.1.20 18:00, 2020-01-01T00:00/...
    rb"|\d{1,2}[:.]\d{2}([:.]\d{2})?([.,]\d+)?( ?[AaPp][Mm]?)?"  # a clock
    rb"|\d{8}[T_:-]\d{2}:?\d{2}.*"
    rb"|\d{1,2}/[A-Za-z]{3}/\d{4}[: ].*|\d{1,2}[A-Za-z]{3}\d{4}([: ].*)?"  # 10/Oct/2000:13:55:36, 01JAN2024:00:00:00
    # Jan 2010, janv. 2010, Jan-10; 2010M01, 2010-Q1, Q1 2010, KW 5/2023
    rb"|(?i:jan|feb|f\xc3\xa9v|fev|mar|m\xc3\xa4r|mrz|mrt|maa|apr|avr|abr|may|mai|mag|mei|jun|jui|jul|giu|lug|aug|ago"
    rb"|ao|sep|set|oct|okt|out|ott|nov|dec|dez|dic|d\xc3\xa9c|ene|gen)[^\W\d_]*\.?[- ]\d{2}(\d{2})?"
    rb"|\d{4}[-: ]?[MQ]\d{1,2}|Q[1-4][- /]?\d{4}|[1-4]Q\d{2}(\d{2})?|\d{4}-?W\d{1,2}|K?W ?\d{1,2}[- /]\d{4}"
    rb"|\d{1,2}[- ][A-Za-z]{3,9}[- ,]+\d{2,4}.*|[A-Za-z]{3,9} \d{1,2},? \d{4}.*|\d{4}-[A-Za-z]{3}-\d{1,2}.*"
)
TOTALS = re.compile(
    rb"(grand |sub-?)?(total|sum|summary|mean|average|avg|min|max|minimum|maximum|median|count|std|summe|mittel\w*"
    rb"|gesamt|moyenne|totaal|totale|media)\b",
    re.IGNORECASE,
)


class CellLook(Enum):
    """What a cell looks like."""

    MISSING = "missing"
    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


def look(cell: bytes, missing: Collection[bytes] = MISSING_TEXTS) -> CellLook:
    """What one cell looks like, quotes and blanks around it aside."""
    bare = cell.strip(b' \t\r"')
    if bare in missing:
        return CellLook.MISSING
    if bare[-1:].isdigit() and bare.replace(b".", b"", 1).lstrip(b"+-").isdigit():
        return CellLook.NUMBER if not re.fullmatch(rb"\d{1,2}\.\d{2}\.\d{2}", bare) else CellLook.DATE
    if DATE.fullmatch(bare):
        return CellLook.DATE
    if any(48 <= byte <= 57 for byte in bare) and NUMBER.fullmatch(bare):
        return CellLook.NUMBER
    return CellLook.TEXT


def usual_looks(lines: Sequence[Sequence[bytes]], missing: Collection[bytes]) -> list[CellLook]:
    """What the columns of some lines of one width mostly look like; MISSING if nothing is there."""
    looks = []
    for column in zip(*lines, strict=True):
        counts = Counter(look(cell, missing) for cell in column)
        counts.pop(CellLook.MISSING, None)
        looks.append(counts.most_common(1)[0][0] if counts else CellLook.MISSING)
    return looks
