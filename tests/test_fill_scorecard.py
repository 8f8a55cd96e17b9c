"""The scorecard: exact numbers by hand, JSON without NaN, a table that fits a terminal."""

import json

import numpy as np

from t1.fill.scorecard import Scorecard, score


def card(n_vars: int = 2, *, covered: bool = False, **more) -> Scorecard:
    """Two report cells per column of class 0: errors 1 and 3, linear's 2 and 4; class 2 is untested."""
    missing = np.zeros((n_vars, 5), dtype=np.intp)
    missing[:, 0], missing[:, 2] = 10, 7
    settings = {
        "columns": tuple(f"c{j}" for j in range(n_vars)),
        "method_names": ("linear", "regression"),
        "chosen": np.ones((n_vars, 5), dtype=np.int8),
        "missing": missing,
        "column": np.repeat(np.arange(n_vars), 2),
        "code": np.zeros(2 * n_vars, dtype=np.int8),
        "error": np.tile([1.0, -3.0], n_vars),
        "linear_error": np.tile([-2.0, 4.0], n_vars),
        "covered": np.tile([True, False], n_vars) if covered else None,
        "level": 0.9 if covered else None,
        "scale": np.ones(n_vars),
        "forced": None,
    }
    return score(**(settings | more))


def test_numbers_by_hand():
    scores = card(covered=True).scores
    tested, untested = scores[0], scores[1]
    assert (tested.gap, tested.missing, tested.cells, tested.method) == ("1", 10, 2, "regression")
    assert (tested.mae, tested.linear_mae, tested.coverage) == (2, 3, 0.5)
    assert (tested.rmse, tested.linear_rmse) == (5**0.5, 10**0.5)
    assert (untested.gap, untested.missing, untested.cells, untested.mae) == ("6-23", 7, 0, None)


def test_totals_are_in_the_mix_of_the_gaps():
    totals = card(2, missing=np.array([[30, 0, 0, 0, 0], [10, 0, 0, 0, 0]]), error=np.array([1.0, 1, 5, 5]))
    assert totals.scaled_mae == (3 * 1 + 1 * 5) / 4
    assert (totals.missing, totals.cells) == (40, 4)


def test_it_can_be_written_as_json_without_nan():
    for made in (card(), card(covered=True), card(error=np.tile([np.inf, np.nan], 2))):
        again = json.loads(json.dumps(made.to_dict(), allow_nan=False))
        assert again["scores"][1]["mae"] is None


def test_verdicts():
    linear = np.zeros((2, 5), dtype=np.int8)
    assert card(chosen=linear).verdict.startswith("Linear interpolation everywhere (nothing beat it)")
    assert "33.3% less error" in card().verdict and "regression where ahead" in card().verdict
    assert "asked for" in card(forced="regression").verdict
    empty = np.zeros(0)
    none = {"column": empty.astype(int), "code": empty.astype(np.int8), "error": empty, "linear_error": empty}
    assert "not tested" in card(**none).verdict


def test_the_text_fits_a_terminal():
    names = ("plain", "a very long name of a sensor in a far away place", "with\nnewline\tand tab", *"defgh")
    text = card(8, columns=names, covered=True).to_text()
    lines = text.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 100
    assert lines[0].split() == ["column", "gap", "missing", "tested", "method", "MAE", "linear", "cover"]
    assert lines[1].split() == ["plain", "1", "10", "2", "regression", "2", "3", "0.50"]


def test_a_wide_table_is_summarised_by_its_worst_and_best():
    error = np.repeat(np.linspace(0, 3, 300), 2)
    lines = card(300, error=error).to_text().splitlines()
    assert len(lines) <= 30
    assert lines[1].startswith("c299") and any(line.startswith("c0 ") for line in lines[-4:])
    assert "more rows between the worst and the best" in "\n".join(lines)
