"""A row of a stream: what comes in, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from t1.arrays import BoolArray, FloatArray
from t1.errors import InputError
from t1.registry import did_you_mean

NEWEST, REVISED, FINAL = "newest", "revised", "final"


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveRow:
    """One row as it is known now."""

    time: np.datetime64 | int  # when it is; where rows have no time, its number
    id: Any  # the series it belongs to
    values: FloatArray  # (vars,): observed or filled; NaN where nothing can be said
    observed: BoolArray  # (vars,)
    lo: FloatArray  # (vars,), NaN where observed
    hi: FloatArray
    status: str  # newest: first told; revised: told again; final: not told again


def row_values(row: Any, columns: tuple[str, ...]) -> FloatArray:
    """A number for each column, NaN where the row has none; from a mapping by column, or numbers in their order."""
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in columns]
        if unknown:
            hint = did_you_mean(str(unknown[0]), columns, f"The columns are: {', '.join(columns)}.")
            raise InputError(f"a row has the column {unknown[0]!r}, which was not fitted", cure=hint)
        row = [row.get(name) for name in columns]
    try:
        values = np.array([np.nan if x is None else x for x in row], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"a row holds something that is no number: {row!r}", cure="Leave it out.") from None
    if values.shape != (len(columns),):
        raise InputError(
            f"a row has {values.size} values, the fit has {len(columns)} columns: {', '.join(columns)}",
            cure="Give one value for each column, None where it is missing.",
        )
    if np.isinf(values).any():
        raise InputError("a row holds an infinite value", cure="Leave it out to have it filled.")
    return values


def nanoseconds(time: Any, step: int | None) -> int:
    """A time in nanoseconds, in UTC, for a stream with a `step` between rows."""
    if step is None:
        raise InputError(
            "the fill was fitted to rows without regular times, so rows are only counted",
            cure="Leave the time out, or give the step between rows.",
            option="step",
        )
    try:
        stamp = pd.Timestamp(time)
    except (TypeError, ValueError):
        raise InputError(f"{time!r} is no time", cure="Give for example 2024-01-31 12:00.") from None
    if pd.isna(stamp):
        raise InputError("a row has no time", cure="Give every row one, or none.")
    stamp = stamp if stamp.tzinfo is None else stamp.tz_convert("UTC").tz_localize(None)
    return int(stamp.as_unit("ns").value)
