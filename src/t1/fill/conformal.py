"""Split-conformal intervals per column and gap class, from the residuals on CALIBRATE cells."""

import math

import numpy as np

from t1.arrays import Codes, FloatArray, IntArray
from t1.errors import InputError
from t1.fill.gaps import N_CLASSES

MIN_EVENTS = 8  # a group with fewer borrows from the other columns


class Conformal:
    """Absolute residuals (cells,) by column and class; `scale` (vars,) makes columns comparable."""

    def __init__(
        self, residual: FloatArray, column: IntArray, code: Codes, event: IntArray, scale: FloatArray
    ) -> None:
        fine = np.isfinite(residual)
        self.residual, self.column, self.code = np.abs(residual[fine]), column[fine], code[fine]
        self.event, self.scale = event[fine], scale

    def radius(self, level: float) -> FloatArray:
        """Half-widths (vars, classes) that cover a share `level` of the cells; NaN without any residual."""
        if not 0 < level < 1:
            raise InputError(f"an interval's level is between 0 and 1, got {level}.\nGive 0.9 for 90 %.")
        n_vars = len(self.scale)
        radius = np.full((n_vars, N_CLASSES), np.nan)
        scaled = self.residual / self.scale[self.column]
        enough = max(MIN_EVENTS, math.ceil(level / (1 - level)))  # fewer cannot promise so much
        for c in range(N_CLASSES):
            of_class = self.code == c
            if of_class.any():
                radius[:, c] = quantile(scaled[of_class], level) * self.scale
        # A class that was never seen is given the radius of the nearest shorter one, else of a longer one.
        for c in (*range(1, N_CLASSES), *range(N_CLASSES - 2, -1, -1)):
            for other in (c - 1, c + 1):
                if 0 <= other < N_CLASSES and np.isnan(radius[:, c]).all():
                    radius[:, c] = radius[:, other]
        order = np.lexsort((self.code, self.column))
        group = (self.column * N_CLASSES + self.code)[order]
        for cells in np.split(order, np.flatnonzero(np.diff(group)) + 1):
            n_events = len(np.unique(self.event[cells]))
            if n_events >= enough:
                here = self.column[cells[0]], self.code[cells[0]]
                radius[here] = quantile(self.residual[cells], level)
        return radius


def quantile(residual: FloatArray, level: float) -> float:
    """The ceil((n + 1) level)-th smallest of n absolute residuals, the largest if there are too few."""
    k = min(math.ceil((len(residual) + 1) * level - 1e-9), len(residual))
    return float(np.partition(residual, k - 1)[k - 1])
