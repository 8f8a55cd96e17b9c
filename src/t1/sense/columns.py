"""Which columns to keep: how uncertain a column would be, and the others, if it were no longer measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.sense.outlook import WINDOW, Outlook

ROWS = 12_000  # windows times columns times columns that are asked: bounds the time
WINDOWS = (3, 24)  # at least and at most
HIDDEN = 0.2  # share of the other columns' cells that must be foretold


@dataclass(frozen=True)
class ColumnWorth:
    """What would be lost without a column, in units of the columns' deviations."""

    column: int
    itself: float  # the mean spread of its cells, if they had to be foretold from the other columns
    others: float  # by how much the spread of the other columns' missing cells would grow, per cell lost

    @property
    def loss(self) -> float:
        return self.itself + max(self.others, 0.0)


def column_worth(found: list[Outlook], rng: Generator) -> list[ColumnWorth]:
    """Every column, from the one to keep first to the one to drop first."""
    worth: dict[int, list[ColumnWorth]] = {}
    for view in found:
        n = len(view.columns)
        windows = int(np.clip(ROWS // (n * max(view.n_own, 1)), *WINDOWS))
        known = view.observed.sum(axis=1)
        places = np.arange(0, view.n_rows - WINDOW + 1)
        full = np.convolve(known, np.ones(WINDOW), "valid")
        starts = places[np.argsort(-full + rng.random(len(places)) * n * WINDOW * 0.2, kind="stable")]
        starts = np.sort(starts[:: max(1, len(starts) // (4 * windows))][:windows])
        hidden = rng.random((len(starts), WINDOW, n)) < HIDDEN
        before = _foretold(view, starts, hidden, None)
        for j in range(view.n_own):
            own = view.observed[starts[:, None] + np.arange(WINDOW), j]
            after = _foretold(view, starts, hidden, j)
            others = [c for c in range(n) if c != j]
            scored = hidden[:, :, others]
            grown = float((after - before)[:, :, others][scored].sum())
            lost = max(int(own.sum()), 1)
            itself = float(after[:, :, j][own].mean()) if own.any() else 0.0
            entry = ColumnWorth(int(view.columns[j]), itself, grown / HIDDEN / lost)
            worth.setdefault(entry.column, []).append(entry)
    mean = [
        ColumnWorth(c, float(np.mean([w.itself for w in all_])), float(np.mean([w.others for w in all_])))
        for c, all_ in worth.items()
    ]
    return sorted(mean, key=lambda w: -w.loss)


def _foretold(view: Outlook, starts: np.ndarray, hidden: np.ndarray, without: int | None) -> np.ndarray:
    """The spread (windows, time, columns) of all cells that are missing, hidden or of the column left out."""
    from t1.methods.windows import spreads

    rows = starts[:, None] + np.arange(WINDOW)
    seen = view.observed[rows] & ~hidden
    if without is not None:
        seen[:, :, without] = False
    values = np.where(seen, view.values[rows], 0).astype(np.float32)
    season = [part[rows].copy() for part in view.season]
    if without is not None:  # nor are its neighbouring periods known
        for part in season:
            part[:, :, without] = 0
    wide = spreads(view.fitted.network, values, seen, season, view.relation)
    out: np.ndarray = np.where(seen, 0, wide)
    return out
