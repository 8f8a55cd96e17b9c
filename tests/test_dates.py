"""Dates: one reading for a column, for `time=`, for an index and for a lock; zones always become UTC."""

import numpy as np
import pandas as pd
import pytest

from t1.data.dates import parse_span, parse_time, read_dates
from t1.data.numeric_dates import read_numeric_dates, times_of
from t1.data.time_format import TimeFormat
from t1.errors import InputError

DAY_FIRST = read_dates(["05.01.2024 00:00", "13.01.2024 00:00"]).format


def test_a_span_is_read_as_the_column_is_and_ends_with_its_day():
    start, end = parse_span("05.01.2024..06.01.2024", DAY_FIRST)
    assert start == np.datetime64("2024-01-05")
    assert end == np.datetime64("2024-01-07") - np.timedelta64(1, "ns")
    slashes = read_dates(["13/01/2024 00:00"]).format
    assert parse_time("05/01/2024", slashes) == np.datetime64("2024-01-05")
    assert parse_time("05/01/2024") == np.datetime64("2024-05-01")
    assert parse_span("2024-01-05..2024-01-06 12:00", DAY_FIRST)[1] == np.datetime64("2024-01-06T12")
    assert parse_span("..2024-02", None) == (None, np.datetime64("2024-03-01") - np.timedelta64(1, "ns"))
    assert parse_span("2024..", None) == (np.datetime64("2024-01-01"), None)


@pytest.mark.parametrize("text", ["now", "2024-01-05", "soon..later", "2024-02..2024-01", "..32.01.2024"])
def test_what_is_no_span_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_span(text, DAY_FIRST)
    assert caught.value.cure


def test_a_span_is_meant_in_the_zone_of_the_file():
    dates = read_dates(["2024-01-01 00:00+01:00", "2024-01-01 01:00+01:00"])
    assert dates.times[0] == np.datetime64("2023-12-31T23:00")
    assert dates.format.write(dates.times) == ["2024-01-01 00:00+01:00", "2024-01-01 01:00+01:00"]
    assert parse_time("2024-01-01", dates.format) == dates.times[0]
    assert parse_time("2024-01-01 00:00+02:00", dates.format) == np.datetime64("2023-12-31T22:00")


def test_numbers_that_count_are_spans_too():
    steps = read_numeric_dates(np.array([0.0, 1.0]), ["0", "1"]).format
    assert parse_span("3..5", steps) == (np.datetime64(3, "s"), np.datetime64(5, "s"))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata", None])
def test_an_index_and_a_column_of_the_same_stamps_are_the_same(zone):
    stamps = pd.date_range("2024-03-30 22:00", periods=6, freq="h", tz=zone)
    utc = stamps.tz_convert("UTC").tz_localize(None) if zone else stamps
    column = pd.Series(stamps)
    for cells in (stamps, column, column.to_numpy(), column.astype(object), column.astype(str)):
        np.testing.assert_array_equal(times_of(cells), utc.to_numpy("M8[ns]"))


def test_text_that_is_no_date_is_told_with_its_row():
    with pytest.raises(InputError, match="row 1"):
        times_of(np.array(["2024-01-01", "soon"], dtype=object))


def test_the_order_of_day_and_month_that_makes_steps_regular():
    months = [f"01/{m:02}/{y}" for y in range(2015, 2020) for m in range(1, 13)]
    dates = read_dates(months)
    assert dates.times[1] == np.datetime64("2015-02-01") and "day first" in dates.note
    days = [f"{m:02}/{d:02}/2015" for m in range(1, 13) for d in range(1, 13)]
    assert read_dates(days[:12]).times[1] == np.datetime64("2015-01-02")  # both are regular: the usual order
    assert "both orders" in read_dates(days[:12]).note
    assert read_dates(days[:12], day_first=True).times[1] == np.datetime64("2015-02-01")
    assert read_dates(["13/01/2015", "14/01/2015"]).note == ""


@pytest.mark.parametrize(
    ("texts", "times"),
    [
        (["20180101:0000", "20180101:0010"], ["2018-01-01T00:00", "2018-01-01T00:10"]),
        (["10/03/2004 18.00.00", "13/03/2004 19.00.00"], ["2004-03-10T18", "2004-03-13T19"]),
        (["01/31/2020 23:00", "01/31/2020 24:00"], ["2020-01-31T23", "2020-02-01T00"]),
        (
            ["2019-01-01T00:00:00.0/2019-01-01T00:15:00.0", "2019-01-01T00:15:00.0/2019-01-01T00:30:00.0"],
            ["2019-01-01T00:00", "2019-01-01T00:15"],
        ),
    ],
)
def test_odd_ways_to_write_a_time_come_back_as_they_were(texts, times):
    dates = read_dates(texts)
    np.testing.assert_array_equal(dates.times, np.array(times, "M8[ns]"))
    assert dates.format.write(dates.times) == texts


