"""The gaps of a real table, transplanted: the same run lengths, the same columns missing together."""

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.missing.base import PATTERNS


@PATTERNS.add("own")
def own(observed: BoolArray, *, donor_observed: BoolArray | None = None, rng: Generator) -> BoolArray:
    """Overlay on each window a random stretch, with a gap in it, of `donor_observed` (..., row, vars)."""
    if donor_observed is None or donor_observed.ndim < 2 or donor_observed.all():
        raise InputError(
            "pattern 'own' copies the gaps of another table, and got none to copy.\n"
            "Pass donor_observed=~np.isnan(table) of a table with gaps, or choose another pattern."
        )
    window, n_vars = observed.shape[-2:]
    gaps = ~donor_observed.reshape(-1, *donor_observed.shape[-2:])  # (series, row, vars)
    if gaps.shape[1] < window:  # a donor that is shorter than the window is repeated
        gaps = np.take(gaps, np.arange(window + gaps.shape[1] - 1), axis=1, mode="wrap")

    so_far = np.pad(gaps.any(axis=-1).cumsum(axis=-1), ((0, 0), (1, 0)))
    has_gap = so_far[:, window:] > so_far[:, :-window]  # (series, first row of a stretch)
    stretches = np.flatnonzero(has_gap)
    chosen = stretches[rng.integers(len(stretches), size=observed.shape[:-2])]
    series, begin = np.divmod(chosen, has_gap.shape[1])
    rows = begin[..., None] + np.arange(window)  # (..., time)
    if gaps.shape[2] == n_vars:
        return observed & gaps[series[..., None], rows]

    # Another width: random columns, the same ones in all rows, so that they still go missing together.
    rounds = -(-n_vars // gaps.shape[2])
    deck = np.tile(np.arange(gaps.shape[2]), (*observed.shape[:-2], rounds))
    columns = rng.permuted(deck, axis=-1)[..., None, :n_vars]  # (..., 1, vars)
    hidden: BoolArray = gaps[series[..., None, None], rows[..., None], columns]
    return observed & hidden
