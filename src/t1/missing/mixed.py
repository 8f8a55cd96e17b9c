"""A bit of everything: what a model should train on that will meet gaps of every kind."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.missing.base import PATTERNS, uniform
from t1.missing.block import block
from t1.missing.own import own
from t1.missing.point import point


@PATTERNS.add("mixed")
def mixed(
    observed: BoolArray,
    *,
    rate: float | tuple[float, float] = (0.05, 0.85),
    donor_observed: BoolArray | None = None,
    rng: Generator,
) -> BoolArray:
    """Each window draws points at `rate` (half of them), long runs, or the gaps of a donor that has any."""
    window = observed.shape[-2]
    choice = uniform((*observed.shape[:-2], 1, 1), rng)
    hidden = point(observed, rate=rate, rng=rng)
    runs = block(observed, start_rate=0.15 / window, min_length=-(-window // 4), max_length=window, rng=rng)
    hidden = np.where(choice < 0.5, hidden, runs)
    if donor_observed is not None and not donor_observed.all():
        # a donor's gaps alone can be few: points beside them keep every window useful
        gaps = own(observed, donor_observed=donor_observed, rng=rng) | point(observed, rate=0.1, rng=rng)
        hidden = np.where(choice < 0.75, hidden, gaps)
    return hidden
