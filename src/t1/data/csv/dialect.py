"""How a text table is written: what separates its cells, and its decimal sign."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from t1.data.csv.cells import CellLook, look

SEPARATORS = (b",", b";", b"\t", b"|")
BLANKS = b" "  # cells are separated by runs of blanks and tabs


def split(line: bytes, separator: bytes) -> list[bytes]:
    """The cells of a line; a separator inside quotes separates nothing."""
    if separator == BLANKS:
        if b'"' not in line:
            return line.split()
        return re.findall(rb'"[^"]*"\S*|\S+', line)
    pieces = line.split(separator)
    if b'"' not in line:
        return pieces
    whole: list[bytes] = []
    for piece in pieces:
        if whole and whole[-1].count(b'"') % 2:
            whole[-1] += separator + piece
        else:
            whole.append(piece)
    return whole


def find_separator(lines: Sequence[bytes], *, prefer_tab: bool = False) -> bytes:
    """The separator that gives most lines the same number of cells, and rather more than fewer.

    Of two that do so the one that also divides the names: `time;x` above `2020-01-01 00:00:00,500;1.5`.

    White space separates only where nothing else does: `2020-01-01 00:00,5` has a comma.
    """
    if prefer_tab and lines and b"\t" in lines[-1]:
        return b"\t"
    best, best_score = b",", (0.0, 0, 0)
    for separator in SEPARATORS:
        score = _score(lines, separator)
        if score > best_score:
            best, best_score = separator, score
    share, width, _ = _score(lines, BLANKS)
    if width > 1 and share >= 0.8 and (best_score[0] < 0.8 or _decimal_commas(lines, best)):
        return BLANKS
    return best


def usual_width(lines: Sequence[bytes], separator: bytes) -> int:
    """How many cells most lines have; of two numbers as frequent, the larger."""
    counts = Counter(len(split(line, separator)) for line in lines)
    return max(counts, key=lambda width: (counts[width], width)) if counts else 1


def _score(lines: Sequence[bytes], separator: bytes) -> tuple[float, int, int]:
    """The share of lines with the usual number of cells, that number, and how many lines those are."""
    width = usual_width(lines, separator)
    if width < 2:
        return 0.0, 0, 0
    same = sum(len(split(line, separator)) == width for line in lines)
    return round(same / len(lines), 1), width, same


def _decimal_commas(lines: Sequence[bytes], separator: bytes) -> bool:
    """Whether commas only stand inside numbers between blanks, as in `1,5  2,5`."""
    if separator != b"," or _divides_names(lines):
        return False
    cells = [cell for line in lines[1:] for cell in split(line, BLANKS)]
    inner = sum(bool(re.fullmatch(rb"[-+]?\d*,\d+", cell)) for cell in cells)
    good = sum(look(cell) is not CellLook.TEXT and not cell.endswith(b",") for cell in cells)
    return inner > 0 and 0.9 * len(cells) <= good


def _divides_names(lines: Sequence[bytes]) -> bool:
    """Whether the first line is names with as many commas as the others have: those separate."""
    names = split(lines[0], b",")
    texts = sum(look(name) is CellLook.TEXT for name in names)
    return len(names) == usual_width(lines[1:], b",") > 1 and texts == len(names)


def find_decimal(raw: bytes, separator: bytes, start: int = 0) -> bytes:
    """A comma if numbers are written with it: `1,5` between other separators, or `"1,5"` between commas."""
    stop = rb"\s" if separator == BLANKS else re.escape(separator)
    end = rb'(?=[" ]*(?:[%s\r\n\0]|\Z))' % stop
    begin = rb"(?:^|[%s\n])" % stop
    if separator == b",":
        quoted = [m.group(1) for m in islice(re.compile(rb'"[-+]?\d*,(\d+)"').finditer(raw, start), 1000)]
        if all(len(fraction) == 3 for fraction in quoted):  # none, or thousands
            return b"."
        points = re.compile(begin + rb'[" ]*[-+]?\d*\.\d+' + end)
        return b"." if points.search(raw, start) else b","
    if raw.find(b",", start) < 0:
        return b"."
    count = {}
    for sign in (b".", b","):
        number = re.compile(begin + rb'[" ]*[-+]?\d*' + re.escape(sign) + rb"\d+(?:[eE][-+]?\d+)?" + end)
        count[sign] = sum(1 for _ in islice(number.finditer(raw, start), 1000))
    return b"," if count[b","] > count[b"."] else b"."
