"""PyPOTS: T1 behind the interface of its imputers, which take and give dictionaries of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from t1.arrays import FloatArray
from t1.errors import InputError
from t1.imputer import T1Imputer


class T1ForPyPOTS:
    """T1 with the methods of a PyPOTS imputer: `fit(train_set)`, `predict(test_set)`, `impute(test_set)`.

    A set is a dictionary with "X": an array (samples, steps, features), NaN where missing. The settings are
    those of `T1Imputer`; `max_seconds=0` fills with the pretrained weights as they are.

    >>> X = np.sin(np.arange(240.0) / 5).reshape(5, 48, 1) * np.ones(3)
    >>> X[:, 10:14, 0] = np.nan
    >>> filled = T1ForPyPOTS(max_seconds=0, progress=False).fit({"X": X}).predict({"X": X})["imputation"]
    >>> filled.shape, bool(np.isnan(filled).any())
    ((5, 48, 3), False)
    """

    def __init__(self, **settings: Any) -> None:
        self.imputer = T1Imputer(**settings)

    def fit(self, train_set: Mapping[str, Any], val_set: Mapping[str, Any] | None = None) -> Self:
        """Learn from the training set; a part of it validates, so that `val_set` is not needed."""
        self.imputer.fit(_samples(train_set))
        return self

    def predict(self, test_set: Mapping[str, Any]) -> dict[str, FloatArray]:
        """The filled samples as {"imputation": array}."""
        return {"imputation": np.asarray(self.imputer.transform(_samples(test_set)))}

    def impute(self, test_set: Mapping[str, Any]) -> FloatArray:
        """The filled samples."""
        return self.predict(test_set)["imputation"]


def _samples(given: Mapping[str, Any]) -> Any:
    if not isinstance(given, Mapping) or "X" not in given:
        raise InputError(
            'expected a dictionary with the array "X" (samples, steps, features)',
            cure="Read a file first: pypots.data.load_dict_from_h5.",
        )
    X = given["X"]
    X = X.detach().cpu().numpy() if hasattr(X, "detach") else np.asarray(X)
    if X.ndim != 3:
        raise InputError(f'"X" has shape {X.shape}', cure="Give samples, steps and features.")
    return X
