"""A network for a user's table: made, timed, and run window by window over a series of any length."""

from itertools import pairwise
from time import perf_counter

import numpy as np
import torch

from t1.arrays import FloatArray, IntArray
from t1.data.scale import Scaler
from t1.data.series import lengthen
from t1.data.window import Stitcher, WindowSet, starts
from t1.device import own_randomness, resolve_device, to_device
from t1.memory import keep_freed_memory
from t1.methods.catalog import MODELS, build
from t1.models.base import Model

MANY = 64  # columns that one network is trained on; attention grows with their square
AT_ONCE = 128  # windows between two cuts of a long series that is filled piece by piece
BATCH = 64  # windows that are filled at once
TIMED = 640  # windows times variables of which a fill is timed


def new_network(name: str, n_vars: int, window: int, n_channels: int) -> Model:
    """T1 as it learns best in minutes, or another system, in its small size if it has one."""
    if name != "t1":
        size = {"size": "small"} if MODELS[name].small else {}
        return build(name, n_vars=n_vars, window=window, **size)
    return build(
        name,
        n_vars=n_vars,
        window=window,
        n_channels=n_channels,
        lines=True,  # docs/architecture.md says why
        residual_scale=0.1,
    )


def fill_gaps(model: Model, scaler: Scaler, device: torch.device, values: FloatArray) -> None:
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


def seconds_per_window(
    n_vars: int, window: int, *, network: str = "t1", n_channels: int = 64, device: str = "auto"
) -> float:
    """How long a network of this size takes to fill one window, by the clock."""
    keep_freed_memory()
    place = resolve_device(device)
    n_windows = min(max(TIMED // n_vars, 8), BATCH)
    taken = []
    with own_randomness(place):
        model = new_network(network, n_vars, window, n_channels).to(place).eval()
        x = torch.zeros(n_windows, window, n_vars, device=place)
        for _ in range(3):  # the first one also builds what the weights need only once
            began = perf_counter()
            model.impute(x, x > 0).cpu()
            taken.append((perf_counter() - began) / n_windows)
    return sorted(taken)[1]
