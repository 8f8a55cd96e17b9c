"""Gap lengths and classes: against a plain loop, across the borders of series, and quick on a wide table."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.fill.gaps import CLASS_NAMES, CLASSES, find_runs, gap_class, gap_lengths

masks = hnp.arrays(bool, st.tuples(st.integers(0, 30), st.integers(0, 4)))


def slow_lengths(observed: np.ndarray, starts: set[int]) -> np.ndarray:
    lengths = np.zeros(observed.shape, dtype=int)
    for j in range(observed.shape[1]):
        run: list[int] = []
        for i in range(len(observed)):
            if i in starts or observed[i, j]:
                run = []
            if not observed[i, j]:
                run = [*run, i]
                lengths[run, j] = len(run)
    return lengths


@given(masks, st.sets(st.integers(1, 29), max_size=4))
def test_lengths_are_those_of_a_plain_loop(observed, borders):
    borders = {b for b in borders if b < len(observed)}
    starts = np.array([0, *sorted(borders)])
    assert (gap_lengths(observed, starts) == slow_lengths(observed, borders)).all()
    assert (gap_lengths(observed) == slow_lengths(observed, set())).all()


@given(masks)
def test_runs_cover_the_missing_cells_once(observed):
    again = np.ones_like(observed)
    for column, start, stop in zip(*find_runs(observed), strict=True):
        assert again[start:stop, column].all()
        again[start:stop, column] = False
    assert (again == observed).all()


@pytest.mark.parametrize(
    ("length", "code"),
    [(0, -1), (1, 0), (2, 1), (5, 1), (6, 2), (23, 2), (24, 3), (95, 3), (96, 4), (10**6, 4)],
)
def test_classes(length, code):
    assert gap_class(np.array([length]))[0] == code


def test_every_class_has_a_name():
    assert len(CLASSES) == len(CLASS_NAMES)
    assert CLASS_NAMES == ("1", "2-5", "6-23", "24-95", "96+")


def test_a_wide_table_is_quick():
    observed = np.random.default_rng(0).random((5000, 2000)) > 0.3
    start = time.perf_counter()
    gap_lengths(observed)
    assert time.perf_counter() - start < 3  # 0.4 s on an idle core
