"""Lines of a file that are no rows of its table: nothing is ever written into them."""

import numpy as np
import pytest

from t1.data.files import read_file

HOURS = [f"2024-05-{1 + i // 24:02d} {i % 24:02d}:00" for i in range(72)]
ROWS = [f"{t},{20 + i % 24 / 2:.1f},{50 + i % 24}" for i, t in enumerate(HOURS)]
ROWS[30] = f"{HOURS[30]},,"
NAMES = "time,temp,flow"


def filled(put, tmp_path, lines, end="\n"):
    """The file, and its lines after all of its missing cells were filled with 42."""
    source = put("\n".join(lines) + end)
    file = read_file(source)
    file.write(tmp_path / "out.csv", np.nan_to_num(file.values, nan=42.0))
    return file, (tmp_path / "out.csv").read_text().split("\n")[: len(lines)]


def changed(lines, after):
    return [i for i, (old, new) in enumerate(zip(lines, after, strict=True)) if old != new]


@pytest.mark.parametrize("remark", ["Checked by: NN,,", "Source: plant,,", '"see note, below",,'])
def test_a_remark_with_separators_behind_it_is_no_row(put, tmp_path, remark):
    """A sheet that was saved as CSV has them in every line."""
    lines = [NAMES, *ROWS[:50], remark, *ROWS[50:], remark]
    file, after = filled(put, tmp_path, lines)
    assert file.time is not None and file.values.shape == (72, 2)
    assert changed(lines, after) == [31]


def test_the_end_of_a_report_is_no_row(put, tmp_path):
    """The records of AEMO: what a line is stands in front, the date in the middle."""
    lines = ["C,NEMP.WORLD,AEMO,2024/02/01", "I,DISPATCH,SETTLEMENTDATE,DEMAND,PRICE"]
    lines += [f"D,DISPATCH,{row}" for row in ROWS] + ['C,"END OF REPORT",74']
    file, after = filled(put, tmp_path, lines)
    assert file.time_columns == ("SETTLEMENTDATE",) and file.values.shape == (72, 2)
    assert changed(lines, after) == [32]


@pytest.mark.parametrize("rest", ["2024-05-0", "2024-05-04 00:00", "2024-05-04 00:00,2"])
def test_a_last_line_that_is_cut_off_is_left_alone(put, tmp_path, rest):
    lines = [NAMES, *ROWS, rest]
    file, after = filled(put, tmp_path, lines, end="")
    assert file.values.shape == (72, 2) and "the last line is cut off and left alone" in file.said
    assert changed(lines, after) == [31]


def test_a_short_last_line_is_a_row_where_it_ends_or_others_are_short(put, tmp_path):
    short = "2024-05-04 00:00,20.5"
    assert len(filled(put, tmp_path, [NAMES, *ROWS, short])[0].values) == 73
    assert len(filled(put, tmp_path, [NAMES, *ROWS[:40], short, *ROWS[40:], short], end="")[0].values) == 74


def test_names_that_come_again_may_have_blanks(put, tmp_path):
    lines = [NAMES, *ROWS[:36], "time, temp, flow", *ROWS[36:]]
    file, after = filled(put, tmp_path, lines)
    assert file.values.shape == (72, 2) and changed(lines, after) == [31]


def test_a_summary_below_a_table_is_no_row(put, tmp_path):
    lines = ["Lap,HR,Power", *(f"{i + 1},{140 + i % 9},{200 + i % 7}" for i in range(30)), "Summary,143,"]
    lines[9] = "9,,206"
    file, after = filled(put, tmp_path, lines)
    assert len(file.values) == 30 and changed(lines, after) == [9]


def hobo(*, inside):
    """A HOBO logger: when it was started, read out and stopped stands in columns of its own."""
    rows = ["2024-04-30 23:58,,,Logged,,", *(f"{row},,," for row in ROWS)]
    if inside:
        rows.insert(40, "2024-05-02 13:17,,,,Logged,")
    rows += ["2024-05-03 23:20,,,,Logged,", "2024-05-03 23:21,,,,,Logged"]
    names = "#,Date Time,Temp,RH,Started,Host Connected,End Of File"
    return [names, *(f"{i + 1},{row}" for i, row in enumerate(rows))]


@pytest.mark.parametrize("inside", [False, True])
def test_events_of_a_logger_get_no_measurements(put, tmp_path, inside):
    lines = hobo(inside=inside)
    file, after = filled(put, tmp_path, lines)
    assert file.values.shape == (72, 2) and np.isnan(file.values).sum() == 2
    assert (np.diff(file.time) == np.timedelta64(1, "h")).all()
    assert changed(lines, after) == [32]
    n = 4 if inside else 3
    assert any(text.startswith(f"{n} rows of events without a measurement") for text in file.said)


def test_events_of_a_logger_keep_their_place_when_columns_are_added(put, tmp_path):
    lines = hobo(inside=True)
    file = read_file(put("\n".join(lines) + "\n"))
    file.write(tmp_path / "out.csv", file.values, extra={"Temp_lo": np.arange(72) + 0.5})
    after = (tmp_path / "out.csv").read_text().splitlines()
    assert after[1] == lines[1] and after[-1] == lines[-1]
    assert after[2] == lines[2] + ",0.5" and len(after) == len(lines)


def test_a_remark_on_a_gap_is_no_event(put):
    """The row is one of the others, so what was not measured in it is filled."""
    lines = [f"{NAMES},remark", *(f"{row}," for row in ROWS)]
    lines[31] += "power failure"
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.values.shape == (72, 2) and np.isnan(file.values[30]).all()


def test_many_rows_at_the_end_are_to_be_filled_whatever_stands_beside_them(put):
    lines = [f"{NAMES},remark", *(f"{row}," for row in ROWS[:60]), *(f"{t},,,expected" for t in HOURS[60:])]
    file = read_file(put("\n".join(lines) + "\n"))
    assert file.values.shape == (72, 2) and np.isnan(file.values[60:]).all()


@pytest.mark.parametrize("month", ["d\u00e9cembre 2009", "grudzie\u0144 2009"])
def test_a_month_without_a_measurement_is_a_row(put, month):
    names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov"]
    lines = ["month,x,y", *(f"{name} {year},{year % 7}.5,1" for year in (2008, 2009) for name in names)]
    text = "\n".join([*lines, f"{month},,", "Jan 2010,3.5,1", "Feb 2010,3.5,1"]) + "\n"
    file = read_file(put(text.encode("utf-8")))
    assert len(file.values) == 25
