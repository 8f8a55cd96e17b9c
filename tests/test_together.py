"""Regressions over several series: one for all of them together, and one of them side by side."""

import numpy as np
import pytest

from t1.data.place import Placed
from t1.fill.fit import fit_panel
from t1.fill.keep import load_kept, save_kept
from t1.methods.base import Learning, LeftOut
from t1.methods.beside import BesideFill, stand_side_by_side
from t1.methods.regression import RegressionFill
from t1.methods.together import TogetherFill, one_after_the_other
from t1.panel import Panel

NAN = np.nan


def patients(n=12, rows=30, seed=0):
    """Short series of a level of their own, in which the second column follows from the first and the third."""
    rng = np.random.default_rng(seed)
    one = np.cumsum(rng.normal(size=(n, rows)), axis=1) + rng.normal(0, 5, (n, 1))
    two = np.cumsum(rng.normal(size=(n, rows)), axis=1)
    return np.stack([one, 2 * one - two + rng.normal(0, 0.05, (n, rows)), two], axis=2).reshape(n * rows, 3)


def stations(n=4, rows=300, seed=0):
    """One column, which is nearly the same at every station."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(rng.normal(size=rows))
    return (common + rng.normal(0, 0.1, (n, rows)) + 10 * np.arange(n)[:, None]).reshape(n * rows, 1)


def panel_of(values, n, hidden, **facts):
    starts = np.arange(n) * (len(values) // n)
    return Panel.of(np.where(hidden, NAN, values), starts=starts, ids=[f"s{k}" for k in range(n)], **facts)


def far(fill, values, hidden):
    return float(np.abs(fill.values - values)[hidden].mean())


def test_what_short_series_say_together_none_says_alone():
    values, hidden = patients(), np.zeros((360, 3), dtype=bool)
    hidden[:, 1] = np.random.default_rng(1).random(360) < 0.4
    levels = np.abs(values[:, 1].reshape(12, 30).mean(axis=1))
    never = slice(30 * int(levels.argmin()), 30 * int(levels.argmin()) + 30)
    hidden[never, 1] = True  # of one patient it was never measured
    panel = panel_of(values, 12, hidden)
    together, alone = (cls.fit(panel, Learning()).fill(panel) for cls in (TogetherFill, RegressionFill))
    lines = float(np.nanstd(np.diff(values[:, 1])))
    assert far(together, values, hidden) < 0.2 * lines
    assert np.isnan(alone.values[never, 1]).all()
    new = panel_of(patients(1, seed=5), 1, np.arange(90).reshape(30, 3) % 7 == 1)
    later = TogetherFill.fit(panel, Learning()).fill(new)  # a patient that it has never seen
    assert far(later, patients(1, seed=5), np.isnan(new.values)) < lines


def test_series_one_after_the_other_keep_step_and_do_not_touch():
    values = np.arange(20.0)[:, None]
    panel = Panel.of(values, starts=[0, 7], ids=["a", "b"], phase=[2, 4])
    plain, seasonal = one_after_the_other(panel, None)[:, 0], one_after_the_other(panel, 5)[:, 0]
    np.testing.assert_array_equal(plain, [*range(7), NAN, *range(7, 20)])
    begin = int(np.flatnonzero(seasonal == 7)[0])
    assert np.isnan(seasonal[7:begin]).all() and 1 <= begin - 7 <= 5
    assert (2 + begin) % 5 == 4  # where the series began at row 2 of the clock, this one stands at row 4


@pytest.mark.parametrize("timed", [True, False])
def test_a_station_is_told_by_its_neighbours(timed):
    values = stations()
    hidden = np.zeros((1200, 1), dtype=bool)
    hidden[100:160] = hidden[700:720] = True
    hours = np.tile(np.datetime64("2024-01-01") + np.arange(300) * np.timedelta64(1, "h"), 4)
    panel = panel_of(values, 4, hidden, times=hours.astype("M8[ns]") if timed else None)
    assert stand_side_by_side(panel)
    fitted = BesideFill.fit(panel, Learning())
    assert far(fitted.fill(panel), values, hidden) < 0.3
    piece = panel.take(
        [(0, 90, 170), (0, 95, 165)]
    )  # twice the same hours of one station, beside what is known
    again = fitted.fill(piece).values
    np.testing.assert_allclose(again[:80][5:75], again[80:], atol=1e-6)
    truth = np.concatenate([values[90:170], values[95:165]])
    assert np.abs(again - truth)[np.isnan(piece.values)].max() < 1


def test_months_are_rows_of_a_clock_however_long():
    """Two months that fell on one row would take each other's values."""
    months = (np.datetime64("2001-01") + np.arange(240)).astype("M8[ns]")
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=240))[:, None] + 5 * np.arange(3)
    table = np.where(rng.random((240, 3)) < 0.05, NAN, values).T.reshape(-1, 1)
    panel = Placed.of(
        table, ["x"], np.tile(months, 3), np.repeat(np.array(["a", "b", "c"], dtype=object), 240)
    ).panel
    assert panel.n_rows == 720 and stand_side_by_side(panel)
    fitted = BesideFill.fit(panel, Learning())
    assert len(fitted.table) == 240 and np.isnan(fitted.table).sum() == np.isnan(table).sum()
    assert np.abs(fitted.fill(panel).values - values.T.reshape(-1, 1))[np.isnan(table)].max() < 0.5


