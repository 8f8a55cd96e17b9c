"""Clocks without a date, hours that go beyond 24, and a day of the year with its clock in decimals."""

import numpy as np
import pandas as pd
import pytest

from t1.api import impute_file
from t1.data.files import read_file
from t1.data.pieces import open_pieces
from t1.errors import InputError
from t1.options import FillOptions, FitOptions

TIMES = pd.date_range("1970-01-01 10:00", periods=300, freq="10min")
FAST = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}


def clocks(texts, name="Time", **columns):
    names = ";".join([name, *columns, "x"])
    rows = zip(texts, *columns.values(), strict=True)
    lines = (f"{';'.join(map(str, row))};{15 + 5 * np.sin(i / 4):.3f}" for i, row in enumerate(rows))
    return "\n".join([names, *lines]) + "\n"


@pytest.mark.parametrize("how", ["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"])
@pytest.mark.parametrize("name", ["time", "Uhrzeit", "Time (HH:MM)"])
def test_days_are_counted_where_the_clock_runs_over(put, how, name):
    texts = TIMES.strftime(how).tolist()
    file = read_file(put(clocks(texts, name)))
    np.testing.assert_array_equal(file.time, TIMES.to_numpy("M8[ns]"))
    assert file.columns == ("x",) and file.time_format.write(file.time) == texts
    assert any("days are counted" in text for text in file.said) and file.problems == []


def test_absent_rows_are_seen_told_and_added_as_the_file_writes_them(put, tmp_path):
    lines = clocks(TIMES.strftime("%H:%M")).splitlines(keepends=True)
    less = put("".join(lines[:91] + lines[93:]))
    done = impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **FAST)
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.partition(";")[0] for line in out] == [line.partition(";")[0] for line in lines]
    assert not any("1970" in text for text in done.problems)


def test_one_day_needs_no_counting(put):
    file = read_file(put(clocks(TIMES[:50].strftime("%H:%M"))))
    assert file.time[-1] == np.datetime64("1970-01-01T18:10") and "counted" not in " ".join(file.said)


def test_each_series_has_its_own_first_day(put):
    day = TIMES[:144].strftime("%H:%M").tolist()
    names = ["A"] * 144 + ["B"] * 144
    file = read_file(put(clocks(day * 2, station=names)))
    assert file.id_columns == ("station",) and (file.time[:144] == file.time[144:]).all()
    in_turn = [clock for clock in day for _ in "AB"]
    file = read_file(put(clocks(in_turn, station=["A", "B"] * 144)))
    assert file.id_columns == ("station",) and file.time[-1] == np.datetime64("1970-01-02T09:50")


@pytest.mark.parametrize(
    ("texts", "columns"),
    [
        (TIMES[::-1].strftime("%H:%M"), {}),  # backwards
        (["01:31", "01:29", "01:33", "01:30"] * 20, {}),  # laps
        (["31:22", "29:50", "30:12", "33:01"] * 20, {}),  # minutes and seconds
        (TIMES.strftime("%H:%M"), {"weekday": TIMES.strftime("%A")}),  # a day, or a series?
        (TIMES.strftime("%H:%M"), {"day": (TIMES.day_of_year * 2).tolist()}),  # every other day
        (TIMES.strftime("%H:%M"), {"date": ["soon"] * 300}),
        (TIMES.strftime("%H:%M"), {"month": [1] * 300}),
    ],
)
def test_what_may_be_something_else_stays_in_its_order(put, texts, columns):
    assert read_file(put(clocks(texts, **columns))).time is None


def test_a_clock_under_another_name_is_none_unless_asked(put):
    text = clocks(TIMES.strftime("%H:%M"), "sunset")
    assert read_file(put(text)).time is None
    assert read_file(put(text), time="sunset").time[-1] == TIMES[-1]
    with pytest.raises(InputError, match="no date"):
        read_file(put(clocks(["01:31", "01:29", "01:33"] * 20)), time="Time")


def test_a_file_in_pieces_has_its_rows_in_their_order(put):
    pieces = open_pieces(put(clocks(TIMES.strftime("%H:%M"))), {})
    assert pieces.sample.file.time is None
    assert [(piece.time, piece.columns) for piece in pieces.tables()] == [(None, ("x",))]


def test_hours_beyond_24_in_a_long_table_of_patients(put):
    rows = [
        f"{patient},{m // 60:02}:{m % 60:02},{name},{'' if m == 490 else m / 10 + k}"
        for patient in (132539, 132540)
        for m in range(7, 2880, 69)
        for k, name in enumerate(("HR", "Temp"))
    ]
    file = read_file(put("RecordID,Time,Parameter,Value\n" + "\n".join(rows) + "\n"))
    assert file.id_columns == ("RecordID",) and set(file.columns) == {"HR", "Temp"}
    assert file.time.max() == np.datetime64("1970-01-02T23:16")
    assert file.time_format.write(file.time)[41] == "47:16"


def test_a_day_of_the_year_with_decimals_comes_back(put, tmp_path):
    hours = pd.date_range("2023-12-30", periods=100, freq="h")
    lines = [f"{t.year},{t.day_of_year + t.hour / 24:.4f},{i % 7}.5\n" for i, t in enumerate(hours)]
    file = read_file(put("Year,DOY,x\n" + "".join(lines)))
    np.testing.assert_array_equal(file.time, hours.to_numpy("M8[ns]"))
    assert file.columns == ("x",)
    less = put("Year,DOY,x\n" + "".join(lines[:60] + lines[62:]))
    impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **FAST)
    out = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [line.rpartition(",")[0] for line in out] == [line.rpartition(",")[0] for line in lines]
