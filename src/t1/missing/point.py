"""Single cells, independently."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS, check_share, uniform


@PATTERNS.add("point")
def point(observed: BoolArray, *, rate: float | tuple[float, float] = 0.4, rng: Generator) -> BoolArray:
    """Hide each observed cell with chance `rate`; from (low, high), every window draws its own rate."""
    if not isinstance(rate, tuple | list):
        check_share("rate", rate)
        return observed & (uniform(observed.shape, rng) < rate)
    low, high = rate
    check_share("rate", low)
    check_share("rate", high)
    if low > high:
        raise InputError(
            f"rate {rate} runs from high to low.\nGive it as (low, high), such as ({high}, {low})."
        )
    rates = rng.uniform(low, high, size=(*observed.shape[:-2], 1, 1)).astype(np.float32)
    return observed & (uniform(observed.shape, rng) < rates)
