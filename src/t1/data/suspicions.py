"""What is odd about a table's numbers, for a person to look at: stuck sensors, rates of their own, copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from t1.arrays import FloatArray
from t1.data.kinds import Kind

STUCK = 12  # equal values in a row, at least
SHARE = 0.8  # of the rows that a column with a rate of its own must have where one is due


def suspicions(values: FloatArray, columns: Sequence[str], kinds: Mapping[str, Kind]) -> list[str]:
    """Sentences about the columns of a table (rows, vars) that deserve a look before they are filled."""
    found = []
    for j, name in enumerate(columns):
        kind = kinds[name]
        measured = kind.name in ("number", "non-negative", "percent", "share", "angle")
        if measured and (stuck := stuck_stretch(values[:, j])) is not None:
            begin, length, value = stuck
            found.append(
                f"{name!r} stands still at {value:g} for {length} rows (from row {begin + 1}): "
                "a stuck sensor may be missing data in disguise."
            )
        if (every := own_rate(values[:, j])) > 1:
            found.append(
                f"{name!r} has a value on every {every} rows: it is sampled more slowly than the table."
            )
        if not kind.fillable:
            found.append(f"{name!r} is taken for {kind.name} ({kind.evidence}): a guess would mean nothing.")
        if kind.of:
            found.append(f"{name!r} is {kind.evidence.rpartition('; ')[2]}.")
    return found


LEAST_MARKS = 5
MOSTLY_BLANK, NEARLY_BLANK = 0.5, 0.2  # fewer cells of a column have a value, where it is 1 or another
DATED = re.compile(r"^\d|(19|20)\d{2}")  # 1/22/20, Jan 2010


def blank_may_mean(column: FloatArray, name: str) -> bool:
    """Whether a column is mostly blank and otherwise one value: a mark, whose absence may well mean no, not missing.

    A value other than 1 may be a setting that is read now and then; it may be the same by chance where there are few,
    or in a column for each date.
    """
    value = column[~np.isnan(column)]
    if len(column) < 10 or not 1 < len(value) < MOSTLY_BLANK * len(column) or (value != value[0]).any():
        return False
    seldom = LEAST_MARKS <= len(value) < NEARLY_BLANK * len(column)
    return bool(value[0] == 1 or (seldom and not DATED.search(name)))


WHY_BLANK = "is mostly blank, and every value is the same: a blank may mean 0 or no"


def told_blank(name: str) -> str:
    """What is said of a column that is left alone for its blanks."""
    return (
        f"column {name!r} is mostly blank and every value is the same, so a blank may mean 0 or no; "
        "it is left as it is (to have it filled all the same, name it: columns)."
    )


def told_nothing(name: str) -> str:
    """What is said of a column to fill in which nothing was observed."""
    return f"column {name!r} has no observed value, so it stays empty."


def told_empty(name: str, what: str, n_empty: int, texts: Iterable[str] = ()) -> str:
    """What is said of a column that holds no numbers and has empty cells; `texts`: the others, if it is text."""
    texts = list(texts)
    numbers = bool(texts) and all(map(_is_number, texts))
    what = "numbers as text" if numbers else what
    cure = " (turn it into numbers to have them filled)" if numbers else ""
    return f"column {name!r} holds {what}; its empty cells ({n_empty}) stay empty{cure}."


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def stuck_stretch(column: FloatArray) -> tuple[int, int, float] | None:
    """Where a column that usually changes stands still for long: its first row, how many rows, and the value.

    Zero is left out: it does not rain for weeks.
    """
    seen = np.flatnonzero(~np.isnan(column))
    if len(seen) < 4 * STUCK:
        return None
    x = column[seen]
    edges = np.concatenate([[0], np.flatnonzero(np.diff(x) != 0) + 1, [len(x)]])
    lengths = np.diff(edges)
    usual = float(np.median(lengths))
    k = int(np.where(x[edges[:-1]] == 0, 0, lengths).argmax())
    if lengths[k] < max(STUCK, 10 * usual) or x[edges[k]] in (x.min(), x.max(), 0) or len(lengths) < STUCK:
        return None
    return int(seen[edges[k]]), int(lengths[k]), float(x[edges[k]])


def own_rate(column: FloatArray) -> int:
    """How many rows lie between the values of a column that is sampled more slowly; 1 for any other."""
    seen = np.flatnonzero(~np.isnan(column))
    if len(seen) < 8 or len(seen) > 0.6 * len(column):
        return 1
    steps = np.diff(seen)
    step = int(np.gcd.reduce(steps))
    due = (len(column) - seen[0] + step - 1) // step
    return step if step > 1 and len(seen) >= SHARE * due else 1
