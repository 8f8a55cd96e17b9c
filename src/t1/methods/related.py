"""Columns that follow from others: copies in other units, and sums. What is known of the others fills them exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.methods.base import Fill, Learning
from t1.panel import Panel

LEAST = 20  # rows in which all columns of a relation are observed
EXACT = 2e-3  # of the column's spread: a relation that is further off in any row is none


@dataclass(frozen=True, eq=False)
class Formula:
    """A column as a sum of others: intercept + weights @ others."""

    others: IntArray
    weights: FloatArray
    intercept: float

    @classmethod
    def of(cls, values: FloatArray, column: int, others: tuple[int, ...]) -> Formula | None:
        """Learned from all rows of `values` (rows, vars) that have them; None if it does not hold in each."""
        at = [column, *others]
        cells = values[:, at][~np.isnan(values[:, at]).any(axis=1)]
        if len(cells) < LEAST:
            return None
        centre = cells.mean(axis=0)
        away = cells - centre
        spread = away.std(axis=0)
        if not (spread > 0).all():
            return None
        weights = np.linalg.lstsq(away[:, 1:] / spread[1:], away[:, 0], rcond=None)[0] / spread[1:]
        if np.abs(away[:, 0] - away[:, 1:] @ weights).max() > EXACT * spread[0]:
            return None
        return cls(np.array(others), weights, float(centre[0] - weights @ centre[1:]))


@dataclass(frozen=True, eq=False)
class RelatedFill:
    """Fills a column from those it follows from, in the rows that have all of them."""

    name: ClassVar[str] = "related"
    formulas: dict[int, Formula] = field(repr=False)

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> RelatedFill:
        """Learn the relations that `learning.follows` names; the parts of a sum follow from it as well."""
        follows = dict(learning.follows)
        for column, others in learning.follows.items():
            for part in others:
                rest = tuple(k for k in (column, *others) if k != part)
                follows.setdefault(part, rest)
        found = {j: Formula.of(panel.values, j, others) for j, others in follows.items()}
        return cls({j: formula for j, formula in found.items() if formula is not None})

    def fill(self, panel: Panel) -> Fill:
        out = np.full(panel.values.shape, np.nan)
        for j, formula in self.formulas.items():
            out[:, j] = panel.values[:, formula.others] @ formula.weights + formula.intercept
        return Fill(out)
