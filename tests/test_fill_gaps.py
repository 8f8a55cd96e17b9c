"""Gaps: runs and distances against a plain loop, across the borders of series, quick on a wide table."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.fill.gaps import (
    CLASS_NAMES,
    EDGE,
    INNER,
    N_CLASSES,
    SIDES,
    TYPICAL,
    Gaps,
    class_of,
    find_runs,
    gap_class,
    put_missing,
)

masks = hnp.arrays(bool, st.tuples(st.integers(0, 30), st.integers(0, 4)))
borders = st.sets(st.integers(1, 29), max_size=4)


def starts_of(observed: np.ndarray, cuts: set[int]) -> np.ndarray:
    return np.array([0, *sorted(b for b in cuts if b < len(observed))], dtype=np.intp)


def slow(observed: np.ndarray, starts: np.ndarray) -> dict[tuple[int, int], tuple[int, int, int]]:
    """For every missing cell: the length of its run, at how many edges it lies, the nearest observation."""
    out = {}
    for a, b in zip(starts, [*starts[1:], len(observed)], strict=True):
        for j in range(observed.shape[1]):
            seen = [i for i in range(a, b) if observed[i, j]]
            for i in range(a, b):
                if observed[i, j]:
                    continue
                low = max((s for s in seen if s < i), default=None)
                high = min((s for s in seen if s > i), default=None)
                length = (b if high is None else high) - (a - 1 if low is None else low) - 1
                far = [abs(i - s) for s in (low, high) if s is not None]
                out[i, j] = length, 2 - len(far), min(far, default=length)
    return out


@given(masks, borders)
def test_length_class_and_distance_are_those_of_a_plain_loop(observed, cuts):
    starts = starts_of(observed, cuts)
    gaps = Gaps.of(observed, starts)
    expected = slow(observed, starts)
    assert len(gaps) == len(expected) == (~observed).sum()
    for i, j, n, code, far in zip(gaps.row, gaps.column, gaps.length, gaps.code, gaps.distance, strict=True):
        length, edges, distance = expected[int(i), int(j)]
        assert (n, far) == (length, distance)
        assert code == gap_class(np.array([length]), np.array([edges > 0]), np.array([edges == 2]))[0]
        assert code == class_of(length, edges > 0, edges == 2)
    keys = gaps.column * max(len(observed), 1) + gaps.row
    assert (np.diff(keys) > 0).all()  # column by column, from the first row to the last


@given(masks, borders)
def test_runs_cover_the_missing_cells_once_and_end_with_their_series(observed, cuts):
    starts = starts_of(observed, cuts)
    again = np.ones_like(observed)
    for column, start, stop, *_ in zip(*find_runs(observed, starts), strict=True):
        assert again[start:stop, column].all()
        again[start:stop, column] = False
        assert not ((starts > start) & (starts < stop)).any()
    assert (again == observed).all()


@pytest.mark.parametrize(
    ("length", "inner", "edge"),
    [
        (1, "1", "edge 1-23"),
        (2, "2-5", "edge 1-23"),
        (5, "2-5", "edge 1-23"),
        (6, "6-23", "edge 1-23"),
        (23, "6-23", "edge 1-23"),
        (24, "24-95", "edge 24+"),
        (95, "24-95", "edge 24+"),
        (96, "96+", "edge 24+"),
        (10**6, "96+", "edge 24+"),
    ],
)
def test_classes_of_inner_gaps_and_of_gaps_at_an_edge(length, inner, edge):
    codes = gap_class(np.array([length, length]), np.array([False, True]))
    assert [CLASS_NAMES[c] for c in codes] == [inner, edge]


def test_every_class_has_a_name_and_a_typical_length():
    assert len(INNER) + len(EDGE) + 1 == len(CLASS_NAMES) == N_CLASSES == len(TYPICAL)
    assert [c for side in SIDES for c in side] == list(range(N_CLASSES))
    for (first, last), typical in zip([*INNER, *EDGE, (1, None)], TYPICAL, strict=True):
        assert first <= typical <= (last or np.inf)


def test_a_column_that_a_series_lacks_was_never_observed_there():
    observed = np.array([[True], [True], [False], [False], [False], [True], [True]])
    gaps = Gaps.of(observed, np.array([0, 2, 5]))
    assert [CLASS_NAMES[c] for c in gaps.code] == ["never"] * 3
    assert gaps.distance.tolist() == [3, 3, 3]  # nothing is near: as far as the series is long


@given(masks)
def test_cells_go_back_to_their_places(observed):
    gaps = Gaps.of(observed, np.array([0]))
    table = np.zeros(observed.shape, dtype=np.int64)
    put_missing(table, observed, gaps.row * 10 + gaps.column + 1)
    rows, columns = np.indices(observed.shape)
    assert (table == np.where(observed, 0, rows * 10 + columns + 1)).all()


def test_a_wide_table_is_quick():
    observed = np.random.default_rng(0).random((5000, 2000)) > 0.3
    start = time.perf_counter()
    find_runs(observed, np.array([0]))
    assert time.perf_counter() - start < 5  # 0.4 s on an idle core
