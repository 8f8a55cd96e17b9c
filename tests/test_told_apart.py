"""What tells series apart, and what does not: blocks of rows without a time, clocks in an odd shape."""

import numpy as np
import pandas as pd
import pytest

import t1
from t1.api import impute_file
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.options import FillOptions, FitOptions

HOURS = pd.date_range("2024-10-25", periods=240, freq="h", tz="Europe/Berlin")


def x(i: int) -> str:
    return "" if i in (7, 8, 30) else f"{12 + 4 * np.sin(i / 4):.2f}"


def read_as(container, source, tmp_path, **reading):
    """A text table as it is, or as the dataframe or the Parquet file that pandas makes of it."""
    if container == "csv":
        return read_file(source)
    table = pd.read_csv(source, **reading)
    if container == "frame":
        return Frame.read(table)
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "in.parquet", index=False)
    return read_file(tmp_path / "in.parquet")


def patients(name, first="141168", second="141173"):
    lines = [f"{name},minute,hr,sao2"]
    for who, level in ((first, 60), (second, 160)):
        for i in range(40):
            gap = i in ((38, 39) if who == first else (0, 1))
            lines.append(f"{who},{5 * i},{'' if gap else level + i % 5},97")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "whos"),
    [("patientunitstayid", ()), ("subject_id", ()), ("station", ("north", "south")), ("hadm_id", ())],
)
@pytest.mark.parametrize("container", ["csv", "parquet", "frame"])
def test_without_a_time_blocks_of_an_id_are_series(put, tmp_path, name, whos, container):
    """The end of one patient is not filled from the beginning of the next."""
    source = put(patients(name, *whos))
    table = pd.read_csv(source)
    if container == "frame":
        assert Frame.read(table).id_columns == (name,)
        filled = t1.impute(table, method="linear", budget="fast").data
    else:
        if container == "parquet":
            pytest.importorskip("pyarrow")
            source = tmp_path / "in.parquet"
            table.to_parquet(source, index=False)
        file = read_file(source)
        assert file.id_columns == (name,) and "series of its own" in " ".join(file.said)
        fit = FitOptions(method="linear", budget="fast")
        target = tmp_path / f"out.{container}"
        impute_file(source, target, reading={}, fit_options=fit, fill_options=FillOptions())
        read = pd.read_csv if container == "csv" else pd.read_parquet
        filled = read(target)
    assert filled["hr"][:40].max() < 100 and filled["hr"][40:].min() > 150


@pytest.mark.parametrize("name", ["subject_id", "ward", "heart_rate"])
def test_an_id_that_comes_again_or_is_called_otherwise_names_no_blocks(put, name):
    text = patients(name)
    lines = text.splitlines()
    if name == "subject_id":
        lines[60:62] = [lines[1], lines[60]]
    assert read_file(put("\n".join(lines) + "\n")).ids is None


def panel(who, count, whos, counts):
    """Blocks of rows through which a count goes up, and two columns that jump between them."""
    lines = [f"{who},{count},a,b"]
    for k, name in enumerate(whos):
        lines += [
            f"{name},{c},{'' if i in (0, 7) else 100 * k + i % 5},{50 - 9 * k}.{i % 7}"
            for i, c in enumerate(counts)
        ]
    return "\n".join(lines) + "\n"


YEARS, HALVES = range(1990, 2020), np.arange(30) / 2


