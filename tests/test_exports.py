"""Exports of loggers, weather services and statistics offices: what went wrong with them, each in a few lines."""

import numpy as np
import pandas as pd
import pytest

from t1.api import impute_file
from t1.data.files import read_file
from t1.errors import InputError
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
    rows = (f"{i // 10} {i % 10 + 1} {x(i) or 'NaN'} 1.5\n" for i in range(120))  # nor is 0 the year 2000
    assert read_file(put("".join(rows))).time is None


def test_the_hour_of_a_minimum_is_no_clock_of_its_day(put):
    rows = (f"{t:%Y-%m-%d};{x(i)};{i * 7 % 24:02}:{i % 60:02}\n" for i, t in enumerate(DAYS))
    file = read_file(put("fecha;tmin;horatmin\n" + "".join(rows)))
    same_times(file, DAYS)
    assert file.time_columns == ("fecha",)


@pytest.mark.parametrize(
    ("name", "hour"), [("Sunset", lambda i: f"{16 + i // 60}:{i % 60:02}"), ("Time", lambda i: "09:00")]
)
def test_a_clock_that_changes_from_day_to_day_must_make_steps_more_regular(put, name, hour):
    rows = (f"{t:%Y-%m-%d},{hour(i)},{x(i)}\n" for i, t in enumerate(DAYS))
    file = read_file(put(f"Date,{name},x\n" + "".join(rows)))
    assert file.time_columns == (("Date",) if name == "Sunset" else ("Date", "Time"))
    assert set(np.diff(file.time).astype("m8[h]").astype(int)) == {24}
    steps = pd.date_range("2024-01-01", periods=80, freq="36h")
    rows = (f"{t:%Y-%m-%d},{t:%H:%M},{x(i)}\n" for i, t in enumerate(steps))
    same_times(read_file(put("Date,Time,x\n" + "".join(rows))), steps)


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
    numbers = [[".." if i == 5 else x(i + k) or ".." for i in range(len(names))] for k in range(3)]
    rows = [f"{c},{','.join(row)}\n" for c, row in zip("ABC", numbers, strict=True)]
    remarks = "\n\nData from a database\nLast updated: 05/10/2023\n"
    text = f"Country,{','.join(names)}\n" + "".join(rows) + remarks
    file = read_file(put(text))
    assert file.columns == ("A", "B", "C") and len(file.time) == len(names)
    assert (np.diff(file.time.astype("M8[M]").astype(int)) > 0).all()
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(put(text), tmp_path / "out.csv", reading={}, **options)
    out = (tmp_path / "out.csv").read_text()
    assert out.endswith(remarks) and ".." not in out
    filled = [line.split(",")[1:] for line in out.splitlines()[1:4]]
    assert all(
        b == a or a == ".."
        for old, new in zip(numbers, filled, strict=True)
        for a, b in zip(old, new, strict=True)
    )
    assert all(
        len(cell.partition(".")[2]) == 2 for cell in filled[0]
    )  # also where a date has no value at all


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


