"""The hold-out: only observed cells, whole events, three disjoint parts, the table's own kind of gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from t1.fill.holdout import PARTS, HoldOut, plan_holdout

from t1.errors import InputError
from t1.fill.events import own_events
from t1.fill.gaps import find_runs, gap_class, gap_lengths


def plan(observed: np.ndarray, seed: int = 0, **settings) -> HoldOut:
    return plan_holdout(observed, np.random.default_rng(seed), **settings)


def with_outages(n_rows: int, n_vars: int, *, rate: float, n: int, length: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    observed = rng.random((n_rows, n_vars)) >= rate
    for start in rng.integers(1, n_rows - length, size=n):
        observed[start : start + length, : n_vars // 2 + 1] = False
    return observed


@settings(max_examples=60)
@given(hnp.arrays(bool, st.tuples(st.integers(0, 120), st.integers(0, 4))), st.integers(0, 9))
def test_hides_only_what_was_seen_and_repeats_itself(observed, seed):
    hold = plan(observed, seed)
    assert not (hold.hidden & ~observed).any()
    assert (hold.hidden == plan(observed, seed).hidden).all()
    again = np.zeros_like(observed)
    again[hold.row, hold.column] = True
    assert (again == hold.hidden).all() and len(hold.row) == hold.hidden.sum()  # each cell once, in one part
    assert (hold.hidden.sum(axis=0) <= 0.12 * observed.sum(axis=0)).all()
    seen = gap_lengths(observed & ~hold.hidden)
    assert (hold.length == seen[hold.row, hold.column]).all()


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5])
def test_events_are_whole_and_apart_and_parts_are_balanced(rate):
    observed = with_outages(6000, 5, rate=rate, n=12, length=15)
    hold = plan(observed)
    for e in np.unique(hold.event):
        assert len(np.unique(hold.part[hold.event == e])) == 1
    runs = find_runs(observed & ~hold.hidden)  # no run holds cells of two events
    label = np.full(observed.shape, -1)
    label[hold.row, hold.column] = hold.event
    for column, start, stop in zip(*runs, strict=True):
        assert len(set(label[start:stop, column]) - {-1}) <= 1
    for code in np.unique(hold.gap_class):
        cells = np.bincount(hold.part[hold.gap_class == code], minlength=len(PARTS))
        assert cells.max() <= 1.35 * cells.min() + 60


def test_there_is_enough_evidence_for_every_class_of_a_column():
    observed = with_outages(12000, 4, rate=0.05, n=20, length=12)
    hold = plan(observed)
    for code, cells in ((0, 60), (2, 60)):
        for part in PARTS:
            here = (hold.gap_class == code) & (hold.part == part)
            assert (np.bincount(hold.column[here], minlength=4)[:3] >= 0.9 * cells).all()


def test_run_lengths_are_mixed_as_in_the_table():
    rng = np.random.default_rng(3)
    observed = np.ones((20000, 3), dtype=bool)
    for length in (1, 1, 1, 2, 4, 4, 7, 20, 40):
        for start in rng.integers(1, 19000, size=25):
            observed[start : start + length, rng.integers(3)] = False
    hold = plan(observed)

    def lengths(mask: np.ndarray) -> np.ndarray:
        runs = find_runs(~mask)
        return runs.stop - runs.start

    own, moved = lengths(~observed), lengths(hold.hidden)
    assert set(gap_class(own)) == set(gap_class(moved))
    for code in set(gap_class(own)):  # within each class; how much of each class is topped up by need
        mine, theirs = own[gap_class(own) == code], moved[gap_class(moved) == code]
        assert abs(mine.mean() - theirs.mean()) <= 0.15 * mine.mean()
    seen = gap_lengths(observed & ~hold.hidden)[hold.hidden]
    assert (seen == gap_lengths(~hold.hidden)[hold.hidden]).mean() > 0.9  # few touch a real gap


def test_columns_that_go_missing_together_are_hidden_together():
    observed = np.ones((4000, 4), dtype=bool)
    for start in range(100, 3900, 400):
        observed[start : start + 8, :2] = False
    hold = plan(observed)
    assert (hold.hidden[:, 0] == hold.hidden[:, 1]).all() and hold.hidden[:, 0].any()
    assert not hold.hidden[:, 2:].any()  # a column without gaps gets none


def test_nearly_equal_runs_are_one_event_and_a_chain_of_overlaps_is_not():
    observed = np.ones((200, 3), dtype=bool)
    observed[20:40, 0] = observed[21:41, 1] = False
    observed[100:120, 0] = observed[110:130, 1] = observed[120:140, 2] = False
    events = own_events(find_runs(observed), np.ones(3, dtype=bool), 50)
    assert sorted(len(columns) for columns, _, _ in events) == [1, 1, 1, 2]


def test_a_table_without_gaps_is_given_points_and_short_runs():
    hold = plan(np.ones((2000, 3), dtype=bool))
    assert set(hold.gap_class) == {0, 1, 2}
    assert set(hold.column) == {0, 1, 2}


def test_a_very_long_gap_is_shortened_and_stays_in_its_class():
    observed = np.ones((12000, 2), dtype=bool)
    observed[2000:7000, 0] = False
    hold = plan(observed)
    assert set(hold.gap_class) == {4}
    assert hold.length.max() <= 3000
    assert set(hold.part) == set(PARTS)


def test_a_moved_gap_stays_inside_a_series():
    starts = np.arange(0, 3000, 30)
    observed = np.random.default_rng(0).random((3000, 2)) > 0.1
    hold = plan(observed, starts=starts)
    series = hold.row // 30
    for e in np.unique(hold.event):
        assert len(np.unique(series[hold.event == e])) == 1
    assert (hold.length == gap_lengths(observed & ~hold.hidden, starts)[hold.row, hold.column]).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (1, 1), (5, 2), (5, 0)])
def test_tiny_tables_hide_nothing(shape):
    assert not plan(np.ones(shape, dtype=bool)).hidden.any()
    assert not plan(np.zeros(shape, dtype=bool)).hidden.any()


def test_a_wrong_share_is_refused():
    with pytest.raises(InputError, match="share"):
        plan(np.ones((5, 2), dtype=bool), share=2)


def test_a_short_table_with_one_gap_still_has_something_to_report():
    observed = np.ones((300, 3), dtype=bool)
    observed[100:130, 0] = False
    hold = plan(observed)
    assert hold.of(2).any() and set(hold.column) == {0}
