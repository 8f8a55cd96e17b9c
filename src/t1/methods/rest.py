"""T1 on what a regression leaves: the other columns and the season tell a cell, T1 fills the rest of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from t1.arrays import BoolArray, FloatArray
from t1.methods.base import Fill, Learning
from t1.methods.regression import RegressionFill
from t1.methods.t1 import T1Fill
from t1.panel import Panel


@dataclass(frozen=True, eq=False)
class RestFill:
    """A regression, and T1 fitted to the panel less what the regression says of it."""

    name: ClassVar[str] = "t1-rest"
    regression: RegressionFill
    t1: T1Fill

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Nothing is trained but the regression, of every column: T1 looks at the rest of all of them."""
        regression = RegressionFill.of_every(panel, learning)
        rest = panel.with_values(panel.values - regression.told(panel))
        return cls(regression, T1Fill.alone(rest, learning))

    def fill(self, panel: Panel, *, asked: BoolArray | None = None, stride: int | None = None) -> Fill:
        """As T1 does; a series that the regression has not learned from has no answer."""
        told = self.regression.told(panel)
        rest = self.t1.fill(panel.with_values(panel.values - told), asked=asked, stride=stride)
        return _together(panel, told, rest)

    def fill_ends(self, panel: Panel, length: int, coarse_of: BoolArray | None = None) -> Fill:
        """The last window of each series, as T1 does."""
        told = self.regression.told(panel)
        rest = self.t1.fill_ends(panel.with_values(panel.values - told), length, coarse_of)
        return _together(panel, told, rest)


AnyT1: TypeAlias = T1Fill | RestFill  # what takes the time of a network


def _together(panel: Panel, told: FloatArray, rest: Fill) -> Fill:
    return Fill(np.where(panel.observed, panel.values, told + rest.values), down=rest.down, up=rest.up)
