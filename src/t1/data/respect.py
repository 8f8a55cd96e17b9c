"""What a fill must be because of what its column is: in bounds, whole, on the circle, never going down."""

from __future__ import annotations

import numpy as np

from t1.arrays import FloatArray
from t1.data.kinds import Kind


def respect(
    kind: Kind, fill: FloatArray, *, left: FloatArray | None = None, right: FloatArray | None = None
) -> FloatArray:
    """Fills (cells,) as the kind allows them; NaN stays NaN.

    `left` and `right` are the observed values before and after each cell's gap, NaN where there is none: a
    counter stays between them. That it does not go down inside a gap either is for `never_down`.

    >>> respect(Kind("percent", low=0.0, high=100.0), np.array([-3.0, 50.0, 111.0]))
    array([  0.,  50., 100.])
    """
    if kind.circular is not None:
        fill = np.mod(fill, kind.circular)
    if kind.states:
        states = np.asarray(kind.states)
        near = np.abs(np.where(np.isnan(fill), 0.0, fill)[:, None] - states).argmin(axis=1)
        return np.where(np.isnan(fill), np.nan, states[near])
    if kind.monotone:
        fill = fill if left is None else np.fmax(fill, left) + 0 * fill
        fill = fill if right is None else np.fmin(fill, right) + 0 * fill
    if kind.integer:
        fill = np.rint(fill)
    return np.clip(fill, kind.low, kind.high) if kind.low is not None or kind.high is not None else fill


def never_down(fill: FloatArray) -> FloatArray:
    """The fills of one gap (cells,) in time order, each at least the one before."""
    return np.fmax.accumulate(fill) if len(fill) else fill


def to_circle(angles: FloatArray, length: float = 360.0) -> tuple[FloatArray, FloatArray]:
    """Angles as points on the circle, so that the mean of 350 and 10 is 0 and not 180."""
    turn = angles * (2 * np.pi / length)
    return np.cos(turn), np.sin(turn)


def from_circle(x: FloatArray, y: FloatArray, length: float = 360.0) -> FloatArray:
    """The angles of points, from 0 to `length`.

    >>> x, y = to_circle(np.array([80.0, 100.0]))
    >>> from_circle(x[:1] + x[1:], y[:1] + y[1:]).round(9)
    array([90.])
    """
    return np.mod(np.arctan2(y, x) * (length / (2 * np.pi)), length)
