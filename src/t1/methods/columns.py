"""Methods that fill a column from itself: nothing to learn, or only its season."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from t1.arrays import FloatArray
from t1.data.blocks import column_blocks
from t1.methods.base import Fill, Learning
from t1.methods.pooled import pooled
from t1.methods.seasons import mean_cycle
from t1.methods.simple import linear, locf, mean, nearest, over_season
from t1.panel import Panel


@dataclass(frozen=True)
class _Columnwise(ABC):
    """Applies a function of one series (time, vars) to each series."""

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        return cls()

    @staticmethod
    @abstractmethod
    def rule(values: FloatArray) -> FloatArray:
        """Fill one series (time, vars)."""

    def fill(self, panel: Panel) -> Fill:
        out = np.empty(panel.values.shape)
        for span in panel.spans:
            for block in column_blocks(out[span].shape):  # what is made on the way stays small
                out[span, block] = self.rule(panel.values[span, block])
        return Fill(out)


@dataclass(frozen=True, eq=False)
class Linear(_Columnwise):
    """Straight lines between neighbours, constant beyond the ends; where a series has none, the level of the others."""

    name: ClassVar[str] = "linear"
    rule = staticmethod(linear)
    levels: FloatArray | None = None  # (vars,), of several series: a typical value that was observed

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        if len(panel.spans) < 2:
            return cls()
        levels = np.full(panel.n_vars, np.nan)
        for j in range(panel.n_vars):
            known = panel.values[panel.observed[:, j], j]
            if len(known):
                levels[j] = np.partition(known, (len(known) - 1) // 2)[(len(known) - 1) // 2]
        return cls(levels)

    def fill(self, panel: Panel) -> Fill:
        out = super().fill(panel).values
        if self.levels is not None:
            for span in panel.spans:
                never = ~panel.observed[span].any(axis=0)
                out[span, never] = self.levels[never]
        return Fill(out)


class Nearest(_Columnwise):
    """The observation nearest in time."""

    name: ClassVar[str] = "nearest"
    rule = staticmethod(nearest)


class Locf(_Columnwise):
    """The last observation, carried forward."""

    name: ClassVar[str] = "locf"
    rule = staticmethod(locf)


class Mean(_Columnwise):
    """The mean of the column's observed values in the series."""

    name: ClassVar[str] = "mean"
    rule = staticmethod(mean)


@dataclass(frozen=True, eq=False)
class Seasonal:
    """The mean cycle of each series, and straight lines on top of it."""

    name: ClassVar[str] = "seasonal"
    cycles: dict[Any, FloatArray | None]  # (period, vars) by the id of the series; None: no season

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        cycles: dict[Any, FloatArray | None] = {}
        for key, values, phase in pooled(panel, learning.periods):
            period = learning.periods.get(key)
            if period is None or period >= len(values):
                cycles[key] = None
            else:  # from the first row of the series to where the clock begins
                cycles[key] = np.roll(np.nan_to_num(mean_cycle(values, period)), phase % period, axis=0)
        return cls(cycles)

    def fill(self, panel: Panel) -> Fill:
        """A series without a season has no answer; one that was not learned from takes that of None, if any."""
        out = np.full(panel.values.shape, np.nan)
        for key, span, phase in zip(panel.ids, panel.spans, panel.phase.tolist(), strict=True):
            cycle = self.cycles.get(key, self.cycles.get(None))
            if cycle is None:
                continue
            for block in column_blocks(out[span].shape):
                out[span, block] = over_season(panel.values[span, block], cycle[:, block], phase)
        return Fill(out)