def test_decimal_years_are_months_and_come_back():
    texts = [f"{1958 + (m + 0.5) / 12:.4f}" for m in range(36)]
    dates = read_numeric_dates(np.array([float(t) for t in texts]), texts)
    np.testing.assert_array_equal(
        dates.times, np.arange("1958-01", "1961-01", dtype="M8[M]").astype("M8[ns]")
    )
    assert dates.format.write(dates.times) == texts
    hours = [f"{2020 + h / 8784:.7f}" for h in range(20)]
    dates = read_numeric_dates(np.array([float(t) for t in hours]), hours)
    assert set(np.diff(dates.times)) == {np.timedelta64(1, "h").astype("m8[ns]")}
    assert dates.format.write(dates.times) == hours


def test_a_pattern_of_the_user_s_own():
    dates = read_dates(["5|1|2024", "6|1|2024"], pattern="%d|%m|%Y")
    assert dates.times[0] == np.datetime64("2024-01-05") and dates.format.write(dates.times[:1]) == [
        "5|1|2024"
    ]
    assert TimeFormat().day_first is None


def numeric(texts, **options):
    return read_numeric_dates(np.array([float(text) for text in texts]), texts, **options)


def test_months_as_numbers_come_back():
    texts = [f"{y}{m:02}" for y in range(2004, 2008) for m in range(1, 13)]
    dates = numeric(texts)
    np.testing.assert_array_equal(
        dates.times, np.arange("2004-01", "2008-01", dtype="M8[M]").astype("M8[ns]")
    )
    assert dates.format.write(dates.times) == texts
    assert parse_span("200402..200403", dates.format)[1] == np.datetime64("2004-04-01") - np.timedelta64(
        1, "ns"
    )
    assert numeric(["200411", "200412", "200413"]).format.unit == "step"  # a count: there is no month 13


@pytest.mark.parametrize("parts", [24, 48, 96, 288, 1440])
def test_days_as_excel_counts_them_come_back(parts):
    texts = [f"{45376 + k / parts:.6f}" for k in range(200) if k % 17]
    dates = numeric(texts)
    assert dates.times[0] == np.datetime64("2024-03-25") + np.timedelta64(86400 // parts, "s")
    assert dates.format.write(dates.times) == texts
    assert numeric(texts, serial=False).format.unit == "step"
    days = [str(45376 + k) for k in range(60) if k % 7 < 5]  # without weekends
    dates = numeric(days)
    assert dates.times[0] == np.datetime64("2024-03-25") and dates.format.write(dates.times) == days
    assert parse_time("45377", dates.format) == np.datetime64("2024-03-26")


@pytest.mark.parametrize("step", [0.5, 0.25, 0.1, 0.04, 0.001, 2, 10, 60])
def test_other_counts_are_no_days(step):
    assert numeric([f"{30000 + k * step:.3f}" for k in range(100)]).format.unit == "step"


@pytest.mark.parametrize(
    "texts",
    [
        ["01.01.2024 00:00", "01.01.2024 00:00:30", "01.01.2024 00:01"],
        ["1/13/2024 0:00:30", "1/13/2024 0:01", "1/13/2024 0:01:30"],
        ["13/1/2024 1:00 AM", "13/1/2024 1:00:30 AM"],
        ["2024-01-01", "2024-01-01 00:30", "2024-01-01 00:30:30", "2024-01-01 00:30:30.5"],
        ["13/01/2024 00:00:00", "13/01/2024 00:00:00.500", "13/01/2024 00:00:01"],
        ["2024-01-01 00:00:00:000", "2024-01-01 00:00:00:500"],
        ["2024-01-01 00:00:00,000", "2024-01-01 00:00:00,500"],
    ],
)
def test_a_clock_seconds_or_a_fraction_only_where_they_are_not_zero(texts):
    dates = read_dates(texts)
    assert not np.isnat(dates.times).any() and (np.diff(dates.times) > np.timedelta64(0)).all()
    assert dates.format.write(dates.times) == texts


def test_a_clock_that_is_sometimes_written_in_full_is_added_in_full():
    dates = read_dates(["01.01.2024 00:00", "01.01.2024 00:01:00", "01.01.2024 00:02:30"])
    assert dates.format.write(dates.times[:1]) == ["01.01.2024 00:00:00"]


def test_what_is_no_date_stays_none_in_a_zone():
    times = read_dates(["2024-01-01T00:00+02:00", "2024-01-01T01:00+02:00", "noon"]).times
    assert np.isnat(times).tolist() == [False, False, True]


def test_a_zone_behind_a_blank_may_change():
    dates = read_dates(["27.10.2024 02:00 +0200", "27.10.2024 02:00 +0100"])
    np.testing.assert_array_equal(dates.times, np.array(["2024-10-27T00", "2024-10-27T01"], "M8[ns]"))
    assert dates.format.write(dates.times[:1]) == ["27.10.2024 00:00 +0000"]
