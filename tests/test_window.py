"""Cutting, gathering and stitching windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t1.data.window import Stitcher, WindowSet, cut, starts
from t1.errors import InputError


@st.composite
def shapes(draw):
    """A length, a window that fits in it, and any stride."""
    window = draw(st.integers(1, 30))
    return draw(st.integers(window, 120)), window, draw(st.integers(1, 40))


def series(length, n_vars=3, seed=0):
    return np.random.default_rng(seed).normal(size=(length, n_vars)) * 10.0 ** np.arange(-3, n_vars - 3)


def with_gaps(length, n_vars=3, seed=0):
    x = series(length, n_vars, seed)
    x[np.random.default_rng(seed + 1).random(x.shape) < 0.3] = np.nan
    return x


@given(shapes())
def test_cut_is_a_view_of_the_right_rows(shape):
    length, window, stride = shape
    x = series(length)
    windows = cut(x, window, stride)
    assert np.shares_memory(windows, x)
    begins = range(0, length - window + 1, stride)
    np.testing.assert_array_equal(windows, np.stack([x[begin : begin + window] for begin in begins]))


def test_cut_keeps_whatever_axes_follow():
    assert cut(np.zeros(10), 4).shape == (7, 4)
    assert cut(np.zeros((10, 2, 5)), 4, stride=3).shape == (3, 4, 2, 5)


@given(shapes())
def test_starts_cover_every_row_and_end_at_the_end(shape):
    length, window, stride = shape
    begins = starts(length, window, stride)
    assert begins[0] == 0
    assert begins[-1] == length - window
    assert (np.diff(begins) >= 1).all()
    covered = {row for begin in begins.tolist() for row in range(begin, begin + window)}
    assert covered == set(range(length))


def stitch(windows, begins, length):
    stitcher = Stitcher(length, n_vars=windows.shape[2], window=windows.shape[1])
    stitcher.add(begins, windows)
    return stitcher.result()


@given(shapes())
def test_stitching_what_was_cut_gives_it_back_exactly(shape):
    length, window, stride = shape
    x = series(length)
    begins = starts(length, window, stride)
    np.testing.assert_array_equal(stitch(cut(x, window)[begins], begins, length), x)


@given(shapes())
def test_rows_that_no_window_covers_are_nan(shape):
    length, window, stride = shape
    x = series(length)
    begins = np.arange(0, length - window + 1, stride)
    covered = np.zeros(length, dtype=bool)
    for begin in begins:
        covered[begin : begin + window] = True
    stitched = stitch(cut(x, window, stride), begins, length)
    np.testing.assert_array_equal(stitched[covered], x[covered])
    assert np.isnan(stitched[~covered]).all()


@given(shapes(), st.integers(1, 7))
def test_streaming_in_batches_changes_nothing(shape, batch):
    length, window, stride = shape
    begins = starts(length, window, stride)
    windows = np.random.default_rng(1).normal(
        size=(len(begins), window, 2)
    )  # they disagree where they overlap
    stitcher = Stitcher(length, n_vars=2, window=window)
    for first in range(0, len(begins), batch):
        stitcher.add(begins[first : first + batch], windows[first : first + batch])
    np.testing.assert_array_equal(stitcher.result(), stitch(windows, begins, length))
    assert np.abs(stitcher.result()).max() <= np.abs(windows).max() * (1 + 1e-12)


def test_a_row_trusts_the_window_that_has_it_in_the_middle():
    windows = np.stack([np.zeros((8, 1)), np.ones((8, 1))])
    blend = stitch(windows, [0, 4], 12)[:, 0]
    assert (blend[:4] == 0).all()
    assert (blend[8:] == 1).all()
    np.testing.assert_allclose(blend[4:8], [1 / 5, 2 / 5, 3 / 5, 4 / 5])


def test_a_series_shorter_than_the_window_is_refused():
    for attempt in (
        lambda: cut(np.zeros((5, 2)), 6),
        lambda: starts(5, 6, 1),
        lambda: Stitcher(5, 2, 6),
        lambda: WindowSet.from_series(np.zeros((5, 2)), 6),
    ):
        with pytest.raises(
            InputError, match=r"5 rows is shorter than a window of 6\.\nUse a window of at most 5"
        ):
            attempt()
    with pytest.raises(InputError, match="at least 1"):
        cut(np.zeros((5, 2)), 2, stride=0)


@pytest.mark.parametrize("start", [-1, 5])
def test_a_window_outside_the_series_is_refused(start):
    with pytest.raises(InputError, match=f"starts at row {start}, the series allows 0 to 4"):
        stitch(np.zeros((1, 6, 2)), [start], 10)
    with pytest.raises(InputError, match="10 rows allow 0 to 4"):
        WindowSet.from_series(np.zeros((10, 2)), 6, starts=[0, start])


@given(shapes())
def test_a_set_holds_the_windows_of_its_series(shape):
    length, window, stride = shape
    x = with_gaps(length)
    windows = WindowSet.from_series(x, window, stride)
    expected = cut(x, window, stride)
    assert len(windows) == len(expected)
    assert (windows.window, windows.n_vars) == (window, 3)
    np.testing.assert_array_equal(windows.observed, ~np.isnan(expected))
    np.testing.assert_array_equal(windows.values, np.nan_to_num(expected).astype(np.float32))
    assert windows.values.dtype == np.float32
    assert np.shares_memory(windows.values, windows.rows)
    assert np.shares_memory(windows.observed, windows.seen)


def test_a_batch_is_a_copy_of_the_chosen_windows():
    x = with_gaps(50)
    windows = WindowSet.from_series(x, 8)
    for indices in ([3, 0, 42, 3], np.array([1, 2]), slice(5, 20, 4), [-1]):
        values, observed = windows.batch(indices)
        np.testing.assert_array_equal(values, windows.values[indices])
        np.testing.assert_array_equal(observed, windows.observed[indices])
        assert values.flags.c_contiguous
        assert values.flags.writeable
        assert not np.shares_memory(values, windows.rows)
        assert not np.shares_memory(observed, windows.seen)


def test_explicit_starts_and_subsets_share_the_rows():
    x = with_gaps(50)
    windows = WindowSet.from_series(x, 8, starts=[30, 2, 9])
    np.testing.assert_array_equal(windows.values[1], np.nan_to_num(x[2:10]).astype(np.float32))
    for part, expected in (
        (windows.subset([2, 0]), [9, 30]),
        (windows.subset(slice(1, None)), [2, 9]),
        (windows.subset(np.array([False, True, False])), [2]),
        (windows.subset(slice(0, 0)), []),
        (windows.subset([0, 0]), [30, 30]),
        (windows.subset([0, 2]), [30, 9]),
    ):
        np.testing.assert_array_equal(part.starts, expected)
        assert np.shares_memory(part.rows, windows.rows)
        assert part.values.shape == (len(expected), 8, 3)
        np.testing.assert_array_equal(part.values, part.batch(slice(None))[0])


@given(st.lists(st.integers(6, 20), min_size=1, max_size=5))
def test_joined_series_keep_their_windows_apart(lengths):
    parts = [WindowSet.from_series(with_gaps(length, seed=length), 6, stride=2) for length in lengths]
    whole = WindowSet.concat(parts)
    np.testing.assert_array_equal(whole.values, np.concatenate([part.values for part in parts]))
    np.testing.assert_array_equal(whole.observed, np.concatenate([part.observed for part in parts]))
    assert len(whole.rows) == sum(lengths)  # the rows once, not once per window


def test_what_cannot_be_a_set_is_refused():
    with pytest.raises(InputError, match="same length and the same variables"):
        WindowSet.concat(
            [WindowSet.from_series(np.zeros((9, 2)), 4), WindowSet.from_series(np.zeros((9, 2)), 5)]
        )
    with pytest.raises(InputError, match=r"size 1e\+300 is too large .*\nScale the values first"):
        WindowSet.from_series(np.full((9, 2), -1e300), 4)
