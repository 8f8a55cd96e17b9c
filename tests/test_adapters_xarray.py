"""xarray: time and other dimensions, as columns or as series."""

import numpy as np
import pandas as pd
import pytest

import t1
from t1.adapters.xarray import impute

xarray = pytest.importorskip("xarray", reason="xarray is not installed: pip install xarray")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=120, freq="h")
    wave = np.sin(np.arange(120) / 4)
    temp = wave[:, None] * [1.0, 2.0, 3.0] + 0.05 * rng.normal(size=(120, 3))
    wind = wave[None, :, None] + rng.normal(size=(3, 120, 2)) * 0.05
    temp[rng.random(temp.shape) < 0.1] = np.nan
    wind[rng.random(wind.shape) < 0.1] = np.nan
    return xarray.Dataset(
        {
            "temp": (("time", "station"), temp, {"units": "K"}),
            "wind": (("station", "time", "level"), wind.astype(np.float32)),
            "height": (("station",), [1.0, np.nan, 3.0]),
            "name": (("station",), ["a", "b", "c"]),
        },
        coords={"time": time, "station": ["a", "b", "c"], "level": [10, 20]},
        attrs={"source": "mast"},
    )


@pytest.mark.parametrize("series", [None, "station"])
def test_a_dataset_comes_back_without_gaps(data, series):
    filled = impute(data, series=series, budget="fast")
    assert filled.attrs == data.attrs and filled["temp"].attrs == data["temp"].attrs
    for name in ("temp", "wind"):
        old, new = data[name], filled[name]
        assert new.dims == old.dims and new.dtype == old.dtype
        assert old.isnull().any() and new.notnull().all()
        assert (new.values == old.values)[old.notnull().values].all()
    assert filled["height"].equals(data["height"]) and filled["name"].equals(data["name"])


def test_each_place_is_the_column_of_its_name(data):
    filled = impute(data, method="linear", maximum={"wind[station=b, level=20]": -5.0})
    touched = data["wind"].isnull() & (filled["wind"] == -5)
    assert touched.sel(station="b", level=20).any()
    assert touched.sum() == data["wind"].sel(station="b", level=20).isnull().sum()
    as_table = t1.impute(data["temp"].to_pandas(), method="linear").values
    assert np.array_equal(impute(data[["temp"]], method="linear")["temp"], as_table)


def test_an_array_and_a_time_without_dates(data):
    array = data["temp"].assign_coords(time=np.arange(120))
    filled = impute(array, method="linear")
    assert isinstance(filled, xarray.DataArray) and filled.name == "temp" and filled.notnull().all()
    unnamed = impute(array.rename(None), method="linear")
    assert unnamed.name is None and unnamed.equals(filled.rename(None))


def test_what_cannot_be_filled(data):
    with pytest.raises(t1.InputError, match="no dimension 'date'"):
        impute(data, dim="date")
    with pytest.raises(t1.InputError, match="no dimension 'stations'"):
        impute(data, series="stations")
    with pytest.raises(t1.InputError, match="no numeric variable"):
        impute(data[["height", "name"]].assign_coords(time=data["time"]))
    with pytest.raises(t1.InputError, match="expected an xarray"):
        impute(data.to_dataframe())
