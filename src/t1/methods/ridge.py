"""Ridge regression on rows in time order, the penalty chosen by leaving out stretches."""

from itertools import pairwise

import numpy as np

from t1.arrays import Float32Array, FloatArray

FOLDS = 4  # stretches that are left out in turn: rows next to each other are alike, and no test of each other
PENALTIES = 10.0 ** np.arange(-5, 2)


def ridge(features: Float32Array, target: Float32Array) -> tuple[FloatArray, float]:
    """Weights (features,) and intercept; the penalty is the one that does best on stretches left out."""
    table = np.concatenate([features, target[None]])
    borders = np.linspace(0, len(target), FOLDS + 1).astype(np.intp)
    parts = [table[:, a:b] for a, b in pairwise(borders.tolist())]
    products = np.array([part @ part.T for part in parts], dtype=np.float64)
    sums = np.array([part.sum(axis=1, dtype=np.float64) for part in parts])
    counts = np.diff(borders).astype(np.float64)
    # what is learned from all stretches but one, and last from all of them
    weights, intercept = _solve(*(_without_each(x) for x in (products, sums, counts)))
    off = np.concatenate([-weights[:-1], np.ones((FOLDS, len(PENALTIES), 1))], axis=2)
    level = intercept[:-1]
    error = (
        np.einsum("kpi,kij,kpj->p", off, products, off)
        - 2 * np.einsum("kp,kpi,ki->p", level, off, sums)
        + (level**2 * counts[:, None]).sum(axis=0)
    )
    best = int(np.argmin(error))
    return weights[-1, best], float(intercept[-1, best])


def _without_each(parts: FloatArray) -> FloatArray:
    """The sum of all parts but one, for each of them, and last of all parts."""
    whole = parts.sum(axis=0)
    return np.concatenate([whole - parts, whole[None]])


def _solve(products: FloatArray, sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (tables, penalties, features) and intercepts of ridge regressions, from sums of products."""
    mean = sums / counts[:, None]
    spread = products / counts[:, None, None] - mean[:, :, None] * mean[:, None]
    power, basis = np.linalg.eigh(spread[:, :-1, :-1])
    along = np.einsum("kij,ki->kj", basis, spread[:, :-1, -1])
    shrunk = along[:, None] / (np.maximum(power, 0.0)[:, None] + PENALTIES[:, None])
    weights = np.einsum("kpj,kij->kpi", shrunk, basis)
    return weights, mean[:, -1:] - np.einsum("kpi,ki->kp", weights, mean[:, :-1])
