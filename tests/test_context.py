"""What a table knows beyond a window: neighbouring periods, and how its columns relate."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t1.data import context
from t1.data.context import periods_around, relate


@given(n=st.integers(1, 40), period=st.integers(1, 30), seed=st.integers(0, 99))
def test_the_neighbouring_periods_of_every_cell(n, period, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 2)).astype(np.float32)
    values[rng.random(values.shape) < 0.3] = np.nan
    before, before_weight, after, after_weight = periods_around(values, period)
    for row in range(n):
        for sign, mean, weight in ((-1, before, before_weight), (1, after, after_weight)):
            for j in range(2):
                found = [
                    (share, values[at, j])
                    for share, at in ((1.0, row + sign * period), (0.5, row + 2 * sign * period))
                    if 0 <= at < n and np.isfinite(values[at, j])
                ]
                total = sum(share for share, _ in found)
                assert weight[row, j] == pytest.approx(total / 1.5)
                if found:
                    expected = sum(share * x for share, x in found) / total
                    assert mean[row, j] == pytest.approx(expected, abs=1e-5)
                assert np.isfinite(mean[row, j])


def test_without_a_period_nothing_is_known():
    assert not any(part.any() for part in periods_around(np.ones((5, 2), np.float32), None))


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
    assert doctest.testmod(context) == (0, 3)
