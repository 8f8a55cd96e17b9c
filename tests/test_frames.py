"""Containers: which columns are numbers, times and ids, and the way back into pandas, polars and pyarrow."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import t1
from t1.api import impute_file
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.errors import InputError
from t1.options import FillOptions, FitOptions

NAN = np.nan
HOURS = pd.date_range("2024-01-01", periods=4, freq="h")


def read(data, **options) -> Frame:
    return Frame.read(data, **options)


def restored(frame: Frame):
    """The container with 9 in every gap."""
    observed = ~np.isnan(frame.values)
    return frame.restore(np.where(observed, frame.values, 9.0), observed)


def test_integer_column_labels():
    """Pd.DataFrame(array) crashed."""
    table = pd.DataFrame(np.array([[1.0, NAN], [2.0, 3.0]]))
    frame = read(table)
    assert frame.columns == ("0", "1")
    out = restored(frame)
    assert out.columns.tolist() == [0, 1] and out.columns.dtype == table.columns.dtype
    assert out.iloc[0, 1] == 9 and out.iloc[1].tolist() == [2, 3]
    assert read(table, columns=["1"]).columns == ("1",)
    assert read(table, exclude=["0"]).columns == ("1",)


def test_names_that_repeat_are_refused_unless_they_are_left_alone():
    table = pd.DataFrame([[1.0, NAN, "x"], [NAN, 4.0, "y"]], columns=["a", "a", "note"])
    with pytest.raises(InputError, match="2 columns are named 'a'"):
        read(table)
    notes = pd.DataFrame([[1.0, "x", "x"], [NAN, "y", "y"]], columns=["a", "note", "note"])
    out = restored(read(notes))
    assert out.columns.tolist() == ["a", "note", "note"] and out["a"].tolist() == [1, 9]


def test_text_times_are_read_as_in_a_file():
    """Pandas' own error came through."""
    stamps = [f"{day:02d}.01.2024 06:00" for day in (13, 14, 15, 16)]
    table = pd.DataFrame({"when": stamps, "v": [1.0, NAN, 3.0, 4.0]})
    frame = read(table, time="when")
    assert frame.time[1] == np.datetime64("2024-01-14T06:00") and frame.columns == ("v",)
    np.testing.assert_array_equal(read(table).time, frame.time)  # and found without being named
    late = pd.DataFrame({"when": ["2024-01-01"] * 60 + ["soon"], "v": np.arange(61.0)})
    assert read(late).time is None  # not named, so it is no error
    with pytest.raises(InputError, match="no date"):
        read(table.assign(when=["2024-01-01", "soon", "2024-01-03", "x"]), time="when")


def test_an_aware_index_and_an_aware_column_are_the_same_times():
    stamps = pd.date_range(
        "2024-10-27 00:00", periods=6, freq="h", tz="Europe/Berlin"
    )  # 2 o'clock comes twice
    table = pd.DataFrame({"v": np.arange(6.0)})
    by_index = read(table.set_index(stamps))
    by_column = read(table.assign(when=stamps), time="when")
    found = read(table.assign(when=stamps))
    by_polars = read(pl.DataFrame({"v": np.arange(6.0), "when": pl.from_pandas(pd.Series(stamps))}))
    assert by_index.time[0] == np.datetime64("2024-10-26T22:00")  # UTC
    for other in (by_column, found, by_polars):
        np.testing.assert_array_equal(by_index.time, other.time)
    assert (np.diff(by_index.time) == np.timedelta64(1, "h")).all()


def test_a_column_of_dates_is_the_time_and_of_two_the_first_or_the_one_named_like_it():
    """In Python a datetime column is found as on the command line."""
    table = pd.DataFrame({"when": HOURS, "v": [1.0, 2.0, NAN, 4.0]})
    np.testing.assert_array_equal(read(table).time, HOURS.to_numpy())
    later = HOURS + pd.Timedelta("1h")
    np.testing.assert_array_equal(read(table.assign(also=later)).time, HOURS.to_numpy())
    np.testing.assert_array_equal(read(table.assign(timestamp=later)).time, later.to_numpy())
    assert read(table.set_index("when")).time is not None
    days = pl.DataFrame({"day": [dt.date(2024, 1, k) for k in (1, 2, 3)], "v": [1.0, None, 3.0]})
    assert read(days).time.tolist() == np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[ns]").tolist()
    arrow = pa.table({"when": pa.array(HOURS.to_pydatetime()), "v": [1.0, None, 3.0, 4.0]})
    np.testing.assert_array_equal(read(arrow).time, HOURS.to_numpy())
    with_index = table.set_index(HOURS + pd.Timedelta("1D"))
    assert read(with_index).time[0] == HOURS[0] + pd.Timedelta("1D")  # the index says more than a column


