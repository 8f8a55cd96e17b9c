"""T1 over weeks: what goes by the week is found, and filled from the same hour a week away."""

import numpy as np
import pytest

import t1
from t1.errors import InputError
from t1.fill import fit
from t1.fill.fit import fit_panel
from t1.fill.keep import load_kept, save_kept
from t1.methods.base import Learning
from t1.methods.seasons import WEEKS, find_periods, find_weeks
from t1.methods.t1 import T1Fill
from t1.methods.tune import TunedFill
from t1.methods.week import WeekFill, untuned
from t1.panel import Panel

NAN = np.nan


def street(n_weeks=8, *, weekends=True, seed=0):
    """Hourly counts of a street with two rush hours, fewer people at weekends; and a temperature."""
    rng = np.random.default_rng(seed)
    hours = np.arange(168 * n_weeks)
    hour, day = hours % 24, hours // 24 % 7
    rush = np.exp(-(((hour - 8) / 2) ** 2)) + np.exp(-(((hour - 17) / 2) ** 2))
    noon = 0.7 * np.exp(-(((hour - 14) / 4) ** 2))
    busy = np.where((day >= 5) & weekends, noon, rush)
    count = 100 * busy * (1 + 0.1 * rng.normal(size=len(hours))) + 5 * rng.random(len(hours))
    warm = 10 + 5 * np.sin(hour / 24 * 2 * np.pi) + rng.normal(size=len(hours))
    return np.column_stack([count, warm])


def with_gaps(truth, seed=1, length=20):
    rng = np.random.default_rng(seed)
    gappy = truth.copy()
    for start in rng.choice(len(truth) - length, len(truth) // (5 * length), replace=False):
        gappy[start : start + length, 0] = NAN
    return gappy


def test_what_goes_by_the_week_is_found():
    panel = Panel.of(with_gaps(street()))
    periods = find_periods(panel)
    assert periods == {None: 24}
    assert find_weeks(panel, periods) == {None: 168}


def test_days_that_are_all_alike_go_by_the_day_and_a_few_weeks_say_nothing():
    alike = Panel.of(street(weekends=False))
    assert find_weeks(alike, {None: 24}) == {}
    assert find_weeks(Panel.of(street(WEEKS)), {None: 24}) == {None: 168}
    assert find_weeks(Panel.of(street(WEEKS)[:-1]), {None: 24}) == {}
    assert find_weeks(Panel.of(street()), {None: 12}) == find_weeks(Panel.of(street()), {None: None}) == {}


def test_nothing_or_a_constant_goes_by_no_week():
    table = street()
    table[:, 0], table[:, 1] = NAN, 3.0
    with np.errstate(all="raise"):
        assert find_weeks(Panel.of(table), {None: 24}) == {}


def test_each_series_goes_by_its_own():
    tables = [street(), street(weekends=False)]
    panel = Panel.of(np.concatenate(tables), starts=[0, len(tables[0])], ids=["street", "lake"])
    assert find_weeks(panel, {"street": 24, "lake": 24}) == {"street": 168}


def test_the_blend_fills_a_street_from_the_week(monkeypatch):
    truth = street()
    gappy = with_gaps(truth)
    panel, hidden = Panel.of(gappy), np.isnan(gappy)
    judged = fit_panel(panel, Learning(), tune=False)
    assert "t1-week" in judged.method_names
    errors = [np.abs(judged.fill(panel).values - truth)[hidden].mean()]
    monkeypatch.setattr(fit, "find_weeks", lambda *_: {})
    by_day = fit_panel(panel, Learning(), tune=False)
    assert "t1-week" not in by_day.method_names
    errors.append(np.abs(by_day.fill(panel).values - truth)[hidden].mean())
    assert errors[0] < 0.8 * errors[1]


def test_it_is_refused_by_name_where_nothing_goes_by_the_week():
    with pytest.raises(InputError, match="no column goes by the week"):
        t1.impute(with_gaps(street(weekends=False)), budget="fast", method="t1-week")


def test_a_kept_fill_is_the_same(tmp_path):
    panel = Panel.of(with_gaps(street()))
    learning = Learning(weeks={None: 168}, periods={None: 24})
    fitted = WeekFill.fit(panel, learning)
    assert fitted.periods == {None: 168}
    save_kept(tmp_path / "kept", "test", {"fill": fitted})
    again = load_kept(tmp_path / "kept", "test", "")["fill"]
    assert type(again) is WeekFill
    np.testing.assert_array_equal(again.fill(panel).values, fitted.fill(panel).values)


def test_a_tuned_network_goes_by_what_it_started_from():
    panel = Panel.of(with_gaps(street(6)))
    learning = Learning(weeks={None: 168}, periods={None: 24})
    for start in (T1Fill.fit(panel, learning), WeekFill.fit(panel, learning)):
        tuned = TunedFill.train(start, panel, learning, np.inf, max_steps=2).fill
        assert tuned.periods == start.periods
        assert type(untuned(tuned, panel, learning)) is type(start)
