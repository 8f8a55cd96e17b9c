"""Rows that arrive one by one: filled at once, revised within the lag, with bounded state that can be kept."""

import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import t1
from t1.cli import main
from t1.fill.ends import end_class, open_gaps, rehearse_ends
from t1.fill.gaps import Gaps
from t1.live.adapt import KINDS, Lean, Widths, draw_trial, kind_of
from t1.live.fill import LiveFill
from t1.live.row import FINAL, NEWEST, REVISED
from t1.panel import Panel

ROOT = Path(__file__).parents[1]
HOUR = np.timedelta64(1, "h")

OPEN = 2  # the kind of open gaps of 2 to 5 rows


def waves(n: int, seed: int = 0) -> np.ndarray:
    """Four columns that share a daily wave; the last follows the first two."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(n) * 2 * np.pi / 24)
    slow = np.cumsum(rng.normal(0, 0.1, n))
    noise = rng.normal(0, 0.05, (n, 4))
    return np.column_stack([wave + slow, 2 * wave, wave - slow, wave + slow / 2]) + noise


TIMES = np.datetime64("2024-01-01T00", "ns") + np.arange(1200) * HOUR


@pytest.fixture(scope="module")
def fitted():
    table = waves(1200)[:800]
    rng = np.random.default_rng(1)
    for _ in range(40):
        at, column = rng.integers(800), rng.integers(4)
        table[at : at + rng.integers(1, 12), column] = np.nan
    return t1.fit(pd.DataFrame(table, columns=list("abcd"), index=TIMES[:800]), budget="fast")


@pytest.fixture(scope="module")
def model(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "model"
    fitted.save(folder)
    return folder


@pytest.fixture
def live(fitted):
    live = fitted.live()
    live.warm(waves(1200)[600:800], TIMES[600:800])
    return live


def stream(live, rows, times=TIMES[800:]):
    return [live.push(row, when) for row, when in zip(rows, times, strict=False)]


def test_the_newest_row_is_filled_at_once(live):
    truth = waves(1200)[800]
    row = {"a": truth[0], "c": truth[2], "d": None}
    (told,) = live.push(row, TIMES[800])
    assert told.status == NEWEST and told.time == TIMES[800]
    assert told.observed.tolist() == [True, False, True, False] and told.values[0] == truth[0]
    assert np.isnan(told.lo).tolist() == [True, False, True, False]
    assert (told.lo[[1, 3]] <= told.values[[1, 3]]).all() and (told.values[[1, 3]] <= told.hi[[1, 3]]).all()
    assert np.abs(told.values - truth).max() < 0.5


def test_later_rows_revise_a_fill_until_it_is_final(live):
    truth = waves(1200)[800:]
    rows = truth[:60].copy()
    rows[:6, 0] = np.nan
    told = stream(live, rows)
    first = [r for batch in told for r in batch if r.time == TIMES[803]]
    assert first[0].status == NEWEST and first[-1].status == FINAL
    assert {r.status for r in first[1:-1]} == {REVISED} and len(first) > 2
    assert abs(first[-1].values[0] - truth[3, 0]) < 0.4
    assert first[-1].values[0] != first[0].values[0]
    when_final = next(
        k for k, batch in enumerate(told) for r in batch if r.time == TIMES[803] and r.status == FINAL
    )
    assert when_final == 3 + 48
    assert all(r.status == NEWEST for batch in told for r in batch if r.observed.all())


def test_rows_that_come_late_or_out_of_order_end_in_the_same_state(fitted, live):
    truth = waves(1200)[800:900]
    truth[40:44, 2] = np.nan
    order = np.arange(100)
    order[20:30] = order[20:30][::-1]
    order[60], order[90] = 90, 60
    shuffled = fitted.live()
    shuffled.warm(waves(1200)[600:800], TIMES[600:800])
    stream(live, truth)
    for k in order:
        shuffled.push(truth[k], TIMES[800 + k])
    one, other = live.tracks[None], shuffled.tracks[None]
    assert np.array_equal(one.values, other.values, equal_nan=True) and one.end == other.end
    # rehearsals go by what was known when; but for what they taught, fills and intervals are the same
    other.lean, other.widths = deepcopy(one.lean), deepcopy(one.widths)
    last = np.full(4, np.nan)
    mine, theirs = live.push(last, TIMES[900])[-1], shuffled.push(last, TIMES[900])[-1]
    for name in ("values", "lo", "hi"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_a_row_later_than_the_lag_changes_nothing(live):
    stream(live, waves(1200)[800:900])
    before = live.tracks[None].values.copy()
    assert live.push([9.0] * 4, TIMES[840]) == []
    live.push(waves(1200)[900], TIMES[900])
    assert live.tracks[None].dropped == 1
    assert np.array_equal(live.tracks[None].values[:-1], before[1:], equal_nan=True)


def test_a_row_that_comes_twice_only_adds_what_was_missing(live):
    live.push([1.0, None, 3.0, None], TIMES[800])
    told = live.push([7.0, 2.0, None, None], TIMES[800])
    assert told[-1].values[:3].tolist() == [1.0, 2.0, 3.0] and live.tracks[None].repeated == 1


def test_absent_rows_are_filled_too(live):
    truth = waves(1200)
    live.push(truth[800], TIMES[800])
    told = live.push(truth[804], TIMES[804])
    assert [r.time for r in told] == list(TIMES[801:805])
    assert not told[0].observed.any() and not np.isnan([r.values for r in told]).any()
    assert np.abs(told[1].values - truth[802]).max() < 1.0


def test_a_sensor_that_dies_and_comes_back(live):
    rows = waves(1200)[800:960]
    rows[20:150, 0] = np.nan
    first = stream(live, rows[:22])[-1][-1]
    live.warm(rows[22:140], TIMES[822:940])
    later = stream(live, rows[140:], TIMES[940:])
    assert later[5][-1].hi[0] - later[5][-1].lo[0] > first.hi[0] - first.lo[0]
    assert np.isfinite([batch[-1].values for batch in later]).all()
    assert not later[9][-1].observed[0] and later[10][-1].observed.all()


def test_a_sensor_of_which_nothing_is_remembered_any_more(live):
    rows = np.concatenate([waves(1200)[800:], waves(1200)[:100]])
    rows[:, 1] = np.nan
    times = TIMES[800] + np.arange(500) * HOUR
    live.warm(rows[:490], times[:490])
    assert np.isnan(live.tracks[None].values[:, 1]).all()
    told = stream(live, rows[490:], times[490:])
    assert np.isfinite(told[-1][-1].values).all() and told[-1][-1].lo[1] < told[-1][-1].hi[1]


def test_a_clock_that_jumps_is_believed_after_three_rows(live):
    truth = waves(1200)[800:]
    stream(live, truth[:50])
    for jump in (np.timedelta64(400, "D"), -np.timedelta64(300, "D")):
        base = TIMES[850] + jump
        assert live.push(truth[50], base) == [] and live.push(truth[51], base + HOUR) == []
        told = live.push([None, *truth[52, 1:]], base + 2 * HOUR)
        assert [r.time for r in told] == [base, base + HOUR, base + 2 * HOUR]
        assert np.isfinite(told[-1].values).all()
    assert live.tracks[None].jumps == 2


def test_one_row_of_a_wild_time_is_dropped(live):
    truth = waves(1200)[800:]
    stream(live, truth[:50])
    assert live.push(truth[50], np.datetime64("2099-01-01", "ns")) == []
    assert live.push(truth[50], TIMES[850])[-1].time == TIMES[850]
    assert live.tracks[None].dropped == 1 and live.tracks[None].jumps == 0


def test_a_clock_that_drifts_keeps_its_rows(live):
    truth = waves(1200)[800:]
    drift = np.timedelta64(7, "m") + np.arange(30) * np.timedelta64(30, "s")
    told = stream(live, truth[:30], TIMES[800:830] + drift)
    assert [batch[-1].time for batch in told] == list(TIMES[800:830])


def test_a_state_that_is_saved_in_the_middle_goes_on_with_the_same_results(fitted, live, tmp_path):
    rows = waves(1200)[800:1000]
    rows[np.random.default_rng(3).random(rows.shape) < 0.2] = np.nan
    stream(live, rows[:77])
    live.push(rows[0], np.datetime64("2099-01-01", "ns"))  # a stray row is part of the state
    live.save(tmp_path / "state")
    other = fitted.live()
    other.restore(tmp_path / "state")
    ours, theirs = (stream(one, rows[77:130], TIMES[877:]) for one in (live, other))
    for mine, yours in zip(ours, theirs, strict=True):
        assert [(r.time, r.status) for r in mine] == [(r.time, r.status) for r in yours]
        for a, b in zip(mine, yours, strict=True):
            for name in ("values", "lo", "hi"):
                assert np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True)
    assert other.tracks[None].dropped == 1


def rough(n: int, times: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of waves with more noise than the fit has seen, and the same with gaps."""
    rng = np.random.default_rng(5)
    truth = waves(n, seed=4) + rng.normal(0, 0.05 * times, (n, 4))
    shown = truth.copy()
    shown[rng.random(shown.shape) < 0.15] = np.nan
    return truth, shown


