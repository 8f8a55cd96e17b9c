"""Time lines: order and its inverse, absent and repeated stamps, panels, calendar months."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t1.data.timeline import Timeline, anchors
from t1.errors import InputError


def stamps(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="M8[ns]")


def hours(counts) -> np.ndarray:
    return np.datetime64("2020-01-01", "ns") + np.asarray(counts) * np.timedelta64(1, "h")


def test_a_regular_series_has_no_problems():
    line = Timeline(48, hours(range(48)))
    assert line.step == np.timedelta64(1, "h") and line.problems() == [] and not line.irregular
    assert [len(times) for times in line.absent] == [0]


def test_without_times_rows_are_in_order():
    line = Timeline(4, None, np.array(["a", "b", "a", "b"], object))
    assert [rows.tolist() for rows in line.series] == [[0, 2], [1, 3]]
    assert line.problems() == [] and line.step is None and line.with_missing_rows() == [None, None]
    assert Timeline(3).order.tolist() == [0, 1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), min_size=1, max_size=40),
    st.booleans(),
)
def test_order_is_stable_and_comes_back(rows, panel):
    times = hours([hour for hour, _ in rows])
    ids = np.array([name for _, name in rows], object) if panel else None
    line = Timeline(len(rows), times, ids)
    assert (np.concatenate(line.series) == line.order).all()
    for name, series in zip(line.names, line.series, strict=True):
        keys = list(zip(times[series].tolist(), series.tolist(), strict=True))
        assert keys == sorted(keys)
        assert ids is None or (ids[series] == name).all()
    for placed, absent in zip(line.with_missing_rows(), line.absent, strict=True):
        if placed is not None:
            assert (placed.times[placed.positions] == times[placed.rows]).all()
            assert not np.isin(absent, times[placed.rows]).any()
            assert len(absent) + len(np.unique(times[placed.rows])) == placed.length


def test_absent_stamps_are_found_per_series():
    times = hours([0, 1, 3, 4, 5, 10, 11, 14, 15])
    ids = np.array(list("aaaaabbbb"), object)
    line = Timeline(9, times, ids)
    assert [t.tolist() for t in line.absent] == [hours([2]).tolist(), hours([12, 13]).tolist()]
    assert line.problems() == [
        "3 time stamps are absent (first: 2020-01-01 02:00:00 of 'a'); rows for them can be added."
    ]
    placed = line.with_missing_rows()[1]
    assert placed.positions.tolist() == [0, 1, 4, 5] and placed.length == 6


def test_odd_stamps_are_reported():
    line = Timeline(5, hours([0, 2, 1, 3, 3]))
    assert line.duplicates.tolist() == [4] and line.unsorted.tolist() == [2]
    assert [sentence.split(" (")[0] for sentence in line.problems()] == [
        "1 row repeats the time stamp of an earlier row",
        "1 row is not in time order",
    ]
    assert Timeline(4, hours([9, 8, 7, 6])).problems() == []  # backwards as a whole is an order too
    wild = Timeline(5, stamps("2020-01-01", "2020-01-03", "2020-01-03T07:11", "2020-02-01", "2020-02-02"))
    assert wild.irregular and "no regular step" in wild.problems()[0] and wild.with_missing_rows() == [None]


@pytest.mark.parametrize("freq", ["MS", "ME", "YS", "QS", "D", "W", "15min", "s"])
def test_calendar_steps(freq):
    times = pd.date_range("2019-01-01", periods=30, freq=freq).to_numpy().astype("M8[ns]")
    kept = np.delete(times, [4, 5, 17])
    line = Timeline(len(kept), kept)
    assert line.absent[0].tolist() == times[[4, 5, 17]].tolist()
    assert Timeline(30, times).problems() == []


def test_new_rows_find_their_place():
    after, order = anchors(hours([0, 1, 4]), None, hours([3, 2]), None)
    assert after.tolist() == [1, 1] and order.tolist() == [1, 0]
    after, order = anchors(hours([4, 1, 0]), None, hours([2, 3]), None)
    assert after.tolist() == [0, 0] and order.tolist() == [1, 0]
    ids, new_ids = np.array(list("aabb"), object), np.array(list("ba"), object)
    after, _ = anchors(hours([0, 2, 0, 2]), ids, hours([1, 1]), new_ids)
    assert after.tolist() == [2, 0]
    after, _ = anchors(hours([2, 0, 2, 0]), ids, hours([1, 1]), new_ids)
    assert after.tolist() == [2, 0]


def test_times_must_be_complete():
    with pytest.raises(InputError, match="row 1"):
        Timeline(2, stamps("2020-01-01", "NaT"))
    with pytest.raises(InputError, match="shape"):
        Timeline(3, stamps("2020-01-01"))
    assert Timeline(1, stamps("2020-01-01")).problems() == []
    assert Timeline(0, stamps()).problems() == []


def test_each_series_may_have_a_step_of_its_own():
    times = np.concatenate([hours(range(0, 30, 3)), hours([0, 1, 2, 3, 5, 6])])
    line = Timeline(16, times, np.array(["slow"] * 10 + ["fast"] * 6, object))
    assert [len(absent) for absent in line.absent] == [0, 1]
