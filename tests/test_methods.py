"""One contract for every method of the list that is no network: learn, fill, never change the input."""

import pickle
import warnings
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from closed_form import driven, holes
from t1.errors import InputError
from t1.methods import windows
from t1.methods.base import SLACK, Budget, Learning, LeftOut, Pace
from t1.methods.catalog import METHODS, MODELS, fit_of
from t1.methods.groups import MOST, group_columns
from t1.methods.seasons import find_periods
from t1.methods.t1 import BOTH_WAYS, T1Fill
from t1.panel import Panel

NAN = np.nan
# "related" answers only for columns that follow from others, "t1-week" where one goes by the week: test_api.py and
# test_week.py have their tests
SOME = ("related", "t1-week")
CLOSED = [n for n in METHODS if n not in (*MODELS, "t1-zero", *SOME) and not METHODS[n].absent]
FAST = [name for name in CLOSED if name not in ("pswi", "iterative", "knn")]
no_answer = {
    "seasonal",
    "regression",
    "together",
    "trees",
}  # where there is no season, or too little to learn from
cells = st.one_of(st.just(NAN), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0]))
tables = hnp.arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=cells)


def learned(name: str, panel: Panel, **more):
    learning = Learning(periods=find_periods(panel), **more)
    return fit_of(name)(panel, learning)


def check(name: str, panel: Panel, other: Panel | None = None) -> np.ndarray:
    """Fit to a panel, then fill it, or another one."""
    other = panel if other is None else other
    before = panel.values.copy(), other.values.copy()
    fitted = learned(name, panel, every=True)
    fill = fitted.fill(other)
    np.testing.assert_array_equal(panel.values, before[0])
    np.testing.assert_array_equal(other.values, before[1])
    assert fitted.name == name
    assert fill.values.shape == other.values.shape
    assert not np.isinf(fill.values).any()
    seen = other.observed & ~np.isnan(fill.values)
    np.testing.assert_allclose(fill.values[seen], other.values[seen], rtol=1e-9)
    np.testing.assert_array_equal(fitted.fill(other).values, fill.values)  # a fill changes nothing in it
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.fill(other).values, fill.values)
    return fill.values


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=25)
@given(table=tables, cut=st.integers(0, 40))
def test_any_panel_is_filled_or_left_without_an_answer(name, table, cut):
    starts = [0, cut] if 0 < cut < len(table) else [0]
    panel = Panel.of(table, starts=starts)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        values = check(name, panel)
    for span in panel.spans:
        alive = panel.observed[span].any(axis=0)
        if name not in no_answer:
            assert np.isfinite(values[span][:, alive]).all()


@pytest.mark.parametrize("name", CLOSED)
def test_a_panel_of_two_series_is_filled(name):
    if name == "pswi":
        pytest.skip("PSW-I takes minutes; test_pswi has its tests")
    season = 5 * np.sin(2 * np.pi * np.arange(600) / 24)[:, None]
    panel = Panel.of(holes(driven(600) + season), starts=[0, 300], ids=["x", "y"])
    values = check(name, panel)
    assert np.isfinite(values).all()
    later = Panel.of(holes(driven(100, seed=5) + season[:100]), ids=["x"])
    assert np.isfinite(check(name, panel, later)).all()


@pytest.mark.parametrize("name", FAST)
def test_series_do_not_touch(name):
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 1e4], 200)
    panel = Panel.of(holes(level[:, None] + rng.normal(size=(400, 2))), starts=[0, 200], ids=["x", "y"])
    values = check(name, panel)
    far = np.abs(values - level[:, None])[np.isfinite(values)]
    assert (
        far < (50 if name == "together" else 10)
    ).all()  # one slope for both: exact to a hundredth of their spread


