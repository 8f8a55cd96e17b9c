"""What the registries of factors and sensors share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.random import Generator

from t1.arrays import FloatArray

Draw = TypeVar("Draw", bound=Callable[..., FloatArray])


@dataclass(frozen=True)
class SeriesKind(Generic[Draw]):
    """A way to draw a series, and how often a table uses it."""

    draw: Draw
    chance: float
    seasonal: bool = False  # it repeats itself with the table's period

    @property
    def title(self) -> str:
        """The first sentence about it."""
        return (self.draw.__doc__ or "").strip().split("\n")[0]


def standardise(x: FloatArray) -> FloatArray:
    """Mean 0 and deviation 1; a constant becomes zeros."""
    centred: FloatArray = x - x.mean()
    spread = float(np.sqrt(np.mean(centred * centred)))
    return centred / spread if spread > 1e-9 else np.zeros_like(centred)


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """A number between two bounds, each order of magnitude as likely as the others."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
