"""What a table knows beyond a window: the mean of neighbouring periods, and how its columns relate."""

import doctest

import numpy as np

from t1.data import context
from t1.data.context import relate


def test_a_column_that_is_a_sum_of_others_is_found_again():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 400, 3)).astype(np.float32)
    x[..., 2] = 2 * x[..., 0] - x[..., 1] + 3 + 0.05 * rng.normal(size=(2, 400))
    x[rng.random(x.shape) < 0.1] = np.nan
    relation, intercept, trust = relate(x)
    assert relation.shape == (2, 3, 3) and not relation[:, range(3), range(3)].any()
    said = np.einsum("bij,btj->bti", relation, np.nan_to_num(x)) + intercept[:, None]
    complete = np.isfinite(x).all(-1)
    error = (said - x)[complete][:, 2]
    assert error.std() < 0.35 * np.nanstd(x[..., 2])
    assert trust[:, 2].min() > 0.8
    alone = relate(rng.normal(size=(1, 4000, 3)).astype(np.float32))[2]
    assert alone.max() < 0.05


def test_columns_with_next_to_nothing_are_related_to_nothing():
    x = np.random.default_rng(0).normal(size=(1, 50, 3)).astype(np.float32)
    x[0, 5:, 1] = np.nan
    x[0, :, 2] = 4.0  # a constant
    relation, intercept, trust = relate(x)
    assert not relation[0, 1].any() and not relation[0, :, 1].any() and trust[0, 1] == 0
    assert np.isfinite(relation).all() and np.isfinite(intercept).all()
    assert not any(part.any() for part in relate(x[..., :1]))
    assert np.isfinite(relate(np.full((1, 9, 3), np.nan, np.float32))[1]).all()


def test_examples_in_the_docstrings_run():
    assert doctest.testmod(context) == (0, 4)
