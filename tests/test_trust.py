"""Trust at the edges: places where the promise of an honest error estimate once broke, numbered."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import t1
from closed_form import QUICK, driven, fit_closed, holes, walks
from t1.api import fit_file, impute_file
from t1.cli import main
from t1.errors import InputError
from t1.fill import fit as fit_module
from t1.fill.board import FOLDS
from t1.fill.gaps import CLASS_NAMES, N_INNER, Gaps
from t1.fill.rehearsal import rehearse
from t1.methods import network, windows
from t1.methods.base import Fill, Learning
from t1.methods.catalog import METHODS
from t1.options import FillOptions, FitOptions
from t1.panel import Panel

NAN = np.nan
LINEAR = FitOptions(method="linear")


@pytest.fixture
def closed_form():
    """Blends of closed-form methods only: the network has tests of its own."""
    with patch.object(fit_module, "METHODS", {name: METHODS[name] for name in QUICK}):
        yield FitOptions(budget="fast")


def hourly(rows: int, start: str = "2024-01-01") -> pd.DatetimeIndex:
    return pd.date_range(start, periods=rows, freq="h", name="when")


# ---------------------------------------------------------------- 1: a kept model is judged on fresh cells


@dataclass(frozen=True, eq=False)
class Memory:
    """Knows every value it has learned from by its place: perfect on those, useless elsewhere."""

    values: np.ndarray
    name: str = "mean"

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> "Memory":
        return cls(panel.values.copy())

    def fill(self, panel: Panel) -> Fill:
        if panel.n_rows == len(self.values):
            return Fill(np.where(np.isnan(self.values), 1e3, self.values))
        known = set(self.values[~np.isnan(self.values)].tolist())
        return Fill(np.where(np.isin(panel.values, list(known)), panel.values, 1e3))


def test_1_a_model_is_never_judged_on_cells_it_has_learned_from(monkeypatch):
    panel = Panel.of(holes(driven(800)))
    usual = fit_module.fit_of
    monkeypatch.setattr(fit_module, "fit_of", lambda name: Memory.fit if name == "mean" else usual(name))
    fitted = fit_module.fit_panel(panel, Learning(every=True), method="mean", tune=False)
    for card in (fitted.scorecard, fitted.fill(panel).scorecard):
        assert card.by_method["mean"] > 100  # it would be 0 on cells that it knows
        assert card.cells == len(fitted.evidence.fold)


def test_1_train_then_impute_reports_what_the_training_measured(tmp_path, closed_form, capsys):
    table = pd.DataFrame(holes(driven(500, 3)), columns=list("abc"), index=hourly(500))
    table.to_csv(tmp_path / "plant.csv")
    fitted = fit_file(tmp_path / "plant.csv", tmp_path / "model", reading={}, options=closed_form)
    filled = impute_file(
        tmp_path / "plant.csv",
        tmp_path / "out.csv",
        reading={},
        fit_options=FitOptions(),
        fill_options=FillOptions(intervals=0.9),
        model=tmp_path / "model",
    )
    assert [s.mae for s in filled.scorecard.scores] == [s.mae for s in fitted.scorecard.scores]
    assert filled.scorecard.by_method == fitted.scorecard.by_method
    assert filled.scorecard.coverage == pytest.approx(0.9, abs=0.1)
    assert np.isfinite(filled.values).all()


# ---------------------------------------------------------------- 2 to 4: edges and what could not be tested


def with_edges(seed: int, n_rows: int = 1500) -> tuple[np.ndarray, Panel]:
    """Random walks whose columns begin or end in a gap of 120 rows."""
    rng = np.random.default_rng(seed)
    truth = walks(n_rows, seed=seed)
    observed = rng.random(truth.shape) > 0.03
    observed[:120, [0, 2]] = observed[-120:, 1] = False
    observed[0, [1, 3]] = observed[-1, [0, 2, 3]] = True
    return truth, Panel.of(np.where(observed, truth, NAN))


def test_2_gaps_at_the_edges_are_hidden_chosen_calibrated_and_reported():
    _, panel = with_edges(0)
    r = rehearse(panel, np.random.default_rng(0))
    edge = r.code >= N_INNER
    for fold in FOLDS:
        assert len(np.unique(r.event[edge & (r.fold == fold)])) >= 3
    filled = fit_closed(panel).fill(panel, level=0.9)
    scores = [s for s in filled.scorecard.scores if s.gap == "edge 24+"]
    assert {s.column for s in scores} == {"x0", "x1", "x2"}
    assert all(s.cells > 30 and s.tested and s.coverage is not None for s in scores)


def test_2_an_extrapolation_has_a_wider_interval_than_an_interpolation():
    outer = inner = 0.0
    for seed in range(6):
        _, panel = with_edges(seed)
        values = panel.values.copy()
        values[700:820, 0] = NAN  # as long, but with both sides known
        panel = panel.with_values(values)
        filled = fit_closed(panel, seed=seed).fill(panel, level=0.9)
        width = filled.hi - filled.lo
        outer += np.nanmean(width[:120, 0])
        inner += np.nanmean(width[700:820, 0])
    assert outer > 1.1 * inner


def test_3_a_class_that_could_not_be_tested_is_wider_and_marked(tmp_path):
    """One gap of 200 rows in 1,000: three of them would be too much to hide."""
    values = walks(1000, 2, seed=3)
    values[400:600, 0] = values[50:80, 0] = values[850:880, 0] = values[700, 0] = NAN
    panel = Panel.of(values, ["a", "b"])
    fitted = fit_closed(panel)
    filled = fitted.fill(panel, level=0.9)
    scores = {s.gap: s for s in filled.scorecard.scores}
    assert not scores["96+"].tested and scores["24-95"].tested
    origin = filled.provenance.set_index("row")
    assert not origin.loc[400:599, "tested"].any() and origin.loc[50:79, "tested"].all()
    factor = fitted.calibration(0.9).factor[0]
    assert factor[CLASS_NAMES.index("96+")] > 1.1 * factor[CLASS_NAMES.index("24-95")]
    width = filled.hi - filled.lo
    assert width[400:600, 0].mean() > 1.3 * width[50:80, 0].mean()
    assert "no" in filled.scorecard.to_text() and "follow a rule" in filled.scorecard.to_text()


def coverage(make, seeds: range) -> dict[str, float]:
    """The share of truths inside 90 % intervals, by gap class, over several tables."""
    inside: dict[int, list[np.ndarray]] = {}
    for seed in seeds:
        truth, panel = make(seed)
        filled = fit_closed(panel, seed=seed).fill(panel, level=0.9)
        gaps = Gaps.of(panel.observed, panel.starts)
        true = truth[gaps.row, gaps.column]
        hit = (filled.missing.lo <= true) & (true <= filled.missing.hi)
        for c in np.unique(gaps.code).tolist():
            inside.setdefault(c, []).append(hit[gaps.code == c])
    by_class = {CLASS_NAMES[c]: float(np.concatenate(hits).mean()) for c, hits in inside.items()}
    return {
        **by_class,
        "all": float(np.concatenate([hit for hits in inside.values() for hit in hits]).mean()),
    }


def test_4_intervals_hold_at_the_edges_of_random_walks():
    """It was .485 at a nominal .9; the goal is above .85."""
    reached = coverage(with_edges, range(20))
    assert 0.85 < reached["edge 24+"] < 0.95, reached


def with_inner_gaps(seed: int) -> tuple[np.ndarray, Panel]:
    """Random walks with single points and outages of 2 to 59 rows."""
    rng = np.random.default_rng(seed)
    truth = walks(1500, seed=seed)
    observed = rng.random(truth.shape) > 0.05
    for _ in range(12):
        length = int(rng.integers(2, 60))
        start = int(rng.integers(1, 1500 - length - 1))
        observed[start : start + length, rng.random(4) < 0.4] = False
    observed[[0, -1]] = True
    return truth, Panel.of(np.where(observed, truth, NAN))


def test_4_intervals_hold_inside():
    """The goal is .88 to .92, over all cells of several tables."""
    reached = coverage(with_inner_gaps, range(30))
    assert 0.88 < reached["all"] < 0.92, reached
    assert all(0.86 < share < 0.95 for name, share in reached.items() if name != "96+"), reached


# ---------------------------------------------------------------- 5: every series validates by time


@pytest.mark.parametrize("lengths", [(500, 500), (500, 300), (150, 150), (500, 110)])
def test_5_no_station_is_used_for_validation_only(lengths):
    n = sum(lengths)
    rows, seen = np.zeros((n, 2), dtype=np.float32), np.ones((n, 2), dtype=bool)
    train, valid = network._split(rows, seen, list(lengths), 96, 0.1)
    border = lengths[0]
    assert (train.starts < border).any() and (train.starts >= border).any()
    for start in (*train.starts, *valid.starts):  # no window lies across two stations
        assert start + 96 <= border or start >= border
    if min(lengths) >= 2 * 96:
        assert (valid.starts < border).any() and (valid.starts >= border).any()
        trained = np.zeros(n, dtype=bool)
        for start in train.starts:
            trained[start : start + 96] = True
        for start in valid.starts:
            assert not trained[start : start + 96].any()  # later than what trains


def test_5_of_many_short_series_some_validate():
    rows, seen = np.zeros((20 * 96, 2), dtype=np.float32), np.ones((20 * 96, 2), dtype=bool)
    train, valid = network._split(rows, seen, [96] * 20, 96, 0.1)
    assert (len(train.starts), len(valid.starts)) == (18, 2)


# ---------------------------------------------------------------- 6: locks


def day_first_file(folder: Path) -> Path:
    stamps = hourly(24 * 40)
    values = pd.Series(np.where(np.arange(960) % 5 == 2, NAN, np.arange(960.0)))
    table = pd.DataFrame({"when": stamps.strftime("%d.%m.%Y %H:%M"), "v": values})
    table.to_csv(folder / "plant.csv", sep=";", index=False)
    return folder / "plant.csv"


def empty_days(values: np.ndarray) -> list[str]:
    days = hourly(24 * 40).strftime("%m-%d").to_numpy()
    return sorted(set(days[np.isnan(values[:, 0])].tolist()))


@pytest.mark.parametrize(
    ("lock", "days"),
    [
        ("05.01.2024..06.01.2024", ["01-05", "01-06"]),
        ("..2024-01-02", ["01-01", "01-02"]),
        ("2024-02-08..", ["02-08", "02-09"]),
        ("2024-01-05..2024-01-05", ["01-05"]),
    ],
)
def test_6_locks_are_read_like_the_file_and_end_with_their_day(lock, days, tmp_path):
    filled = impute_file(
        day_first_file(tmp_path),
        tmp_path / "out.csv",
        reading={},
        fit_options=LINEAR,
        fill_options=FillOptions(lock=[lock]),
    )
    assert empty_days(filled.values) == days
    if lock[0] != "0":
        table = pd.DataFrame(
            {"v": np.where(np.arange(960) % 5 == 2, NAN, np.arange(960.0))}, index=hourly(960)
        )
        assert empty_days(t1.impute(table, method="linear", lock=[lock]).values) == days


# ---------------------------------------------------------------- 7: repeated hours and time zones


def test_7_one_repeated_hour_does_not_cancel_the_clock():
    """Ten hours are absent, one is there twice: a line over time is not a line over rows."""
    hours = np.delete(np.arange(60), np.arange(21, 30))
    hours = np.sort(np.append(hours, 40))
    values = hours.astype(float)
    values[hours == 31] = NAN
    stamps = hourly(60)[hours]
    filled = t1.impute(pd.DataFrame({"v": values}, index=stamps), method="linear")
    assert filled.data["v"].to_numpy()[hours == 31] == pytest.approx([31])
    panel = pd.DataFrame(
        {"who": ["x"] * len(hours) + ["y"] * len(hours), "v": np.tile(values, 2), "when": [*stamps, *stamps]}
    ).drop(index=len(hours) + int(np.flatnonzero(hours == 40)[0]))  # only x has the repeated hour
    both = t1.impute(panel, id="who", time="when", method="linear")
    assert both.values[np.isnan(panel["v"].to_numpy()), 0] == pytest.approx([31, 31])


def test_7_rows_of_the_repeated_hour_keep_their_own_values():
    stamps = hourly(50)[np.sort(np.append(np.arange(50), 20))]
    values = np.arange(51.0)
    values[[5, 30]] = NAN
    filled = t1.impute(pd.DataFrame({"v": values}, index=stamps), method="linear")
    seen = ~np.isnan(values)
    np.testing.assert_array_equal(filled.data["v"].to_numpy()[seen], values[seen])


def test_7_an_aware_index_and_an_aware_column_give_the_same_fill():
    stamps = pd.date_range("2024-10-25", periods=120, freq="h", tz="Europe/Berlin", name="when")
    table = pd.DataFrame({"v": holes(walks(120, 1))[:, 0]}, index=stamps).drop(index=stamps[50:55])
    by_index = t1.impute(table, method="linear")
    by_column = t1.impute(table.reset_index(), time="when", method="linear")
    utc = t1.impute(table.tz_convert("UTC"), method="linear")
    np.testing.assert_array_equal(by_index.values, by_column.values)
    np.testing.assert_array_equal(by_index.values, utc.values)
    assert by_index.problems == by_column.problems
    assert len(by_index.problems) == 1 and "5 time stamps are absent" in by_index.problems[0]


# ---------------------------------------------------------------- 8: the same table, the same fill


def test_8_integer_column_labels():
    table = pd.DataFrame(holes(walks(80, 2)))
    filled = t1.impute(table, method="linear").data
    assert filled.columns.tolist() == [0, 1] and filled.notna().all().all()


def test_8_a_text_time_column_and_one_that_is_none():
    table = pd.DataFrame({"when": hourly(40).strftime("%d.%m.%Y %H:%M"), "v": holes(walks(40, 1))[:, 0]})
    filled = t1.impute(table, time="when", method="linear")
    assert filled.times[0] == np.datetime64("2024-01-01") and filled.n_filled > 0
    with pytest.raises(InputError, match="no date"):
        t1.impute(table.assign(when=["soon", "later"] * 20), time="when", method="linear")


def test_8_rows_without_an_id_are_one_series():
    table = pd.DataFrame({"who": [None] * 30 + ["x"] * 30, "v": np.arange(60.0)})
    table.loc[[3, 4, 33], "v"] = NAN
    filled = t1.impute(table, id="who", method="linear")
    assert filled.data["v"].tolist() == pytest.approx(list(range(60)))


@settings(max_examples=20)
@given(
    rows=st.integers(12, 60),
    n_vars=st.integers(1, 3),
    dated=st.booleans(),
    n_series=st.integers(1, 2),
    shuffled=st.booleans(),
    dropped=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_8_a_table_and_its_file_get_the_same_fill(
    rows, n_vars, dated, n_series, shuffled, dropped, seed, tmp_path_factory
):
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in range(n_vars)]
    parts = []
    for s in range(n_series):
        part = pd.DataFrame(holes(walks(rows, n_vars, seed + s), 0.2, seed + s).round(3), columns=names)
        part.iloc[0] = 1.5  # a column without a single value is text in a file
        if n_series > 1:
            part.insert(0, "who", f"station {s}")
        if dated:
            part.insert(0, "when", hourly(rows))
        parts.append(part.drop(index=rng.choice(np.arange(2, rows), dropped, replace=False)))
    table = pd.concat(parts, ignore_index=True)
    if shuffled and dated:
        table = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    folder = tmp_path_factory.mktemp("same")
    table.to_csv(folder / "table.csv", index=False)
    how = {"time": "when" if dated else None, "id": "who" if n_series > 1 else None}
    with patch.object(fit_module, "METHODS", {name: METHODS[name] for name in QUICK}):
        one = t1.impute(table, **how, budget="fast", intervals=0.8)
        two = impute_file(
            folder / "table.csv",
            folder / "out.csv",
            reading={**how, "keep_sentinels": True},
            fit_options=FitOptions(budget="fast"),
            fill_options=FillOptions(intervals=0.8),
        )
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.missing.lo, two.missing.lo)
    assert one.scorecard == two.scorecard


# ---------------------------------------------------------------- 9: provenance says who filled


def test_9_a_model_with_a_method_is_refused(tmp_path, closed_form):
    table = pd.DataFrame(holes(driven(200, 2)), columns=list("ab"), index=hourly(200))
    table.to_csv(tmp_path / "plant.csv")
    fit_file(tmp_path / "plant.csv", tmp_path / "model", reading={}, options=closed_form)
    for method in ("nearest", "linear"):
        with pytest.raises(InputError, match="brings its own methods") as told:
            impute_file(
                tmp_path / "plant.csv",
                tmp_path / "out.csv",
                reading={},
                fit_options=FitOptions(method=method),
                fill_options=FillOptions(),
                model=tmp_path / "model",
            )
        assert told.value.option == "method"
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("stations", [False, True])
def test_9_added_rows_are_in_the_provenance(stations, tmp_path):
    part = pd.DataFrame({"when": hourly(60), "v": np.arange(60.0)})
    part.loc[5, "v"] = NAN
    table = part.drop(index=range(20, 23))
    if stations:
        table = pd.concat([table.assign(who="x"), part.assign(who="y")])
    table.to_csv(tmp_path / "plant.csv", index=False)
    filled = impute_file(
        tmp_path / "plant.csv",
        tmp_path / "out.csv",
        reading={"id": "who"} if stations else {},
        fit_options=LINEAR,
        fill_options=FillOptions(intervals=0.9),
        add_missing_rows=True,
    )
    origin = filled.provenance
    added = origin[origin["row"].isna()]
    assert added["time"].tolist() == hourly(60)[20:23].tolist()
    assert added["value"].tolist() == pytest.approx([20, 21, 22])
    assert (added["method"] == "linear").all() and added["lo"].notna().all()
    own = origin[origin["row"].notna()]
    assert own["row"].tolist() == ([5, 57 + 5] if stations else [5])
    assert (own["time"] == hourly(60)[5]).all()
    if stations:
        assert own["id"].tolist() == ["x", "y"] and set(added["id"]) == {"x"}
    assert filled.n_filled == len(origin)
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(table) + 3


# ---------------------------------------------------------------- 10: coarse means are no observations


def test_10_the_coarse_pass_sees_only_what_was_observed(monkeypatch):
    """What the network makes of a gap at a coarse rate moves the level of the fill, and is never data."""
    seen_at: list[tuple[np.ndarray, np.ndarray]] = []

    def spy(network, values, observed, *others):
        seen_at.append((values, observed))
        return windows.Levels.empty(values.shape)

    monkeypatch.setattr(windows, "run_windows", spy)
    values = walks(4000, 2).astype(np.float32)
    values[1000:2500, 0] = NAN
    windows.fill_series(None, values, None, None)
    assert len(seen_at) > 2
    observed = ~np.isnan(values)
    for table, known in seen_at:
        rate = -(-len(values) // len(table))
        np.testing.assert_array_equal(known, ~np.isnan(table))
        blocks = np.add.reduceat(observed, np.arange(0, len(values), rate), axis=0)
        np.testing.assert_array_equal(known, blocks > 0)  # nothing appears where nothing was
        inside = slice(-(-1000 // rate), 2500 // rate)
        assert np.isnan(table[inside, 0]).all()


# ---------------------------------------------------------------- 11: what must fail fails at once


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(holes(walks(300, 2)), columns=["x", "y"], index=hourly(300))
    table.to_csv("plant.csv")
    table.assign(x_lo=1.0).to_csv("banded.csv")
    table.to_csv("undated.csv", index=False)
    return tmp_path


def no_learning(*_, **__):
    pytest.fail("the budget was spent before the fault was told")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plant.csv", "-o", "nowhere/out.csv"], "nowhere"),
        (["plant.csv", "-o", "out.zip"], "zip"),
        (["banded.csv", "-o", "out.csv", "--intervals", "0.9"], "x_lo"),
        (["plant.csv", "-o", "out.csv", "--report", "r.pdf"], ".html"),
        (["plant.csv", "-o", "out.csv", "--report", "nowhere/r.html"], "nowhere"),
        (["plant.csv", "-o", "out.csv", "--scorecard", "nowhere/s.json"], "nowhere"),
        (["plant.csv", "-o", "out.csv", "--provenance", "nowhere/p.csv"], "nowhere"),
        (["undated.csv", "-o", "out.csv", "--add-missing-rows"], "--time"),
        (["plant.csv", "-o", "out.csv", "--min", "z=0"], "'z'"),
        (["plant.csv", "-o", "out.csv", "--lock", "x..y"], "not a time"),
        (["plant.csv", "-o", "out.csv", "--model", "nowhere"], "nowhere"),
        (["plant.csv", "-o", "out.csv", "--intervals", "90"], "--intervals"),
        (["plant.csv", "-o", "out.csv", "--max-gap", "-1"], "--max-gap"),
    ],
)
def test_11_what_must_fail_is_told_before_the_budget_is_spent(arguments, says, plant, monkeypatch, capsys):
    monkeypatch.setattr(fit_module, "rehearse", no_learning)
    before = sorted(p.name for p in plant.iterdir())
    began = time.perf_counter()
    assert main(["impute", *arguments]) == 2
    assert time.perf_counter() - began < 5  # no training; below a second on an idle core
    told = capsys.readouterr().err
    assert says in told and "Traceback" not in told
    assert sorted(p.name for p in plant.iterdir()) == before


def test_11_a_complete_column_may_have_a_neighbour_called_like_its_band(plant):
    pd.read_csv("banded.csv").assign(x=1.0).to_csv("whole.csv", index=False)
    assert (
        main(["impute", "whole.csv", "-o", "out.csv", "--intervals", "0.9", "--method", "linear", "-q"]) == 0
    )
    assert {"y_lo", "y_hi"} <= set(pd.read_csv("out.csv")) and "x_hi" not in set(pd.read_csv("out.csv"))


def test_11_a_report_that_fails_after_the_fill_says_that_the_fill_was_written(plant, monkeypatch, capsys):
    def full(*_, **__):
        raise InputError("cannot write r.html: no space left on device")

    monkeypatch.setattr(t1.FilledTable, "report", full)
    code = main(["impute", "plant.csv", "-o", "out.csv", "--report", "r.html", "--method", "linear"])
    told = capsys.readouterr().err
    assert code == 2 and "the fill was written to out.csv" in told and "no space left" in told
    assert pd.read_csv("out.csv").notna().all().all()


# ---------------------------------------------------------------- 12: settings mean what they say


@pytest.mark.parametrize("rate", [0.2, 0.45])
def test_12_the_rate_of_a_pattern_is_used(rate):
    values = walks(2000, 3)[None]
    hide = network._hide("mnar", rate, np.ones((10, 3), dtype=bool))
    hidden = hide(values, np.ones(values.shape, dtype=bool), np.random.default_rng(0))
    assert hidden.mean() == pytest.approx(rate, abs=0.03)


def test_12_the_imputer_passes_its_rate_on(monkeypatch):
    asked = []
    usual = network.hide

    def spy(pattern, observed, **settings):
        asked.append((pattern, settings["rate"]))
        return usual(pattern, observed, **settings)

    monkeypatch.setattr(network, "hide", spy)
    imputer = t1.T1Imputer(
        weights="none",
        pattern="mnar",
        rate=0.2,
        n_channels=4,
        window=24,
        max_steps=2,
        max_epochs=1,
        progress=False,
    )
    imputer.fit(walks(100, 2))
    assert set(asked) == {("mnar", 0.2)}


def test_12_what_the_readme_names_is_there():
    import subprocess

    code = "import t1; t1.missing.point; t1.synthetic; t1.impute; t1.fit; t1.load; t1.Filled; t1.Scorecard"
    subprocess.run([sys.executable, "-c", code], check=True)