def test_series_of_times_far_apart_make_no_table_of_all_between():
    values = stations()
    fitted = BesideFill.fit(panel_of(values, 4, values < -1e9), Learning(every=True))
    holed = np.where(np.arange(1200)[:, None] % 9 == 4, NAN, values)
    years = Panel.of(
        holed, starts=[0, 300, 600, 900], ids=["s0", "s1", "s2", "s3"], phase=[0, 10**9, 10**9, 10**12]
    )
    tables = [table for table, _, _ in fitted._side_by_side(years)]
    assert [len(table) for table in tables] == [300, 300, 300]
    assert np.isfinite(fitted.fill(years).values).all()
    with pytest.raises(LeftOut, match="different times"):
        BesideFill.fit(years, Learning())


def test_a_series_that_it_does_not_know_has_no_answer():
    values = stations()
    fitted = BesideFill.fit(panel_of(values, 4, values < -1e9), Learning(every=True))
    new = Panel.of(np.where(np.arange(300)[:, None] % 9 == 4, NAN, values[:300]), ids=["elsewhere"])
    assert np.isnan(fitted.fill(new).values).all() and np.isnan(fitted.told(new)).all()


@pytest.mark.parametrize(
    ("rows", "times", "beside"),
    [
        ((300, 300), None, True),
        ((300, 290), None, False),  # the tenth row of one need not be of the time of another one's
        ((300, 290), (0, 0), True),
        ((300, 300), (0, 290), False),  # hardly ever at the same time
        ((40, 40), None, False),
        ((300,), None, False),
    ],
)
def test_series_stand_side_by_side_where_they_are_of_the_same_times(rows, times, beside):
    stamps = None
    if times is not None:
        hours = np.concatenate([np.arange(n) + first for n, first in zip(rows, times, strict=True)])
        stamps = (np.datetime64("2024-01-01", "h") + hours).astype("M8[ns]")
    starts = np.append(0, np.cumsum(rows)[:-1])
    panel = Panel.of(np.zeros((sum(rows), 1)), starts=starts, ids=list(range(len(rows))), times=stamps)
    assert stand_side_by_side(panel) == beside


def test_what_tells_best_tells_t1_as_well_and_is_kept(tmp_path):
    """Stations in one column: fills are as good as where each station has a column of its own."""
    values = stations(seed=3)
    hidden = np.random.default_rng(4).random((1200, 1)) < 0.1
    hidden[350:420] = True
    panel = panel_of(values, 4, hidden)
    learning = Learning()
    judged = fit_panel(panel, learning, tune=False)
    assert learning.tells == "beside"
    filled = judged.fill(panel).values
    linear = judged.methods[0].fill(panel)
    assert np.abs(filled - values)[hidden].mean() < 0.3 * far(linear, values, hidden)
    save_kept(tmp_path / "kept", "test", {"judged": judged})
    kept = load_kept(tmp_path / "kept", "test", "")["judged"]
    np.testing.assert_array_equal(kept.fill(panel).values, filled)
