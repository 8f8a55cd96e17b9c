"""Dates as other programs write them: read, and written back as they were."""

import numpy as np
import pandas as pd
import pytest

from t1.data.dates import read_dates
from t1.data.files import read_file

HOURS = pd.date_range("2024-01-01", periods=400, freq="h")
ROMANS = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
WAYS = {
    "Apache": lambda t: f"{t:%d/%b/%Y:%H:%M:%S} -0700",
    "SAS": lambda t: f"{t:%d%b%Y:%H:%M:%S}".upper(),
    "SAS with hundredths": lambda t: f"{t:%d%b%Y:%H:%M:%S}.00".upper(),
    "DB2": lambda t: f"{t:%Y-%m-%d-%H.%M.%S}.000000",
    "NASA, day of the year": lambda t: f"{t:%Y:%j:%H:%M:%S}",
    "ISO basic with milliseconds": lambda t: f"{t:%Y%m%dT%H%M%S}.000Z",
    "Davis": lambda t: (
        f"{t.month}/{t.day:02d}/{t:%y} {t.hour % 12 or 12}:{t:%M}{'a' if t.hour < 12 else 'p'}"
    ),
    "UTC in brackets": lambda t: f"{t:%Y-%m-%d %H:%M:%S} (UTC)",
    "Chinese, Japanese": lambda t: f"{t.year}年{t.month:02d}月{t.day:02d}日 {t:%H:%M}",
    "in names of files": lambda t: f"{t:%Y-%m-%d_%H-%M-%S}",
    "with _ only": lambda t: f"{t:%Y_%m_%d_%H_%M}",
    "two digits of a year in front": lambda t: f"{t:%y/%m/%d %H:%M:%S}",
    "the same with -": lambda t: f"{t:%y-%m-%d %H:%M}",
    "a number of ten digits": lambda t: f"{t:%y%m%d%H%M}",
}


@pytest.mark.parametrize("name", WAYS)
def test_a_column_is_read_and_written_as_it_is(put, name):
    texts = [WAYS[name](t) for t in HOURS]
    lines = ["time,x,y", *(f"{text},{i % 24}.5,{i % 7}" for i, text in enumerate(texts))]
    file = read_file(put("\n".join(lines) + "\n"))
    times = HOURS.to_numpy("M8[ns]") + np.timedelta64(7 if name == "Apache" else 0, "h")
    np.testing.assert_array_equal(file.time, times)
    assert file.time_at.write(file.time) == [texts]
    assert not any("both orders" in text for text in file.said) or name == "Davis"


@pytest.mark.parametrize(
    ("n", "months"), [(2, 6), (4, 3), (12, 1)], ids=["halves of a year", "quarters", "months"]
)
@pytest.mark.parametrize("shape", ["{year} {roman}", "{year}-{roman}", "{roman}/{year}"])
def test_roman_numbers_count_the_parts_of_a_year(put, n, months, shape):
    texts = [shape.format(year=2000 + i // n, roman=ROMANS[i % n]) for i in range(5 * n)]
    lines = ["period,x", *(f"{text},{i % n}.5" for i, text in enumerate(texts))]
    file = read_file(put("\n".join(lines) + "\n"))
    begins = np.datetime64("2000-01") + np.arange(5 * n) * months
    np.testing.assert_array_equal(file.time, begins.astype("M8[ns]"))
    assert file.time_at.write(file.time) == [texts]


def test_what_is_no_roman_number_is_no_date():
    assert np.isnat(read_dates(["2000 I", "2000 IIV"]).times).all()
    assert np.isnat(read_dates(["2000 I", "2000 IIV"] * 3).times).all()


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        ([f"{t:%d/%m/%y}" for t in HOURS[::24]], "%d/%m/%y"),
        ([f"{t:%m/%d/%y}" for t in HOURS[::24]], "%m/%d/%y"),
        ([f"{t:%y/%m/%d}" for t in pd.date_range("2024-01-01", periods=80)], "%y/%m/%d"),
        (["01/02/03", "01/02/04", "01/02/05"], "%m/%d/%y"),  # every reading is as regular: as before
    ],
)
def test_the_year_is_in_front_only_where_that_makes_steps_more_regular(texts, pattern):
    assert read_dates(texts).format.pattern == pattern


