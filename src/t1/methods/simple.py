"""Fill a column from itself: its mean, its last or nearest value, straight lines, a season."""

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.errors import InputError
from t1.methods.seasons import check_table, find_period, mean_cycle, moments

HUGE = 1e300  # from here on sums and differences of two numbers may overflow


def mean(values: FloatArray) -> FloatArray:
    """Fill with the mean of the column's observed values."""
    values = check_table(values)
    observed = ~np.isnan(values)
    centre, _ = moments(values, observed)
    return np.where(observed, values, centre)


def locf(values: FloatArray) -> FloatArray:
    """Carry the last observation forward, and the first one back to the start."""
    values = check_table(values)
    before, after = _neighbours(~np.isnan(values))
    return _take(values, np.where(before >= 0, before, after))


def nearest(values: FloatArray, *, positions: npt.ArrayLike | None = None) -> FloatArray:
    """Fill with the observation nearest in time, the earlier one of two; `positions` (time,) if uneven."""
    values = check_table(values)
    where = _positions(positions, len(values))[:, None]
    before, after = _neighbours(~np.isnan(values))
    last = len(values) - 1
    to_before = np.where(before >= 0, where - where[before.clip(0), 0], np.inf)
    to_after = np.where(after <= last, where[after.clip(max=last), 0] - where, np.inf)
    return _take(values, np.where(to_before <= to_after, before, after))


def linear(values: FloatArray, *, positions: npt.ArrayLike | None = None) -> FloatArray:
    """Draw straight lines between observations, level beyond the ends; `positions` (time,) if uneven."""
    filled = np.array(check_table(values), order="C")
    where = _positions(positions, len(filled))
    for j in range(filled.shape[1]):
        column = np.ascontiguousarray(filled[:, j])
        gap = np.isnan(column)
        if gap.any() and not gap.all():
            known = column[~gap]
            # Differences of huge numbers would overflow: take a quarter of each and four times the result, both exact.
            part = 0.25 if np.abs(known).max() > HUGE else 1.0
            filled[gap, j] = np.interp(where[gap], where[~gap], known * part) / part
    return filled


def seasonal(values: FloatArray, *, period: int | None = None) -> FloatArray:
    """Take the mean cycle out, draw straight lines, put it back; `linear` where there is no period."""
    values = check_table(values)
    if period is None:
        period = find_period(values)
    elif period < 2:
        raise InputError(f"a period is at least 2 rows, got {period}.\nLeave it out to have it found.")
    if period is None or period >= len(values):
        return linear(values)
    return over_season(values, mean_cycle(values, period))


def over_season(values: FloatArray, cycle: FloatArray, phase: int = 0) -> FloatArray:
    """Straight lines on top of a known cycle (period, vars); row 0 of the values stands at `phase` of it."""
    season = cycle[(phase + np.arange(len(values))) % len(cycle)]
    return np.where(np.isnan(values), linear(values - season) + season, values)


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


CLASSIC = {"mean": mean, "locf": locf, "nearest": nearest, "linear": linear, "seasonal": seasonal}
