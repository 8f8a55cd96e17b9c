"""darts: TimeSeries in and out."""

import numpy as np
import pandas as pd
import pytest

import t1

darts = pytest.importorskip("darts", reason="darts is not installed: make adapters has it")


def series(column: slice = slice(4), dtype: str = "float64"):
    table = t1.load_sample().iloc[:300, column].astype(dtype)
    table.index = pd.date_range("2024-01-01", periods=len(table), freq="h")
    covariates = pd.DataFrame({"height": [3.0]})
    return darts.TimeSeries.from_dataframe(table, static_covariates=covariates)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_series_comes_back_without_gaps(dtype):
    from t1.adapters.darts import impute

    given = series(dtype=dtype)
    filled = impute(given, budget="fast")
    assert isinstance(filled, darts.TimeSeries) and filled.dtype == given.dtype
    assert not np.isnan(filled.values()).any() and np.isnan(given.values()).any()
    assert filled.time_index.equals(given.time_index) and list(filled.components) == list(given.components)
    assert filled.static_covariates.equals(given.static_covariates)
    seen = ~np.isnan(given.values())
    assert (filled.values()[seen] == given.values()[seen]).all()
    table = given.to_dataframe()
    assert np.allclose(filled.values(), t1.impute(table, budget="fast").values, rtol=1e-6)


def test_several_series_are_filled_together():
    from t1.adapters.darts import impute

    given = [series()[:150], series()[150:]]
    filled = impute(given, budget="fast", method="linear")
    assert [len(one) for one in filled] == [150, 150]
    assert not any(np.isnan(one.values()).any() for one in filled)


def test_a_series_counted_in_rows():
    from t1.adapters.darts import impute

    values = np.arange(40.0)
    values[10:12] = np.nan
    filled = impute(darts.TimeSeries.from_values(values), method="linear")
    assert np.allclose(filled.values()[:, 0], np.arange(40.0))


def test_what_cannot_be_filled():
    from t1.adapters.darts import impute

    with pytest.raises(t1.InputError, match="expected a darts TimeSeries"):
        impute(np.ones((3, 2)))
    with pytest.raises(t1.InputError, match="samples"):
        impute(darts.TimeSeries.from_values(np.ones((5, 1, 7))))
    with pytest.raises(t1.InputError, match="different components"):
        impute([series(), series(slice(2))])
