"""Months, quarters, weeks and days by their number: read as the time at which they begin, and written as they were."""

import numpy as np
import pandas as pd
import pytest

from t1.data.dates import read_dates
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.data.numeric_dates import read_numeric_dates

MONTHS = np.arange("2009-11", "2011-04", dtype="M8[M]").astype("M8[ns]")
QUARTERS = np.arange("1999-07", "2002-01", 3, dtype="M8[M]").astype("M8[ns]")
HALVES = np.arange("1999-07", "2006-01", 6, dtype="M8[M]").astype("M8[ns]")
WEEKS = np.arange("2020-12-14", "2021-02-15", 7, dtype="M8[D]").astype("M8[ns]")
DAYS = np.arange("2023-12-20", "2024-03-05", dtype="M8[D]").astype("M8[ns]")


def written(times, how):
    return [how(pd.Timestamp(time)) for time in times]


def table(name, texts):
    rows = (f"{text};{i % 7}.{i % 10};{'' if i == 5 else i}\n" for i, text in enumerate(texts))
    return f"{name};a;b\n" + "".join(rows)


@pytest.mark.parametrize(
    ("times", "how"),
    [
        (MONTHS, lambda t: f"{t.year}M{t.month:02}"),
        (MONTHS, lambda t: f"{t.year}-M{t.month}"),
        (MONTHS, lambda t: f"{t.year}m{t.month}"),
        (MONTHS, lambda t: f"M{t.month:02} {t.year}"),
        (QUARTERS, lambda t: f"{t.quarter}Q{t.year % 100:02}"),
        (QUARTERS, lambda t: f"{t.quarter}Q{t.year}"),
        (QUARTERS, lambda t: f"Q{t.quarter} {t.year}"),
        (QUARTERS, lambda t: f"Q{t.quarter}/{t.year}"),
        (QUARTERS, lambda t: f"{t.year}:Q{t.quarter}"),
        (QUARTERS, lambda t: f"{t.year}q{t.quarter}"),
        (QUARTERS, lambda t: f"{t.year}K{t.quarter}"),
        (HALVES, lambda t: f"{t.year}-S{1 + (t.month > 6)}"),
        (HALVES, lambda t: f"{t.year}H{1 + (t.month > 6)}"),
        (HALVES, lambda t: f"H{1 + (t.month > 6)} {t.year}"),
        (HALVES, lambda t: f"{1 + (t.month > 6)}H{t.year}"),
        (WEEKS, lambda t: f"KW {t.week}/{t.isocalendar().year}"),
        (WEEKS, lambda t: f"W{t.week:02} {t.isocalendar().year}"),
        (WEEKS, lambda t: f"{t.isocalendar().year}-W{t.week}"),
        (WEEKS + np.timedelta64(2, "D"), lambda t: f"{t.isocalendar().year}-W{t.week:02}-3"),
        (DAYS, lambda t: f"{t:%Y-%j}"),
        (DAYS + np.timedelta64(90, "m"), lambda t: f"{t:%Y-%jT%H:%M:%SZ}"),
    ],
)
def test_a_period_is_when_it_begins_and_comes_back(put, times, how):
    texts = written(times, how)
    file = read_file(put(table("Date", texts)))
    np.testing.assert_array_equal(file.time, times)
    assert file.time_format.write(times) == texts and file.columns == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "2010M13",
        "2000Q5",
        "5Q00",
        "2021-W53",
        "KW 54/2020",
        "2023-366",
        "2023w05",
        "2000:1",
        "Q123",
        "2000S3",
        "1H10",
    ],
)
def test_what_no_calendar_has_or_may_mean_several_is_no_period(text):
    assert np.isnat(read_dates([text]).times).all()


@pytest.mark.parametrize("name", ["date", "julian", "YYYYDDD", "doy"])
def test_a_year_and_its_day_as_a_number(put, name):
    texts = written(DAYS, lambda t: f"{t:%Y%j}")
    file = read_file(put(table(name, texts)))
    np.testing.assert_array_equal(file.time, DAYS)
    assert file.time_format.write(DAYS) == texts


@pytest.mark.parametrize("name", ["production", "count"])
def test_such_numbers_under_another_name_are_numbers(put, name):
    assert read_file(put(table(name, written(DAYS, lambda t: f"{t:%Y%j}")))).time is None


@pytest.mark.parametrize(("name", "found"), [("Order No", False), ("sample", False), ("sampling day", True)])
def test_the_number_of_an_order_is_no_day(put, name, found):
    texts = written(DAYS, lambda t: f"{t:%Y-%j}")
    assert (read_file(put(table(name, texts))).time is not None) is found
    frame = pd.DataFrame({name: texts, "x": np.arange(len(texts), dtype=float)})
    assert (Frame.read(frame).time is not None) is found


@pytest.mark.parametrize(
    ("name", "epoch", "digits", "minutes"),
    [
        ("JD", 2440587.5, 5, 60),
        ("julian_date", 2440587.5, 1, 1440),
        ("Julian Day (UTC)", 2440587.5, 4, 10),
        ("MJD", 40587, 6, 15),
        ("mjd", 40587, 0, 1440),
    ],
)
def test_julian_days_where_the_name_says_so(put, name, epoch, digits, minutes):
    times = np.arange("2023-01-01", "2023-02-20", 60 * 24, dtype="M8[m]").astype("M8[ns]")
    times = times[:1] + np.arange(200) * np.timedelta64(minutes, "m")
    texts = [f"{epoch + int(time.astype('i8')) / 86400e9:.{digits}f}" for time in times]
    file = read_file(put(table(name, texts)))
    np.testing.assert_array_equal(file.time, times)
    assert file.time_format.write(times) == texts
    frame = pd.DataFrame({name: [float(text) for text in texts], "x": np.arange(200.0)})
    np.testing.assert_array_equal(Frame.read(frame, time=name).time, times)
    assert read_file(put(table("level", texts))).time is None


def test_a_count_of_seconds_is_no_julian_day():
    texts = [f"{2459945 + k}" for k in range(20)]
    numbers = np.array([float(text) for text in texts])
    assert read_numeric_dates(numbers, texts, name="time").format.unit == "step"
