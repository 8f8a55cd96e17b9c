"""From which columns and which stretch a fill was taken.

The answer comes from hiding: the same fitted fill fills the cell again without a column, without a stretch of
rows, or without a column in a stretch, and what counts is how far the fill moves. That holds for every method
and for blends of them. Beside it stands the attention of T1's heads over columns, which says where the network
looked, not what came of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.errors import InputError
from t1.fill.circle import unwind
from t1.fill.explanation import Explanation
from t1.fill.gaps import Gaps
from t1.fill.judged import JudgedFill
from t1.methods.t1 import T1Fill, standard_rows
from t1.methods.windows import attention_at
from t1.onnx.engine import OnnxT1
from t1.panel import Panel
from t1.registry import did_you_mean

STEP = 48  # rows between two windows of T1: a stretch begins where one of them does
RADII = 96, 192, 384, 768, 1536  # rows on either side of the gap that are tried: the first that suffices
SAME = 0.02  # of the column's spread: fills that differ by less are the same
NEAR = 0, 4, 16  # rows on either side of the gap in which a column is hidden: what moves the fill most counts
COLUMNS = 12  # tried one by one, those that correlate most with the column; the others together
DETAILED = 5  # columns that are also hidden stretch by stretch
DISTANCES = (1, 3, 9, 25, 65)  # rows from the cell at which a stretch begins
CELLS = 2_000_000  # cells of copies that are filled at once


def explain_cell(judged: JudgedFill, panel: Panel, column: str | int, row: int) -> Explanation:
    """Explain the fill of one missing cell of a panel that `judged` can fill."""
    j = _column(panel, column)
    if not 0 <= row < panel.n_rows:
        raise InputError(
            f"there is no row {row}", cure=f"Give one from 0 to {panel.n_rows - 1}.", option="at"
        )
    series = int(np.searchsorted(panel.starts, row, side="right") - 1)
    span = panel.spans[series]
    _check(judged, panel, j, row, span)
    gaps = Gaps.of(panel.observed[:, [j]], panel.starts)
    mine = int(np.flatnonzero(gaps.row == row)[0])
    cell = _FilledCell(judged, j, int(gaps.code[mine]))
    run = _run(panel.observed[:, j], row, span)
    with np.errstate(over="ignore", invalid="ignore"):
        stretch, value = _stretch(cell, panel, series, span, run, row)
        a, b = stretch
        one = panel.take([(series, a, b)])
        hiding = _Hiding(cell, one, row - a, (run[0] - a, run[1] - a), value)
        near, others = _candidates(panel, one, j)
        stretches = _stretches(row - a, b - a)
        columns = hiding.columns(near, others, _attention(cell, one, row - a))
        by_stretch = hiding.stretches(stretches)
        known = [name for name in columns["column"] if name in one.columns][:DETAILED]
        cells = hiding.cells([one.columns.index(name) for name in known], stretches)
        filled = cell.series(one)
    return Explanation(
        column=panel.columns[j],
        row=row,
        series=panel.ids[series] if len(panel.ids) > 1 else None,
        time=None if panel.times is None else panel.times[row],
        value=cell.wound(value),
        method=judged.blend.label(j, cell.code),
        gap=int(gaps.length[mine]),
        spread=float(judged.scale[j]),
        columns=columns,
        stretches=_dated(by_stretch, panel, row),
        cells=cells,
        around=pd.DataFrame(
            {
                "row": np.arange(a, b),
                "time": np.full(b - a, np.datetime64("NaT", "ns"))
                if panel.times is None
                else panel.times[a:b],
                "observed": panel.values[a:b, j],
                "filled": np.where(panel.observed[a:b, j], np.nan, filled),
            }
        ),
    )


# ---------------------------------------------------------------- the cell


@dataclass(frozen=True, eq=False)
class _FilledCell:
    """A cell as its fitted fill sees it: the weights of its own gap, whatever else is hidden."""

    judged: JudgedFill
    column: int
    code: int

    def fills(self, panel: Panel, rows: IntArray) -> FloatArray:
        """The fill of the column at some rows, by the methods that fill this cell, with their weights."""
        judged = self.judged
        panel = unwind(panel, judged.circles, judged.centres)
        weights = judged.blend.weights[self.column, self.code]
        fills = np.full((len(judged.methods), len(rows)), np.nan)
        for k, method in enumerate(judged.methods):
            if weights[k] > 0 or k == 0:
                fills[k] = method.fill(panel).values[rows, self.column]
        same = np.full(len(rows), self.column), np.full(len(rows), self.code, dtype=np.int8)
        return judged.blend.mix(fills, *same)

    def series(self, panel: Panel) -> FloatArray:
        """The column of a panel of one series, filled."""
        return np.array([self.wound(x) for x in self.fills(panel, np.arange(panel.n_rows))])

    def wound(self, value: float) -> float:
        """An angle on its circle; another value as it is."""
        turn = self.judged.circles.get(self.column)
        return float(value) if turn is None else float(value) % turn


@dataclass(frozen=True, eq=False)
class _Hiding:
    """Copies of a stretch in each of which something is hidden, filled together."""

    cell: _FilledCell
    panel: Panel  # of the one stretch
    row: int
    gap: tuple[int, int]  # its first row, and the row after its last
    value: float  # the fill in the whole table, which a stretch gives but for little

    def without(self, masks: list[BoolArray]) -> FloatArray:
        """The fill of the cell without the cells of each mask (rows, vars)."""
        n_rows, size = self.panel.n_rows, self.panel.values.size
        out = []
        at_once = max(1, CELLS // max(size, 1))
        for i in range(0, len(masks), at_once):
            part = masks[i : i + at_once]
            copies = self.panel.take([(0, 0, n_rows)] * len(part))
            copies = copies.with_values(np.where(np.concatenate(part), np.nan, copies.values))
            out.append(self.cell.fills(copies, np.arange(len(part)) * n_rows + self.row))
        return np.concatenate(out) if out else np.zeros(0)

    @cached_property
    def base(self) -> float:
        """The fill with nothing hidden."""
        return float(self.cell.fills(self.panel, np.array([self.row]))[0])

    def columns(self, near: list[int], others: list[int], attention: FloatArray) -> pd.DataFrame:
        """Without each column near the gap, and without all that are left together.

        Hidden in the gap alone, a little and further around it: one of them may move the fill little by chance.
        Not further: a column that is missing for long is another table, on which nothing was judged.
        """
        groups = [[j] for j in near] + [others] * bool(others)
        names = [self.panel.columns[j] for j in near] + [f"{len(others)} other columns"] * bool(others)
        looked = [np.nansum(attention[g]) if np.isfinite(attention[g]).any() else np.nan for g in groups]
        frames = []
        for around in NEAR:
            rows = np.arange(max(self.gap[0] - around, 0), min(self.gap[1] + around, self.panel.n_rows))
            masks = [self._mask(rows, group) for group in groups]
            frames.append(self._frame(masks, {"column": names, "around": [around] * len(groups)}))
        moved = np.abs([frame["moved"].to_numpy() for frame in frames])
        most = np.nan_to_num(moved, nan=np.inf).argmax(axis=0)
        frame = pd.DataFrame([frames[k].iloc[i] for i, k in enumerate(most)]).assign(attention=looked)
        return frame.sort_values("moved", key=np.abs, ascending=False, ignore_index=True, kind="stable")

    def stretches(self, stretches: list[tuple[int, int]]) -> pd.DataFrame:
        """Without each stretch of rows, of all columns."""
        every = list(range(self.panel.n_vars))
        masks = [self._mask(self._rows(*ends), every) for ends in stretches]
        first, last = (list(column) for column in zip(*stretches, strict=True))
        return self._frame(masks, {"first": first, "last": last})

    def cells(self, columns: list[int], stretches: list[tuple[int, int]]) -> pd.DataFrame:
        """Without each column in each stretch."""
        pairs = [(j, ends) for j in columns for ends in stretches]
        masks = [self._mask(self._rows(*ends), [j]) for j, ends in pairs]
        about: dict[str, list[Any]] = {
            "column": [self.panel.columns[j] for j, _ in pairs],
            "first": [first for _, (first, _) in pairs],
            "last": [last for _, (_, last) in pairs],
        }
        return self._frame(masks, about).drop(columns="without")

    def _rows(self, first: int, last: int) -> IntArray:
        return np.arange(self.row + first, self.row + last + 1)

    def _mask(self, rows: IntArray, columns: list[int]) -> BoolArray:
        mask = np.zeros(self.panel.values.shape, dtype=bool)
        mask[rows[:, None], np.array(columns)] = True
        return mask & self.panel.observed

    def _frame(self, masks: list[BoolArray], about: dict[str, list[Any]]) -> pd.DataFrame:
        """Where nothing was observed nothing can be hidden, and the fill does not move."""
        base = self.base
        without = np.full(len(masks), base)
        some = [i for i, mask in enumerate(masks) if mask.any()]
        if some:
            found = self.without([masks[i] for i in some])
            without[some] = np.where(np.isfinite(found), found, np.nan)
        moved = without - base
        wound = [self.cell.wound(self.value + x) for x in moved]
        return pd.DataFrame({**about, "without": wound, "moved": moved})


def _stretch(
    cell: _FilledCell, panel: Panel, series: int, span: slice, run: tuple[int, int], row: int
) -> tuple[tuple[int, int], float]:
    """The shortest stretch around the gap with which the cell is filled as with a longer one, and the fill."""
    found: list[tuple[tuple[int, int], float]] = []
    for radius in RADII:
        a = max(span.start, run[0] - radius)
        a -= (a - span.start) % STEP
        b = min(span.stop, run[1] + radius)
        value = float(cell.fills(panel.take([(series, a, b)]), np.array([row - a]))[0])
        if found and abs(found[-1][1] - value) <= SAME * cell.judged.scale[cell.column]:
            return found[-1][0], value
        found.append(((a, b), value))
        if (a, b) == (span.start, span.stop):
            break
    return found[-1]


def _run(observed: BoolArray, row: int, span: slice) -> tuple[int, int]:
    """The first row of the gap, and the row after its last."""
    seen = np.flatnonzero(observed[span]) + span.start
    k = int(np.searchsorted(seen, row))
    return int(seen[k - 1]) + 1 if k else span.start, int(seen[k]) if k < len(seen) else span.stop


def _stretches(row: int, n_rows: int) -> list[tuple[int, int]]:
    """Rows from the cell, (first, last), from the farthest before it to the farthest after it."""
    edges = [*DISTANCES, max(row, n_rows - 1 - row, DISTANCES[-1]) + 1]
    after = [(a, b - 1) for a, b in pairwise(edges)]
    every = [*((-b, -a) for a, b in after[::-1]), (0, 0), *after]
    cut = [(max(first, -row), min(last, n_rows - 1 - row)) for first, last in every]
    return [(first, last) for first, last in cut if first <= last]


def _candidates(panel: Panel, one: Panel, j: int) -> tuple[list[int], list[int]]:
    """Columns with anything to hide: the column itself and those that go most with it, and the others."""
    there = [k for k in np.flatnonzero(one.known).tolist() if k != j]
    if len(there) > COLUMNS:
        sample = panel.values[:: max(1, panel.n_rows // 4000)]
        with np.errstate(divide="ignore"):
            like = pd.DataFrame(sample).corrwith(pd.Series(sample[:, j])).abs().fillna(0).to_numpy()
        there.sort(key=lambda k: -like[k])
    return [*([j] if one.known[j] else []), *there[:COLUMNS]], there[COLUMNS:]


def _attention(cell: _FilledCell, one: Panel, row: int) -> FloatArray:
    """The share of its attention that T1 gives each column when it fills this one; NaN where it did not."""
    looked = np.full(one.n_vars, np.nan)
    weights = cell.judged.blend.weights[cell.column, cell.code]
    panel = unwind(one, cell.judged.circles, cell.judged.centres)
    for k, method in enumerate(cell.judged.methods):
        if not isinstance(method, T1Fill) or isinstance(method.network, OnnxT1) or weights[k] == 0:
            continue
        usual = next((p for p in method.periods.values() if p is not None), None)
        for group, relation in zip(method.groups, method.relations, strict=True):
            own = np.flatnonzero(group.columns[: group.n_own] == cell.column)
            if len(own):
                values = standard_rows(method.scaler, panel.values, group)
                period = method.periods.get(panel.ids[0], usual)
                heads = attention_at(method.network, values, period, relation, row)
                looked[group.columns] = heads[int(own[0])]
    return looked


# ---------------------------------------------------------------- checks


def _column(panel: Panel, column: str | int) -> int:
    if isinstance(column, str):
        if column not in panel.columns:
            raise InputError(
                f"there is no column {column!r} that is filled",
                cure=did_you_mean(column, panel.columns),
                option="column",
            )
        return panel.columns.index(column)
    return column


def _check(judged: JudgedFill, panel: Panel, j: int, row: int, span: slice) -> None:
    name = panel.columns[j]
    if not judged.alive[j]:
        named = panel.observed[:, j].any()
        raise InputError(
            f"{name!r} is taken for an id, so it was not filled"
            if named
            else f"no value of {name!r} is known, so it was not filled",
            cure="Choose another column.",
            option="column",
        )
    if panel.observed[row, j]:
        empty = np.flatnonzero(~panel.observed[span, j]) + span.start
        if not len(empty):
            raise InputError(
                f"{name!r} has no missing value there, so nothing was filled",
                cure="Choose a column with gaps.",
                option="column",
            )
        near = int(empty[np.abs(empty - row).argmin()])
        at = near if panel.times is None else str(panel.times[near].astype("M8[s]")).replace("T", " ")
        raise InputError(
            f"{name!r} was observed there ({panel.values[row, j]:g}), so nothing was filled",
            cure=f"The nearest missing one is at {at}.",
            option="at",
        )


def _dated(frame: pd.DataFrame, panel: Panel, row: int) -> pd.DataFrame:
    """With the times at which each stretch begins and ends, or the rows."""
    for k, (name, end) in enumerate((("first", "start"), ("last", "end"))):
        rows = row + frame[name].to_numpy()
        frame.insert(2 + k, end, rows if panel.times is None else panel.times[rows])
    return frame
