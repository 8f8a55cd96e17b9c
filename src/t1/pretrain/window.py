"""One training window, cut from a table in a way that makes many tables of one."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.pretrain.corpus import CorpusTable
from t1.pretrain.masks import draw_gaps

STRIDES = range(2, 7)  # rows from one step of the window to the next, where it is not 1
SURROUNDINGS = 384  # steps in which the relation of the variables is looked for


@dataclass(frozen=True)
class Window:
    """A window and what is known around it, NaN where missing."""

    values: Float32Array  # (time, vars): the truth
    hidden: BoolArray  # (time, vars): observed, but hidden from the network
    around: Float32Array  # (4, time, vars): one and two periods before, one and two after
    surroundings: Float32Array  # (SURROUNDINGS, vars); without what is hidden


def draw_window(rng: Generator, table: CorpusTable, window: int, n_vars: int) -> Window:
    """Some columns at some rate, perhaps mixed, flipped or reversed, with gaps."""
    columns = draw_columns(rng, table.n_vars, n_vars)
    first, last, stride = draw_stride(rng, table, window)
    start = first + int(rng.integers(0, max(1, last - first - stride * window + 1)))
    block = stride if stride > 1 and rng.random() < 0.5 else 1  # a step is the mean of its rows, or the first
    period = draw_period(rng, table.period, stride)
    shifts = [0, -period, -2 * period, period, 2 * period] if period else [0]
    rows = start + stride * np.arange(window) + np.array(shifts)[:, None]  # (shifts, window)
    cut = np.full((5, window, n_vars), np.nan, dtype=np.float32)
    cut[: len(shifts)] = gather(table.values, rows, block, columns, first, last)
    nearby = _surroundings(rng, start, stride, window, first, last) if n_vars > 1 else np.empty(0, np.intp)
    related = np.full((SURROUNDINGS, n_vars), np.nan, dtype=np.float32)
    related[: len(nearby)] = table.values[np.ix_(nearby, columns)]

    change = _change(rng, n_vars)
    cut, related = _apply(change, cut), _apply(change, related)
    gaps = draw_gaps(rng, window, n_vars)
    around = cut[1:]
    around[rng.random(around.shape) < gaps.around] = np.nan
    for i, shift in enumerate(shifts[1:]):
        _hide(around[i], gaps.hidden, np.arange(window, dtype=np.float64) + shift / stride)
    _hide(related[: len(nearby)], gaps.hidden, (nearby - start) / stride)
    if rng.random() < 0.5:  # as much is missing around the window as in it
        related[rng.random(related.shape) < gaps.hidden.mean(0)] = np.nan
    values, hidden = cut[0], gaps.hidden & np.isfinite(cut[0])
    if rng.random() < 0.3:
        values, hidden, around = values[::-1], hidden[::-1], around[[2, 3, 0, 1], ::-1]
    return Window(values, hidden, around, related)


def draw_stride(rng: Generator, table: CorpusTable, window: int) -> tuple[int, int, int]:
    """The first row of a series, the row after its last, and how many rows there are from step to step."""
    lengths = np.array([b - a for a, b in table.spans], dtype=np.float64)
    first, last = table.spans[rng.choice(len(lengths), p=lengths / lengths.sum())]
    stride = 1 if rng.random() < 0.55 else int(rng.choice(STRIDES))
    return first, last, max(1, min(stride, (last - first) // window))


def draw_columns(rng: Generator, n_all: int, n: int) -> IntArray:
    """Columns at random, or in 30 % neighbouring ones, which are often of one kind."""
    if n_all > n and rng.random() < 0.3:
        start = int(rng.integers(0, n_all - n + 1))
        return np.arange(start, start + n)
    return rng.choice(n_all, n, replace=False)


def draw_period(rng: Generator, period: int | None, stride: int) -> int:
    """The table's period, at times none or a wrong one, at least one and a half steps of the window long."""
    if period and rng.random() < 0.12:
        return 0
    if not period and rng.random() < 0.25:
        period = int(np.exp(rng.uniform(np.log(5), np.log(200))))
    if not period:
        return 0
    return period * (1 + 3 * stride // (2 * period)) if 2 * period < 3 * stride else period


def gather(
    values: Float32Array, rows: IntArray, block: int, columns: IntArray, first: int, last: int
) -> Float32Array:
    """Means of `block` rows from each of `rows` on, NaN if one is missing or beyond the series."""
    each = rows[..., None] + np.arange(block)
    inside = (each >= first) & (each < last)
    cells = values[np.clip(each, first, last - 1)[..., None], columns]
    cells[~inside] = np.nan
    means: Float32Array = cells[..., 0, :] if block == 1 else cells.mean(-2)
    return means


def _surroundings(rng: Generator, start: int, stride: int, window: int, first: int, last: int) -> IntArray:
    """Rows around the window, as far apart as its steps; in 10 % none."""
    if rng.random() < 0.1:
        return np.empty(0, np.intp)
    n = SURROUNDINGS if rng.random() < 0.7 else int(rng.integers(window + window // 4, SURROUNDINGS))
    begin = max(first, min(start - stride * ((n - window) // 2), last - stride * n))
    rows = begin + stride * np.arange(n)
    return rows[rows < last]


def _change(rng: Generator, n_vars: int) -> Float32Array:
    """Flips the sign of 30 % of the variables, and in 25 % of the windows mixes them a little."""
    change = np.eye(n_vars)
    if n_vars > 1 and rng.random() < 0.25:
        few = rng.random((n_vars, n_vars)) < 0.3
        change += rng.normal(size=(n_vars, n_vars)) * few * rng.uniform(0.1, 1)
    return (change * np.where(rng.random(n_vars) < 0.3, -1, 1)).astype(np.float32)


def change_variables(rng: Generator, cells: Float32Array) -> Float32Array:
    """Cells (..., vars) with some variables flipped or mixed; missing where one that takes part is missing."""
    return _apply(_change(rng, cells.shape[-1]), cells)


def _apply(change: Float32Array, cells: Float32Array) -> Float32Array:
    """The changed variables; missing where one that takes part is missing."""
    seen = np.isfinite(cells)
    out = np.where(seen, cells, 0) @ change
    if not seen.all():
        out[(~seen).astype(np.float32) @ (change != 0).astype(np.float32) > 0] = np.nan
    return out


def _hide(cells: Float32Array, hidden: BoolArray, steps: FloatArray) -> None:
    """Cells (n, vars) at steps of the window, or between two of them, must not show what is hidden."""
    for at in (np.floor(steps), np.ceil(steps)):
        inside = (at >= 0) & (at < len(hidden))
        cells[inside] = np.where(hidden[at[inside].astype(np.intp)], np.nan, cells[inside])
