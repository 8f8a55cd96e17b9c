"""Exports of loggers, weather services and statistics offices: what went wrong with them, each in a few lines."""

import numpy as np
import pandas as pd
import pytest

from t1.api import impute_file
from t1.data.files import read_file
from t1.options import FillOptions, FitOptions

DAYS = pd.date_range("2022-01-20", periods=90)
HOURS = pd.date_range("2023-05-01", periods=120, freq="h")
MONTHS = pd.date_range("2010-01-01", periods=60, freq="MS")


def x(i: int) -> str:
    return "" if i in (7, 8, 30) else f"{12 + 4 * np.sin(i / 4):.2f}"


def same_times(file, times):
    np.testing.assert_array_equal(file.time, times.to_numpy("M8[ns]"))


@pytest.mark.parametrize(
    ("times", "how"),
    [
        (HOURS, lambda t: f"{t.year} {t.day_of_year:3} {t.hour:2}"),  # an hour, not minutes
        (HOURS, lambda t: f"{t.year} {t.day_of_year} {t.hour * 100}"),
        (HOURS, lambda t: f"{t.year} {t.month} {t.day} {t.hour}"),
        (MONTHS, lambda t: f"{t.year} {t.month}"),  # a month, not a day of the year
        (MONTHS, lambda t: f"{t.year} {t.month} {t.year + (t.month - 0.5) / 12:.4f}"),
        (pd.date_range("2022-11-01", periods=120), lambda t: f"{t.year} {t.day_of_year}"),
    ],
)
def test_numbers_without_names_are_the_time_with_the_most_regular_steps(put, times, how):
    rows = (f"{how(t)} {x(i) or 'NaN'} {i % 5}.5\n" for i, t in enumerate(times))
    same_times(read_file(put("".join(rows))), times)


def test_twelve_numbers_of_one_year_may_be_days_or_months(put):
    assert read_file(put("".join(f"2023 {m} {x(m) or 'NaN'} 1.5\n" for m in range(1, 13)))).time is None


def test_the_hour_of_a_minimum_is_no_clock_of_its_day(put):
    rows = (f"{t:%Y-%m-%d};{x(i)};{i * 7 % 24:02}:{i % 60:02}\n" for i, t in enumerate(DAYS))
    file = read_file(put("fecha;tmin;horatmin\n" + "".join(rows)))
    same_times(file, DAYS)
    assert file.time_columns == ("fecha",)


def test_when_a_file_was_written_is_not_when_its_rows_were(put):
    rows = (f"03/05/23 11:00:00,{t:%Y}-Q{t.quarter},{x(i)}\n" for i, t in enumerate(MONTHS[::3]))
    file = read_file(put("LAST UPDATE,quarter,value\n" + "".join(rows)))
    same_times(file, MONTHS[::3])


@pytest.mark.parametrize("name", ["MESS_DATUM", "Datum der Messung", "obs_date"])
def test_days_as_numbers_under_the_name_of_a_date(put, name):
    rows = (f"433;{t:%Y%m%d};  10;{x(i) or '-999'};eor\n" for i, t in enumerate(DAYS))
    file = read_file(put(f"STATIONS_ID;{name};QN_3; TMK;eor\n" + "".join(rows)))
    same_times(file, DAYS)
    rows = (f"{t:%Y%m%d};{x(i)}\n" for i, t in enumerate(DAYS))
    assert read_file(put("serial;TMK\n" + "".join(rows))).time is None


@pytest.mark.parametrize(
    "how",
    [
        lambda t: f"{t:%b %Y}",
        lambda t: f"{t:%b-%y}",
        lambda t: f"{t:%Y}M{t:%m}",
        lambda t: f"{t.year} [YR{t.year}]",
        lambda t: f"Q{t.quarter} {t.year}",
    ],
)
def test_a_column_for_each_month_quarter_or_year(put, tmp_path, how):
    names = list(dict.fromkeys(how(t) for t in MONTHS))
    names = [*names, *(f"{y} [YR{y}]" for y in range(2015, 2025))] if "YR" in names[0] else names
    rows = [f"{c},{','.join(x(i + k) or '..' for i in range(len(names)))}\n" for k, c in enumerate("ABC")]
    remarks = "\n\nData from a database\nLast updated: 05/10/2023\n"
    text = f"Country,{','.join(names)}\n" + "".join(rows) + remarks
    file = read_file(put(text))
    assert file.columns == ("A", "B", "C") and len(file.time) == len(names)
    assert (np.diff(file.time.astype("M8[M]").astype(int)) > 0).all()
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(put(text), tmp_path / "out.csv", reading={}, **options)
    out = (tmp_path / "out.csv").read_text()
    assert out.endswith(remarks) and ".." not in out
    assert out.splitlines()[1].split(",")[1:7] == rows[0].split(",")[1:7]


def test_a_zone_behind_a_blank_is_no_number_with_a_comma(put):
    rows = (f"{t:%Y-%m-%d %H:%M:%S} -0700,{i * 3}\n" for i, t in enumerate(HOURS))
    file = read_file(put("Date/Time,Energy Produced (Wh)\n" + "".join(rows)))
    same_times(file, HOURS + pd.Timedelta("7h"))
    assert file.columns == ("Energy Produced (Wh)",)


def test_subtotals_between_months_are_no_rows(put):
    rows = (f"{t:%b %Y},{x(i)}\n" + "Subtotal,99\n" * (t.month == 12) for i, t in enumerate(MONTHS))
    same_times(read_file(put("Month,x\n" + "".join(rows) + "Grand total,999\n")), MONTHS)


def test_lines_without_a_date_above_those_with_one_are_left_alone(put, tmp_path):
    head = "Index,Timestamp (local),Event,Patient,Glucose\n1,,FirstName,Jane,\n2,,Alert,,70\n"
    rows = "".join(f"{i + 3},{t:%Y-%m-%dT%H:%M:%S},EGV,,{x(i)}\n" for i, t in enumerate(HOURS))
    file = read_file(put(head + rows))
    same_times(file, HOURS)
    assert any("first 2 rows have no date" in text for text in file.said)
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(put(head + rows), tmp_path / "out.csv", reading={}, **options)
    assert (tmp_path / "out.csv").read_text().startswith(head)
    sparse = head + rows.replace(f"{HOURS[3]:%Y-%m-%dT%H:%M:%S}", "")
    assert read_file(put(sparse)).time is None  # a date that lacks between others is no preamble
