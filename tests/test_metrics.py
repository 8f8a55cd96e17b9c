"""Errors over scored cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t1.errors import InputError
from t1.metrics import ErrorSum, mae, mse

TRUTH = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]])
FILL = np.array([[1.5, 0.0, 3.0], [2.0, 5.0, 6.0]])
TARGET = np.array([[True, True, False], [True, False, False]])


def test_the_mean_is_over_target_cells_only():
    assert mse(TRUTH, FILL, TARGET) == pytest.approx((0.25 + 4 + 4) / 3)
    assert mae(TRUTH, FILL, TARGET) == pytest.approx((0.5 + 2 + 2) / 3)


def test_no_target_cell_gives_nan():
    nothing = np.zeros_like(TARGET)
    assert np.isnan(mse(TRUTH, FILL, nothing))
    assert np.isnan(mae(TRUTH, FILL, nothing))
    assert np.isnan(ErrorSum(3).rmse)
    assert np.isnan(ErrorSum(3).mse_by_var).all()


def test_a_fill_that_is_nan_in_a_target_cell_is_not_swept_away():
    assert np.isnan(mse(TRUTH, np.full_like(FILL, np.nan), TARGET))


def test_errors_by_variable():
    errors = ErrorSum(3)
    errors.add(TRUTH, FILL, TARGET)
    np.testing.assert_array_equal(errors.count_by_var, [2, 1, 0])
    np.testing.assert_allclose(errors.mse_by_var, [(0.25 + 4) / 2, 4, np.nan])
    np.testing.assert_allclose(errors.mae_by_var, [(0.5 + 2) / 2, 2, np.nan])
    assert errors.count == 3
    assert errors.rmse == pytest.approx(np.sqrt(errors.mse))


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 20), max_size=5))
def test_uneven_batches_give_the_error_of_the_whole(seed, cuts):
    rng = np.random.default_rng(seed)
    truth, fill = rng.normal(size=(2, 20, 4, 3)).astype(np.float32)
    target = rng.random(truth.shape) < rng.random()
    errors = ErrorSum(3)
    for rows in np.split(np.arange(20), sorted(cuts)):
        errors.add(truth[rows], fill[rows], target[rows])
    np.testing.assert_allclose(errors.mse, mse(truth, fill, target), rtol=1e-12)
    np.testing.assert_allclose(errors.mae, mae(truth, fill, target), rtol=1e-12)
    if target.any():
        difference = (truth.astype(np.float64) - fill)[target]
        assert errors.mse == pytest.approx(np.mean(difference**2))


def test_single_precision_does_not_lose_small_errors_in_a_long_sum():
    errors = ErrorSum(1)
    cell = np.ones((1, 1), dtype=bool)
    errors.add(np.zeros((1, 1), np.float32), np.full((1, 1), 1e4, np.float32), cell)
    for _ in range(100):
        errors.add(np.zeros((1, 1), np.float32), np.full((1, 1), 0.5, np.float32), cell)
    assert errors.mse * errors.count == pytest.approx(1e8 + 25, rel=1e-12)


def test_shapes_that_would_broadcast_are_refused():
    with pytest.raises(InputError, match=r"\(2, 3\), \(3,\) and \(2, 3\)"):
        mse(TRUTH, FILL[0], TARGET)
    with pytest.raises(InputError, match="target must be a bool mask, got int64"):
        mse(TRUTH, FILL, TARGET.astype(np.int64))
    with pytest.raises(InputError, match="ends with 4 variables"):
        ErrorSum(4).add(TRUTH, FILL, TARGET)
