"""How the columns of a table relate: each as a linear function of the others, from whatever is observed."""

from typing import NamedTuple

import numpy as np

from t1.arrays import Float32Array, FloatArray

RIDGE = 0.02  # added to every eigenvalue of the correlations
DOUBT = 8  # rows seen together that count half: correlations of few rows are drawn towards 0
FEWEST = 12  # observed rows below which a column takes no part


class Relation(NamedTuple):
    """column j is about intercept[j] + weights[j] @ columns; `trust` is the share of its variance explained."""

    weights: Float32Array  # (..., vars, vars), 0 on the diagonal
    intercept: Float32Array  # (..., vars)
    trust: Float32Array  # (..., vars), 0 where nothing is known


def relate(values: Float32Array | FloatArray) -> Relation:
    """The relation of tables (..., rows, vars), NaN where missing.

    All regressions of one column on the others follow from the inverse of one matrix of correlations.
    """
    n_vars = values.shape[-1]
    observed = np.isfinite(values)
    count = observed.sum(-2)
    mean = np.where(observed, values, 0).sum(-2) / np.maximum(count, 1)
    centred = np.where(observed, values - mean[..., None, :], 0)
    std = np.sqrt((centred**2).sum(-2) / np.maximum(count, 1))
    std = np.where(std > 1e-6, std, 1)
    z = centred / std[..., None, :]
    seen = observed.astype(z.dtype)
    together = seen.swapaxes(-1, -2) @ seen
    correlation = z.swapaxes(-1, -2) @ z / np.maximum(together, 1) * (together / (together + DOUBT))
    diagonal = np.eye(n_vars, dtype=bool)
    correlation[..., diagonal] = 1
    power, basis = np.linalg.eigh(correlation)
    precision = (basis / (np.maximum(power, 0) + RIDGE)[..., None, :]) @ basis.swapaxes(-1, -2)
    own = precision[..., diagonal]
    weights = -precision / own[..., None] * std[..., None] / std[..., None, :]
    few = count < FEWEST
    weights[..., diagonal] = 0
    weights = np.where(few[..., None] | few[..., None, :], 0, weights)
    trust = np.where(few | (n_vars == 1), 0, np.clip(1 - 1 / own, 0, 1))
    intercept = mean - (weights @ mean[..., None])[..., 0]
    return Relation(*(part.astype(np.float32) for part in (weights, intercept, trust)))
