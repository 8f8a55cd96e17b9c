"""The simple methods the field forgets: fill a table from its own columns, without training a network.

Each takes `values` (time, vars) with NaN where missing and returns a filled copy: observed cells are
untouched, a column with no observed value stays NaN, nothing is random. Periods and gaps count rows.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from t1.errors import InputError
from t1.registry import Registry

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
Classic = Callable[..., FloatArray]

CLASSIC: Registry[Classic] = Registry("classic method")


@CLASSIC.add("mean")
def mean(values: FloatArray) -> FloatArray:
    """Fill with the mean of the column's observed values."""
    values = _check(values)
    observed = ~np.isnan(values)
    centre, _ = _moments(values, observed)
    return np.where(observed, values, centre)


@CLASSIC.add("locf")
def locf(values: FloatArray) -> FloatArray:
    """Carry the last observation forward, and the first one back to the start."""
    values = _check(values)
    before, after = _neighbours(~np.isnan(values))
    return _take(values, np.where(before >= 0, before, after))


@CLASSIC.add("nearest")
def nearest(values: FloatArray, *, positions: npt.ArrayLike | None = None) -> FloatArray:
    """Fill with the observation nearest in time, the earlier one of two; `positions` (time,) if uneven."""
    values = _check(values)
    where = _positions(positions, len(values))[:, None]
    before, after = _neighbours(~np.isnan(values))
    last = len(values) - 1
    to_before = np.where(before >= 0, where - where[before.clip(0), 0], np.inf)
    to_after = np.where(after <= last, where[after.clip(max=last), 0] - where, np.inf)
    return _take(values, np.where(to_before <= to_after, before, after))


@CLASSIC.add("linear")
def linear(values: FloatArray, *, positions: npt.ArrayLike | None = None) -> FloatArray:
    """Draw straight lines between observations, level beyond the ends; `positions` (time,) if uneven."""
    values = _check(values)
    where = _positions(positions, len(values))
    columns = values.T.copy()  # (vars, time): each column in one piece
    observed = ~np.isnan(columns)
    for column, seen in zip(columns, observed, strict=True):
        if seen.any() and not seen.all():
            column[~seen] = np.interp(where[~seen], where[seen], column[seen])
    return np.ascontiguousarray(columns.T)


@CLASSIC.add("seasonal")
def seasonal(values: FloatArray, *, period: int | None = None) -> FloatArray:
    """Take the mean cycle out, draw straight lines, put it back; `linear` where there is no period."""
    values = _check(values)
    if period is None:
        period = find_period(values)
    elif period < 2:
        raise InputError(f"a period is at least 2 rows, got {period}.\nLeave it out to have it found.")
    if period is None or period >= len(values):
        return linear(values)
    profile, between, within, _ = _cycle(_detrend(values), period)
    # A column without a season has a ratio of about 1: its profile, which is noise, shrinks to nothing.
    profile *= 1 - 1 / np.maximum(_ratio(between, within), 1)
    season = profile[np.arange(len(values)) % period]
    return np.where(np.isnan(values), linear(values - season) + season, values)


@CLASSIC.add("regression")
def regression(values: FloatArray, *, n_helpers: int = 8) -> FloatArray:
    """Correct the straight line by ridge regression on the season and the best-correlated columns.

    The weights are learned on cells hidden by the table's own gaps, moved elsewhere in time, so that what is
    trusted is what helped across gaps like these (scikit-learn's IterativeImputer ignores the order of rows).
    """
    values = _check(values)
    alive = ~np.isnan(values).all(axis=0)
    if np.isnan(values).any() and alive.any():
        values = values.copy()
        values[:, alive] = _regress(values[:, alive], n_helpers)
    return values


# The season.


