"""sktime: a transformer that fills gaps, for its pipelines."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

from t1.adapters.library import library
from t1.api import fit

BaseTransformer: Any = library("sktime.transformations.base", "sktime").BaseTransformer


class T1Transformer(BaseTransformer):  # type: ignore[misc]
    """Fills the gaps of a series with what was learned from the series of `fit`; settings as in `t1.fit`.

    Examples
    --------
    >>> from sktime.datasets import load_longley
    >>> from t1.adapters.sktime import T1Transformer
    >>> X = load_longley()[1]
    >>> X.iloc[5:7, 0] = None
    >>> int(T1Transformer(budget="fast").fit_transform(X).isna().sum().sum())
    0
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["t1"],
        "maintainers": ["t1"],
        "python_dependencies": "t1-impute",
        "scitype:transform-input": "Series",
        "scitype:transform-output": "Series",
        "scitype:instancewise": True,
        "X_inner_mtype": "pd.DataFrame",
        "y_inner_mtype": "None",
        "capability:multivariate": True,
        "capability:categorical_in_X": False,
        "capability:missing_values": True,
        "capability:missing_values:removes": True,
        "transform-returns-same-time-index": True,
        "fit_is_empty": False,
        "skip-inverse-transform": True,
    }

    def __init__(self, method: str | None = None, budget: str | float = "30s", seed: int = 102) -> None:
        self.method = method
        self.budget = budget
        self.seed = seed
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: Any = None) -> T1Transformer:
        self.fitted_ = fit(_table(X), method=self.method, budget=self.budget, seed=self.seed)
        return self

    def _transform(self, X: pd.DataFrame, y: Any = None) -> pd.DataFrame:
        filled: pd.DataFrame = self.fitted_.apply(_table(X)).data
        return filled.set_axis(X.index).set_axis(X.columns, axis=1)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for sktime's checks."""
        return [{"method": "linear"}, {"budget": "fast"}]


def _table(X: pd.DataFrame) -> pd.DataFrame:
    """Dates say when rows are; periods and numbers only in which order."""
    return X if isinstance(X.index, pd.DatetimeIndex) else X.reset_index(drop=True)
