"""Rows on their clock: absent stamps, duplicates, unsorted rows, several series, and the way back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_form import fit_closed
from t1.data.place import Placed

NAN = np.nan
START = np.datetime64("2024-01-01T00", "ns")


def hours(*k: int) -> np.ndarray:
    return START + np.array(k) * np.timedelta64(1, "h")


def placed(values, times=None, ids=None, columns=("v",)) -> Placed:
    values = np.asarray(values, dtype=float).reshape(-1, len(columns))
    ids = None if ids is None else np.array(ids, dtype=object)
    return Placed.of(values, columns, times, ids)


def test_rows_without_times_stay_as_they_are():
    one = placed([1, NAN, 3])
    assert one.as_they_are and len(one.absent) == 0
    assert one.panel.times is None and one.panel.ids == (None,)


def test_absent_stamps_are_rows_without_values():
    one = placed([0, 1, 5, 6], hours(0, 1, 5, 6))
    assert one.panel.values[:, 0].tolist() == pytest.approx([0, 1, NAN, NAN, NAN, 5, 6], nan_ok=True)
    assert one.at.tolist() == [0, 1, 5, 6] and one.absent.tolist() == [2, 3, 4]
    assert (one.panel.times == hours(*range(7))).all() and not one.as_they_are


def test_unsorted_rows_are_placed_in_time_order_and_found_again():
    one = placed([3, 1, 2, 0], hours(3, 1, 2, 0))
    assert one.panel.values[:, 0].tolist() == [0, 1, 2, 3]
    assert one.panel.values[one.at, 0].tolist() == [3, 1, 2, 0]


def test_of_rows_with_the_same_stamp_the_first_has_the_last_word():
    """The repeated hour in autumn does not cancel the clock of the whole table."""
    one = placed([[1, NAN], [2, 5], [NAN, 7], [4, 4]], hours(0, 1, 1, 2), columns="ab")
    assert one.panel.n_rows == 3
    assert one.panel.values.tolist()[1:] == [[2, 5], [4, 4]]
    assert one.at.tolist() == [0, 1, 1, 2]
    lacks = placed([[1, 1], [NAN, 5], [2, 6], [4, 4]], hours(0, 1, 1, 2), columns="ab")
    assert lacks.panel.values[1].tolist() == [2, 5]  # of the others what the first lacks
    assert lacks.observed.tolist() == [[True, True], [False, True], [True, True], [True, True]]


def test_a_duplicate_row_gets_what_its_twin_has_and_keeps_what_it_has():
    one = placed([[1, 1], [NAN, 5], [2, 6], [NAN, 4], [4, 4]], hours(0, 1, 1, 2, 3), columns="ab")
    filled = fit_closed(one.panel).fill(one.panel, level=0.9).rows(one.at, one.values)
    assert filled.values[:, 0].tolist() == pytest.approx([1, 2, 2, 3, 4])
    assert filled.values[:, 1].tolist() == [1, 5, 6, 4, 4]  # observed values stay, also unlike ones
    origin = filled.provenance
    assert origin["row"].tolist() == [1, 3]
    assert origin["method"].tolist() == ["same time stamp", "linear"]


def test_one_stations_duplicate_does_not_cancel_the_clock_of_another():
    times = np.concatenate([hours(0, 1, 1, 2, 4), hours(0, 1, 2, 5)])
    one = placed(np.arange(9.0), times, ["x"] * 5 + ["y"] * 4)
    assert one.panel.starts.tolist() == [0, 5] and one.panel.n_rows == 11
    assert one.panel.ids == ("x", "y")
    assert len(one.absent) == 1 + 2
    assert one.ids_of(one.absent).tolist() == ["x", "y", "y"]


def test_mixed_rows_of_several_series_are_stacked_in_time_order():
    one = placed([1, 10, 2, 20], hours(0, 0, 1, 1), ["x", "y", "x", "y"])
    assert one.panel.values[:, 0].tolist() == [1, 2, 10, 20]
    assert one.panel.values[one.at, 0].tolist() == [1, 10, 2, 20]


@pytest.mark.parametrize("nothing", [NAN, None, pd.NaT, pd.NA])
def test_rows_without_an_id_are_one_series(nothing):
    """NaN ids made every row its own series."""
    one = placed([1, 2, 3, 4], None, ["x", nothing, nothing, "x"])
    assert one.panel.starts.tolist() == [0, 2]
    assert one.panel.values[:, 0].tolist() == [1, 4, 2, 3]
    assert one.panel.ids == ("x", None)


def test_ids_of_any_kind_are_plain_values_that_can_be_kept():
    one = placed([1, 2, 3, 4], None, [np.int64(7), pd.Timestamp("2024-01-01"), 2.5, True])
    assert one.panel.ids == (7, "2024-01-01 00:00:00", 2.5, True)
    assert [type(name) for name in one.panel.ids] == [int, str, float, bool]


def test_tables_of_the_same_clock_agree_on_its_phase():
    """Tomorrow's rows begin where today's ended: a daily cycle learned today is at its place."""
    today, tomorrow = (
        placed(np.arange(30.0), hours(*range(30))),
        placed(np.arange(9.0), hours(*range(30, 39))),
    )
    assert tomorrow.panel.phase[0] - today.panel.phase[0] == 30


def test_a_series_without_a_regular_step_is_taken_row_by_row():
    times = START + np.array([0, 1, 17, 100, 10**6]) * np.timedelta64(1, "s")
    one = placed(np.arange(5.0), times)
    assert one.panel.n_rows == 5 and one.as_they_are


def test_no_rows_at_all():
    one = placed(np.zeros((0, 1)))
    assert one.panel.n_rows == 0 and len(one.absent) == 0


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("xyz")), min_size=1, max_size=40),
    st.booleans(),
)
def test_every_row_comes_back(rows, dated):
    ids = [name for _, name in rows]
    values = np.arange(len(rows), dtype=float)
    times = hours(*(k for k, _ in rows)) if dated else None
    one = placed(values, times, ids)
    back = one.panel.values[one.at, 0]
    twin = [(rows[:i].count(row) > 0 if dated else False) for i, row in enumerate(rows)]
    assert (back[~np.array(twin)] == values[~np.array(twin)]).all()
    assert [one.panel.ids[s] for s in np.searchsorted(one.panel.starts, one.at, side="right") - 1] == ids
    if dated and len(set(rows)) == len(rows):
        assert (one.panel.times[one.at] == times).all()
