"""xarray: a Dataset or DataArray along its time dimension, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from t1.adapters.library import library
from t1.api import impute as impute_table
from t1.arrays import AnyArray
from t1.errors import InputError
from t1.registry import did_you_mean

ID = "t1 series"


def impute(data: Any, *, dim: str = "time", series: str | None = None, **options: Any) -> Any:
    """Fill the numeric variables of a Dataset, or a DataArray, along `dim`.

    Every place on the other dimensions is a column of the table that is filled: temp at each station, level
    and so on, which help each other. `series` names a dimension whose places are series of their own instead:
    each station has the same columns. Variables without `dim` (or without `series`, if given) stay as they are.
    `options` are those of `t1.impute`; columns go by names like "temp[station=a]".
    """
    xarray = library("xarray")
    if isinstance(data, xarray.DataArray):
        name = "values" if data.name is None else data.name
        filled = impute(data.to_dataset(name=name), dim=dim, series=series, **options)[name]
        return filled.rename(data.name)
    if not isinstance(data, xarray.Dataset):
        raise InputError(
            f"expected an xarray Dataset or DataArray, got {type(data).__name__}",
            cure="Give one of these; t1.impute fills tables.",
        )
    for option, wanted in (("dim", dim), ("series", series)):
        if wanted is not None and wanted not in data.dims:
            names = [str(d) for d in data.dims]
            raise InputError(
                f"there is no dimension {wanted!r}",
                cure=did_you_mean(wanted, names, f"It has: {', '.join(names)}."),
                option=option,
            )
    first = [dim] if series is None else [dim, series]
    names = [v for v in data.data_vars if data[v].dtype.kind in "iuf" and set(first) <= set(data[v].dims)]
    if not names:
        raise InputError(f"no numeric variable has {' and '.join(first)}", cure="Name another dimension.")
    parts = {v: data[v].transpose(*first, ...) for v in names}
    n_series = 1 if series is None else data.sizes[series]
    shape = (data.sizes[dim], n_series, -1)
    columns = [label for v in names for label in _labels(parts[v], skip=first)]
    cells = np.concatenate([np.asarray(parts[v], dtype=np.float64).reshape(shape) for v in names], axis=2)
    table = pd.DataFrame(cells.transpose(1, 0, 2).reshape(-1, len(columns)), columns=columns)
    if data[dim].dtype.kind == "M":
        table.index = pd.DatetimeIndex(np.tile(data[dim].to_numpy(), n_series))
    if series is not None:
        table[ID] = np.repeat(np.arange(n_series), data.sizes[dim])
    filled = impute_table(table, id=None if series is None else ID, **options).values
    filled = filled.reshape(n_series, data.sizes[dim], -1).transpose(1, 0, 2)
    out, begin = {}, 0
    for v in names:
        size = parts[v].size // (shape[0] * n_series)
        fresh = _written(parts[v].to_numpy(), filled[..., begin : begin + size].reshape(parts[v].shape))
        out[v] = parts[v].copy(data=fresh).transpose(*data[v].dims)
        begin += size
    return data.assign(out)


def _labels(part: Any, skip: list[str]) -> Iterator[str]:
    """A name for each place on the other dimensions, in the order of the array."""
    others = [d for d in part.dims if d not in skip]
    places = [[f"{d}={value}" for value in part[d].to_numpy()] for d in others]
    for place in product(*places):
        yield f"{part.name}[{', '.join(place)}]" if place else str(part.name)


def _written(values: AnyArray, filled: AnyArray) -> AnyArray:
    """The array with fills in its missing cells only, of the same type."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), filled.astype(values.dtype), values)
