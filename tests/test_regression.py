"""The regression: what it is learned from, what tells it a cell, and how it remembers what it missed."""

import numpy as np
import pytest

from t1.data.scale import Scaler
from t1.fill.fit import _to_judge
from t1.fill.rehearsal import rehearse
from t1.methods.base import LARGE, Learning
from t1.methods.catalog import fit_of
from t1.methods.memory import Memory
from t1.methods.regression import learn_regression, regression
from t1.methods.ridge import PENALTIES, ridge
from t1.methods.simple import linear
from t1.methods.t1 import T1Fill
from t1.panel import Panel

NAN = np.nan


def walk(n, seed=0, decay=1.0):
    steps = np.random.default_rng(seed).normal(size=n)
    out = np.zeros(n)
    for t in range(1, n):
        out[t] = decay * out[t - 1] + steps[t]
    return out


def error(filled, truth, gappy):
    return np.abs(filled - truth)[np.isnan(gappy)].mean()


# What is missed.


@pytest.mark.parametrize(("decay", "noise"), [(0.5, 0.0), (0.9, 0.0), (0.95, 1.0)])
def test_a_memory_is_found(decay, noise):
    rng = np.random.default_rng(1)
    missed = walk(20_000, decay=decay)
    share = missed.var() / (missed.var() + noise * missed.var())
    missed = missed + rng.normal(0, np.sqrt(noise * missed.var()), len(missed))
    missed[rng.random(len(missed)) < 0.2] = NAN
    found = Memory.of(missed)
    assert found.share == pytest.approx(share, abs=0.06)
    assert found.decay == pytest.approx(decay, abs=0.05)


def test_a_memory_is_found_of_a_column_that_is_sampled_more_slowly():
    missed = walk(30_000, decay=0.97)
    slow = np.full_like(missed, NAN)
    slow[3::7] = missed[3::7]
    slow[1000] = missed[1000]  # a stray value between two samples
    found = Memory.of(slow)
    assert found.share > 0.9 and found.decay == pytest.approx(0.97, abs=0.02)


def test_noise_has_no_memory_and_nothing_has_none():
    assert Memory.of(np.random.default_rng(0).normal(size=5000)).at_once < 0.05
    for nothing in (np.full(100, NAN), np.zeros(100), np.zeros(0), np.array([1.0, NAN])):
        assert Memory.of(nothing) == Memory(0.0, 0.0)


def test_what_is_carried_is_the_best_linear_prediction():
    memory, missed = Memory(0.8, 0.9), np.array([2.0, -1.0])
    to_before, to_after = np.array([1, 2, 7]), np.array([9, 8, 3])
    across = memory.share * memory.decay**10
    known = np.array([[1.0, across], [across, 1.0]])
    for a, b in zip(to_before.tolist(), to_after.tolist(), strict=True):
        near = memory.share * memory.decay ** np.array([a, b])
        expected = near @ np.linalg.solve(known, missed)
        got = memory.carried(np.array([a]), np.array([b]), missed[:1], missed[1:])
        np.testing.assert_allclose(got, expected)


# The weights.


def test_a_ridge_is_the_textbook_one_for_some_penalty():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 400)).astype(np.float32)
    y = (np.arange(5) @ x + 3 + rng.normal(0, 0.1, 400)).astype(np.float32)
    weights, intercept = ridge(x, y)
    centred = x - x.mean(axis=1, keepdims=True)
    spread, cross = centred @ centred.T / 400, centred @ (y - y.mean()) / 400
    every = [np.linalg.solve(spread + p * np.eye(5), cross) for p in PENALTIES]
    assert min(np.abs(weights - w).max() for w in every) < 1e-3
    assert intercept == pytest.approx(float(y.mean() - weights @ x.mean(axis=1)), abs=1e-3)
    np.testing.assert_allclose(weights, np.arange(5), atol=0.05)


