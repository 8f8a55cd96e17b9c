"""What a table knows beyond a window: the neighbouring periods of each column, how the columns relate.

The arrays of `t1.models.base.Context`: a fill computes them for its table, pretraining for each window.
"""

import numpy as np

from t1.arrays import Float32Array, FloatArray

SHARES = (1.0, 0.5)  # of the period next to a cell and the one after that in their mean
FEW = 12  # observed cells; a column with fewer is related to nothing


def weighted_mean(near: Float32Array) -> tuple[Float32Array, Float32Array]:
    """The mean of two neighbouring periods (2, ...) by SHARES, NaN left out, and its weight from 0 to 1.

    >>> mean, weight = weighted_mean(np.float32([[3, 3, np.nan], [1, np.nan, np.nan]]))
    >>> mean.round(2)  # the first is (3 + 1 / 2) / 1.5
    array([2.33, 3.  , 0.  ], dtype=float32)
    >>> weight.round(2)
    array([1.  , 0.67, 0.  ], dtype=float32)
    """
    seen = np.isfinite(near)
    shares = np.array(SHARES, dtype=np.float32).reshape(2, *[1] * (near.ndim - 1))
    weight = (seen * shares).sum(0)
    total = (np.where(seen, near, 0) * shares).sum(0)
    mean = (total / np.maximum(weight, 1e-9)).astype(np.float32)
    return mean, (weight / sum(SHARES)).astype(np.float32)


def relate(tables: Float32Array) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Each column as a ridge regression on the others: relation (n, vars, vars), intercept, trust (n, vars).

    tables: (n, rows, vars), NaN where missing. From correlations of the pairs that both were observed, shrunk
    where pairs are few; all regressions at once from the inverse of the correlation matrix. `trust` is the
    share of a column's variance that the others explain.
    """
    n, _, n_vars = tables.shape
    if n_vars == 1:
        nothing = np.zeros((n, 1), dtype=np.float32)
        return np.zeros((n, 1, 1), dtype=np.float32), nothing, nothing
    seen = np.isfinite(tables)
    count = seen.sum(1)
    mean = np.where(seen, tables, 0).sum(1) / np.maximum(count, 1)
    centred = np.where(seen, tables - mean[:, None], 0)
    std = np.sqrt((centred**2).sum(1) / np.maximum(count, 1))
    std = np.where(std > 1e-6, std, 1)
    z, known = centred / std[:, None], seen.astype(np.float32)
    pairs = known.transpose(0, 2, 1) @ known
    correlation = z.transpose(0, 2, 1) @ z / np.maximum(pairs, 1) * (pairs / (pairs + 8))
    diagonal = np.eye(n_vars, dtype=bool)
    correlation[:, diagonal] = 1
    size, vectors = np.linalg.eigh(correlation)
    size = np.maximum(size, 0) + 0.02  # ridge; pairwise correlations need not be positive definite
    precision: FloatArray = (vectors / size[:, None]) @ vectors.transpose(0, 2, 1)
    own = precision[:, diagonal]
    relation = -precision / own[:, :, None]
    relation[:, diagonal] = 0
    trust = np.clip(1 - 1 / own, 0, 1)
    few = count < FEW
    relation = relation * std[:, :, None] / std[:, None]
    relation[few] = 0
    relation = np.where(few[:, None], 0, relation)
    trust[few] = 0
    intercept = mean - (relation @ mean[:, :, None])[:, :, 0]
    return relation.astype(np.float32), intercept.astype(np.float32), trust.astype(np.float32)


def explained(values: FloatArray, told: FloatArray) -> FloatArray:
    """The share of each column's variance (vars,) that what was told of its observed cells (rows, vars) explains.

    >>> explained(np.array([[1.0], [3.0], [np.nan]]), np.array([[1.5], [2.5], [9.0]]))
    array([0.75])
    """
    seen = np.isfinite(values)
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, values, 0.0).sum(axis=0) / count
    whole = np.where(seen, values - mean, 0.0) ** 2
    left = np.where(seen, values - told, 0.0) ** 2
    total = whole.sum(axis=0)
    share = 1 - left.sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, np.clip(share, 0, 1), 0.0)
