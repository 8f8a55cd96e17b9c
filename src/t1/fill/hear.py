"""How a method is heard in a rehearsal: it learns without the hidden cells, and fills them."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from t1.arrays import FloatArray
from t1.fill.ends import Ends
from t1.fill.rehearsal import Rehearsal
from t1.methods.base import Fill, Fit, FittedMethod, Learning
from t1.methods.regression import RegressionFill
from t1.methods.rest import AnyT1, RestFill
from t1.methods.t1 import TUNED, T1Fill
from t1.methods.trees import OF_BUDGET, TreesFill
from t1.methods.week import untuned
from t1.methods.windows import STRIDE
from t1.panel import Panel

NEARLY_ALL = 0.95  # of the cells known while it was judged: a regression, slow to learn, need not learn again
QUICK_STRIDE = 64  # from one of T1's windows to the next in rounds: a quarter less time, its error within 1 %


class Heard(NamedTuple):
    """What a method made of the hidden cells (cells,) of a rehearsal."""

    fitted: FittedMethod
    errors: FloatArray
    down: FloatArray | None  # how far below its fill the truth may lie, if it knows
    up: FloatArray | None
    seconds: float  # that the fill took

    def times(self, factor: float) -> Heard:
        """The same with all errors larger or smaller."""
        down = None if self.down is None else self.down * factor
        up = None if self.up is None else self.up * factor
        return self._replace(errors=self.errors * factor, down=down, up=up)


def hear(fit: Fit, r: Rehearsal, learning: Learning, *, quick: bool) -> Heard:
    """Let a method learn without the hidden cells, and fill them."""
    clock = perf_counter if learning.budget is None else learning.budget.clock
    learns = clock()
    fitted = fit(r.masked, learning)
    began = clock()
    stride = QUICK_STRIDE if quick else STRIDE
    regressed = isinstance(fitted, RegressionFill | RestFill) or (
        isinstance(fitted, T1Fill) and fitted.regression is not None
    )
    if isinstance(fitted, TreesFill):  # they grow slowly: is there time for each fold, and for the fill?
        regressed = not quick and 4 * (began - learns) <= OF_BUDGET * learning.left()
    if regressed and r.known < NEARLY_ALL:
        filled = _filled_by_fold(fitted, fit, r, learning, stride)
    else:
        filled = _filled(fitted, r.panel, stride)
    return heard_of(fitted, filled, r, clock() - began)


def heard_of(fitted: FittedMethod, filled: Fill, r: Rehearsal | Ends, seconds: float = 0.0) -> Heard:
    """What a method made of the hidden cells, from its fill of the copies."""
    at = r.row, r.column
    down = None if filled.down is None else filled.down[at]
    up = None if filled.up is None else filled.up[at]
    return Heard(fitted, filled.values[at] - r.truth, down, up, seconds)


def _filled(fitted: FittedMethod, panel: Panel, stride: int) -> Fill:
    return fitted.fill(panel, stride=stride) if isinstance(fitted, AnyT1) else fitted.fill(panel)


def _filled_by_fold(fitted: FittedMethod, fit: Fit, r: Rehearsal, learning: Learning, stride: int) -> Fill:
    """The copies, those of each fold by what was learned without its hidden cells alone.

    A regression that lacks the hidden cells of all folds is worse than the one that fills in the end, and would be
    thought too little of beside a network that need not learn.
    """

    def without(masked: Panel) -> FittedMethod:
        if isinstance(fitted, T1Fill) and fitted.name == TUNED:  # it is not tuned again
            return fitted.knowing(untuned(fitted, masked, learning))
        return fit(masked, learning)

    parts = [_filled(without(masked), copies, stride) for masked, copies, _ in r.by_fold]
    down, up = [p.down for p in parts if p.down is not None], [p.up for p in parts if p.up is not None]
    return Fill(
        np.concatenate([part.values for part in parts]),
        down=np.concatenate(down) if down else None,
        up=np.concatenate(up) if up else None,
    )
