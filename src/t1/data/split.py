"""Ways to split a series into training, validation and test windows, each as window starts.

`by_rows`           rows are given to the parts; windows stay inside their part (the paper's ETT)
`by_window_share`   the windows in time order are shared out; neighbouring parts share up to window-1 rows.
                    That is the paper's protocol for Weather, Exchange, Illness, ..., and a leak.
`disjoint`          rows are shared out, windows stay inside: the same shares without the leak
`by_samples`        samples of one window each are shared out in a random order (patients)
`by_months`         calendar months are given to the parts; windows stay inside each month
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.errors import InputError

Starts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """The first rows of the windows of each part."""

    train: Starts
    valid: Starts
    test: Starts


def by_rows(n_rows: int, window: int, train: int, valid: int, test: int) -> Split:
    """Give the first rows to training, the next to validation, the next to test; later rows are unused."""
    if min(train, valid, test) < 0 or train + valid + test > n_rows:
        raise InputError(
            f"the split asks for {train} + {valid} + {test} rows, the table has {n_rows}.\n"
            "Ask for fewer rows, or split by share with disjoint(n_rows, window)."
        )
    ends = np.cumsum([train, valid, test]).tolist()
    first, second, third = (
        np.arange(end - size, end - window + 1) for end, size in zip(ends, (train, valid, test), strict=True)
    )
    return _checked(Split(first, second, third), n_rows, window)


def by_window_share(n_rows: int, window: int, train: float = 0.7, valid: float = 0.1) -> Split:
    """Share out the windows in time order: floor of `train`, floor of `valid`, the rest is test."""
    n_windows = max(n_rows - window + 1, 0)
    n_train, n_valid = _shares(n_windows, train, valid)
    every = np.arange(n_windows)
    parts = Split(every[:n_train], every[n_train : n_train + n_valid], every[n_train + n_valid :])
    return _checked(parts, n_rows, window)


def disjoint(n_rows: int, window: int, train: float = 0.7, valid: float = 0.1) -> Split:
    """Share out the rows, then cut inside each part, so that no row is in two parts."""
    n_train, n_valid = _shares(n_rows, train, valid)
    return by_rows(n_rows, window, n_train, n_valid, n_rows - n_train - n_valid)


def by_samples(n_rows: int, window: int, *, test: float, valid: float, seed: int) -> Split:
    """Samples of `window` rows: a share for test, a share of the rest for validation, both rounded up."""
    n, rest = divmod(n_rows, window)
    if rest:
        raise InputError(
            f"{n_rows} rows are no whole number of samples of {window} rows.\n"
            "Give every sample the same number of rows."
        )
    n_test = ceil(n * Fraction(str(test)))
    n_valid = ceil((n - n_test) * Fraction(str(valid)))
    order = np.random.default_rng(seed).permutation(n)
    chosen = np.split(order, [n_test, n_test + n_valid])
    of_test, of_valid, of_train = (np.sort(part) * window for part in chosen)
    return _checked(Split(train=of_train, valid=of_valid, test=of_test), n_rows, window)


def by_months(
    times: npt.NDArray[Any], window: int, *, test: Collection[int], valid: Collection[int]
) -> Split:
    """Calendar months for test and validation, the others for training; windows stay inside each month."""
    import pandas as pd

    try:
        stamps = pd.DatetimeIndex(pd.to_datetime(times))
    except ValueError as error:
        raise InputError(f"the column of dates cannot be read: {error}.\nWrite 2014-05-01 01:00.") from None
    months = np.asarray(stamps.year * 12 + stamps.month)
    steps = np.diff(stamps.to_numpy())
    kinds, counts = np.unique(steps, return_counts=True)
    usual = kinds[counts.argmax()] if len(kinds) else steps
    # A new stretch begins with every month of every year, and after rows that are absent inside a month.
    breaks = np.flatnonzero((np.diff(months) != 0) | (steps != usual))
    edges = np.concatenate([[0], breaks + 1, [len(months)]])
    parts: dict[str, list[Starts]] = {"train": [], "valid": [], "test": []}
    for begin, end in pairwise(edges):
        month = int(stamps[begin].month)
        part = "test" if month in test else "valid" if month in valid else "train"
        parts[part].append(np.arange(begin, end - window + 1))
    found = Split(**{part: np.concatenate([*runs, []]).astype(np.int64) for part, runs in parts.items()})
    return _checked(found, len(times), window)


def _shares(count: int, train: float, valid: float) -> tuple[int, int]:
    """Exact floors: 0.7 means seven tenths here, not the binary number a little below."""
    of_train, of_valid = Fraction(str(train)), Fraction(str(valid))
    if of_train < 0 or of_valid < 0 or of_train + of_valid > 1:
        raise InputError(
            f"the shares train={train} and valid={valid} must not be negative, nor more than 1 together.\n"
            "Give shares such as train=0.7, valid=0.1; the rest is the test part."
        )
    return int(count * of_train), int(count * of_valid)


def _checked(split: Split, n_rows: int, window: int) -> Split:
    for name in ("train", "valid", "test"):
        if len(getattr(split, name)) == 0:
            raise InputError(
                f"the {name} part of {n_rows} rows has no window of {window} rows.\n"
                f"Use a shorter window, more rows, or a larger {name} part."
            )
    return split


BY_LENGTH: dict[str, Callable[..., Split]] = {
    "rows": by_rows,
    "window_share": by_window_share,
    "disjoint": disjoint,
    "samples": by_samples,
}
