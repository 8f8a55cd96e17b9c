"""The network's own spread of every missing cell in a window, as the table is and as it would be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t1.arrays import BoolArray, Float32Array, IntArray
from t1.methods.seasons import season_beside
from t1.methods.t1 import T1Fill, standard_rows
from t1.methods.windows import Relation, guesses
from t1.panel import Panel

WINDOW = 96
GRID = 24  # windows begin at multiples of this, so that candidates near each other share one


@dataclass(eq=False)
class Outlook:
    """One series and one group of columns in standard units, its gaps filled with the network's own fill."""

    fitted: T1Fill
    relation: Relation
    columns: IntArray  # of the table; the first `n_own` are judged here, the others only help
    n_own: int
    first: int  # row of the table at which the series begins
    values: Float32Array  # (rows, columns)
    observed: BoolArray
    season: list[Float32Array]

    @property
    def n_rows(self) -> int:
        return len(self.values)

    def start(self, row: int) -> int:
        """The first row of the window in which a row (of the series) is looked at: about its middle."""
        wanted = GRID * round((row - WINDOW // 2) / GRID)
        return int(np.clip(wanted, 0, self.n_rows - WINDOW))

    def spread(self, starts: IntArray, known: list[tuple[int, int] | None]) -> Float32Array:
        """The spread (windows, time, own) of missing cells, 0 of others, with one more cell known in each window.

        `known` is (row, column) in this view, or None for the table as it is.
        """
        rows = np.asarray(starts)[:, None] + np.arange(WINDOW)
        seen = self.observed[rows]
        for k, cell in enumerate(known):
            if cell is not None:
                seen[k, cell[0] - starts[k], cell[1]] = True
        values = np.where(seen, self.values[rows], 0).astype(np.float32)
        season = [part[rows] for part in self.season]
        _, wide = guesses(self.fitted.network, values, seen, season, self.relation)
        return np.where(seen, 0, wide)[..., : self.n_own]


def outlooks(fitted: T1Fill, panel: Panel) -> list[Outlook]:
    """A view of every series and group of columns; short series are filled up with missing rows."""
    filled = fitted.fill(panel).values
    usual = next((p for p in fitted.periods.values() if p is not None), None)
    found = []
    for key, span in zip(panel.ids, panel.spans, strict=True):
        period = fitted.periods.get(key, usual)
        for group, relation in zip(fitted.groups, fitted.relations, strict=True):
            given = standard_rows(fitted.scaler, panel.values[span], group)
            observed = ~np.isnan(given)
            guess = standard_rows(fitted.scaler, filled[span], group)
            values = np.nan_to_num(np.where(observed, given, guess)).astype(np.float32)
            short = max(0, WINDOW - len(values))
            pad = ((0, short), (0, 0))
            season = season_beside(np.where(observed, given, 0).astype(np.float32), observed, period)
            found.append(
                Outlook(
                    fitted,
                    relation,
                    group.columns,
                    group.n_own,
                    span.start,
                    np.pad(values, pad),
                    np.pad(observed, pad, constant_values=True),  # rows that do not exist are no gaps
                    [np.pad(part, pad) for part in season],
                )
            )
    return found