def test_intervals_follow_a_stream_that_becomes_rougher(fitted):
    truth, shown = rough(700, 8.0)
    times = TIMES[0] + np.arange(len(truth)) * HOUR
    inside, live = [], fitted.live()
    for row, seen, when in zip(truth, shown, times, strict=True):
        newest = live.push(seen, when)[-1]
        inside.append(((row >= newest.lo) & (row <= newest.hi))[np.isnan(seen)])
    as_fitted, later = np.concatenate(inside[:60]).mean(), np.concatenate(inside[250:]).mean()
    assert as_fitted < 0.75 and as_fitted + 0.1 < later and 0.8 < later < 0.96
    assert live.tracks[None].widths.factors[OPEN].min() > 1.3


def test_widths_stay_within_bounds_and_learn_each_column():
    widths, rng = Widths.of_the_fit(3), np.random.default_rng(0)
    column, kind = np.array([0, 0, 2]), np.array([OPEN] * 3)
    widths.learn(kind[:1], column[:1], np.array([50.0]), 0.9)
    assert 1.0 < widths.factors[OPEN, 0] < 2.0  # one cell does not outweigh the fit
    for _ in range(100):  # as errors of a bell curve that is twice, or half, as wide as it was
        widths.learn(kind, column, np.abs(rng.normal(0, [2, 2, 0.5], 3)) / 1.645, 0.9)
    of_open = widths.factor(np.array([OPEN] * 3), np.arange(3))
    assert 1.5 < of_open[0] < 2.9 and of_open[2] < 1.0 and of_open[2] < of_open[1] < 2.9
    assert (np.delete(widths.factors, OPEN, axis=0) == 1.0).all()  # they learn from their own
    for size, bound in ((1e9, 10.0), (0.0, 0.1)):
        for _ in range(100):
            widths.learn(kind, column, np.full(3, size), 0.9)
        np.testing.assert_allclose(widths.factors[OPEN], bound)
    is_open = np.array([False, *[True] * 6])
    assert kind_of(is_open, [9, 1, 2, 5, 6, 23, 24]).tolist() == [0, 1, OPEN, OPEN, 3, 3, KINDS - 1]


