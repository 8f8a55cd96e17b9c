"""Two imputers of scikit-learn's, for which a row is a sample and the order of rows means nothing.

Each takes `values` (time, vars) with NaN where missing and returns a filled copy: observed cells are
untouched, a column with no value to learn from stays NaN. They learn from `train` (time, vars), NaN allowed,
or from the values themselves. Many windows are filled at once by stacking their rows. Neither scales the
columns, as scikit-learn does not: give them standardised ones.
"""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import FloatArray
from t1.errors import InputError
from t1.methods.seasons import check_table, moments

ROWS = 4096  # that are filled at once
MAX_TRAIN = 1500  # neighbours to choose from: 267,000 rows of 7 columns then take about a minute


def knn(
    values: npt.ArrayLike,
    *,
    n_neighbours: int = 5,
    train: npt.ArrayLike | None = None,
    max_train: int | None = MAX_TRAIN,
) -> FloatArray:
    """The mean of the nearest rows that have the value, near in the columns that both have.

    Only `max_train` rows, evenly spaced, are looked at, for every row is compared with all of them.
    """
    source = values if train is None else train
    return learn_knn(source, n_neighbours=n_neighbours, max_train=max_train).fill(values)


def iterative(
    values: npt.ArrayLike,
    *,
    train: npt.ArrayLike | None = None,
    max_iter: int = 10,
    max_train: int | None = None,
    seed: int = 0,
) -> FloatArray:
    """Chained Bayesian ridge regressions, each column on all others, `max_iter` rounds."""
    source = values if train is None else train
    return learn_iterative(source, max_iter=max_iter, max_train=max_train, seed=seed).fill(values)


def learn_knn(
    train: npt.ArrayLike, *, n_neighbours: int = 5, max_train: int | None = MAX_TRAIN
) -> "RowImputer":
    """What `knn` knows of its training rows, to fill many tables."""
    from sklearn.impute import KNNImputer

    if n_neighbours < 1:
        raise InputError(f"n_neighbours must be at least 1, got {n_neighbours}")
    return RowImputer(KNNImputer(n_neighbors=n_neighbours, keep_empty_features=True), train, max_train)


def learn_iterative(
    train: npt.ArrayLike, *, max_iter: int = 10, max_train: int | None = None, seed: int = 0
) -> "RowImputer":
    """The regressions of `iterative`, to fill many tables.

    All rounds are made (tol=0): learned from a complete table, scikit-learn's own rule would stop after one.
    """
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(max_iter=max_iter, tol=0.0, random_state=seed, keep_empty_features=True)
    return RowImputer(imputer, train, max_train)


class RowImputer:
    """An imputer of scikit-learn's, fitted to some rows of `train` (time, vars) when it is first needed."""

    def __init__(self, imputer: Any, train: npt.ArrayLike, max_train: int | None) -> None:
        source = check_table(train)
        self._imputer, self._fitted = imputer, False
        self._means, _ = moments(source, ~np.isnan(source))
        self._sample = _evenly(source, max_train)
        self._known: npt.NDArray[np.bool_] = np.any(~np.isnan(self._sample), axis=0)

    def learn(self) -> None:
        """Fit the imputer, if it is not fitted yet and there is anything to learn from."""
        from sklearn.exceptions import ConvergenceWarning

        if not self._fitted and self._known.any():
            with warnings.catch_warnings():
                # the number of rounds is fixed: not to have converged by then is no fault
                warnings.simplefilter("ignore", ConvergenceWarning)
                self._imputer.fit(self._sample[:, self._known])
            self._fitted = True

    def fill(self, values: npt.ArrayLike) -> FloatArray:
        """A filled copy of the values (time, vars), a block of rows at a time."""
        table = check_table(values)
        known = self._known
        if table.shape[1] != len(known):
            raise InputError(
                f"train has {len(known)} columns, the values have {table.shape[1]}.\n"
                "Give both the same columns, in the same order."
            )
        filled = table.copy()
        gaps = np.isnan(table)
        rows = np.flatnonzero((gaps & known).any(axis=1))
        if len(rows):
            self.learn()
        for begin in range(0, len(rows), ROWS):
            block = rows[begin : begin + ROWS]
            filled[np.ix_(block, known)] = self._imputer.transform(table[np.ix_(block, known)])
        # A column that only rows outside the sample have is known by its mean; one that none has stays NaN.
        return np.where(gaps, np.where(np.isnan(filled), self._means, filled), table)


def _evenly(rows: FloatArray, most: int | None) -> FloatArray:
    """At most so many rows, evenly spaced."""
    if most is None or len(rows) <= most:
        return rows
    if most < 1:
        raise InputError(f"max_train must be at least 1, got {most}")
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]
