"""A table before it is text: heads, cells and notes. `render` makes Markdown, HTML, LaTeX or CSV of it."""

from dataclasses import dataclass

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
    may_win: bool = True  # whether it is compared with others, and bold if it is the lowest


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Lines of cells under heads, with notes below."""

    title: str
    heads: tuple[Head, ...]
    lines: tuple[tuple[Cell, ...], ...]
    blocks: frozenset[int] = frozenset()  # lines that begin a new block, such as another dataset
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(line) != len(self.heads) for line in self.lines):
            raise ValueError(f"a line of the table has another length than its {len(self.heads)} heads")