def test_widths_of_all_columns_follow_whether_intervals_have_held_of_late():
    widths, rng = Widths.of_the_fit(3), np.random.default_rng(1)
    kind, column = np.array([OPEN]), np.array([0])
    for _ in range(300):
        widths.learn(kind, rng.integers(3, size=1), np.abs(rng.normal(0, 1, 1)) / 1.645, 0.9)
    settled, other = widths.drift[OPEN], widths.factor(kind, np.array([1]))
    assert abs(settled) < 0.5
    for _ in range(10):
        widths.learn(kind, column, 1.5 * widths.factor(kind, column), 0.9)
    assert widths.drift[OPEN] > settled + 0.3 and widths.factor(kind, np.array([1])) > 1.3 * other
    for _ in range(200):
        widths.learn(kind, column, np.zeros(1), 0.9)
    assert widths.drift[OPEN] < 0 and (np.delete(widths.drift, OPEN) == 0).all()


def test_fills_lean_to_a_method_only_where_it_is_clearly_better():
    lean, rng = Lean.of_the_fit(2, 2), np.random.default_rng(0)
    column = np.array([0, 1])
    for k in range(60):
        lines, network = rng.normal(0, 1, (2, 2))
        blend = np.array([3, 1]) * rng.normal(0, 1, 2)
        lean.learn(np.array([True] * 2), column, blend, np.array([lines * 20, network * [1, 20]]))
        lean.learn(np.array([False] * 2), column, lines, np.array([1.02 * lines, lines]))
        if k < 5:
            assert not lean.shares.any()  # too few rehearsals
    closed, is_open = lean.shares
    assert (
        is_open[0, 0] == 0.0 and is_open[0, 1] >= 0.75
    )  # of column 0 the second method is nearer than the blend
    assert not is_open[1].any() and not closed.any()