def test_weights_of_noise_are_small():
    rng = np.random.default_rng(0)
    weights, _ = ridge(rng.normal(size=(30, 100)).astype(np.float32), rng.normal(size=100).astype(np.float32))
    assert np.abs(weights).max() < 0.05


# What tells a cell.


def test_changes_tell_a_column_whose_level_drifts_by_itself():
    """Both follow one walk, and each has another of its own."""
    truth = np.column_stack([walk(1500, 1), walk(1500, 2)]) + 2 * walk(1500, 3)[:, None]
    gappy = truth.copy()
    gappy[400:430, 0] = gappy[900:910, 1] = NAN
    assert error(regression(gappy), truth, gappy) < 0.8 * error(linear(gappy), truth, gappy)


def test_changes_also_tell_such_a_column_that_is_sampled_more_slowly():
    truth = np.column_stack([walk(1400, 1), walk(1400, 2)]) + 2 * walk(1400, 3)[:, None]
    gappy = truth.copy()
    gappy[np.arange(1400) % 7 > 0, 1] = NAN
    assert error(regression(gappy), truth, gappy) < 0.7 * error(linear(gappy), truth, gappy)


def test_flows_are_told_in_units_in_which_they_move_evenly(monkeypatch):
    common = walk(2000, 1, decay=0.98)
    steps = np.column_stack([common + walk(2000, seed, decay=0.9) / 2 for seed in (2, 3, 4)])
    truth = np.exp(steps / 4)
    gappy = truth.copy()
    gappy[np.random.default_rng(0).random(truth.shape) < 0.3] = NAN
    evened = error(regression(gappy), truth, gappy)
    monkeypatch.setattr(Scaler, "even", Scaler.from_observed)
    assert evened < 0.97 * error(regression(gappy), truth, gappy)


def test_a_long_outage_is_told_by_the_other_columns():
    rng = np.random.default_rng(0)
    base = walk(2000, 4, decay=0.98)
    truth = np.column_stack([base + 0.1 * rng.normal(size=2000) for _ in range(4)])
    gappy = truth.copy()
    gappy[600:900, 0] = gappy[800:1000, 1] = NAN
    assert error(regression(gappy), truth, gappy) < 0.12 * error(linear(gappy), truth, gappy)


def test_a_column_that_comes_a_row_later_is_told_by_the_row_before():
    source = np.random.default_rng(0).normal(size=1001)
    truth = np.column_stack([source[1:], source[:-1]])
    gappy = truth.copy()
    gappy[300:340, 1] = NAN
    assert error(regression(gappy), truth, gappy) < 0.05


def test_a_column_alone_is_told_by_its_season_and_the_days_around():
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 60)
    size = 1 + np.repeat(walk(60, 5, decay=0.95), 24) / 4  # some days are higher than others
    truth = (size * np.sin(2 * np.pi * hours / 24) + 0.02 * rng.normal(size=len(hours)))[:, None]
    gappy = truth.copy()
    for day in range(5, 55, 7):
        gappy[24 * day + 3 : 24 * day + 20] = NAN
    learned = learn_regression(gappy, 24)
    filled = gappy.copy()
    ((_, filled[:, 0]),) = learned.fill(gappy)
    assert error(filled, truth, gappy) < 0.4 * error(linear(gappy), truth, gappy)


def test_weights_of_one_table_fill_another():
    rng = np.random.default_rng(0)
    truth = walk(1200, 6)[:, None] * [1.0, -2.0, 0.5] + 0.05 * rng.normal(size=(1200, 3))
    first, second = truth[:800].copy(), truth[800:].copy()
    first[rng.random(first.shape) < 0.1] = NAN
    second[100:200, 1] = NAN
    learned = learn_regression(first, None)
    filled = second.copy()
    for j, column in learned.fill(second):
        filled[:, j] = column
    assert error(filled, truth[800:], second) < 0.15 * error(linear(second), truth[800:], second)
    np.testing.assert_array_equal(filled[~np.isnan(second)], second[~np.isnan(second)])


