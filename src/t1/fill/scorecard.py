"""How wrong a fill is, on the table's own kind of gaps: hidden cells that nothing behind it has learned from."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from t1.arrays import AnyArray, BoolArray, Codes, FloatArray, IntArray
from t1.fill.blend import Blend
from t1.fill.gaps import CLASS_NAMES, N_CLASSES

MAX_ROWS = 24  # of the text
FEW = 6  # gaps, with fewer nothing can be told


@dataclass(frozen=True, kw_only=True)
class Score:
    """One column and gap class; errors in the column's units, None where no cell could be held out."""

    column: str
    gap: str
    missing: int  # cells of the table that are to be filled
    cells: int  # held-out cells the errors were measured on
    events: int  # separate gaps they lie in
    method: str  # a method, or those of a blend: "t1 + regression"
    mae: float | None
    rmse: float | None
    linear_mae: float | None
    linear_rmse: float | None
    coverage: float | None  # of the intervals, where they were asked for
    tested: bool  # gaps of this class could be rehearsed; else the interval is widened by a rule
    by_method: dict[str, float]  # the mean absolute error of every method on the same cells

    @property
    def ratio(self) -> float:
        """Its MAE in units of linear's; NaN where unknown, 1 where both are 0."""
        if self.mae is None or self.linear_mae is None:
            return float("nan")
        return self.mae / self.linear_mae if self.linear_mae else 1.0 if self.mae == 0 else float("inf")


