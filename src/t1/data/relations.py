"""Columns that say the same: exact copies, rescaled ones, and sums of other columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from t1.arrays import FloatArray

ROWS = 2_000  # that are compared
MOST_COLUMNS = 64  # for pairs
MOST_SUMMED = 16  # for sums of two
LEAST = 20  # rows in which all of them are observed


def find_relations(values: FloatArray, columns: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """For each column that follows from others: how, in words, and from which."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    n_columns = len(columns)
    if n_columns > MOST_COLUMNS or len(values) < LEAST:
        return found
    rows = np.linspace(0, len(values) - 1, min(len(values), ROWS)).astype(int)
    part = values[rows]
    for a, b in combinations(range(n_columns), 2):
        both = part[:, [a, b]][~np.isnan(part[:, [a, b]]).any(axis=1)]
        if len(both) < LEAST or np.ptp(both[:, 0]) == 0 or np.ptp(both[:, 1]) == 0:
            continue
        how = _same(both[:, 0], both[:, 1])
        if how is not None:
            found.setdefault(columns[b], (f"{how} {columns[a]!r}", (columns[a],)))
            found.setdefault(columns[a], (f"{how} {columns[b]!r}", (columns[b],)))
    if n_columns <= MOST_SUMMED:
        for total in range(n_columns):
            if columns[total] in found:
                continue
            others = [j for j in range(n_columns) if j != total]
            for some in combinations(others, 2):
                if _is_sum(part, total, some):
                    names = tuple(columns[j] for j in some)
                    found[columns[total]] = (f"the sum of {names[0]!r} and {names[1]!r}", names)
                    break
            else:
                if len(others) > 2 and _is_sum(part, total, tuple(others)):
                    names = tuple(columns[j] for j in others)
                    found[columns[total]] = ("the sum of all others", names)
    return found


def _same(a: FloatArray, b: FloatArray) -> str | None:
    if (a == b).all():
        return "an exact copy of"
    away, other = a - a.mean(), b - b.mean()
    wrong = np.abs(other - (away @ other) / (away @ away) * away).max()
    return "a rescaled copy of" if wrong <= 2e-3 * b.std() and np.unique(a).size > LEAST / 2 else None


def _is_sum(part: FloatArray, total: int, some: tuple[int, ...]) -> bool:
    first = part[:LEAST]
    wrong = np.abs(first[:, total] - first[:, some].sum(axis=1))  # NaN where one of them is missing
    if (wrong > 1e-6 * np.fmax.reduce(np.abs(part[:, total]), initial=1e-12)).any():
        return False  # as most are not: the first rows show it
    cells = part[:, [total, *some]]
    cells = cells[~np.isnan(cells).any(axis=1)]
    if len(cells) < LEAST or (np.ptp(cells, axis=0) == 0).any():
        return False
    wrong = np.abs(cells[:, 0] - cells[:, 1:].sum(axis=1)).max()
    return bool(wrong <= 1e-6 * max(np.abs(cells[:, 0]).max(), 1e-12))
