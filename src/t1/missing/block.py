"""Runs of missing steps in single variables, beside single cells."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS, check_share, uniform


@PATTERNS.add("block")
def block(
    observed: BoolArray,
    *,
    point_rate: float = 0.05,
    start_rate: float = 0.0015,
    min_length: int = 24,
    max_length: int = 96,
    rng: Generator,
) -> BoolArray:
    """Hide each cell with chance `point_rate`; begin a run at each with chance `start_rate`."""
    check_share("point_rate", point_rate)
    check_share("start_rate", start_rate)
    if not 1 <= min_length <= max_length:
        raise InputError(
            f"runs of {min_length} to {max_length} steps cannot be drawn.\n"
            "Give 1 <= min_length <= max_length."
        )
    begins = uniform(observed.shape, rng) < start_rate
    lengths = rng.integers(min_length, max_length, size=np.count_nonzero(begins), endpoint=True)
    steps = np.arange(observed.shape[-2], dtype=np.int32)[:, None]  # (time, 1)
    ends = np.zeros(observed.shape, dtype=np.int32)
    ends[begins] = np.broadcast_to(steps, observed.shape)[begins] + lengths
    in_run = np.maximum.accumulate(ends, axis=-2) > steps  # the furthest end of any run begun so far
    return observed & (in_run | (uniform(observed.shape, rng) < point_rate))
