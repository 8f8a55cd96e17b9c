"""darts: a TimeSeries, or several with the same components, in and out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from t1.adapters.library import library
from t1.api import impute as impute_table
from t1.errors import InputError

ID = "t1 series"


def impute(series: Any, **options: Any) -> Any:
    """Fill a darts TimeSeries, or a list of them; `options` are those of `t1.impute`.

    Several series must have the same components: they are filled as series of one table, and learn from each
    other. Time index, components, static covariates, hierarchy and metadata stay; observed values do not change.
    """
    kind = library("darts").TimeSeries
    several = isinstance(series, Sequence)
    given = list(series) if several else [series]
    for one in given:
        if not isinstance(one, kind):
            raise InputError(
                f"expected a darts TimeSeries, got {type(one).__name__}",
                cure="Give a TimeSeries or a list of them.",
            )
        if one.n_samples > 1:
            raise InputError(
                f"the series has {one.n_samples} samples of each value, only one can be filled",
                cure="Take its median: series.quantile(0.5).",
            )
        if list(one.components) != list(given[0].components):
            raise InputError("the series have different components", cure="Fill them one at a time.")
    if not given:
        return []
    parts = [_table(one).assign(**({ID: k} if several else {})) for k, one in enumerate(given)]
    filled = impute_table(pd.concat(parts), id=ID if several else None, **options).values
    ends = np.cumsum([len(one) for one in given])[:-1]
    out = [_with(one, part) for one, part in zip(given, np.split(filled, ends), strict=True)]
    return out if several else out[0]


def _table(series: Any) -> pd.DataFrame:
    return pd.DataFrame(series.values(), index=series.time_index, columns=list(map(str, series.components)))


def _with(series: Any, filled: Any) -> Any:
    values = series.values()
    return series.with_values(np.where(np.isnan(values), filled.astype(values.dtype), values))
