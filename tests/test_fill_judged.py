"""A judged fill, from a panel with holes to values, intervals and a scorecard."""

import copy
import json
import warnings
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from closed_form import QUICK, driven, fit_closed, holes, walks
from t1.data.kinds import KINDS
from t1.errors import InputError
from t1.fill import fit as module
from t1.fill import judging
from t1.fill.blend import Blend, learn_blend
from t1.fill.board import FOLDS
from t1.fill.fit import fit_panel
from t1.fill.gaps import CLASS_NAMES, N_CLASSES, Gaps
from t1.fill.hear import QUICK_STRIDE, Heard
from t1.fill.judged import Evidence
from t1.fill.judging import Judging
from t1.fill.rehearsal import rehearse
from t1.fill.rules import Rules
from t1.methods.base import Budget, Fill, Learning, LeftOut
from t1.methods.catalog import METHODS
from t1.methods.columns import Linear, Locf, Mean, Nearest
from t1.methods.simple import linear
from t1.methods.t1 import T1Fill
from t1.methods.tune import JUDGED, Tuned, TunedFill
from t1.methods.windows import STRIDE
from t1.panel import Panel

NAN = np.nan
cells = st.one_of(st.just(NAN), st.floats(-1e6, 1e6), st.sampled_from([1e308, -1e308, 0.0]))


def assert_observed_kept(panel: Panel, values: np.ndarray) -> None:
    seen = panel.observed
    assert values[seen].tobytes() == panel.values[seen].tobytes()  # bit for bit, -0.0 as well


@settings(max_examples=60)
@given(
    hnp.arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=cells),
    st.sets(st.integers(1, 39), max_size=2),
)
def test_observed_cells_are_never_changed_and_odd_tables_pass(table, cuts):
    panel = Panel.of(table.copy(), starts=[0, *sorted(c for c in cuts if c < len(table))])
    if not panel.observed.any():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit_closed(panel)
        filled = fitted.fill(panel, level=0.9)
    np.testing.assert_array_equal(panel.values, table)
    assert_observed_kept(panel, filled.values)
    observed = panel.observed
    assert ((filled.method >= 0) == (~observed & ~np.isnan(filled.values))).all()
    assert np.isnan(filled.values[:, ~panel.known]).all()
    for s, span in enumerate(panel.spans):  # every column that the series knows is filled in all of it
        alive = observed[span].any(axis=0)
        assert np.isfinite(filled.values[span][:, alive]).all(), s
    json.dumps(filled.scorecard.to_dict(), allow_nan=False)
    filled.scorecard.to_text()
    assert len(filled.provenance) == (filled.method >= 0).sum()


