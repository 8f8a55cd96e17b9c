"""A table without dates in which a count starts again: years of each country, minutes of each patient."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from t1.arrays import FloatArray, IntArray
from t1.data.time_columns import part_of

Columns = Mapping[int, tuple[str, Callable[[int], list[str]]]]  # names, and how to get the texts
Known = Mapping[
    int, tuple[str, Callable[[], FloatArray | None]]
]  # names, and how to get the numbers, if it has any
EACH = 5  # rows that a series has at least
# names of a column of numbers that may name series; of text any column may
THING = re.compile(
    r"id|subject|patient|person|individual|participant|child|animal|plant|tree|plot|cow|pig|rat|mouse|fish"
    r"|firm|company|bank|airline|country|state|county|region|city|store|shop|dept|department|item|product"
    r"|sku|customer|branch|household|school|station|site|sensor|device|meter|well|turbine|engine|unit"
    r"|machine|asset|cell|vehicle|trip|flight|batch|run|trial|session|recording|episode|experiment"
    r"|replicate|sample"
)


def named_by_restarts(columns: Columns, numbers: Known) -> tuple[int, ...]:
    """The column that has one value in each block of rows through which a column of numbers counts up; () if none has.

    A sum that is set back every day has the day beside it, which is a part of the time and names no series.
    """
    known = {j: column for j, (_, of) in numbers.items() if (column := of()) is not None}
    things = {j: column for j, column in known.items() if is_thing(numbers[j][0])}
    for j, (name, texts) in columns.items():
        if j not in known and part_of(name) is None:
            things[j] = pd.factorize(np.array(texts(j), dtype=object))[0].astype(np.float64)
    begins = {j: rows for j, values in things.items() if (rows := _one_block_each(values)) is not None}
    for k, count in known.items() if begins else ():
        falls = np.flatnonzero(np.diff(count) <= 0) + 1
        for j, rows in begins.items():
            if j != k and np.array_equal(falls, rows):
                return (j,)
    return ()


def is_thing(name: str) -> bool:
    """Whether a column is called like things of which there are many, each with a number: firms, stores, subjects."""
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(THING.fullmatch(word) for word in words)


def _one_block_each(values: FloatArray) -> IntArray | None:
    """The rows where a value takes over from the last one, if each has all of its rows there and enough of them."""
    if np.isnan(values).any() or (values != np.rint(values)).any():
        return None
    begins = np.flatnonzero(np.diff(values)) + 1
    lengths = np.diff([0, *begins.tolist(), len(values)])
    return (
        begins if len(begins) and lengths.min() >= EACH and len(np.unique(values)) == len(lengths) else None
    )
