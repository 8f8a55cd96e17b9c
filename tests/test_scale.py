"""Standardising per variable."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from t1.data.scale import EVEN, Scaler
from t1.errors import InputError

TABLES = array_shapes(min_dims=2, max_dims=3, max_side=8)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@given(arrays(np.float64, TABLES, elements=st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_scaling_inverts(x):
    scaler = Scaler.from_observed(x)
    back = scaler.unscale(scaler.scale(x))
    np.testing.assert_allclose(back, x, rtol=1e-12, atol=1e-9)


@given(arrays(np.float64, TABLES, elements=st.floats(allow_infinity=False)))
def test_any_finite_numbers_scale_to_finite_numbers_and_back(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = Scaler.from_observed(x)
        scaled = scaler.scale(x)
        back = scaler.unscale(scaled)
    observed = ~np.isnan(x)
    assert np.isfinite(scaled[observed]).all()
    size = np.abs(np.where(observed, x, 0)).max(axis=tuple(range(x.ndim - 1)))
    close = np.abs(back / 4 - x / 4) <= 1e-12 * size + 1e-300
    assert close[observed].all()


@given(arrays(np.float64, (30, 3), elements=st.floats(-1e6, 1e6).map(lambda v: round(v, 3))))
def test_it_is_the_population_mean_and_std(x):
    x[::4, 0] = np.nan
    scaler = Scaler.from_observed(x)
    np.testing.assert_allclose(scaler.mean, np.nanmean(x, axis=0), rtol=1e-9, atol=1e-9)
    std = np.nanstd(x, axis=0)
    varies = np.nanmax(x, axis=0) > np.nanmin(x, axis=0)
    np.testing.assert_allclose(scaler.std[varies], std[varies], rtol=1e-6)
    np.testing.assert_array_equal(scaler.std[~varies], 1)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3e7, 1e300, 5e-324, 1.7976931348623157e308])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_constant_column_becomes_zero(constant, rows):
    x = np.full((rows, 2), constant)
    x[0, 1] = np.nan
    scaler = Scaler.from_observed(x)
    np.testing.assert_array_equal(scaler.std, 1)
    assert scaler.mean[0] == constant
    np.testing.assert_array_equal(scaler.scale(x)[:, 0], 0)


def test_an_empty_column_is_left_alone():
    scaler = Scaler.from_observed(np.array([[np.nan, 1.0], [np.nan, 3.0]]))
    np.testing.assert_array_equal(scaler.mean, [0, 2])
    np.testing.assert_array_equal(scaler.std, [1, 1])


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_extreme_units_change_nothing_but_the_units(size):
    x = np.random.default_rng(0).normal(3, 2, size=(50, 4))
    np.testing.assert_allclose(
        Scaler.from_observed(x * size).scale(x * size), Scaler.from_observed(x).scale(x), rtol=1e-9
    )


def test_the_ends_of_the_float_range():
    x = np.array([[1.7e308], [-1.7e308], [1.7e308]])
    scaler = Scaler.from_observed(x)
    np.testing.assert_allclose(scaler.scale(x)[:, 0], np.array([0.5, -1, 0.5]) * np.sqrt(2))
    np.testing.assert_allclose(scaler.unscale(scaler.scale(x)), x, rtol=1e-12)


@pytest.mark.parametrize("rows", range(2, 40, 2))
def test_rounding_does_not_carry_the_std_past_the_largest_float(rows):
    x = np.full((rows, 1), np.finfo(np.float64).max)
    x[::2] *= -1
    scaler = Scaler.from_observed(x)
    np.testing.assert_allclose(np.abs(scaler.scale(x)), 1, rtol=1e-12)


def test_a_batch_of_windows_is_one_long_table():
    x = np.random.default_rng(1).normal(size=(5, 12, 3))
    windows, table = Scaler.from_observed(x), Scaler.from_observed(x.reshape(60, 3))
    np.testing.assert_array_equal(windows.mean, table.mean)
    np.testing.assert_array_equal(windows.std, table.std)
    assert windows.scale(x).shape == x.shape


def test_wrong_widths_and_broken_scales_are_refused():
    scaler = Scaler.from_observed(np.zeros((4, 3)))
    with pytest.raises(InputError, match="fitted on 3 variables, got 1"):
        scaler.scale(np.zeros((4, 1)))  # would broadcast
    with pytest.raises(InputError, match="fitted on 3 variables, got 2"):
        scaler.unscale(np.zeros((4, 2)))
    with pytest.raises(InputError, match="above 0"):
        Scaler(mean=np.zeros(1), std=np.zeros(1))
    with pytest.raises(InputError, match="one mean and one std"):
        Scaler(mean=np.zeros(2), std=np.ones(1))


# Long tails upwards.


def flows(n=400):
    """A flow, a temperature, and one that piles up at its upper end."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(n, 3))
    return np.column_stack([np.exp(noise[:, 0]), noise[:, 1], 100 - np.exp(noise[:, 2])])


def test_only_long_tails_upwards_of_what_is_never_negative_are_evened_out():
    x = flows()
    x[::5] = np.nan
    scaler = Scaler.even(x)
    np.testing.assert_array_equal(scaler.power, [EVEN, 1, 1])
    z = scaler.scale(x)
    np.testing.assert_allclose(np.nanmean(z, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.nanstd(z, axis=0), 1)
    plain = Scaler.from_observed(x)
    np.testing.assert_allclose(z[:, 1:], plain.scale(x)[:, 1:])
    assert np.nanmax(z[:, 0]) < 0.8 * np.nanmax(plain.scale(x)[:, 0])
    np.testing.assert_allclose(scaler.unscale(z), x, rtol=1e-9)
    assert Scaler.even(x[:, 1:]).power is None


def test_what_is_below_zero_where_nothing_was_is_mirrored():
    scaler = Scaler.even(flows())
    x = np.array([[-2.0, -2.0, -2.0], [2.0, 2.0, 2.0]])
    np.testing.assert_allclose(scaler.unscale(scaler.scale(x)), x, rtol=1e-9)
    assert (np.diff(scaler.scale(x), axis=0) > 0).all()


def test_a_unit_changes_nothing_of_evened_columns():
    x = flows()
    for unit in (1e-200, 1e-3, 1e200):
        np.testing.assert_allclose(Scaler.even(x * unit).scale(x * unit), Scaler.even(x).scale(x), rtol=1e-6)


def test_some_columns_of_a_scaler_are_those_of_all():
    x = flows()
    scaler = Scaler.even(x)
    np.testing.assert_array_equal(scaler.of(slice(0, 2)).scale(x[:, :2]), scaler.scale(x)[:, :2])
    np.testing.assert_array_equal(scaler.of(np.array([2, 0])).scale(x[:, [2, 0]]), scaler.scale(x)[:, [2, 0]])
    both = Scaler.side_by_side([Scaler.even(x[:, 1:]), Scaler.even(x[:, :1])])
    np.testing.assert_allclose(both.scale(x[:, [1, 2, 0]]), scaler.scale(x)[:, [1, 2, 0]])


def test_a_large_table_is_evened_a_few_columns_at_a_time(monkeypatch):
    x = flows()
    whole = Scaler.even(x)
    monkeypatch.setattr("t1.data.blocks.BLOCK", len(x))
    apart = Scaler.even(x)
    np.testing.assert_array_equal(apart.power, whole.power)
    np.testing.assert_allclose(apart.scale(x), whole.scale(x))


def test_a_table_without_columns_has_a_scaler():
    assert Scaler.even(np.zeros((5, 0))).scale(np.zeros((2, 0))).shape == (2, 0)
