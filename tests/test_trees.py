"""Boosted trees: as arrays they say what scikit-learn says; they find what no straight line tells."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from closed_form import fit_closed, holes
from t1.api.fitted import FittedFill, load
from t1.fill.fit import _to_judge
from t1.methods import forest, trees
from t1.methods.base import LARGE, Budget, Learning, LeftOut
from t1.methods.catalog import fit_of
from t1.methods.forest import Forest, Growth
from t1.methods.seasons import find_periods
from t1.methods.trees import TreesFill
from t1.panel import Panel


def curved(n_rows: int = 900, seed: int = 0) -> np.ndarray:
    """The third column is told by the other two, but by no weighted sum of them."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n_rows))
    return np.column_stack([a, b, np.abs(a) * np.sign(b) + 0.05 * rng.normal(size=n_rows)])


def test_trees_as_arrays_answer_as_scikit_learn_does(monkeypatch):
    rng = np.random.default_rng(0)
    x = np.where(rng.random((700, 5)) < 0.2, np.nan, rng.normal(size=(700, 5))).astype(np.float32)
    y = np.nan_to_num(x[:, 0]) * np.nan_to_num(x[:, 1]) + rng.normal(size=700)
    grown = []
    fit = HistGradientBoostingRegressor.fit
    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", lambda *a: grown.append(fit(*a)) or grown[-1])
    monkeypatch.setattr(forest, "AT_ONCE", 100)
    ours = Forest.grow(x, y, Growth(trees=50, rate=0.11, leaves=31), seed=3)
    new = np.where(rng.random((250, 5)) < 0.3, np.nan, 2 * rng.normal(size=(250, 5))).astype(np.float32)
    np.testing.assert_allclose(ours.ask(new), grown[0].predict(new), rtol=1e-9, atol=1e-12)
    assert np.std(ours.ask(new)) > 0.1


def test_they_find_what_is_no_straight_line():
    truth = curved()
    panel = Panel.of(holes(truth))
    hidden = ~panel.observed[:, 2]
    errors = {}
    for name in ("regression", "trees"):
        filled = fit_of(name)(panel, Learning(periods=find_periods(panel))).fill(panel).values
        errors[name] = np.abs(filled - truth)[hidden, 2].mean()
    assert errors["trees"] < 0.5 * errors["regression"]


def test_they_fill_most_of_such_a_column_and_can_be_kept(tmp_path):
    panel = Panel.of(holes(curved()), list("abc"))
    judged = fit_closed(panel, names=("linear", "regression", "trees"), every=True)
    assert judged.blend.weights[2, 0, judged.method_names.index("trees")] > 0.5
    assert any("trees" in name for name in judged.fill(panel).method_names)
    FittedFill(judged, {}).save(tmp_path / "kept")
    again = load(tmp_path / "kept").judged
    assert again.fill(panel).values.tobytes() == judged.fill(panel).values.tobytes()
    later = Panel.of(holes(curved(seed=5)), list("abc"))
    assert again.fill(later).values.tobytes() == judged.fill(later).values.tobytes()


def test_rows_beside_a_gap_are_those_of_its_own_series():
    """A series that begins with a gap knows nothing of the end of the one before."""
    truth = np.concatenate([curved(), curved(seed=1)])
    gappy = holes(truth)
    gappy[900:903, 2] = np.nan
    filled = TreesFill.fit(Panel.of(gappy, starts=[0, 900]), Learning())
    first = Panel.of(gappy, starts=[0, 900])
    other = gappy.copy()
    other[895:900] += 100.0  # within the range that was learned or not: the next series must not care
    moved = Panel.of(other, starts=[0, 900])
    np.testing.assert_array_equal(filled.fill(first).values[900:903], filled.fill(moved).values[900:903])


def test_they_are_grown_only_where_there_is_time_to_train():
    small, large = Panel.of(curved(100)), Panel.of(np.zeros((LARGE // 2 + 1, 2)))
    assert "trees" in _to_judge(None, Learning(), small)
    assert "trees" not in _to_judge(None, Learning(), small, tune=False)
    assert "trees" not in _to_judge(None, Learning(), large)


def test_they_are_left_out_where_they_would_take_too_much_of_the_budget():
    now = [0.0]

    def tick() -> float:
        now[0] += 0.4  # so long does it take from one look at the clock to the next
        return now[0]

    panel = Panel.of(holes(curved(200)))
    TreesFill.fit(panel, Learning(budget=Budget(1000.0, 0.0, tick)))
    with pytest.raises(LeftOut, match="trees was left out: it would take about"):
        TreesFill.fit(panel, Learning(budget=Budget(now[0] + 60.0, 0.0, tick)))


def test_a_long_budget_grows_more_and_less_again_where_that_takes_too_long(monkeypatch):
    panel = Panel.of(holes(curved(200)))

    def n_trees(budget: Budget | None) -> int:
        return len(TreesFill.fit(panel, Learning(budget=budget)).columns[2].forest.roots)

    assert n_trees(Budget(90.0)) == 50
    assert n_trees(Budget(1000.0)) == n_trees(None) == 80
    assert n_trees(Budget(190.0, cores=2)) == 50  # of two cores: a minute and a half for who waits
    fit = TreesFill._fit.__func__

    def too_slow(cls, panel, learning, effort):
        if effort is trees.LONG_EFFORT:
            raise LeftOut("too slow")
        return fit(cls, panel, learning, effort)

    monkeypatch.setattr(TreesFill, "_fit", classmethod(too_slow))
    assert n_trees(Budget(1000.0)) == 50


def test_ctrl_c_ends_the_growing():
    with pytest.raises(LeftOut, match="stopped early"):
        TreesFill.fit(Panel.of(holes(curved(300))), Learning(should_stop=lambda: True))


def test_they_know_the_day_of_the_week_where_a_season_is_a_day(monkeypatch):
    """Hourly counts of a street that is empty on two days of seven."""
    rng = np.random.default_rng(0)
    hour = np.arange(24 * 7 * 8)
    busy = (hour // 24) % 7 < 5
    truth = np.where(busy, 3 + np.sin(2 * np.pi * hour / 24), 0.5) + 0.05 * rng.normal(size=len(hour))
    gappy = truth[:, None].copy()
    for day in (3, 12, 19, 25, 33, 40, 47):  # gaps of a whole day, of both kinds
        gappy[day * 24 : day * 24 + 24] = np.nan
    panel = Panel.of(gappy)
    errors = []
    for least in (trees.DAY, 25):
        monkeypatch.setattr(trees, "DAY", least)
        filled = TreesFill.fit(panel, Learning(periods={None: 24})).fill(panel).values
        errors.append(np.abs(filled[:, 0] - truth)[np.isnan(gappy[:, 0])].mean())
    assert errors[0] < 0.7 * errors[1]
