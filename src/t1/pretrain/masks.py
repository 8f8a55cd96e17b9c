"""Which cells of a training window are hidden: every kind of gap that a fill will meet."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, FloatArray


class Holes(NamedTuple):
    """The hidden cells, and the share that is missing around the window."""

    hidden: BoolArray  # (time, vars)
    around: FloatArray  # (vars,): the chance that a cell of a neighbouring period is missing as well


def draw_gaps(rng: Generator, window: int, n_vars: int) -> Holes:
    """8 %: a whole variable. 12 %: all variables for a while. Else points, runs, or both."""
    hidden = np.zeros((window, n_vars), dtype=bool)
    around = np.zeros(n_vars)
    kind = rng.random()
    if kind < 0.08:
        j = int(rng.integers(n_vars))
        hidden[:, j] = True
        around[j] = rng.integers(2)  # its past and future are known, or nothing at all
        if rng.random() < 0.5:
            hidden |= rng.random(hidden.shape) < rng.uniform(0.03, 0.4)
    elif kind < 0.20:
        length = int(rng.integers(1, max(2, round(0.43 * window))))
        start = int(rng.integers(0, window - length + 1))
        hidden[start : start + length] = True
    else:
        what = rng.choice(["points", "runs", "both"], p=[0.4, 0.35, 0.25])
        if what != "runs":
            rate = rng.uniform(0.03, 0.8) if rng.random() < 0.7 else rng.uniform(0.03, 0.2)
            rate *= 0.6 if what == "both" else 1
            hidden |= rng.random(hidden.shape) < rate
            around[:] = rate
        if what != "points":
            _add_runs(rng, hidden)
    return Holes(hidden, around)


def _add_runs(rng: Generator, hidden: BoolArray) -> None:
    """One or two runs of 2 to 70 % of the window in 60 % of the variables; they may reach beyond its ends."""
    window, n_vars = hidden.shape
    chosen = np.flatnonzero(rng.random(n_vars) < 0.6) if n_vars > 1 else np.array([0])
    for j in chosen:
        for _ in range(int(rng.integers(1, 3))):
            length = int(np.exp(rng.uniform(np.log(2), np.log(0.73 * window))))
            start = int(rng.integers(-length // 2, window - length // 2))
            hidden[max(start, 0) : start + length, j] = True
