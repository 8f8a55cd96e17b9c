"""Which columns to keep: how wrong a column would be, and the others, if it were no longer measured.

Windows of the table are filled once as they are, with some cells hidden, and once without each column: what was
observed says how wrong the network's fill is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Float32Array, IntArray
from t1.methods.windows import guesses
from t1.sense.outlook import WINDOW, Outlook

ROWS = 12_000  # windows times columns times columns that are asked: bounds the time
WINDOWS = (3, 24)  # at least and at most
HIDDEN = 0.2  # share of the other columns' cells that must be foretold


@dataclass(frozen=True)
class ColumnWorth:
    """What would be lost without a column, in units of the columns' deviations."""

    column: int
    itself: float  # the mean error of its cells, foretold from the other columns
    others: float  # by how much the error of the other columns' missing cells would grow, per cell lost

    @property
    def loss(self) -> float:
        return self.itself + max(self.others, 0.0)


def column_worth(found: list[Outlook], rng: Generator) -> list[ColumnWorth]:
    """Every column, from the one to keep first to the one to drop first."""
    worth: dict[int, list[ColumnWorth]] = {}
    for view in found:
        starts = _starts(view, rng)
        known = view.observed[starts[:, None] + np.arange(WINDOW)]
        hidden = known & (rng.random(known.shape) < HIDDEN)
        before = _error(view, starts, hidden, None)
        for j in range(view.n_own):
            after = _error(view, starts, hidden, j)
            grown = np.where(hidden, after - before, 0)
            grown[:, :, j] = 0
            own = known[:, :, j]
            itself = float(after[:, :, j][own].mean()) if own.any() else 0.0
            others = float(grown.sum() / HIDDEN / max(own.sum(), 1))
            worth.setdefault(int(view.columns[j]), []).append(
                ColumnWorth(int(view.columns[j]), itself, others)
            )
    mean = [
        ColumnWorth(c, float(np.mean([w.itself for w in each])), float(np.mean([w.others for w in each])))
        for c, each in worth.items()
    ]
    return sorted(mean, key=lambda w: -w.loss)


def _starts(view: Outlook, rng: Generator) -> IntArray:
    """Windows of which much is known, spread over the series."""
    n = int(np.clip(ROWS // (len(view.columns) * max(view.n_own, 1)), *WINDOWS))
    known = np.convolve(view.observed.sum(axis=1), np.ones(WINDOW), "valid")
    parts = np.array_split(np.arange(len(known)), min(n, len(known)))
    return np.array([part[np.argmax(known[part] + rng.random(len(part)))] for part in parts])


def _error(view: Outlook, starts: IntArray, hidden: BoolArray, without: int | None) -> Float32Array:
    """How wrong each cell (windows, time, columns) is foretold where it is not seen."""
    rows = starts[:, None] + np.arange(WINDOW)
    seen = view.observed[rows] & ~hidden
    season = [part[rows] for part in view.season]
    if without is not None:  # nor are its neighbouring periods known
        seen[:, :, without] = False
        for part in season:
            part[:, :, without] = 0
    values = np.where(seen, view.values[rows], 0).astype(np.float32)
    fill, _ = guesses(view.fitted.network, values, seen, season, view.relation)
    error: Float32Array = np.abs(fill - view.values[rows])
    return error
