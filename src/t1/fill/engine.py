"""Fill a table and know how wrong it is: hide, let every candidate fill, choose, calibrate, report, fill.

Candidates learn from the masked table only. Afterwards the held-out cells are put back, and what was learned
fills the real gaps: per column and gap class by the candidate chosen for it. There is only one table: cells
are hidden in it and put back, and fills are kept apart, of the missing cells only, until all are made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Codes, FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.errors import InputError
from t1.fill.candidates import Candidate, Filler, classic_candidate, classic_candidates
from t1.fill.choose import choose
from t1.fill.conformal import Conformal
from t1.fill.filled import Filled, Missing
from t1.fill.gaps import N_CLASSES, find_runs, gap_class
from t1.fill.holdout import CALIBRATE, CHOOSE, PARTS, REPORT, plan_holdout
from t1.fill.plan import LeftOut
from t1.fill.rules import Rules
from t1.fill.scorecard import Scorecard, score
from t1.models.seasons import moments
from t1.registry import did_you_mean

__all__ = ["classic_candidates", "fill_table"]


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
    in_place: bool = False,
) -> Filled:
    """Fill `values` (time, vars), NaN where missing, by `candidates` from simple to complex.

    `level` asks for intervals; `forced` names the one method to use; `series` are the rows of each series of
    a panel; `times` (time,) is what the locks of `rules` refer to. `in_place` saves memory: the fills are
    written into `values`, unless its rows have to be sorted by series.
    """
    given = _check(values, columns)
    rules = rules or Rules()
    rules.check(columns)
    if level is not None and not 0 < level < 1:
        raise InputError(f"an interval's level is between 0 and 1, got {level}.\nGive 0.9 for 90 %.")
    candidates = _line_up(candidates, forced)
    order, starts = _stack(series, len(given))
    locked = rules.locked_rows(len(given), times)
    if order is not None:
        table, locked = given[order], locked[order]
    else:
        table = given if in_place and given.flags.writeable else given.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        filled = _Run(table, tuple(columns), candidates, starts, seed).fill(level, forced, rules, locked)
    return filled if order is None else filled.rows(np.argsort(order))


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
        self.values, self.columns = values, columns
        self.names = tuple(candidate.name for candidate in candidates)
        self.observed = ~np.isnan(values)
        self.alive: BoolArray = np.any(self.observed, axis=0)
        self.scale = _scale(values)
        self.hold = plan_holdout(self.observed, np.random.default_rng(seed), starts=starts)
        self.notes: list[str] = []
        self.errors = np.full((len(candidates), len(self.hold.row)), np.nan)
        self.fillers: list[Filler | None] = []
        for k, candidate in enumerate(candidates):
            self.fillers.append(self._try(k, candidate))

    def _try(self, k: int, candidate: Candidate) -> Filler | None:
        """Let a candidate learn, and measure its errors on all held-out cells; None if it was left out.

        Nothing is learned from any held-out cell, but only those of one part are hidden while they are
        filled: the more is hidden at once, the harder a fill is than that of the real table.
        """
        everything = np.ones(len(self.hold.row), dtype=bool)
        filler: Filler | None = None
        try:
            with self._hidden(everything):
                filler = candidate.prepare(self.values, self.hold)
            for part in PARTS:
                self._measure(k, filler, self.hold.of(part))
        except LeftOut as reason:
            self.notes.append(str(reason))
            self.errors[k] = np.nan
            filler = None
        # A cell that a candidate does not fill is filled by linear, the first one, in the end as well.
        self.errors[k] = np.where(np.isfinite(self.errors[k]), self.errors[k], self.errors[0])
        return filler

    def _measure(self, k: int, filler: Filler, cells: BoolArray) -> None:
        if not cells.any():
            return
        row, column = self.hold.row, self.hold.column
        mine = np.flatnonzero(cells)
        mine = mine[np.argsort(column[mine], kind="stable")]
        bounds = np.searchsorted(column[mine], np.arange(len(self.columns) + 1))
        with self._hidden(cells):
            for columns, fill in filler(self.values):
                for at, j in enumerate(columns):
                    here = mine[bounds[j] : bounds[j + 1]]
                    self.errors[k, here] = fill[row[here], at]
        self.errors[k, mine] -= self.values[row[mine], column[mine]]

    @contextmanager
    def _hidden(self, cells: BoolArray) -> Iterator[None]:
        """Some held-out cells are NaN in the table for a while."""
        where = self.hold.row[cells], self.hold.column[cells]
        kept = self.values[where]
        self.values[where] = np.nan
        try:
            yield
        finally:
            self.values[where] = kept

    def fill(self, level: float | None, forced: str | None, rules: Rules, locked: BoolArray) -> Filled:
        """Choose, calibrate, report, fill, and apply the rules; `locked` (time,) are rows to leave alone."""
        chosen = self._choose(forced)
        radius = self._calibrate(chosen, level)
        gap = find_runs(self.observed, self.hold.starts).cell_lengths()
        code = gap_class(gap)
        counts = len(self.values) - np.count_nonzero(self.observed, axis=0)
        bounds = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(counts)])
        parts = [slice(*bounds[j : j + 2]) for j in range(len(self.columns))]  # the missing cells by column
        scorecard = self._report(chosen, radius, [code[part] for part in parts], level, forced)
        which = np.concatenate([code[:0], *(chosen[j, code[part]] for j, part in enumerate(parts))])
        fill, method = self._fill(which, parts)
        lo = None if radius is None else np.empty(len(fill))
        hi = None if radius is None else np.empty(len(fill))
        rule = np.zeros(len(fill), dtype=np.int8)
        for j, part in enumerate(parts):
            missing = ~self.observed[:, j]
            cells = [fill[part]]
            if radius is not None and lo is not None and hi is not None:
                reach = radius[j, code[part]]
                lo[part], hi[part] = fill[part] - reach, fill[part] + reach
                cells += [lo[part], hi[part]]
            rule[part] = rules.touch(self.columns[j], cells, gap[part], locked[missing])
            self.values[missing, j] = fill[part]
        method[np.isnan(fill)] = -1
        return Filled(
            values=self.values,
            observed=self.observed,
            missing=Missing(method=method, gap=gap, rule=rule, lo=lo, hi=hi),
            method_names=self.names,
            scorecard=scorecard,
            columns=self.columns,
            notes=tuple(self.notes),
        )

    def _choose(self, forced: str | None) -> Codes:
        if forced is not None:
            return np.full((len(self.columns), N_CLASSES), self.names.index(forced), dtype=np.int8)
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
        codes: Sequence[Codes],
        level: float | None,
        forced: str | None,
    ) -> Scorecard:
        """Score the REPORT cells; `codes` are the gap classes of each column's missing cells."""
        cells = self.hold.of(REPORT)
        column, code = self.hold.column[cells], self.hold.gap_class[cells]
        error = self.errors[chosen[column, code], np.flatnonzero(cells)]
        missing = np.zeros((len(self.columns), N_CLASSES), dtype=np.intp)
        for j in np.flatnonzero(self.alive).tolist():
            missing[j] = np.bincount(codes[j], minlength=N_CLASSES)
        return score(
            columns=self.columns,
            method_names=self.names,
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

    def _fill(self, which: Codes, parts: Sequence[slice]) -> tuple[FloatArray, Codes]:
        """The fill and the method of each missing cell; linear where the one chosen has no answer."""
        answers, method = np.full(len(which), np.nan), np.full(len(which), -1, dtype=np.int8)
        for k in sorted({int(k) for k in np.unique(which)} | {0}, reverse=True):
            filler = self.fillers[k]
            mine = np.isnan(answers) if k == 0 else which == k
            if filler is None or not mine.any():
                continue
            for columns, fill in filler(self.values):
                for at, j in enumerate(columns):
                    part = parts[j]
                    here = np.flatnonzero(mine[part])
                    if len(here):
                        rows = np.flatnonzero(~self.observed[:, j])[here]
                        answer = fill[rows, at]
                        good = np.isfinite(answer)
                        answers[part][here[good]] = answer[good]
                        method[part][here[good]] = k
        return answers, method


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
        hint = did_you_mean(forced, named)
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
    starts = np.concatenate([first, np.cumsum([len(one) for one in rows], dtype=np.intp)[:-1]])
    return None if (np.diff(order) == 1).all() else order, starts


def _scale(values: FloatArray) -> FloatArray:
    """The spread of each column's observed cells (vars,), 1 where there is none."""
    spread = np.empty(values.shape[1])
    for block in column_blocks(values.shape):
        _, spread[block] = moments(values[:, block], ~np.isnan(values[:, block]))
    return np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