@pytest.mark.parametrize("container", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(
    ("who", "count", "whos", "counts", "timed"),
    [
        ("country", "year", ("Chad", "Fiji", "Peru"), YEARS, True),
        ("firm", "Year", (1, 2, 3), YEARS, True),
        ("state", "year", (10, 2, 33), range(63, 93), False),
        ("Subject", "Days", (308, 309, 310), range(30), False),
        ("batch", "t", ("b1", "b2"), HALVES, False),
        ("engineNo", "cycle", (4, 5, 6), range(1, 31), False),
        ("name", "time", ("x", "y"), range(30), True),
    ],
)
def test_where_a_count_starts_again_with_each_thing_they_are_series(
    put, tmp_path, container, who, count, whos, counts, timed
):
    source = put(panel(who, count, whos, counts))
    found = read_as(container, source, tmp_path)
    assert found.id_columns == (who,) and len(set(found.ids)) == len(whos)
    assert {"a", "b"} <= set(found.columns)
    if container == "csv":
        assert (found.time is not None) == timed


@pytest.mark.parametrize(
    ("who", "count", "whos"),
    [
        ("day", "hour", (1, 2, 3)),  # a sum that is set back every day has the day beside it
        ("Monat", "t", ("Jan", "Feb", "Mar")),
        ("level", "t", (1, 2, 3)),  # a number that is called nothing
        ("batch", "t", ("b1", "b2", "b1")),  # it comes again
    ],
)
def test_what_changes_where_a_count_starts_again_may_be_no_thing(put, who, count, whos):
    assert read_file(put(panel(who, count, whos, range(24)))).ids is None


def test_years_that_repeat_and_nothing_tells_apart_are_no_time(put):
    """Rows of weeks, of which only the year is known, stay in their order."""
    lines = ["year,a"] + [f"{2000 + i // 52},{'' if i == 30 else i % 7}" for i in range(300)]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.time is None and file.ids is None and not file.problems


@pytest.mark.parametrize("container", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(
    ("one", "other", "departments"),
    [("Store", "Dept", (1, 2, 3)), ("shop_nr", "aisle", (4, 5)), ("product", "city", ("Oslo", "Bergen"))],
)
def test_two_numbers_or_a_number_and_a_text_tell_series_apart(
    put, tmp_path, container, one, other, departments
):
    """Weekly sales of each department of each store, one below the other."""
    weeks = pd.date_range("2024-01-05", periods=40, freq="7D")
    lines = [f"{one},{other},Date,sales"]
    for store in (1, 2):
        for name in departments:
            sales = ["" if i == 9 else i % 7 + 50 * store for i in range(len(weeks))]
            lines += [f"{store},{name},{t:%Y-%m-%d},{x}" for t, x in zip(weeks, sales, strict=True)]
    source = put("\n".join(lines) + "\n")
    found = read_as(container, source, tmp_path, parse_dates=["Date"])
    assert found.id_columns == (one, other) and len(set(found.ids)) == 2 * len(departments)


def test_the_rows_of_a_wide_table_keep_their_names(put):
    """Several rows of one country are rows of the table, not a block."""
    years = range(2000, 2012)
    lines = ["Country Name,Indicator," + ",".join(map(str, years))]
    for country in ("Norway", "Sweden"):
        for k in range(6):
            lines.append(f"{country},i{k}," + ",".join(f"{k}.{y % 10}" if y != 2004 else "" for y in years))
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.ids is None and file.columns[0] == "Norway / i0" and file.columns[-1] == "Sweden / i5"
    assert not any("series of its own" in text for text in file.said)


@pytest.mark.parametrize("gap", ["", " "])
def test_the_hour_that_comes_twice_may_have_a_letter(put, gap):
    """Exports of German grids: 02:00A is summer time, 02:00B is not."""
    lines = ["Datum;von;x"]
    for i, t in enumerate(HOURS):
        twice = t.hour == 2 and (t.month, t.day) == (10, 27)
        letter = gap + ("A" if t.dst() else "B") if twice else ""
        lines.append(f"{t:%d.%m.%Y};{t:%H:%M}{letter};{x(i)}")
    file = read_file(put("\n".join(lines) + "\n"))
    np.testing.assert_array_equal(file.time, HOURS.tz_localize(None).to_numpy("M8[ns]"))
    assert file.ids is None and file.time_columns == ("Datum", "von")


def test_a_clock_that_cannot_be_read_tells_no_series_apart(put):
    lines = ["Datum;von;x"]
    lines += [f"{t:%d.%m.%Y};{t:%H:%M}{'!' * (i == 40)};{x(i)}" for i, t in enumerate(HOURS)]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.ids is None and "rows are taken in their order" in " ".join(file.problems)


def test_clocks_of_four_digits_beside_dates_without_names(put):
    """USCRN: UTC date and clock, local date and clock."""
    lines = [f"53131 {t:%Y%m%d %H%M %Y%m%d %H%M} {x(i) or -9999.0} 0.0" for i, t in enumerate(HOURS[:48])]
    file = read_file(put("\n".join(lines) + "\n", "in.txt"))
    np.testing.assert_array_equal(file.time, HOURS[:48].tz_localize(None).to_numpy("M8[ns]"))
    assert file.ids is None


def grid(*, moved=False):
    """Four points of a grid; the columns of numbers alone tell nothing."""
    points = [(lat, lon) for lat in (50.25, -50.5) for lon in (8.0, -8.25)]
    lines = ["valid_time,latitude,longitude (deg),t2m"]
    for i, t in enumerate(HOURS[:48].tz_localize(None)):
        for k, (lat, lon) in enumerate(points):
            lines.append(f"{t},{lat},{lon + moved * i / 100},{'' if i in (7, 8) else 100 * k + i % 24}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("container", ["csv", "parquet", "frame"])
def test_the_points_of_a_grid_are_series(put, tmp_path, container):
    source = put(grid())
    found = read_as(container, source, tmp_path)
    assert found.id_columns == ("latitude", "longitude (deg)") and len(set(found.ids)) == 4


def test_a_place_that_moves_is_no_point_of_a_grid(put):
    file = read_file(put(grid(moved=True)))
    assert file.ids is None


@pytest.mark.parametrize(
    ("name", "size"), [("seconds_of_day", 3600), ("Minute of day", 60), ("secs since midnight", 3600)]
)
def test_seconds_and_minutes_of_a_day_are_its_clock(put, name, size):
    local = HOURS[:48].tz_localize(None)
    lines = [f"date,{name},x", *(f"{t:%Y-%m-%d},{t.hour * size},{x(i)}" for i, t in enumerate(local))]
    file = read_file(put("\n".join(lines) + "\n"))
    np.testing.assert_array_equal(file.time, local.to_numpy("M8[ns]"))
    assert file.ids is None
    assert file.time_at.write(file.time)[1] == [str(t.hour * size) for t in local]


def test_an_hour_25_is_one_of_a_long_day_not_a_minute(put):
    hours = HOURS.normalize()
    count = pd.Series(range(240)).groupby(hours).cumcount() + 1
    lines = [f"{t:%d.%m.%Y};{n};{x(i)}" for i, (t, n) in enumerate(zip(HOURS, count, strict=True))]
    file = read_file(put("\n".join(["Datum;Stunde;x", *lines]) + "\n"))
    assert np.median(np.diff(file.time)) == np.timedelta64(1, "h") and count.max() == 25
