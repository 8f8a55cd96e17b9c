"""Errors over the scored cells: a sum over entries divided by their number, never a mean of batch means."""

from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray
from t1.errors import InputError


class ErrorSum:
    """Adds up errors batch by batch, in all and per variable; every mean is NaN while no cell was scored."""

    def __init__(self, n_vars: int) -> None:
        self.count_by_var = np.zeros(n_vars, dtype=np.int64)
        self._squares = np.zeros(n_vars)
        self._sizes = np.zeros(n_vars)

    def add(self, truth: npt.NDArray[Any], fill: npt.NDArray[Any], target: BoolArray) -> None:
        """Score `fill` against `truth` where `target` is True, all (..., vars); other cells are not read."""
        if not truth.shape == fill.shape == target.shape or target.shape[-1:] != self._squares.shape:
            raise InputError(
                f"truth, fill and target must have one shape that ends with {len(self._squares)} variables, "
                f"got {truth.shape}, {fill.shape} and {target.shape}.\nGive all three as (..., vars)."
            )
        if target.dtype != np.bool_:
            raise InputError(f"target must be a bool mask, got {target.dtype}.\nUse target.astype(bool).")
        error = np.zeros(target.shape)
        np.subtract(fill, truth, out=error, where=target)
        axes = tuple(range(error.ndim - 1))
        self.count_by_var += target.sum(axis=axes)
        self._sizes += np.abs(error).sum(axis=axes)
        self._squares += np.square(error, out=error).sum(axis=axes)

    @property
    def count(self) -> int:
        """How many cells were scored."""
        return int(self.count_by_var.sum())

    @property
    def mse(self) -> float:
        """Mean squared error."""
        return float(self._squares.sum() / self.count) if self.count else np.nan

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return float(self._sizes.sum() / self.count) if self.count else np.nan

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(self.mse))

    @property
    def mse_by_var(self) -> FloatArray:
        """Mean squared error of each variable (vars,)."""
        return self._by_var(self._squares)

    @property
    def mae_by_var(self) -> FloatArray:
        """Mean absolute error of each variable (vars,)."""
        return self._by_var(self._sizes)

    def _by_var(self, sums: FloatArray) -> FloatArray:
        scored = self.count_by_var > 0
        return np.where(scored, sums / np.where(scored, self.count_by_var, 1), np.nan)


def mse(truth: npt.NDArray[Any], fill: npt.NDArray[Any], target: BoolArray) -> float:
    """Mean squared error over the cells where `target` is True, NaN if there is none."""
    return _score(truth, fill, target).mse


def mae(truth: npt.NDArray[Any], fill: npt.NDArray[Any], target: BoolArray) -> float:
    """Mean absolute error over the cells where `target` is True, NaN if there is none."""
    return _score(truth, fill, target).mae


def _score(truth: npt.NDArray[Any], fill: npt.NDArray[Any], target: BoolArray) -> ErrorSum:
    errors = ErrorSum(n_vars=target.shape[-1] if target.ndim else 1)
    errors.add(truth, fill, target)
    return errors
