"""A table before it is text (heads, cells, notes), and the same as Markdown, HTML, LaTeX or CSV, escaped."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from t1.registry import Registry

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


def _groups(heads: Sequence[Head]) -> list[tuple[str, int]]:
    """The upper line of heads: groups and how many columns each has; empty if there is no group."""
    if not any(head.group for head in heads):
        return []
    return [(name, len(list(each))) for name, each in groupby(heads, key=lambda head: head.group)]


CSS = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; padding: 0 1rem; max-width: 75rem;
  background: Canvas; color: CanvasText; }
h1 { font-size: 1.3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .25rem .6rem; text-align: right; }
th.words, td.words { text-align: left; }
thead th.group { text-align: left; white-space: normal; vertical-align: bottom;
  border-left: 1px solid var(--line); }
tr.block td { border-top: 1px solid var(--line); }
th:first-child, td.words:first-child { position: sticky; left: 0; background: Canvas; }
tbody tr:hover { background: var(--soft); }
.notes { font-size: .875rem; overflow-wrap: anywhere; padding-left: 1.2rem; }
""".strip()


@FORMATS.add("html")
def html(sheet: Sheet) -> str:
    """A page of its own that needs nothing else; a wide table scrolls sideways."""
    heads = ""
    if groups := _groups(sheet.heads):
        above = [
            f'<th class="group" colspan="{n}" scope="colgroup">{escape(name)}</th>'
            if name
            else f'<td colspan="{n}"></td>'
            for name, n in groups
        ]
        heads = f"<tr>{''.join(above)}</tr>\n"
    below = [f'<th scope="col"{_words(head)}>{escape(head.text)}</th>' for head in sheet.heads]
    lines = []
    for number, line in enumerate(sheet.lines):
        cells = [
            f"<td{_words(head)}>{_html(cell)}</td>" for head, cell in zip(sheet.heads, line, strict=True)
        ]
        begins = ' class="block"' if number in sheet.blocks else ""
        lines.append(f"<tr{begins}>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in sheet.notes)
    notes = f'<ul class="notes">\n{notes}</ul>\n' if notes else ""
    body = "\n".join(lines)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(sheet.title)}</title>
<style>
{CSS}
</style>
</head>
<body>
<h1>{escape(sheet.title)}</h1>
<div class="scroll" tabindex="0" role="region" aria-label="{escape(sheet.title)}">
<table>
<thead>
{heads}<tr>{"".join(below)}</tr>
</thead>
<tbody>
{body}
</tbody>
</table>
</div>
{notes}</body>
</html>"""


def _words(head: Head) -> str:
    return ' class="words"' if head.words else ""


def _html(cell: Cell) -> str:
    return f"<strong>{escape(cell.text)}</strong>" if cell.bold else escape(cell.text)


TEX = {char: f"\\{char}" for char in "&%$#_{}"}
TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''"}
TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
TEX |= {"[": "{[}", "*": "{*}"}  # after \\ they would be its options
TEX |= {"–": "--", "−": "$-$", "±": r"$\pm$", "†": r"$^{\dagger}$", "·": r"$\cdot$"}


@FORMATS.add("latex")
def latex(sheet: Sheet) -> str:
    """A floating table; needs the package booktabs, and says so."""
    text = [r"% in the preamble: \usepackage{booktabs}", r"\begin{table}", r"\centering", r"\small"]
    text += [rf"\caption{{{_tex(sheet.title)}}}", r"\setlength{\tabcolsep}{4pt}"]
    text += [rf"\begin{{tabular}}{{{''.join('l' if h.words else 'r' for h in sheet.heads)}}}", r"\toprule"]
    if groups := _groups(sheet.heads):
        text.append(" & ".join(rf"\multicolumn{{{n}}}{{c}}{{{_tex(name)}}}" for name, n in groups) + r" \\")
        begin, rules = 1, []
        for name, n in groups:
            rules += [rf"\cmidrule(lr){{{begin}-{begin + n - 1}}}"] * bool(name)
            begin += n
        text.append(" ".join(rules))
    text += [" & ".join(_tex(head.text) for head in sheet.heads) + r" \\", r"\midrule"]
    for number, line in enumerate(sheet.lines):
        text += [r"\addlinespace"] * (number in sheet.blocks and number > 0)
        cells = [rf"\textbf{{{_tex(cell.text)}}}" if cell.bold else _tex(cell.text) for cell in line]
        text.append(" & ".join(cells) + r" \\")
    text += [r"\bottomrule", r"\end{tabular}"]
    if sheet.notes:
        text += ["", r"\medskip", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
        text += [_tex(note) + r"\par" for note in sheet.notes] + [r"\end{minipage}"]
    return "\n".join([*text, r"\end{table}"])


def _tex(text: str) -> str:
    return "".join(TEX.get(char, char) for char in " ".join(text.split()))


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
