"""Columns that are added to a file, such as intervals: mostly empty, so only what they hold is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t1.arrays import AnyArray, IntArray


@dataclass(frozen=True)
class ExtraCells:
    """A column as its cells that are not NaN; `at` is None where all cells are kept."""

    values: AnyArray
    at: IntArray | None  # (values,), their rows, ascending

    def rows(self, rows: slice) -> AnyArray:
        """Some rows of the column."""
        if self.at is None:
            return np.asarray(self.values[rows])
        first, last = np.searchsorted(self.at, [rows.start, rows.stop])
        out = np.full(rows.stop - rows.start, np.nan)
        out[self.at[first:last] - rows.start] = self.values[first:last]
        return out


def sparse(column: AnyArray) -> ExtraCells:
    """A column of floats without its NaN; any other as it is."""
    column = np.asarray(column)
    if column.dtype.kind != "f":
        return ExtraCells(column, None)
    at = np.flatnonzero(np.isfinite(column))
    return ExtraCells(column[at].astype(np.float64), at)
