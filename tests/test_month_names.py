"""Dates that name their month, in any language and case, and other ways in which tables write dates."""

import numpy as np
import pandas as pd
import pytest

from t1.api import impute_file
from t1.data.dates import read_dates
from t1.data.files import read_file
from t1.data.month_names import ROWS, day_pattern, month_of, month_style
from t1.options import FillOptions, FitOptions

DAYS = pd.date_range("2023-05-06", periods=240)
MONTHS = pd.date_range("2004-05-01", periods=120, freq="MS")
HOURS = pd.date_range("2024-05-06", periods=240, freq="h")
FRENCH = ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."]
SPANISH = ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre"]
SPANISH += ["octubre", "noviembre", "diciembre"]
GERMAN = ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
SEPT = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"]

STYLES = {
    "06-May-2023": (DAYS, lambda t: f"{t:%d-%b-%Y}"),
    "May 06 2023": (DAYS, lambda t: f"{t:%b %d %Y}"),
    "May 6, 2023": (DAYS, lambda t: f"{t:%b} {t.day}, {t.year}"),
    "May-06-2023": (DAYS, lambda t: f"{t:%b-%d-%Y}"),
    "06 May 2023, full": (DAYS, lambda t: f"{t:%d %B %Y}"),
    "2023-May-06": (DAYS, lambda t: f"{t:%Y-%b-%d}"),
    "May 2004": (MONTHS, lambda t: f"{t:%B %Y}"),
    "May-04": (MONTHS, lambda t: f"{t:%b-%y}"),
    "2004 May": (MONTHS, lambda t: f"{t:%Y %B}"),
    "28-May-2024 00:00": (HOURS[::-1], lambda t: f"{t:%d-%b-%Y %H:%M}"),
    "06-May-24 00:00:00": (HOURS, lambda t: f"{t:%d-%b-%y %H:%M:%S}"),
    "06-MAY-23": (DAYS, lambda t: f"{t:%d-%b-%y}".upper()),
    "20-MAY-2024": (DAYS, lambda t: f"{t:%d-%b-%Y}".upper()),
    "Sept 2004": (MONTHS, lambda t: f"{SEPT[t.month - 1]} {t.year}"),
    "05. Jun 2023": (DAYS, lambda t: f"{t:%d}. {GERMAN[t.month - 1]} {t.year}"),
    "5 juin 2023": (DAYS, lambda t: f"{t.day} {FRENCH[t.month - 1]} {t.year}"),
    "enero 2004": (MONTHS, lambda t: f"{SPANISH[t.month - 1]} {t.year}"),
    "6 de mayo de 2023": (DAYS, lambda t: f"{t.day} de {SPANISH[t.month - 1]} de {t.year}"),
    "Mon 06/05/2024 00:00": (HOURS, lambda t: f"{t:%a %d/%m/%Y %H:%M}"),
    "05/2004": (MONTHS, lambda t: f"{t:%m/%Y}"),
    "2004/05": (MONTHS, lambda t: f"{t:%Y/%m}"),
    "13/05/2024 or with a clock": (HOURS, lambda t: f"{t:%d/%m/%Y %H:%M:%S}".removesuffix(" 00:00:00")),
    "05/13/2024 1:00 PM": (HOURS, lambda t: f"{t:%m/%d/%Y %I:%M %p}".removesuffix(" 12:00 AM")),
    "2024-05-06 or with a clock": (HOURS, lambda t: f"{t:%Y-%m-%d %H:%M}".removesuffix(" 00:00")),
    "from to": (HOURS, lambda t: f"{t:%d.%m.%Y %H:%M} - {t + pd.Timedelta('1h'):%d.%m.%Y %H:%M}"),
    "from, and a clock": (HOURS, lambda t: f"{t:%d.%m.%Y %H:%M} - {t + pd.Timedelta('1h'):%H:%M}"),
}


@pytest.mark.parametrize(("times", "write"), STYLES.values(), ids=STYLES.keys())
def test_a_style_is_read_and_added_rows_are_written_in_it(put, tmp_path, times, write):
    rows = [f'"{write(time)}",{np.sin(i / 4):.3f}' for i, time in enumerate(times)]
    dates = read_dates([write(time) for time in times])
    np.testing.assert_array_equal(dates.times, times.to_numpy("M8[ns]"))
    assert dates.format.write(dates.times) == [write(time) for time in times]
    less = put("when,x\n" + "\n".join(rows[:40] + rows[43:]) + "\n")
    options = {"fit_options": FitOptions(budget="fast", method="linear"), "fill_options": FillOptions()}
    impute_file(less, tmp_path / "out.csv", reading={}, add_missing_rows=True, **options)
    out = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in out[1:]] == [row.rpartition(",")[0] for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_language_has_twelve_months(row):
    assert [month_of(name) for name in row] == list(range(12))
    assert month_style([f"1 {name.upper()} 2020" for name in row[:5]])[:5] == tuple(
        name.upper() for name in row[:5]
    )


@pytest.mark.parametrize(
    "text", ["06-May", "May", "Maybe 2004", "May 123", "1 2 May 2004", "May June 2004", "marble 2"]
)
def test_what_is_no_date(text):
    assert day_pattern(text) is None
    assert np.isnat(read_dates([text]).times).all()


def test_months_that_a_column_lacks_are_named_as_the_others():
    assert month_style(["5 janv. 2023", "6 juil. 2023"])[9:11] == ("oct.", "nov.")
    assert month_style(["5 janv. 2023", "6 juil. 2023"])[5] == "juin"
    assert month_style(["ENE-04", "DIC-04"])[7] == "AGO"
    assert month_style(["Januar 2004"])[2] == "März"


def test_zones_by_name():
    winter = read_dates(["2024-03-25 00:00:00 CET", "2024-03-25 01:00:00 CET"])
    assert winter.times[0] == np.datetime64("2024-03-24T23:00")
    assert winter.format.write(winter.times) == ["2024-03-25 00:00:00 CET", "2024-03-25 01:00:00 CET"]
    spring = read_dates(["31.03.2024 01:00 CET", "31.03.2024 03:00 CEST"])
    assert np.diff(spring.times) == np.timedelta64(1, "h")
    again = read_dates(spring.format.write(spring.times))  # an added row names UTC, which says the same
    np.testing.assert_array_equal(again.times, spring.times)
    assert read_dates(["5/6/2024 1:00 PM PST"]).times[0] == np.datetime64("2024-05-06T21:00")


def test_what_looks_like_the_time_but_is_not_read_names_the_cure(put):
    file = read_file(put("date,x\n" + "2024-05-06,1\n" * 30 + "day 31,2\n"))
    assert file.time is None and "(time_format)" in file.problems[0]
