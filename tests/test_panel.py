"""Panel: checked parts, series as views, stretches that keep their place on the clock."""

import numpy as np
import pytest

from t1.errors import InputError
from t1.panel import Panel


def stacked() -> Panel:
    values = np.arange(20.0).reshape(10, 2)
    times = np.datetime64("2024-01-01") + np.arange(10) * np.timedelta64(1, "h")
    return Panel.of(values, "ab", starts=[0, 4], ids=["x", "y"], phase=[0, 7], times=times)


def test_series_are_views_of_the_stacked_rows():
    panel = stacked()
    first, second = panel.series()
    assert (len(first), len(second)) == (4, 6)
    assert np.shares_memory(second, panel.values) and second[0].tolist() == [8, 9]
    assert (panel.n_rows, panel.n_vars) == (10, 2)


def test_a_stretch_keeps_its_id_its_times_and_its_place_on_the_clock():
    part = stacked().take([(1, 6, 9), (0, 1, 3), (1, 4, 6)])
    assert part.ids == ("y", "x", "y")
    assert part.phase.tolist() == [7 + 2, 1, 7]  # two rows into the second series, one into the first
    assert part.starts.tolist() == [0, 3, 5]
    assert part.values[:, 0].tolist() == [12, 14, 16, 2, 4, 8, 10]
    assert part.times[0] == np.datetime64("2024-01-01T06")
    assert stacked().take([]).n_rows == 0


def test_what_is_observed_and_which_columns_are_known():
    panel = Panel.of([[1, np.nan, np.nan], [2, 3, np.nan]])
    assert panel.observed.tolist() == [[True, False, False], [True, True, False]]
    assert panel.known.tolist() == [True, True, False]
    some = panel.select(np.array([2, 0]))
    assert some.columns == ("x2", "x0") and some.values[:, 1].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "more", "says"),
    [
        (np.zeros(3), {}, "reshape"),
        (np.zeros((3, 2)), {"columns": ["a"]}, "one name per column"),
        (np.zeros((3, 2)), {"starts": [1]}, "rising rows from 0"),
        (np.zeros((3, 2)), {"starts": [0, 2, 1]}, "rising rows from 0"),
        (np.zeros((3, 2)), {"starts": [0, 9]}, "rising rows from 0"),
        (np.zeros((3, 2)), {"starts": []}, "rising rows from 0"),
    ],
)
def test_wrong_parts_are_refused(values, more, says):
    with pytest.raises(InputError, match=says):
        Panel.of(values, **more)
