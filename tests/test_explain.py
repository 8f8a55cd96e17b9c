"""What a fill was taken from: hiding tells, for every method; in Python, on the command line, as a picture."""

import json

import numpy as np
import pandas as pd
import pytest

import t1
from t1.cli import main
from t1.errors import InputError
from t1.fill.explain import _run, _stretches, explain_cell
from t1.panel import Panel

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def plant():
    """A flow that is twice the level, and a column that has nothing to do with either."""
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(size=601))
    table = pd.DataFrame(
        {
            "level": level[1:],
            "flow": 2 * level[1:] + 0.05 * rng.normal(size=600),
            "noise": rng.normal(size=600),
        },
        index=pd.date_range("2024-03-01", periods=600, freq="h"),
    )
    table.iloc[60:64, 1] = np.nan
    for k in range(100, 580, 24):
        table.iloc[k : k + 3, 1] = np.nan
    return table


@pytest.fixture(scope="module")
def fitted(plant):
    return t1.fit(plant, method="regression", budget="fast")


@pytest.fixture(scope="module")
def found(plant, fitted):
    return t1.explain(plant, "flow", "2024-03-03 13:00", fitted=fitted)


def test_the_column_that_tells_it_is_named_first(plant, fitted, found):
    filled = fitted.apply(plant)
    assert found.value == pytest.approx(filled.data.loc["2024-03-03 13:00", "flow"], abs=1e-6)
    assert (found.gap, found.row, found.column, found.series) == (4, 61, "flow", None)
    assert found.columns["column"][0] == "level"
    moved = found.columns.set_index("column")["moved"].abs()
    assert moved["level"] > 5 * moved["noise"]
    np.testing.assert_allclose(found.columns["without"] - found.value, found.columns["moved"], atol=1e-9)


def test_the_stretch_that_tells_it_is_near(found):
    moved = found.stretches.assign(size=found.stretches["moved"].abs())
    assert moved.loc[moved["size"].idxmax(), "first"] >= -8 and moved.loc[moved["size"].idxmax(), "last"] <= 8
    far = moved[(moved["last"] < -24) | (moved["first"] > 24)]
    assert far["size"].max() < 0.2 * moved["size"].max()
    first, last = found.stretches["first"], found.stretches["last"]
    assert (first.to_numpy()[1:] == last.to_numpy()[:-1] + 1).all(), "no row is left out, none counts twice"
    here = found.stretches[first == 0].iloc[0]
    assert here["start"] == here["end"] == np.datetime64("2024-03-03T13:00")


def test_the_table_and_the_words_say_the_same(found):
    table = found.table
    assert list(table.columns) == ["hidden", "what", "without", "moved", "attention", "deviations"]
    assert set(table["hidden"]) == {"column", "stretch"}
    assert len(table) == len(found.columns) + len(found.stretches)
    text = str(found)
    for what in table["what"]:
        assert str(what) in text
    assert "2024-03-03 13:00:00" in text and "gap of 4 rows" in text
    assert set(found.columns["around"]) <= {0, 4, 16}
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["columns"][0]["column"] == "level" and plain["time"] == "2024-03-03T13:00:00"


def test_where_t1_took_part_its_attention_is_told(plant):
    found = t1.explain(plant, "flow", "2024-03-03 13:00", method="t1", budget="fast")
    assert found.method == "t1"
    assert found.columns["attention"].sum() == pytest.approx(1, abs=1e-5)
    assert set(found.columns["column"]) == {"level", "flow", "noise"}
    assert found.stretches["moved"].abs().max() > 0


def test_a_line_is_drawn_from_its_two_ends_alone(plant):
    found = t1.explain(plant, "flow", 61, method="linear", budget="fast")
    left, right = plant["flow"].iloc[59], plant["flow"].iloc[64]
    assert found.value == pytest.approx(left + (right - left) * 2 / 5)
    assert found.columns["attention"].isna().all(), "no network looked"
    moved = found.columns.set_index("column")["moved"]
    assert moved["flow"] != 0 and (moved.drop("flow") == 0).all()
    by_rows = found.stretches.set_index("first")["moved"]
    assert by_rows[0] == 0 and by_rows[-2] != 0 and by_rows[25] == 0
    cells = found.cells
    assert (cells.loc[cells["column"] != "flow", "moved"] == 0).all()


def test_the_blend_of_the_cell_stays_though_hiding_makes_its_gap_longer(plant, fitted):
    panel = Panel.of(plant.to_numpy(), list(plant.columns), times=plant.index.to_numpy())
    found = explain_cell(fitted.judged, panel, "flow", 61)
    assert found.method == "regression"
    again = explain_cell(fitted.judged, panel, 1, 61)
    pd.testing.assert_frame_equal(found.columns, again.columns)


def test_several_series_are_told_apart(plant):
    both = pd.concat([plant.assign(site=name) for name in ("north", "south")]).reset_index(names="when")
    both.loc[600:, "flow"] *= 3
    cell = {"time": "when", "id": "site", "method": "linear", "budget": "fast"}
    north, south = (
        t1.explain(both, "flow", "2024-03-03 13:00", series=name, **cell) for name in ("north", "south")
    )
    assert (north.series, south.series) == ("north", "south")
    assert south.value == pytest.approx(3 * north.value)
    with pytest.raises(InputError, match="Say which one: north, south"):
        t1.explain(both, "flow", "2024-03-03 13:00", **cell)
    with pytest.raises(InputError, match="Did you mean 'north'"):
        t1.explain(both, "flow", "2024-03-03 13:00", series="nort", **cell)


