"""Standardise per variable, from observed values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import FloatArray
from t1.errors import InputError

LARGEST = float(np.finfo(np.float64).max)
HUGE = 1e290  # a mean past this can overflow when a value is subtracted from it; a smaller one cannot


@dataclass(frozen=True, eq=False)
class Scaler:
    """A mean and a population standard deviation per variable, each (vars,)."""

    mean: FloatArray
    std: FloatArray

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.mean.shape != self.std.shape:
            raise InputError(
                "expected one mean and one std per variable, "
                f"got shapes {self.mean.shape} and {self.std.shape}.\n"
                "Fit the scaler again with Scaler.from_observed."
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.std).all() and (self.std > 0).all()):
            raise InputError(
                "every mean must be finite and every std finite and above 0.\n"
                "Fit the scaler again with Scaler.from_observed."
            )

    @classmethod
    def from_observed(cls, values: npt.NDArray[Any]) -> Scaler:
        """Fit on values (..., time, vars), NaN where missing; a constant or empty variable gets std 1."""
        columns = np.asarray(values, dtype=np.float64).reshape(-1, values.shape[-1])  # (rows, vars)
        observed = ~np.isnan(columns)
        count = np.maximum(observed.sum(axis=0), 1)
        known = np.where(observed, columns, 0.0)

        # Squares of 1e300 overflow: work in units of a power of two, which costs no precision.
        exponent = np.frexp(np.abs(known).max(axis=0, initial=0.0))[1]
        known = np.ldexp(known, -exponent)
        low = np.where(observed, known, np.inf).min(axis=0, initial=np.inf)
        high = np.where(observed, known, -np.inf).max(axis=0, initial=-np.inf)
        empty = low > high
        low, high = np.where(empty, 0.0, low), np.where(empty, 0.0, high)

        # Rounding may not carry the mean out of the data: a constant column has its own value as the mean.
        mean = np.clip(known.sum(axis=0) / count, low, high)
        spread = np.where(observed, known - mean, 0.0)
        std = np.ldexp(np.sqrt(np.square(spread).sum(axis=0) / count), exponent)
        return cls(mean=np.ldexp(mean, exponent), std=np.where(std > 0, std, 1.0))

    def scale(self, x: npt.NDArray[Any]) -> FloatArray:
        """Original units to standard ones (..., vars)."""
        self._check(x)
        half = self._half()
        with np.errstate(over="ignore"):
            scaled = (np.asarray(x, dtype=np.float64) * half - self.mean * half) / (self.std * half)
        return np.clip(scaled, -LARGEST, LARGEST, out=scaled)

    def unscale(self, x: npt.NDArray[Any]) -> FloatArray:
        """Standard units back to the original ones (..., vars)."""
        self._check(x)
        half = self._half()
        with np.errstate(over="ignore"):
            original = (np.asarray(x, dtype=np.float64) * (self.std * half) + self.mean * half) / half
        return np.clip(original, -LARGEST, LARGEST, out=original)

    def _half(self) -> FloatArray:
        """0.5 for the variables whose differences could overflow, 1 (no change at all) for the others."""
        return np.where(np.abs(self.mean) > HUGE, 0.5, 1.0)

    def _check(self, x: npt.NDArray[Any]) -> None:
        if x.shape[-1] != len(self.mean):
            raise InputError(
                f"the scaler was fitted on {len(self.mean)} variables, got {x.shape[-1]}.\n"
                "Give the variables of the fit, on the last axis."
            )
