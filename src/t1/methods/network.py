"""Any network of the list, trained from scratch on the panel: SAITS, iTransformer, T1 without weights, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.scale import Scaler
from t1.data.series import fit_scaler, lengthen, scaled_rows
from t1.data.window import Stitcher, WindowSet, starts
from t1.device import own_randomness, resolve_device, to_device
from t1.errors import InputError
from t1.methods.base import Fill, Fit, Learning
from t1.methods.catalog import MODELS, build
from t1.missing import hide
from t1.models.base import Model
from t1.panel import Panel
from t1.progress import OnProgress
from t1.schedule import TrainConfig
from t1.train import FitResult, Hide, fit

SHORTEST_WINDOW = 8  # of the networks; shorter series are filled up with missing rows
AT_ONCE = 128  # windows between two cuts of a long series that is filled piece by piece
BATCH = 64  # windows that are filled at once
LEAST_SHARE = 0.1  # of a budget that is spent on training, even if the fills then overrun it


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a network is trained on a panel."""

    window: int = 96
    n_channels: int = 64  # of T1; the paper has 128, which needs more time to learn
    pattern: str = "mixed"
    rate: float | tuple[float, float] = (0.02, 0.5)
    valid_share: float = 0.1  # the last share of each series chooses the best weights
    config: TrainConfig = field(default_factory=lambda: TrainConfig(schedule="cosine", max_seconds=120.0))
    device: str = "auto"
    folder: str | Path | None = None
    resume: bool = False