def test_an_angle_stays_on_its_circle():
    degrees = (np.arange(300) * 7.0 + 350) % 360
    table = pd.DataFrame({"wind_dir": degrees, "speed": np.cos(np.arange(300) / 9)})
    table.loc[100:102, "wind_dir"] = np.nan
    found = t1.explain(table, "wind_dir", 101, method="linear", budget="fast", kind={"wind_dir": "angle"})
    assert 0 <= found.value < 360
    assert abs((found.value - degrees[101] + 180) % 360 - 180) < 1e-6
    assert found.columns["moved"].abs().max() < 360


@pytest.mark.parametrize(
    ("column", "at", "message"),
    [
        ("flwo", "2024-03-03 13:00", "no column 'flwo'.*\n.*flow"),
        (
            "flow",
            "2024-03-03 10:00",
            "was observed there.*\nThe nearest missing one is at 2024-03-03 12:00:00",
        ),
        ("level", "2024-03-03 10:00", "no missing value there"),
        ("flow", "2024-03-03 13:30", "no row at.*\nThe nearest one is at 2024-03-03 13:00:00"),
        ("flow", 600, "no row 600.*\nGive a number from 0 to 599"),
        ("flow", "soon", "soon"),
    ],
)
def test_what_cannot_be_explained_is_said_with_a_cure(plant, fitted, column, at, message):
    with pytest.raises(InputError, match=message):
        t1.explain(plant, column, at, fitted=fitted)


def test_a_column_without_any_value_has_no_fill(plant):
    table = plant.assign(dead=np.nan)
    with pytest.raises(InputError, match="no value of 'dead' is known"):
        t1.explain(table, "dead", 61, method="linear", budget="fast")
    table = plant.assign(station_id=np.repeat([4711.0, 12.0, 9001.0], 200))
    table.iloc[60:64, -1] = np.nan
    with pytest.raises(InputError, match="'station_id' is taken for an id, so it was not filled"):
        t1.explain(table, "station_id", 61, method="linear", budget="fast")


def test_rows_are_needed_where_there_is_no_time():
    table = np.column_stack([np.arange(60.0), np.arange(60.0) % 7])
    table[10:14, 0] = np.nan
    assert t1.explain(table, "x0", "12", method="linear", budget="fast").value == pytest.approx(12)
    with pytest.raises(InputError, match="Give the number of a row"):
        t1.explain(table, "x0", "noon", method="linear", budget="fast")


@pytest.mark.parametrize(("row", "n_rows"), [(0, 1), (0, 300), (299, 300), (150, 300), (3, 9)])
def test_stretches_cover_every_row_once(row, n_rows):
    ends = _stretches(row, n_rows)
    covered = [row + k for first, last in ends for k in range(first, last + 1)]
    assert covered == list(range(n_rows))


def test_a_run_ends_at_its_neighbours_or_with_the_series():
    observed = np.array([False, False, True, False, False, True, False])
    assert _run(observed, 1, slice(0, 7)) == (0, 2)
    assert _run(observed, 3, slice(0, 7)) == (3, 5)
    assert _run(observed, 6, slice(0, 7)) == (6, 7)
    assert _run(observed, 4, slice(4, 7)) == (4, 5)


# ---------------------------------------------------------------- the command line


def test_the_command_prints_and_writes_what_was_asked_for(plant, fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plant.to_csv("plant.csv", index_label="time")
    fitted.save("model")
    words = ["explain", "plant.csv", "--column", "flow", "--at", "2024-03-03 13:00", "--model", "model"]
    assert main([*words, "--picture", "why.svg", "--table", "why.json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("flow at 2024-03-03 13:00:00: filled with ") and "without the rows" in out
    assert b"<svg" in (tmp_path / "why.svg").read_bytes()
    assert json.loads((tmp_path / "why.json").read_text())["columns"][0]["column"] == "level"
    assert main([*words, "--picture", "why.png", "--table", "why.csv"]) == 0
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert list(pd.read_csv("why.csv").columns)[:2] == ["hidden", "what"]
    capsys.readouterr()
    assert main([*words, "--picture", "why.doc"]) == 2
    assert "no picture file" in capsys.readouterr().err
    assert main([*words[:4], "--at", "2024-03-03 10:00", "--model", "model"]) == 2
    err = capsys.readouterr().err
    assert "(--at)" in err and "2024-03-03 12:00" in err


# ---------------------------------------------------------------- what explaining brought to light


def test_a_fit_fills_a_table_in_which_another_column_is_empty(plant, fitted):
    tomorrow = plant.iloc[50:300].copy()
    tomorrow["level"] = np.nan
    filled = fitted.apply(tomorrow).data["flow"]
    assert filled.notna().all()


def test_rounding_is_no_feature_of_a_regression(plant):
    """A season that is not there differs from the straight line by rounding alone: its weight must be small."""
    from t1.methods.regression import learn_regression

    learned = learn_regression(plant.to_numpy(), None)
    weights = learned.weights[np.isfinite(learned.weights)]
    assert len(weights) and np.abs(weights).max() < 100