def test_pandas_keeps_index_attributes_dtypes_and_other_columns():
    table = pd.DataFrame(
        {"v": [1.0, NAN, 3.0, 4.0], "note": list("abcd"), "n": pd.array([1, None, 3, 4], dtype="Int64")},
        index=HOURS,
    )
    table.attrs["unit"] = "K"
    before = table.copy()
    out = restored(read(table))
    assert out["v"].tolist() == [1, 9, 3, 4] and out["note"].tolist() == list("abcd")
    assert out["n"].dtype == "Int64" and out["n"].tolist() == [1, 9, 3, 4]
    assert out.attrs == {"unit": "K"} and out.index.equals(table.index)
    pd.testing.assert_frame_equal(table, before)  # the input is not touched


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_polars_and_pyarrow_come_back_as_they_are(make):
    data = {"who": ["x", "y", "x"], "v": [1.0, None, 3.0], "n": [None, 2, 3]}
    table = make(data)
    frame = read(table, id="who")
    assert frame.columns == ("v", "n") and frame.ids.tolist() == ["x", "y", "x"]
    out = restored(frame)
    assert type(out) is type(table)
    got = out.to_dict(as_series=False) if make is pl.DataFrame else out.to_pydict()
    assert got == {"who": ["x", "y", "x"], "v": [1.0, 9.0, 3.0], "n": [9, 2, 3]}


def test_arrays_and_lists_of_rows():
    assert restored(read(np.array([[1.0, NAN]]))).tolist() == [[1, 9]]
    assert np.asarray(restored(read([[1.0, None], [2.0, 3.0]]))).tolist() == [[1, 9], [2, 3]]


@pytest.mark.parametrize(
    ("options", "says", "option"),
    [
        ({"time": "whn"}, "Did you mean 'when'", "time"),
        ({"id": "nobody"}, "no column 'nobody'", "id"),
        ({"columns": ["w"]}, "no column 'w'", "columns"),
        ({"exclude": ["w"]}, "no column 'w'", "exclude"),
        ({"exclude": ["v"]}, "nothing to fill", None),
    ],
)
def test_wrong_names_are_told_with_the_option(options, says, option):
    table = pd.DataFrame({"when": HOURS, "v": [1.0, 2.0, NAN, 4.0], "note": "x"})
    with pytest.raises(InputError, match=says) as told:
        read(table, **options)
    assert told.value.option == option


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError):
        read("table.csv")
    with pytest.raises(InputError, match="no column is numeric"):
        read(pd.DataFrame({"a": ["x", "y"]}))


def coded(n=60):
    x = np.sin(np.arange(n) / 4.0)
    x[[7, 20, 33]] = -9999.0
    return pd.DataFrame({"x": x, "y": np.cos(np.arange(n) / 4.0)})


def test_a_code_for_missing_is_filled_in_a_dataframe_as_in_a_file(tmp_path):
    table = coded()
    result = t1.impute(table, budget="fast")
    assert result.n_filled == 3 and result.data["x"].abs().max() < 2
    assert "-9999 counts as missing (3 cells)" in result.understood[0]
    table.to_csv(tmp_path / "in.csv", index=False)
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    of_file = impute_file(tmp_path / "in.csv", tmp_path / "out.csv", reading={}, **options)
    np.testing.assert_allclose(of_file.values, result.values, rtol=1e-9)
    kept = t1.impute(table, budget="fast", keep_sentinels=True)
    assert kept.n_filled == 0 and kept.data.equals(table)
    assert t1.fit(table, budget="fast").apply(table).n_filled == 3
    assert t1.fit(table, budget="fast", keep_sentinels=True).apply(table).n_filled == 0


def test_a_code_that_is_not_sure_is_told_and_stays():
    table = coded()
    table.loc[[20, 33], "x"] = 0.5
    result = t1.impute(table, budget="fast")
    assert result.data.equals(table)
    assert any("-9999" in problem and "may mean missing" in problem for problem in result.problems)


def shares():
    """Two shares on the same days, one at 1000 and one at 1, each with a gap."""
    day = pd.date_range("2024-01-01", periods=60)
    one = pd.DataFrame({"Date": day, "Symbol": "A", "Close": 1000 + np.arange(60.0)})
    two = pd.DataFrame({"Date": day, "Symbol": "B", "Close": 1 + 0.1 * np.sin(np.arange(60) / 4)})
    table = pd.concat([one, two]).sort_values("Date", kind="stable").reset_index(drop=True)
    table.loc[[20, 41], "Close"] = np.nan
    return table


