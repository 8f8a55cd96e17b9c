"""Several series in one table: which columns tell them apart where time stamps repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from t1.arrays import AnyArray, IntArray, TimeArray

REPEATED = (
    0.1  # of all rows share their time stamp with an earlier one: more than the repeated hour of autumn
)
MOST_COLUMNS = 6  # that are tried
USUAL = (
    "id",
    "station",
    "site",
    "symbol",
    "ticker",
    "sensor",
    "name",
    "device",
    "location",
    "region",
    "code",
)


def is_id_name(name: str) -> bool:
    """Whether a column of numbers is called station, device_id and the like."""
    words = re.split(r"[^a-z]+", name.lower())
    return any(word in words for word in USUAL)


def repeated(times: TimeArray) -> int:
    """How many rows have the time stamp of an earlier one, if these are more than a slip; else 0."""
    if len(times) < 3 or (np.diff(times) > np.timedelta64(0)).all():
        return 0
    n = len(times) - len(np.unique(times))
    return n if n >= max(REPEATED * len(times), 2) else 0


def tell_apart(
    times: TimeArray, columns: Mapping[int, tuple[str, Callable[[int], list[str]]]]
) -> tuple[int, ...]:
    """The one or two columns without which time stamps repeat and with which they do not; () if none do.

    A column whose values hardly repeat tells rows apart, not series, so each must come up several times.
    """
    n_rows = len(times)
    if not repeated(times):
        return ()
    stamps = pd.factorize(times)[0].astype(np.int64)
    codes: dict[int, IntArray] = {}
    order = sorted(columns, key=lambda j: not any(word in columns[j][0].lower() for word in USUAL))
    for j in order[: 2 * MOST_COLUMNS]:
        code = pd.factorize(np.array(columns[j][1](j), dtype=object))[0].astype(np.int64)
        if len(codes) < MOST_COLUMNS and code.max() > 0 and 3 * (code.max() + 1) <= n_rows:
            codes[j] = code
    for n in (1, 2):
        for some in combinations(codes, n):
            key = np.zeros(n_rows, dtype=np.int64)
            for j in some:
                key = key * (codes[j].max() + 1) + codes[j]
            pairs = key * (stamps.max() + 1) + stamps
            if len(np.unique(pairs)) >= 0.999 * n_rows and 3 * len(np.unique(key)) <= n_rows:
                return some
    return ()


def join_ids(texts: Iterable[Iterable[str]]) -> AnyArray:
    """The id of each row (rows,), of the columns that tell series apart."""
    return np.array([" / ".join(parts) for parts in zip(*texts, strict=True)], dtype=object)


def told_series(names: Iterable[str]) -> str:
    """What is said where columns were found that tell series apart."""
    return f"time stamps repeat, so each {' and '.join(map(repr, names))} is taken as a series of its own"