def test_a_part_of_a_table_is_filled_as_the_whole_is():
    """Weights were learned with columns filled in some order; in a part, where others miss most, it is the same."""
    rng = np.random.default_rng(2)
    factors = np.stack([walk(1200, seed, decay=0.97) for seed in range(3)], axis=1)
    table = factors @ rng.normal(size=(3, 8)) + rng.normal(0, 0.2, (1200, 8))
    table[rng.random(table.shape) < 0.5] = NAN
    learned = learn_regression(table, None)
    part = slice(400, 700)
    assert (np.argsort(np.isnan(table[part]).sum(axis=0)) != np.argsort(np.isnan(table).sum(axis=0))).any()
    whole = dict(learned.fill(table))
    for j, column in learned.fill(table[part]):
        np.testing.assert_allclose(column[40:-40], whole[j][part][40:-40], atol=1e-5)


# T1 on the rest.


def test_t1_on_the_rest_adds_to_what_the_regression_says():
    """Columns tell each other's noise, and each has a slow wave of its own that only its own time tells."""
    rng = np.random.default_rng(0)
    waves = np.sin(np.arange(600)[:, None] / [9.0, 13.0, 17.0])
    truth = waves + 2 * rng.normal(size=(600, 1))
    gappy = truth.copy()
    gappy[200:220, 0] = gappy[300:330, 1] = gappy[400:410, 2] = NAN
    panel = Panel.of(gappy)
    errors = {}
    for name in ("regression", "t1-zero", "t1-rest"):
        filled = fit_of(name)(panel, Learning(periods={None: None})).fill(panel)
        errors[name] = error(filled.values, truth, gappy)
    assert errors["t1-rest"] < 0.8 * min(errors["regression"], errors["t1-zero"])


def test_a_series_that_the_regression_never_saw_has_no_answer():
    values = np.random.default_rng(0).normal(size=(200, 3)).cumsum(axis=0)
    values[50:60, 1] = NAN
    fitted = fit_of("t1-rest")(Panel.of(values, ids=["a"]), Learning())
    assert np.isfinite(fitted.fill(Panel.of(values, ids=["a"])).values).all()
    assert np.isnan(fitted.fill(Panel.of(values, ids=["b"])).values[55, 1])


def test_a_large_table_or_one_without_weights_does_without():
    values = np.random.default_rng(0).normal(size=(200, 3)).cumsum(axis=0)
    small, large = Panel.of(values), Panel.of(np.zeros((LARGE // 2 + 1, 2)))
    assert "t1-rest" in _to_judge(None, Learning(), small)
    assert "t1-rest" not in _to_judge(None, Learning(), large)
    assert "t1-rest" not in _to_judge(None, Learning(weights="none"), small)
    sample = Learning(cells=LARGE + 1)  # of a large table
    assert "t1-rest" not in _to_judge(None, sample, small)
    assert T1Fill.fit(small, sample).regression is None
    assert T1Fill.fit(small, Learning()).regression is not None


def test_methods_that_learn_are_judged_without_the_cells_of_one_fold():
    values = np.random.default_rng(0).normal(size=(400, 3)).cumsum(axis=0)
    values[::9, 1] = NAN
    r = rehearse(Panel.of(values), np.random.default_rng(1))
    assert r.known < 0.95
    seen = np.zeros(r.panel.n_rows, dtype=int)
    for fold, (masked, copies, rows) in enumerate(r.by_fold):
        mine = r.fold == fold
        assert np.isnan(
            masked.values[r.source[mine], r.column[mine]]
        ).all()  # hidden from who is judged there
        others = masked.values[r.source[~mine], r.column[~mine]]
        np.testing.assert_array_equal(others, r.truth[~mine])
        np.testing.assert_array_equal(copies.values, r.panel.values[rows])
        assert ((r.row[mine] >= rows.start) & (r.row[mine] < rows.stop)).all()
        seen[rows] += 1
    assert (seen == 1).all()
