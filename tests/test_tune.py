"""Tuning: which cells train, which validate, and when it ends."""

import numpy as np
import pytest

from t1.methods import tuning_windows
from t1.methods.base import Learning, LeftOut
from t1.methods.catalog import fit_of
from t1.methods.seasons import find_periods
from t1.methods.t1 import T1Fill
from t1.methods.tune import TunedFill
from t1.methods.tuning_windows import VALID_SHARE, TuningWindows
from t1.panel import Panel


def table(n_rows: int, n_vars: int, seed: int = 0) -> np.ndarray:
    """Columns that share a walk, with runs and points missing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 1)).cumsum(axis=0) + rng.normal(size=(n_rows, n_vars))
    values[rng.random(values.shape) < 0.1] = np.nan
    for j in range(n_vars):
        begin = int(rng.integers(1, n_rows - 21))
        values[begin : begin + 20, j] = np.nan
    return values


def numbered(panel: Panel) -> TuningWindows:
    """The windows of a panel in which every cell has a number of its own for a value."""
    windows = TuningWindows(started(panel)[0], panel, 0, panel)
    width = panel.n_vars
    for s in windows.stretches:
        row = panel.spans[s.series].start + np.arange(len(s.values))
        s.values[:] = row[:, None] * width + windows.groups[s.group].columns + 1
    return windows


def started(panel: Panel) -> tuple[T1Fill, Learning]:
    learning = Learning(seed=0, periods=find_periods(panel))
    fitted = fit_of("t1")(panel, learning)
    assert isinstance(fitted, T1Fill)
    return fitted, learning


PANELS = {
    "small": Panel.of(table(120, 3)),
    "long": Panel.of(table(5000, 4)),
    "wide": Panel.of(table(300, 80)),
    "series": Panel.of(table(400, 3), starts=[0, 150, 230, 270]),
}


@pytest.mark.parametrize("name", PANELS)
def test_cells_that_validate_neither_train_nor_are_shown(name):
    panel = PANELS[name]
    windows = numbered(panel)
    kept = sum(int(s.kept.sum()) for s in windows.stretches)
    observed = sum(int(s.known.sum()) for s in windows.stretches)
    assert 0.02 < kept / observed < VALID_SHARE + 0.1
    truth = np.concatenate([s.values[s.kept] for s in windows.stretches])
    for step in range(40):
        batch = windows.batch(step)
        if batch is None:
            continue
        used = batch.values.numpy()[(batch.observed | batch.target).numpy()]
        assert not np.isin(used, truth).any()
        assert not (batch.observed & batch.target).any()


@pytest.mark.parametrize("name", PANELS)
def test_what_validates_is_what_was_kept_and_lies_all_over_the_rows(name):
    panel = PANELS[name]
    windows = numbered(panel)
    truth = np.concatenate([s.values[s.kept] for s in windows.stretches])
    batches = [windows.validation(k) for k in range(windows.n_validations)]
    targets = [b.values.numpy()[b.target.numpy()] for b in batches if b is not None]
    assert np.isin(np.concatenate(targets), truth).all()
    assert not any((b.observed & b.target).any() for b in batches if b is not None)
    for s in windows.stretches:
        rows = np.flatnonzero(s.kept.any(axis=1))
        if len(s.values) > 1000:  # not the end alone
            assert rows.min() < len(s.values) / 4 and rows.max() > len(s.values) * 3 / 4


def test_of_a_long_series_cells_of_some_rows_validate(monkeypatch):
    monkeypatch.setattr(tuning_windows, "LONGEST", 1000)
    windows = numbered(PANELS["long"])
    (s,) = windows.stretches
    rows = np.flatnonzero(s.kept.any(axis=1))
    assert 100 < np.ptp(rows) < 1000
    targets = [
        b.values.numpy()[b.target.numpy()]
        for k in range(windows.n_validations)
        if (b := windows.validation(k))
    ]
    assert np.isin(np.concatenate(targets), s.values[s.kept]).all()


def test_a_regression_is_not_told_of_cells_that_validate():
    panel = PANELS["small"]
    start, _ = started(panel)
    windows = TuningWindows(start, panel, 0, panel)
    s = windows.stretches[0]
    seen: list[np.ndarray] = []

    regression = start.regression
    assert regression is not None

    class Spy:
        def told(self, part: Panel) -> np.ndarray:
            seen.append(part.values)
            return regression.told(part)

    object.__setattr__(windows.start, "regression", Spy())
    windows.batch(0)
    windows.validation(0)
    assert len(seen) == 2
    for values in seen:
        assert np.isnan(values[s.kept[: len(values)]]).all()


def test_a_training_that_goes_on_validates_with_the_cells_of_before():
    panel = PANELS["long"]
    start, _ = started(panel)
    judged = panel.with_values(
        np.where(np.random.default_rng(1).random(panel.values.shape) < 0.2, np.nan, panel.values)
    )
    before = TuningWindows(start, judged, 0, judged).stretches[0]
    now = TuningWindows(start, panel, 0, judged).stretches[0]
    assert np.array_equal(before.kept, now.kept)
    assert now.observed.sum() > before.observed.sum()


def test_the_training_of_a_small_table_ends_by_itself():
    panel = PANELS["small"]
    start, learning = started(panel)
    tuned = TunedFill.train(start, panel, learning, np.inf)
    assert tuned.result.reason in ("steps", "patience")
    assert tuned.result.history[-1].step <= 250


def test_a_panel_of_which_too_little_is_known_is_left_out():
    values = np.full((100, 2), np.nan)
    values[50, 0] = 1.0
    panel = Panel.of(values)
    start, learning = started(panel)
    with pytest.raises(LeftOut, match="too little"):
        TunedFill.train(start, panel, learning, 10.0)