@pytest.mark.parametrize(
    "values",
    [
        [[1.0, NAN]],
        [[1.0], [NAN]],
        [[NAN], [2.0], [NAN]],
        [[1e308, 1.0], [NAN, NAN], [1e308, 2.0], [-1e308, NAN], [NAN, 3.0]] * 20,
        [[5.0, 1.0], [NAN, NAN], [5.0, 7.0]] * 40,
        [[NAN, 1.0], [NAN, NAN], [NAN, 3.0]] * 30,
    ],
    ids=["one row", "one column", "one value", "1e308", "constant", "an empty column"],
)
def test_tables_with_next_to_nothing_to_learn_from(values):
    panel = Panel.of(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = fit_closed(panel).fill(panel, level=0.8)
    assert_observed_kept(panel, filled.values)
    assert np.isfinite(filled.values[:, panel.known]).all()
    assert np.isnan(filled.values[:, ~panel.known]).all()


def test_a_constant_column_is_filled_with_its_value():
    panel = Panel.of(np.column_stack([np.full(300, 5.0), holes(walks(300, 1))[:, 0]]))
    values = panel.values.copy()
    values[50:60, 0] = values[100, 0] = values[-30:, 0] = NAN
    panel = panel.with_values(values)
    filled = fit_closed(panel).fill(panel, level=0.9)
    assert (filled.values[:, 0] == 5).all()
    gap = ~panel.observed[:, 0]
    assert (filled.lo[gap, 0] <= 5).all() and (filled.hi[gap, 0] >= 5).all()


def test_the_better_method_fills_and_is_better():
    truth = driven()
    panel = Panel.of(holes(truth), list("abcd"))
    filled = fit_closed(panel).fill(panel)
    hidden = ~panel.observed
    error = np.abs(filled.values - truth)[hidden].mean()
    assert error < 0.3 * np.abs(linear(panel.values) - truth)[hidden].mean()
    assert all(s.method.startswith("regression") for s in filled.scorecard.scores)
    assert "less error than linear interpolation" in filled.scorecard.verdict
    assert set(filled.provenance["method"].dropna()) == {s.method for s in filled.scorecard.scores}


@pytest.mark.parametrize("seed", range(3))
def test_random_walks_are_filled_as_well_as_by_straight_lines(seed):
    truth = walks(seed=seed)
    panel = Panel.of(holes(truth, 0.07, seed=seed + 9))
    filled = fit_closed(panel, seed=seed).fill(panel)
    hidden = ~panel.observed
    error, line = (np.abs(x - truth)[hidden].mean() for x in (filled.values, linear(panel.values)))
    assert error < 1.02 * line


def test_the_scorecard_tells_the_truth_about_the_real_gaps():
    truth = driven(3000, noise=0.5, seed=3)
    panel = Panel.of(holes(truth, 0.08), list("abcd"))
    filled = fit_closed(panel).fill(panel, level=0.9)
    for score in filled.scorecard.scores:
        if score.gap == "1":
            j = "abcd".index(score.column)
            real = np.abs(filled.values - truth)[filled.gap[:, j] == 1, j].mean()
            # judged by methods that learned from fewer cells than those that fill: rather too high than too low
            assert 0.75 * real < score.mae < 1.6 * real
    assert filled.scorecard.coverage == pytest.approx(0.9, abs=0.04)


def test_the_scorecard_tells_of_fills_as_they_are_written():
    """Half on is no state: what such a fill misses was told, but it is never written."""
    truth = driven(2000, noise=1.0, seed=5)
    truth[:, 0] = truth[:, 0] > 0.5
    panel = Panel.of(holes(truth, 0.15), list("abcd"))
    with patch.object(module, "METHODS", {name: METHODS[name] for name in QUICK}):
        fitted = fit_panel(panel, Learning(seed=0), tune=False, kinds={"a": KINDS["on/off"]})
    filled = fitted.fill(panel, rules=Rules(kinds={"a": KINDS["on/off"]}))
    single = filled.gap[:, 0] == 1
    real = np.abs(filled.values - truth)[single, 0].mean()
    score = next(s for s in filled.scorecard.scores if (s.column, s.gap) == ("a", "1"))
    assert score.mae == pytest.approx(real, rel=0.2)
    assert score.mae <= min(score.by_method.values()) * 1.1


@dataclass(frozen=True, eq=False)
class Spy:
    """A method that remembers what it was shown, and fills with a constant."""

    shown: list
    constant: float = 0.0
    name: str = "mean"

    def fit(self, panel: Panel, learning: Learning) -> "Spy":
        self.shown.append(panel)
        return self

    def fill(self, panel: Panel) -> Fill:
        self.shown.append(panel)
        return Fill(np.where(panel.observed, panel.values, self.constant))


def spied(monkeypatch, panel: Panel, constant: float = 0.0):
    spy = Spy([], constant)
    usual = module.fit_of
    monkeypatch.setattr(module, "fit_of", lambda name: spy.fit if name == "mean" else usual(name))
    return spy, fit_panel(panel, Learning(seed=3), method="mean", tune=False)


def test_a_method_never_sees_what_it_is_judged_on(monkeypatch):
    panel = Panel.of(holes(driven()))
    spy, fitted = spied(monkeypatch, panel)
    learned_from, filled = spy.shown
    rehearsal = rehearse(panel, np.random.default_rng(3))
    assert len(fitted.evidence.column) == len(rehearsal) > 100
    judged_on = set(rehearsal.truth.tolist())
    assert not judged_on & set(learned_from.values[learned_from.observed].tolist())
    assert np.isnan(filled.values[rehearsal.row, rehearsal.column]).all()
    fitted.fill(panel)
    np.testing.assert_array_equal(spy.shown[-1].values, panel.values)  # at last nothing is held back


def test_cells_a_method_cannot_fill_are_left_to_linear(monkeypatch):
    panel = Panel.of(holes(driven()))
    _, fitted = spied(monkeypatch, panel, constant=NAN)
    np.testing.assert_array_equal(fitted.fill(panel).values, linear(panel.values))


def test_a_method_asked_for_is_used_everywhere_and_scored_beside_linear():
    panel = Panel.of(holes(walks(2000, 2)), ["a", "b"])
    fitted = fit_closed(panel, method="nearest")
    filled = fitted.fill(panel)
    assert {s.method for s in filled.scorecard.scores} == {"nearest"}
    assert all(s.mae > s.linear_mae for s in filled.scorecard.scores if s.cells > 30)
    assert "more error than linear interpolation" in filled.scorecard.verdict
    with pytest.raises(InputError, match="Did you mean 'nearest'"):
        fit_panel(panel, Learning(), method="nearst")


def test_the_fill_of_a_blend_is_the_weighted_mean_of_the_methods_fills():
    panel = Panel.of(holes(driven(600)))
    fitted = fit_closed(panel)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), (4, N_CLASSES))
    mixed = replace(fitted, blend=Blend(fitted.method_names, weights, fitted.blend.tested))
    fills = np.stack([method.fill(panel).values for method in fitted.methods])
    fills = np.where(np.isnan(fills), fills[:1], fills)
    filled = mixed.fill(panel)
    known = [name for name in fitted.method_names if name != "seasonal"]  # it has no answer: no season
    assert len(known) == 3
    share = weights.copy()
    share[..., fitted.method_names.index("seasonal")] = 0
    share /= share.sum(axis=2, keepdims=True)
    hidden = np.argwhere(~panel.observed)
    gaps = Gaps.of(panel.observed, panel.starts)
    expected = np.einsum("cm,mc->c", share[gaps.column, gaps.code], fills[:, gaps.row, gaps.column])
    np.testing.assert_allclose(filled.values[gaps.row, gaps.column], expected, rtol=1e-9)
    assert len(hidden) == len(gaps)