@pytest.mark.parametrize("name", ["seasonal", "regression", "together"])
@pytest.mark.parametrize("phase", [0, 3, 24 * 100 + 17])
def test_a_season_is_at_its_place_on_the_clock(name, phase):
    """The table of the fit begins at any hour, and so does the one that is filled."""
    wave = np.sin(2 * np.pi * np.arange(480) / 24)[:, None]
    panel = Panel.of(holes(wave, 0.05), phase=[phase])
    fitted = learned(name, panel)
    np.testing.assert_allclose(fitted.fill(panel).values, wave, atol=0.1)
    later = Panel.of(np.where(np.arange(60)[:, None] % 20 < 15, NAN, wave[7:67]), phase=[phase + 7])
    np.testing.assert_allclose(
        fitted.fill(later).values, wave[7:67], atol=0.4
    )  # long gaps, learned on points


def test_an_unknown_method_is_told_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'linear'"):
        fit_of("liner")


def test_every_method_says_what_it_is():
    for name, method in METHODS.items():
        assert method.title and method.family and ":" in method.place, name
    defaults = [name for name, method in METHODS.items() if method.default]
    assert defaults[0] == "linear"  # a judged fill begins with it
    assert "t1" in defaults


# Groups of columns for the network.


def test_groups_fill_every_column_once_and_see_those_close_to_it():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 5)).cumsum(axis=0)
    x = np.repeat(base, 40, axis=1) + rng.normal(0, 0.01, (300, 200))
    order = rng.permutation(200)
    x = x[:, order]
    x[:, 7] = NAN
    groups = group_columns(Panel.of(holes(x)))
    own = [j for group in groups for j in group.columns[: group.n_own].tolist()]
    assert sorted(own) == [j for j in range(200) if j != 7]
    assert all(
        len(group.columns) <= MOST and len(set(group.columns.tolist())) == len(group.columns)
        for group in groups
    )
    for group in groups:  # whoever is filled has columns of its kind beside it
        kinds = order[group.columns] // 40
        assert all((kinds == kind).sum() >= 8 for kind in kinds[: group.n_own])


def test_a_narrow_table_is_one_group_without_empty_columns():
    x = driven(50, 3)
    x[:, 1] = NAN
    (group,) = group_columns(Panel.of(x))
    assert group.columns.tolist() == [0, 2] and group.n_own == 2
    assert group_columns(Panel.of(np.full((5, 2), NAN))) == []


# Time.


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_spent_and_what_is_to_come_is_not_left():
    clock = Clock()
    budget = Budget(100.0, 0.0, clock=clock, ahead=2.0)
    clock.now = 10.0
    assert budget.left() == pytest.approx(100 * (1 - SLACK) - 10 - 2)
    assert Learning(budget=budget).left() == budget.left()
    assert Learning().left() == np.inf


def test_a_method_that_would_take_too_long_is_stopped_at_once():
    clock = Clock()
    learning = Learning(budget=Budget(100.0, 0.0, clock=clock))
    pace = Pace(learning, "regression", times=4, began=0.0)
    clock.now = 2.0
    pace(0.0)  # 2 s to set up
    clock.now = 2.5
    pace(0.001)  # too early to say
    clock.now = 12.0
    pace(0.5)  # 22 s each: 88 s of 97
    with pytest.raises(LeftOut, match="regression was left out: it would take about 408 s"):
        pace(0.1)


def test_a_regression_that_does_not_fit_the_budget_is_left_out():
    clock = Clock()
    began = clock.now = perf_counter()

    def tick() -> float:
        clock.now += 0.6  # so long does it take from one look at the clock to the next
        return clock.now

    panel = Panel.of(holes(driven(400)))
    with pytest.raises(LeftOut, match="regression was left out"):
        fit_of("regression")(panel, Learning(budget=Budget(10.0, began, clock=tick)))