@pytest.mark.parametrize("container", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_series_are_told_apart_where_time_stamps_repeat_as_in_a_file(container):
    frame = Frame.read(container(shares()))
    assert frame.id_columns == ("Symbol",) and frame.columns == ("Close",)
    assert "2 series, told apart by 'Symbol'" in frame.understood[0]
    filled = t1.impute(container(shares()), budget="fast")
    close = np.asarray(filled.data["Close"], dtype=float)
    assert abs(close[20] - 1010) < 1 and abs(close[41] - 1) < 0.3


def test_several_columns_may_tell_series_apart():
    table = shares().assign(Market="X")
    frame = Frame.read(table, id=["Market", "Symbol"])
    assert sorted(set(frame.ids)) == ["X / A", "X / B"]
    fitted = t1.fit(table, id=["Market", "Symbol"], budget="fast")
    assert abs(fitted.apply(table).data["Close"][20] - 1010) < 1


@pytest.mark.parametrize("container", [pd.DataFrame, pl.from_pandas])
def test_a_blank_that_may_mean_zero_is_asked_about_and_not_filled(container):
    n = 200
    table = pd.DataFrame(
        {"x": np.sin(np.arange(n) / 5), "alarm": np.where(np.arange(n) % 9 == 0, 1.0, np.nan)}
    )
    table.loc[5:9, "x"] = np.nan
    filled = t1.impute(container(table), budget="fast")
    assert np.isnan(np.asarray(filled.data["alarm"], dtype=float)).sum() == table["alarm"].isna().sum()
    assert any("'alarm' is mostly blank" in text for text in filled.problems)
    named = t1.impute(container(table), columns=["x", "alarm"], budget="fast")
    assert not np.isnan(np.asarray(named.data["alarm"], dtype=float)).any()


def test_columns_of_objects_that_are_numbers_are_filled_as_what_they_are():
    n = 60
    wave = np.sin(np.arange(n) / 5) * 5 + 10
    gap = range(20, 23)
    columns = {
        "price": [None if i in gap else Decimal(f"{v:.2f}") for i, v in enumerate(wave)],
        "n": [None if i in gap else int(v) for i, v in enumerate(wave)],
        "x": [None if i in gap else float(v) for i, v in enumerate(wave)],
    }
    table = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    table["y"] = wave
    result = t1.impute(table, budget="fast", method="linear")
    assert result.n_filled == 9 and not result.problems
    assert [type(cell) for cell in result.data.loc[21, ["price", "n", "x"]]] == [Decimal, int, float]
    assert result.data.loc[21, "price"].as_tuple().exponent == -2
    for name, cells in columns.items():  # the observed objects themselves
        assert all(a is b for a, b in zip(result.data[name], cells, strict=True) if b is not None)


def test_columns_without_numbers_keep_their_gaps_and_it_is_told():
    n = 60
    table = pd.DataFrame({"y": np.sin(np.arange(n) / 5)})
    table["text"] = [None if i == 3 else "a" for i in range(n)]
    table["digits"] = [None if i < 2 else f"{i}.5" for i in range(n)]
    table["on"] = pd.array([None if i == 3 else i % 2 == 0 for i in range(n)], dtype="boolean")
    table["class"] = pd.Categorical([None if i == 3 else "ab"[i % 2] for i in range(n)])
    table["whole"] = "b"
    problems = t1.impute(table, budget="fast", method="linear").problems
    assert [text.split("'")[1] for text in problems] == ["text", "digits", "on", "class"]
    assert (
        "numbers as text; its empty cells (2) stay empty" in problems[1]
        and "turn it into numbers" in problems[1]
    )
    assert not t1.impute(
        table, exclude=["text", "digits", "on", "class"], budget="fast", method="linear"
    ).problems


def test_parquet_columns_without_numbers_are_told_as_well(tmp_path):
    pytest.importorskip("pyarrow")
    n = 30
    table = pd.DataFrame({"y": np.arange(n) + 0.5, "digits": ["1.5"] * (n - 1) + [None]})
    table["on"] = pd.array([None if i == 3 else i % 2 == 0 for i in range(n)], dtype="boolean")
    table.to_parquet(tmp_path / "in.parquet")
    told = " ".join(read_file(tmp_path / "in.parquet").problems)
    assert "'digits' holds numbers as text; its empty cells (1)" in told
    assert "'on' holds true/false values; its empty cells (1)" in told
    assert not read_file(tmp_path / "in.parquet", exclude=["digits", "on"]).problems