def test_what_a_stream_shows_changes_who_fills():
    rng = np.random.default_rng(3)
    level = rng.normal(0, 1, (900, 1)).cumsum(axis=0)
    related = level + rng.normal(0, 0.05, (900, 4))  # of the fit: each column tells the others
    apart = related[-1] + rng.normal(0, 1, (500, 4)).cumsum(axis=0)  # of the stream: none does
    shown = apart.copy()
    shown[rng.random(shown.shape) < 0.15] = np.nan
    live = t1.fit(pd.DataFrame(related, columns=list("abcd")), budget="fast").live()
    live.warm(related)
    filled = np.array([live.push(row)[-1].values for row in shown])
    carried = pd.DataFrame(np.vstack([related[-1:], shown])).ffill().to_numpy()[1:]  # best for a random walk
    error, least = (np.abs(x - apart)[150:][np.isnan(shown[150:])].mean() for x in (filled, carried))
    assert live.tracks[None].lean.shares[1].max() >= 0.5
    assert error < 1.1 * least


def test_a_row_that_tells_nothing_new_costs_no_run_of_the_network(live, monkeypatch):
    runs, fill = [], LiveFill._fill
    monkeypatch.setattr(LiveFill, "_fill", lambda self, *a: runs.append(1) or fill(self, *a))
    truth = waves(1200)[800:900]
    truth[40:43, 2] = np.nan
    told = stream(live, truth)
    # each row of the gap, the row after it, and every eighth row while the gap is in the lag
    assert len(runs) <= 1 + 3 + 1 + 7
    assert [batch[-1].status for batch in told] == [NEWEST] * 100
    last = [r for batch in told for r in batch if r.time == TIMES[841]][-1]
    assert last.status == FINAL and last.lo[2] < last.values[2] < last.hi[2]


