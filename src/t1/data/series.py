"""One or more series (time, vars) in whatever container they came, on their way to windows and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray
from t1.data.blocks import column_blocks
from t1.data.scale import Scaler
from t1.data.table import Table

ROWS = 8192  # that are scaled at once


@dataclass(frozen=True)
class Series:
    """What X holds: one or more series (time, vars), NaN where missing, and the way back to its container."""

    values: list[FloatArray]
    columns: tuple[str, ...] | None  # None: X has no names, only a number of columns
    n_columns: int
    restore: Callable[[list[FloatArray]], Any]

    @classmethod
    def read(cls, X: Any) -> "Series":
        named = hasattr(X, "columns")
        if isinstance(
            X, list | tuple
        ):  # rows of numbers come back as an array, as everywhere in scikit-learn
            X = Table.from_any(X).values
        elif hasattr(X, "__array__") and not named:
            X = np.asarray(X)
        if isinstance(X, np.ndarray) and X.ndim == 3:
            samples, time, n_vars = X.shape
            table = Table.from_any(X.reshape(samples * time, n_vars))
            values = list(table.values.reshape(X.shape))
            return cls(
                values, None, n_vars, lambda filled: table.to_native(np.concatenate(filled)).reshape(X.shape)
            )
        table = Table.from_any(X)
        columns = table.columns if named else None
        return cls([table.values], columns, len(table.columns), lambda filled: table.to_native(filled[0]))


def lengthen(values: FloatArray, window: int) -> FloatArray:
    """At least `window` rows: missing ones are added at the end."""
    short = max(0, window - len(values))
    return np.pad(values, ((0, short), (0, 0)), constant_values=np.nan) if short else values


def fit_scaler(values: list[FloatArray]) -> Scaler:
    """The scaler of some series (time, vars), a few columns at a time."""
    shape = sum(len(v) for v in values), values[0].shape[1]
    parts = [Scaler.from_observed(np.concatenate([v[:, b] for v in values])) for b in column_blocks(shape)]
    if len(parts) < 2:
        return parts[0] if parts else Scaler.from_observed(np.concatenate(values))
    return Scaler.side_by_side(parts)


def scaled_rows(scaler: Scaler, values: list[FloatArray]) -> tuple[npt.NDArray[np.float32], BoolArray]:
    """The series one after the other in standard units (row, vars), 0 where missing, and what was seen."""
    rows = np.empty((sum(len(v) for v in values), values[0].shape[1]), dtype=np.float32)
    seen = np.empty(rows.shape, dtype=bool)
    at = 0
    for v in values:
        for first in range(0, len(v), ROWS):
            part = scaler.scale(v[first : first + ROWS])
            here = slice(at, at + len(part))
            seen[here] = ~np.isnan(part)
            rows[here] = np.where(seen[here], part, 0.0)
            at += len(part)
    return rows, seen