def test_series_of_a_panel_do_not_touch():
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 1000.0, -500.0], 400)
    table = holes(level[:, None] + rng.normal(size=(1200, 2)))
    table[[0, 1, 399, 400, 401, 799, 800, 1199]] = NAN
    panel = Panel.of(table, starts=[0, 400, 800], ids=list("abc"))
    filled = fit_closed(panel).fill(panel, level=0.9)
    assert np.abs(filled.values - level[:, None]).max() < 10
    for span in panel.spans:
        alone = Panel.of(table[span])
        np.testing.assert_array_equal(filled.gap[span], fit_closed(alone).fill(alone).gap)
    assert all(s.linear_mae < 5 for s in filled.scorecard.scores if s.linear_mae is not None)


def test_provenance_and_rules():
    table = np.arange(40.0).reshape(20, 2) + 0.25
    table[3, 0] = table[5:9, 1] = table[15, 1] = NAN
    panel = Panel.of(table, ["a", "b"])
    rules = Rules(max_gap=2, integer={"b"}, maximum={"a": 5.0}, locked=[(15, 15)])
    origin = fit_closed(panel).fill(panel, rules=rules, level=0.5).provenance
    names = ["row", "column", "method", "gap_length", "value", "lo", "hi", "tested", "rule"]
    assert list(origin.columns) == names
    assert origin["row"].tolist() == [3, 5, 6, 7, 8, 15]
    assert origin["column"].tolist() == ["a", "b", "b", "b", "b", "b"]
    assert origin["rule"].tolist() == ["clipped", *["max gap"] * 4, "locked"]
    assert origin["gap_length"].tolist() == [1, 4, 4, 4, 4, 1]
    assert origin["value"][0] == 5 and origin["value"][1:].isna().all()
    assert origin["method"].iloc[0] == "linear" and origin["method"][1:].isna().all()


def test_intervals_hold_the_fill_and_are_absent_elsewhere():
    panel = Panel.of(holes(driven(600)))
    fitted = fit_closed(panel)
    filled = fitted.fill(panel, level=0.8)
    hidden = ~panel.observed
    assert (filled.lo[hidden] <= filled.values[hidden]).all() and (filled.values <= filled.hi)[hidden].all()
    assert np.isnan(filled.lo[~hidden]).all() and np.isnan(filled.hi[~hidden]).all()
    assert fitted.fill(panel).lo is None
    wide = fitted.fill(panel, level=0.95)
    assert ((wide.hi - wide.lo)[hidden] >= (filled.hi - filled.lo)[hidden]).mean() > 0.99
    with pytest.raises(InputError, match=r"Give 0\.9 for 90 %"):
        fitted.fill(panel, level=90)


def test_the_same_seed_gives_the_same_fill():
    panel = Panel.of(holes(driven(1000)))
    one, two = (fit_closed(panel, seed=7).fill(panel, level=0.9) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.missing.lo, two.missing.lo)
    assert one.scorecard == two.scorecard


