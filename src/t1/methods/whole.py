"""Methods that look at a whole series and learn anew from every table they fill; slow, so only on request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from t1.arrays import FloatArray
from t1.data.scale import Scaler
from t1.methods.base import Fill, Learning
from t1.methods.pswi import pswi, settings_for
from t1.methods.tabular import iterative, knn
from t1.panel import Panel

FILLS = 2  # a whole-series method fills twice: the rehearsal and the panel


@dataclass(frozen=True)
class _Whole:
    seed: int
    seconds: float | None  # for one fill
    rule: ClassVar[Callable[[FloatArray, int, float | None], FloatArray]]

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        left = learning.left()
        return cls(learning.seed, max(left, 1.0) / FILLS if np.isfinite(left) else None)

    def fill(self, panel: Panel) -> Fill:
        """Each series in standard units."""
        out = np.empty(panel.values.shape)
        share = None if self.seconds is None else self.seconds / len(panel.starts)
        for span, values in zip(panel.spans, panel.series(), strict=True):
            scaler = Scaler.from_observed(values)
            out[span] = scaler.unscale(type(self).rule(scaler.scale(values), self.seed, share))
        return Fill(out)


class Knn(_Whole):
    """scikit-learn's KNNImputer, rows as samples."""

    name: ClassVar[str] = "knn"
    rule = staticmethod(lambda values, seed, seconds: knn(values))


class Iterative(_Whole):
    """scikit-learn's IterativeImputer, rows as samples."""

    name: ClassVar[str] = "iterative"
    rule = staticmethod(lambda values, seed, seconds: iterative(values, seed=seed))


class Pswi(_Whole):
    """PSW-I: optimal transport of spectra."""

    name: ClassVar[str] = "pswi"
    rule = staticmethod(
        lambda values, seed, seconds: pswi(values, rng=seed, seconds=seconds, **settings_for("any other"))
    )
