"""T1 on what a regression leaves: the other columns and the season tell a cell, T1 fills the rest of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from t1.arrays import BoolArray, FloatArray
from t1.data.scale import Scaler
from t1.methods.base import Fill, Learning
from t1.methods.regression import RegressionFill
from t1.methods.t1 import T1Fill
from t1.panel import Panel


@dataclass(frozen=True, eq=False)
class RestFill:
    """A regression, and T1 fitted to the panel less what the regression says of it, in standard units."""

    name: ClassVar[str] = "t1-rest"
    regression: RegressionFill
    scaler: Scaler
    t1: T1Fill

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Nothing is trained but the regression, of every column: T1 looks at the rest of all of them."""
        regression, scaler = RegressionFill.of_every(panel, learning), Scaler.even(panel.values)
        rest = panel.with_values(scaler.scale(panel.values) - scaler.scale(regression.told(panel)))
        return cls(regression, scaler, T1Fill.alone(rest, learning))

    def fill(self, panel: Panel, *, asked: BoolArray | None = None, stride: int | None = None) -> Fill:
        """As T1 does; a series that the regression has not learned from has no answer."""
        told, rest = self._apart(panel)
        return self._together(panel, told, self.t1.fill(rest, asked=asked, stride=stride))

    def fill_ends(self, panel: Panel, length: int, coarse_of: BoolArray | None = None) -> Fill:
        """The last window of each series, as T1 does."""
        told, rest = self._apart(panel)
        return self._together(panel, told, self.t1.fill_ends(rest, length, coarse_of))

    def _apart(self, panel: Panel) -> tuple[FloatArray, Panel]:
        """What the regression says of every cell, in standard units, and the panel less that."""
        told = self.scaler.scale(self.regression.told(panel))
        return told, panel.with_values(self.scaler.scale(panel.values) - told)

    def _together(self, panel: Panel, told: FloatArray, rest: Fill) -> Fill:
        """What both say, in the panel's units."""
        middle = self.scaler.unscale(told + rest.values)
        down = None if rest.down is None else middle - self.scaler.unscale(told + rest.values - rest.down)
        up = None if rest.up is None else self.scaler.unscale(told + rest.values + rest.up) - middle
        return Fill(np.where(panel.observed, panel.values, middle), down=down, up=up)


AnyT1: TypeAlias = T1Fill | RestFill  # what takes the time of a network