def test_it_fills_another_panel_with_the_errors_that_the_fit_measured():
    truth = driven(2400)
    panel, later = Panel.of(holes(truth[:2000])), Panel.of(holes(truth[2000:], seed=5))
    fitted = fit_closed(panel, every=True)
    filled = fitted.fill(later, level=0.9)
    assert np.isfinite(filled.values).all()
    hidden = ~later.observed
    truth = truth[2000:]
    assert (
        np.abs(filled.values - truth)[hidden].mean()
        < 0.3 * np.abs(linear(later.values) - truth)[hidden].mean()
    )
    at_fit = {(s.column, s.gap): s.cells for s in fitted.scorecard.scores}
    assert all(at_fit[s.column, s.gap] == s.cells for s in filled.scorecard.scores)  # measured at the fit
    assert filled.scorecard.missing == hidden.sum()  # counted in the table that is filled
    inside = (filled.lo <= truth) & (truth <= filled.hi)
    assert inside[hidden].mean() == pytest.approx(0.9, abs=0.1)  # of 160 cells


def test_no_gaps_are_answered_at_once_without_fitting_anything(monkeypatch):
    monkeypatch.setattr(module, "fit_of", lambda name: pytest.fail(f"{name} was fitted"))
    monkeypatch.setattr(module, "rehearse", lambda *_: pytest.fail("cells were hidden"))
    panel = Panel.of(walks(500))
    filled = fit_panel(panel, Learning()).fill(panel, level=0.9)
    np.testing.assert_array_equal(filled.values, panel.values)
    assert filled.n_filled == 0 and filled.scorecard.verdict == "Nothing was missing."
    assert len(filled.provenance) == 0


def test_columns_without_any_value_do_not_count_as_gaps(monkeypatch):
    monkeypatch.setattr(module, "rehearse", lambda *_: pytest.fail("cells were hidden"))
    panel = Panel.of(np.column_stack([walks(100, 2), np.full(100, NAN)]))
    filled = fit_panel(panel, Learning()).fill(panel, level=0.9)
    assert np.isnan(filled.values[:, 2]).all() and filled.n_filled == 0


def test_a_fit_to_be_kept_learns_also_where_nothing_is_missing():
    panel = Panel.of(driven(800))
    later = Panel.of(holes(driven(300, seed=8)))
    fitted = fit_closed(panel, every=True)
    filled = fitted.fill(later, level=0.9)
    assert any("regression" in s.method for s in filled.scorecard.scores)
    assert np.isfinite(filled.missing.lo).all()


def test_a_cell_is_judged_by_a_blend_of_the_other_folds():
    fitted = fit_closed(Panel.of(holes(driven(900, noise=2.0) + 3 * walks(900))))
    e = fitted.evidence
    assert set(e.fold.tolist()) == set(FOLDS)
    for fold in FOLDS:
        mine, code = e.fold == fold, e.code.astype(np.int8)
        others = learn_blend(
            fitted.method_names,
            e.errors[:, ~mine],
            e.column[~mine],
            code[~mine],
            e.event[~mine],
            fitted.scale,
        )
        expected = others.mix(e.errors[:, mine], e.column[mine], code[mine])
        np.testing.assert_allclose(e.error[mine], expected)
    assert not np.allclose(e.error, fitted.blend.mix(e.errors, e.column, e.code.astype(np.int8)))


@pytest.mark.parametrize("fold", FOLDS)
def test_intervals_are_tested_by_cells_that_did_not_widen_them(fold):
    fitted = fit_closed(Panel.of(holes(driven(900, noise=0.5))))
    e = fitted.evidence
    wrong = replace(fitted, evidence=replace(e, error=np.where(e.fold == fold, 100 * e.error, e.error)))
    inside = wrong._calibrated(0.9)[1]
    assert inside[e.fold == fold].mean() < 0.2  # the other folds know nothing of errors that large
    assert inside[e.fold != fold].mean() > 0.95
    assert fitted._calibrated(0.9)[1].mean() == pytest.approx(0.9, abs=0.04)
    assert np.nanmedian(wrong.calibration(0.9).factor / fitted.calibration(0.9).factor) > 5


def test_what_was_left_out_is_said_and_linear_fills(monkeypatch):
    def no(panel, learning):
        raise LeftOut("regression was left out")

    usual = module.fit_of
    monkeypatch.setattr(module, "fit_of", lambda name: no if name == "regression" else usual(name))
    panel = Panel.of(holes(walks(300, 2)))
    fitted = fit_closed(panel, names=("linear", "regression"))
    assert fitted.notes == ("regression was left out",)
    np.testing.assert_array_equal(fitted.fill(panel).values, linear(panel.values))
    with pytest.raises(InputError, match="left out"):
        fit_closed(panel, method="regression")


