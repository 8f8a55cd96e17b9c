"""Standardise per variable, from observed values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.errors import InputError

# Flows, prices, loads: never negative, and what is large also moves by more. In units of x to this power they move more
# evenly, and whatever goes by deviations fills them with less error. On 71 tables, columns of this kind: powers of .5,
# .33 and what makes the moves of each even gain less or lose more; tails downwards or on both sides: nothing.
EVEN = 0.7
LARGEST = float(np.finfo(np.float64).max)
HUGE = 1e290  # a mean past this can overflow when a value is subtracted from it; a smaller one cannot


@dataclass(frozen=True, eq=False)
class Scaler:
    """A mean and a population standard deviation per variable, each (vars,).

    With a `power` (vars,) they are those of the values raised to it, negative ones mirrored.
    """

    mean: FloatArray
    std: FloatArray
    power: FloatArray | None = None

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

    @classmethod
    def even(cls, values: FloatArray) -> Scaler:
        """Fit on a table (time, vars), a few columns at a time; long tails upwards are EVEN-ed out."""
        parts = []
        for block in column_blocks(values.shape):
            some = values[:, block]
            part = cls.from_observed(some)
            tailed = _has_long_tail(some, part)
            if tailed.any():
                power = np.where(tailed, EVEN, 1.0)
                raised = cls.from_observed(_raised(some, power))
                part = cls(mean=raised.mean, std=raised.std, power=power)
            parts.append(part)
        return cls.side_by_side(parts) if parts else cls(mean=np.zeros(0), std=np.ones(0))

    @classmethod
    def side_by_side(cls, parts: Sequence[Scaler]) -> Scaler:
        """The scaler of the variables of some scalers together."""
        powers = [np.ones(len(p.mean)) if p.power is None else p.power for p in parts]
        return cls(
            mean=np.concatenate([p.mean for p in parts]),
            std=np.concatenate([p.std for p in parts]),
            power=None if all(p.power is None for p in parts) else np.concatenate(powers),
        )

    def of(self, variables: IntArray | slice) -> Scaler:
        """The scaler of some of the variables."""
        power = None if self.power is None else self.power[variables]
        return Scaler(mean=self.mean[variables], std=self.std[variables], power=power)

    def scale(self, x: npt.NDArray[Any]) -> FloatArray:
        """Original units to standard ones (..., vars)."""
        self._check(x)
        half = self._half()
        x = np.asarray(x, dtype=np.float64)
        x = x if self.power is None else _raised(x, self.power)
        with np.errstate(over="ignore"):
            scaled = (x * half - self.mean * half) / (self.std * half)
        return np.clip(scaled, -LARGEST, LARGEST, out=scaled)

    def unscale(self, x: npt.NDArray[Any]) -> FloatArray:
        """Standard units back to the original ones (..., vars)."""
        self._check(x)
        half = self._half()
        with np.errstate(over="ignore"):
            original = (np.asarray(x, dtype=np.float64) * (self.std * half) + self.mean * half) / half
            original = original if self.power is None else _raised(original, 1 / self.power)
        return np.clip(original, -LARGEST, LARGEST, out=original)

    def _half(self) -> FloatArray | float:
        """0.5 for the variables whose differences could overflow, 1 (no change at all) for the others."""
        huge = np.abs(self.mean) > HUGE
        return np.where(huge, 0.5, 1.0) if huge.any() else 1.0

    def _check(self, x: npt.NDArray[Any]) -> None:
        if x.shape[-1] != len(self.mean):
            raise InputError(
                f"the scaler was fitted on {len(self.mean)} variables, got {x.shape[-1]}.\n"
                "Give the variables of the fit, on the last axis."
            )


def _raised(x: FloatArray, power: FloatArray) -> FloatArray:
    """Values (..., vars) to the power of their variable, mirrored at 0."""
    raised = x.copy()
    at = power != 1
    raised[..., at] = np.sign(x[..., at]) * np.abs(x[..., at]) ** power[at]
    return raised


def _has_long_tail(values: FloatArray, scaler: Scaler) -> BoolArray:
    """Which columns (time, vars) are never negative, and further above their mean at times than below it."""
    z = np.nan_to_num(scaler.scale(values))
    positive = np.fmin.reduce(values, axis=0, initial=np.inf) >= 0
    with np.errstate(over="ignore", invalid="ignore"):
        tailed: BoolArray = positive & ((z * z * z).sum(axis=0) > 0)
    return tailed
