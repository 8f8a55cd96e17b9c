"""Rows of events: a logger was started, stopped or read out; nothing was measured then, so nothing is to be filled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t1.arrays import BoolArray, FloatArray, TimeArray
from t1.data.csv.cells import CellLook, look
from t1.data.csv.scan import Cells

MOST = 5  # rows of events at either end that are on the step of the others: more may be what is to be filled
SELDOM = 0.2  # of the rows at most have a text in a column of events


def find_events(
    values: FloatArray, cells: Cells, marks: Sequence[int], times: TimeArray | None
) -> BoolArray | None:
    """The rows (rows,) in which nothing was measured, and a column of text has one; None if there are none.

    `values` (rows, vars) are the columns to fill, `marks` those of text. Events are few rows before the first and
    after the last measurement, and any off the step of the others: a remark on it is one about a gap.
    """
    if not marks:
        return None
    silent: BoolArray = np.asarray(np.isnan(values).all(axis=1))
    if not silent.any() or silent.all():
        return None
    marked = np.zeros(silent.shape, dtype=np.bool_)
    for i in np.flatnonzero(silent).tolist():
        marked[i] = any(look(cells.cell(i, j)) is not CellLook.MISSING for j in marks)
    events: BoolArray = marked & (_outside(silent) | _off_step(times, marked))
    return events if events.any() else None


def told_events(n: int) -> str:
    """What is said of them."""
    rows, are = ("1 row", "is") if n == 1 else (f"{n} rows", "are")
    return f"{rows} of events without a measurement (start, stop, end of file) {are} left alone"


def _outside(silent: BoolArray) -> BoolArray:
    """The rows before the first measurement and after the last one, where they are few."""
    seen = np.flatnonzero(~silent)
    rows = np.arange(len(silent))
    before, after = rows < seen[0], rows > seen[-1]
    return np.asarray((before & (before.sum() <= MOST)) | (after & (after.sum() <= MOST)))


def _off_step(times: TimeArray | None, events: BoolArray) -> BoolArray:
    """The rows whose time is no multiple of the step of the others, if these have one."""
    none = np.zeros(events.shape, dtype=np.bool_)
    if times is None:
        return none
    stamps = times.astype("i8")
    others = stamps[~events]
    step = int(np.median(np.diff(others))) if len(others) > 2 else 0
    if step <= 0 or ((others - others[0]) % step).any():
        return none
    return np.asarray((stamps - others[0]) % step != 0)
