"""The long frame of Nixtla's libraries: a row per series and time stamp, in columns unique_id, ds and y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from t1.api import impute as impute_table
from t1.arrays import FloatArray
from t1.data.fit import fit
from t1.errors import InputError


def impute(
    frame: Any,
    *,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
    together: bool = True,
    **options: Any,
) -> Any:
    """Fill the target and all other numeric columns of a long pandas or polars frame; same rows out.

    `together` lays the series side by side, so that they help each other; without it each is filled alone.
    Absent time stamps count as time that passed; rows for them come from `utilsforecast`'s fill_gaps.
    `options` are those of `t1.impute`.
    """
    long = nw.from_native(frame, eager_only=True)
    for name in (id_col, time_col, target_col):
        if name not in long.columns:
            raise InputError(
                f"the frame has no column {name!r}, it has: {', '.join(long.columns)}",
                cure="Name the columns: id_col, time_col, target_col.",
            )
    columns = [c for c in long.columns if c not in (id_col, time_col) and long[c].dtype.is_numeric()]
    if target_col not in columns:
        raise InputError(f"column {target_col!r} holds no numbers", cure="Turn it into numbers.")
    values = np.stack([long[c].cast(nw.Float64).to_numpy() for c in columns], axis=1)
    keys = [pd.factorize(long[c].to_numpy(), sort=True) for c in (id_col, time_col)]
    (series, ids), (row, times) = keys
    if len(np.unique(row * len(ids) + series)) < len(row):
        raise InputError(
            f"some rows have the same {id_col} and {time_col}", cure="Keep one row of each: drop duplicates."
        )
    if together:
        filled = _side_by_side(values, series, row, pd.Index(times), [str(i) for i in ids], columns, options)
    else:
        table = pd.DataFrame(values, columns=columns)
        table.insert(0, id_col, ids[series].astype(str))
        table.insert(1, time_col, pd.Index(times).take(row))
        dated = isinstance(pd.Index(times), pd.DatetimeIndex)
        extra = {"time": time_col} if dated else {"columns": columns}
        filled = impute_table(table, id=id_col, **extra, **options).values
    return _written(long, columns, values, filled)


def _side_by_side(
    values: FloatArray,
    series: Any,
    row: Any,
    times: pd.Index[Any],
    ids: Sequence[str],
    columns: Sequence[str],
    options: dict[str, Any],
) -> FloatArray:
    """Every series and column as a column of one table, then back to the rows of the long frame."""
    wide = np.full((len(times), len(ids), len(columns)), np.nan)
    wide[row, series] = values
    names = [f"{name} {column}" for name in ids for column in columns]
    index = times if isinstance(times, pd.DatetimeIndex) else None
    table = pd.DataFrame(wide.reshape(len(times), -1), index=index, columns=names)
    filled = impute_table(table, **options).values.reshape(wide.shape)
    out: FloatArray = filled[row, series]
    return out


def _written(long: Any, columns: Sequence[str], values: FloatArray, filled: FloatArray) -> Any:
    """The frame with fills in its missing cells only."""
    changed = []
    for j, name in enumerate(columns):
        rows = np.flatnonzero(np.isnan(values[:, j]) & ~np.isnan(filled[:, j]))
        if len(rows):
            column = long[name]
            cells = fit(filled[rows, j], np.dtype(str(column.dtype).lower()))
            fresh = nw.new_series(name, cells, column.dtype, backend=column.implementation)
            changed.append(column.scatter(rows, fresh))
    return long.with_columns(*changed).to_native()
