"""A table: a few factors, mixed into columns that depend on each other, each recorded by its own sensor."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.signal import lfilter

from t1.arrays import FloatArray
from t1.errors import InputError
from t1.synthetic.factors import FACTORS, autoregressive, walk
from t1.synthetic.kinds import log_uniform, standardise
from t1.synthetic.sensors import SENSORS

PERIODS = (7, 12, 24, 24, 48, 52, 96, 144, 168, 288)  # of calendars; as many tables have another one
MOST_LAG = 24  # rows by which a column may be behind the factors


@dataclass(frozen=True)
class SyntheticTable:
    """Columns of mean 0 and deviation 1 (a constant is 0), nothing missing."""

    values: npt.NDArray[np.float32]  # (rows, columns)
    period: int | None  # the rows after which seasons repeat, None without one


def draw_table(rng: Generator, n_rows: int = 1024, n_columns: int = 16) -> SyntheticTable:
    """A table from the prior that the pretrained T1 learns from; equal generators draw equal tables.

    >>> table = draw_table(np.random.default_rng(11), n_rows=500, n_columns=3)
    >>> table.values.shape, table.values.dtype, table.period
    ((500, 3), dtype('float32'), 52)
    """
    for name, given in (("n_rows", n_rows), ("n_columns", n_columns)):
        if given < 1:
            raise InputError(f"{name} is {given}", cure="Draw at least 1.", option=name)
    period = _draw_period(rng)
    factors = _draw_factors(rng, n_rows + MOST_LAG, period)
    noise = log_uniform(rng, 0.003, 1.0)
    columns = [_mix(rng, factors, n_rows) for _ in range(n_columns)]
    if n_columns > 1 and rng.random() < 0.12:
        _chain(rng, columns)
    for j, column in enumerate(columns):
        column = column + _own_part(rng, n_rows, noise * np.exp(0.7 * rng.normal()))
        columns[j] = _record(rng, standardise(column))
    values = np.stack(columns, 1).astype(np.float32)
    return SyntheticTable(values, None if period is None else round(period))


def _draw_period(rng: Generator) -> float | None:
    if rng.random() >= 0.6:
        return None
    return float(rng.choice(PERIODS)) if rng.random() < 0.5 else log_uniform(rng, 5, 200)


def _draw_factors(rng: Generator, n: int, period: float | None) -> FloatArray:
    """One to five factors (factors, n); with a period at least one of them has that season."""
    n_factors = int(rng.integers(1, 6))
    drawn, seasonal = [], False
    for left in range(n_factors, 0, -1):
        in_season = period is not None and (rng.random() < 0.4 or (left == 1 and not seasonal))
        seasonal |= in_season
        kinds = [kind for kind in FACTORS.values() if kind.seasonal == in_season]
        chances = np.array([kind.chance for kind in kinds])
        kind = kinds[rng.choice(len(kinds), p=chances / chances.sum())]
        drawn.append(kind.draw(n, rng, period or 0.0))
    return np.stack(drawn)


def _mix(rng: Generator, factors: FloatArray, n_rows: int) -> FloatArray:
    """A sparse sum of the factors, sometimes late, sometimes times a factor or without its sign."""
    weights = rng.normal(size=len(factors)) * (rng.random(len(factors)) < rng.choice([0.4, 0.7, 1.0]))
    if not weights.any():
        weights[rng.integers(len(factors))] = 1
    lag = int(rng.integers(0, MOST_LAG + 1)) if rng.random() < 0.25 else 0
    shown = factors[:, MOST_LAG - lag : MOST_LAG - lag + n_rows]
    column = standardise(weights @ shown)
    if rng.random() < 0.15:
        column = column * shown[rng.integers(len(factors))] if rng.random() < 0.5 else np.abs(column)
    return column


def _chain(rng: Generator, columns: list[FloatArray]) -> None:
    """Some columns feed the next, late and damped, as gauges along a river: changes them in place."""
    order = rng.permutation(len(columns))[: int(rng.integers(2, min(len(columns), 8) + 1))]
    late, inflow = int(rng.integers(1, 9)), rng.uniform(0.05, 0.6)
    damping = np.exp(-1 / log_uniform(rng, 0.5, 10))
    for above, below in pairwise(order):
        arrives = np.concatenate([np.full(late, columns[above][0]), columns[above]])[: len(columns[above])]
        start = [damping * arrives[0]]
        damped = standardise(lfilter([1 - damping], [1, -damping], arrives, zi=start)[0])
        columns[below] = damped + inflow * columns[below]


def _own_part(rng: Generator, n_rows: int, size: float) -> FloatArray:
    """What a column does on its own: noise, noise with a memory, a random walk, or nothing."""
    kind = rng.random()
    if kind < 0.55:
        return size * rng.normal(size=n_rows)
    if kind < 0.75:
        return 2 * size * autoregressive(n_rows, rng, 0.0)
    if kind < 0.9:
        return 3 * size * walk(n_rows, rng, 0.0)
    return np.zeros(n_rows)


def _record(rng: Generator, column: FloatArray) -> FloatArray:
    draws = rng.random(len(SENSORS))
    for kind, draw in zip(SENSORS.values(), draws, strict=True):
        if draw < kind.chance:
            column = standardise(kind.draw(column, rng))
    return column
