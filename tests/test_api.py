"""t1.impute: containers, panels, options, rules; the engine's parts have tests of their own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from t1.fill.learned import T1Candidate, group_columns

import t1
from t1.errors import InputError
from t1.options import Options, _seconds

QUICK = {"budget": "2s"}


def day_and_night(rows: int = 500, n_vars: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.arange(rows)[:, None]
    x = 10 * np.sin(2 * np.pi * t / 24 + np.arange(n_vars)) + 50 + rng.normal(0, 0.3, (rows, n_vars))
    x[rng.random(x.shape) < 0.08] = np.nan
    x[100:130, 0] = np.nan
    return x.round(3)


def frame() -> pd.DataFrame:
    times = pd.date_range("2024-01-01", periods=500, freq="h", name="when")
    table = pd.DataFrame(day_and_night(), columns=["a", "b", "c"], index=times)
    return table.assign(place="here")


def assert_only_gaps_changed(before: pd.DataFrame, after: pd.DataFrame) -> None:
    seen = before.notna()
    assert before.where(seen).equals(after.where(seen))


def test_pandas_keeps_everything_but_the_gaps():
    table = frame()
    result = t1.impute(table, intervals=0.9, **QUICK)
    assert list(result.data.columns) == ["a", "b", "c", "place"]
    pd.testing.assert_index_equal(result.data.index, table.index)
    assert result.data.notna().all().all()
    assert_only_gaps_changed(table, result.data)
    where = result.provenance
    assert len(where) == table.isna().sum().sum()
    assert (where["lo"] <= where["value"]).all() and (where["value"] <= where["hi"]).all()
    assert result.scorecard.cells > 0 and "linear" in result.scorecard.verdict.lower()


def test_polars_and_arrays():
    x = day_and_night()
    result = t1.impute(pl.DataFrame(x, schema=["a", "b", "c"]), method="linear", **QUICK)
    assert isinstance(result.data, pl.DataFrame) and np.isfinite(result.data.to_numpy()).all()
    result = t1.impute(x, method="seasonal", **QUICK)
    assert isinstance(result.data, np.ndarray) and np.isfinite(result.data).all()
    assert np.array_equal(result.data[~np.isnan(x)], x[~np.isnan(x)])


def test_t1_can_be_forced_and_learns():
    result = t1.impute(day_and_night(), method="t1", **QUICK)
    assert result.method_names == ("linear", "t1")
    assert (result.method[np.isnan(day_and_night())] == 1).all()


def test_a_panel_is_filled_series_by_series():
    long = pd.concat(
        [
            pd.DataFrame({"who": name, "v": np.where(np.arange(60) % 9 == 4, np.nan, level)})
            for name, level in (("low", 1.0), ("high", 1000.0))
        ],
        ignore_index=True,
    )
    mixed = long.sample(frac=1, random_state=0)
    result = t1.impute(mixed, id="who", method="linear", **QUICK)
    filled = result.data
    assert set(filled.loc[filled["who"] == "low", "v"]) == {1.0}
    assert set(filled.loc[filled["who"] == "high", "v"]) == {1000.0}


def test_absent_time_stamps_count_as_time():
    """Nine hours are absent between two rows: a line over time is not a line over rows."""
    times = pd.DatetimeIndex(np.delete(pd.date_range("2024-01-01", periods=40, freq="h"), np.arange(11, 20)))
    table = pd.DataFrame({"v": times.hour + 24.0 * (times.day_of_year - 1)}, index=times)
    truth = table["v"].iloc[11]
    table.iloc[11, 0] = np.nan
    result = t1.impute(table, method="linear", **QUICK)
    assert result.data["v"].iloc[11] == pytest.approx(truth)
    assert any("absent" in problem for problem in result.problems)


def test_rules():
    table = frame()
    result = t1.impute(
        table,
        method="linear",
        max_gap=5,
        minimum={"b": 45},
        maximum={"b": 55},
        integer=["c"],
        lock=["2024-01-01..2024-01-02 23:00"],
        **QUICK,
    )
    holes, data = table.isna(), result.data
    assert data["a"].iloc[100:130].isna().all()  # longer than max_gap
    assert data.iloc[:48][["a", "b", "c"]].isna().equals(holes.iloc[:48][["a", "b", "c"]])
    fills = data["b"][holes["b"]].dropna()
    assert len(fills) and fills.between(45, 55).all()
    fills = data["c"][holes["c"]].dropna()
    assert len(fills) and (fills == fills.round()).all()
    assert set(result.provenance["rule"]) >= {"max-gap", "lock"} or result.provenance["rule"].nunique() > 2


def test_a_random_walk_is_filled_by_linear_and_said_so():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1500, 3)).cumsum(axis=0)
    x[rng.random(x.shape) < 0.05] = np.nan
    result = t1.impute(x, **QUICK)
    expected = t1.impute(x, method="linear", **QUICK)
    assert np.array_equal(result.values, expected.values)
    assert "nothing beat it" in result.scorecard.verdict


def test_wide_tables_are_grouped_by_what_columns_tell_about_each_other():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 4)).cumsum(axis=0)
    x = np.repeat(base, 50, axis=1) + rng.normal(0, 0.01, (300, 200))
    order = rng.permutation(200)
    groups = group_columns(x[:, order], most=50)
    assert sorted(j for group in groups for j in group) == list(range(200))
    assert all(len(group) == 50 for group in groups)
    assert all(len({int(order[j]) // 50 for j in group}) == 1 for group in groups)


def test_too_many_columns_for_the_budget_leave_t1_out_and_say_so():
    x = np.random.default_rng(0).normal(size=(100, 200)).cumsum(axis=0)
    x[::7] = np.nan
    result = t1.impute(x, budget="5s")
    assert np.isfinite(result.values).all()
    assert any("T1 was left out" in problem for problem in result.problems)


def test_stopping_early_fills_with_the_best_so_far():
    from t1.fill import fill_table

    x = day_and_night()
    candidate = T1Candidate(seconds=600, should_stop=lambda: True)
    filled = fill_table(x, ("a", "b", "c"), [candidate], forced="t1")
    assert np.isfinite(filled.values).all()
    assert candidate.notes == ["training was stopped early; the best weights so far were used"]


@pytest.mark.parametrize(
    ("budget", "seconds"), [("60s", 60), ("5m", 300), ("1h", 3600), (7, 7), ("quality", 1800)]
)
def test_budgets(budget, seconds):
    assert _seconds(budget) == seconds


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": "soon"}, "60s"),
        ({"intervals": 90}, "0.9"),
        ({"lock": ["yesterday"]}, "START..END"),
        ({"lock": ["x..y"]}, "not a time"),
        ({"method": "liner"}, "Did you mean 'linear'"),
        ({"minimum": {"bb": 1}}, "bb"),
        ({"colour": "red"}, "colour"),
        ({"columns": ["nope"]}, "nope"),
        ({"max_gap": -1}, "max_gap"),
    ],
)
def test_wrong_options_are_named(options, says):
    with pytest.raises(InputError, match=says):
        t1.impute(frame(), **options)


def test_nothing_observed_is_refused():
    with pytest.raises(InputError, match="every value"):
        t1.impute(np.full((20, 2), np.nan))
    assert Options().seconds == 120