def test_a_regression_fills_a_series_in_which_a_column_was_never_observed():
    """A station without a rain gauge, or a stretch of a long outage: the other columns tell what they can."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(600, 3)).cumsum(axis=0)
    values[:, 1] = values[:, 0] + 0.1 * rng.normal(size=600)
    holed = values.copy()
    holed[100:400:7, 1] = np.nan
    fitted = fit_of("regression")(Panel.of(holed), Learning())
    dark = values[:200].copy()
    dark[:, 1] = np.nan
    assert np.isfinite(fitted.fill(Panel.of(dark)).values[:, 1]).all()


def test_t1_fills_a_small_table_both_ways_in_time():
    values = np.random.default_rng(0).normal(0, 1, (96, 4)).cumsum(axis=0)
    values -= values.mean(
        axis=0
    )  # what is never negative is looked at in other units than what is never positive
    values[30:50, 1] = np.nan
    turned = -values[::-1]
    fills = []
    for table in (values, turned):
        panel = Panel.of(table, starts=[0])
        method = T1Fill.alone(panel, Learning())  # a regression learns a little differently backwards
        assert method.both_ways
        fills.append(method.fill(panel))
    np.testing.assert_allclose(fills[0].values, -fills[1].values[::-1], atol=1e-4)
    np.testing.assert_allclose(fills[0].down, fills[1].up[::-1], atol=1e-4)
    one_way = method.fill(panel, stride=48)
    assert np.abs(one_way.values - fills[1].values)[np.isnan(turned)].max() > 1e-3  # that was a mean of two
    long = fit_of("t1")(Panel.of(np.resize(values, (BOTH_WAYS // 4 + 1, 4)), starts=[0]), Learning())
    assert not long.both_ways


def test_t1_is_told_by_a_regression_what_no_correlation_of_rows_shows():
    rng = np.random.default_rng(4)
    driver = rng.normal(size=601)
    truth = np.stack([driver[1:], driver[:-1] + 0.02 * rng.normal(size=600)], axis=1)  # one row behind
    values = truth.copy()
    values[200:240, 1] = np.nan
    panel = Panel.of(values)
    told, alone = T1Fill.fit(panel, Learning()), T1Fill.alone(panel, Learning())
    assert told.trust is not None and told.trust[1] > 0.9
    error = [np.abs(t1.fill(panel).values - truth)[200:240, 1].mean() for t1 in (told, alone)]
    assert error[0] < 0.6 * error[1]


def test_a_series_that_the_regression_has_not_seen_is_filled_by_relations():
    values = np.random.default_rng(5).normal(size=(300, 3))
    values[40:44, 1] = np.nan
    fitted = T1Fill.fit(Panel.of(values, ids=["a"], starts=[0]), Learning())
    assert fitted.regression is not None and set(fitted.regression.by_id) == {"a"}
    other = Panel.of(values, ids=["b"], starts=[0])
    np.testing.assert_array_equal(
        fitted.fill(other).values, replace(fitted, regression=None, trust=None).fill(other).values
    )


def test_coarser_rates_look_only_where_a_gap_is_long(monkeypatch):
    """A window that holds no cell of a long gap is not filled at a coarser rate, and changes nothing."""
    values = driven(6000, 3)
    values[2000:2150, 1] = np.nan  # too long for the network to look across
    values[np.arange(6000) % 60 < 10, 0] = np.nan  # these are not
    panel = Panel.of(values)
    sparse = T1Fill.alone(panel, Learning())
    n_windows, real = [], windows._levels

    def count(network, values, *rest, **more):
        n_windows.append(len(values))
        return real(network, values, *rest, **more)

    monkeypatch.setattr(windows, "_levels", count)
    filled = sparse.fill(panel).values
    here = sum(n_windows)
    monkeypatch.setattr(windows, "_blocks", lambda rows, rate: np.ones(-(-len(rows) // rate), dtype=bool))
    n_windows.clear()
    everywhere = sparse.fill(panel).values
    assert here < sum(n_windows) - 20
    np.testing.assert_allclose(filled[2010:2140, 1], everywhere[2010:2140, 1], rtol=0, atol=1e-4)
    untouched = np.isnan(values)
    untouched[1900:2250] = False
    np.testing.assert_array_equal(filled[untouched], everywhere[untouched])


def test_pace_goes_by_the_clock_of_the_budget():
    """A budget of processor time: the machine's own clock stands somewhere else."""
    now = [100.0]
    pace = Pace(Learning(budget=Budget(10.0, now[0], lambda: now[0])), "regression", times=3)
    pace(0.0)
    now[0] += 2.0
    with pytest.raises(LeftOut, match="about 12 s"):
        pace(0.5)
