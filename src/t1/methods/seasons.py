"""The season of a table (time, vars): after how many rows it repeats itself, and its mean cycle."""

from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Float32Array, FloatArray
from t1.errors import InputError
from t1.panel import Panel

PERIOD_ROWS = 20_000  # of a series in which its period is looked for
PERIOD_SERIES = 8  # the longest ones; the others take the period of these
PERIODS_AWAY = 14  # how far to look for an observation of the same phase
DAY = 24  # rows of a season from which on it may be a day: where people live, which one of seven then matters
WEEK, WEEKS = 7, 5  # of these, and how many weeks must be known
NEARER = 0.9  # how far a week away is off, relative to a day away, for weeks to be looked at
PERIOD_CELLS = 1 << 18  # that are looked at for a period, in 4 to 32 columns


def find_period(values: FloatArray) -> int | None:
    """The number of rows after which the table (time, vars) repeats itself, or None if it does not clearly.

    Candidates, from 2 rows to a third of the length, are where the autocorrelation of the observed cells
    stands above its value half a cycle before and after. One is accepted if the mean cycle varies more than
    chance explains, in a test that a random walk passes as rarely as white noise does.
    """
    values = check_table(values)
    longest = len(values) // 3
    if longest < 2:
        return None
    most = min(max(PERIOD_CELLS // len(values), 4), 32)
    values = values[:, :: -(-values.shape[1] // most) or 1]
    z = _detrend(values)
    _, spread = moments(z, ~np.isnan(z))
    varies = spread > 1e-9 * np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    z = z[:, varies] / spread[varies]
    if not z.size:
        return None
    height = _peaks(z, longest)
    for _ in range(4):
        if not len(height) or height.max() < 0.1:
            return None
        # Multiples of a period stand as high as itself: take the first peak of nearly full height.
        first = int(np.argmax(height >= 0.8 * height.max())) + 2
        top = first + int(np.argmax(height[first - 2 : first + first // 4 - 1]))
        step, reach = max(1, top // 100), top // 20
        log_chance, period = _likeliest(z, range(top - reach, top + reach + 1, step), longest)
        if step > 1 and log_chance < -1:
            log_chance, period = _likeliest(z, range(period - step, period + step + 1), longest)
        if log_chance < np.log(1e-4):
            return _shortest(z, period)
        height = height[: int(0.75 * first) - 2]
    return None


def find_periods(panel: Panel) -> dict[Any, int | None]:
    """The period of each series by its id; of many series only the longest are looked at."""
    order = sorted(range(len(panel.starts)), key=lambda s: -(panel.spans[s].stop - panel.spans[s].start))
    found: dict[Any, int | None] = {}
    for s in order[:PERIOD_SERIES]:
        found[panel.ids[s]] = find_period(panel.values[panel.spans[s]][:PERIOD_ROWS])
    known = [period for period in found.values() if period is not None]
    usual = max(set(known), key=known.count) if known else None
    return {key: found.get(key, usual) for key in panel.ids}


def find_weeks(panel: Panel, periods: dict[Any, int | None]) -> dict[Any, int]:
    """Seven times the period of each series that goes by the week.

    Its season may be a day, and the same hour a week away says more of some column than that of the days beside it.
    """
    return {
        key: WEEK * period
        for key, span in zip(panel.ids, panel.spans, strict=True)
        if (period := periods.get(key)) is not None
        and period >= DAY
        and WEEKS * WEEK * period <= span.stop - span.start
        and _goes_by_the_week(panel.values[span], period)
    }


def _goes_by_the_week(values: FloatArray, period: int) -> bool:
    seen = ~np.isnan(values)
    centre, spread = moments(values, seen)
    varies = spread > 0
    seen, z = seen[:, varies], (values[:, varies] - centre[varies]) / spread[varies]
    known = np.where(seen, z, 0.0).astype(np.float32)
    off = np.full((2, *known.shape), np.nan, dtype=np.float32)
    for k, length in enumerate((period, WEEK * period)):
        beside, weight = mean_beside(known, seen, length)
        np.copyto(off[k], np.abs(beside - known), where=seen & (weight > 0))
    both: BoolArray = np.all(np.isfinite(off), axis=0)
    day, week = (np.where(both, part, 0.0).sum(axis=0) for part in off)
    enough = both.sum(axis=0) >= WEEK * DAY
    return bool((week[enough] < NEARER * day[enough]).any())


def mean_cycle(values: FloatArray, period: int) -> FloatArray:
    """The mean cycle (period, vars) about each column's straight line; nothing where it is but noise."""
    profile, between, within, _ = _cycle(_detrend(values), period)
    # A column without a season has a ratio of about 1: its profile, which is noise, shrinks to nothing.
    profile *= 1 - 1 / np.maximum(_ratio(between, within), 1)
    return profile


def season_beside(
    known: Float32Array, observed: BoolArray, period: int | None, first: int = 0
) -> list[Float32Array]:
    """The two nearest observations of the same phase before and after each cell, and their weight.

    Of the rows from `first` on; the ones before them are only looked at.
    """
    n, shape = len(known), (len(known) - first, *known.shape[1:])
    if period is None or period >= n:
        return [np.zeros(shape, dtype=np.float32)] * 4
    full, half, none = np.array([1, 0.5, 0], dtype=np.float32)
    parts = []
    for direction in (-1, 1):
        total, weight = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
        for away in range(1, PERIODS_AWAY + 1):
            shift = away * period
            begin, end = (max(first, shift), n) if direction < 0 else (first, n - shift)
            if begin >= end or (weight >= 1.5).all():
                break
            here, there = (
                slice(begin - first, end - first),
                slice(begin + direction * shift, end + direction * shift),
            )
            share = np.where(weight[here] == 0, full, np.where(weight[here] == 1, half, none))
            share *= observed[there]
            total[here] += share * known[there]
            weight[here] += share
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        parts += [mean, weight / np.float32(1.5)]
    return parts


def mean_beside(
    known: Float32Array, observed: BoolArray, period: int, first: int = 0
) -> tuple[Float32Array, Float32Array]:
    """The mean of the observations of the same phase on both sides of each cell, and its weight: 0 where none is."""
    before, before_weight, after, after_weight = season_beside(known, observed, period, first)
    weight = before_weight + after_weight
    return (before * before_weight + after * after_weight) / np.maximum(weight, 1e-9), weight


def _peaks(z: FloatArray, longest: int) -> FloatArray:
    """How far the autocorrelation stands out at lags 2 to `longest`, the mean over standardised columns.

    Out of its values half a cycle away, where a slow drift cancels, and relative to what is left unexplained,
    so that a small daily cycle is seen on a large yearly one.
    """
    lags = np.arange(2, longest + 1)
    half, more = lags // 2, lags + lags // 2
    total = np.zeros(len(lags))
    for column in z.T:
        acf = _autocorrelation(column, 3 * longest // 2 + 2)
        around = acf[half] + acf[lags - half] + acf[more] + acf[lags + lags - half]
        total += (acf[lags] - around / 4) / (1.05 - np.minimum(acf[lags], 1.0))
    peaks: FloatArray = total / z.shape[1]
    return peaks


def _likeliest(z: FloatArray, periods: range, longest: int) -> tuple[float, int]:
    """The least log of how often chance gives standardised columns so strong a cycle, and its period."""
    best = (0.0, 0)
    for period in periods:
        if not 2 <= period <= longest:
            continue
        _, between, within, n_cycles = _cycle(z, period)
        free = np.maximum(n_cycles - 1, 1e-9)
        # The tail of F(2, 2 free), or about that of F(1, free) if there are but two phases. A random walk's
        # cycles, each less its mean, are independent of each other but smooth: about 2.5 degrees of freedom
        # in each, however many rows it has.
        scale = 0.5 if period == 2 else 1.0
        alone = (-scale * free * np.log1p(_ratio(between, within) / free)).min() + np.log(len(free))
        pooled = -scale * free.mean() * np.log1p(_ratio(between.sum(), within.sum()) / free.mean())
        best = min(best, (float(min(alone, pooled)), period))
    return best


def _shortest(z: FloatArray, period: int) -> int:
    """The period, or that part of it whose mean cycle varies nearly as much: a multiple repeats as well."""

    def variance(candidate: int) -> float:
        _, between, within, n_cycles = _cycle(z, candidate)
        return float((np.maximum(between - within, 0) / np.maximum(n_cycles, 1)).sum())

    enough = 0.7 * variance(period)
    parts = (part for part in range(2, period) if period % part == 0)
    return next((part for part in parts if variance(part) >= enough), period)


def _ratio(between: npt.ArrayLike, within: npt.ArrayLike) -> FloatArray:
    """The F ratio, large but finite for a cycle that repeats exactly, and 0 for nothing at all."""
    between = np.asarray(between, dtype=np.float64)
    ratio: FloatArray = between / np.maximum(np.maximum(within, 1e-12 * between), 1e-300)
    return ratio


def _cycle(values: FloatArray, period: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The mean cycle (period, vars), its variance between phases, that within, the number of cycles seen.

    Two-way analysis of variance, phase by cycle, by backfitting: gaps leave it unbalanced.
    """
    n_cycles = -(-len(values) // period)
    n_vars = values.shape[1]
    padded = np.full((n_cycles * period, n_vars), np.nan)
    padded[: len(values)] = values
    seen = ~np.isnan(padded).reshape(n_cycles, period, n_vars)
    x = np.where(seen, padded.reshape(n_cycles, period, n_vars), 0.0)
    per_phase, per_cycle = seen.sum(axis=0), seen.sum(axis=1)
    profile = np.zeros((period, n_vars))
    level = np.zeros((n_cycles, n_vars))
    for _ in range(4):
        level = (x - seen * profile).sum(axis=1) / np.maximum(per_cycle, 1)
        profile = (x - seen * level[:, None]).sum(axis=0) / np.maximum(per_phase, 1)
        profile -= (profile * per_phase).sum(axis=0) / np.maximum(per_phase.sum(axis=0), 1)
    residual = seen * (x - level[:, None] - profile)
    n_phases = (per_phase > 0).sum(axis=0)
    free = seen.sum(axis=(0, 1)) - n_phases - (per_cycle > 0).sum(axis=0) + 1
    between = np.where(free > 0, (per_phase * profile**2).sum(axis=0) / np.maximum(n_phases - 1, 1), 0.0)
    within = (residual**2).sum(axis=(0, 1)) / np.maximum(free, 1)
    phases = np.arange(period)
    for j in np.flatnonzero((n_phases > 0) & (n_phases < period)):
        known = per_phase[:, j] > 0
        profile[~known, j] = np.interp(phases[~known], phases[known], profile[known, j], period=period)
    return profile, between, within, per_phase.sum(axis=0) / np.maximum(n_phases, 1)


def _autocorrelation(z: FloatArray, n_lags: int) -> FloatArray:
    """Mean product of the observed pairs of a standardised column (time,) at each lag; 0 where none."""
    seen = ~np.isnan(z)
    size = 1 << (2 * len(z) - 1).bit_length()  # padded, so that the end does not meet the start
    products, pairs = (
        np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[:n_lags]
        for x in (np.where(seen, z, 0.0), seen.astype(np.float64))
    )
    return np.where(pairs > 0.5, products / np.maximum(pairs, 0.5), 0.0)


def _detrend(values: FloatArray) -> FloatArray:
    """The values less their own straight line, per column."""
    seen = ~np.isnan(values)
    when = np.where(seen, np.arange(len(values), dtype=np.float64)[:, None], np.nan)
    when = when - moments(when, seen)[0]
    centred = values - moments(values, seen)[0]
    when, filled = np.where(seen, when, 0.0), np.where(seen, centred, 0.0)
    slope = (when * filled).sum(axis=0) / np.maximum((when**2).sum(axis=0), 1e-300)
    flat: FloatArray = centred - slope * when
    return flat


def check_table(values: npt.ArrayLike) -> FloatArray:
    """Floats (time, vars); refuse anything but two dimensions."""
    table = np.asarray(values, dtype=np.float64, order="C")
    if table.ndim != 2:
        raise InputError(
            f"expected values (time, vars), got {table.ndim} dimension(s) with shape {table.shape}.\n"
            "Use x.reshape(-1, 1) for a single series."
        )
    return table


def moments(values: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the observed cells of each column; NaN where there is none."""
    count = observed.sum(axis=0)
    some = np.where(count > 0, count, np.nan)
    centre = np.where(observed, values, 0.0).sum(axis=0) / some
    spread = np.sqrt((np.where(observed, values - centre, 0.0) ** 2).sum(axis=0) / some)
    return centre, spread