def test_more_blends_than_a_byte_can_number():
    panel = Panel.of(holes(driven(60, 300)))
    fitted = fit_closed(panel)
    rng = np.random.default_rng(0)
    methods = (Linear(), Nearest(), Locf(), Mean(), fitted.methods[-1])
    weights = rng.dirichlet(np.ones(5), (300, N_CLASSES)) * (rng.random((300, N_CLASSES, 5)) < 0.7)
    weights[..., 0] += 0.01
    names = tuple(method.name for method in methods)
    blend = Blend(names, weights / weights.sum(axis=2, keepdims=True), fitted.blend.tested)
    evidence = replace(
        fitted.evidence, errors=np.resize(fitted.evidence.errors, (5, len(fitted.evidence.column)))
    )
    filled = replace(fitted, methods=methods, blend=blend, evidence=evidence).fill(panel)
    gaps = Gaps.of(panel.observed, panel.starts)
    told = np.array(filled.method_names)[filled.missing.method]
    assert len(set(told)) > 128
    for k in range(0, len(gaps), 97):
        assert told[k] == blend.label(int(gaps.column[k]), int(gaps.code[k]))


def test_nothing_observed_is_refused():
    with pytest.raises(InputError, match="every value of the table is missing"):
        fit_panel(Panel.of(np.full((20, 2), NAN)), Learning())


def test_every_class_that_is_filled_has_a_name():
    panel = Panel.of(holes(walks(900, 2), 0.3))
    filled = fit_closed(panel).fill(panel)
    assert {s.gap for s in filled.scorecard.scores} <= set(CLASS_NAMES)


def test_a_table_that_lacks_rows_but_no_cell_is_done_at_once():
    absent = np.zeros(200, dtype=bool)
    absent[50:60] = True
    values = np.where(absent[:, None], NAN, np.arange(400.0).reshape(200, 2))
    fitted = fit_panel(Panel.of(values, absent=absent), Learning())
    assert not len(fitted.evidence.column) and not fitted.missing.any()
    some = values.copy()
    some[100:103, 0] = NAN
    fitted = fit_panel(Panel.of(some, absent=absent), Learning(), tune=False)
    assert fitted.missing.sum() == 3  # absent rows are not counted
    assert not fitted.missing[1].any()


def test_where_linear_is_exact_linear_fills():
    rng = np.random.default_rng(0)
    table = np.stack([13.0 * np.arange(400), rng.normal(size=400).cumsum()], axis=1)
    table[rng.random(table.shape) < 0.05] = NAN
    fitted = fit_panel(Panel.of(table), Learning(), tune=False)
    assert fitted.blend.label(0, 0) == "linear"


def test_in_rounds_t1_is_judged_with_windows_further_apart_but_fills_with_near_ones(monkeypatch):
    strides, real = [], T1Fill.fill

    def fill(self, panel, **more):
        strides.append(more.get("stride", STRIDE))
        return real(self, panel, **more)

    monkeypatch.setattr(T1Fill, "fill", fill)
    panel = Panel.of(holes(driven(300, 3), 0.1))
    fitted = fit_panel(panel, Learning(), method="t1-zero")
    assert len(strides) > 1 and set(strides) == {QUICK_STRIDE}
    strides.clear()
    fitted.fill(panel)
    assert strides == [STRIDE]


def as_if_tuned(cls: type[TunedFill], start: T1Fill) -> TunedFill:
    """A copy of the network, which no regression tells anything: it fills otherwise."""
    return cls(copy.deepcopy(start.network), start.scaler, start.groups, start.relations, start.periods)


def test_tuned_t1_is_judged_without_the_hidden_cells_and_goes_on_with_all(monkeypatch):
    trained = []

    def train(cls, start, panel, learning, seconds, **_):
        trained.append((int(panel.observed.sum()), seconds))
        return Tuned(as_if_tuned(cls, start), None, 1.0)

    monkeypatch.setattr(TunedFill, "train", classmethod(train))
    table = driven(600)
    table[100:110, 1] = np.nan
    panel = Panel.of(table, starts=[0])
    judged = fit_panel(panel, Learning(budget=Budget(60.0)), method="t1")
    assert "t1 tuned" in judged.method_names
    (first, seconds), (last, left) = trained
    assert first < last == int(panel.observed.sum())
    assert seconds == pytest.approx(JUDGED * left, rel=0.05)  # nothing was really trained, so all is left
    trained.clear()
    fit_panel(panel, Learning(budget=Budget(12.0)), method="t1")
    assert trained[0][1] > 4  # two fifths of so little would be too little: it is judged after all of it


