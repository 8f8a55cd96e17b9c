"""The scorecard: exact numbers by hand, JSON without NaN, a table that fits a terminal."""

import json

import numpy as np

from t1.fill.blend import Blend
from t1.fill.gaps import N_CLASSES
from t1.fill.scorecard import Scorecard, score


def blend(n_vars: int, name: str = "regression") -> Blend:
    tested = np.zeros((n_vars, N_CLASSES), dtype=bool)
    tested[:, 0] = True
    return Blend.of_one(("linear", "regression"), name, n_vars, tested)


def card(n_vars: int = 2, *, covered: bool = False, **more) -> Scorecard:
    """Two report cells per column of class 0: errors 1 and 3, linear's 2 and 4; class 2 is untested."""
    missing = np.zeros((n_vars, N_CLASSES), dtype=np.intp)
    missing[:, 0], missing[:, 2] = 10, 7
    error = more.pop("error", np.tile([1.0, -3.0], n_vars))
    settings = {
        "columns": tuple(f"c{j}" for j in range(n_vars)),
        "blend": blend(n_vars),
        "missing": missing,
        "column": np.repeat(np.arange(n_vars), 2),
        "code": np.zeros(2 * n_vars, dtype=np.int8),
        "event": np.arange(2 * n_vars),
        "error": error,
        "errors": np.stack([np.tile([-2.0, 4.0], n_vars), np.tile([1.0, -3.0], n_vars)]),
        "covered": np.tile([True, False], n_vars) if covered else None,
        "calibrated": blend(n_vars).tested if covered else None,
        "level": 0.9 if covered else None,
        "scale": np.ones(n_vars),
        "forced": None,
    }
    return score(**(settings | more))


NOTHING = {
    "column": np.zeros(0, np.intp),
    "code": np.zeros(0, np.int8),
    "event": np.zeros(0, np.intp),
    "error": np.zeros(0),
    "errors": np.zeros((2, 0)),
}


def test_numbers_by_hand():
    scores = card(covered=True).scores
    tested, untested = scores[0], scores[1]
    assert (tested.gap, tested.missing, tested.cells, tested.events) == ("1", 10, 2, 2)
    assert (tested.method, tested.tested) == ("regression", True)
    assert (tested.mae, tested.linear_mae, tested.coverage) == (2, 3, 0.5)
    assert (tested.rmse, tested.linear_rmse) == (5**0.5, 10**0.5)
    assert (untested.gap, untested.missing, untested.cells, untested.mae) == ("6-23", 7, 0, None)


def test_what_could_not_be_rehearsed_is_marked():
    scores = card().scores
    assert [s.tested for s in scores] == [True, False, True, False]
    assert [s.tested for s in card(covered=True, calibrated=np.zeros((2, N_CLASSES), bool)).scores] == [
        False
    ] * 4


def test_every_methods_error_is_told_not_only_the_winners():
    made = card()
    assert made.scores[0].by_method == {"linear": 3, "regression": 2}
    assert made.by_method == {"linear": 3, "regression": 2}
    assert made.scores[1].by_method == {}  # untested
    no_answer = np.stack([np.tile([-2.0, 4.0], 2), np.tile([1.0, np.nan], 2)])
    assert card(errors=no_answer).scores[0].by_method["regression"] == (1 + 4) / 2  # there linear fills


def test_events_are_counted_not_only_cells():
    assert card(event=np.zeros(4, np.intp)).scores[0].events == 1


def test_rows_are_only_for_columns_and_classes_that_had_gaps():
    missing = np.zeros((2, N_CLASSES), dtype=np.intp)
    missing[1, 3] = 5
    assert [(s.column, s.gap) for s in card(missing=missing).scores] == [("c1", "24-95")]


def test_totals_are_in_the_mix_of_the_gaps():
    missing = np.zeros((2, N_CLASSES), dtype=np.intp)
    missing[:, 0] = 30, 10
    totals = card(2, missing=missing, error=np.array([1.0, 1, 5, 5]))
    assert totals.scaled_mae == (3 * 1 + 1 * 5) / 4
    assert (totals.missing, totals.cells) == (40, 4)


def test_only_cells_that_the_totals_are_of_are_counted():
    missing = np.zeros((2, N_CLASSES), dtype=np.intp)
    missing[0, 0] = 30  # the other is an id: its gaps stay empty
    made = card(2, missing=missing)
    assert made.cells == 2 and "2 held-out cells in 2 gaps" in made.verdict


def test_it_can_be_written_as_json_without_nan():
    for made in (card(), card(covered=True), card(error=np.tile([np.inf, np.nan], 2)), card(**NOTHING)):
        again = json.loads(json.dumps(made.to_dict(), allow_nan=False))
        assert again["scores"][1]["mae"] is None


def test_verdicts():
    linear = card(blend=blend(2, "linear"))
    assert "too few gaps to tell" in linear.verdict  # four of them
    many = {"column": np.repeat([0, 1], 10), "code": np.zeros(20, np.int8), "event": np.arange(20)}
    ones = {"error": np.ones(20), "errors": np.ones((2, 20)), **many}
    assert "nothing was clearly ahead" in card(blend=blend(2, "linear"), **ones).verdict
    assert "33.3% less error" in card().verdict and "regression where ahead" in card().verdict
    assert "4 held-out cells in 4 gaps" in card().verdict
    assert "regression (asked for)" in card(forced="regression").verdict
    assert "not tested" in card(**NOTHING).verdict
    assert card(missing=np.zeros((2, N_CLASSES), np.intp)).verdict == "Nothing was missing."


def test_the_text_fits_a_terminal():
    names = ("plain", "a very long name of a sensor in a far away place", "with\nnewline\tand tab", *"defgh")
    text = card(8, columns=names, covered=True).to_text()
    lines = text.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 100
    assert lines[0].split() == ["column", "gap", "missing", "tested", "method", "MAE", "linear", "cover"]
    assert lines[1].split() == ["plain", "1", "10", "2", "regression", "2", "3", "0.50"]
    assert lines[2].split() == ["plain", "6-23", "7", "no", "regression", "-", "-", "-"]


def test_the_text_says_asked_and_reached():
    assert "asked: 90 %, reached: 50 %" in card(covered=True).to_text()
    assert "asked" not in card().to_text()


def test_a_wide_table_is_summarised_by_its_worst_and_best():
    error = np.repeat(np.linspace(0, 3, 300), 2)
    lines = card(300, error=error).to_text().splitlines()
    assert len(lines) <= 30
    assert lines[1].startswith("c299") and any(line.startswith("c0 ") for line in lines[-4:])
    assert "more rows between the worst and the best" in "\n".join(lines)
