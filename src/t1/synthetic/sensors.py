"""How a column records a quantity: each function takes and gives (n,) values; it gets them standardised.

A column passes through each sensor with that sensor's chance, in the order of this file.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from t1.arrays import FloatArray
from t1.registry import Registry
from t1.synthetic.kinds import SeriesKind, log_uniform

Sensor = Callable[[FloatArray, Generator], FloatArray]

SENSORS: Registry[SeriesKind[Sensor]] = Registry("sensor")


def sensor(name: str, chance: float) -> Callable[[Sensor], Sensor]:
    """Register a kind of sensor."""

    def register(draw: Sensor) -> Sensor:
        SENSORS.add(name)(SeriesKind(draw, chance))
        return draw

    return register


@sensor("exponential", 0.10)
def exponential(x: FloatArray, rng: Generator) -> FloatArray:
    """Skewed: small values are close together, large ones far apart, as in flows and prices."""
    out: FloatArray = np.exp(np.clip(x * rng.uniform(0.3, 1.2), -6, 6))
    return out


@sensor("saturating", 0.07)
def saturating(x: FloatArray, rng: Generator) -> FloatArray:
    """Less and less sensitive towards both ends."""
    out: FloatArray = np.tanh(x * rng.uniform(0.5, 3))
    return out


@sensor("from_zero", 0.07)
def from_zero(x: FloatArray, rng: Generator) -> FloatArray:
    """Nothing below a threshold: rain, sunshine, demand."""
    out: FloatArray = np.maximum(x - rng.uniform(-1, 0.8), 0)
    return out


@sensor("counts", 0.04)
def counts(x: FloatArray, rng: Generator) -> FloatArray:
    """Whole numbers from a Poisson process whose rate is the quantity: visitors, cases, cars."""
    rate = log_uniform(rng, 0.5, 100) * np.exp(np.clip(rng.uniform(0.3, 1) * x, -4, 3))
    return rng.poisson(rate).astype(np.float64)


@sensor("counter", 0.015)
def counter(x: FloatArray, rng: Generator) -> FloatArray:
    """A meter that only counts up, sometimes with a turnover to zero."""
    total: FloatArray = np.cumsum(np.maximum(x + rng.uniform(0, 2), 0))
    if rng.random() < 0.4 and total[-1] > 0:
        total = total % (total[-1] * rng.uniform(0.2, 0.8))
    return total


@sensor("held", 0.03)
def held(x: FloatArray, rng: Generator) -> FloatArray:
    """Updated every few rows only, or only after a large enough change; the last value stands meanwhile."""
    if rng.random() < 0.5:
        every = int(rng.integers(2, 8))
        return np.repeat(x[::every], every)[: len(x)]
    band = rng.uniform(0.05, 0.5)
    moved = np.flatnonzero(np.diff(np.round(x / band), prepend=np.nan) != 0)
    return np.repeat(x[moved], np.diff(moved, append=len(x)))


@sensor("pegged", 0.03)
def pegged(x: FloatArray, rng: Generator) -> FloatArray:
    """Stuck at the end of its range when the quantity leaves it."""
    low, high = np.quantile(x, [rng.choice([0.0, rng.uniform(0, 0.3)]), rng.uniform(0.7, 0.99)])
    return np.clip(x, low, high)


@sensor("spikes", 0.03)
def spikes(x: FloatArray, rng: Generator) -> FloatArray:
    """Rare cells that are far off: faults, and events shorter than a row."""
    where = rng.random(len(x)) < log_uniform(rng, 0.001, 0.03)
    return x + where * rng.standard_t(2, len(x)) * rng.uniform(1, 4)


@sensor("rounded", 0.12)
def rounded(x: FloatArray, rng: Generator) -> FloatArray:
    """Few digits: from 50 to about 4 different values within two deviations."""
    digit = log_uniform(rng, 0.02, 0.7)
    return np.round(x / digit) * digit
