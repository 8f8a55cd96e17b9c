"""Missing not at random: whether a cell is missing depends on its value, as with a sensor that saturates."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS, check_share, uniform


@PATTERNS.add("mnar")
def mnar(
    observed: BoolArray,
    *,
    values: npt.NDArray[Any] | None = None,
    rate: float = 0.3,
    side: Literal["high", "low"] = "high",
    rng: Generator,
) -> BoolArray:
    """Hide high (or low) values rather than others, by their rank in window and variable, `rate` of all."""
    check_share("rate", rate)
    if side not in ("high", "low"):
        raise InputError(
            f"side must be 'high' or 'low', got {side!r}.\nGive side='high' to hide high values."
        )
    if values is None or values.shape != observed.shape:
        came = "none" if values is None else f"shape {values.shape}"
        raise InputError(
            f"pattern 'mnar' chooses cells by their values, of shape {observed.shape}; got {came}.\n"
            "Pass values=... beside observed."
        )
    if rate == 0:
        return np.zeros_like(observed)
    # The ranks u of n values are even over (0, 1), and u ** (1/rate - 1) has the mean `rate` there.
    by_var = np.moveaxis(observed, -2, -1)  # (..., vars, time)
    sign = 1 if side == "high" else -1
    keys = np.where(by_var, np.moveaxis(values, -2, -1) * sign, np.inf)
    shuffle = rng.permutation(observed.shape[-2])  # ties fall in random order, not in that of time
    order = shuffle[keys[..., shuffle].argsort(axis=-1, kind="stable")]
    rank = np.empty(order.shape, dtype=np.float32)
    np.put_along_axis(rank, order, np.arange(0.5, order.shape[-1], dtype=np.float32), axis=-1)
    n_observed = by_var.sum(axis=-1, keepdims=True, dtype=np.float32)
    height = np.minimum(rank / np.maximum(n_observed, 1), 1)
    hidden: BoolArray = uniform(height.shape, rng) < height ** (1 / rate - 1)
    return observed & np.moveaxis(hidden, -1, -2)
