"""Columns that some series of a panel never measured: their level is told by other series and other columns."""

import numpy as np
import pytest

import t1
from t1.fill.gaps import NEVER
from t1.fill.rehearsal import rehearse
from t1.methods.base import Learning
from t1.methods.columns import Linear
from t1.methods.t1 import T1Fill
from t1.panel import Panel

pd = pytest.importorskip("pandas")


def countries(n: int, years: int, lacking: dict[int, list[str]], seed: int = 0) -> tuple["pd.DataFrame", ...]:
    """Income tells how long people live, in each country on a level of its own; the truth, and a table with holes."""
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(n):
        income = rng.normal(8, 1) + np.cumsum(rng.normal(0.02, 0.03, years))
        life = 20 + 5 * income + rng.normal(0, 1) + rng.normal(0, 0.3, years)
        parts.append({"country": f"c{k:02}", "year": 1960 + np.arange(years), "income": income, "life": life})
    truth = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
    table = truth.copy()
    hidden = rng.random((len(table), 2)) < 0.08
    table[["income", "life"]] = table[["income", "life"]].mask(hidden)
    for k, names in lacking.items():
        table.loc[table["country"] == f"c{k:02}", names] = np.nan
    return truth, table


LACKING = {3: ["life"], 11: ["life"], 17: ["life"], 20: ["income"], 26: ["life"]}


def test_what_a_country_never_measured_is_on_its_own_level_within_intervals_that_hold():
    truth, table = countries(30, 24, LACKING)
    result = t1.impute(table, budget="fast", intervals=0.9, id="country", time="year")
    never = np.zeros(len(table), dtype=bool)
    for k in (3, 11, 17, 26):
        never |= (table["country"] == f"c{k:02}").to_numpy()
    fill, right = result.data["life"][never], truth["life"][never]
    level = (truth["life"][never] - truth["life"].median()).abs().mean()
    assert (fill - right).abs().mean() < 0.6 * level  # a typical value is the simplest answer
    j = result.columns.index("life")
    lo, hi = result.lo[never, j], result.hi[never, j]
    assert ((lo <= right) & (right <= hi)).mean() > 0.6
    scores = {s.gap: s for s in result.scorecard.scores if s.column == "life"}
    assert scores["never"].missing == never.sum() and scores["never"].tested
    assert "together" in scores["never"].method
    assert scores["never"].mae < scores["never"].linear_mae


def test_where_no_other_series_could_be_hidden_a_typical_value_stands_in_a_wide_interval():
    _, table = countries(2, 120, {1: ["life"]})
    result = t1.impute(table, budget="fast", intervals=0.9, id="country", time="year")
    mine = (table["country"] == "c01").to_numpy()
    known = table["life"].dropna().to_numpy()
    fill = result.data["life"][mine].to_numpy()
    assert set(np.round(fill, 9)) <= set(np.round(known, 9)) and len(set(fill)) == 1
    j = result.columns.index("life")
    width = result.hi[mine, j] - result.lo[mine, j]
    assert (width > 2 * known.std()).all()
    (score,) = (s for s in result.scorecard.scores if s.gap == "never")
    assert not score.tested and score.method == "linear"


def test_t1_has_no_answer_for_a_level_that_it_cannot_know():
    rng = np.random.default_rng(0)
    values = 500 + np.cumsum(rng.normal(size=(300, 3)), axis=0)
    values[rng.random(values.shape) < 0.1] = np.nan
    values[100:140, 1] = np.nan
    values[140:, 2] = np.nan
    panel = Panel.of(values, starts=[0, 100, 140])
    fill = T1Fill.fit(panel, Learning()).fill(panel).values
    never = np.zeros(values.shape, dtype=bool)
    never[100:140, 1] = never[140:, 2] = True
    assert np.isnan(fill[never]).all() and np.isfinite(fill[~never]).all()


def test_linear_takes_a_value_that_was_observed_elsewhere():
    panel = Panel.of(
        np.array([[1.0, 7.0], [np.nan, 8.0], [3.0, 9.0], [np.nan, 5.0], [np.nan, 6.0]]), starts=[0, 3]
    )
    assert Linear.fit(panel, Learning()).fill(panel).values[:, 0].tolist() == [1, 2, 3, 1, 1]
    alone = Panel.of(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
    assert np.isnan(Linear.fit(alone, Learning()).fill(alone).values[:, 0]).all()


@pytest.mark.parametrize("columns", [3, 20])  # few runs of an event are laid one by one, many at once
def test_whole_series_are_hidden_and_no_stretch_of_one(columns):
    rng = np.random.default_rng(1)
    sizes = rng.integers(20, 140, 40)
    starts = np.cumsum([0, *sizes[:-1]])
    values = rng.normal(size=(int(sizes.sum()), columns))
    values[rng.random(values.shape) < 0.05] = np.nan
    ends = [*starts[1:].tolist(), len(values)]
    for s in (4, 9, 22):
        values[starts[s] : ends[s], : columns - 1] = np.nan
    panel = Panel.of(values, starts=starts.tolist())
    r = rehearse(panel, np.random.default_rng(0))
    never = r.code == NEVER
    assert never.any()
    series = np.searchsorted(starts, r.source[never], side="right") - 1
    for s, j in set(zip(series.tolist(), r.column[never].tolist(), strict=True)):
        assert np.isnan(r.masked.values[starts[s] : ends[s], j]).all()  # nobody may learn from any of it


def test_a_panel_of_many_short_series_is_rehearsed_on_some_of_them():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(900 * 4, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    r = rehearse(Panel.of(values, starts=list(range(0, len(values), 4))), np.random.default_rng(0))
    assert 0 < len(r.panel.spans) < 900


def test_many_short_series_at_once_are_filled_as_one_by_one():
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=(600, 3)), axis=0)
    values[rng.random(values.shape) < 0.2] = np.nan
    starts = [0, 10, 30, 50, 90, 300, 310, 340]
    panel = Panel.of(values, starts=starts)
    fitted = T1Fill.fit(panel, Learning(periods={}))
    every = fitted.fill(panel)
    for k, span in enumerate(panel.spans):
        alone = fitted.fill(panel.take([(k, span.start, span.stop)]))
        for name in ("values", "down", "up"):
            together, single = getattr(every, name)[span], getattr(alone, name)
            np.testing.assert_allclose(together, single, rtol=1e-4, atol=1e-4)


def test_a_later_table_without_one_of_the_columns_is_filled_from_the_others():
    rng = np.random.default_rng(0)
    base = 10 * np.sin(np.arange(900) / 20) + rng.normal(size=900)
    times = pd.date_range("2024-01-01", periods=900, freq="h")
    truth = pd.DataFrame({n: k * base + rng.normal(0, 0.3, 900) for k, n in enumerate("abc", 1)}, times)
    fitted = t1.fit(truth[:600].mask(rng.random((600, 3)) < 0.1), budget="fast")
    later = truth[600:].assign(b=np.nan)
    result = fitted.apply(later, intervals=0.9)
    assert (result.data["b"] - truth["b"][600:]).abs().mean() < 0.1 * truth["b"].std()
    assert np.isfinite(result.lo[:, 1]).all() and set(result.provenance["method"]) == {"regression"}