def test_an_iso_date_with_an_hour_has_one_order():
    dates = read_dates([f"{t:%Y-%m-%dT%H}" for t in HOURS[:240]])
    assert dates.note == "" and dates.times[-1] == np.datetime64("2024-01-10T23")


def test_seconds_since_1970_are_no_digits_of_a_date(put):
    lines = ["time,x", *(f"{int(t.timestamp())},{i % 24}.5" for i, t in enumerate(HOURS))]
    file = read_file(put("\n".join(lines) + "\n"))
    np.testing.assert_array_equal(file.time, HOURS.to_numpy("M8[ns]"))


@pytest.mark.parametrize("unit", [1, 1000, 10**6])
def test_epochs_without_a_name_are_the_time(put, unit):
    """Candles of an exchange: when one opens, five numbers, and when it closes."""
    begin = [int(t.timestamp()) * unit for t in HOURS]
    lines = [f"{t},{i % 24}.5,{i % 5}.25,{t + 3600 * unit - 1}" for i, t in enumerate(begin)]
    file = read_file(put("\n".join(lines) + "\n"))
    np.testing.assert_array_equal(file.time, HOURS.to_numpy("M8[ns]"))


def test_large_numbers_without_a_name_that_are_uneven_are_none(put):
    steps = np.cumsum(np.random.default_rng(0).integers(1, 99, 60))
    lines = [f"{1_700_000_000 + step},{i % 24}.5" for i, step in enumerate(steps.tolist())]
    assert read_file(put("\n".join(lines) + "\n")).time is None


def test_a_year_and_the_name_of_a_month_without_names_above_them(put):
    """Destatis: the line of names has blanks where the time is."""
    months = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"]
    months += ["September", "Oktober", "November", "Dezember"]
    lines = ["Index der Produktion;;", ";;Original;Bereinigt"]
    lines += [f"{2000 + i // 12};{months[i % 12]};{90 + i % 9},5;{91 + i % 7},5" for i in range(60)]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.columns == ("Original", "Bereinigt")
    np.testing.assert_array_equal(file.time, (np.datetime64("2000-01") + np.arange(60)).astype("M8[ns]"))


def test_a_clock_with_one_letter_beside_its_date(put):
    """WeatherLink: two lines of names, 12:30a."""
    lines = ["\t\tTemp\tOut", "Date\tTime\tOut\tHum"]
    for i, t in enumerate(HOURS):
        clock = f"{t.hour % 12 or 12}:{t:%M}{'a' if t.hour < 12 else 'p'}"
        lines.append(f"{t.month}/{t.day:02d}/{t:%y}\t{clock}\t{i % 24}.5\t{i % 7}")
    file = read_file(put("\n".join(lines) + "\n", "in.txt"))
    np.testing.assert_array_equal(file.time, HOURS.to_numpy("M8[ns]"))
    texts = [line.split("\t")[:2] for line in lines[2:]]
    assert [list(pair) for pair in zip(*file.time_at.write(file.time), strict=True)] == texts


@pytest.mark.parametrize("pattern", ["%y/%m/%d %H:%M", "%d/%m/%y %H:%M"])
def test_in_a_long_column_some_rows_tell_whether_the_year_is_in_front(pattern):
    times = pd.date_range("2024-01-01", periods=9000, freq="10min")
    dates = read_dates(times.strftime(pattern).tolist())
    assert dates.format.pattern == pattern
    np.testing.assert_array_equal(dates.times, times.to_numpy("M8[ns]"))


@pytest.mark.parametrize(
    ("begin", "freq", "pattern"),
    [("1955-01", "MS", "%b-%y"), ("1968-06-01", "D", "%d/%m/%y"), ("1960-02-01", "MS", "%d.%m.%y")],
)
def test_two_digits_of_a_year_before_1969(begin, freq, pattern):
    times = pd.date_range(begin, periods=300, freq=freq)
    texts = times.strftime(pattern).tolist()
    dates = read_dates(texts)
    np.testing.assert_array_equal(dates.times, times.to_numpy("M8[ns]"))
    assert dates.format.write(dates.times) == texts


def test_a_turn_of_the_century_stays_where_it_is():
    times = pd.date_range("1990-01-01", periods=500, freq="MS")
    np.testing.assert_array_equal(
        read_dates(times.strftime("%b-%y").tolist()).times, times.to_numpy("M8[ns]")
    )
