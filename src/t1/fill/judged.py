"""A judged fill: fitted methods, who fills what, calibrated intervals, how wrong it is; it can be kept.

It fills any panel of the same columns, with the intervals and the scorecard that the fit measured (fit.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from t1.arrays import BoolArray, FloatArray, IntArray, Labels, Lengths
from t1.fill.blend import Blend
from t1.fill.board import FOLDS
from t1.fill.circle import unwind
from t1.fill.conformal import GUESSES, Calibration, Spread, calibrate, guess_spread, narrowest
from t1.fill.filled import Filled, Missing
from t1.fill.gaps import N_CLASSES, Gaps
from t1.fill.rules import Rules
from t1.fill.scorecard import Scorecard, score
from t1.methods.base import Fill, FittedMethod
from t1.methods.regression import RegressionFill
from t1.methods.rest import AnyT1, RestFill
from t1.methods.t1 import T1Fill
from t1.panel import Panel

GUESS_LEVEL = 0.9  # the level at which ways to guess a spread are compared


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What every method made of the hidden cells, in arrays (cells,): all that is known of how good it is."""

    errors: FloatArray  # (methods, cells), fill less truth; NaN where a method had no answer
    error: FloatArray  # of the blend that was learned from the other folds
    column: IntArray
    code: IntArray
    event: IntArray
    fold: IntArray
    distance: Lengths
    down: FloatArray | None  # how sure T1 was of each cell
    up: FloatArray | None
    # (1 + methods, cells): of the blend and of each method, once fills are what their columns can be (a state, a whole
    # number, nothing below 0); what is told of errors. None: as above
    told: FloatArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedFill:
    """Fitted methods, their blend and all evidence; it fills any panel of the same columns."""

    columns: tuple[str, ...]
    methods: tuple[FittedMethod, ...]  # linear first
    blend: Blend
    evidence: Evidence
    scale: FloatArray  # (vars,), the spread of each column
    alive: BoolArray  # (vars,): columns of which anything was known, and no ids; the others stay empty
    missing: IntArray  # (vars, classes): cells of the table of the fit that were missing
    forced: str | None  # the one method that the user asked for
    circles: dict[int, float] = field(
        default_factory=dict
    )  # columns of angles, and the length of their circle
    centres: dict[int, float] = field(default_factory=dict)  # where the middle of each lay, unwound
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    end_blend: Blend | None = None  # who fills what at the end of a series, as rows arrive; None: not judged
    end_evidence: Evidence | None = None
    memory: int = 0  # rows that a fill at the end looks back on

    @property
    def method_names(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.methods)

    @cached_property
    def scorecard(self) -> Scorecard:
        """How wrong the fill is, on cells of the fitted table that nothing had learned from."""
        return self.score(self.missing, None)

    @cached_property
    def at_end(self) -> JudgedFill | None:
        """The same methods as they are blended and calibrated for rows that have just arrived (fill/ends.py)."""
        if self.end_blend is None or self.end_evidence is None:
            return None
        return replace(self, blend=self.end_blend, evidence=self.end_evidence)

    # ------------------------------------------------------------ filling

    def fill(
        self,
        panel: Panel,
        *,
        rules: Rules | None = None,
        level: float | None = None,
        asked: BoolArray | None = None,
    ) -> Filled:
        """Fill a panel of the same columns; `level` asks for intervals.

        Of rows that are not `asked` for (rows,) nothing will be used: T1, which is slow, leaves them out.
        """
        rules = rules or Rules()
        rules.check(panel.columns)
        rules = rules.that_hold(panel.columns, panel.values)
        locked = rules.locked_rows(panel.n_rows, panel.times)
        gaps = Gaps.of(panel.observed, panel.starts)
        with np.errstate(over="ignore", invalid="ignore"):
            filled = self._fill(unwind(panel, self.circles, self.centres), gaps, rules, level, locked, asked)
        for j in self.circles:
            filled.values[panel.observed[:, j], j] = panel.values[panel.observed[:, j], j]
        return filled

    def _fill(
        self,
        panel: Panel,
        gaps: Gaps,
        rules: Rules,
        level: float | None,
        locked: BoolArray,
        asked: BoolArray | None,
    ) -> Filled:
        calibration = None if level is None else self.calibration(level)
        wanted = self._wanted(gaps, needs_spread=calibration is not None and calibration.guess == "t1")
        fills = np.full((len(self.methods), len(gaps)), np.nan)
        down = up = None
        for k in np.flatnonzero(wanted).tolist():
            method_k = self.methods[k]
            filled = (
                method_k.fill(panel, asked=asked) if isinstance(method_k, AnyT1) else method_k.fill(panel)
            )
            fills[k] = filled.values[gaps.row, gaps.column]
            if k == surest(self.methods) and filled.down is not None and filled.up is not None:
                down, up = filled.down[gaps.row, gaps.column], filled.up[gaps.row, gaps.column]
        fill = self.blend.mix(fills, gaps.column, gaps.code)
        method, names = self._labels(gaps)
        lo = hi = None
        tested = self.blend.tested[gaps.column, gaps.code]
        if calibration is not None:
            spread = guess_spread(
                calibration.guess, gaps.column, gaps.code, gaps.distance, self.scale, down, up
            )
            lo, hi = calibration.bands(fill, spread, gaps.column, gaps.code, gaps.distance)
            tested = tested & calibration.tested[gaps.column, gaps.code]
        rule = np.zeros(len(gaps), dtype=np.int8)
        values = panel.values.copy()
        bounds = np.searchsorted(gaps.column, np.arange(panel.n_vars + 1))
        for j, name in enumerate(panel.columns):
            part = slice(bounds[j], bounds[j + 1])
            rows = gaps.row[part]
            bands = [] if lo is None or hi is None else [lo[part], hi[part]]
            around = gaps.around(panel.values, panel.starts, part) if rules.rises(name) else None
            rule[part] = rules.touch(name, [fill[part], *bands], gaps.length[part], locked[rows], around)
            values[rows, j] = fill[part]
        method[np.isnan(fill)] = -1
        return Filled(
            values=values,
            observed=panel.observed,
            missing=Missing(
                method=method,
                gap=gaps.length,
                rule=rule,
                tested=tested,
                lo=lo,
                hi=hi,
                sure=self._sure(gaps, rules),
            ),
            method_names=names,
            scorecard=self.score(gaps.count(panel, self.alive), level),
            columns=panel.columns,
            notes=self.notes,
        )

    def _wanted(self, gaps: Gaps, *, needs_spread: bool) -> BoolArray:
        """The methods that have anything to fill; linear always, for cells without another answer."""
        used = self.blend.weights[gaps.column, gaps.code]  # (cells, methods)
        wanted: BoolArray = np.any(used > 0, axis=0)
        wanted[0] = len(gaps) > 0
        sure = surest(self.methods)
        if needs_spread and len(gaps) and sure is not None:
            wanted[sure] = True
        return wanted

    def _sure(self, gaps: Gaps, rules: Rules) -> FloatArray | None:
        """How probable the state of each cell is: the share of rehearsed cells like it that were right.

        None for a panel without columns of states. Of what was never rehearsed all states are as probable.
        """
        states = {j: rules.states(name) for j, name in enumerate(self.columns) if rules.states(name)}
        if not states:
            return None
        e, sure = self.evidence, np.full(len(gaps), np.nan)
        for j, values in states.items():
            apart = float(np.diff(np.sort(values)).min()) if len(values) > 1 else np.inf
            mine = e.column == j
            right, code = np.abs(e.error[mine]) < apart / 2, e.code[mine]
            n_right = np.bincount(code[right], minlength=N_CLASSES)
            n = np.bincount(code, minlength=N_CLASSES)
            share = np.where(
                n > 0, (n_right + 1) / (n + len(values)), (right.sum() + 1) / (len(right) + len(values))
            )
            here = gaps.column == j
            sure[here] = share[gaps.code[here]]
        return sure

    def _labels(self, gaps: Gaps) -> tuple[Labels, tuple[str, ...]]:
        """The code of each cell's method or blend, and the names of the codes."""
        group = gaps.column * N_CLASSES + gaps.code
        names: dict[str, int] = {}
        code = np.zeros(self.blend.weights.shape[0] * N_CLASSES, dtype=np.int16)
        for g in np.unique(group).tolist():
            name = self.blend.label(*divmod(g, N_CLASSES))
            code[g] = names.setdefault(name, len(names))
        return code[group], tuple(names)

    # ------------------------------------------------------------ judging

    def _spread(self, guess: str) -> Spread:
        e = self.evidence
        return guess_spread(guess, e.column, e.code, e.distance, self.scale, e.down, e.up)

    @cached_property
    def _guess(self) -> str:
        e = self.evidence
        kinds = GUESSES if e.down is not None else GUESSES[1:]
        spreads = {kind: self._spread(kind) for kind in kinds}
        return narrowest(GUESS_LEVEL, spreads, e.error, e.column, self.scale)

    def calibration(self, level: float) -> Calibration:
        """How wide intervals must be to hold a share `level` of the truth."""
        return self._calibrated(level)[0]

    def _calibrated(self, level: float) -> tuple[Calibration, FloatArray]:
        """The calibration, and whether each hidden cell (cells,) lies inside the interval that the other folds give.

        1 or 0; NaN where the other folds have no cells.
        """
        if level not in self._by_level:
            e, spread = self.evidence, self._spread(self._guess)
            inside = np.full(len(e.error), np.nan)
            for fold in FOLDS:
                mine = e.fold == fold
                factor = self._calibrate(level, spread, ~mine).factor[e.column[mine], e.code[mine]]
                inside[mine] = spread.take(mine).score(e.error[mine]) <= factor
                inside[mine] = np.where(np.isnan(factor), np.nan, inside[mine])
            self._by_level[level] = self._calibrate(level, spread, np.ones(len(inside), dtype=bool)), inside
        return self._by_level[level]

    @cached_property
    def _by_level(self) -> dict[float, tuple[Calibration, FloatArray]]:
        return {}

    def _calibrate(self, level: float, spread: Spread, cells: BoolArray) -> Calibration:
        e = self.evidence
        return calibrate(
            level,
            self._guess,
            e.error[cells],
            spread.take(cells),
            e.column[cells],
            e.code[cells].astype(np.int8),
            e.event[cells],
            e.distance[cells],
            len(self.scale),
        )

    def score(self, missing: IntArray, level: float | None) -> Scorecard:
        """The scorecard for a table with so many missing cells (vars, classes), with intervals of a level."""
        e = self.evidence
        told = np.vstack([e.error, e.errors]) if e.told is None else e.told
        calibration, covered = (None, None) if level is None else self._calibrated(level)
        return score(
            columns=self.columns,
            blend=self.blend,
            missing=missing,
            column=e.column,
            code=e.code.astype(np.int8),
            event=e.event,
            error=told[0],
            errors=told[1:],
            covered=covered,
            calibrated=None if calibration is None else calibration.tested,
            level=level,
            scale=self.scale,
            forced=self.forced,
        )


def surest(methods: Sequence[FittedMethod]) -> int | None:
    """Which method's word on how sure it is of each cell shapes the intervals: T1's, as it was before any tuning.

    A tuned network goes on learning after it was judged: how sure it was then says little of how sure it is now.
    """
    t1s = [k for k, m in enumerate(methods) if isinstance(m, T1Fill)]
    rests = [k for k, m in enumerate(methods) if isinstance(m, RestFill)]
    return min(t1s or rests, default=None)


def fill_end(
    method: FittedMethod,
    panel: Panel,
    memory: int,
    coarse_of: BoolArray | None = None,
    since: IntArray | None = None,
) -> Fill:
    """The end of each series, all of `memory` rows; T1 looks at its last window only, which is much faster.

    Of each series the fills of rows from `since` (series,) on are wanted.
    """
    if isinstance(method, AnyT1):
        return method.fill_ends(panel, memory, coarse_of)
    return method.fill(panel, since) if isinstance(method, RegressionFill) else method.fill(panel)
