"""Rules: fills only, never observed cells; each rule leaves its mark."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.data.kinds import KINDS
from t1.errors import InputError
from t1.fill.gaps import Gaps
from t1.fill.rules import CLIPPED, LOCKED, RISING, ROUNDED, TOO_LONG, Rules, rule_name

NAN = np.nan
TIMES = np.arange("2024-01-01", "2024-01-07", dtype="datetime64[D]")


def touched(rules: Rules, values: np.ndarray, observed: np.ndarray, columns, times=None, bands=()):
    """A table (rows, vars) after the rules, as a judged fill applies them, and the codes."""
    start = np.zeros(1, np.intp)
    gaps = Gaps.of(observed, start)
    seen = np.where(observed, values, NAN)
    locked = rules.locked_rows(len(values), times)
    values, code = values.copy(), np.zeros(values.shape, np.int8)
    for j, name in enumerate(columns):
        mine = gaps.column == j
        rows = gaps.row[mine]
        cells = [array[rows, j] for array in (values, *bands)]
        part = slice(*np.searchsorted(gaps.column, [j, j + 1]))
        around = gaps.around(seen, start, part) if rules.rises(name) else None
        code[rows, j] = rules.touch(name, cells, gaps.length[mine], locked[rows], around)
        for array, after in zip((values, *bands), cells, strict=True):
            array[rows, j] = after
    return values, code


def apply(rules: Rules, fill: list[float], observed: list[int], **more):
    seen = np.array(observed, dtype=bool)[:, None]
    values, code = touched(rules, np.array(fill, dtype=float)[:, None], seen, ["a"], **more)
    return values[:, 0].tolist(), code[:, 0].tolist()


def test_fills_are_clipped_and_rounded_and_observed_cells_are_not():
    rules = Rules(minimum={"a": 0}, maximum={"a": 10}, integer={"a"})
    values, code = apply(rules, [-3.5, -3.5, 4.4, 4.0, 10.7, 99.9], [1, 0, 0, 0, 0, 1])
    assert values == [-3.5, 0, 4, 4, 10, 99.9]
    assert code == [0, ROUNDED | CLIPPED, ROUNDED, 0, ROUNDED | CLIPPED, 0]
    assert rule_name(ROUNDED | CLIPPED) == "clipped + rounded"
    assert rule_name(0) == ""


def test_whole_numbers_stay_inside_bounds_that_are_not():
    values, _ = apply(Rules(minimum={"a": 0.5}, maximum={"a": 2.5}, integer={"a"}), [0.1, 2.6], [0, 0])
    assert values == [1, 2]


def test_long_gaps_are_left_empty():
    values, code = apply(Rules(max_gap=2), [1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(values, [1, 2, 3, NAN, NAN, NAN])
    assert code == [0, 0, 0, TOO_LONG, TOO_LONG, TOO_LONG]


@pytest.mark.parametrize(
    ("lock", "times"),
    [
        ((1, 3), None),
        (np.array([0, 1, 1, 1, 0, 0], dtype=bool), None),
        (("2024-01-02", "2024-01-04"), TIMES),
        ((TIMES[1], TIMES[3]), TIMES),
    ],
)
def test_locked_stretches_are_left_empty(lock, times):
    values, code = apply(Rules(locked=[lock]), [1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 0, 0], times=times)
    np.testing.assert_array_equal(values, [1, NAN, 3, NAN, 5, 6])
    assert code == [0, LOCKED, 0, LOCKED, 0, 0]


def test_a_lock_may_be_open():
    values, _ = apply(Rules(locked=[(None, 1), (4, None)]), [1, 2, 3, 4, 5, 6], [0] * 6)
    np.testing.assert_array_equal(values, [NAN, NAN, 3, 4, NAN, NAN])


def test_bands_keep_to_the_bounds_and_around_the_fill():
    lo, hi = np.array([[-5.0], [3.1]]), np.array([[-1.0], [3.4]])
    values, _ = apply(Rules(minimum={"a": 0}, integer={"a"}), [-3, 3.2], [0, 0], bands=(lo, hi))
    assert values == [0, 3]
    assert lo[:, 0].tolist() == [0, 3] and hi[:, 0].tolist() == [0, 3.4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rules(minimum={"a": 2}, maximum={"a": 1}), "nothing lies between"),
        (lambda: Rules(minimum={"a": 1.2}, maximum={"a": 1.8}, integer={"a"}), "no whole number lies"),
        (lambda: Rules(max_gap=-1), "longest gap"),
        (lambda: Rules(minimum={"a": NAN}), "not a number"),
        (
            lambda: Rules(minimum={"temprature": 0}).check(["temperature", "wind"]),
            "Did you mean 'temperature'",
        ),
        (lambda: Rules(integer={"zzz"}).check(["temperature", "wind"]), "The table has: temperature, wind"),
        (lambda: apply(Rules(locked=[(3, 1)]), [1], [0]), "ends before it starts"),
        (lambda: apply(Rules(locked=[("soon", None)]), [1], [0]), "expected a number"),
        (lambda: apply(Rules(locked=[("soon", None)]), [1], [0], times=TIMES[:1]), "expected a date"),
        (lambda: apply(Rules(locked=[np.ones(3, dtype=bool)]), [1], [0]), "one True or False per row"),
        (lambda: apply(Rules(locked=["2024"]), [1], [0]), "a lock is"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@given(
    hnp.arrays(float, (12, 2), elements=st.floats(-1e3, 1e3)),
    hnp.arrays(bool, (12, 2)),
    st.integers(0, 5),
)
def test_observed_cells_are_never_touched(values, observed, max_gap):
    rules = Rules(max_gap=max_gap, minimum={"a": -1}, maximum={"b": 1}, integer={"b"}, locked=[(2, 4)])
    after, code = touched(rules, values, observed, ["a", "b"])
    np.testing.assert_array_equal(after[observed], values[observed])
    assert (code[observed] == 0).all()
    assert (np.isnan(after) == (code & (TOO_LONG | LOCKED) > 0)).all()


def test_a_counter_that_was_set_back_inside_its_gap_rises_before_and_after():
    """A straight line from 24 to 4 would count down; at three a row it was set back two rows before the 4."""
    rules = Rules(kinds={"a": KINDS["counter"]})
    truth = np.array([15.0, 18, 21, 24, 27, 30, 33, 1, 4, 7])
    line = truth.copy()
    line[4:8] = [20, 16, 12, 8]
    lo, hi = line[:, None] - 1, line[:, None] + 1
    values, code = apply(rules, line.tolist(), [1, 1, 1, 1, 0, 0, 0, 0, 1, 1], bands=(lo, hi))
    assert values[4:8] == truth[4:8].tolist()
    assert code == [0, 0, 0, 0, RISING, RISING, RISING, RISING, 0, 0]
    assert (lo[4:8, 0] <= 0).all() and (hi[4:8, 0] >= truth[4:8]).all()


def test_fills_of_a_whole_counter_are_whole_where_it_was_set_back():
    rules = Rules(kinds={"a": replace(KINDS["counter"], integer=True, low=0.0)})
    values, _ = apply(rules, [10.0, 13, 15, 9, 5, 3, 6], [1, 1, 1, 0, 0, 1, 1])
    assert all(value == round(value) for value in values) and min(values) >= 0
