"""`fitted.sense(table, budget=20)`: cells to measure, and columns to keep or drop, in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.fill.circle import unwind
from t1.fill.judged import JudgedFill
from t1.methods.t1 import TUNED, T1Fill
from t1.panel import Panel
from t1.sense.cells import choose_cells
from t1.sense.columns import column_worth
from t1.sense.outlook import outlooks


@dataclass(frozen=True, eq=False)
class Sensing:
    """Where to measure: `cells` best first, `columns` from the one to keep first to the one to drop first."""

    cells: pd.DataFrame  # rank, row (of the panel), column, time and series if known, share of all spread
    columns: pd.DataFrame  # rank, column, loss = itself + others: see `ColumnWorth`

    def to_text(self) -> str:
        """Both tables for a terminal."""
        cells = self.cells.drop(columns="row") if "time" in self.cells else self.cells
        shown = [
            f"{len(self.cells)} cells to measure, best first; lowers: of the spread of all other missing cells"
        ]
        formats = {"lowers": lambda x: f"{x:.2%}"}
        shown.append(
            cells.to_string(index=False, formatters=formats) if len(cells) else "  nothing is missing"
        )
        shown.append("\ncolumns, from the one to keep first to the one to drop first; errors in deviations")
        shown.append(self.columns.to_string(index=False, float_format="{:.3f}".format))
        return "\n".join(shown)


def sense_panel(
    judged: JudgedFill, panel: Panel, *, budget: int = 20, allowed: BoolArray | None = None, seed: int = 102
) -> Sensing:
    """Rank the missing cells of a panel and its columns; `allowed` (rows, vars): where measuring is possible."""
    if not isinstance(budget, int) or budget < 1:
        raise InputError(
            f"a budget is a whole number of cells, got {budget!r}", cure="Give 20.", option="budget"
        )
    t1s = [m for m in judged.methods if isinstance(m, T1Fill) and m.name in (T1Fill.name, TUNED)]
    if not t1s:
        raise InputError(
            "the fill has no T1, whose intervals say where to measure", cure="Fit without choosing a method."
        )
    if allowed is None:
        allowed = np.ones(panel.values.shape, dtype=bool)
    found = outlooks(t1s[-1], unwind(panel, judged.circles, judged.centres))
    worth = column_worth(found, np.random.default_rng(seed))
    chosen = choose_cells(found, budget, allowed)
    cells = pd.DataFrame(
        {
            "rank": np.arange(1, len(chosen) + 1),
            "row": [c.row for c in chosen],
            "column": [panel.columns[c.column] for c in chosen],
            "lowers": [c.share for c in chosen],
        }
    )
    at = cells["row"].to_numpy(dtype=np.intp)
    if len(panel.starts) > 1:
        series = np.searchsorted(panel.starts, at, side="right") - 1
        cells.insert(2, "series", [panel.ids[s] for s in series.tolist()])
    if panel.times is not None:
        cells.insert(2, "time", panel.times[at])
    columns = pd.DataFrame(
        {
            "rank": np.arange(1, len(worth) + 1),
            "column": [panel.columns[w.column] for w in worth],
            "loss": [w.loss for w in worth],
            "itself": [w.itself for w in worth],
            "others": [w.others for w in worth],
        }
    )
    return Sensing(cells, columns)
