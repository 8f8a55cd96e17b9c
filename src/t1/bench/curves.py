"""Fills of a few stretches of the test part, kept so that those of several systems can be drawn together."""

from typing import Any

import numpy as np

from t1.bench.evaluate import Fill
from t1.bench.scenarios import Scenario, chunks
from t1.bench.store import Store
from t1.bench.study import STUDIES, Run
from t1.bench.traces import CURVES
from t1.data.catalog import Dataset


def keep_curves(fill: Fill, dataset: Dataset, run: Run, store: Store, steps: int) -> None:
    """Keep the fill of the test window that has most hidden cells of each variable, in the table's units.

    `steps` of training were made.
    """
    study = STUDIES["physionet"]
    chosen = [name for name in study.curves if name in dataset.columns] or list(dataset.columns[:3])
    best: dict[str, tuple[int, int]] = {}  # the number of hidden cells, the window
    windows: dict[int, tuple[Any, ...]] = {}
    past = 0
    for chunk in chunks(dataset, Scenario("variables", 0.5), run.seed):
        for name in chosen:
            hidden = chunk.target[:, :, dataset.columns.index(name)].sum(axis=1)
            k = int(hidden.argmax())
            if hidden[k] > best.get(name, (0, 0))[0]:
                best[name] = int(hidden[k]), past + k
                windows[past + k] = tuple(part[k : k + 1] for part in chunk)
        past += len(chunk.values)
    curves = {}
    for name, (_, window) in best.items():
        values, visible, target = windows[window]
        filled = fill(np.where(visible, values, np.float32(0)), visible)
        j = dataset.columns.index(name)
        mean, std = dataset.scaler.mean[j], dataset.scaler.std[j]
        truth, guess = (part[0, :, j].astype(float) * std + mean for part in (values, filled))
        known = (visible | target)[0, :, j]
        curves[name] = {
            "window": window,
            "truth": [round(float(x), 4) if k else None for x, k in zip(truth, known, strict=True)],
            "visible": visible[0, :, j].tolist(),
            "fill": [round(float(x), 4) for x in guess],
        }
    store.keep_trace(CURVES, run, steps, {"curves": curves})
