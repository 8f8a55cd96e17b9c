"""The simple methods: one contract for all, exact answers where they are known by hand."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.errors import InputError
from t1.methods.regression import regression
from t1.methods.seasons import find_period
from t1.methods.simple import CLASSIC as SIMPLE
from t1.methods.simple import linear, locf, mean, nearest, seasonal

CLASSIC = {**SIMPLE, "regression": regression}
NAN = np.nan
every_method = pytest.mark.parametrize("name", CLASSIC)


def column(*cells: float) -> np.ndarray:
    return np.array(cells, dtype=np.float64)[:, None]


def waves(n_rows: int, period: int, n_vars: int = 1, *, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * (np.arange(n_rows)[:, None] / period + rng.random(n_vars))
    return np.sin(phase) + noise * rng.normal(size=(n_rows, n_vars))


def with_gaps(values: np.ndarray, rate: float = 0.3, *, block: int = 0, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    gappy = np.where(rng.random(values.shape) < rate, NAN, values)
    if block:
        start = len(values) // 3
        gappy[start : start + block] = NAN
    return gappy


def fill(name: str, values: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return CLASSIC[name](values)


def check(name: str, values: np.ndarray) -> np.ndarray:
    """The contract; returns the fill."""
    before = values.copy()
    filled = fill(name, values)
    np.testing.assert_array_equal(values, before)
    assert filled.shape == values.shape
    assert filled.dtype == np.float64
    assert not np.shares_memory(filled, values)
    observed = ~np.isnan(values)
    np.testing.assert_array_equal(filled[observed], values[observed])
    alive = observed.any(axis=0)
    assert np.isfinite(filled[:, alive]).all()
    assert np.isnan(filled[:, ~alive]).all()
    np.testing.assert_array_equal(fill(name, values), filled)
    return filled


# The contract.

cells = st.one_of(st.just(NAN), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, -1.0]))
tables = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=24), elements=cells
)


@every_method
@settings(max_examples=60)
@given(values=tables)
def test_any_table_is_filled_and_its_observed_cells_kept(name, values):
    check(name, values)


@every_method
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 0.9])
def test_a_long_table_is_filled(name, rate):
    values = with_gaps(waves(600, 24, 5, noise=0.3), rate, block=30)
    values[:, 3] = NAN  # a dead column among living ones
    values[:, 4] = 7.0
    check(name, values)


@every_method
def test_a_constant_column_stays_constant(name):
    values = np.hstack([waves(200, 10, 2, noise=0.1), np.full((200, 1), 0.1)])
    filled = check(name, with_gaps(values))
    np.testing.assert_allclose(filled[:, 2], 0.1, rtol=1e-12)


@every_method
def test_a_single_observed_value_fills_its_column(name):
    values = with_gaps(waves(120, 12, 3))
    values[:, 1] = NAN
    values[50, 1] = 4.0
    np.testing.assert_allclose(check(name, values)[:, 1], 4.0, rtol=1e-12)


@every_method
def test_one_row_has_nothing_to_learn_from(name):
    values = np.array([[1.0, NAN, 3.0]])
    np.testing.assert_array_equal(check(name, values), values)


@every_method
@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_an_empty_table_stays_empty(name, shape):
    assert check(name, np.full(shape, NAN)).shape == shape


@every_method
def test_memory_layout_does_not_matter(name):
    values = with_gaps(waves(150, 12, 4, noise=0.2))
    np.testing.assert_array_equal(fill(name, np.asfortranarray(values)), fill(name, values))


@every_method
def test_a_single_series_is_refused_with_the_cure(name):
    with pytest.raises(InputError, match=r"reshape\(-1, 1\)"):
        CLASSIC[name](np.array([1.0, NAN, 2.0]))


def test_the_simple_methods_need_no_torch():
    code = "import sys, t1.methods.regression, t1.methods.columns; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# By hand.


def test_mean():
    np.testing.assert_array_equal(mean(column(NAN, 1, NAN, 5)), column(3, 1, 3, 5))


def test_locf():
    np.testing.assert_array_equal(locf(column(NAN, NAN, 1, NAN, 5, NAN)), column(1, 1, 1, 1, 5, 5))


def test_nearest_prefers_the_earlier_of_two():
    given = column(NAN, 1, NAN, NAN, NAN, 5, NAN, NAN, 9, NAN)
    np.testing.assert_array_equal(nearest(given), column(1, 1, 1, 1, 5, 5, 5, 9, 9, 9))


def test_linear():
    given = column(NAN, 1, NAN, NAN, NAN, 5, NAN)
    np.testing.assert_allclose(linear(given), column(1, 1, 2, 3, 4, 5, 5), rtol=1e-15)


def test_uneven_positions_are_heeded():
    given = column(0, NAN, NAN, 10)
    np.testing.assert_allclose(linear(given, positions=[0, 1, 9, 10]), column(0, 1, 9, 10))
    np.testing.assert_array_equal(nearest(given, positions=[0, 6, 9, 10]), column(0, 10, 10, 10))
    dates = np.array(["2024-02-28", "2024-02-29", "2024-03-08", "2024-03-09"], dtype="datetime64[D]")
    np.testing.assert_allclose(linear(given, positions=dates), column(0, 1, 9, 10))


@pytest.mark.parametrize("positions", [[0, 1, 2], [0, 2, 1, 3], [0, 1, 1, 2], [0, 1, NAN, 3]])
def test_positions_that_do_not_increase_are_refused(positions):
    with pytest.raises(InputError, match="4 increasing numbers"):
        linear(column(0, NAN, NAN, 10), positions=positions)


def test_seasonal_restores_a_season_on_a_trend_across_a_long_gap():
    truth = waves(480, 24, 3) + 0.01 * np.arange(480)[:, None]
    gappy = with_gaps(truth, 0.1, block=40)
    error = np.abs(seasonal(gappy) - truth)
    assert error.max() < 0.1
    assert np.abs(linear(gappy) - truth).max() > 0.9


def test_seasonal_is_linear_without_a_season():
    walk = with_gaps(np.random.default_rng(0).normal(size=(500, 2)).cumsum(axis=0))
    np.testing.assert_array_equal(seasonal(walk), linear(walk))


def test_seasonal_spares_the_columns_without_a_season():
    values = np.hstack([waves(960, 24, 3), np.random.default_rng(0).normal(size=(960, 1)).cumsum(axis=0)])
    gappy = with_gaps(values)
    assert find_period(gappy) == 24
    assert np.abs(seasonal(gappy) - linear(gappy))[:, 3].max() < 0.5
    assert np.abs(seasonal(gappy) - values)[:, :3].max() < 0.05


def test_seasonal_takes_a_period_given_and_refuses_one_that_is_none():
    truth = np.tile(column(0, 3, 1), (5, 1))
    gappy = truth.copy()
    gappy[[4, 8, 9]] = NAN
    np.testing.assert_allclose(seasonal(gappy, period=3), truth, atol=0.1)
    with pytest.raises(InputError, match="at least 2"):
        seasonal(gappy, period=1)


def test_seasonal_bridges_a_phase_that_was_never_seen():
    truth = waves(240, 24)
    gappy = truth.copy()
    gappy[5::24] = NAN
    assert np.abs(seasonal(gappy, period=24) - truth).max() < 0.05


def test_regression_reads_a_column_from_its_copies():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(800, 1)).cumsum(axis=0)
    truth = np.hstack([source, 5 - 2 * source, 0.1 * source + rng.normal(size=(800, 1))])
    gappy = truth.copy()
    gappy[300:350, 0] = NAN
    gappy[500:520, 1] = NAN
    hidden = np.isnan(gappy)
    error, by_line = (np.abs(filled - truth)[hidden].mean() for filled in (regression(gappy), linear(gappy)))
    assert error < 0.1 * by_line


def test_regression_of_lonely_noise_comes_near_its_mean():
    truth = np.random.default_rng(0).normal(size=(3000, 1))
    gappy = with_gaps(truth)
    hidden = np.isnan(gappy)
    by_regression, by_mean, by_line = (
        np.abs(f(gappy) - truth)[hidden].mean() for f in (regression, mean, linear)
    )
    assert by_regression < 1.02 * by_mean < by_line


def test_regression_stays_within_what_was_observed():
    gappy = with_gaps(waves(400, 24, 4, noise=0.5), 0.5)
    filled = regression(gappy)
    assert (filled >= np.nanmin(gappy, axis=0)).all()
    assert (filled <= np.nanmax(gappy, axis=0)).all()


def test_on_real_data_each_method_beats_the_simpler_one(data_dir):
    truth = pd.read_csv(data_dir / "ETT-small" / "ETTh1.csv").iloc[:4000, 1:].to_numpy(np.float64)
    truth = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    rng = np.random.default_rng(0)
    points = rng.random(truth.shape) < 0.3
    days = np.repeat(rng.random((len(truth) // 25, 7)) < 0.1, 25, axis=0)
    for hidden, best in ((points, 0.16), (days, 0.25)):
        gappy = np.where(hidden, NAN, truth)
        names = ("mean", "locf", "linear", "seasonal", "regression")
        errors = [np.abs(CLASSIC[name](gappy) - truth)[hidden].mean() for name in names]
        assert errors == sorted(errors, reverse=True), dict(zip(names, errors, strict=True))
        assert errors[-1] < best


# The period.


@pytest.mark.parametrize("period", [24, 96, 168])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_period_of_a_gappy_wave_is_found(period, noise):
    values = with_gaps(waves(12 * period + 5, period, 2, noise=noise), block=period // 2)
    assert find_period(values) == period


@pytest.mark.parametrize("period", [2, 3, 7])
def test_short_periods_are_found(period):
    pattern = np.random.default_rng(period).normal(size=(period, 1))
    assert find_period(with_gaps(np.tile(pattern, (40, 1)), 0.1)) == period


def test_the_period_is_found_on_a_trend_and_on_a_walk():
    season = waves(1200, 24, 2, noise=0.1)
    assert find_period(season + 0.05 * np.arange(1200)[:, None]) == 24
    assert find_period(season + 0.1 * np.random.default_rng(3).normal(size=(1200, 2)).cumsum(axis=0)) == 24


def test_a_day_is_found_in_the_dimensionless_and_the_tiny():
    values = with_gaps(waves(600, 24, 3, noise=0.1))
    assert find_period(values * 1e-9) == find_period(values * 1e9 + 1e10) == 24


@pytest.mark.parametrize("kind", ["noise", "walk", "trend", "sluggish"])
@pytest.mark.parametrize("n_rows", [60, 300, 1500])
def test_chance_has_no_period(kind, n_rows):
    rng = np.random.default_rng(n_rows)
    found = []
    for _ in range(20):
        steps = rng.normal(size=(n_rows, 2))
        values = {
            "noise": steps,
            "walk": steps.cumsum(axis=0),
            "trend": steps + np.arange(n_rows)[:, None],
            "sluggish": np.apply_along_axis(np.convolve, 0, steps, 0.8 ** np.arange(20))[:n_rows],
        }[kind]
        found.append(find_period(with_gaps(values, 0.2, seed=n_rows)))
    assert found == [None] * 20


@pytest.mark.parametrize(
    "values", [np.full((50, 2), NAN), np.full((50, 2), 3.0), np.ones((4, 1)), np.ones((0, 2))]
)
def test_nothing_to_repeat_has_no_period(values):
    assert find_period(values) is None


def test_the_bundled_sample_and_ett_have_days(data_dir):
    from t1.data.sample import load_sample

    assert find_period(load_sample().to_numpy()) == 24
    ett = pd.read_csv(data_dir / "ETT-small" / "ETTh1.csv").iloc[:, 1:].to_numpy(np.float64)
    assert find_period(with_gaps(ett)) == 24
