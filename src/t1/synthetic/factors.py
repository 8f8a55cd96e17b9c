"""How a quantity moves over time: each function draws (n,) values of about unit deviation.

`period` is the number of rows of the table's season; only the seasonal kinds look at it.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy.signal import lfilter

from t1.arrays import FloatArray
from t1.registry import Registry
from t1.synthetic.kinds import SeriesKind, log_uniform, standardise

Factor = Callable[[int, Generator, float], FloatArray]

FACTORS: Registry[SeriesKind[Factor]] = Registry("factor")
BURN_IN = 200  # rows before the first, so that a filter forgets where it started


def factor(name: str, chance: float, *, seasonal: bool = False) -> Callable[[Factor], Factor]:
    """Register a kind of factor; chances are relative to the others, seasonal or not."""

    def register(draw: Factor) -> Factor:
        FACTORS.add(name)(SeriesKind(draw, chance, seasonal))
        return draw

    return register


# ---------------------------------------------------------------- without a season


@factor("smooth", 0.26)
def smooth(n: int, rng: Generator, period: float) -> FloatArray:
    """A smooth random curve: a Gaussian process with a length scale of 3 to 200 rows.

    Drawn by random Fourier features; heavy-tailed frequencies make it a little rough.
    """
    scale = log_uniform(rng, 3, 200)
    frequency = (rng.standard_t(3, 24) if rng.random() < 0.5 else rng.normal(size=24)) / scale
    phase = rng.uniform(0, 2 * np.pi, 24)
    waves = np.cos(frequency[:, None] * np.arange(n) + phase[:, None])
    out: FloatArray = waves.sum(0) * np.sqrt(2 / 24)
    return out


@factor("autoregressive", 0.20)
def autoregressive(n: int, rng: Generator, period: float) -> FloatArray:
    """Noise with a memory of 2 to 300 rows: AR(1), or AR(2) that swings; sometimes heavy-tailed."""
    memory = np.exp(-1 / log_uniform(rng, 2, 300))
    noise = rng.standard_t(4, n + BURN_IN) if rng.random() < 0.3 else rng.normal(size=n + BURN_IN)
    feedback = [1, -memory]
    if rng.random() < 0.3:
        feedback = [1, -2 * memory * np.cos(2 * np.pi / log_uniform(rng, 4, 100)), memory * memory]
    return standardise(lfilter([1], feedback, noise)[BURN_IN:])


@factor("walk", 0.14)
def walk(n: int, rng: Generator, period: float) -> FloatArray:
    """A random walk, sometimes with momentum, which makes it smooth."""
    steps = rng.normal(size=n)
    if rng.random() < 0.4:
        momentum = rng.uniform(0.5, 0.97)
        steps = lfilter([1 - momentum], [1, -momentum], steps)
    return standardise(np.cumsum(steps))


@factor("steps", 0.08)
def steps(n: int, rng: Generator, period: float) -> FloatArray:
    """A level that jumps at random times, sometimes back and forth between a few states."""
    jumps = rng.random(n) < log_uniform(rng, 1 / 200, 1 / 8)
    level = rng.normal(size=n)
    if rng.random() < 0.5:
        states = rng.normal(size=rng.integers(2, 5))
        level = states[rng.integers(0, len(states), n)]
    since = np.maximum.accumulate(np.where(jumps, np.arange(n), 0))
    return standardise(level[since])


@factor("bursts", 0.12)
def bursts(n: int, rng: Generator, period: float) -> FloatArray:
    """Rare events that rise at once and decay: rain on a river, load on a server."""
    hits = (rng.random(n) < log_uniform(rng, 1 / 150, 1 / 10)) * rng.exponential(size=n)
    decay = np.exp(-1 / log_uniform(rng, 1, 40))
    return standardise(lfilter([1], [1, -decay], hits))


@factor("trend", 0.06)
def trend(n: int, rng: Generator, period: float) -> FloatArray:
    """A straight line with at most three kinks."""
    knots = np.concatenate([[0], np.sort(rng.uniform(0, n, rng.integers(0, 4))), [n]])
    return standardise(np.interp(np.arange(n), knots, np.cumsum(rng.normal(size=len(knots)))))


@factor("regimes", 0.05)
def regimes(n: int, rng: Generator, period: float) -> FloatArray:
    """Mean reversion to a level that switches, each regime with a volatility of its own."""
    n_states = int(rng.integers(2, 4))
    state = rng.integers(0, n_states, n)
    switches = rng.random(n) < log_uniform(rng, 1 / 300, 1 / 30)
    state = state[np.maximum.accumulate(np.where(switches, np.arange(n), 0))]
    reversion = np.exp(-1 / log_uniform(rng, 2, 40))
    level, volatility = rng.normal(size=n_states), np.exp(rng.normal(size=n_states) - 1)
    pull = (1 - reversion) * level[state] + np.sqrt(1 - reversion**2) * volatility[state] * rng.normal(size=n)
    return standardise(lfilter([1], [1, -reversion], pull, zi=[reversion * level[state[0]]])[0])


@factor("duty", 0.05)
def duty(n: int, rng: Generator, period: float) -> FloatArray:
    """A machine that is on and off for spells of its own length, and warms up and cools down."""
    n_spells = n // 2 + 2
    mean_spell = (log_uniform(rng, 2, 80), log_uniform(rng, 2, 80))
    shape = rng.choice([1.0, 4.0, 40.0])  # from irregular to a clockwork
    spells = 1 + rng.gamma(shape, 1 / shape, (n_spells, 2)) * mean_spell
    power = np.ones(n_spells) if rng.random() < 0.5 else np.exp(0.5 * rng.normal(size=n_spells))
    levels = np.stack([power, np.zeros(n_spells)], 1).ravel()
    begins = np.cumsum(spells.ravel()) - rng.uniform(0, sum(mean_spell))
    out = levels[np.searchsorted(begins, np.arange(n), side="right").clip(max=len(levels) - 1)]
    if rng.random() < 0.6:
        inertia = np.exp(-1 / log_uniform(rng, 1, 20))
        out = lfilter([1 - inertia], [1, -inertia], out)
    return standardise(out)


@factor("oscillation", 0.05)
def oscillation(n: int, rng: Generator, period: float) -> FloatArray:
    """A swing whose frequency and size drift, so that its past cycles do not tell where it stands."""
    drift = rng.uniform(0.05, 0.4) * np.cumsum(rng.normal(size=n)) / np.sqrt(n)
    phase = np.cumsum(2 * np.pi / log_uniform(rng, 6, 120) * np.exp(drift)) + rng.uniform(0, 2 * np.pi)
    out = np.sin(phase) + rng.uniform(0, 0.5) * np.sin(2 * phase + rng.uniform(0, 2 * np.pi))
    return standardise(out * np.exp(0.4 * smooth(n, rng, period)))


# ---------------------------------------------------------------- with a season


@factor("season", 0.6, seasonal=True)
def season(n: int, rng: Generator, period: float) -> FloatArray:
    """A cycle of up to five harmonics whose size varies slowly, sometimes with a rhythm of seven cycles."""
    time = np.arange(n)
    k = np.arange(1, 1 + rng.integers(1, 6))
    size = rng.normal(size=len(k)) / k ** rng.uniform(0.3, 1.5)
    phase = rng.uniform(0, 2 * np.pi, len(k))
    out = size @ np.sin(2 * np.pi * k[:, None] * time / period + phase[:, None])
    if rng.random() < 0.5:
        frequency = rng.normal(size=8) / (2 * period)
        slow = np.cos(frequency[:, None] * time + rng.uniform(0, 2 * np.pi, (8, 1))).sum(0) / 2
        out = out * (1 + rng.uniform(0.1, 0.8) * slow)
    if rng.random() < 0.3:
        out = out * (1 + 0.4 * rng.normal(size=7)[(time // max(round(period), 1)) % 7])
    return standardise(out)


@factor("daylight", 0.27, seasonal=True)
def daylight(n: int, rng: Generator, period: float) -> FloatArray:
    """Zero for a part of each cycle, as sunshine is at night; clouds take a share of the rest."""
    angle = 2 * np.pi * np.arange(n) / period + rng.uniform(0, 2 * np.pi)
    clear = np.maximum(np.sin(angle) - rng.uniform(-0.5, 0.5), 0)
    clouds = 1 / (1 + np.exp(-rng.uniform(0.5, 3) * autoregressive(n, rng, period) - rng.normal()))
    return standardise(clear * clouds)


@factor("timetable", 0.13, seasonal=True)
def timetable(n: int, rng: Generator, period: float) -> FloatArray:
    """Something that is switched by the clock: the same hours in every cycle, off on some days of seven."""
    time = np.arange(n) + rng.uniform(0, period)
    hour, day = time % period / period, (time // period).astype(np.intp) % 7
    begin, length = rng.uniform(0, 1), rng.uniform(0.1, 0.6)
    working = rng.random(7) < (1.0 if rng.random() < 0.5 else 0.75)
    out = (((hour - begin) % 1 < length) & working[day]).astype(np.float64)
    if rng.random() < 0.5:  # with inertia: the effect builds up and fades
        inertia = np.exp(-1 / max(0.05 * period, 0.5))
        out = lfilter([1 - inertia], [1, -inertia], out)
    return standardise(out)
