"""A table before it is text (heads, cells, notes), and the same as Markdown, HTML, LaTeX or CSV, escaped."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from t1.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

DASH = "–"  # has not run, or was not published
MARK = "†"  # a budget ended the run before the protocol did


@dataclass(frozen=True)
class Head:
    """The head of a column; neighbours with the same group stand under its name."""

    text: str
    group: str = ""
    name: str = ""  # in CSV, where every head stands alone
    words: bool = False  # the column holds words, not numbers

    @property
    def alone(self) -> str:
        """What the column is called where there is only one line of heads."""
        return f"{self.group} {self.text}".strip()


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and for machines its number in full."""

    text: str
    number: float | None = None
    std: float | None = None
    how_far: str = ""  # for machines too, where the text has only a mark
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Lines of cells under heads, with notes below."""

    title: str
    heads: tuple[Head, ...]
    lines: tuple[tuple[Cell, ...], ...]
    blocks: frozenset[int] = frozenset()  # lines that begin a new block, such as another dataset
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(line) != len(self.heads) for line in self.lines):
            raise ValueError(f"a line of the table has another length than its {len(self.heads)} heads")


FORMATS: Registry[Callable[[Sheet], str]] = Registry("format")


def render(sheet: Sheet, format: str) -> str:
    """The sheet as text, without a line end after it: "md", "html", "latex" or "csv"."""
    return FORMATS[format](sheet)


@FORMATS.add("md")
def markdown(sheet: Sheet) -> str:
    """A heading, a table with aligned columns, the notes as a list."""
    rows = [[_md(head.alone) for head in sheet.heads]]
    rows += [[f"**{_md(c.text)}**" if c.bold else _md(c.text) for c in line] for line in sheet.lines]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = [
        "-" * width if head.words else "-" * (width - 1) + ":"
        for head, width in zip(sheet.heads, widths, strict=True)
    ]
    text = [f"## {_md(sheet.title)}", ""]
    for row in (rows[0], rule, *rows[1:]):
        cells = [
            cell.ljust(width) if head.words else cell.rjust(width)
            for cell, head, width in zip(row, sheet.heads, widths, strict=True)
        ]
        text.append(f"| {' | '.join(cells)} |")
    text += [""] * bool(sheet.notes) + [f"- {_md(note)}" for note in sheet.notes]
    return "\n".join(text)


def _md(text: str) -> str:
    return re.sub(r"([\\`*_<\[\]|&~$])", r"\\\1", " ".join(text.split()))


def _frame(sheet: Sheet, escaped: Callable[[str], str], bold: str) -> pd.DataFrame:
    """The texts of the cells under their heads, which have two lines if there are groups."""
    import pandas as pd

    frame = pd.DataFrame(
        [
            [bold.format(escaped(cell.text)) if cell.bold else escaped(cell.text) for cell in line]
            for line in sheet.lines
        ],
        columns=range(len(sheet.heads)),
    )
    heads = [(escaped(head.group), escaped(head.text)) for head in sheet.heads]
    grouped = any(group for group, _ in heads)
    frame.columns = pd.MultiIndex.from_tuples(heads) if grouped else pd.Index([name for _, name in heads])
    return frame


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8886; --soft: #8881; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; padding: 0 1rem; max-width: 75rem;
  background: Canvas; color: CanvasText; }}
h1 {{ font-size: 1.3rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th, td {{ padding: .25rem .6rem; text-align: right; }}
th[colspan]:not(:first-child) {{ text-align: left; border-left: 1px solid var(--line); }}
td:first-child {{ position: sticky; left: 0; background: Canvas; }}
tbody tr:hover {{ background: var(--soft); }}
.notes {{ font-size: .875rem; overflow-wrap: anywhere; padding-left: 1.2rem; }}
{rules}
</style>
</head>
<body>
<h1>{title}</h1>
<div class="scroll" tabindex="0" role="region" aria-label="{title}">
{table}
</div>
{notes}</body>
</html>"""


@FORMATS.add("html")
def html(sheet: Sheet) -> str:
    """A page of its own that needs nothing else; a wide table scrolls sideways."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        table = _frame(sheet, escape, "<strong>{}</strong>").to_html(index=False, escape=False, border=0)
    words = [i for i, head in enumerate(sheet.heads, start=1) if head.words]
    rules = [f"td:nth-child({i}), tr:last-child > th:nth-child({i}) {{ text-align: left; }}" for i in words]
    rules += [
        f"tbody tr:nth-child({i + 1}) td {{ border-top: 1px solid var(--line); }}" for i in sheet.blocks
    ]
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in sheet.notes)
    notes = f'<ul class="notes">\n{notes}</ul>\n' if notes else ""
    return PAGE.format(title=escape(sheet.title), rules="\n".join(sorted(rules)), table=table, notes=notes)


TEX = {char: f"\\{char}" for char in "&%$#_{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''"}
TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
TEX |= {"[": "{[}", "*": "{*}"}  # after \\ they would be its options
TEX |= {"–": "--", "−": "$-$", "±": r"$\pm$", "†": r"$^{\dagger}$", "·": r"$\cdot$"}


def _tex(text: str) -> str:
    return "".join(TEX.get(char, char) for char in " ".join(text.split()))


@FORMATS.add("latex")
def latex(sheet: Sheet) -> str:
    """A floating table; needs the package booktabs, and says so."""
    columns = "".join("l" if head.words else "r" for head in sheet.heads)
    table = _frame(sheet, _tex, r"\textbf{{{}}}").to_latex(
        index=False, escape=False, column_format=columns, multicolumn_format="c", caption=_tex(sheet.title)
    )
    begin, *text, end = table.strip().splitlines()
    first = text.index(r"\midrule") + 1
    for number in sorted(sheet.blocks - {0}, reverse=True):
        text.insert(first + number, r"\addlinespace")
    if sheet.notes:
        text += ["", r"\medskip", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
        text += [_tex(note) + r"\par" for note in sheet.notes] + [r"\end{minipage}"]
    small = [r"\centering", r"\small", r"\setlength{\tabcolsep}{4pt}"]
    return "\n".join([r"% in the preamble: \usepackage{booktabs}", begin, *small, *text, end])


@FORMATS.add("csv")
def comma_separated(sheet: Sheet) -> str:
    """Numbers in full, nothing for a dash; deviations, and how far a run came, in columns of their own."""
    columns = []
    for place, head in enumerate(sheet.heads):
        cells, name = [line[place] for line in sheet.lines], head.name or head.alone
        columns.append([name, *(_machine(cell) for cell in cells)])
        if any(cell.std is not None for cell in cells):
            columns.append([f"{name} std", *("" if c.std is None else repr(c.std) for c in cells)])
        if any(cell.how_far for cell in cells) and not any(h.text == "how far" for h in sheet.heads):
            columns.append([f"{name} how far", *(cell.how_far for cell in cells)])
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(zip(*columns, strict=True))
    return stream.getvalue().removesuffix("\n")


def _machine(cell: Cell) -> str:
    if cell.number is not None:
        return repr(cell.number)
    return "" if cell.text == DASH else cell.text
