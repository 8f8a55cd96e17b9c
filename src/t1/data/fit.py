"""Fills in the type of the column they go to: kept in its range, rounded for integers and decimals."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from t1.arrays import AnyArray, FloatArray


def fit(fill: FloatArray, dtype: np.dtype[Any]) -> AnyArray:
    """Fills as numbers of `dtype`, none of them out of its range."""
    if dtype.kind == "f":
        limit = float(np.finfo(dtype).max)
        return np.clip(fill, -limit, limit).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        high = float(limits.max)
        if high > limits.max:  # 2**63 - 1 is no float; 2**63 would wrap around
            high = float(np.nextafter(high, 0))
        return np.rint(np.clip(fill, float(limits.min), high)).astype(dtype)
    return fill.astype(dtype)


def fit_decimals(fill: Iterable[float], scale: int) -> list[Decimal]:
    """Fills as exact decimals with `scale` digits after the point."""
    return [Decimal(f"{value:.{max(scale, 0)}f}") for value in fill]
