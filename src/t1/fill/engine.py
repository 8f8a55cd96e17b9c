"""Fill a table and know how wrong it is: hide, let every candidate fill, choose, calibrate, report, fill.

Candidates learn from the masked table only. Afterwards the held-out cells are put back, and what was learned
fills the real gaps: per column and gap class by the candidate chosen for it.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from t1.errors import InputError
from t1.fill.choose import choose
from t1.fill.conformal import Conformal
from t1.fill.filled import Filled
from t1.fill.gaps import N_CLASSES, BoolArray, Codes, IntArray, gap_class, gap_lengths
from t1.fill.holdout import CALIBRATE, CHOOSE, PARTS, REPORT, HoldOut, plan_holdout
from t1.fill.rules import Rules
from t1.fill.scorecard import score
from t1.models.classic import CLASSIC

FloatArray = npt.NDArray[np.float64]
Filler = Callable[[FloatArray], FloatArray]  # (time, vars) with NaN -> filled

SIMPLE_FIRST = ("linear", "nearest", "seasonal", "regression")


class Candidate(Protocol):
    """A way to fill. In a panel the series are stacked, and begin at the rows `hold.starts`."""

    @property
    def name(self) -> str: ...

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """Learn from `masked` (time, vars), NaN where missing or held out; NaN in a fill goes to linear."""
        ...


@dataclass(frozen=True)
class _Classic:
    name: str

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        method = CLASSIC[self.name]

        def fill(values: FloatArray) -> FloatArray:
            if len(hold.starts) == 1:
                return method(values)
            return np.concatenate([method(series) for series in np.split(values, hold.starts[1:])])

        return fill


def classic_candidate(name: str) -> Candidate:
    """One of `t1.models.classic.CLASSIC`, applied to each series on its own."""
    CLASSIC[name]  # a wrong name fails here
    return _Classic(name)


def classic_candidates() -> list[Candidate]:
    """The classic methods worth a try, from simple to complex."""
    return [classic_candidate(name) for name in SIMPLE_FIRST]


def fill_table(
    values: FloatArray,
    columns: Sequence[str],
    candidates: Sequence[Candidate],
    *,
    level: float | None = None,
    rules: Rules | None = None,
    seed: int = 102,
    forced: str | None = None,
    series: Sequence[IntArray] | None = None,
    times: npt.ArrayLike | None = None,
) -> Filled:
    """Fill `values` (time, vars), NaN where missing, by `candidates` from simple to complex.

    `level` asks for intervals; `forced` names the one method to use; `series` are the rows of each series of
    a panel; `times` (time,) is what the locks of `rules` refer to.
    """
    values = _check(values, columns)
    rules = rules or Rules()
    rules.check(columns)
    if level is not None and not 0 < level < 1:
        raise InputError(f"an interval's level is between 0 and 1, got {level}.\nGive 0.9 for 90 %.")
    candidates = _line_up(candidates, forced)
    order, starts = _stack(series, len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        run = _Run(values if order is None else values[order], tuple(columns), candidates, starts, seed)
        table, method, lo, hi, gap = run.fill(level, forced)
    if order is not None:
        back = np.argsort(order)
        table, method, gap = table[back], method[back], gap[back]
        lo, hi = (None if band is None else band[back] for band in (lo, hi))
    observed = ~np.isnan(values)
    bands = None if lo is None or hi is None else (lo, hi)
    table, rule = rules.apply(table, observed, gap, columns, times=times, bands=bands)
    method[np.isnan(table)] = -1
    return Filled(
        values=table,
        observed=observed,
        method=method,
        method_names=tuple(c.name for c in candidates),
        lo=lo,
        hi=hi,
        gap=gap,
        rule=rule,
        scorecard=run.scorecard,
        columns=tuple(columns),
    )


class _Run:
    """One table (time, vars), series stacked, on its way from hold-out to fill."""

    def __init__(
        self,
        values: FloatArray,
        columns: tuple[str, ...],
        candidates: Sequence[Candidate],
        starts: IntArray,
        seed: int,
    ) -> None:
        self.values, self.columns, self.candidates = values, columns, candidates
        self.observed = ~np.isnan(values)
        self.alive: BoolArray = np.any(self.observed, axis=0)
        self.scale = _scale(values, self.observed)
        self.hold = plan_holdout(self.observed, np.random.default_rng(seed), starts=starts)
        masked = np.where(self.hold.hidden, np.nan, values)
        self.fillers = [candidate.prepare(masked, self.hold) for candidate in candidates]
        self.errors = np.empty((len(candidates), len(self.hold.row)))
        for part in PARTS:
            self._try(self.hold.of(part))

    def _try(self, cells: BoolArray) -> None:
        """Errors of all candidates on some held-out cells.

        Nothing was learned from any held-out cell, but only these are hidden while they are filled: the more
        is hidden at once, the harder a fill is than that of the real table.
        """
        where = self.hold.row[cells], self.hold.column[cells]
        if not cells.any():
            return
        masked = self.values.copy()
        masked[where] = np.nan
        for k, filler in enumerate(self.fillers):
            error = filler(masked)[where] - self.values[where]
            # A cell that a candidate does not fill is filled by linear, the first one, in the end as well.
            self.errors[k, cells] = np.where(np.isfinite(error), error, self.errors[0, cells])

    def fill(
        self, level: float | None, forced: str | None
    ) -> tuple[FloatArray, Codes, FloatArray | None, FloatArray | None, npt.NDArray[np.int32]]:
        """Choose, calibrate, report, fill: values, method, lo, hi and gap lengths (time, vars)."""
        chosen = self._choose(forced)
        radius = self._calibrate(chosen, level)
        lengths = gap_lengths(self.observed, self.hold.starts)
        row, column = np.nonzero(~self.observed)
        code = gap_class(lengths[row, column])
        self._report(chosen, radius, column, code, level, forced)
        which = chosen[column, code]
        table, method = self._fill(row, column, which)
        if radius is None:
            return table, method, None, None, lengths
        lo, hi = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
        lo[row, column] = table[row, column] - radius[column, code]
        hi[row, column] = table[row, column] + radius[column, code]
        return table, method, lo, hi, lengths

    def _choose(self, forced: str | None) -> Codes:
        if forced is not None:
            pick = [candidate.name for candidate in self.candidates].index(forced)
            return np.full((len(self.columns), N_CLASSES), pick, dtype=np.int8)
        hold = self.hold
        cells = hold.of(CHOOSE)
        return choose(
            np.abs(self.errors[:, cells]),
            hold.column[cells],
            hold.gap_class[cells],
            hold.event[cells],
            self.scale,
        )

    def _calibrate(self, chosen: Codes, level: float | None) -> FloatArray | None:
        if level is None:
            return None
        hold = self.hold
        cells = hold.of(CALIBRATE)
        column, code = hold.column[cells], hold.gap_class[cells]
        residual = self.errors[chosen[column, code], np.flatnonzero(cells)]
        return Conformal(residual, column, code, hold.event[cells], self.scale).radius(level)

    def _report(
        self,
        chosen: Codes,
        radius: FloatArray | None,
        missing_column: IntArray,
        missing_code: Codes,
        level: float | None,
        forced: str | None,
    ) -> None:
        cells = self.hold.of(REPORT)
        column, code = self.hold.column[cells], self.hold.gap_class[cells]
        error = self.errors[chosen[column, code], np.flatnonzero(cells)]
        missing = np.zeros((len(self.columns), N_CLASSES), dtype=np.intp)
        alive = self.alive[missing_column]
        np.add.at(missing, (missing_column[alive], missing_code[alive]), 1)
        self.scorecard = score(
            columns=self.columns,
            method_names=tuple(candidate.name for candidate in self.candidates),
            chosen=chosen,
            missing=missing,
            column=column,
            code=code,
            error=error,
            linear_error=self.errors[0, cells],
            covered=None if radius is None else np.abs(error) <= radius[column, code],
            level=level,
            scale=self.scale,
            forced=forced,
        )

    def _fill(self, row: IntArray, column: IntArray, which: Codes) -> tuple[FloatArray, Codes]:
        """Ask only those fillers that were chosen somewhere; linear where one of them has no answer."""
        table, method = self.values.copy(), np.full(self.values.shape, -1, dtype=np.int8)
        for k in sorted({int(k) for k in np.unique(which)} | {0}, reverse=True):
            mine = (which == k) | (k == 0) & np.isnan(table[row, column])
            if mine.any():
                cells = row[mine], column[mine]
                answer = self.fillers[k](self.values)[cells]
                answer = np.where(np.isfinite(answer), answer, np.nan)
                table[cells] = answer
                method[cells] = np.where(np.isnan(answer), -1, k)
        return table, method


def _check(values: FloatArray, columns: Sequence[str]) -> FloatArray:
    """Floats (time, vars) with one name per column."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(columns):
        raise InputError(
            f"expected values (time, vars) with one name per column, got shape {values.shape} and "
            f"{len(columns)} names.\nUse x.reshape(-1, 1) for a single series."
        )
    return values


