"""Intervals: the exact rank, borrowing, and the coverage on real tables."""

import numpy as np
import pandas as pd
import pytest
from t1.fill.engine import classic_candidates, fill_table

from t1.errors import InputError
from t1.fill.conformal import Conformal, quantile


def test_the_radius_is_the_right_order_statistic():
    residual = np.random.default_rng(0).permutation(np.arange(1.0, 100.0))  # 99 of them
    assert quantile(residual, 0.9) == 90
    assert quantile(residual, 0.5) == 50
    assert quantile(residual[:3], 0.99) == residual[:3].max()


def test_thin_groups_borrow_scaled_residuals():
    rng = np.random.default_rng(1)
    column = np.repeat([0, 1], [500, 5])
    scale = np.array([1.0, 10.0])
    residual = np.abs(rng.normal(size=505)) * scale[column]
    radius = Conformal(residual, column, np.zeros(505, dtype=np.int8), np.arange(505), scale).radius(0.9)
    assert radius.shape == (2, 5)
    assert radius[0, 0] == pytest.approx(1.64, abs=0.2)
    assert radius[1, 0] == pytest.approx(16.4, abs=2)
    assert np.isfinite(radius).all()  # classes without a residual borrow too


def test_a_class_never_seen_takes_the_radius_of_a_neighbour():
    code = np.repeat(np.array([0, 3], dtype=np.int8), 100)
    residual = np.where(code == 0, 1.0, 5.0)
    radius = Conformal(residual, np.zeros(200, dtype=np.intp), code, np.arange(200), np.ones(1)).radius(0.8)
    assert radius[0].tolist() == [1, 1, 1, 5, 5]


def test_no_residual_gives_no_radius():
    none = np.zeros(0, dtype=np.intp)
    assert np.isnan(Conformal(none * 1.0, none, none.astype(np.int8), none, np.ones(3)).radius(0.9)).all()


@pytest.mark.parametrize("level", [0, 1, 90, -0.1])
def test_a_wrong_level_is_refused(level):
    none = np.zeros(0, dtype=np.intp)
    with pytest.raises(InputError, match=r"Give 0\.9 for 90 %"):
        Conformal(none * 1.0, none, none.astype(np.int8), none, np.ones(3)).radius(level)


def points_and_outages(shape: tuple[int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hidden = rng.random(shape) < 0.1
    for _ in range(40):
        length = rng.integers(2, 30)
        start = rng.integers(1, shape[0] - length)
        hidden[start : start + length, rng.random(shape[1]) < 0.4] = True
    return hidden


@pytest.mark.parametrize("name", ["ETT-small/ETTh1.csv", "weather/weather.csv"])
def test_coverage_on_fresh_cells_is_as_promised(name, data_dir):
    table = pd.read_csv(data_dir / name, nrows=6000).select_dtypes("number").iloc[:, :7].to_numpy()
    held_out, real = [], []
    for seed in range(2):
        hidden = points_and_outages(table.shape, seed)
        masked = np.where(hidden, np.nan, table)
        filled = fill_table(masked, list("abcdefg"), classic_candidates(), level=0.9, seed=seed)
        inside = (filled.lo <= table) & (table <= filled.hi)
        held_out.append(filled.scorecard.coverage)
        real.append(inside[hidden].mean())
    assert np.mean(held_out) == pytest.approx(0.9, abs=0.03)
    assert np.mean(real) == pytest.approx(0.9, abs=0.03)
