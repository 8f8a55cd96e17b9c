"""Groups of columns that tell most about each other: attention over columns grows with their square."""

from dataclasses import dataclass

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.panel import Panel

MOST = 64  # columns that a network sees together
OWN = 56  # of them filled by the group; the others only help, and are filled by a group of their own
SAMPLE = 4000  # rows from which closeness is measured


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that are seen together; the first `n_own` of them are filled."""

    columns: IntArray
    n_own: int


def group_columns(panel: Panel) -> list[Group]:
    """Groups that overlap, so that no column is without those closest to it.

    The column with the greatest sum of absolute correlations opens a group and takes the columns it
    correlates with most; the rest is grouped likewise. Then each group is joined by the outsiders closest to
    its members. Columns without a value are in no group.
    """
    alive = np.flatnonzero(panel.known)
    if len(alive) <= MOST:
        return [Group(alive, len(alive))] if len(alive) else []
    closeness = _closeness(panel.values, alive)
    left = np.ones(len(alive), dtype=bool)
    groups = []
    while left.any():
        free = np.flatnonzero(left)
        first = free[(closeness @ left.astype(np.float32))[free].argmax()]
        own = free[np.argsort(-closeness[first, free], kind="stable")][:OWN]
        left[own] = False
        outside = closeness[own].max(axis=0)
        outside[own] = -1.0
        helpers = np.argsort(-outside, kind="stable")[: MOST - len(own)]
        groups.append(Group(alive[np.concatenate([own, helpers])], len(own)))
    return groups


def _closeness(values: FloatArray, alive: IntArray) -> FloatArray:
    """Absolute correlations of the linearly interpolated columns."""
    rows = np.linspace(0, len(values) - 1, min(len(values), SAMPLE)).astype(np.intp)
    x = np.empty((len(alive), len(rows)), dtype=np.float32)
    for k, j in enumerate(alive.tolist()):
        seen = np.flatnonzero(~np.isnan(values[:, j]))
        column = np.interp(rows, seen, values[seen, j])
        column -= column.mean()
        norm = np.sqrt(np.square(column).sum())
        x[k] = column / norm if norm > 0 else 0.0
    closeness: FloatArray = np.abs(x @ x.T)
    np.fill_diagonal(closeness, 2)  # whoever opens a group is in it
    return closeness
