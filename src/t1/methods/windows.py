"""A network of any width, run over a series of any length: windows, seasons beside them, coarser rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from t1.arrays import BoolArray, Float32Array, Lengths
from t1.data.blocks import column_blocks
from t1.data.context import relate
from t1.data.window import starts
from t1.methods.seasons import season_beside
from t1.onnx.engine import OnnxT1

if TYPE_CHECKING:  # the ONNX engine does without torch
    from t1.models.t1 import T1

Network: TypeAlias = "T1 | OnnxT1"

ROWS = 512  # windows times columns that go through the network at once: more take memory and are no faster
RATES = (4, 16, 64, 256)  # rows that are averaged into one, for gaps that the network cannot look across
REACH = 12  # rows of a gap, at each rate, from which on the next coarser rate takes part
STRIDE = 48  # rows from one window to the next: windows overlap by half
FINE_STRIDE = 32  # of small tables: half as much time again, 0.4 % less error
WIDE_STRIDE = 80  # of tables so wide that columns are grouped: two fifths of the time less, 0.9 % more error
MARGIN = 1024  # rows beside those asked for that take part, by the coarser rates: 2 x (4 + 16 + 64 + 256) and a window
SHORT = REACH * RATES[0]  # rows of a series whose gaps need no coarser rate: many of them are filled at once
NEAR = 24.0  # rows from an observation within which the fine fill counts most


class Relation(NamedTuple):
    """How the columns relate: column j is about intercept[j] + weights[j] @ columns; see `relate`."""

    weights: Float32Array  # (vars, vars)
    intercept: Float32Array  # (vars,)
    trust: Float32Array  # (vars,)

    @classmethod
    def of(cls, values: Float32Array) -> Relation:
        """Of a table (rows, vars), NaN where missing."""
        return cls(*(part[0] for part in relate(values[None])))


@dataclass(frozen=True, eq=False)
class Levels:
    """The fill and its lower and upper quantile, each (time, vars) or (batch, time, vars)."""

    fill: Float32Array
    low: Float32Array
    high: Float32Array

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Levels:
        return cls(*(np.zeros(shape, dtype=np.float32) for _ in range(3)))

    def of(self, k: int) -> Levels:
        """Those of one window."""
        return Levels(self.fill[k], self.low[k], self.high[k])


def fill_series(
    network: Network,
    values: Float32Array,
    period: int | None,
    relation: Relation,
    *,
    n_own: int | None = None,
    stride: int = STRIDE,
    asked: BoolArray | None = None,
    both_ways: bool = False,
    said: Float32Array | None = None,
) -> Levels:
    """Fill a series (time, vars) in standard units, NaN where missing.

    Gaps longer than the network can look across get their level from the same network at a coarser rate:
    there the mean of every `rate` rows is one row. Only the first `n_own` columns matter, the others help; so
    do rows that are not `asked` for (time,), whose fills are of no use. `said` (time, vars) is what a regression
    says of every cell; without it the `relation` speaks.
    """
    observed = ~np.isnan(values)
    n_own = values.shape[1] if n_own is None else n_own
    if asked is not None:
        asked = _widened(asked, MARGIN)
    fine = run_windows(network, values, observed, period, relation, n_own, stride, asked, both_ways, said)
    length, distance = _gap_sizes(observed)
    length[:, n_own:] = 0
    for rate in RATES:
        far = length > REACH * rate
        if not far.any() or len(values) < 3 * rate:
            break
        means, seen = _block_means(values, observed, rate)
        known = seen.any(axis=0)
        step = None if period is None or period < 3 * rate else round(period / rate)
        wanted: BoolArray = np.any(far, axis=1)
        if asked is not None:
            wanted = wanted & asked
        means = np.where(seen, means, np.nan)
        said_there = None if said is None else _block_means(said, np.ones(said.shape, dtype=bool), rate)[0]
        coarse = run_windows(
            network, means, seen, step, relation, n_own, stride, _blocks(wanted, rate), both_ways, said_there
        )
        weight = np.where(far & known, np.minimum(distance / (NEAR * rate / RATES[0]), 1.0), 0.0)
        weight = weight.astype(np.float32)
        fine = _with_level(fine, coarse, rate, weight)
    return fine


def fill_windows(
    network: Network,
    values: Float32Array,
    period: int | None,
    relation: Relation,
    said: Float32Array | None = None,
    *,
    both_ways: bool = True,
) -> Levels:
    """Levels of windows or shorter series (batch, time, vars) in standard units, each filled from itself alone.

    NaN is missing. `said` (batch, time, vars) is what a regression says of every cell; without it the `relation`
    speaks. Many at once take much less time than one after the other.
    """
    n, time, n_vars = values.shape
    short = _window(network) - time
    if short:  # missing rows at the end
        pad = ((0, 0), (0, short), (0, 0))
        values = np.pad(values, pad, constant_values=np.nan)
        said = None if said is None else np.pad(said, pad, mode="edge")
    observed = ~np.isnan(values)
    known = np.where(observed, values, 0).astype(np.float32)
    wide = (values.shape[1], n * n_vars)  # all windows side by side: each looks for its own periods
    season = season_beside(
        known.transpose(1, 0, 2).reshape(wide), observed.transpose(1, 0, 2).reshape(wide), period
    )
    beside = [part.reshape(-1, n, n_vars).transpose(1, 0, 2) for part in season]
    out = np.empty((3, *values.shape), dtype=np.float32)
    at_once = max(1, ROWS // n_vars)
    for i in range(0, n, at_once):
        some = slice(i, i + at_once)
        out[:, some] = _levels(
            network,
            known[some],
            observed[some],
            [x[some] for x in beside],
            relation,
            said=None if said is None else said[some],
            both_ways=both_ways,
        )
    return Levels(*out[:, :, :time])


def fill_ends(
    network: Network, values: Float32Array, period: int | None, relation: Relation, coarse_of: BoolArray
) -> Levels:
    """Fill the last window of some stretches (batch, time, vars) in standard units: levels (batch, window, vars).

    Earlier rows serve the season and, at a coarser rate, gaps longer than the network can look across; that is done
    for the stretches `coarse_of` (batch,).
    """
    n, time, n_vars = values.shape
    window = _window(network)
    observed = ~np.isnan(values)
    known = np.where(observed, values, 0).astype(np.float32)
    wide = (time, n * n_vars)  # all stretches side by side: each looks for its own periods
    season = season_beside(
        known.transpose(1, 0, 2).reshape(wide),
        observed.transpose(1, 0, 2).reshape(wide),
        period,
        time - window,
    )
    beside = [part.reshape(window, n, n_vars).transpose(1, 0, 2) for part in season]
    last, seen = known[:, -window:], observed[:, -window:]
    out = np.empty((3, n, window, n_vars), dtype=np.float32)
    at_once = max(1, ROWS // n_vars)
    for i in range(0, n, at_once):
        some = slice(i, i + at_once)
        out[:, some] = _levels(network, last[some], seen[some], [x[some] for x in beside], relation)
    for k in np.flatnonzero(coarse_of).tolist():
        length, distance = _gap_sizes(observed[k])
        for rate in RATES[:2]:
            far = length[-window:] > REACH * rate
            if not far.any() or time < 3 * rate or window % rate or time % rate:
                break
            means, full = _block_means(values[k], observed[k], rate)
            step = None if period is None or period < 3 * rate else round(period / rate)
            coarse = run_windows(network, np.where(full, means, np.nan), full, step, relation, n_vars)
            near = np.minimum(distance[-window:] / (NEAR * rate / RATES[0]), 1.0)
            weight = np.where(far & full.any(axis=0), near, 0.0).astype(np.float32)
            end = Levels(*(part[-(window // rate) :] for part in (coarse.fill, coarse.low, coarse.high)))
            levelled = _with_level(Levels(*out[:, k]), end, rate, weight)
            out[:, k] = levelled.fill, levelled.low, levelled.high
    return Levels(*out)


def run_windows(
    network: Network,
    values: Float32Array,
    observed: BoolArray,
    period: int | None,
    relation: Relation,
    n_own: int,
    stride: int = STRIDE,
    asked: BoolArray | None = None,
    both_ways: bool = False,
    said: Float32Array | None = None,
) -> Levels:
    """Windows that overlap, if they have a gap in rows `asked` for; each cell trusts the middle of a window most.

    `both_ways`: each window is also filled backwards and upside down, and the mean of both is taken.
    """
    window, (length, n_vars) = _window(network), values.shape
    n = max(length, window)
    if n > length:
        pad = ((0, n - length), (0, 0))
        values = np.pad(values, pad, constant_values=np.nan)
        observed = np.pad(observed, pad)
        said = None if said is None else np.pad(said, pad, mode="edge")
    known = np.where(observed, values, 0).astype(np.float32)
    season = season_beside(known, observed, period)
    begin = starts(n, window, min(stride, window))
    has_gap = np.any(~observed[:, :n_own], axis=1)
    if asked is not None:
        has_gap[:length] &= asked
    gappy = np.concatenate([[0], np.cumsum(has_gap)])
    begin = begin[gappy[begin + window] > gappy[begin]]
    steps = np.arange(window)
    trust = np.minimum(steps + 1, window - steps).astype(np.float32)[:, None] ** 2
    total, weight = np.zeros((3, n, n_vars), dtype=np.float32), np.zeros((n, 1), dtype=np.float32)
    at_once = max(1, ROWS // n_vars)
    for i in range(0, len(begin), at_once):
        first = begin[i : i + at_once]
        rows = first[:, None] + steps
        beside = [part[rows] for part in season]
        levels = _levels(
            network,
            known[rows],
            observed[rows],
            beside,
            relation,
            said=None if said is None else said[rows],
            both_ways=both_ways,
        )
        for k, start in enumerate(first.tolist()):
            total[:, start : start + window] += levels[:, k] * trust
            weight[start : start + window] += trust
    np.divide(total, weight, out=total, where=weight > 0)  # elsewhere there are zeros
    return Levels(*total[:, :length])


def _widened(rows: BoolArray, by: int) -> BoolArray:
    """The rows (time,) up to so many beside those that are True."""
    near = np.cumsum(np.pad(rows, (by + 1, by)))
    return np.asarray(near[2 * by + 1 :] > near[: -2 * by - 1], dtype=bool)


def _blocks(rows: BoolArray, rate: int) -> BoolArray:
    """Which blocks of `rate` rows have any that is True."""
    return np.asarray(np.pad(rows, (0, -len(rows) % rate)).reshape(-1, rate).any(axis=1), dtype=bool)


def _window(network: Network) -> int:
    return network.window if isinstance(network, OnnxT1) else network.config.window


def _levels(
    network: Network,
    values: Float32Array,
    observed: BoolArray,
    season: list[Float32Array],
    relation: Relation,
    *,
    said: Float32Array | None = None,
    both_ways: bool = False,
) -> Float32Array:
    """Fill, low and high of some windows, (3, batch, time, vars).

    `both_ways`: the mean of these and of the same windows backwards and upside down, where what was last is
    first and what was low is high.
    """
    if both_ways:
        before, before_weight, after, after_weight = (part[:, ::-1] for part in season)
        turned_season = [-after, after_weight, -before, before_weight]
        turned_relation = relation._replace(intercept=-relation.intercept)
        turned_said = None if said is None else -said[:, ::-1]
        turned = _levels(
            network, -values[:, ::-1], observed[:, ::-1], turned_season, turned_relation, said=turned_said
        )
        fill, high, low = -turned[:, :, ::-1]
        plain = _levels(network, values, observed, season, relation, said=said)
        both: Float32Array = (plain + np.stack([fill, low, high])) * np.float32(0.5)
        return both
    said = np.full(values.shape, np.nan, dtype=np.float32) if said is None else said
    context = [*season, *(np.broadcast_to(part, (len(values), *part.shape)) for part in relation), said]
    if isinstance(network, OnnxT1):
        levels = network.levels(values, observed, context)
    else:
        levels = _torch_levels(network, values, observed, context)
    levels = np.sort(levels, axis=0)
    return levels[[len(levels) // 2, 0, len(levels) - 1]]


def _torch_levels(
    network: T1, values: Float32Array, observed: BoolArray, context: list[Float32Array]
) -> Float32Array:
    import torch

    from t1.models.base import Context

    device = next(network.parameters()).device
    parts = [torch.tensor(np.ascontiguousarray(x), device=device) for x in (values, observed, *context)]
    with torch.no_grad():
        out: Float32Array = network.levels(parts[0], parts[1], Context(*parts[2:])).cpu().numpy()
    return out


def guesses(
    network: Network,
    values: Float32Array,
    observed: BoolArray,
    season: list[Float32Array],
    relation: Relation,
) -> Float32Array:
    """The network's fill of every cell of some windows, and how far apart its outer quantiles are, (2, batch, ...)."""
    out = np.empty((2, *values.shape), dtype=np.float32)
    at_once = max(1, ROWS // values.shape[2])
    for i in range(0, len(values), at_once):
        some = slice(i, i + at_once)
        fill, low, high = _levels(
            network, values[some], observed[some], [part[some] for part in season], relation
        )
        out[:, some] = fill, high - low
    return out


def _block_means(values: Float32Array, observed: BoolArray, rate: int) -> tuple[Float32Array, BoolArray]:
    """Means of the observed cells of every `rate` rows, and where there is any, each (blocks, vars)."""
    pad = ((0, -len(values) % rate), (0, 0))
    shape = (-1, rate, values.shape[1])
    known = np.pad(np.where(observed, values, 0), pad).reshape(shape)
    count = np.pad(observed, pad).reshape(shape).sum(axis=1)
    means = np.divide(known.sum(axis=1), count, out=np.zeros(count.shape, np.float32), where=count > 0)
    return means.astype(np.float32), count > 0


def _with_level(fine: Levels, coarse: Levels, rate: int, weight: Float32Array) -> Levels:
    """The fine fill with the level of the coarse one where `weight` says so; what is fine about it stays."""
    n = len(weight)
    centre = np.arange(len(coarse.fill)) * rate + (rate - 1) / 2
    everywhere = np.ones(fine.fill.shape, dtype=bool)
    means, _ = _block_means(fine.fill, everywhere, rate)
    if n % rate:  # the last block was padded with zeros
        means[-1] *= rate / (n % rate)

    def spread_out(blocks: Float32Array) -> Float32Array:
        out = np.empty_like(weight)
        for j in np.flatnonzero(weight.any(axis=0)):
            out[:, j] = np.interp(np.arange(n), centre, blocks[:, j])
        out[:, ~weight.any(axis=0)] = 0
        return out

    fill = fine.fill + weight * spread_out(coarse.fill - means)
    down, up = fine.fill - fine.low, fine.high - fine.fill
    coarse_down, coarse_up = spread_out(coarse.fill - coarse.low), spread_out(coarse.high - coarse.fill)
    return Levels(
        fill,
        fill - np.maximum(down, weight * coarse_down),
        fill + np.maximum(up, weight * coarse_up),
    )


def _gap_sizes(observed: BoolArray) -> tuple[Lengths, Lengths]:
    """For every missing cell the length of its run and the distance to an observation; 0 where observed."""
    n = len(observed)
    length, distance = np.empty((2, *observed.shape), dtype=np.int32)
    rows = np.arange(n, dtype=np.int32)[:, None]
    for block in column_blocks(observed.shape):  # tables of whole numbers are large
        known = observed[:, block]
        before = np.maximum.accumulate(np.where(known, rows, np.int32(-1)), axis=0)
        after = np.minimum.accumulate(np.where(known, rows, np.int32(n))[::-1], axis=0)[::-1]
        length[:, block] = np.where(known, 0, after - before - 1)
        to_before = np.where(before < 0, n, rows - before)
        to_after = np.where(after == n, n, after - rows)
        distance[:, block] = np.minimum(to_before, to_after)
    return length, distance


def attention_at(
    network: T1, values: Float32Array, period: int | None, relation: Relation, row: int
) -> Float32Array:
    """Who looks at whom (vars, vars) in the window around a row: the mean over blocks and heads.

    `values` (time, vars) are in standard units, NaN where missing; a row of the answer sums to 1.
    """
    import torch

    from t1.models.base import Context

    window = network.config.window
    if len(values) < window:
        values = np.pad(values, ((0, window - len(values)), (0, 0)), constant_values=np.nan)
    observed = ~np.isnan(values)
    known = np.where(observed, values, 0).astype(np.float32)
    first = min(max(row - window // 2, 0), len(values) - window)
    here = slice(first, first + window)
    season = [part[here] for part in season_beside(known, observed, period)]
    device = next(network.parameters()).device
    parts = [
        torch.tensor(np.ascontiguousarray(x)[None], device=device)
        for x in (known[here], observed[here], *season, *relation)
    ]
    record: list[torch.Tensor] = []
    with torch.no_grad():
        network.levels(parts[0], parts[1], Context(*parts[2:]), record)
    looked: Float32Array = torch.stack([block[0].mean(0) for block in record]).mean(0).cpu().numpy()
    return looked
