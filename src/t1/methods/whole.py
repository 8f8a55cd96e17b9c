"""Methods that look at a whole series and learn anew from every table they fill; slow, so only on request."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from t1.arrays import FloatArray
from t1.data.scale import Scaler
from t1.methods.base import Fill, Learning
from t1.panel import Panel

FILLS = 2  # a whole-series method fills twice: the rehearsal and the panel


@dataclass(frozen=True)
class _Whole(ABC):
    seed: int
    seconds: float | None  # for one fill

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        left = learning.left()
        return cls(learning.seed, max(left, 1.0) / FILLS if np.isfinite(left) else None)

    @staticmethod
    @abstractmethod
    def rule(values: FloatArray, seed: int, seconds: float | None) -> FloatArray:
        """Fill one series (time, vars) in standard units."""

    def fill(self, panel: Panel) -> Fill:
        """Each series in standard units."""
        out = np.empty(panel.values.shape)
        share = None if self.seconds is None else self.seconds / len(panel.starts)
        for span, values in zip(panel.spans, panel.series(), strict=True):
            scaler = Scaler.from_observed(values)
            out[span] = scaler.unscale(self.rule(scaler.scale(values), self.seed, share))
        return Fill(out)


class Knn(_Whole):
    """scikit-learn's KNNImputer, rows as samples."""

    name: ClassVar[str] = "knn"

    @staticmethod
    def rule(values: FloatArray, seed: int, seconds: float | None) -> FloatArray:
        from t1.methods.tabular import knn  # scikit-learn and scipy take long to import

        return knn(values)


class Iterative(_Whole):
    """scikit-learn's IterativeImputer, rows as samples."""

    name: ClassVar[str] = "iterative"

    @staticmethod
    def rule(values: FloatArray, seed: int, seconds: float | None) -> FloatArray:
        from t1.methods.tabular import iterative

        return iterative(values, seed=seed)


class Pswi(_Whole):
    """PSW-I: optimal transport of spectra."""

    name: ClassVar[str] = "pswi"

    @staticmethod
    def rule(values: FloatArray, seed: int, seconds: float | None) -> FloatArray:
        from t1.methods.pswi import pswi, settings_for

        return pswi(values, rng=seed, seconds=seconds, **settings_for("any other"))