@given(seed=st.integers(0, 10_000), end=st.integers(-(10**12), 10**12), gappy=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_trial_hides_observed_cells_only_and_is_the_same_again(seed, end, gappy):
    values = waves(200, seed)
    if gappy:
        values[np.random.default_rng(seed).random(values.shape) < 0.2] = np.nan
    before, trial = values.copy(), draw_trial(values, end, 48)
    np.testing.assert_array_equal(values, before)
    if trial is None:
        return
    again = draw_trial(values, end, 48)
    np.testing.assert_array_equal(trial.rows, again.rows)
    hidden = np.isnan(trial.rows) & ~np.isnan(values)
    assert trial.counts.any() and not (trial.counts & ~hidden).any()
    # what counts lies at the end, or in one row of the lag whose gaps are closed again
    assert trial.counts.any(axis=1).sum() <= 2 and not trial.counts[: 199 - 48].any()
    behind = np.flatnonzero(trial.counts[:-1].any(axis=1))
    for column in np.flatnonzero(trial.counts[behind].any(axis=0)):
        assert not np.isnan(trial.rows[behind[0] :, column]).all()


@pytest.mark.parametrize("dead", [False, True])
def test_the_last_rows_are_filled_as_in_the_whole_table(fitted, dead):
    regression = next(method for method in fitted.judged.methods if method.name == "regression")
    values, rng = waves(1200)[600:984], np.random.default_rng(2)
    values[rng.random(values.shape) < 0.2] = np.nan
    if dead:
        values[300:, 1] = np.nan
    panel = Panel.of(values, list("abcd"), phase=[600])
    whole, late = regression.fill(panel).values, regression.fill(panel, np.array([340])).values
    np.testing.assert_allclose(late[340:], whole[340:], rtol=0, atol=1e-6)
    assert np.isnan(late[:200]).sum() > np.isnan(whole[:200]).sum()  # earlier rows were left out


def test_rehearsed_cells_are_as_deep_in_gaps_as_missing_ones():
    values = waves(384)
    values[50:110, :2] = np.nan  # one outage of two columns
    values[120:360:6, 3] = np.nan  # and forty single cells
    trials = [draw_trial(values, end, 48) for end in range(0, 4000, 4)]
    at_end = [np.isnan(trial.rows[-2:]) & trial.counts[-1] for trial in trials if trial is not None]
    single = sum(int((gap[1] & ~gap[0]).sum()) for gap in at_end)
    long = sum(int(gap.all(axis=0).sum()) for gap in at_end)
    assert 0.25 < single / (single + long) < 0.35  # 42 of 160 missing cells are first ones of their gaps


def test_a_state_of_another_fill_is_refused(fitted, live, tmp_path):
    live.push([1.0] * 4, TIMES[800])
    live.save(tmp_path / "state")
    with pytest.raises(t1.InputError, match="another fill") as error:
        fitted.live(lag=10).restore(tmp_path / "state")
    assert error.value.option == "state"


def test_several_series_do_not_mix(live):
    truth = waves(1200)[800:]
    for k in range(30):
        live.push(truth[k], TIMES[800 + k], id="a")
        live.push(truth[k] + 100, TIMES[800 + k], id="b")
    a, b = (live.push([None, None, None, 0.0], TIMES[830], id=name)[-1] for name in "ab")
    assert a.id == "a" and np.abs(a.values[:3]).max() < 10 < b.values[:3].min()


def test_memory_does_not_grow(live):
    import tracemalloc

    rows = waves(1200)[800:]
    rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    tracemalloc.start()
    sizes = []
    for k in range(120):
        live.push(rows[k], TIMES[800 + k])
        if k % 30 == 29:
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[-1] - sizes[0] < 200_000


def test_rules_hold(fitted):
    live = fitted.live(maximum={"b": -5.0}, integer=["d"])
    live.warm(waves(1200)[600:800], TIMES[600:800])
    (told,) = live.push([1.0, None, 1.0, None], TIMES[800])
    assert told.values[1] == -5.0 and told.values[3] == np.rint(told.values[3])


def test_the_onnx_engine_gives_the_same(fitted, live):
    onnx = fitted.live(engine="onnx")
    onnx.warm(waves(1200)[600:800], TIMES[600:800])
    rows = waves(1200)[800:830]
    rows[::3, 1] = np.nan
    for mine, theirs in zip(stream(live, rows), stream(onnx, rows), strict=True):
        assert np.allclose(mine[-1].values, theirs[-1].values, atol=1e-4)


@pytest.mark.parametrize(
    ("row", "when", "says"),
    [
        ([1.0, 2.0], TIMES[800], "a row has 2 values"),
        ({"a": 1.0, "e": 2.0}, TIMES[800], "column 'e'"),
        ([1.0, "x", 2.0, 3.0], TIMES[800], "no number"),
        ([1.0, np.inf, 2.0, 3.0], TIMES[800], "infinite"),
        ([1.0] * 4, "yesterday-ish", "is no time"),
        ([1.0] * 4, np.datetime64("NaT"), "no time"),
    ],
)
def test_rows_that_cannot_be_used(live, row, when, says):
    with pytest.raises(t1.InputError, match=says):
        live.push(row, when)


def test_settings_that_cannot_be_used(fitted):
    with pytest.raises(t1.InputError, match="lag"):
        fitted.live(lag=500)
    with pytest.raises(t1.InputError, match="level"):
        fitted.live(intervals=2.0)
    with pytest.raises(t1.InputError, match="engine"):
        fitted.live(engine="tvm")
    counted = t1.fit(np.random.default_rng(0).normal(size=(200, 2)), method="linear")
    with pytest.raises(t1.InputError, match="only counted"):
        counted.live().push([1.0, 2.0], "2024-01-01")
    assert counted.live().push([1.0, None])[0].time == 200


# ---------------------------------------------------------------- the rehearsal


def test_ends_hide_each_cell_in_one_fold_and_from_learning():
    values = waves(1200)
    values[np.random.default_rng(0).random(values.shape) < 0.05] = np.nan
    panel = Panel.of(values)
    ends = rehearse_ends(panel, np.random.default_rng(0), 384)
    assert set(ends.fold) == {0, 1, 2} and len(ends.truth) > 100
    seen = ends.panel.values.reshape(-1, 384, 4)
    assert np.isnan(ends.panel.values[ends.row, ends.column]).all()
    assert np.isin(ends.truth, values[ends.hidden]).all()  # nothing that is scored may be learned from
    newest = ends.row % 384 == 383
    assert (ends.code[newest] < 5).all() and newest.sum() > 50
    assert np.isfinite(seen[:, -97:]).any(axis=(1, 2)).all()


def test_open_gaps_are_those_that_reach_the_end():
    observed = np.ones((8, 2), dtype=bool)  # two stretches of four rows
    observed[[1, 3, 6, 7], [0, 0, 0, 0]] = False
    observed[[4, 5], [1, 1]] = False
    gaps = Gaps.of(observed, np.array([0, 4]))
    found = {
        (int(r), int(c)): bool(o)
        for r, c, o in zip(gaps.row, gaps.column, open_gaps(gaps, 8, 4), strict=True)
    }
    assert found == {(1, 0): False, (3, 0): True, (6, 0): True, (7, 0): True, (4, 1): False, (5, 1): False}
    assert end_class(np.array([1, 3, 30]), np.array([True, True, False])).tolist() == [0, 1, 6]


# ---------------------------------------------------------------- t1 stream


def lines(n: int = 30) -> list[str]:
    rows = waves(1200)[800 : 800 + n]
    cells = [
        ["" if (k + j) % 5 == 0 else f"{x:.4f}" for j, x in enumerate(row)] for k, row in enumerate(rows)
    ]
    return ["when,a,b,c,d", *(f"{TIMES[800 + k]!s:.19},{','.join(row)}" for k, row in enumerate(cells))]


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs t1 stream on some text: exit code, lines of standard output, standard error."""

    def run(arguments: list[str], text: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code = main(["stream", *arguments])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


def test_csv_lines_from_a_pipe(model, run):
    code, (head, *told), err = run(["--model", str(model), "--time", "when"], "\n".join(lines()) + "\n")
    assert code == 0 and "30 rows" in err
    assert head == "time,status,a,b,c,d,a_lo,a_hi,b_lo,b_hi,c_lo,c_hi,d_lo,d_hi"
    newest = [line.split(",") for line in told if ",newest," in line]
    assert [row[0] for row in newest] == [str(t)[:19] for t in TIMES[800:830]]
    assert all("" not in row[2:6] for row in newest) and any(",revised," in line for line in told)


def test_json_lines_and_a_line_that_is_none(model, run):
    names, *rows = lines(6)
    objects = [json.dumps(dict(zip(names.split(","), row.split(","), strict=True))) for row in rows]
    objects[3] = "{broken"
    code, out, err = run(["--model", str(model), "--time", "when", "--newest-only"], "\n".join(objects))
    told = [json.loads(line) for line in out]
    assert code == 0 and "line 4 was left out" in err
    assert [t["status"] for t in told] == ["newest"] * 6  # the absent row is filled as well
    assert set(told[0]["filled"]) == {"a"} and told[0]["filled"]["a"]["lo"] < told[0]["values"]["a"]


def test_a_stream_of_other_columns_is_refused(model, run):
    for text, says in (("when,a,b\n1,2,3\n", "no column 'c'"), ('{"x": 1}\n', "none of the model's columns")):
        code, out, err = run(["--model", str(model)], text)
        assert code == 2 and says in err and not out
    assert run(["--model", str(model / "nothing")], "")[0] == 2


def test_a_stream_that_is_ended_goes_on_from_its_state(model, tmp_path, run):
    """A real process with a real pipe, ended by a signal while it waits."""
    text = lines(40)
    options = ["--model", str(model), "--time", "when", "--state", str(tmp_path / "state")]
    _, whole, _ = run(options[:-2], "\n".join(text))
    command = [sys.executable, "-m", "t1.cli", "stream", *options]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first.stdin.write("\n".join(text[:21]) + "\n")
    first.stdin.flush()
    told = [first.stdout.readline()]
    while f"{TIMES[819]!s:.19},newest" not in told[-1]:
        told.append(first.stdout.readline())
    first.send_signal(signal.SIGTERM)
    rest, _ = first.communicate(timeout=60)
    assert first.returncode == 0
    _, second, _ = run(options, "\n".join([text[0], *text[21:]]))
    assert [*map(str.rstrip, told), *rest.splitlines(), *second[1:]] == whole


def test_the_example_fills_a_real_redis_stream(model, tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed: apt-get install redis-server")
    redis = pytest.importorskip("redis", reason="redis is not installed: pip install redis")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis("127.0.0.1", port, decode_responses=True)
        for _ in range(100):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.1)
        names, *rows = lines(20)
        for row in rows[:12]:
            fields = {k: v for k, v in zip(names.split(","), row.split(","), strict=True) if v}
            client.xadd("plant", fields)
        command = [
            sys.executable,
            ROOT / "examples" / "redis_stream.py",
            "--model",
            model,
            "--port",
            str(port),
        ]
        command += ["--time", "when", "--state", tmp_path / "state", "--idle", "1"]
        subprocess.run(command, check=True, timeout=120)
        for row in rows[12:]:
            client.xadd("plant", {k: v for k, v in zip(names.split(","), row.split(","), strict=True) if v})
        subprocess.run(command, check=True, timeout=120)  # goes on where it was
        told = [fields for _, fields in client.xrange("plant:filled")]
        newest = [f for f in told if f["status"] == "newest"]
        assert [f["time"][:19] for f in newest] == [str(t)[:19] for t in TIMES[800:820]]
        assert all(np.isfinite(list(json.loads(f["row"]).values())).all() for f in newest)
        assert json.loads(newest[0]["filled"]) == ["a"]
    finally:
        server.terminate()
        server.wait()


def test_what_the_fit_took_a_column_for_ends_when_the_stream_says_otherwise(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"load": rng.gamma(2, 1, 600), "other": rng.normal(0, 1, 600)})
    table.iloc[::20, 0] = 0.0
    fitted = t1.fit(table, budget="fast", method="linear")
    assert fitted.kinds["load"].name == "non-negative"
    below = pd.DataFrame({"load": [-5.0, -5.0, np.nan, -5.0], "other": [0.0] * 4})
    live = fitted.live()
    assert [live.push(row)[-1].values[0] for row in below.to_numpy()] == [-5.0] * 4
    assert fitted.apply(below).data["load"].tolist() == [-5.0] * 4  # and so does a table of tomorrow
    bounded = fitted.live(minimum={"load": 0.0})  # what the user said stays
    assert [bounded.push(row)[-1].values[0] for row in below.to_numpy()] == [-5.0, -5.0, 0.0, -5.0]
