"""Clocks and times that went by where cells have types: Parquet, dataframes, Excel; and the index of pandas."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import t1
from t1.data.data_file import NewRows
from t1.data.files import read_file
from t1.data.frames import Frame

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
N = 60
CLOCKS = [dt.time(22 + i // 60 if i < 120 else (i - 120) // 60 % 24, i % 60) for i in range(0, N * 5, 5)]
WENT_BY = [dt.timedelta(hours=i) for i in range(N)]
HOURS = pd.date_range("2024-05-01", periods=N, freq="h")
X = [None if i in (7, 8, 30) else 12 + np.sin(i / 4) for i in range(N)]
STEP = {"clock": np.timedelta64(5, "m"), "elapsed": np.timedelta64(1, "h")}

TYPES = {
    "time32[s]": ("clock", lambda: pa.array(CLOCKS, pa.time32("s"))),
    "time64[us]": ("clock", lambda: pa.array(CLOCKS, pa.time64("us"))),
    "text": ("clock", lambda: pa.array([f"{c:%H:%M}" for c in CLOCKS])),
    "duration[s]": ("elapsed", lambda: pa.array(WENT_BY, pa.duration("s"))),
    "duration[ns]": ("elapsed", lambda: pa.array(WENT_BY, pa.duration("ns"))),
}


def even(times, kind):
    return times is not None and len(times) == N and (np.diff(times) == STEP[kind]).all()


@pytest.mark.parametrize("name", TYPES)
def test_parquet(tmp_path, name):
    kind, column = TYPES[name]
    table = pa.table({"time": column(), "x": pa.array(X)})
    parquet.write_table(table, tmp_path / "in.parquet")
    file = read_file(tmp_path / "in.parquet")
    assert file.time_columns == ("time",) and even(file.time, kind)
    assert any("'time' is" in text for text in file.said)
    assert even(read_file(tmp_path / "in.parquet", time="time").time, kind)
    # a row that was cut out comes back as it was
    parquet.write_table(pa.concat_tables([table[:20], table[21:]]), tmp_path / "cut.parquet")
    cut = read_file(tmp_path / "cut.parquet")
    cut.write(
        tmp_path / "out.parquet",
        cut.values,
        new_rows=NewRows(times=file.time[20:21], values=file.values[20:21]),
    )
    whole = parquet.read_table(tmp_path / "in.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["time"].equals(whole["time"])


@pytest.mark.parametrize("name", TYPES)
def test_pyarrow_tables(name):
    kind, column = TYPES[name]
    frame = Frame.read(pa.table({"time": column(), "x": pa.array(X)}))
    assert frame.time_columns == ("time",) and even(frame.time, kind)
    assert frame.said in frame.understood[0]


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("clock", CLOCKS),
        ("clock", [f"{c:%H:%M:%S}" for c in CLOCKS]),
        ("elapsed", pd.to_timedelta(range(N), unit="h")),
        ("elapsed", pd.Series(WENT_BY, dtype=object)),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_pandas(kind, cells, named):
    frame = pd.DataFrame({"time": cells, "x": X})
    read = Frame.read(frame, time="time" if named else None)
    assert read.time_columns == ("time",) and even(read.time, kind)
    filled = t1.impute(frame, method="linear", budget="fast").data
    assert filled["time"].equals(frame["time"]) and not filled["x"].isna().any()


def test_polars():
    polars = pytest.importorskip("polars")
    assert even(Frame.read(polars.DataFrame({"time": CLOCKS, "x": X})).time, "clock")
    assert even(Frame.read(polars.DataFrame({"time": WENT_BY, "x": X})).time, "elapsed")


def test_a_clock_that_jumps_is_no_time():
    jumping = [dt.time(i * 17 % 24, 0) for i in range(N)]
    assert Frame.read(pd.DataFrame({"time": jumping, "x": X})).time is None


@pytest.mark.parametrize(
    ("index", "step"),
    [
        (pd.to_timedelta(range(N), unit="h"), np.timedelta64(1, "h")),
        (pd.period_range("2024-05-01", periods=N, freq="D"), np.timedelta64(1, "D")),
        (HOURS, np.timedelta64(1, "h")),
    ],
)
def test_an_index_that_says_when(index, step):
    frame = pd.DataFrame({"x": X}, index=index)
    times = Frame.read(frame).time
    assert (np.diff(times) == step).all()
    assert t1.impute(frame, method="linear", budget="fast").data.index.equals(index)


def test_a_column_of_periods():
    months = pd.period_range("2010-01", periods=N, freq="M")
    assert Frame.read(pd.DataFrame({"month": months, "x": X})).time[1] == np.datetime64("2010-02-01")


@pytest.mark.parametrize("names", [["site", "when"], [None, None]])
def test_the_levels_of_an_index_are_series_and_their_time(names):
    index = pd.MultiIndex.from_product([["north", "south"], HOURS], names=names)
    low, high = np.arange(N, dtype=float), 1000 + np.arange(N, dtype=float)
    frame = pd.DataFrame({"x": np.concatenate([low, high])}, index=index)
    frame.iloc[[N - 2, N - 1, N, N + 1], 0] = np.nan  # the end of one and the beginning of the other
    read = Frame.read(frame)
    assert set(read.ids) == {"north", "south"}
    assert read.id_columns == ((names[0] or "level 0 of the index"),)
    filled = t1.impute(frame, method="linear", budget="fast").data["x"].to_numpy()
    assert filled[N - 2 : N].max() < 100 and filled[N : N + 2].min() > 900


def test_a_column_called_id_goes_before_the_index():
    index = pd.MultiIndex.from_product([["a", "b"], HOURS])
    frame = pd.DataFrame({"x": X * 2, "part": ["p"] * N + ["q"] * N}, index=index)
    assert set(Frame.read(frame, id="part").ids) == {"p", "q"}


@pytest.mark.parametrize("kind", ["dictionary", "epoch"])
def test_parquet_has_times_as_words_and_epochs_too(tmp_path, kind):
    texts = pa.array([f"{t:%Y-%m-%d %H:%M}" for t in HOURS]).dictionary_encode()
    epochs = pa.array([int(t.timestamp() * 1000) for t in HOURS])
    table = pa.table({"ts": texts if kind == "dictionary" else epochs, "x": pa.array(X)})
    parquet.write_table(table, tmp_path / "in.parquet")
    file = read_file(tmp_path / "in.parquet")
    np.testing.assert_array_equal(file.time, HOURS.to_numpy("M8[ns]"))
    more = NewRows(times=file.time[-1:] + np.timedelta64(1, "h"), values=np.array([[1.5]]))
    file.write(tmp_path / "out.parquet", file.values, new_rows=more)
    again = parquet.read_table(tmp_path / "out.parquet")
    assert again.schema.field("ts").type == table.schema.field("ts").type
    assert again["ts"][-1].as_py() == ("2024-05-03 12:00" if kind == "dictionary" else 1714737600000)


def test_a_large_count_that_is_called_otherwise_is_no_time(tmp_path):
    counts = pa.array([1_700_000_000 + 60 * i for i in range(N)])
    parquet.write_table(pa.table({"pulses": counts, "x": pa.array(X)}), tmp_path / "in.parquet")
    assert read_file(tmp_path / "in.parquet").time is None


@pytest.mark.parametrize("style", ["[h]:mm", "[hh]:mm:ss", "[h]:mm:ss;@", "[m]:ss"])
def test_hours_beyond_a_day_in_excel(tmp_path, style):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Elapsed time", "x"])
    for went_by, x in zip(WENT_BY, X, strict=True):
        book.active.append([went_by, x])
    for (cell,) in book.active["A2:A61"]:
        cell.number_format = style
    book.save(tmp_path / "in.xlsx")
    file = read_file(tmp_path / "in.xlsx")
    assert file.time_columns == ("Elapsed time",) and even(file.time, "elapsed")
    assert file.texts("Elapsed time")[-1] == "59:00:00"
