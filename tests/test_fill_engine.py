"""The whole way from a table with holes to a fill with a scorecard."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.errors import InputError
from t1.fill import HoldOut, Rules, classic_candidate, classic_candidates, fill_table
from t1.methods.simple import linear

NAN = np.nan
cells = st.one_of(st.just(NAN), st.floats(-1e6, 1e6), st.sampled_from([1e308, -1e308, 0.0]))


def waves(n_rows: int = 3000, n_vars: int = 4, *, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """Columns that follow a common noisy driver, which no straight line can."""
    rng = np.random.default_rng(seed)
    driver = rng.normal(size=(n_rows, 1))
    return driver * (1 + np.arange(n_vars)) + noise * rng.normal(size=(n_rows, n_vars))


def holes(table: np.ndarray, rate: float = 0.1, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(table.shape) < rate, NAN, table)


class Spy:
    """A candidate that remembers what it was shown, and fills with a constant."""

    name = "spy"

    def __init__(self, constant: float = NAN) -> None:
        self.constant = constant
        self.shown: list[np.ndarray] = []

    def prepare(self, masked: np.ndarray, hold: HoldOut):
        self.masked, self.hold = masked.copy(), hold

        def fill(values: np.ndarray):
            self.shown.append(values.copy())
            yield np.arange(values.shape[1]), np.where(np.isnan(values), self.constant, values)

        return fill


@settings(max_examples=60)
@given(hnp.arrays(float, st.tuples(st.integers(0, 40), st.integers(0, 3)), elements=cells))
def test_observed_cells_are_never_changed_and_odd_tables_pass(table):
    before = table.copy()
    names = [f"c{j}" for j in range(table.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = fill_table(
            table, names, [classic_candidate("linear"), classic_candidate("nearest")], level=0.9
        )
    observed = ~np.isnan(before)
    np.testing.assert_array_equal(table, before)
    np.testing.assert_array_equal(filled.values[observed], before[observed])
    assert ((filled.method >= 0) == (~observed & ~np.isnan(filled.values))).all()
    alive = observed.any(axis=0)
    assert np.isnan(filled.values[:, ~alive]).all()
    json.dumps(filled.scorecard.to_dict(), allow_nan=False)
    filled.scorecard.to_text()
    assert len(filled.provenance) == (filled.method >= 0).sum()


def test_the_better_method_is_chosen_and_is_better():
    truth = waves()
    table = holes(truth)
    filled = fill_table(table, list("abcd"), classic_candidates())
    assert {s.method for s in filled.scorecard.scores} == {"regression"}
    hidden = np.isnan(table)
    assert np.abs(filled.values - truth)[hidden].mean() < 0.3 * np.abs(linear(table) - truth)[hidden].mean()
    assert "less error than linear interpolation" in filled.scorecard.verdict
    names = np.array(filled.method_names)
    assert set(names[filled.method[hidden]]) == {"regression"}


def test_the_scorecard_tells_the_truth_about_the_real_gaps():
    truth = waves(noise=0.5, seed=3)
    table = holes(truth, 0.08)
    filled = fill_table(table, list("abcd"), classic_candidates(), level=0.9)
    for score in filled.scorecard.scores:
        if score.gap == "1":
            j = "abcd".index(score.column)
            real = np.abs(filled.values - truth)[filled.gap[:, j] == 1, j].mean()
            assert score.mae == pytest.approx(real, rel=0.35)
    assert filled.scorecard.coverage == pytest.approx(0.9, abs=0.03)


def test_a_candidate_never_sees_what_it_is_judged_on():
    table = holes(waves())
    spy = Spy(0.0)
    fill_table(table, list("abcd"), [spy], forced="spy")
    hidden = spy.hold.hidden
    assert hidden.any() and np.isnan(spy.masked[hidden]).all()
    np.testing.assert_array_equal(spy.masked[~hidden], table[~hidden])
    *tried, real = spy.shown
    assert len(tried) == 3
    for part, shown in enumerate(tried):
        mine = spy.hold.of(part)
        assert np.isnan(shown[spy.hold.row[mine], spy.hold.column[mine]]).all()
    np.testing.assert_array_equal(real, table)  # at last the held-out cells are back


def test_cells_a_candidate_cannot_fill_are_left_to_linear():
    table = holes(waves())
    filled = fill_table(table, list("abcd"), [Spy(NAN)], forced="spy")
    np.testing.assert_array_equal(filled.values, linear(table))
    assert set(filled.method[np.isnan(table)]) == {filled.method_names.index("linear")}


def test_a_forced_method_is_used_everywhere_and_scored_beside_linear():
    table = holes(np.random.default_rng(0).normal(size=(2000, 2)).cumsum(axis=0))
    filled = fill_table(table, ["a", "b"], classic_candidates(), forced="nearest")
    assert {s.method for s in filled.scorecard.scores} == {"nearest"}
    assert all(s.mae > s.linear_mae for s in filled.scorecard.scores if s.cells > 30)
    assert "more error than linear interpolation" in filled.scorecard.verdict
    with pytest.raises(InputError, match="Did you mean 'nearest'"):
        fill_table(table, ["a", "b"], classic_candidates(), forced="nearst")


def test_series_of_a_panel_do_not_touch():
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 1000.0, -500.0], 400)
    rows = rng.permutation(1200)  # their rows are mixed in the table, in order within each
    series = [np.sort(rows[i * 400 : (i + 1) * 400]) for i in range(3)]
    table = np.empty((1200, 2))
    for one, base in zip(series, level[::400], strict=True):
        table[one] = base + rng.normal(size=(400, 2))
    table = holes(table)
    for one in series:
        table[one[[0, 1, -1]]] = NAN
    filled = fill_table(table, ["a", "b"], classic_candidates(), series=series, level=0.9)
    for one, base in zip(series, level[::400], strict=True):
        assert np.abs(filled.values[one] - base).max() < 10
        alone = fill_table(table[one], ["a", "b"], [])
        np.testing.assert_array_equal(filled.gap[one], alone.gap)
    assert all(s.linear_mae < 5 for s in filled.scorecard.scores if s.linear_mae is not None)
    with pytest.raises(InputError, match="each of the 1200 rows once"):
        fill_table(table, ["a", "b"], [], series=series[:2])


def test_provenance_and_rules():
    table = np.arange(40.0).reshape(20, 2) + 0.25
    table[3, 0] = table[5:9, 1] = table[15, 1] = NAN
    rules = Rules(max_gap=2, integer={"b"}, maximum={"a": 5.0}, locked=[(15, 15)])
    filled = fill_table(table, ["a", "b"], [], rules=rules, level=0.5)
    origin = filled.provenance
    assert list(origin.columns) == ["row", "column", "method", "gap_length", "value", "lo", "hi", "rule"]
    assert origin["row"].tolist() == [3, 5, 6, 7, 8, 15]
    assert origin["column"].tolist() == ["a", "b", "b", "b", "b", "b"]
    assert origin["rule"].tolist() == ["clipped", *["max gap"] * 4, "locked"]
    assert origin["gap_length"].tolist() == [1, 4, 4, 4, 4, 1]
    assert origin["value"][0] == 5 and origin["value"][1:].isna().all()
    assert origin["method"].iloc[0] == "linear" and origin["method"][1:].isna().all()


def test_intervals_hold_the_fill_and_are_absent_elsewhere():
    table = holes(waves())
    filled = fill_table(table, list("abcd"), classic_candidates(), level=0.8)
    hidden = np.isnan(table)
    assert (filled.lo[hidden] <= filled.values[hidden]).all() and (filled.values <= filled.hi)[hidden].all()
    assert np.isnan(filled.lo[~hidden]).all() and np.isnan(filled.hi[~hidden]).all()
    assert fill_table(table, list("abcd"), []).lo is None


def test_the_same_seed_gives_the_same_fill():
    table = holes(waves(1000))
    one, two = (fill_table(table, list("abcd"), classic_candidates(), level=0.9) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    assert one.scorecard == two.scorecard


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="one name per column"):
        fill_table(np.zeros((3, 2)), ["a"], [])
    with pytest.raises(InputError, match="level"):
        fill_table(np.zeros((3, 1)), ["a"], [], level=90)
    with pytest.raises(InputError, match="classic method"):
        classic_candidate("liner")
