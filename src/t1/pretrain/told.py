"""Stretches of tables in which a regression has told every cell, as it does when T1 fills a table.

The regression is learned from the stretch as it is seen, with gaps everywhere; many windows are cut from each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Float32Array
from t1.data.context import explained, relate
from t1.methods.regression import learn_regression
from t1.methods.seasons import season_beside
from t1.pretrain.corpus import CorpusTable
from t1.pretrain.masks import draw_gaps
from t1.pretrain.window import SURROUNDINGS, change_variables, draw_columns, draw_period, draw_stride, gather

STEPS = 1024  # of a stretch at most, if its table has as many
FEWEST_STEPS = 160  # of a stretch at least
FULL = (0.4, 1.0)  # share of a stretch's windows that have gaps of their own


@dataclass(frozen=True, eq=False)
class ToldStretch:
    """The truth (steps, vars), which of it is hidden, and what a table knows when it is filled."""

    values: Float32Array  # NaN where missing
    hidden: BoolArray  # observed, but hidden from the network
    season: Float32Array  # (4, steps, vars): the neighbouring periods and their weights
    said: Float32Array  # what the regression says of every cell
    relation: tuple[Float32Array, ...]  # weights (vars, vars), intercept (vars,) and trust (vars,)

    def window(self, rng: Generator, size: int) -> slice:
        """The steps of a window, with a hidden cell in it if there is one."""
        begin = int(rng.integers(0, len(self.values) - size + 1))
        for _ in range(8):
            if self.hidden[begin : begin + size].any():
                break
            begin = int(rng.integers(0, len(self.values) - size + 1))
        return slice(begin, begin + size)


def draw_stretch(rng: Generator, table: CorpusTable, window: int, n_vars: int) -> ToldStretch:
    """Some columns of a table at some rate, perhaps mixed, flipped or reversed, with gaps, told by a regression."""
    columns = draw_columns(rng, table.n_vars, n_vars)
    first, last, stride = draw_stride(rng, table, window)
    n_steps = min(int(np.exp(rng.uniform(np.log(FEWEST_STEPS), np.log(STEPS)))), (last - first) // stride)
    n_steps = max(n_steps, window)
    start = first + int(rng.integers(0, max(1, last - first - stride * n_steps + 1)))
    block = stride if stride > 1 and rng.random() < 0.5 else 1
    period = round(draw_period(rng, table.period, stride) / stride) or None
    cells = gather(table.values, start + stride * np.arange(n_steps), block, columns, first, last)
    values = change_variables(rng, cells)
    if rng.random() < 0.3:
        values = values[::-1]
    hidden = _gaps(rng, n_steps, window, n_vars) & np.isfinite(values)
    seen = np.where(hidden, np.nan, values)
    with np.errstate(all="ignore"):
        told = learn_regression(seen.astype(np.float64), period, every=True).told(seen.astype(np.float64))
    weights, intercept, _ = relate(seen[None, :SURROUNDINGS])
    known = np.isfinite(seen)
    return ToldStretch(
        values=values,
        hidden=hidden,
        season=np.stack(season_beside(np.where(known, seen, 0).astype(np.float32), known, period)),
        said=np.nan_to_num(told, posinf=0.0, neginf=0.0).astype(np.float32),
        relation=(weights[0], intercept[0], explained(seen, told).astype(np.float32)),
    )


def _gaps(rng: Generator, n_steps: int, window: int, n_vars: int) -> BoolArray:
    """Gaps of all kinds, drawn window by window, in some of them."""
    full = rng.uniform(*FULL)
    n_windows = -(-n_steps // window)
    parts = [
        draw_gaps(rng, window, n_vars).hidden
        if rng.random() < full
        else np.zeros((window, n_vars), dtype=bool)
        for _ in range(n_windows)
    ]
    if not any(part.any() for part in parts):
        parts[0] = draw_gaps(rng, window, n_vars).hidden
    hidden: BoolArray = np.concatenate(parts)[:n_steps]
    return hidden
