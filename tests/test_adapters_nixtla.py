"""Nixtla's long frame, as its own utilsforecast makes and checks it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import t1
from t1.adapters.nixtla import impute

preprocessing = pytest.importorskip(
    "utilsforecast.preprocessing", reason="utilsforecast is not installed: pip install utilsforecast"
)


def long(n_series: int = 3, n: int = 160) -> pd.DataFrame:
    """Waves that all series share, of which some rows are absent and some values missing."""
    rng = np.random.default_rng(0)
    day = np.sin(np.arange(n) / 4)
    parts = []
    for k in range(n_series):
        ds = pd.date_range("2024-01-01", periods=n, freq="h")
        parts.append(
            pd.DataFrame({"unique_id": f"m{k}", "ds": ds, "y": day * (k + 1) + rng.normal(0, 0.05, n)})
        )
    frame = pd.concat(parts, ignore_index=True)
    frame.loc[rng.random(len(frame)) < 0.1, "y"] = np.nan
    return frame.drop(index=[20, 21, 200]).reset_index(drop=True)


@pytest.mark.parametrize("together", [True, False])
def test_the_frame_comes_back_without_gaps(together):
    from utilsforecast.validation import validate_format

    frame = long()
    filled = impute(frame, together=together, budget="fast")
    validate_format(filled)
    assert filled.notna().all().all() and filled.drop(columns="y").equals(frame.drop(columns="y"))
    seen = frame["y"].notna()
    assert (filled["y"][seen] == frame["y"][seen]).all()
    truth = np.sin(np.tile(np.arange(160), 3) / 4) * np.repeat([1, 2, 3], 160)
    truth = np.delete(truth, [20, 21, 200])
    assert np.abs(filled["y"] - truth)[~seen].mean() < 0.2


def test_absent_rows_that_fill_gaps_adds_are_filled():
    frame = preprocessing.fill_gaps(long(), freq="h")
    assert len(frame) == 3 * 160
    assert impute(frame, method="linear")["y"].notna().all()


def test_a_polars_frame_with_more_columns_and_whole_times():
    frame = pl.DataFrame(
        {
            "who": ["a", "b"] * 30,
            "t": np.repeat(np.arange(30), 2),
            "count": pl.Series([None if i == 20 else i for i in range(60)], dtype=pl.Int32),
            "price": [float(i) for i in range(60)],
            "note": ["x"] * 60,
        }
    )
    filled = impute(frame, id_col="who", time_col="t", target_col="count", method="linear")
    assert isinstance(filled, pl.DataFrame) and filled.schema == frame.schema
    assert filled["count"].to_list() == list(range(60)) and filled["note"].equals(frame["note"])


def test_what_cannot_be_filled():
    frame = long()
    with pytest.raises(t1.InputError, match="no column 'value'"):
        impute(frame, target_col="value")
    with pytest.raises(t1.InputError, match="same unique_id and ds"):
        impute(pd.concat([frame, frame.head(1)]))
    with pytest.raises(t1.InputError, match="no numbers"):
        impute(frame.assign(y="a"))
