"""t1.impute, t1.fit, t1.load: containers, series, options, rules; the parts have tests of their own."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import t1
from closed_form import driven, holes
from t1.errors import InputError
from t1.methods import tune
from t1.options import FitOptions, seconds_in

FAST = {"budget": "fast"}


def day_and_night(rows: int = 500, n_vars: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.arange(rows)[:, None]
    x = 10 * np.sin(2 * np.pi * t / 24 + np.arange(n_vars)) + 50 + rng.normal(0, 0.3, (rows, n_vars))
    x[rng.random(x.shape) < 0.08] = np.nan
    x[100:130, 0] = np.nan
    return x.round(3)


def frame(rows: int = 500) -> pd.DataFrame:
    times = pd.date_range("2024-01-01", periods=rows, freq="h", name="when")
    return pd.DataFrame(day_and_night(rows), columns=["a", "b", "c"], index=times).assign(place="here")


def assert_only_gaps_changed(before: pd.DataFrame, after: pd.DataFrame) -> None:
    seen = before.notna()
    assert before.where(seen).equals(after.where(seen))


def test_pandas_keeps_everything_but_the_gaps():
    table = frame()
    result = t1.impute(table, intervals=0.9, **FAST)
    assert list(result.data.columns) == ["a", "b", "c", "place"]
    pd.testing.assert_index_equal(result.data.index, table.index)
    assert result.data.notna().all().all()
    assert_only_gaps_changed(table, result.data)
    where = result.provenance
    assert len(where) == table.isna().sum().sum()
    assert (where["lo"] <= where["value"]).all() and (where["value"] <= where["hi"]).all()
    assert (where["time"] == table.index[where["row"]]).all()
    assert result.scorecard.cells > 0 and "linear" in result.scorecard.verdict.lower()
    assert {"linear", "seasonal", "regression", "t1"} <= set(result.scorecard.by_method)
    assert "cells filled" in str(result) and result.scorecard.verdict[:20] in str(result)


@pytest.mark.parametrize("make", [pl.DataFrame, lambda d: pa.table(d), pd.DataFrame])
def test_dataframes_of_every_kind(make):
    x = day_and_night(200)
    table = make({name: [None if np.isnan(v) else v for v in x[:, j]] for j, name in enumerate("abc")})
    result = t1.impute(table, method="linear")
    assert type(result.data) is type(table)
    assert np.isfinite(np.asarray(result.data.to_pandas() if make is not pd.DataFrame else result.data)).all()


def test_arrays():
    x = day_and_night()
    result = t1.impute(x, method="seasonal")
    assert isinstance(result.data, np.ndarray) and np.isfinite(result.data).all()
    assert np.array_equal(result.data[~np.isnan(x)], x[~np.isnan(x)])


def test_t1_can_be_asked_for_and_tuned(monkeypatch):
    monkeypatch.setattr(tune, "EVERY", 16)
    monkeypatch.setattr(tune, "PATIENCE", 2)  # so that it is not the clock that ends the training
    x = day_and_night()
    fast = t1.impute(x, method="t1", **FAST)
    assert set(fast.provenance["method"]) == {"t1"}
    tuned = t1.impute(x, method="t1", budget="10m")
    assert set(tuned.provenance["method"]) == {"t1 tuned"}
    assert {"t1", "t1 tuned", "linear"} == set(tuned.scorecard.by_method)


def test_a_panel_is_filled_series_by_series():
    long = pd.concat(
        [
            pd.DataFrame({"who": name, "v": np.where(np.arange(60) % 9 == 4, np.nan, level)})
            for name, level in (("low", 1.0), ("high", 1000.0))
        ],
        ignore_index=True,
    )
    mixed = long.sample(frac=1, random_state=0)
    filled = t1.impute(mixed, id="who", method="linear").data
    assert set(filled.loc[filled["who"] == "low", "v"]) == {1.0}
    assert set(filled.loc[filled["who"] == "high", "v"]) == {1000.0}


def test_absent_time_stamps_count_as_time():
    """Nine hours are absent between two rows: a line over time is not a line over rows."""
    times = pd.DatetimeIndex(np.delete(pd.date_range("2024-01-01", periods=40, freq="h"), np.arange(11, 20)))
    table = pd.DataFrame({"v": times.hour + 24.0 * (times.day_of_year - 1)}, index=times)
    truth = table["v"].iloc[11]
    table.iloc[11, 0] = np.nan
    result = t1.impute(table, method="linear")
    assert result.data["v"].iloc[11] == pytest.approx(truth)
    assert any("absent" in problem for problem in result.problems)


def test_shuffled_rows_with_a_column_of_dates_are_filled_in_time_order():
    """A datetime column was ignored, and shuffled rows got an error ten times larger."""
    table = frame().reset_index()
    shuffled = table.sample(frac=1, random_state=0)
    one, two = (t1.impute(x, method="linear").data for x in (table, shuffled))
    pd.testing.assert_frame_equal(one, two.sort_index())


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
    )
    gaps, data = table.isna(), result.data
    assert data["a"].iloc[100:130].isna().all()  # longer than max_gap
    assert data.iloc[:48][["a", "b", "c"]].isna().equals(gaps.iloc[:48][["a", "b", "c"]])
    fills = data["b"][gaps["b"]].dropna()
    assert len(fills) and fills.between(45, 55).all()
    fills = data["c"][gaps["c"]].dropna()
    assert len(fills) and (fills == fills.round()).all()
    assert {"max gap", "locked", "rounded"} <= set(result.provenance["rule"])


def test_locked_row_numbers_are_those_of_the_table():
    table = pd.DataFrame({"who": ["x", "y"] * 30, "v": np.arange(60.0)})
    table.loc[[10, 11, 40, 41], "v"] = np.nan
    result = t1.impute(table, id="who", method="linear", lock=["40..41"])
    assert result.data["v"].isna().to_numpy().nonzero()[0].tolist() == [40, 41]


def test_no_gaps_are_answered_at_once(monkeypatch):
    from t1.fill import fit

    monkeypatch.setattr(fit, "rehearse", lambda *_: pytest.fail("something was learned"))
    table = frame().fillna({"a": 1.0, "b": 2.0, "c": 3.0})
    result = t1.impute(table, intervals=0.9)
    pd.testing.assert_frame_equal(result.data, table)
    assert result.scorecard.verdict == "Nothing was missing." and result.n_filled == 0


def test_a_fitted_fill_fills_tomorrows_rows_and_can_be_kept(tmp_path):
    table = frame(600)
    today, tomorrow = table.iloc[:480], table.iloc[480:]
    fitted = t1.fit(today, **FAST)
    fitted.save(tmp_path / "model")
    filled = fitted.apply(tomorrow, intervals=0.9)
    again = t1.load(tmp_path / "model").apply(tomorrow, intervals=0.9)
    assert filled.data.notna().all().all()
    assert_only_gaps_changed(tomorrow, filled.data)
    pd.testing.assert_frame_equal(filled.data, again.data)
    pd.testing.assert_frame_equal(filled.provenance, again.provenance)
    assert filled.scorecard == again.scorecard
    truth = 10 * np.sin(2 * np.pi * np.arange(480, 600)[:, None] / 24 + np.arange(3)) + 50
    gaps = tomorrow[["a", "b", "c"]].isna().to_numpy()
    assert np.abs(filled.values - truth)[gaps].mean() < 1  # the season goes on where it was


def test_a_fitted_fill_refuses_other_columns():
    fitted = t1.fit(frame(200), method="linear")
    with pytest.raises(InputError, match="'c'"):
        fitted.apply(frame(200).drop(columns="c"))
    more = frame(200).assign(d=1.0)
    assert fitted.apply(more).data["d"].eq(1).all()  # what the fit did not know is left alone


def test_fit_then_apply_is_impute():
    table = frame(300)
    one = t1.fit(table, method="nearest").apply(table, intervals=0.8)
    two = t1.impute(table, method="nearest", intervals=0.8)
    pd.testing.assert_frame_equal(one.data, two.data)
    assert one.scorecard == two.scorecard


def test_too_short_a_budget_leaves_the_tuning_out_and_says_so():
    result = t1.impute(day_and_night(), budget="1s")
    assert np.isfinite(result.values).all()
    assert any("T1 was not tuned" in problem for problem in result.problems)


def test_stopping_early_fills_with_the_best_so_far():
    result = t1.impute(day_and_night(), budget="10m", should_stop=lambda: True)
    assert np.isfinite(result.values).all()
    assert any("stopped early" in problem for problem in result.problems)


def test_an_exact_copy_of_a_column_is_found_among_few_gaps():
    """Global_Wm2 beside Global_mV, "nothing beat linear" was printed."""
    rng = np.random.default_rng(0)
    x = rng.gamma(2, 100, 700)
    table = np.column_stack([x, x * 0.013, rng.normal(size=700)])
    for start in (100, 300, 500):
        table[start : start + 3, 0] = np.nan
    result = t1.impute(table, **FAST)
    gaps = np.isnan(table[:, 0])
    line = t1.impute(table, method="linear").values
    assert np.abs(result.values[gaps, 0] - x[gaps]).mean() < 0.2 * np.abs(line[gaps, 0] - x[gaps]).mean()


@pytest.mark.parametrize(
    ("budget", "seconds"), [("60s", 60), ("5m", 300), ("1h", 3600), (7, 7), ("quality", 1800)]
)
def test_budgets(budget, seconds):
    assert seconds_in(budget) == seconds
    assert FitOptions(budget=budget).trains


def test_fast_trains_nothing():
    assert not FitOptions(budget="fast").trains
    assert FitOptions(budget="fast").learning(0.0).budget is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": "soon"}, "60s"),
        ({"budget": 0}, "no budget"),
        ({"budget": None}, "no budget"),
        ({"intervals": 90}, "0.9"),
        ({"lock": ["yesterday"]}, r"START\.\.END"),
        ({"lock": ["x..y"]}, "not a time"),
        ({"method": "liner"}, "Did you mean 'linear'"),
        ({"minimum": {"bb": 1}}, "bb"),
        ({"columns": ["nope"]}, "nope"),
        ({"max_gap": -1}, "longest gap"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_options_are_named(options, says):
    with pytest.raises(InputError, match=says):
        t1.impute(frame(), **options)


def test_nothing_observed_is_refused():
    with pytest.raises(InputError, match="every value"):
        t1.impute(np.full((20, 2), np.nan))


def test_weights_that_are_not_there_are_told():
    with pytest.raises(InputError, match="nowhere"):
        t1.impute(holes(driven(100)), weights="nowhere", **FAST)


def test_a_copy_in_other_units_and_a_sum_are_filled_exactly(tmp_path):
    """One long gap is too little to judge by; that the columns say the same, in every row, is not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400).cumsum()
    y = rng.normal(size=400).cumsum()
    table = pd.DataFrame({"celsius": x, "fahrenheit": 1.8 * x + 32, "a": x, "b": y, "total": x + y})
    table = table.drop(columns="a").assign(part=y * 0.5 + rng.normal(size=400))
    table["sum"] = table["b"] + table["part"]
    truth = table.drop(columns="total").copy()
    holed = truth.copy()
    holed.loc[100:121, "celsius"] = np.nan
    holed.loc[200:210, "b"] = np.nan
    holed.loc[300:304, ["celsius", "fahrenheit"]] = np.nan  # both: nothing follows
    fitted = t1.fit(holed, budget="fast")
    result = fitted.apply(holed)
    np.testing.assert_allclose(result.data.loc[100:121, "celsius"], truth.loc[100:121, "celsius"], atol=1e-6)
    np.testing.assert_allclose(result.data.loc[200:210, "b"], truth.loc[200:210, "b"], atol=1e-6)
    assert result.data.notna().all().all()
    assert any("related" in str(name) for name in result.provenance["method"])
    fitted.save(tmp_path / "model")
    again = t1.load(tmp_path / "model").apply(holed)
    pd.testing.assert_frame_equal(again.data, result.data)


def test_copies_and_sums_can_only_be_asked_for_where_there_are_any():
    with pytest.raises(InputError, match="no column is a copy or a sum of others"):
        table = np.random.default_rng(0).normal(size=(60, 2))
        table[5, 0] = np.nan
        t1.impute(table, method="related")


def test_a_state_comes_with_the_probability_that_it_is_right():
    state = (np.arange(600) // 25 % 2).astype(float)
    table = pd.DataFrame({"pump": state, "flow": np.sin(np.arange(600) / 9)})
    holed = table.copy()
    holed.loc[np.arange(5, 600, 17), "pump"] = np.nan
    holed.loc[np.arange(9, 600, 31), "flow"] = np.nan
    where = t1.impute(holed, budget="fast").provenance
    pump = where[where["column"] == "pump"]
    assert set(pump["value"]) <= {0.0, 1.0} and pump["probability"].between(0.5, 1.0).all()
    right = (table["pump"][pump["row"]].to_numpy() == pump["value"].to_numpy()).mean()
    assert abs(right - pump["probability"].mean()) < 0.15
    assert where.loc[where["column"] == "flow", "probability"].isna().all()
    assert "probability" not in t1.impute(holed[["flow"]], budget="fast").provenance
