"""Where T1 looks: the attention that variables pay to one of them as its cells go missing.

Attention is (windows, heads, vars, vars) in every block; a row sums to 1. What is measured is the mean weight
that the *other* variables give the target variable.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from numpy.random import default_rng

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.bench.evaluate import Measured
from t1.bench.scenarios import CHUNK, STREAM, Scenario
from t1.bench.store import Store
from t1.bench.study import Run
from t1.bench.traces import ATTENTION, MAPS, PLACES, TOP
from t1.data.catalog import Dataset
from t1.errors import InputError
from t1.missing import point
from t1.models.base import Model
from t1.models.t1 import T1

LOOKS = ("attention", "where")  # kinds that look into the network
OTHERS = 0.4  # of the cells of all other variables are hidden meanwhile
SHARE = 0.3  # of the target's cells are hidden where something holds
AROUND = 7  # steps over which the local variance is taken
EVERY = 16  # test windows over which the effect of a place is averaged

Look = tuple[npt.NDArray[np.float32], BoolArray]  # windows and what is visible of them


def look_inside(
    model: Model,
    dataset: Dataset,
    scenario: Scenario,
    *,
    run: Run,
    steps: int,
    every: int,
    store: Store,
    stop: Callable[[], bool],
) -> Measured | None:
    """The attention to a target variable under one scenario, after so many steps of training.

    One in `every` test windows is looked at. None if the user wants to stop.
    """
    if not isinstance(model, T1) or model.config.cross != "attention":
        raise InputError(
            f"{run.model} has no attention over variables to look at",
            cure="Run this study with t1 alone.",
            option="models",
        )
    if scenario.kind == "attention":
        return _as_it_goes_missing(model, dataset, scenario, run.seed, every, stop)
    found = _by_place(model, dataset, stop)
    if found is None:
        return None
    sample = _sample(model, dataset)
    heads = {place: np.array(each) for place, each in sample["attention"].items()}
    store.keep_trace(ATTENTION, run, steps, sample)
    metrics = {f"sample {name}": value for name, value in _by_block(heads).items()}
    return Measured(found.metrics | metrics, found.cells)


def _as_it_goes_missing(
    model: T1, dataset: Dataset, scenario: Scenario, seed: int, every: int, stop: Callable[[], bool]
) -> Measured | None:
    """Every variable is the target of every M-th window, at the scenario's rate; the others at 0.4."""
    n_vars, test = dataset.test.n_vars, dataset.test
    sums, counts = np.zeros((n_vars, len(_blocks(model)))), np.zeros(n_vars)
    chosen = np.arange(0, len(test), every)
    for i in range(-(-len(chosen) // CHUNK)):
        if stop():
            return None
        values, observed = test.batch(chosen[i * CHUNK : (i + 1) * CHUNK])
        rng = default_rng([seed, STREAM, scenario.number, i])
        target = (i * CHUNK + np.arange(len(values))) % n_vars
        mine = np.arange(n_vars) == target[:, None, None]  # (windows, 1, vars)
        rate = scenario.rate or 0.0
        hidden = np.where(mine, point(observed, rate=rate, rng=rng), point(observed, rate=OTHERS, rng=rng))
        to_target = _to_target(model, (values, observed & ~hidden), target)  # (blocks, windows, heads)
        np.add.at(sums, target, to_target.mean(axis=2).T)
        np.add.at(counts, target, 1)
    metrics = {f"block {b + 1}": float(x) for b, x in enumerate(sums.sum(axis=0) / counts.sum())}
    for name, mean in zip(dataset.columns, sums / np.maximum(counts, 1)[:, None], strict=True):
        metrics |= {f"{name} block {b + 1}": float(x) for b, x in enumerate(mean)}
    return Measured(metrics, int(counts.sum()))


def _by_place(model: T1, dataset: Dataset, stop: Callable[[], bool]) -> Measured | None:
    """A share of the target's cells is hidden where its values are far from the centre, near it, and so on.

    The mean over some test windows, every variable being the target in turn.
    """
    test, n_vars = dataset.test, dataset.test.n_vars
    chosen = np.arange(0, len(test), min(EVERY, max(1, len(test) // 8)))
    target = np.arange(len(chosen)) % n_vars
    means = []
    for place in PLACES:
        if stop():
            return None
        looks = []
        for i in range(0, len(chosen), CHUNK):
            part = slice(i, i + CHUNK)
            values, observed = test.batch(chosen[part])
            visible = _without(values, observed, target[part], place)
            looks.append(_to_target(model, (values, visible), target[part]))
        means.append(np.concatenate(looks, axis=1).mean(axis=1))  # (blocks, heads)
    return Measured(_by_block(dict(zip(PLACES, means, strict=True))), len(chosen))


def _by_block(attention: dict[str, FloatArray]) -> dict[str, float]:
    """The mean over the heads of each block, and over those that look most at the target in the clean case."""
    top = np.argsort(-attention["clean"].ravel(), kind="stable")[:TOP]
    metrics: dict[str, float] = {}
    for place, heads in attention.items():
        metrics |= {f"{place} block {b + 1}": float(mean) for b, mean in enumerate(heads.mean(axis=1))}
        metrics[f"{place} top {TOP}"] = float(heads.ravel()[top].mean())
    return metrics


def _sample(model: T1, dataset: Dataset) -> dict[str, Any]:
    """The middle test window, the last variable as the target: what every head looks at, for the pictures."""
    values, observed = dataset.test.batch(np.array([len(dataset.test) // 2]))
    target = np.array([dataset.test.n_vars - 1])
    maps, attention, hidden = {}, {}, {}
    for place in PLACES:
        visible = _without(values, observed, target, place)
        weights = _weights(model, (values, visible))
        attention[place] = np.stack([_paid(block, target)[0] for block in weights])  # (blocks, heads)
        maps[place] = np.stack([block[0] for block in weights])  # (blocks, heads, vars, vars)
        hidden[place] = np.flatnonzero((observed & ~visible)[0, :, target[0]]).tolist()
    top = np.argsort(-attention["clean"].ravel(), kind="stable")[:TOP]
    n_heads = attention["clean"].shape[1]
    return {
        "columns": list(dataset.columns),
        "target": dataset.columns[target[0]],
        "window": len(dataset.test) // 2,
        "values": np.round(values[0, :, target[0]].astype(float), 4).tolist(),
        "hidden": hidden,
        "top": [[int(k) // n_heads + 1, int(k) % n_heads + 1] for k in top],  # block and head, from 1
        "attention": {place: np.round(each.astype(float), 5).tolist() for place, each in attention.items()},
        "maps": {
            place: np.round(each.reshape(-1, *each.shape[2:])[top[:MAPS]].astype(float), 4).tolist()
            for place, each in maps.items()
        },
    }


def _without(values: npt.NDArray[np.float32], observed: BoolArray, target: IntArray, place: str) -> BoolArray:
    """What stays visible if a share of the target's observed cells is hidden in the places of that name."""
    visible = observed.copy()
    if place == "clean":
        return visible
    for k, j in enumerate(target.tolist()):
        seen = np.flatnonzero(observed[k, :, j])
        if not len(seen):
            continue
        x = values[k, seen, j].astype(float)
        if place in ("peaks", "off peaks"):
            rank = np.abs(x - x.mean())
        else:
            padded = np.pad(x, AROUND // 2, mode="edge")
            rank = np.lib.stride_tricks.sliding_window_view(padded, AROUND).var(axis=1)
        order = np.argsort(rank if place in ("off peaks", "low variance") else -rank, kind="stable")
        visible[k, seen[order[: round(SHARE * len(seen))]], j] = False
    return visible


def _blocks(model: T1) -> list[int]:
    return list(range(sum(model.config.depths)))


def _weights(model: T1, look: Look) -> list[npt.NDArray[np.float32]]:
    """The attention of every block, each (windows, heads, vars, vars)."""
    device = next(model.parameters()).device
    values, visible = look
    model.eval()
    shown = torch.tensor(np.where(visible, values, np.float32(0)), device=device)
    weights = model.attention(shown, torch.tensor(visible, device=device))
    return [block.cpu().numpy() for block in weights]


def _paid(weights: npt.NDArray[np.float32], target: IntArray) -> FloatArray:
    """The mean weight that the others pay to each window's target, (windows, heads)."""
    n_vars = weights.shape[-1]
    column = weights[np.arange(len(target)), :, :, target]  # (windows, heads, vars that pay)
    own = column[np.arange(len(target)), :, target]  # (windows, heads)
    paid: FloatArray = (column.sum(axis=2, dtype=float) - own) / max(n_vars - 1, 1)
    return paid


def _to_target(model: T1, look: Look, target: IntArray) -> FloatArray:
    return np.stack([_paid(block, target) for block in _weights(model, look)])
