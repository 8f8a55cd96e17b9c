"""Whole variables that fall silent."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS, check_share


@PATTERNS.add("outage")
def outage(observed: BoolArray, *, n_vars: int = 1, share: float | None = None, rng: Generator) -> BoolArray:
    """Hide `n_vars` variables (or a `share` of them) for the whole window, but leave one if there are two."""
    if n_vars < 1:
        raise InputError(
            f"an outage needs at least one variable, got n_vars={n_vars}.\nGive n_vars=1 or more."
        )
    alive = observed.any(axis=-2)  # (..., vars)
    n_alive = alive.sum(axis=-1, keepdims=True)
    wanted = np.asarray(n_vars)
    if share is not None:
        check_share("share", share)
        wanted = np.maximum(np.rint(share * n_alive), 1)
    n_out = np.where(n_alive > 1, np.minimum(wanted, n_alive - 1), n_alive)
    lots = np.where(alive, rng.random(alive.shape), 2.0)  # silent variables draw the last places
    place = lots.argsort(axis=-1).argsort(axis=-1)
    out: BoolArray = place < n_out  # (..., vars)
    return observed & out[..., None, :]
