"""All variables at once, over one stretch of time."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS, check_share


@PATTERNS.add("blackout")
def blackout(
    observed: BoolArray, *, length: int | None = None, share: float = 0.25, rng: Generator
) -> BoolArray:
    """Hide every variable over one stretch of `length` steps (or a `share` of the window), anywhere."""
    check_share("share", share)
    if length is not None and length < 1:
        raise InputError(f"a blackout lasts at least one step, got length={length}.\nGive length=1 or more.")
    window = observed.shape[-2]
    length = min(max(round(share * window), 1) if length is None else length, window)
    begin = rng.integers(0, window - length, size=(*observed.shape[:-2], 1, 1), endpoint=True)
    steps = np.arange(window)[:, None]  # (time, 1)
    return observed & (begin <= steps) & (steps < begin + length)
