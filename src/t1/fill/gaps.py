"""Gaps of a table (time, vars): the runs of missing cells along time, their lengths and length classes.

`starts` are the first rows of the series of a panel that are stacked in one table; a run ends where they do.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
Lengths = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int8]

CLASSES = ((1, 1), (2, 5), (6, 23), (24, 95), (96, None))  # first and last length of each class, in rows
CLASS_NAMES = ("1", "2-5", "6-23", "24-95", "96+")
N_CLASSES = len(CLASSES)
_FIRST = np.array([first for first, _ in CLASSES])


class Runs(NamedTuple):
    """Runs of missing cells, sorted by column and row; each covers rows `start` to `stop - 1`."""

    column: IntArray
    start: IntArray
    stop: IntArray


def find_runs(observed: BoolArray, starts: IntArray | None = None) -> Runs:
    """All gaps of `observed` (time, vars)."""
    n_rows = len(observed)
    missing = np.ascontiguousarray(~observed.T)  # (vars, time): each column in one piece
    fresh = missing.copy()
    fresh[:, 1:] &= ~missing[:, :-1]
    last = missing.copy()
    last[:, :-1] &= ~missing[:, 1:]
    if starts is not None and n_rows:
        borders = starts[(starts > 0) & (starts < n_rows)]
        fresh[:, borders] = missing[:, borders]
        last[:, borders - 1] = missing[:, borders - 1]
    first = np.flatnonzero(fresh)
    column, start = np.divmod(first, max(n_rows, 1))
    return Runs(column, start, start + np.flatnonzero(last) - first + 1)


def gap_lengths(observed: BoolArray, starts: IntArray | None = None) -> Lengths:
    """For every missing cell (time, vars) the length of the run it lies in, 0 where observed."""
    runs = find_runs(observed, starts)
    length = (runs.stop - runs.start).astype(np.int32)
    by_column = np.zeros(observed.shape[::-1], dtype=np.int32)
    by_column[~observed.T] = np.repeat(length, length)
    return np.ascontiguousarray(by_column.T)


def gap_class(lengths: npt.NDArray[Any]) -> Codes:
    """The class of each gap length, -1 for a length of 0 (observed)."""
    return (np.searchsorted(_FIRST, lengths, side="right") - 1).astype(np.int8)
