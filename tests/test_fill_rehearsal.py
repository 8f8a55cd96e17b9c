"""The rehearsal: only observed cells, three parts that share no cell, the panel's own kind of gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.fill import board
from t1.fill.board import AT_A_TIME, FOLDS, SHARE
from t1.fill.events import own_events
from t1.fill.gaps import CLASS_NAMES, N_INNER, Gaps, find_runs
from t1.fill.rehearsal import ROUNDS, Rehearsal, rehearse, rehearse_until_clear
from t1.panel import Panel


def panel_of(observed: np.ndarray, starts=(0,), seed: int = 0) -> Panel:
    """Every observed cell has a value of its own, by which a copy of it is known."""
    names = np.random.default_rng(seed).permutation(observed.size).astype(float).reshape(observed.shape)
    return Panel.of(np.where(observed, names, np.nan), starts=starts)


def again(observed: np.ndarray, starts=(0,), seed: int = 0) -> Rehearsal:
    return rehearse(panel_of(observed, starts), np.random.default_rng(seed))


def with_outages(n_rows: int, n_vars: int, *, rate: float, n: int, length: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    observed = rng.random((n_rows, n_vars)) >= rate
    for start in rng.integers(1, n_rows - length, size=n):
        observed[start : start + length, : n_vars // 2 + 1] = False
    return observed


def check(panel: Panel, r: Rehearsal) -> None:
    """What holds for every rehearsal."""
    where = {value: index for index, value in np.ndenumerate(panel.values) if value == value}
    cells = [where[truth] for truth in r.truth.tolist()]  # a KeyError here: the truth is no observed cell
    assert [j for _, j in cells] == r.column.tolist()
    owner: dict[tuple[int, int], int] = {}
    for cell, fold in zip(cells, r.fold.tolist(), strict=True):
        assert owner.setdefault(cell, fold) == fold  # no cell of the panel is in two folds
    # what methods learn from lacks every hidden cell, and only those
    hidden = np.zeros(panel.values.shape, dtype=bool)
    for cell in owner:
        hidden[cell] = True
    np.testing.assert_array_equal(r.masked.values, np.where(hidden, np.nan, panel.values))
    assert (hidden.sum(axis=0) <= SHARE * panel.observed.sum(axis=0)).all()
    in_copies = np.bincount(r.column, minlength=panel.n_vars)
    assert (in_copies <= AT_A_TIME * (r.panel.observed.sum(axis=0) + in_copies)).all()
    # in the copies hidden cells are empty, each is hidden once, and everything else is a copy
    assert np.isnan(r.panel.values[r.row, r.column]).all()
    assert len(set(zip(r.row.tolist(), r.column.tolist(), strict=True))) == len(r)
    series = np.searchsorted(panel.starts, np.arange(panel.n_rows), side="right") - 1
    for span, name in zip(r.panel.spans, r.panel.ids, strict=True):
        values = r.panel.values[span]
        rows = {where[v][0] - i for i, row in enumerate(values) for v in row if v == v}
        assert len(rows) <= 1  # consecutive rows of the panel
        origin = {panel.ids[series[where[v][0]]] for row in values for v in row if v == v}
        assert origin <= {name}  # of one series
    # class and distance are those that are seen once the cells are hidden
    gaps = Gaps.of(r.panel.observed, r.panel.starts)
    seen = {(i, j): k for k, (i, j) in enumerate(zip(gaps.row.tolist(), gaps.column.tolist(), strict=True))}
    at = [seen[i, j] for i, j in zip(r.row.tolist(), r.column.tolist(), strict=True)]
    np.testing.assert_array_equal(r.code, gaps.code[at])
    np.testing.assert_array_equal(r.distance, gaps.distance[at])
    for e in np.unique(r.event).tolist():
        assert len(np.unique(r.fold[r.event == e])) == 1


@settings(max_examples=60)
@given(
    hnp.arrays(
        bool,
        st.tuples(st.integers(0, 160), st.integers(0, 4)),
        elements=st.sampled_from([True] * 4 + [False]),
    ),
    st.sets(st.integers(1, 159), max_size=3),
    st.integers(0, 9),
)
def test_what_holds_for_every_rehearsal(observed, cuts, seed):
    starts = [0, *sorted(cut for cut in cuts if cut < len(observed))]
    panel = panel_of(observed, starts)
    one, two = (rehearse(panel, np.random.default_rng(seed)) for _ in range(2))
    check(panel, one)
    for name in ("truth", "row", "column", "event", "fold", "code", "distance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_what_holds_for_a_long_table_whose_copies_are_samples(rate):
    panel = panel_of(with_outages(9000, 3, rate=rate, n=12, length=15), [0, 5000])
    r = rehearse(panel, np.random.default_rng(0))
    assert r.panel.n_rows < 3 * panel.n_rows  # else it would not be a sample
    check(panel, r)


def test_another_seed_hides_other_cells():
    observed = with_outages(2000, 3, rate=0.05, n=5, length=12)
    assert set(again(observed, seed=0).truth) != set(again(observed, seed=1).truth)


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5])
def test_events_are_apart_and_folds_are_balanced(rate):
    observed = with_outages(6000, 5, rate=rate, n=12, length=15)
    r = again(observed)
    label = np.full(r.panel.values.shape, -1)
    label[r.row, r.column] = r.event
    for column, start, stop, *_ in zip(*find_runs(r.panel.observed, r.panel.starts), strict=True):
        assert len(set(label[start:stop, column]) - {-1}) <= 1  # no run holds cells of two events
    for code in np.unique(r.code):
        cells = np.bincount(r.fold[r.code == code], minlength=len(FOLDS))
        assert cells.max() <= 1.35 * cells.min() + 60


def test_there_is_enough_evidence_for_every_class_of_a_column():
    r = again(with_outages(12000, 4, rate=0.05, n=20, length=12))
    for code in (0, 2):
        for fold in FOLDS:
            here = (r.code == code) & (r.fold == fold)
            assert (np.bincount(r.column[here], minlength=4)[:3] >= 54).all()


def test_most_events_are_of_the_classes_that_most_missing_cells_are_of():
    observed = np.random.default_rng(4).random((3000, 6)) > 0.3
    missing = Gaps.of(observed, np.zeros(1, dtype=np.intp)).code
    r = again(observed)
    of_class = np.bincount(r.code[np.unique(r.event, return_index=True)[1]], minlength=3)
    in_panel = np.bincount(missing, minlength=3)
    assert in_panel[1] > 8 * in_panel[2]
    assert min(of_class[:2]) > 20 * of_class[2]
    assert of_class[2] >= 12  # as many as the panel has: rare ones are not forgotten


def test_columns_that_go_missing_together_are_hidden_together():
    observed = np.ones((4000, 4), dtype=bool)
    for start in range(100, 3900, 400):
        observed[start : start + 8, :2] = False
    r = again(observed)
    cells = [set(r.row[r.column == j].tolist()) for j in range(4)]
    assert cells[0] == cells[1] != set()
    assert not cells[2] and not cells[3]  # a column without gaps gets none


def test_nearly_equal_runs_are_one_event_and_a_chain_of_overlaps_is_not():
    observed = np.ones((200, 3), dtype=bool)
    observed[20:40, 0] = observed[21:41, 1] = False
    observed[100:120, 0] = observed[110:130, 1] = observed[120:140, 2] = False
    events = own_events(find_runs(observed, np.array([0])), np.ones(3, dtype=bool), 50)
    assert sorted(len(events[e].column) for e in range(len(events))) == [1, 1, 1, 2]


def test_a_run_at_an_edge_is_no_event_with_one_that_is_inner():
    observed = np.ones((200, 2), dtype=bool)
    observed[:30, 0] = observed[1:31, 1] = False
    events = own_events(find_runs(observed, np.array([0])), np.ones(2, dtype=bool), 50)
    assert sorted(events[e].edge for e in range(len(events))) == [False, True]


def test_a_table_without_gaps_is_given_points_and_short_runs():
    r = again(np.ones((2000, 3), dtype=bool))
    assert {CLASS_NAMES[c] for c in r.code} == {"1", "2-5", "6-23"}
    assert set(r.column) == {0, 1, 2}


def test_a_very_long_gap_is_shortened_and_stays_in_its_class():
    observed = np.ones((12000, 2), dtype=bool)
    observed[2000:7000, 0] = False
    r = again(observed)
    assert {CLASS_NAMES[c] for c in r.code} == {"96+"}
    assert set(r.fold) == set(FOLDS)
    assert r.distance.max() <= 1000


def test_edges_are_rehearsed_only_where_a_stretch_ends_and_only_if_the_panel_has_them():
    observed = with_outages(3000, 3, rate=0.03, n=6, length=12)
    observed[[0, -1]] = True
    assert not (again(observed).code >= N_INNER).any()
    observed[:60, 0] = observed[-40:, 1] = False
    r = again(observed)
    edge = r.code >= N_INNER
    assert {CLASS_NAMES[c] for c in r.code[edge]} == {"edge 24+"}
    assert set(r.fold[edge]) == set(FOLDS)
    ends = np.append(r.panel.starts[1:], r.panel.n_rows)
    for row, column in zip(r.row[edge].tolist(), r.column[edge].tolist(), strict=True):
        s = np.searchsorted(r.panel.starts, row, side="right") - 1
        before, after = (
            r.panel.observed[r.panel.starts[s] : row, column],
            r.panel.observed[row : ends[s], column],
        )
        assert not before.any() or not after.any()


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (1, 1), (2, 2), (5, 0)])
def test_tiny_tables_hide_nothing(shape):
    assert not len(again(np.ones(shape, dtype=bool)))
    assert not len(again(np.zeros(shape, dtype=bool)))


def test_a_short_table_with_one_gap_still_has_something_to_report():
    observed = np.ones((300, 3), dtype=bool)
    observed[100:130, 0] = False
    r = again(observed)
    assert set(r.column) == {0} and len(set(r.fold)) > 1


def test_a_column_sampled_every_third_row_is_rehearsed_at_its_own_rate():
    observed = np.ones((3000, 2), dtype=bool)
    observed[np.arange(3000) % 3 != 1, 0] = False
    observed[500:524, 0] = observed[2000:2030, 0] = False  # samples that are really lost
    r = again(observed)
    events, cells = np.unique(r.event[r.column == 0], return_counts=True)
    assert len(events) > 50
    codes = {CLASS_NAMES[c] for c in r.code[r.column == 0]}
    assert {"2-5", "24-95"} <= codes  # one sample lost, and several in a row
    assert cells.max() >= 6


def test_a_small_table_with_few_gaps_is_rehearsed_again_and_no_cell_is_in_two_folds():
    observed = np.ones((200, 3), dtype=bool)
    observed[60:90, 1] = observed[150, 0] = False
    panel = panel_of(observed, [0])
    rounds = rehearse_until_clear(panel, np.random.default_rng(0))
    assert len(rounds) == ROUNDS
    fold_of: dict[float, set[int]] = {}
    for r in rounds:
        check(panel, r)
        for value, fold in zip(r.truth.tolist(), r.fold.tolist(), strict=True):
            fold_of.setdefault(value, set()).add(fold)
    assert all(len(folds) == 1 for folds in fold_of.values())
    one = len(np.unique(rounds[0].event))
    assert sum(len(np.unique(r.event)) for r in rounds) > 2 * one  # placed afresh
    assert not np.array_equal(np.sort(rounds[0].truth), np.sort(rounds[1].truth))


def test_a_table_with_many_gaps_or_many_cells_is_rehearsed_once():
    rng = np.random.default_rng(0)
    many = panel_of(rng.random((3000, 2)) > 0.1, [0])
    assert len(rehearse_until_clear(many, rng)) == 1
    large = np.ones((9000, 3), dtype=bool)
    large[60:90, 1] = False
    assert len(rehearse_until_clear(panel_of(large, [0]), rng)) == 1


def test_the_copies_of_a_wide_table_are_short():
    """Judging takes as long as copies are large, and so many columns show enough in few rows."""
    wide = np.ones((3000, 500), dtype=bool)
    for j in range(0, 500, 5):
        wide[5 * j + 7 : 5 * j + 20, j] = False
    r = again(wide)
    assert r.panel.n_rows < 3 * 600
    assert len(np.unique(r.event)) > 300


@pytest.mark.parametrize("n_vars", [3, 12])
def test_runs_one_by_one_and_all_at_once_are_laid_alike(monkeypatch, n_vars):
    observed = with_outages(700, n_vars, rate=0.08, n=9, length=30)
    observed[:25, 1] = observed[-120:, 0] = False
    few = again(observed, starts=(0, 300))
    monkeypatch.setattr(board, "FEW", 0)
    many = again(observed, starts=(0, 300))
    assert len(few) > 100
    for name in ("row", "column", "event", "fold", "code", "owner"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize("n_columns", [6, 20])  # events of few and of many runs
def test_where_cells_miss_at_random_no_more_columns_are_missing_at_once_than_in_the_panel(n_columns):
    """Points of several columns in one row are one event: laid over other points they would hide too much of a row."""
    observed = np.random.default_rng(3).random((1500, n_columns)) > 0.4
    r = again(observed)
    beside = (~r.panel.observed).sum(axis=1)[r.row].mean()  # columns missing in the row of a hidden cell
    usual = ((~observed).sum(axis=1) ** 2).sum() / (~observed).sum()  # in that of a missing cell of the panel
    assert usual < beside < usual + 1.2  # one more, which is the hidden cell itself


def test_an_outage_of_all_columns_is_hidden_whole_where_other_cells_miss_at_random():
    observed = np.random.default_rng(4).random((4000, 6)) > 0.03
    for start in range(100, 3900, 300):
        observed[start : start + 12] = False
    r = again(observed)
    long = r.row[r.code == 2]
    gone = (~r.panel.observed[long]).sum(axis=1)
    assert len(long) > 300 and np.mean(gone >= 5) > 0.9  # a column may have no room for it


def test_a_small_table_rehearses_its_long_gaps_as_long_ones():
    observed = np.ones((250, 4), dtype=bool)
    for j, begin in enumerate((40, 90, 150, 200)):
        observed[begin : begin + 35, j] = False
    panel = panel_of(observed, [0])
    rounds = rehearse_until_clear(panel, np.random.default_rng(0))
    long = [r.column[r.code == CLASS_NAMES.index("24-95")] for r in rounds]
    assert set(np.concatenate(long)) == {0, 1, 2, 3}
    for r in rounds:
        check(panel, r)
