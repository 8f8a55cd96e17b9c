"""The simple methods the field forgets: fill a table from its own columns, without training a network.

Each takes `values` (time, vars) with NaN where missing and returns a filled copy: observed cells are
untouched, a column with no observed value stays NaN, nothing is random. Periods and gaps count rows.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from t1.models.regression import regression
from t1.models.seasons import find_period
from t1.models.simple import linear, locf, mean, nearest, seasonal
from t1.registry import Registry

__all__ = ["CLASSIC", "find_period", "linear", "locf", "mean", "nearest", "regression", "seasonal"]

CLASSIC: Registry[Callable[..., npt.NDArray[np.float64]]] = Registry("classic method")
for _method in (mean, locf, nearest, linear, seasonal, regression):
    CLASSIC.add(_method.__name__)(_method)
