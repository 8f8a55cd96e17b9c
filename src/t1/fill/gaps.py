"""Gaps of a table (time, vars): the runs of missing cells along time, their lengths and length classes.

`starts` are the first rows of the series of a panel that are stacked in one table; a run ends where they do.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Codes, IntArray, Lengths
from t1.data.blocks import column_blocks

CLASSES = ((1, 1), (2, 5), (6, 23), (24, 95), (96, None))  # first and last length of each class, in rows
CLASS_NAMES = ("1", "2-5", "6-23", "24-95", "96+")
N_CLASSES = len(CLASSES)
_FIRST = np.array([first for first, _ in CLASSES])


class Runs(NamedTuple):
    """Runs of missing cells, sorted by column and row; each covers rows `start` to `stop - 1`."""

    column: IntArray
    start: IntArray
    stop: IntArray

    def cell_lengths(self) -> Lengths:
        """The length of the run that each missing cell lies in, column by column."""
        length = (self.stop - self.start).astype(np.int32)
        return np.repeat(length, length)


def find_runs(observed: BoolArray, starts: IntArray | None = None) -> Runs:
    """All gaps of `observed` (time, vars)."""
    n_rows = len(observed)
    borders = np.zeros(0, dtype=np.intp) if starts is None else starts[(starts > 0) & (starts < n_rows)]
    none = np.zeros(0, dtype=np.intp)
    parts = [(none, none, none)]
    for block in column_blocks(observed.shape):
        missing = np.ascontiguousarray(~observed[:, block].T)  # (vars, time): each column in one piece
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
    return Runs(*(np.concatenate(same) for same in zip(*parts, strict=True)))


def gap_lengths(observed: BoolArray, starts: IntArray | None = None) -> Lengths:
    """For every missing cell (time, vars) the length of the run it lies in, 0 where observed."""
    lengths = np.zeros(observed.shape, dtype=np.int32)
    put_missing(lengths, observed, find_runs(observed, starts).cell_lengths())
    return lengths


def put_missing(table: npt.NDArray[Any], observed: BoolArray, cells: npt.NDArray[Any]) -> None:
    """Write `cells`, one for each missing cell column by column, into a table (time, vars)."""
    begin = 0
    for block in column_blocks(observed.shape):
        missing = ~observed[:, block].T
        end = begin + int(np.count_nonzero(missing))
        table[:, block].T[missing] = cells[begin:end]
        begin = end


def gap_class(lengths: npt.NDArray[Any]) -> Codes:
    """The class of each gap length, -1 for a length of 0 (observed)."""
    return (np.searchsorted(_FIRST, lengths, side="right") - 1).astype(np.int8)