def find_period(values: FloatArray) -> int | None:
    """The number of rows after which the table (time, vars) repeats itself, or None if it does not clearly.

    Candidates, from 2 rows to a third of the length, are where the autocorrelation of the observed cells
    stands above its value half a cycle before and after. One is accepted if the mean cycle varies more than
    chance explains, in a test that a random walk passes as rarely as white noise does.
    """
    values = _check(values)
    longest = len(values) // 3
    if longest < 2:
        return None
    values = values[:, :: -(-values.shape[1] // 32) or 1]  # 32 columns tell enough
    z = _detrend(values)
    _, spread = _moments(z, ~np.isnan(z))
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


def _peaks(z: FloatArray, longest: int) -> FloatArray:
    """How far the autocorrelation stands out at lags 2 to `longest`, the mean over standardised columns.

    Out of its values half a cycle away, where a slow drift cancels, and relative to what is left unexplained,
    so that a small daily cycle is seen on a large yearly one.
    """
    acf = _autocorrelation(z, 3 * longest // 2 + 2)
    lags = np.arange(2, longest + 1)
    half, more = lags // 2, lags + lags // 2
    around = acf[half] + acf[lags - half] + acf[more] + acf[lags + lags - half]
    peaks: FloatArray = ((acf[lags] - around / 4) / (1.05 - np.minimum(acf[lags], 1.0))).mean(axis=1)
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
    """Mean product of the observed pairs of standardised columns at each lag (lags, vars); 0 where none."""
    seen = ~np.isnan(z)
    size = 1 << (2 * len(z) - 1).bit_length()  # padded, so that the end does not meet the start
    products, pairs = (
        np.fft.irfft(np.abs(np.fft.rfft(x, size, axis=0)) ** 2, size, axis=0)[:n_lags]
        for x in (np.where(seen, z, 0.0), seen.astype(np.float64))
    )
    return np.where(pairs > 0.5, products / np.maximum(pairs, 0.5), 0.0)


def _detrend(values: FloatArray) -> FloatArray:
    """The values less their own straight line, per column."""
    seen = ~np.isnan(values)
    when = np.where(seen, np.arange(len(values), dtype=np.float64)[:, None], np.nan)
    when = when - _moments(when, seen)[0]
    centred = values - _moments(values, seen)[0]
    when, filled = np.where(seen, when, 0.0), np.where(seen, centred, 0.0)
    slope = (when * filled).sum(axis=0) / np.maximum((when**2).sum(axis=0), 1e-300)
    flat: FloatArray = centred - slope * when
    return flat


# The regression.


class _Filler:
    """A table (time, vars) with gaps, its fills so far, and what can be seen from inside each gap."""

    def __init__(self, values: FloatArray, period: int | None) -> None:
        self.hidden = np.isnan(values)
        self.before, self.after = _neighbours(~self.hidden)
        self.season = linear(values) if period is None else seasonal(values, period=period)
        self.fill = self.season.copy()

    def look(self, rows: IntArray, j: int, helpers: IntArray) -> tuple[FloatArray, FloatArray]:
        """For hidden cells of column j: what may tell them (cells, features), and the straight line."""
        before, after = self.before[rows, j], self.after[rows, j]
        start = np.where(before >= 0, before, after)
        end = np.where(after < len(self.fill), after, before)
        share = ((rows - start) / np.maximum(end - start, 1))[:, None]
        columns = np.append(helpers, j)
        left, right = self.fill[start[:, None], columns], self.fill[end[:, None], columns]
        lines = left + share * (right - left)  # each column's line across the gap of j
        line, others = lines[:, -1], self.fill[rows[:, None], helpers]
        off_line = others - lines[:, :-1]
        unseen = self.hidden[rows[:, None], helpers]
        level = np.column_stack([np.ones(len(rows)), line, self.season[rows, j] - line, others])
        reach = np.minimum(np.abs(rows - start), np.abs(end - rows))[:, None]
        far = reach / (reach + 6.0)  # the line is worth less the further away its ends are
        parts = [level, level * far, off_line, off_line * unseen, others * unseen]
        return np.concatenate(parts, axis=1), line


def _regress(values: FloatArray, n_helpers: int) -> FloatArray:
    """Fill (time, vars), every column of which has an observed value."""
    observed = ~np.isnan(values)
    centre, spread = _moments(values, observed)
    scale = np.where(spread > 0, spread, 1.0)
    z = (values - centre) / scale
    period = find_period(z)
    actual = _Filler(z, period)
    rehearsal = _Filler(np.where(_hide_like_gaps(observed), np.nan, z), period)
    helpers = _helpers(actual.fill, n_helpers)
    for _ in range(3):  # again with better helpers, where several columns are missing at once
        fills = [(filler, filler.fill.copy()) for filler in (rehearsal, actual)]
        for j in np.flatnonzero(~observed.all(axis=0)).tolist():
            rows = np.flatnonzero(rehearsal.hidden[:, j])
            known = observed[rows, j]
            features, line = rehearsal.look(rows, j, helpers[j])
            if known.sum() < features.shape[1]:
                continue  # too little to learn from: the season stands
            weights = _ridge(features[known], (z[rows, j] - line)[known])
            for filler, fill in fills:
                rows = np.flatnonzero(filler.hidden[:, j])
                features, line = filler.look(rows, j, helpers[j])
                fill[rows, j] = line + features @ weights
        for filler, fill in fills:
            filler.fill = fill
    lowest, highest = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    return np.where(observed, values, np.clip(actual.fill * scale + centre, lowest, highest))


def _hide_like_gaps(observed: BoolArray) -> BoolArray:
    """Observed cells to rehearse on: the gaps, moved in time until a fifth of each column is hidden."""
    n_rows = len(observed)
    hidden = np.zeros_like(observed)
    for turn in range(1, 33):
        few = hidden.sum(axis=0) < 0.2 * observed.sum(axis=0)
        if not few.any():
            break
        shift = int(turn * 0.6180339887 * n_rows) % n_rows  # the golden ratio falls in step with no season
        hidden[:, few] |= observed[:, few] & ~np.roll(observed[:, few], shift, axis=0)
    return hidden & (observed & ~hidden).any(axis=0)  # a column must keep something to look at


def _helpers(filled: FloatArray, n_helpers: int) -> IntArray:
    """For each column the others most correlated with it, in level and in change, (vars, helpers)."""
    likeness = np.zeros((filled.shape[1],) * 2)
    for x in (filled, np.diff(filled, axis=0, prepend=filled[:1])):
        centred = x - x.mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        centred /= np.where(size > 0, size, 1.0)
        likeness += (centred.T @ centred) ** 2
    np.fill_diagonal(likeness, -1.0)
    n_helpers = min(n_helpers, filled.shape[1] - 1)
    return np.argsort(-likeness, axis=1, kind="stable")[:, :n_helpers]


def _ridge(features: FloatArray, target: FloatArray) -> FloatArray:
    """Ridge weights (features,), the penalty chosen by generalised cross-validation."""
    n_cells = len(features)
    size = np.sqrt((features**2).mean(axis=0))
    size = np.where(size > 1e-9, size, 1.0)
    x = features / size
    power, basis = np.linalg.eigh(x.T @ x / n_cells)
    power = np.maximum(power, 0.0)
    along = basis.T @ (x.T @ target) / n_cells
    penalty = 10.0 ** np.arange(-5, 2)[:, None]
    weights = along / (power + penalty)  # (penalties, features)
    error = target @ target / n_cells - 2 * weights @ along + weights**2 @ power
    freedom = (power / (power + penalty)).sum(axis=1)
    best = np.argmin(error / np.maximum(1 - freedom / n_cells, 1e-3) ** 2)
    chosen: FloatArray = basis @ weights[best] / size
    return chosen


# What all share.


def _check(values: FloatArray) -> FloatArray:
    """A float copy of a table; refuse anything but two dimensions."""
    table = np.array(values, dtype=np.float64, order="C")
    if table.ndim != 2:
        raise InputError(
            f"expected values (time, vars), got {table.ndim} dimension(s) with shape {table.shape}.\n"
            "Use x.reshape(-1, 1) for a single series."
        )
    return table


def _positions(positions: npt.ArrayLike | None, n_rows: int) -> FloatArray:
    """Where the rows lie in time, (time,): row numbers unless told; dates are welcome."""
    if positions is None:
        return np.arange(n_rows, dtype=np.float64)
    given = np.asarray(positions)
    if given.dtype.kind == "M":
        given = given - given[:1]
    where = given.astype(np.float64)
    if where.shape != (n_rows,) or not np.isfinite(where).all() or (np.diff(where) <= 0).any():
        raise InputError(
            f"positions must be {n_rows} increasing numbers, one per row, got shape {where.shape}.\n"
            "Sort the rows by time, drop those without a time, and merge those that share one."
        )
    return where


def _moments(values: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the observed cells of each column; NaN where there is none."""
    count = observed.sum(axis=0)
    some = np.where(count > 0, count, np.nan)
    centre = np.where(observed, values, 0.0).sum(axis=0) / some
    spread = np.sqrt((np.where(observed, values - centre, 0.0) ** 2).sum(axis=0) / some)
    return centre, spread


def _neighbours(observed: BoolArray) -> tuple[IntArray, IntArray]:
    """For each cell the row of the last observation up to it (or -1) and of the next from it on (or time)."""
    n_rows = len(observed)
    rows = np.arange(n_rows)[:, None]
    before = np.maximum.accumulate(np.where(observed, rows, -1), axis=0)
    after = np.minimum.accumulate(np.where(observed, rows, n_rows)[::-1], axis=0)[::-1]
    return before, after


def _take(values: FloatArray, rows: IntArray) -> FloatArray:
    """The value of the same column in the given row, for each cell; NaN where the column has none."""
    filled: FloatArray = np.take_along_axis(values, rows.clip(0, len(values) - 1), axis=0)
    return filled
