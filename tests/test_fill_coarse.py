"""Long gaps: a coarser table is filled first, and its values support the fine fill."""

import numpy as np
import pytest
from t1.fill.coarse import block_means, coarse_step
from t1.fill.learned import T1Candidate

from t1.fill import fill_table
from t1.methods.simple import linear


def test_block_means_use_what_is_observed():
    x = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 5.0], [7.0, 6.0], [9.0, np.nan]])
    assert np.array_equal(block_means(x, 2), [[2, np.nan], [7, 5.5], [9, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("rows", "gap", "step"),
    [(1000, 10, None), (1000, 48, None), (4000, 480, 10), (14400, 4320, 90), (100, 60, 2)],
)
def test_the_step_brings_the_longest_gap_into_half_a_window(rows, gap, step):
    x = np.zeros((rows, 2))
    x[20 : 20 + gap, 0] = np.nan
    assert coarse_step([x], 96) == step


def test_a_three_day_hole_in_minute_data_keeps_its_daily_shape():
    """Both columns are off for three days: neither a line nor the other column knows of day and night."""
    rng = np.random.default_rng(0)
    minutes = np.arange(14 * 1440)[:, None]
    truth = np.sin(2 * np.pi * minutes / 1440 + np.array([0.0, 1.0])) + rng.normal(0, 0.05, (len(minutes), 2))
    x = truth.copy()
    x[7000 : 7000 + 3 * 1440] = np.nan
    filled = fill_table(x, ("a", "b"), [T1Candidate(seconds=None, max_steps=120)], forced="t1")
    hole = np.isnan(x)
    error, of_line = (np.abs(f - truth)[hole].mean() for f in (filled.values, linear(x)))
    assert error < 0.8 * of_line
    assert np.corrcoef(filled.values[hole], truth[hole])[0, 1] > 0.5


def test_windows_meet_without_a_seam():
    """Inside long gaps the jump from one row to the next is no larger at window edges than elsewhere."""
    rng = np.random.default_rng(1)
    t = np.arange(3000)[:, None]
    x = np.sin(2 * np.pi * t / 50 + np.arange(3)) + rng.normal(0, 0.05, (3000, 3))
    for begin in range(100, 2900, 200):
        x[begin : begin + 90, begin // 200 % 3] = np.nan
    filled = fill_table(x, ("a", "b", "c"), [T1Candidate(seconds=None, max_steps=50)], forced="t1").values
    inside = np.isnan(x)[1:] & np.isnan(x)[:-1]
    jumps = np.where(inside, np.abs(np.diff(filled, axis=0)), np.nan)
    starts = np.arange(0, 3000 - 96 + 1, 48)
    edges = np.unique(np.concatenate([starts, starts + 96])) - 1  # the jump into and out of each window
    edges = edges[(edges >= 0) & (edges < len(jumps))]
    elsewhere = np.delete(jumps, edges, axis=0)
    assert np.nanmean(jumps[edges]) < 1.25 * np.nanmean(elsewhere)
    assert np.nanmax(jumps[edges]) <= 1.25 * np.nanmax(elsewhere)
