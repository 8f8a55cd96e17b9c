"""Tables with a series in each row and no dates (V1, V2, V3, ... as in the M4 competition), of different lengths."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from t1.arrays import BoolArray, FloatArray
from t1.data.data_file import DataFile

NUMBERED = re.compile(r"(\D*?)(\d+)")  # V2, 2
LEAST_STEPS = 10  # columns; fewer may be anything
SERIES_IN_ROWS = (
    "a series in each row: filled along the rows; what is empty behind the last value of a row stays empty"
)


def are_series_in_rows(file: DataFile) -> bool:
    """Whether rows are series of different lengths: a name in front, numbered columns, and mostly empty ends."""
    if file.time is not None or file.ids is not None or not are_numbered(file.columns):
        return False
    first = file.all_columns[0]
    if not file.passed_through.get(first, "").startswith("holds text"):
        return False
    names = file.texts(first)
    if len(names) < 2 or len(set(names)) < len(names):
        return False
    ends = behind_the_end(file.values.T)
    missing = int(np.isnan(file.values).sum())
    return bool(2 * ends.any(axis=0).sum() >= len(names) and 2 * ends.sum() > missing)


def are_numbered(names: Sequence[str]) -> bool:
    """Whether columns are called V2, V3, V4 and so on, or 1, 2, 3."""
    found = [NUMBERED.fullmatch(name.strip()) for name in names]
    parts = [(match[1], int(match[2])) for match in found if match is not None]
    if len(parts) < max(len(names), LEAST_STEPS):
        return False
    prefix, first = parts[0]
    return first < LEAST_STEPS and parts == [(prefix, first + k) for k in range(len(parts))]


def behind_the_end(values: FloatArray) -> BoolArray:
    """The cells (steps, series) behind the last value of their series."""
    seen = ~np.isnan(values)
    return np.asarray(~np.logical_or.accumulate(seen[::-1], axis=0)[::-1])
