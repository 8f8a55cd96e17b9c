"""Dates whose clock is in another column, and rows that their time stamps do not tell apart."""

import datetime as dt
import io
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from t1.api import impute_file
from t1.cli import main
from t1.data.files import NewRows, read_file
from t1.data.frames import Frame
from t1.data.ids import contradicting, number_that_tells
from t1.data.place import Placed
from t1.errors import InputError
from t1.options import FillOptions, FitOptions

DAYS = pd.date_range("2024-05-06", periods=10)
HOURS = pd.date_range("2024-05-06", periods=240, freq="h").to_numpy()


def wave(n: int) -> list[str]:
    """Values that no two rows of a day share, one of them missing."""
    return ["" if i == 50 else f"{15 + 5 * np.sin(i / 4) + i / 100:.3f}" for i in range(n)]


def numbered(name: str, n: int, first: int = 1, dates: str = "%Y-%m-%d", days=DAYS) -> str:
    x = iter(wave(n * len(days)))
    rows = (f"{day:{dates}},{k},{next(x)}\n" for day in days for k in range(first, first + n))
    return f"Date,{name},x\n" + "".join(rows)


def steps(file) -> set[int]:
    return set(np.diff(file.time).astype("m8[m]").astype(int).tolist())


@pytest.mark.parametrize(
    ("name", "n", "first", "minutes"),
    [
        ("Hour Ending", 24, 1, 60),
        ("HE", 24, 1, 60),
        ("HourBeginning", 24, 0, 60),
        ("SETTLEMENT_PERIOD", 48, 1, 30),
        ("Interval", 96, 1, 15),
        ("shift period", 3, 1, 480),
        ("k", 24, 1, 60),  # nothing but the numbers tells
    ],
)
def test_a_column_that_runs_through_each_date_is_its_clock(put, name, n, first, minutes):
    text = numbered(name, n, first)
    file = read_file(put(text))
    assert file.time_columns == ("Date", name) and file.columns == ("x",) and steps(file) == {minutes}
    assert file.time[0] == np.datetime64("2024-05-06") and file.problems == []
    asked = read_file(put(text), time=["Date", name])
    assert (asked.time == file.time).all()


def test_numbered_parts_of_a_day_are_written_as_the_file_does(put, tmp_path):
    text = numbered("Hour Ending", 24, dates="%d/%m/%Y")
    lines = text.splitlines(keepends=True)
    less = put("".join(lines[:30] + lines[32:]).replace(",\n", ",9\n"))
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **options)
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in out] == [line.rpartition(",")[0] for line in lines]


def test_days_of_23_and_25_hours_and_absent_rows(put):
    lines = numbered("HE", 24).splitlines()
    del lines[3], lines[100]  # a spring day, and a row that was lost
    lines.insert(200, lines[199].rpartition(",HE")[0] or "")
    long_day = [line for line in lines if line.startswith("2024-05-08")]
    lines[lines.index(long_day[-1]) + 1 : 1] = ["2024-05-08,25,3.3"]
    file = read_file(put("\n".join(line for line in lines if line) + "\n"))
    assert file.time_columns == ("Date", "HE") and len(file.time) == len(np.unique(file.time)) + 1


def test_series_of_a_numbered_day(put):
    rows = numbered("Hour Ending", 24).splitlines()
    text = rows[0] + ",zone\n" + "".join(f"{row},{zone}\n" for row in rows[1:] for zone in ("north", "south"))
    file = read_file(put(text))
    assert file.time_columns == ("Date", "Hour Ending") and file.id_columns == ("zone",)


