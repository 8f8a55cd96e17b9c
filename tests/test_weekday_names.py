"""A day of the week in front of a date, a year behind the clock, and the halves of a day as p.m."""

import numpy as np
import pytest

from t1.data.dates import read_dates


@pytest.mark.parametrize(
    ("texts", "times"),
    [
        (
            ["Tue, 03 Jan 2023 14:00:00 +0000", "Wed, 04 Jan 2023 15:00:00 +0000"],
            ["2023-01-03T14", "2023-01-04T15"],
        ),
        (
            ["Tue, 3 Jan 2023 00:30:00 +0200", "Fri, 13 Jan 2023 00:30:00 +0200"],
            ["2023-01-02T22:30", "2023-01-12T22:30"],
        ),
        (["Tue, 03 Jan 2023 14:00:00 GMT"], ["2023-01-03T14"]),
        (["Fri Jan 13 14:00:00 2023", "Tue Jan  3 14:00:00 2023"], ["2023-01-13T14", "2023-01-03T14"]),
        (["Tue Jan 03 14:00:00 UTC 2023"], ["2023-01-03T14"]),
        (["Tue Jul  4 00:30:00 CEST 2023"], ["2023-07-03T22:30"]),
        (["Tue Jan 03 14:00:00 +0000 2023"], ["2023-01-03T14"]),
        (["Di, 03.01.2023 14:00", "Mi, 04.01.2023 14:00"], ["2023-01-03T14", "2023-01-04T14"]),
        (["mar. 3 janv. 2023", "mer. 4 janv. 2023"], ["2023-01-03", "2023-01-04"]),
        (["Monday, January 02, 2023"], ["2023-01-02"]),
        (["Mar 2023", "Apr 2023"], ["2023-03-01", "2023-04-01"]),  # not a Tuesday
        (["Mar 3 2023", "Mar 4 2023"], ["2023-03-03", "2023-03-04"]),
        (["1/2/2023 3:15 p.m.", "1/3/2023 12:05 a.m."], ["2023-01-02T15:15", "2023-01-03T00:05"]),
        (["1/2/2023 3:15 p. m.", "1/3/2023 12:05 a. m."], ["2023-01-02T15:15", "2023-01-03T00:05"]),
        (["1/2/2023 3:15\u202fP.M.", "1/3/2023 12:05\u202fA.M."], ["2023-01-02T15:15", "2023-01-03T00:05"]),
        (["1/2/2023, 3:15 p.m.", "1/3/2023, 12:05 a.m."], ["2023-01-02T15:15", "2023-01-03T00:05"]),
        (["1/2/2023 3:15PM", "1/3/2023 12:05AM"], ["2023-01-02T15:15", "2023-01-03T00:05"]),
    ],
)
def test_they_are_read_and_come_back(texts, times):
    dates = read_dates(texts)
    np.testing.assert_array_equal(dates.times, np.array(times, "M8[ns]"))
    assert dates.format.write(dates.times) == texts


def test_the_day_of_the_week_tells_the_order_of_day_and_month():
    dates = read_dates(["Tue 03/01/2023", "Tue 10/01/2023"])
    assert dates.times[1] == np.datetime64("2023-01-10") and dates.note == ""
    assert read_dates(["Wed 03/01/2023", "Thu 03/02/2023"]).times[1] == np.datetime64("2023-03-02")
    assert np.isnat(read_dates(["Sun 03/01/2023"]).times).all()  # neither 3 January nor 1 March


def test_days_that_are_not_named_are_written_as_the_others():
    dates = read_dates(["Di 03.01.2023", "Mi 04.01.2023"])
    assert dates.format.write(np.array(["2023-01-08"], "M8[ns]")) == ["So 08.01.2023"]


def test_zones_inside_that_change_with_the_season():
    texts = ["Sat Mar 25 23:30:00 CET 2023", "Mon Mar 27 00:30:00 CEST 2023"]
    dates = read_dates(texts)
    np.testing.assert_array_equal(dates.times, np.array(["2023-03-25T22:30", "2023-03-26T22:30"], "M8[ns]"))
    assert dates.format.write(dates.times[:1]) == ["Sat Mar 25 22:30:00 UTC 2023"]