@pytest.mark.parametrize("marks", [("", "*"), ("", "#", "*"), (" ", " p", " bep"), ("", " e")])
def test_marks_behind_numbers_say_how_they_came_about(put, tmp_path, marks):
    cells = [x(i) + marks[i % 17 % len(marks)] * bool(x(i)) for i in range(len(DAYS))]
    text = "day\train\tsun\n" + "".join(
        f"{t:%Y-%m-%d}\t{c}\t{i}\n" for (i, t), c in zip(enumerate(DAYS), cells, strict=True)
    )
    file = read_file(put(text))
    assert file.columns == ("rain", "sun") and np.isnan(file.values[:, 0]).sum() == 3
    assert any("mark behind" in said for said in file.said)
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(put(text), tmp_path / "out.csv", reading={}, **options)
    out = [line.split("\t")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert [cell for i, cell in enumerate(out) if i not in (7, 8, 30)] == [cell for cell in cells if cell]
    assert all(float(out[i]) for i in (7, 8, 30))


@pytest.mark.parametrize(
    ("name", "mark", "value", "said"),
    [
        ("lead", "<0.05", 0.05, "limits (<)"),
        ("ecoli", "> 2400", 2400.0, "limits (>)"),
        ("precip (in)", "T", 0.0, "a trace (T), and count as 0"),
    ],
)
@pytest.mark.parametrize("often", [3, 40])
def test_limits_count_as_what_they_are_and_traces_of_rain_as_0(put, tmp_path, name, mark, value, said, often):
    cells = [mark if x(i) and i % often == 1 else x(i) for i in range(len(DAYS))]
    rows = (f"{t:%Y-%m-%d},{cell},{i % 5}\n" for (i, t), cell in zip(enumerate(DAYS), cells, strict=True))
    source = put(f"day,{name},y\n" + "".join(rows))
    file = read_file(source)
    assert file.values[1, 0] == value and np.isnan(file.values[:, 0]).sum() == 3
    assert any(said in text for text in file.said) and not file.problems
    options = {"fit_options": FitOptions(budget="fast"), "fill_options": FillOptions()}
    impute_file(source, tmp_path / "out.csv", reading={}, **options)
    out = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert [cell for i, cell in enumerate(out) if i not in (7, 8, 30)] == [cell for cell in cells if cell]


def test_a_t_that_is_no_trace_of_rain_is_refused(put):
    rows = (f"{t:%Y-%m-%d},{'T' if i == 9 else x(i)}\n" for i, t in enumerate(DAYS))
    with pytest.raises(InputError, match="'T'"):
        read_file(put("day,level\n" + "".join(rows)))


def test_a_value_that_is_not_told_may_have_a_mark_as_well(put):
    rows = (f"{t:%Y-%m-%d}\t{': c' if i == 9 else x(i) or ': '}\n" for i, t in enumerate(DAYS))
    assert np.isnan(read_file(put("day\tx\n" + "".join(rows))).values).sum() == 4


@pytest.mark.parametrize("cells", [("5 m", "3 cm"), ("5 min", "7"), ("1 a", "2")])
def test_units_are_no_marks(put, cells):
    rows = (f"{t:%Y-%m-%d},{cells[i % 2]},{i}\n" for i, t in enumerate(DAYS))
    file = read_file(put("day,x,y\n" + "".join(rows)))
    assert not any("mark" in said for said in file.said)


def test_a_line_of_units_between_blanks_has_none_for_the_year(put):
    head = "Aberporth\nMissing is marked by ---.\n  yyyy  mm  tmax   sun\n            degC hours\n"
    rows = (f"  {t.year}  {t.month:2}  {x(i) or '---':>5}  {50 + i}\n" for i, t in enumerate(MONTHS))
    file = read_file(put(head + "".join(rows)))
    same_times(file, MONTHS)
    assert file.columns == ("tmax", "sun")


def test_a_mark_that_is_mostly_blank_is_not_set_everywhere(put):
    rows = (f"{t:%Y-%m-%d},{x(i)},{'' if i % 9 else 8}\n" for i, t in enumerate(DAYS))
    file = read_file(put("day,x,status\n" + "".join(rows)))
    assert file.columns == ("x",) and any("'status' is mostly blank" in text for text in file.problems)
    rows = (f"{t:%Y-%m-%d},{x(i)},{8 if x(i) else ''}\n" for i, t in enumerate(DAYS))
    assert read_file(put("day,x,y\n" + "".join(rows))).columns == ("x", "y")  # mostly there


def test_a_date_that_is_written_once_a_day_is_that_of_all_its_rows(put):
    rows = [f"{t:%d.%m.%Y};{t.hour};{x(i)}\n" for i, t in enumerate(HOURS)]
    once = [row if i % 24 == 0 else row[10:] for i, row in enumerate(rows)]
    file = read_file(put("Tag;Stunde;x\n" + "".join(once)))
    same_times(file, HOURS)
    assert file.columns == ("x",)
    with pytest.raises(InputError, match="once for all rows"):
        file.check("out.csv", new_rows=True)
    lost = [row[10:] if i in (30, 31) else row for i, row in enumerate(rows)]
    assert read_file(put("Tag;Stunde;x\n" + "".join(lost))).time is None  # a date that was lost may be any


def test_the_names_are_below_the_groups(put):
    head = ";Boiler;;Pump;\nZeit;Temp;Druck;Temp;Druck\n;°C;bar;°C;bar\n"
    rows = (f"{t:%d.%m.%Y %H:%M};{x(i)};1.5;{x(i + 3)};{i}\n" for i, t in enumerate(HOURS))
    file = read_file(put(head + "".join(rows)))
    assert file.time_columns == ("Zeit",) and file.columns == ("Temp", "Druck", "Temp (2)", "Druck (2)")


@pytest.mark.parametrize("how", ["Finam", "no zeros in front", "no names"])
def test_clocks_of_six_digits_beside_dates(put, how):
    lines = [] if how == "no names" else ["<TICKER>,<PER>,<DATE>,<TIME>,<CLOSE>,<VOL>"]
    for i, t in enumerate(HOURS):
        clock = str(int(f"{t:%H%M%S}")) if how == "no zeros in front" else f"{t:%H%M%S}"
        lines.append(f"SBER,60,{t:%Y%m%d},{clock},{x(i)},{100 + i}")
    file = read_file(put("\n".join(lines) + "\n"))
    same_times(file, HOURS)
    assert file.ids is None and len(file.time_columns) == 2
    date, clock = file.time_at.write(file.time)
    assert [f"{a},{b}" for a, b in zip(date, clock, strict=True)] == [
        ",".join(line.split(",")[2:4]) for line in lines[how != "no names" :]
    ]


def test_a_price_of_six_digits_is_no_clock(put):
    lines = ["date,price,x", *(f"{t:%Y%m%d},{100_000 + 37 * i},{x(i)}" for i, t in enumerate(DAYS))]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.time_columns == ("date",) and "price" in file.columns


def test_two_digits_of_a_year_and_a_day_of_it(put):
    """DSSAT: they were days as Excel counts them, with most of a year missing at each turn of it."""
    lines = ["*STATION ABCD", "@DATE  SRAD  TMAX"]
    lines += [f"{t:%y%j} {x(i) or '-99':>6} {10 + i % 7:5.1f}" for i, t in enumerate(DAYS)]
    file = read_file(put("\n".join(lines) + "\n", "in.txt"))
    same_times(file, DAYS)
    assert file.time_at.write(file.time) == [[f"{t:%y%j}" for t in DAYS]]


@pytest.mark.parametrize("first", [45_376, 33_005, 23_400])
def test_days_as_excel_counts_them_stay_so(put, first):
    lines = ["date,x", *(f"{first + i},{x(i)}" for i in range(60))]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.time[0] == np.datetime64("1899-12-30") + np.timedelta64(first, "D")


def test_a_column_of_numbers_with_many_texts_is_told(put):
    lines = ["time,a,b", *(f"{t},{'OFFLINE' if i % 7 == 3 else i},{x(i)}" for i, t in enumerate(HOURS))]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.columns == ("b",)
    assert "column 'a' holds 103 numbers and 17 texts" in file.problems[0]
    assert "'OFFLINE'" in file.problems[0] and "(missing_values)" in file.problems[0]


def test_messages_say_what_may_be_wrong(put):
    rows = [f"{t:%Y-%m-%d %H:%M},{i % 24}.5" for i, t in enumerate(HOURS)]
    with pytest.raises(InputError) as caught:
        read_file(put("\n".join(["time,x", *rows, "", "Event,Start", "1,2023-05-01 00:00"]) + "\n"))
    assert "another table begins on line 123" in caught.value.cure
    blank = [row.replace(",", "  ") for row in rows]
    blank[40] = blank[40][:17].rstrip()
    with pytest.raises(InputError, match="line 42 has 2 cells") as caught:
        read_file(put("\n".join(["date time x", *blank]) + "\n", "in.txt"))
    assert "write NA" in caught.value.cure


def test_commas_of_two_kinds_are_refused(put):
    """A row with an empty cell had its numbers in other columns, and those were filled."""
    rows = [f"{t:%Y-%m-%d %H:%M}, {x(i).replace('.', ',')}, {i % 7},25" for i, t in enumerate(HOURS)]
    with pytest.raises(InputError, match="3 names stand above rows with more commas"):
        read_file(put("\n".join(["time, a, b", *rows]) + "\n"))
    points = [f"{t:%Y-%m-%d %H:%M}, {x(i)}, {i % 7}.25" for i, t in enumerate(HOURS)]
    assert read_file(put("\n".join(["time, a, b", *points]) + "\n")).columns == ("a", "b")