def _line_up(candidates: Sequence[Candidate], forced: str | None) -> list[Candidate]:
    """Linear first, as the one to beat; of the others all, or only the forced one."""
    named = {candidate.name: candidate for candidate in candidates}
    named.setdefault("linear", classic_candidate("linear"))
    if forced is not None and forced not in named:
        near = difflib.get_close_matches(forced.lower(), named, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(named)}."
        raise InputError(f"unknown method {forced!r}.\n{hint}")
    others = [c for name, c in named.items() if name != "linear" and forced in (None, name)]
    return [named["linear"], *others]


def _stack(series: Sequence[IntArray] | None, n_rows: int) -> tuple[IntArray | None, IntArray]:
    """The order that puts the rows of each series together (None: as they are), and where each begins."""
    first = np.zeros(1, dtype=np.intp)
    if series is None:
        return None, first
    rows = [np.asarray(one, dtype=np.intp) for one in series if len(one)]
    order = np.concatenate([first[:0], *rows])
    if len(order) != n_rows or (np.bincount(order, minlength=n_rows) != 1).any():
        raise InputError(
            f"the series of a panel must hold each of the {n_rows} rows once, got {len(order)} rows.\n"
            "Give rows without an id a series of their own."
        )
    return order, np.concatenate([first, np.cumsum([len(one) for one in rows], dtype=np.intp)[:-1]])


def _scale(values: FloatArray, observed: BoolArray) -> FloatArray:
    """The spread of each column's observed cells (vars,), 1 where there is none."""
    count = np.maximum(observed.sum(axis=0), 1)
    centre = np.where(observed, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(observed, values - centre, 0.0) ** 2).sum(axis=0) / count)
    return np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