@dataclass(frozen=True, eq=False)
class NetworkFill:
    """A network trained on a table, and the scale of the columns that it knows."""

    name: str
    network: Model
    scaler: Scaler  # of the known columns
    known: BoolArray  # (vars,): columns with an observed value
    seed: int

    @classmethod
    def train(
        cls,
        name: str,
        panel: Panel,
        training: Training,
        *,
        on_progress: OnProgress | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[Self, FitResult]:
        """Train a fresh network on the observed cells; what is missing is never a target."""
        if not isinstance(training.window, int) or training.window < SHORTEST_WINDOW:
            raise InputError(
                f"window is {training.window!r}",
                cure=f"Give a whole number of at least {SHORTEST_WINDOW}.",
                option="window",
            )
        known = panel.known
        series = [v[:, known] for v in panel.series()]
        window = max(SHORTEST_WINDOW, min(training.window, max(len(v) for v in series)))
        series = [lengthen(v, window) for v in series]
        scaler = fit_scaler(series)
        rows, seen = scaled_rows(scaler, series)
        train, valid = _split(rows, seen, [len(v) for v in series], window, training.valid_share)
        device = resolve_device(training.device)
        seed = training.config.seed
        with own_randomness(device) as seed_torch:
            seed_torch(seed)
            network = _new(name, int(known.sum()), window, training.n_channels)
        result = fit(
            network.to(device),
            train,
            valid,
            training.config,
            hide=_hide(training.pattern, training.rate, seen),
            device=device,
            folder=training.folder,
            resume=training.resume,
            on_progress=on_progress,
            should_stop=should_stop,
        )
        return cls(name, network, scaler, known, seed), result

    def fill(self, panel: Panel) -> Fill:
        """Columns of which the training knew nothing have no answer."""
        device = resolve_device("auto")
        network = self.network.to(device).eval()
        out = np.full(panel.values.shape, np.nan)
        with own_randomness(device) as seed_torch:
            seed_torch(self.seed)  # some networks draw their fill
            for span, values in zip(panel.spans, panel.series(), strict=True):
                part = values[:, self.known]
                _fill_gaps(network, self.scaler, device, part)
                out[span, self.known] = part
        return Fill(out)


def network_fit(name: str) -> Fit:
    """A fit that trains the network of that name within the budget."""

    def fit_network(panel: Panel, learning: Learning) -> NetworkFill:
        seconds, clock = 120.0, learning.clock
        if learning.budget is not None:  # half of what is left: it has to fill as well
            seconds = max(learning.left() / 2, LEAST_SHARE * learning.budget.seconds)
        config = TrainConfig(
            seed=learning.seed, learning_rate=2e-3, schedule="cosine", max_seconds=seconds, clock=clock
        )
        fitted, result = NetworkFill.train(
            name,
            panel,
            Training(config=config),
            on_progress=learning.on_progress,
            should_stop=learning.should_stop,
        )
        if result.reason == "stopped":
            learning.notes.append("training was stopped early; the best weights so far were used")
        return fitted

    return fit_network


def _new(name: str, n_vars: int, window: int, n_channels: int) -> Model:
    """T1 as it learns best in minutes, or another system, in its small size if it has one."""
    if name != "t1":
        size = {"size": "small"} if MODELS[name].small else {}
        return build(name, n_vars=n_vars, window=window, **size)
    return build(name, n_vars=n_vars, window=window, n_channels=n_channels, lines=True, residual_scale=0.1)


def _hide(pattern: str, rate: float | tuple[float, float], donor: BoolArray) -> Hide:
    """Draws the cells to hide in a batch, with the gaps of `donor` (row, vars) to copy."""
    settings: dict[str, Any] = {"rate": rate if isinstance(rate, int | float) else (rate[0], rate[1])}
    if pattern not in ("mixed", "point", "mnar"):  # the others have no rate
        settings = {}

    def hidden(values: Any, observed: Any, rng: np.random.Generator) -> Any:
        if pattern == "mnar" and not isinstance(rate, int | float):  # it knows no range: one rate per batch
            settings["rate"] = rng.uniform(*rate)
        mask = hide(pattern, observed, rng=rng, values=values, donor_observed=donor, **settings)
        if not mask.any() and observed.any():  # a tiny table: hide one cell, or there is nothing to learn
            mask.flat[rng.choice(np.flatnonzero(observed))] = True
        return mask

    return hidden


def _split(
    rows: Float32Array, seen: BoolArray, lengths: list[int], window: int, valid_share: float
) -> tuple[WindowSet, WindowSet]:
    """Training and validation windows over shared rows: the last `valid_share` of every series validates.

    Where all series are too short to be cut in two, the last ones of many validate whole; a few serve both
    ends, as none can be spared for validation only.
    """
    if not 0 <= valid_share < 1:
        raise InputError(
            f"valid_share must be in [0, 1), got {valid_share}",
            cure="The default is 0.1.",
            option="valid_share",
        )
    ends = np.cumsum(lengths)
    spans = [(int(end) - n, int(end)) for n, end in zip(lengths, ends, strict=True)]
    tails = [max(round(n * valid_share), window) if valid_share else 0 for n in lengths]
    long = [b - a - tail >= window for (a, b), tail in zip(spans, tails, strict=True)]
    if any(long):
        parts = (
            [(a, b - tail if cut else b) for (a, b), tail, cut in zip(spans, tails, long, strict=True)],
            [(b - tail, b) for (_, b), tail, cut in zip(spans, tails, long, strict=True) if cut],
        )
    else:
        n_valid = round(len(spans) * valid_share)
        parts = (spans[:-n_valid], spans[-n_valid:]) if n_valid else (spans, spans)
    if any(not any(b - a >= window and seen[a:b].any() for a, b in part) for part in parts):
        parts = spans, spans
    train, valid = (
        np.concatenate([np.arange(a, b - window + 1, stride) for a, b in part])
        for part, stride in zip(parts, (1, max(1, window // 4)), strict=True)
    )
    return WindowSet(rows, seen, train, window), WindowSet(rows, seen, valid, window)


def _fill_gaps(model: Model, scaler: Scaler, device: torch.device, values: FloatArray) -> None:
    """Fill one series (time, vars) in place by overlapping windows, of which those with a gap."""
    window = model.config.window
    begin = starts(max(len(values), window), window, max(1, window // 2))
    # A piece is filled from all windows that reach into it, before the fills are written.
    edges = [0, *(begin[AT_ONCE::AT_ONCE]).tolist(), len(values)]
    fills = []
    for first, last in pairwise(edges):
        mine = begin[(begin > first - window) & (begin < last)]
        start, stop = int(mine[0]), int(mine[-1]) + window
        missing = np.isnan(values[first:last])
        if missing.any():
            piece = _piece(model, scaler, device, values[start:stop], mine - start)
            fills.append((first, missing, piece[first - start : last - start][missing]))
    for first, missing, fill in fills:
        values[first : first + len(missing)][missing] = fill


def _piece(
    model: Model, scaler: Scaler, device: torch.device, values: FloatArray, begin: IntArray
) -> FloatArray:
    """What windows that begin at some rows make of a piece (time, vars)."""
    window = model.config.window
    scaled = scaler.scale(lengthen(values, window))
    windows = WindowSet.from_series(scaled, window, starts=begin)
    stitcher = Stitcher(len(scaled), scaled.shape[1], window)
    for some in np.array_split(np.arange(len(windows)), -(-len(windows) // BATCH)):
        x, observed = windows.batch(some)
        gappy = ~observed.all(axis=(1, 2))
        if gappy.any():
            some, x, observed = some[gappy], x[gappy], observed[gappy]
            out = model.impute(to_device(x, device), to_device(observed, device))
            stitcher.add(begin[some], out.cpu().numpy())
    return scaler.unscale(stitcher.result())