@pytest.mark.parametrize(
    ("names", "n", "first"), [("Hour,Minute", 2, 0), ("DeliveryHour,DeliveryInterval", 4, 1)]
)
def test_parts_of_an_hour(put, names, n, first):
    x = iter(wave(240 * n))
    parts = range(n) if first else range(0, 60, 60 // n)
    rows = (
        f"{day:%Y-%m-%d},{hour + first},{part + first},{next(x)}\n"
        for day in DAYS
        for hour in range(24)
        for part in parts
    )
    file = read_file(put(f"Date,{names},x\n" + "".join(rows)))
    assert file.time_columns == ("Date", *names.split(",")) and steps(file) == {60 // n}


@pytest.mark.parametrize("stacked", [True, False])
def test_a_number_that_tells_rows_apart_names_the_series(put, stacked):
    keys = [(well, time) for well in (101, 102, 103) for time in HOURS[:80]]
    keys = keys if stacked else sorted(keys, key=lambda key: key[1])
    rows = "".join(f"{time},{well},{x}\n" for (well, time), x in zip(keys, wave(240), strict=True))
    file = read_file(put(f"time,rig,x\n{rows}"))
    assert file.id_columns == ("rig",) and file.columns == ("x",) and "rig" in file.said[-1]
    table = pd.read_csv(put(f"time,rig,x\n{rows}"), parse_dates=["time"])
    frame = Frame.read(table)
    assert frame.id_columns == ("rig",) and frame.columns == ("x",)
    raw = io.BytesIO()
    table.to_parquet(raw)
    again = read_file(put(raw.getvalue(), "t.parquet"))
    assert again.id_columns == ("rig",) and again.columns == ("x",) and again.values.shape == (240, 1)


def test_a_number_of_24_stations_is_no_clock(put):
    file = read_file(put(numbered("store", 24)))
    assert file.time_columns == ("Date",) and file.id_columns == ("store",)


def test_a_measurement_names_no_series():
    times = np.repeat(HOURS[:100], 2)
    rng = np.random.default_rng(1)
    whole = np.arange(200) % 7.0  # differs within every hour, but no hour has most of its values
    assert number_that_tells(times, {0: rng.integers(0, 5, 200).astype(float), 1: whole}) == ()
    assert number_that_tells(times, {0: whole, 1: np.tile([4.0, 9.0], 100)}) == (1,)


@pytest.mark.parametrize("style", ["%Y-%m-%d", "%d/%m/%Y %H:00"])
def test_rows_that_nothing_tells_apart_are_never_merged(put, tmp_path, capsys, style):
    stamps = [
        f"{pd.Timestamp(time):{style}}" for time in np.repeat(HOURS[:: 24 if "H" not in style else 1], 24)
    ]
    x = wave(len(stamps))
    source = put("time,x\n" + "".join(f"{t},{v}\n" for t, v in zip(stamps, x, strict=True)))
    file = read_file(source)
    assert file.time is None and "does not tell" in file.passed_through["time"]
    assert "taken in their order" in file.problems[-1]
    placed = Placed.of(file.values, file.columns, file.time, file.ids)
    assert placed.as_they_are
    assert main(["impute", str(source), "-o", str(tmp_path / "out.csv"), "--budget", "fast"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(--time)" in told and "(--id)" in told
    filled = pd.read_csv(tmp_path / "out.csv")["x"]
    near = [float(x[49]), float(x[51])]
    assert min(near) - 1 < filled[50] < max(near) + 1  # not the first value of its day
    frame = Frame.read(pd.read_csv(source))
    assert frame.time is None and any("taken in their order" in told for told in frame.doubts)


def test_rows_that_say_the_same_are_one_row(put):
    lines = "".join(f"{time},{x}\n" for time, x in zip(HOURS, wave(240), strict=True))
    twice = read_file(put("time,x\n" + lines + lines))  # loaded twice
    assert twice.time is not None
    apart = "".join(f"{time},{i}.5,\n{time},,{i}\n" for i, time in enumerate(HOURS))  # a row for each sensor
    assert read_file(put("time,x,y\n" + apart)).time is not None
    few = read_file(put("time,x\n" + lines + lines[: 5 * 35].replace(",1", ",2")))
    assert few.time is not None
    assert contradicting(HOURS, None, np.ones((240, 1))) == 0


def test_series_that_are_named_may_still_repeat(put):
    rows = [f"2024-05-{d:02},{who},{d * h}.5\n" for who in "ab" for d in range(1, 9) for h in range(5)]
    file = read_file(put("date,who,x\n" + "".join(rows)), id="who")
    assert file.time is None and file.id_columns == ("who",) and "80 rows" in file.problems[-1]


# a clock of midnight


CLOCKS = [
    ("hour", [str(h) for h in range(24)]),
    ("Time", [f"{h:02}:00" for h in range(24)]),
    ("Time", [f"{(h + 11) % 12 + 1}:00 {'AM' if h < 12 else 'PM'}" for h in range(24)]),
]


@pytest.mark.parametrize(("name", "clock"), CLOCKS)
@pytest.mark.parametrize(
    "midnight", ["%Y-%m-%d 00:00:00", "%Y-%m-%dT00:00", "%d.%m.%Y 00:00", "%m/%d/%Y 12:00:00 AM"]
)
def test_midnight_and_a_clock(put, name, clock, midnight):
    x = iter(wave(240))
    rows = [f"{day:{midnight}},{hour},{next(x)}\n" for day in DAYS for hour in clock]
    for options in ({}, {"time": ["Date", name]}):
        file = read_file(put(f"Date,{name},x\n" + "".join(rows)), **options)
        assert file.time_columns == ("Date", name) and (file.time == HOURS).all()
        written = zip(*file.time_at.write(file.time), strict=True)
        assert [f"{a},{b}" for a, b in written] == [row.rpartition(",")[0] for row in rows]


def test_midnight_and_a_clock_in_excel(put):
    pytest.importorskip("openpyxl")
    for clock in (range(24), [dt.time(h) for h in range(24)], [f"{h}:00" for h in range(24)]):
        x = iter(wave(240))
        rows = [(day, hour, float(next(x) or "nan")) for day in DAYS for hour in clock]
        raw = io.BytesIO()
        pd.DataFrame(rows, columns=["Date", "Time", "x"]).to_excel(raw, index=False)
        assert zipfile.is_zipfile(raw)
        file = read_file(put(raw.getvalue(), "t.xlsx"))
        assert file.time_columns == ("Date", "Time") and (file.time == HOURS).all()


def tables():
    x = [float(value or "nan") for value in wave(240)]
    days, hours = HOURS.astype("M8[D]"), (np.arange(240) % 24)
    clocks = [dt.time(h) for h in hours.tolist()]
    yield pa.table({"date": pa.array(days), "hour": hours, "x": x})
    yield pa.table({"date": pa.array(days), "time": pa.array(clocks, pa.time64("us")), "x": x})
    yield pa.table({"date": pa.array(days.astype("M8[ns]")), "hour": hours, "x": x})
    yield pa.table({"date": pa.array(days.astype("M8[ns]")), "Hour Ending": hours + 1, "x": x})
    yield pa.table({"date": pa.array(days.astype(str)), "hour": hours, "x": x})
    parts = pd.DatetimeIndex(HOURS)
    yield pa.table({"year": parts.year, "month": parts.month, "day": parts.day, "hour": hours, "x": x})


@pytest.mark.parametrize("table", list(tables()), ids=lambda table: " ".join(table.column_names[:2]))
def test_dates_and_clocks_in_parquet_and_dataframes(put, tmp_path, table):
    raw = io.BytesIO()
    pq.write_table(table.slice(0, 100), raw)
    file = read_file(put(raw.getvalue(), "t.parquet"))
    assert list(file.time_columns) == table.column_names[:-1] and (file.time == HOURS[:100]).all()
    new = NewRows(times=HOURS[100:], values=np.ones((140, 1)))
    file.write(tmp_path / "out.parquet", file.values, new_rows=new)
    assert (
        pq.read_table(tmp_path / "out.parquet")
        .select(file.time_columns)
        .equals(table.select(file.time_columns))
    )
    if "year" not in file.time_columns:
        for frame in (table.to_pandas(), pl.from_arrow(table), table):
            found = Frame.read(frame)
            assert list(found.time_columns) == table.column_names[:-1] and (found.time == HOURS).all()
            assert found.columns == ("x",) and " + " in found.understood[0]
            asked = Frame.read(frame, time=table.column_names[:-1])
            assert (asked.time == HOURS).all()


def test_a_row_without_its_clock_is_refused(put):
    rows = [
        f"{time.astype('M8[D]')},{'' if i == 30 else str(time)[11:16]},{i}\n" for i, time in enumerate(HOURS)
    ]
    with pytest.raises(InputError, match="together are no time"):
        read_file(put("Date,Time,x\n" + "".join(rows)), time=["Date", "Time"])


def test_days_as_excel_counts_them_with_an_hour(put):
    rows = [f"{45418 + i // 24},{i % 24},{x}\n" for i, x in enumerate(wave(240))]
    file = read_file(put("Date,Hour,x\n" + "".join(rows)))
    assert (file.time == HOURS).all()
    assert [f"{a},{b}" for a, b in zip(*file.time_at.write(HOURS[:3]), strict=True)] == [
        "45418,0",
        "45418,1",
        "45418,2",
    ]


def test_a_count_of_seconds_is_no_date(put):
    rows = [f"{30000 + i},{x}\n" for i, x in enumerate(wave(240))]
    assert read_file(put("elapsed,x\n" + "".join(rows))).time_format.unit == "step"
    assert read_file(put("Date,x\n" + "".join(rows))).time_format.unit == "excel day"


@pytest.mark.parametrize(
    "shape",
    [
        "{0:02}-{1:02}",
        "{0}-{1}",
        "{0:02}:00-{1:02}:00",
        "{0:02}:00 - {1:02}:00",
        "{0:02} – {1:02}",
        "{0:02} bis {2:02}",
        "{0:02}h",
        "{0}h00",
        "{0} h",
        "{3}",
    ],
)
def test_hours_as_ranges_or_with_letters_are_the_clock_of_their_date(put, tmp_path, shape):
    halves = [f"{(hour - 1) % 12 + 1} {'AM' if hour < 12 else 'PM'}" for hour in range(24)]
    ranges = [shape.format(hour, hour + 1, (hour + 1) % 24, halves[hour]) for hour in range(24)]
    x = iter(wave(240))
    text = "Date;hour;x\n" + "".join(f"{day:%d.%m.%Y};{each};{next(x)}\n" for day in DAYS for each in ranges)
    file = read_file(put(text))
    assert file.time_columns == ("Date", "hour") and steps(file) == {60} and file.ids is None
    asked = read_file(put(text), time=["Date", "hour"])
    assert (asked.time == file.time).all()
    lines = text.splitlines(keepends=True)
    less = put("".join(lines[:24] + lines[26:]))  # 23-24 and 00-01 are added
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **options)
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(";")[0] for line in out] == [line.rpartition(";")[0] for line in lines]


@pytest.mark.parametrize("clock", ["{0}", "{0:02}:00", "{0}-{1}"])
def test_the_clock_tells_the_order_of_day_and_month(put, clock):
    x = iter(wave(240))
    rows = (
        f"{day:%d/%m/%Y};{clock.format(h, h + 1)};{next(x)}\n"
        for day in pd.date_range("2024-01-01", periods=10)
        for h in range(24)
    )
    file = read_file(put("Date;hour;x\n" + "".join(rows)))
    assert file.time_columns == ("Date", "hour") and steps(file) == {60}
    assert "day first, which makes the steps regular" in file.said[-1]


def quarter_of(stamp: pd.Timestamp) -> int:
    return (stamp.month + 2) // 3


@pytest.mark.parametrize(
    ("names", "freq", "cells"),
    [
        ("Year,Month", "MS", lambda t: f"{t:%Y},{t:%B}"),
        ("Year,Month", "MS", lambda t: f"{t:%Y},{t:%b}".upper()),
        ("Year,Period", "MS", lambda t: f"{t:%Y},M{t:%m}"),
        ("Year,Quarter", "QS", lambda t: f"{t:%Y},Q{quarter_of(t)}"),
        ("Year,Period", "QS", lambda t: f"{t:%Y},Q0{quarter_of(t)}"),
        ("YEAR,QTR", "QS", lambda t: f"{t:%Y},{quarter_of(t)}"),
        ("YEAR,WEEK", "W-MON", lambda t: f"{t:%G},{int(f'{t:%V}')}"),
        ("Year,Month,Day,Time", "h", lambda t: f"{t:%Y},{t.month},{t.day},{t:%H:%M}"),
        ("Year,Month,Day,Time", "h", lambda t: f"{t:%Y},{t:%b},{t.day},{t:%I:%M %p}"),
    ],
)
def test_parts_of_a_date_that_are_no_plain_numbers(put, tmp_path, names, freq, cells):
    times = pd.date_range("2018-01-01", periods=120, freq=freq)
    lines = [f"{names},x", *(f"{cells(t)},{x}" for t, x in zip(times, wave(120), strict=True))]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.time_columns == tuple(names.split(",")) and file.columns == ("x",)
    np.testing.assert_array_equal(file.time, times.to_numpy("M8[ns]"))
    less = put("\n".join(lines[:30] + lines[32:]) + "\n")
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **options)
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in out] == [line.rpartition(",")[0] for line in lines]


def test_series_of_numbered_weeks_and_a_week_that_no_year_has(put):
    keys = [(year, week, zone) for year in (2021, 2022) for week in range(1, 53) for zone in ("n", "s")]
    rows = [f"{zone},{year},{week},{x}" for (year, week, zone), x in zip(keys, wave(208), strict=True)]
    file = read_file(put("\n".join(["region,year,week,x", *rows]) + "\n"))
    assert file.time_columns == ("year", "week") and file.id_columns == ("region",)
    odd = read_file(put("\n".join(["region,year,week,x", *rows, "n,2022,53,1.5"]) + "\n"))
    assert odd.time is None  # 2022 had 52 weeks