def test_weights_take_a_tuned_network_for_better_if_it_became_so_after_it_was_judged():
    """What is told of its errors stays what was measured."""

    @dataclass(frozen=True)
    class Named:
        name: str

    rng = np.random.default_rng(0)
    n = 900
    errors = rng.normal(size=(3, n)) * [[1.0], [0.5], [0.6]]
    names = ("linear", "regression", "t1 tuned")
    heard = [[Heard(Named(name), e, None, None, 0.0)] for name, e in zip(names, errors, strict=True)]
    judging = Judging([], np.ones(1), Learning(), heard=heard)
    zeros, event = np.zeros(n, dtype=np.intp), np.arange(n)
    evidence = Evidence(
        errors=errors,
        error=np.full(n, NAN),
        column=zeros,
        code=zeros,
        event=event,
        fold=event % 3,
        distance=np.ones(n, dtype=np.int32),
        down=None,
        up=None,
    )
    (as_judged, before), (better, after) = (judging._blended(evidence, None, [], e) for e in (1.0, 0.4))
    assert better.weights[0, 0, 2] > as_judged.weights[0, 0, 2] + 0.1
    np.testing.assert_array_equal(after.errors, errors)
    for blend, told in ((as_judged, before), (better, after)):  # folds have nearly the same weights
        assert np.abs(told.error).mean() == pytest.approx(
            np.abs(blend.weights[0, 0] @ errors).mean(), rel=0.02
        )


def test_in_later_rounds_a_tuned_network_is_as_much_better_as_in_the_first(monkeypatch):
    """It has learned from the cells that those hide, so it is not heard there."""

    def train(cls, start, panel, learning, seconds, **_):
        return Tuned(as_if_tuned(cls, start), None, 1.0)

    heard, real = [], judging._evidence
    monkeypatch.setattr(TunedFill, "train", classmethod(train))
    monkeypatch.setattr(
        judging, "_evidence", lambda rounds, all_heard: heard.append(all_heard) or real(rounds, all_heard)
    )
    table = driven(500)
    table[100:110, 1] = np.nan
    fit_panel(Panel.of(table, starts=[0]), Learning(budget=Budget(60.0)), method="t1")
    by_name = {of_method[0].fitted.name: of_method for of_method in heard[0]}
    untuned, tuned = by_name["t1"], by_name["t1 tuned"]
    assert len(tuned) == len(untuned) > 1
    shares = tuned[1].errors / untuned[1].errors
    assert shares == pytest.approx(shares[0]) and shares[0] != 1
    sizes = [np.abs(h[0].errors).sum() for h in (tuned, untuned)]
    assert shares[0] == pytest.approx(sizes[0] / sizes[1], rel=0.3)  # columns count by their spread
    assert tuned[1].down == pytest.approx(shares[0] * untuned[1].down)


def test_a_tuned_network_does_not_shape_intervals(monkeypatch):
    """It learns on after it was judged: what it says of its own errors was not compared with errors."""

    def train(cls, start, panel, learning, seconds, **_):
        return Tuned(as_if_tuned(cls, start), None, 1.0)

    def sure_of_all(self, panel, **more):
        filled = real(self, panel, **more)
        return (
            replace(filled, down=filled.down * 1e-3, up=filled.up * 1e-3)
            if self.name == "t1 tuned"
            else filled
        )

    real = T1Fill.fill
    monkeypatch.setattr(TunedFill, "train", classmethod(train))
    table = holes(driven(500), 0.1)
    panel = Panel.of(table, starts=[0])
    judged = fit_panel(panel, Learning(budget=Budget(60.0)), method="t1")
    assert "t1 tuned" in judged.method_names
    judged.__dict__["_guess"] = "t1"  # whatever shape fits this table best
    before = judged.fill(panel, level=0.9)
    monkeypatch.setattr(T1Fill, "fill", sure_of_all)
    after = judged.fill(panel, level=0.9)
    assert judged.calibration(0.9).guess == "t1"
    np.testing.assert_array_equal(before.hi, after.hi)
    np.testing.assert_array_equal(before.lo, after.lo)
