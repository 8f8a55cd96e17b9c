"""Gaps of a panel: runs of missing cells along time, how long they are, and of which class.

A gap is *inner* when its series has observations of the column before and after it, else it lies at the
*edge*: filling it is extrapolation, which is harder, so edges are classes of their own. Where a series has none
at all, the column was *never* observed there: only other series and other columns tell its level.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Codes, FloatArray, IntArray, Lengths
from t1.data.blocks import column_blocks
from t1.panel import Panel

INNER = ((1, 1), (2, 5), (6, 23), (24, 95), (96, None))  # first and last length of each class, in rows
EDGE = ((1, 23), (24, None))
CLASS_NAMES = ("1", "2-5", "6-23", "24-95", "96+", "edge 1-23", "edge 24+", "never")
N_CLASSES = len(CLASS_NAMES)
N_INNER = len(INNER)
NEVER = N_INNER + len(EDGE)
SIDES = (range(N_INNER), range(N_INNER, NEVER), range(NEVER, N_CLASSES))  # they say nothing about each other
_INNER_STARTS, _EDGE_STARTS = [first for first, _ in INNER], [first for first, _ in EDGE]
_INNER_FIRST, _EDGE_FIRST = np.array(_INNER_STARTS), np.array(_EDGE_STARTS)
# a typical length of each class: how much wider an untested class is than a tested one follows from it
TYPICAL = np.array([1.0, 3.0, 12.0, 48.0, 192.0, 12.0, 96.0, 1.0])


class Counted(NamedTuple):
    """What a counter had counted before and after the gap of each cell (cells,), and its pace."""

    before: FloatArray  # the last observation before the gap, NaN where there is none
    after: FloatArray
    pace: float  # by which it rises from row to row where it does not fall


class Runs(NamedTuple):
    """Runs of missing cells, sorted by column and row; each covers rows `start` to `stop - 1`."""

    column: IntArray
    start: IntArray
    stop: IntArray
    edge: BoolArray  # no observation of the column on one side, within the series
    never: BoolArray  # nor on the other

    @property
    def length(self) -> IntArray:
        return self.stop - self.start

    @property
    def code(self) -> Codes:
        return gap_class(self.length, self.edge, self.never)

    def take(self, which: BoolArray) -> "Runs":
        column, start, stop, edge, never = self
        return Runs(column[which], start[which], stop[which], edge[which], never[which])


def find_runs(observed: BoolArray, starts: IntArray) -> Runs:
    """All gaps of `observed` (rows, vars); a run ends where its series does."""
    n_rows = len(observed)
    borders = starts[(starts > 0) & (starts < n_rows)]
    none = np.zeros(0, dtype=np.intp)
    parts = [(none, none, none)]
    for block in column_blocks(observed.shape):
        missing = np.ascontiguousarray(~observed[:, block].T)  # (vars, rows): each column in one piece
        fresh = missing.copy()
        fresh[:, 1:] &= ~missing[:, :-1]
        last = missing.copy()
        last[:, :-1] &= ~missing[:, 1:]
        if n_rows:
            fresh[:, borders] = missing[:, borders]
            last[:, borders - 1] = missing[:, borders - 1]
        first = np.flatnonzero(fresh)
        column, start = np.divmod(first, max(n_rows, 1))
        parts.append((column + block.start, start, start + np.flatnonzero(last) - first + 1))
    column, start, stop = (np.concatenate(same) for same in zip(*parts, strict=True))
    ends = np.append(borders, n_rows)
    at_start, at_end = np.isin(start, np.append(starts, 0)), np.isin(stop, ends)
    return Runs(column, start, stop, at_start | at_end, at_start & at_end)


def gap_class(lengths: npt.NDArray[Any], edge: BoolArray, never: BoolArray | bool = False) -> Codes:
    """The class of each gap by its length, whether it lies at an edge, and whether at both."""
    inner = np.searchsorted(_INNER_FIRST, lengths, side="right") - 1
    outer = N_INNER + np.searchsorted(_EDGE_FIRST, lengths, side="right") - 1
    return np.where(never, NEVER, np.where(edge, outer, inner)).astype(np.int8)


def class_of(length: int, edge: bool, never: bool) -> int:
    """The class of one gap."""
    if never:
        return NEVER
    if edge:
        return N_INNER + bisect_right(_EDGE_STARTS, length) - 1
    return bisect_right(_INNER_STARTS, length) - 1


@dataclass(frozen=True, eq=False)
class Gaps:
    """The missing cells of a panel, column by column and in each from first to last: arrays (cells,)."""

    row: IntArray
    column: IntArray
    length: Lengths  # of the run the cell lies in
    code: Codes  # its class
    distance: Lengths  # rows to the nearest observation of the column

    @classmethod
    def of(cls, observed: BoolArray, starts: IntArray) -> "Gaps":
        runs = find_runs(observed, starts)
        length = runs.length
        row = np.repeat(runs.start, length) + _ramp(length)
        before = _ramp(length) + 1
        after = np.repeat(length, length) - _ramp(length)
        n_rows = len(observed)
        at_start = np.isin(runs.start, np.append(starts, 0))
        at_end = np.isin(runs.stop, np.append(starts[1:], n_rows))
        far = np.iinfo(np.int32).max
        before = np.where(np.repeat(at_start, length), far, before)
        after = np.where(np.repeat(at_end, length), far, after)
        nearest = np.minimum(before, after)
        return cls(
            row=row,
            column=np.repeat(runs.column, length),
            length=np.repeat(length, length).astype(np.int32),
            code=np.repeat(runs.code, length),
            distance=np.where(np.repeat(runs.never, length), np.repeat(length, length), nearest).astype(
                np.int32
            ),
        )

    def __len__(self) -> int:
        return len(self.row)

    def take(self, cells: BoolArray) -> "Gaps":
        """Some of the cells."""
        return Gaps(
            self.row[cells], self.column[cells], self.length[cells], self.code[cells], self.distance[cells]
        )

    def count(self, panel: Panel, alive: BoolArray) -> IntArray:
        """Missing cells (vars, classes) of the panel's columns that can be filled, but for absent rows."""
        n_vars, group = panel.n_vars, self.column * N_CLASSES + self.code
        if panel.absent is not None:
            group = group[~panel.absent[self.row]]
        count = np.bincount(group, minlength=n_vars * N_CLASSES)
        return np.where(alive[:, None], count.reshape(n_vars, N_CLASSES), 0)

    def around(self, values: FloatArray, starts: IntArray, part: slice) -> Counted:
        """What is known around the gap of each cell of one column."""
        row = self.row[part]
        column = values[:, self.column[part][0]] if len(row) else np.zeros(0)
        first = np.flatnonzero(np.diff(row, prepend=-2) != 1)
        borders = np.flatnonzero(np.isin(row, starts))
        first = np.union1d(first, borders)
        size = np.diff(np.append(first, len(row)))
        begin, end = np.repeat(row[first], size), np.repeat(row[first] + size, size)
        at_start, at_end = np.isin(begin, np.append(starts, 0)), np.isin(end, np.append(starts, len(values)))
        before = np.where(at_start, np.nan, column[np.maximum(begin - 1, 0)])
        after = np.where(at_end, np.nan, column[np.minimum(end, len(values) - 1)])
        steps = np.diff(column)
        steps[starts[(starts > 0) & (starts < len(column))] - 1] = np.nan
        rises = steps[steps >= 0]
        return Counted(before, after, float(rises.mean()) if len(rises) else 0.0)


def _ramp(sizes: IntArray) -> IntArray:
    """0, 1, ..., size - 1 for each size, one after the other."""
    total = int(sizes.sum())
    begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.arange(total) - begin


def put_missing(table: npt.NDArray[Any], observed: BoolArray, cells: npt.NDArray[Any]) -> None:
    """Write `cells`, one for each missing cell column by column, into a table (rows, vars)."""
    begin = 0
    for block in column_blocks(observed.shape):
        missing = ~observed[:, block].T
        end = begin + int(np.count_nonzero(missing))
        table[:, block].T[missing] = cells[begin:end]
        begin = end