@dataclass(frozen=True, kw_only=True)
class Scorecard:
    """Scores by column and gap class; totals are of errors / the column's spread, in the mix of the gaps.

    >>> import numpy as np, t1
    >>> table = np.sin(np.arange(300) / 5)[:, None] * [1.0, 2.0]
    >>> table[100:104, 0] = np.nan
    >>> card = t1.impute(table, budget="fast").scorecard
    >>> [(score.column, score.gap, score.missing) for score in card.scores]
    [('x0', '2-5', 4)]
    >>> card.scaled_mae < card.linear_scaled_mae
    True
    """

    scores: tuple[Score, ...]
    missing: int
    cells: int
    scaled_mae: float | None
    linear_scaled_mae: float | None
    by_method: dict[str, float]  # of every method on the same cells
    coverage: float | None
    level: float | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """Numbers, strings and None only: it can be written as JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """A table for a terminal, at most 100 wide; the worst and the best columns of a wide one."""
        wide = any(s.coverage is not None for s in self.scores)
        head = (
            f"{'column':20} {'gap':>9} {'missing':>9} {'tested':>7}  {'method':18} {'MAE':>10} {'linear':>10}"
        )
        lines = [head + ("  cover" if wide else "")]
        shown = self._shown()
        for i, s in enumerate(shown):
            if len(shown) < len(self.scores) and i == MAX_ROWS // 2:
                lines.append(
                    f"... {len(self.scores) - len(shown)} more rows between the worst and the best ..."
                )
            name = s.column.encode("unicode_escape").decode() if not s.column.isprintable() else s.column
            name = name if len(name) <= 20 else name[:19] + "…"
            method = s.method if len(s.method) <= 18 else s.method[:17] + "…"
            tested = f"{s.cells:,}{'' if s.tested else '*'}" if s.cells else "no"
            line = f"{name:20} {s.gap:>9} {s.missing:>9,} {tested:>7}  {method:18}"
            line += f" {_number(s.mae):>10} {_number(s.linear_mae):>10}"
            lines.append(line + (f" {_number(s.coverage, '.2f'):>6}" if wide else ""))
        notes = [self.verdict]
        if self.level is not None and self.scores:
            reached = "not tested, too few gaps" if self.coverage is None else f"reached: {self.coverage:.0%}"
            notes.append(f"Intervals, asked: {self.level:.0%}, {reached}.".replace("%", " %"))
        if any(not s.tested for s in self.scores):
            notes.append("no, *: such gaps could not be (fully) rehearsed; their intervals follow a rule.")
        return "\n".join([*lines, *(line for note in notes for line in textwrap.wrap(note, 100))])

    def _shown(self) -> list[Score]:
        """All scores, or of many those furthest behind and furthest ahead of linear."""
        if len(self.scores) <= MAX_ROWS:
            return list(self.scores)
        known = [s for s in self.scores if not np.isnan(s.ratio)] or list(self.scores)
        ranked = sorted(known, key=lambda s: -s.ratio)
        return (
            ranked[: MAX_ROWS // 2] + ranked[len(ranked) - MAX_ROWS // 2 :]
            if len(ranked) > MAX_ROWS
            else ranked
        )


def score(
    *,
    columns: tuple[str, ...],
    blend: Blend,
    missing: IntArray,
    column: IntArray,
    code: Codes,
    event: IntArray,
    error: FloatArray,
    errors: FloatArray,
    covered: FloatArray | None,
    calibrated: BoolArray | None,
    level: float | None,
    scale: FloatArray,
    forced: str | None,
) -> Scorecard:
    """Score hidden cells: arrays (cells,); `errors` (methods, cells), `missing` (vars, classes)."""
    size, sizes = np.abs(error), np.abs(np.where(np.isfinite(errors), errors, errors[:1]))
    group = column * N_CLASSES + code
    scores = _scores(columns, blend, missing, group, event, size, sizes, covered, calibrated)
    # In the totals each column and class counts as much as it has cells to fill.
    weight = missing.reshape(-1)[group] / np.bincount(group)[group]
    weight = weight if weight.any() else np.ones(len(weight))
    counted = weight > 0  # not so an id, or gaps of a length that the table does not have

    def total(x: AnyArray) -> float | None:
        return _finite(np.average(x, weights=weight)) if len(x) else None

    ours = total(size / scale[column])
    totals = {
        name: value
        for name, x in zip(blend.methods, sizes, strict=True)
        if (value := total(x / scale[column])) is not None
    }
    linears = totals.get("linear")
    return Scorecard(
        scores=tuple(scores),
        missing=int(missing.sum()),
        cells=int(counted.sum()),
        scaled_mae=ours,
        linear_scaled_mae=linears,
        by_method=totals,
        coverage=None if covered is None else total(covered),
        level=level,
        verdict=_verdict(scores, ours, linears, int(counted.sum()), len(np.unique(event[counted])), forced),
    )


def _scores(
    columns: tuple[str, ...],
    blend: Blend,
    missing: IntArray,
    group: IntArray,
    event: IntArray,
    size: FloatArray,
    sizes: FloatArray,
    covered: FloatArray | None,
    calibrated: BoolArray | None,
) -> list[Score]:
    """A score for each column and gap class that has cells to fill.

    `group` says to which of them each held-out cell belongs; `size` is its error, `sizes` each method's.
    """
    cells = np.bincount(group, minlength=missing.size)

    def mean(x: AnyArray) -> FloatArray:
        total = np.bincount(group, weights=x, minlength=missing.size)
        average: FloatArray = total / np.maximum(cells, 1)
        return average

    mae, rmse = mean(size), np.sqrt(mean(size**2))
    linear_rmse = np.sqrt(mean(sizes[0] ** 2)) if len(sizes) else rmse
    by_method = [mean(x) for x in sizes]
    coverage = None if covered is None else mean(covered)
    pairs = np.unique(np.stack([group, event]), axis=1)
    events = np.bincount(pairs[0], minlength=missing.size)
    scores = []
    for g in np.flatnonzero(missing.reshape(-1) > 0).tolist():
        j, c = divmod(g, N_CLASSES)
        known = cells[g] > 0
        scores.append(
            Score(
                column=str(columns[j]),
                gap=CLASS_NAMES[c],
                missing=int(missing[j, c]),
                cells=int(cells[g]),
                events=int(events[g]),
                method=blend.label(j, c),
                mae=_finite(mae[g]) if known else None,
                rmse=_finite(rmse[g]) if known else None,
                linear_mae=_finite(by_method[0][g]) if known else None,
                linear_rmse=_finite(linear_rmse[g]) if known else None,
                coverage=None if coverage is None or not known else _finite(coverage[g]),
                tested=bool(blend.tested[j, c] and (calibrated is None or calibrated[j, c])),
                by_method={
                    name: error
                    for name, of_method in zip(blend.methods, by_method, strict=True)
                    if known and (error := _finite(of_method[g])) is not None
                },
            )
        )
    return scores


def _verdict(
    scores: list[Score],
    ours: float | None,
    linear: float | None,
    cells: int,
    events: int,
    forced: str | None,
) -> str:
    """One sentence: was anything better than a straight line?"""
    if not scores:
        return "Nothing was missing."
    if ours is None or linear is None:
        return "Too little was observed to hold anything out: the fill is not tested."
    tested = f"on {cells:,} held-out cells in {events:,} gaps"
    others = [s for s in scores if s.method != "linear"]
    if not others:
        why = (
            "asked for"
            if forced
            else "nothing was clearly ahead"
            if events >= FEW
            else "too few gaps to tell"
        )
        return f"Linear interpolation everywhere ({why}), tested {tested}."
    gain = 1 - ours / linear if linear else 0.0
    than = f"{abs(gain):.1%} {'less' if gain >= 0 else 'more'} error than linear interpolation"
    used = ", ".join(
        dict.fromkeys(name for s in others for name in s.method.split(" + ") if name != "linear")
    )
    where = f"{used} (asked for)" if forced else f"{used} where ahead, linear elsewhere"
    return f"{than} {tested}: {where}."


def _finite(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def _number(x: float | None, how: str = ".4g") -> str:
    return "-" if x is None else format(x, how)
