"""What a fill was taken from: as tables, in words, as plain values and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """One filled cell: its fill, and what the fill would be without a column, a stretch, or both."""

    column: str
    row: int  # of the panel
    series: Any  # the id of the series, None if there is only one
    time: np.datetime64 | None
    value: float  # the fill, before any rule such as a bound or whole numbers
    method: str  # that filled it, or the blend
    gap: int  # length of the run of missing cells that it lies in
    spread: float  # standard deviation of the column's observed values
    columns: (
        pd.DataFrame
    )  # column, around (rows of the gap), without, moved, attention; the most important first
    stretches: pd.DataFrame  # first, last (rows from the cell, negative: before), start, end, without, moved
    cells: pd.DataFrame  # column, first, last, moved
    around: pd.DataFrame = field(repr=False)  # the rows looked at: row, time, observed, filled

    @property
    def table(self) -> pd.DataFrame:
        """Columns and stretches in one table, each with how far the fill moves without it."""
        by_column = self.columns.assign(hidden="column", what=self.columns["column"])
        by_stretch = self.stretches.assign(hidden="stretch", what=[_words(*p) for p in self._ends])
        names = ["hidden", "what", "without", "moved", "attention"]
        both = pd.concat([by_column, by_stretch], ignore_index=True).reindex(columns=names)
        return both.assign(deviations=both["moved"] / self.spread)

    @property
    def where(self) -> str:
        """The time stamp, or the row."""
        return f"row {self.row}" if self.time is None else str(self.time.astype("M8[s]")).replace("T", " ")

    @property
    def _ends(self) -> list[tuple[int, int]]:
        return list(zip(self.stretches["first"].tolist(), self.stretches["last"].tolist(), strict=True))

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The table in words."""
        of = "" if self.series is None else f" of {self.series}"
        lines = [
            f"{self.column}{of} at {self.where}: filled with {self.value:.6g} by {self.method}, in a gap of "
            f"{self.gap} row{'s' * (self.gap != 1)}",
            "",
            f"{'without the column nearby':<28}{'the fill is':>14}{'moved by':>14}{'T1 looked':>12}",
        ]
        for name, _, without, moved, seen in self.columns.itertuples(index=False):
            looked = "–" if np.isnan(seen) else f"{100 * seen:.0f} %"
            lines.append(f"{_short(name):<28}{without:>14.6g}{moved:>+14.3g}{looked:>12}")
        lines += ["", f"{'without the rows':<28}{'the fill is':>14}{'moved by':>14}"]
        for (first, last), without, moved in zip(
            self._ends, self.stretches["without"], self.stretches["moved"], strict=True
        ):
            lines.append(f"{_words(first, last):<28}{without:>14.6g}{moved:>+14.3g}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        frames = {name: getattr(self, name) for name in ("columns", "stretches", "cells")}
        return {
            **{name: getattr(self, name) for name in ("column", "row", "series", "method", "gap")},
            "time": None if self.time is None else str(self.time.astype("M8[s]")),
            "value": float(self.value),
            "spread": float(self.spread),
            **{name: _plain(frame) for name, frame in frames.items()},
        }

    def picture(self, path: str | Path) -> None:
        """Draw it to a .svg, .png or .pdf file; needs matplotlib."""
        from t1.fill.explain_picture import draw

        draw(self, path)


def _words(first: int, last: int) -> str:
    """ "the same row", "1 to 3 before", "65 to 144 after"."""
    if first == last == 0:
        return "the same row"
    near, far = sorted((abs(first), abs(last)))
    side = "before" if last < 0 else "after"
    return f"{near} {side}" if near == far else f"{near} to {far} {side}"


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    lines = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {str(k): str(v) if isinstance(v, np.datetime64 | pd.Timestamp) else v for k, v in line.items()}
        for line in lines
    ]
