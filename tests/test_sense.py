"""Where to measure next: cells that tell most about the others, and columns that can be spared."""

import numpy as np
import pandas as pd
import pytest

import t1
from t1.cli import main
from t1.methods.t1 import T1Fill
from t1.panel import Panel
from t1.sense.cells import Candidate, _halves, _places
from t1.sense.outlook import WINDOW, outlooks


def table(n: int = 400) -> pd.DataFrame:
    """a and b are noisy copies of one random walk, c is another one, d the sum of both."""
    rng = np.random.default_rng(0)
    one, two = np.cumsum(rng.normal(size=(2, n)), axis=1)
    noise = rng.normal(0, 0.05, (4, n))
    frame = pd.DataFrame({"a": one, "b": one, "c": two, "d": one + two}) + noise.T
    frame.index = pd.date_range("2024-01-01", periods=n, freq="h")
    return frame


@pytest.fixture(scope="module")
def gappy():
    frame = table()
    hidden = np.zeros(frame.shape, dtype=bool)
    hidden[100:150, 2] = hidden[100:150, 3] = True  # nothing else tells about c and d here
    hidden[220:250, 0] = True  # b tells a
    hidden[[10, 50, 300, 350], [0, 1, 2, 3]] = True
    return frame, hidden


@pytest.fixture(scope="module")
def fitted(gappy):
    frame, hidden = gappy
    return t1.fit(frame.mask(hidden), budget="fast", method="t1")


def test_the_gap_that_nothing_else_tells_comes_first(fitted, gappy):
    frame, hidden = gappy
    found = fitted.sense(frame.mask(hidden), budget=6)
    first = found.cells.iloc[0]
    assert (
        first["column"] in ("c", "d")
        and 100 <= first["row"] < 150
        and first["time"] == frame.index[first["row"]]
    )
    top = found.cells.head(4)
    assert top["column"].isin(["c", "d"]).all() and top["row"].between(100, 149).all()
    cells = list(zip(found.cells["row"], found.cells["column"], strict=True))
    assert len(set(cells)) == 6 and all(hidden[r, "abcd".index(c)] for r, c in cells)
    assert (found.cells["lowers"] > 0).all() and found.cells["rank"].tolist() == [1, 2, 3, 4, 5, 6]


def test_measuring_there_lowers_the_error_more_than_at_random(fitted, gappy):
    frame, hidden = gappy
    truth = frame.to_numpy()
    found = fitted.sense(frame.mask(hidden), budget=8)
    chosen = [(r, "abcd".index(c)) for r, c in zip(found.cells["row"], found.cells["column"], strict=True)]
    everywhere = np.argwhere(hidden)
    rng = np.random.default_rng(0)

    def error(cells) -> float:
        left = hidden.copy()
        left[tuple(np.array(cells).T)] = False
        return float(np.abs(fitted.apply(frame.mask(left)).values - truth)[hidden].mean())

    by_chance = [error(rng.permutation(everywhere)[:8]) for _ in range(5)]
    assert error(chosen) < 0.9 * np.mean(by_chance)


def test_a_copy_can_be_dropped_and_a_column_of_its_own_kept(fitted, gappy):
    frame, hidden = gappy
    worth = fitted.sense(frame.mask(hidden), budget=1).columns.set_index("column")
    assert set(worth.index) == set("abcd") and worth["loss"].is_monotonic_decreasing
    assert worth.index[0] == "c" and worth["itself"][["a", "b"]].max() < worth["itself"]["c"]


def test_only_allowed_cells_are_chosen(fitted, gappy):
    frame, hidden = gappy
    allowed = np.zeros(hidden.shape, dtype=bool)
    allowed[:, 0] = True
    found = fitted.sense(frame.mask(hidden), budget=5, allowed=allowed)
    assert set(found.cells["column"]) == {"a"}


def test_a_choice_is_known_afterwards(fitted, gappy):
    """What the network is told of one more cell lowers the spread around it and nowhere raises a known one."""
    frame, hidden = gappy
    method = next(m for m in fitted.judged.methods if isinstance(m, T1Fill))
    (view,) = outlooks(method, Panel.of(frame.mask(hidden).to_numpy(), list("abcd")))
    start = view.start(125)
    before, after = view.spread(np.array([start, start]), [None, (125, 2)])
    assert after[125 - start, 2] == 0 < before[125 - start, 2]
    assert after.sum() < before.sum() - before[125 - start, 2]
    assert (before > 0).sum() == hidden[start : start + WINDOW].sum()


def test_places_of_a_gap_and_of_its_halves(fitted, gappy):
    frame, hidden = gappy
    assert _places(10, 12) == [10, 11] and _places(0, 8) == [1, 2, 4, 6, 7]
    method = next(m for m in fitted.judged.methods if isinstance(m, T1Fill))
    (view,) = outlooks(method, Panel.of(frame.mask(hidden).to_numpy(), list("abcd")))
    view.observed[125, 2] = True
    fresh = _halves(view, Candidate(0, 125, 2), np.ones(hidden.shape, dtype=bool), set())
    rows = sorted(c.row for c in fresh)
    assert min(rows) >= 100 and max(rows) < 150 and 125 not in rows and {112, 138} <= set(rows)


def test_several_series_and_short_ones(fitted):
    frame = table(120)
    frame["who"] = np.repeat(["x", "y"], 60)
    frame.iloc[20:40, 0] = np.nan
    frame.iloc[80:100, 2] = np.nan
    found = t1.fit(frame, id="who", budget="fast", method="t1").sense(frame, budget=4)
    assert set(found.cells["series"]) <= {"x", "y"} and len(found.cells) == 4
    inside = {"a": range(20, 40), "c": range(80, 100)}
    for row, column in zip(found.cells["row"], found.cells["column"], strict=True):
        assert row in inside[column]


def test_a_table_without_gaps_has_nothing_to_measure(fitted):
    found = fitted.sense(table(), budget=3)
    assert len(found.cells) == 0 and "nothing is missing" in found.to_text() and len(found.columns) == 4


def test_the_command(tmp_path, capsys, gappy, fitted):
    frame, hidden = gappy
    frame.mask(hidden).to_csv(tmp_path / "plant.csv", index_label="time")
    fitted.save(tmp_path / "model")
    command = ["sense", str(tmp_path / "plant.csv"), "--budget", "3"]
    cells, columns = tmp_path / "cells.csv", tmp_path / "columns.csv"
    assert main([*command, "-o", str(cells), "--columns-output", str(columns)]) == 0
    assert len(pd.read_csv(cells)) == 3 and len(pd.read_csv(columns)) == 4
    assert "3 cells to measure" in capsys.readouterr().out
    assert main([*command, "--model", str(tmp_path / "model")]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--budget", "0"], "--budget"),
        (["-o", "nowhere/cells.csv"], "nowhere"),
        (["--model", "none"], "none"),
    ],
)
def test_bad_input_is_told(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    table(100).mask(np.arange(400).reshape(100, 4) % 9 == 0).to_csv("plant.csv")
    assert main(["sense", "plant.csv", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_fill_without_t1_cannot_tell(gappy):
    frame, hidden = gappy
    with pytest.raises(t1.InputError, match="no T1"):
        t1.fit(frame.mask(hidden), method="linear").sense(frame.mask(hidden))
