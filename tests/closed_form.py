"""For tests: panels with holes, and a judged fill by closed-form methods only, without a network."""

from unittest.mock import patch

import numpy as np

from t1.fill import fit
from t1.fill.fit import fit_panel
from t1.fill.judged import JudgedFill
from t1.methods.base import Learning
from t1.methods.catalog import METHODS
from t1.panel import Panel

QUICK = ("linear", "nearest", "seasonal", "regression")


def fit_closed(panel: Panel, *, method: str | None = None, names=QUICK, seed: int = 0, **more) -> JudgedFill:
    """`fit_panel` with some methods of the list only."""
    some = {name: METHODS[name] for name in names}
    with patch.object(fit, "METHODS", {**some, **({method: METHODS[method]} if method else {})}):
        return fit_panel(panel, Learning(seed=seed, **more), method=method, tune="trees" in names)


def walks(n_rows: int = 1500, n_vars: int = 4, seed: int = 0) -> np.ndarray:
    """Random walks: a straight line is the best fill there is."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_vars)).cumsum(axis=0)


def driven(n_rows: int = 2000, n_vars: int = 4, *, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """Columns that follow a common noisy driver, which no straight line can."""
    rng = np.random.default_rng(seed)
    driver = rng.normal(size=(n_rows, 1))
    return driver * (1 + np.arange(n_vars)) + noise * rng.normal(size=(n_rows, n_vars))


def holes(table: np.ndarray, rate: float = 0.1, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(table.shape) < rate, np.nan, table)
