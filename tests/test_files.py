"""Data files: what is observed comes back to the byte, only gaps change, and bad input says what to do."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from t1.data.csv import layout, numbers, scan
from t1.data.files import NewRows, read_file
from t1.errors import InputError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def fill_all(file, number=2.5):
    return np.where(np.isnan(file.values), number, file.values)


def written(file, tmp_path, filled=None, name="out.csv", **options) -> bytes:
    target = tmp_path / name
    file.write(target, file.values if filled is None else filled, **options)
    return target.read_bytes()


# CSV files made of pieces, so that the right answer is known without reading them


@st.composite
def csv_files(draw):
    told = draw(st.booleans())  # whether separator and decimal sign are told or must be found
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from([".", ","])) if told or separator != "," else "."
    newline = draw(st.sampled_from(["\n", "\r\n"] + (["\r"] if told else [])))
    n_columns = draw(st.integers(1 if told else 2, 4))
    decimals = [draw(st.integers(0, 4)) for _ in range(n_columns)]
    names = [draw(st.sampled_from([f"c{j}", f'"c{j}"', f"=1+{j}", f"käse {j}"])) for j in range(n_columns)]
    text_column = told and n_columns > 1 and draw(st.booleans())
    junk = st.sampled_from(
        ['"a, b;c|d"', '"two\nlines"', '"say ""hi"""', "plain", 'inch 5"', '"x\r\ny"', '"";"']
    )
    rows: list[list[tuple[str, str | None]]] = []  # (as it stands, as it is filled or None if observed)
    for _ in range(draw(st.integers(1, 7))):
        row = []
        for j in range(n_columns):
            fill = f"{-1.25 - j:.{decimals[j]}f}".replace(".", decimal)
            if text_column and j == n_columns - 1:
                row.append((draw(junk.filter(lambda t: t != '"";"')) if newline != "\r" else "plain", None))
            elif draw(st.integers(0, 2)) == 0:
                marker = draw(
                    st.sampled_from(
                        ["", "NaN", "NA", "null", "?", "-", "N/A", "-999", f"-999{decimal}0", "n. b."]
                    )
                )
                if draw(st.booleans()) or separator in marker or (n_columns == 1 and not marker):
                    row.append((f'"{marker}"', f'"{fill}"'))
                else:
                    row.append((marker, f'"{fill}"' if separator in fill else fill))
            else:
                number = draw(st.integers(-(10**6), 10**6))
                text = f"{number / 10 ** decimals[j]:.{decimals[j]}f}".replace(".", decimal)
                quote = draw(st.booleans()) or separator in text
                spaces = "" if quote else draw(st.sampled_from(["", "", " "]))
                row.append((f'"{text}"' if quote else spaces + text, None))
        rows.append(row)
    assume(any(before for before, _ in rows[-1]))  # a row without a single cell at the end is left alone
    blanks = [n_columns > 1 and draw(st.integers(0, 9)) == 0 for _ in rows]
    end = draw(st.sampled_from(["", newline, newline * 2]))
    bom = draw(st.sampled_from(["", "\ufeff"]))

    def build(filled: bool) -> bytes:
        lines = [separator.join(names)]
        for row, blank in zip(rows, blanks, strict=True):
            cells = [after if filled and after is not None else before for before, after in row]
            lines.append((newline if blank else "") + separator.join(cells))
        return (bom + newline.join(lines) + end).encode()

    options = {"separator": separator, "decimal": decimal} if told else {}
    return build, rows, decimals, text_column, decimal, options


@settings(max_examples=400)
@given(csv_files())
def test_only_the_missing_bytes_change(tmp_path_factory, made):
    build, rows, decimals, text_column, decimal, options = made
    folder = tmp_path_factory.mktemp("csv", numbered=True)
    source = folder / "in.csv"
    source.write_bytes(build(False))
    numeric = len(decimals) - text_column
    try:
        file = read_file(source, missing_values=["-999", "n. b."], **options)
    finally:
        source.unlink()
    expected = np.array(
        [
            [
                np.nan if after is not None else float(before.strip('" ').replace(decimal, "."))
                for before, after in row[:numeric]
            ]
            for row in rows
        ]
    )
    np.testing.assert_array_equal(file.values, expected)
    assert len(file.passed_through) == text_column
    observed = ~np.isnan(expected).all(axis=0)
    assert [d for d, seen in zip(file.decimals, observed, strict=True) if seen] == [
        d for d, seen in zip(decimals[:numeric], observed, strict=True) if seen
    ]
    assert written(file, folder) == build(False)
    if observed.all():
        fills = np.where(np.isnan(expected), -1.25 - np.arange(numeric), expected)
        assert written(file, folder, fills) == build(True)
        assert written(file, folder, fills + 7 * ~np.isnan(expected)) == build(True)  # observed cells stay
    assert [path.name for path in folder.iterdir()] == ["out.csv"]


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*'ab1,"\n\r;.-e ', '""', "NA", "1.5", ",2"]), max_size=40).map("".join))
def test_any_text_is_refused_clearly_or_given_back(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("any", numbered=True)
    source = folder / "in.csv"
    source.write_text(text, newline="")
    try:
        file = read_file(source)
    except InputError as error:
        assert str(error).count("\n") >= 1
    else:
        assert written(file, folder) == source.read_bytes()
        file.write(folder / "filled.csv", fill_all(file))
        again = read_file(
            folder / "filled.csv",
            separator=chr(file.cells.separator),
            decimal=file.decimal.decode(),
            header_row=file.layout.header_line,
            units_row=False,
        )
        seen = ~np.isnan(file.values)
        np.testing.assert_array_equal(again.values[seen], file.values[seen])
        assert not np.isnan(again.values).any()


@settings(max_examples=200)
@given(st.lists(st.text("0123456789.+-eE", min_size=1, max_size=9), min_size=1, max_size=20))
def test_a_number_is_what_python_takes_for_one(texts):
    raw = ("x\n" + "\n".join(texts) + "\n").encode()
    padded = raw + bytes(scan.PAD)
    found = layout.find_layout(padded, 0, len(raw), header_row=1, units_row=False, separator=b",")
    cells = scan.scan(np.frombuffer(padded, np.uint8), len(raw), found)
    read = numbers.read_numbers(cells, b".", [])

    def python(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            return np.nan
        return number if np.isfinite(number) else np.nan

    np.testing.assert_array_equal(read.values[:, 0], [python(text) for text in texts])
    markers = {"-", "--", "---", ".", "..", "..."}
    assert read.n_texts[0] == sum(np.isnan(python(text)) and text not in markers for text in texts)


@pytest.mark.parametrize(
    "name",
    [
        "weather/weather.csv",
        "exchange_rate/exchange_rate.csv",
        "ETT-small/ETTh1.csv",
        "pm25/pm25_ground.txt",
        "illness/national_illness.csv",
        "los_speed/los_speed.csv",
    ],
)
def test_real_files_come_back_to_the_byte(data_dir, tmp_path, name):
    source = data_dir / name
    file = read_file(source, keep_sentinels=True)
    frame = pd.read_csv(source)
    numbers = frame.select_dtypes("number")
    assert file.columns == tuple(numbers.columns)
    np.testing.assert_allclose(file.values, numbers.to_numpy(dtype=float), rtol=1e-14)
    assert written(file, tmp_path) == source.read_bytes()
    if file.time is not None:
        assert (file.time == pd.to_datetime(frame[file.time_column]).to_numpy()).all()
    else:
        assert name.startswith("los")


def test_real_gaps_are_the_only_bytes_that_change(data_dir, tmp_path):
    source = data_dir / "pm25/pm25_ground.txt"
    file = read_file(source)
    assert set(file.decimals) == {0}
    after = written(file, tmp_path, fill_all(file, 41.7)).split(b"\n")
    before = source.read_bytes().split(b"\n")
    for old, new in zip(before, after, strict=True):
        assert new == b",".join(cell or b"42" for cell in old.split(b",")) if old else not new


def test_latin_1_and_utf_8_mark(put, tmp_path):
    raw = "Tür,µg/m³\r\n1,\r\n,2".encode("latin-1")
    file = read_file(put(raw))
    assert file.columns == ("Tür", "µg/m³") and "Latin-1" in file.problems[0]
    lo = np.array([1.0, np.nan])
    filled = written(file, tmp_path, fill_all(file, 3), extra={"µg/m³_lo": lo, 'a"b': lo})
    assert filled == 'Tür,µg/m³,µg/m³_lo,"a""b"\r\n1,3,1,1.0\r\n3,2,,'.encode("latin-1")
    with pytest.raises(InputError, match="cannot be written"):
        file.write(tmp_path / "x.csv", file.values, extra={"€": lo})
    assert read_file(put("\ufeffa,b\n1,2\n")).columns == ("a", "b")
    assert read_file(put("a,b\n1,é\n"), encoding="utf-8").passed_through["b"].startswith("holds text ('é'")
    assert read_file(put(raw), encoding="cp1252").columns[1] == "µg/m³"


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a;b\n1,5;2\n3,25;4\n", ";", ","),
        ("a;b\n1.5;2\n", ";", "."),
        ("a;b,c;d\n1,5;2;3,5\n", ";", ","),
        ("a\tb\n1,5\t2,5\n", "\t", ","),
        ("a|b\n1|2\n", "|", "."),
        ('a,b\n"1,5","2,25"\n', ",", ","),
        ('a,b\n"1,500",2\n"2,250",3\n', ",", "."),  # thousands
        ('"x;y;z",b\n1,2\n', ",", "."),
        ("a\n1\n2\n", ",", "."),
        ('a;b\n"x,y,z";1,0\n"x,y,z";\n', ";", ","),
        ("time;a\n" + "".join(f"2024-01-01 00:00:{i:02},500;{i}.5\n" for i in range(20)), ";", "."),
    ],
)
def test_separator_and_decimal_sign_are_found(put, tmp_path, text, separator, decimal):
    file = read_file(put(text))
    assert (chr(file.cells.separator), file.decimal.decode()) == (separator, decimal)
    assert written(file, tmp_path) == text.encode()


def test_a_decimal_comma_between_commas_is_quoted(put, tmp_path):
    file = read_file(put('a,b\n"1,5",\n"2,5","3,5"\n'))
    new = NewRows(times=np.empty(0, "M8[ns]"), values=np.empty((0, 2)))
    out = written(file, tmp_path, fill_all(file), extra={"a_lo": np.array([0.25, np.nan])}, new_rows=new)
    assert out == b'a,b,a_lo\n"1,5","2,5","0,2"\n"2,5","3,5",\n'


def test_decimals_are_the_usual_ones(put, tmp_path):
    rows = ["a,b,c,d,e"] + [f"{i},{i / 8},{i}.50,1e-{i % 3},{i}e300" for i in range(1, 40)] + ["NA,,,,"]
    file = read_file(put("\n".join(rows)))
    assert file.decimals == (0, 3, 2, 2, 0)
    fills = file.values.copy()
    fills[-1] = [-0.2, -0.0001, 2, 1 / 3, 1e308]
    assert written(file, tmp_path, fills).split(b"\n")[-1] == b"0,0.000,2.00,0.33,1e+308"
    mostly_whole = read_file(put("rain\n" + "0\n" * 9 + "0.25\n"))
    assert mostly_whole.decimals == (2,)


@pytest.mark.parametrize(
    ("cell", "number"), [("0,125", 0.125), ("-0,500", -0.5), ("0,000", 0.0), ("1,250", 1250)]
)
def test_nobody_writes_a_thousand_as_0_000(put, cell, number):
    """A file of one number with three digits behind a comma: only what could be thousands is."""
    file = read_file(put(f"a;b\n{cell};\n"))
    assert file.values[0, 0] == number
    assert file.decimals[0] == (0 if number == 1250 else 3)


def test_an_added_column_has_the_decimals_of_the_longest_name_that_it_begins_with(put):
    file = read_file(put("a,a_b,c\n1,1.25,1.5\n2,2.25,2.5\n"))
    names = ("a_lo", "a_b_lo", "a_c_lo", "c_lo_90", "c", "_lo", "b_lo", "ab_lo")
    assert [file.decimals_for(name) for name in names] == [0, 2, 0, 1, None, None, None, None]


def test_a_cell_of_blanks_keeps_its_width(put, tmp_path):
    file = read_file(put("a,    b, c\n1,   20, 3\n2,     , \n3,  400, 5\n"))
    out = written(file, tmp_path, np.where(np.isnan(file.values), 31.0, file.values))
    assert out == b"a,    b, c\n1,   20, 3\n2,   31, 31\n3,  400, 5\n"


def test_big_integers_keep_their_digits(put, tmp_path):
    raw = b"n,x\n9007199254740993,1\n123456789012345678901234567890,\n" + b"1" * 70 + b".5,3\n"
    file = read_file(put(raw))
    assert written(file, tmp_path) == raw
    assert written(file, tmp_path, fill_all(file)) == raw.replace(b"890,\n", b"890,2\n")


def test_one_column_has_empty_cells_for_empty_lines(put, tmp_path):
    file = read_file(put("x\n1\n\n3\n\n\n"))
    np.testing.assert_array_equal(file.values[:, 0], [1, np.nan, 3])
    assert written(file, tmp_path, fill_all(file, 2)) == b"x\n1\n2\n3\n\n\n"


def test_names_may_be_odd(put, tmp_path):
    raw = '"two\nlines",=1+1,"say ""hi""", spaced \n1,2,3,4\n,6,7,8\n'
    file = read_file(put(raw), columns=["two\nlines", "=1+1", 'say "hi"', "spaced"])
    assert written(file, tmp_path, fill_all(file, 9)) == raw.replace("\n,6", "\n9,6").encode()


def test_a_separator_at_the_end_of_each_line_is_no_column(put, tmp_path):
    file = read_file(put("a,b,\n1,2,\n3,,\n"))
    assert file.columns == ("a", "b") and file.passed_through == {"column 3": "is empty and has no name"}
    assert written(file, tmp_path, fill_all(file, 4)) == b"a,b,\n1,2,\n3,4,\n"


def test_a_row_number_is_no_measurement(put):
    file = read_file(put(",a\n0,1.5\n1,\n2,3.5\n"))
    assert file.columns == ("a",) and file.passed_through == {"column 1": "counts the rows"}


@pytest.mark.parametrize("name", ["#", "No", "RECORD", "index", "Unnamed: 0"])
def test_a_column_that_is_called_and_counts_so_is_left_alone(put, name):
    file = read_file(put(f"x,{name}\n1.5,100\n,101\n2.5,102\n"))
    assert file.columns == ("x",) and file.passed_through == {name: "counts the rows"}
    assert read_file(put(f"x,{name}\n1.5,100\n,101\n2.5,103\n")).columns == ("x", name)
    assert read_file(put(f"x,{name}\n1.5,100\n,101\n2.5,102\n"), columns=[name]).columns == (name,)


def test_extra_columns_keep_blank_lines_and_the_missing_last_line_break(put, tmp_path):
    file = read_file(put("d,a\n2020-01-01,1.25\n\n2020-01-02,"))
    lo, why = np.array([np.nan, 0.123]), np.array(["x,y", None], dtype=object)
    out = written(file, tmp_path, fill_all(file), extra={"a_lo": lo, "why": why})
    assert out == b'd,a,a_lo,why\n2020-01-01,1.25,,"x,y"\n\n2020-01-02,2.50,0.12,'


# time


@pytest.mark.parametrize(
    ("texts", "first", "more"),
    [
        (["2016-07-01 00:00:00", "2016-07-01 01:00:00"], "2016-07-01", "2016-07-03 09:05:00"),
        (["2016-07-01T00:00:00Z", "2016-07-01T01:00:00Z"], "2016-07-01", "2016-07-03T09:05:00Z"),
        (["2016-07-01", "2016-07-02"], "2016-07-01", "2016-07-03"),
        (["1990/1/1 0:00", "1990/1/2 0:00"], "1990-01-01", "2016/7/3 9:05"),
        (["01.02.2020 00:00", "13.02.2020 00:00"], "2020-02-01", "03.07.2016 09:05"),
        (["01.02.2020", "02.02.2020"], "2020-02-01", "03.07.2016"),
        (["1/2/2020", "1/13/2020"], "2020-01-02", "7/3/2016"),
        (["1/2/2020", "13/2/2020"], "2020-02-01", "3/7/2016"),
        (["01/02/20 01:30 PM", "01/03/20 01:30 PM"], "2020-01-02T13:30", "07/03/16 09:05 AM"),
        (
            ["2020-01-01 00:00:00.250", "2020-01-01 00:00:00.500"],
            "2020-01-01T00:00:00.25",
            "2016-07-03 09:05:00.000",
        ),
        (["20200101", "20200102"], "2020-01-01", "20160703"),
        (["1 Jan 2020", "2 Jan 2020"], "2020-01-01", None),
        (
            ["2020-03-29 01:00:00+01:00", "2020-03-29 03:00:00+02:00"],
            "2020-03-29",
            "2016-07-03 09:05:00+00:00",
        ),
        (["1577836800", "1577836860"], "2020-01-01", "1467536700"),
        (["1577836800000", "1577836860000"], "2020-01-01", "1467536700000"),
        (["2019", "2020"], "2019-01-01", "2016"),
        (["0", "1"], "1970-01-01", "1467536700"),
    ],
)
def test_dates_are_read_and_written_in_the_column_s_own_format(put, texts, first, more):
    file = read_file(put("time,x\n" + "".join(f"{text},1\n" for text in texts)))
    assert file.time_column == "time" and file.columns == ("x",)
    assert file.time[0] == np.datetime64(first)
    assert file.time_format.write(file.time[:1]) == texts[:1] or "+01:00" in texts[0] or more is None
    if more is not None:
        assert file.time_format.write(np.array(["2016-07-03T09:05:00"], "M8[ns]")) == [more]


def test_the_time_column_is_found_or_not(put):
    assert read_file(put("x,when\n1,2020-01-01\n2,2020-01-02\n")).time_column == "when"
    assert read_file(put("x,year\n1,2019\n2,2020\n")).time_column == "year"
    assert read_file(put("x,year\n1,2019\n2,2019\n")).time_column is None
    assert read_file(put("x,year\n1,2019\n2,2020\n"), time="year").time_column == "year"
    assert read_file(put("x,name\n1,anna\n2,bert\n")).time_column is None
    file = read_file(put("x,time\n1,5\n2,\n"))
    assert file.time is None and file.columns == ("x",) and "line 3" in file.problems[0]
    assert "name it: columns" in file.passed_through["time"]
    assert read_file(put("x,time\n1,5\n2,\n"), columns=["time"]).columns == ("time",)
    laps = read_file(put("x,time\n1,5.5\n2,4.5\n"))
    assert laps.time is None and "line 3 has '4.5'" in laps.problems[0]
    both = read_file(put("time,date,x\n00:30,2020-01-01,1\n00:30,2020-01-02,2\n"))
    assert both.time_column == "time + date" and both.problems == []
    mixed = read_file(put("when,x\n2020-01-01 00:00:00,1\n2020-01-01 00:00:00.5,2\n"))
    assert mixed.time[1] - mixed.time[0] == np.timedelta64(500, "ms")
    file = read_file(put("x,date\n" + "1,2020-01-01\n" * 20 + "1,soon\n"))
    assert file.time is None and "line 22 has 'soon'" in file.problems[0]
    with pytest.raises(InputError, match=r"'soon' on line 22") as caught:
        read_file(put("x,date\n" + "1,2020-01-01\n" * 20 + "1,soon\n"), time="date")
    assert caught.value.option == "time" and "--" not in str(caught.value)


def test_new_rows_go_where_their_time_is(put, tmp_path):
    file = read_file(
        put('id,"time",x,note\r\nA,"2020-01-01",1.5,n\r\nB,"2020-01-01",2.5,n\r\nA,"2020-01-03",,n'), id="id"
    )
    new = NewRows(
        times=np.array(["2020-01-02", "2020-01-04"], "M8[ns]"),
        ids=np.array(["A", "B"], object),
        values=np.array([[7.0], [np.nan]]),
        extra={"x_lo": np.array([6.0, 5.0])},
    )
    out = written(file, tmp_path, fill_all(file), new_rows=new, extra={"x_lo": np.array([np.nan, 0, 1])})
    assert out.decode() == (
        'id,"time",x,note,x_lo\r\nA,"2020-01-01",1.5,n,\r\nB,"2020-01-01",2.5,n,0.0\r\n'
        'A,"2020-01-02",7.0,,6.0\r\nA,"2020-01-03",2.5,n,1.0\r\nB,"2020-01-04",,,5.0'
    )
    backwards = read_file(put("date,x\n2020-01-04,4\n2020-01-01,1\n"))
    new = NewRows(times=np.array(["2020-01-02", "2020-01-03"], "M8[ns]"), values=np.array([[2.0], [3.0]]))
    lines = b"date,x\n2020-01-04,4\n2020-01-03,3\n2020-01-02,2\n2020-01-01,1\n"
    assert written(backwards, tmp_path, new_rows=new) == lines


# what cannot be used


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "empty"),
        (b"\n\n  \n", {}, "empty"),
        (b"\xef\xbb\xbf", {}, "empty"),
        (b"a,b\n", {}, "no rows"),
        (b"a,b\n1,2\n\n1,2,3\n", {}, r"line 4 has 3 cells, the table has 2"),
        (b'a,b\n1,"2\n3,4\n', {}, "opened on line 2 is never closed"),
        (b"a,b\n1,\x002\n", {}, "line 2 holds a NUL"),
        ("a,b\n1,2\n".encode("utf-32"), {}, "UTF-32"),
        ("a,b\n1,2\n".encode("utf-16") + b"\x00\xd8", {}, "UTF-16"),
        (b"a,b\nx,y\n", {}, "no column holds numbers"),
        (
            b"a\n" + b"1\n" * 9 + b"oops\n",
            {},
            r"'a' holds 'oops' on line 11(.|\n)*exclude(.|\n)*'oops' filled \(missing_values\)",
        ),
        (b"a\n" + b"1\n" * 9 + b"-inf\n", {}, "infinite value, '-inf' on line 11"),
        (b"a\n" + b"1\n" * 9 + b"1e999\n", {}, "'1e999' on line 11"),
        (b"a,b\nx,1\n", {"columns": ["a"]}, "'a' holds 'x' on line 2"),
        (b"temp,b\n1,1\n", {"columns": ["tmp"]}, "Did you mean 'temp'"),
        (b"temp,b\n1,1\n", {"exclude": ["Temp"]}, "Did you mean 'temp'"),
        (b"temp,b\n1,1\n", {"time": "zzzz"}, "The file has 'temp', 'b'"),
        (b"temp,b\n1,1\n", {"id": "temp", "time": "temp"}, "both"),
        (b"temp,b\n1,1\n", {"id": "temp", "columns": ["temp"]}, "never filled"),
        (b"temp,b\n1,1\n", {"separator": "ab"}, "single character"),
        (b"temp,b\n1,1\n", {"decimal": ";"}, "a point or a comma"),
        (b"temp,b\n1,1\n", {"encoding": "klingon"}, "unknown"),
        (b"temp,b\n1,1\n", {"encoding": "utf-16"}, "not supported"),
        (b"temp,b\n1,1\n", {"encoding": "base64"}, "not supported"),
        (b"temp,b\n1,\xff\n", {"encoding": "utf-8"}, "not utf-8"),
        (b"PK\x03\x04....", {}, "Excel"),
        (b"\x1f\x8b\x08broken", {}, "damaged"),
        (b"PAR1 nonsense", {}, "Parquet"),
    ],
)
def test_bad_input_is_refused_with_a_cure(put, content, options, message):
    with pytest.raises(InputError, match=message) as caught:
        read_file(put(content), **options)
    assert "in.csv" in str(caught.value) and "\n" in str(caught.value)


def test_text_in_a_number_column_has_two_cures(put):
    source = put("a,b\n" + "1,2\n" * 9 + "oops,2\n")
    assert read_file(source, exclude=["a"]).columns == ("b",)
    assert np.isnan(read_file(source, missing_values=["oops"]).values[-1, 0])
    assert read_file(source, columns=["b"]).passed_through == {"a": "was not asked for"}


def test_all_texts_that_may_mean_missing_are_named_at_once(put):
    rows = [["1", "2"] for _ in range(60)]
    rows[3][0], rows[5][0], rows[7][0], rows[9][1] = "Bad", "Frozen up", "NA", "Off"
    source = put("a,b\n" + "\n".join(",".join(row) for row in rows) + "\n")
    with pytest.raises(InputError) as caught:
        read_file(source)
    assert caught.value.cure.endswith("(missing_values): give 'Bad' 'Frozen up' 'Off'.")
    file = read_file(source, missing_values=["Bad", "Frozen up", "Off"])
    assert np.isnan(file.values).sum() == 4


def test_paths_that_cannot_be_read_or_written(put, tmp_path):
    source = put("a\n1\n\n2\n", "plant.csv")
    file = read_file(source)
    with pytest.raises(InputError, match=r"Did you mean '.*plant.csv'"):
        read_file(tmp_path / "plnt.csv")
    with pytest.raises(InputError, match="no file"):
        read_file(tmp_path / "none" / "at all.csv")
    with pytest.raises(InputError, match="folder"):
        read_file(tmp_path)
    with pytest.raises(InputError, match="mkdir -p"):
        file.write(tmp_path / "no" / "out.csv", file.values)
    with pytest.raises(InputError, match="is a folder"):
        file.write(tmp_path, file.values)
    for name in ("out.xlsx", "out.json"):
        with pytest.raises(InputError, match=r"ends in \.csv"):
            file.write(tmp_path / name, file.values)
    with pytest.raises(InputError, match="shape"):
        file.write(tmp_path / "out.csv", file.values[:1])
    with pytest.raises(InputError, match="already"):
        file.write(tmp_path / "out.csv", file.values, extra={"a": file.values[:, 0]})
    with pytest.raises(InputError, match="time column"):
        new = NewRows(times=np.zeros(1, "M8[ns]"), values=np.zeros((1, 1)))
        file.write(tmp_path / "out.csv", file.values, new_rows=new)
    assert [path.name for path in tmp_path.iterdir()] == ["plant.csv"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_no_permission(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    secret.chmod(0)
    code = (
        "import os, sys; from t1.data.files import read_file; from t1.errors import InputError\n"
        "mine = read_file('/dev/stdin'); os.setuid(65534)\n"
        "for act in (lambda: read_file(sys.argv[1]), lambda: mine.write('/o.csv', mine.values)):\n"
        "    try: act()\n"
        "    except InputError as error: sys.stdout.write(str(error))\n"
    )
    for folder in [tmp_path, *tmp_path.parents][:-2]:
        folder.chmod(0o755)
    run = subprocess.run([sys.executable, "-c", code, secret], input="a\n1\n", capture_output=True, text=True)
    assert "no permission to read" in run.stdout and "no permission to write" in run.stdout, run.stderr


def test_all_or_nothing(put, tmp_path, monkeypatch):
    source = put("a,b\n1,\n")
    file = read_file(source)
    link = tmp_path / "link.csv"
    link.symlink_to(source)
    source.chmod(0o640)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(KeyboardInterrupt):
            file.write(source, fill_all(file))
    assert source.read_bytes() == b"a,b\n1,\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "link.csv"]
    file.write(link, fill_all(file))  # in place, through the link
    assert source.read_bytes() == b"a,b\n1,2\n" and link.is_symlink()
    assert source.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_nothing_behind(put, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        file = read_file(put("a,b\n" + "1.5,\n" * 50_000))
        for name in ("out.csv", "out.csv.gz"):
            extra = {"noise": np.random.default_rng(0).random(50_000)}
            with pytest.raises(InputError, match=r"No space left.*\n.*Free some space"):
                file.write(disk / name, fill_all(file), extra=extra)
        table = pa.table({"a": np.random.default_rng(0).random(50_000)})
        parquet.write_table(table, tmp_path / "in.parquet")
        columns = read_file(tmp_path / "in.parquet")
        with pytest.raises(InputError, match="No space left"):
            columns.write(disk / "out.parquet", columns.values)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_gzip_and_pipes(put, tmp_path, monkeypatch):
    raw = b"a\tb\n1\t\n2\t3.5\n"
    file = read_file(put(gzip.compress(raw), "in.tsv.gz"))
    filled = raw.replace(b"1\t\n", b"1\t2.5\n")
    assert gzip.decompress(written(file, tmp_path, fill_all(file), name="out.csv.gz")) == filled
    assert written(file, tmp_path, fill_all(file), name="out.csv") == filled
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    piped = read_file("-")
    piped.write("-", fill_all(piped))
    assert out.getvalue() == filled


def test_a_wide_table(put, tmp_path):
    cells = ["1.5", "", "-2.25", '"3"'] * 500
    raw = (",".join(f"c{j}" for j in range(2000)) + "\n" + (",".join(cells) + "\n") * 100).encode()
    file = read_file(put(raw))
    assert file.values.shape == (100, 2000)
    assert written(file, tmp_path) == raw
    assert written(file, tmp_path, fill_all(file)) == raw.replace(b"1.5,,", b"1.5,2,")


# Parquet


@pytest.fixture
def frame():
    times = pd.date_range("2020-01-01", periods=4, freq="h", tz="UTC")
    return pd.DataFrame(
        {
            "f64": [0.1, np.nan, 0.3, 1e308],
            "f32": np.array([0.1, np.nan, 0.3, 3e38], dtype=np.float32),
            "i64": pd.array([2**53 + 1, None, 3, 4], dtype="Int64"),
            "u8": pd.array([255, None, 3, 4], dtype="UInt8"),
            "text": ["a", None, "c", "d"],
            "flag": [True, False, True, False],
        },
        index=pd.Index(times, name="when"),
    )


def test_parquet_keeps_types_metadata_and_bits(frame, tmp_path):
    frame.to_parquet(tmp_path / "in.parquet")
    before = parquet.read_table(tmp_path / "in.parquet")
    file = read_file(tmp_path / "in.parquet")
    assert file.columns == ("f64", "f32", "i64", "u8") and file.time_column == "when"
    assert set(file.passed_through) == {"text", "flag"}
    file.write(tmp_path / "same.parquet", file.values)
    same = parquet.read_table(tmp_path / "same.parquet")
    assert same.equals(before, check_metadata=True) or same.to_pandas().equals(before.to_pandas())
    file.write(tmp_path / "out.parquet", fill_all(file, 300.6), extra={"f64_lo": np.arange(4.0)})
    after = parquet.read_table(tmp_path / "out.parquet")
    assert after.schema.metadata == before.schema.metadata
    assert [after.schema.field(name) for name in before.column_names] == list(before.schema)
    filled = pd.read_parquet(tmp_path / "out.parquet")
    assert filled.index.equals(frame.index) and filled["f64_lo"].tolist() == [0, 1, 2, 3]
    assert filled.iloc[1, :4].tolist() == [300.6, np.float32(300.6), 301, 255]
    rows = [0, 2, 3]
    pd.testing.assert_frame_equal(filled.iloc[rows][frame.columns], frame.iloc[rows], check_exact=True)
    assert filled["i64"].iloc[0] == 2**53 + 1


def test_parquet_takes_new_rows(frame, tmp_path):
    frame.iloc[[0, 1, 3]].to_parquet(tmp_path / "in.parquet")
    file = read_file(tmp_path / "in.parquet")
    new = NewRows(times=np.array(["2020-01-01T02"], "M8[ns]"), values=np.array([[1.5, 2.5, 3.0, np.nan]]))
    file.write(tmp_path / "out.parquet", file.values, new_rows=new)
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert (out.index == frame.index).all()
    assert out.iloc[2, :3].tolist() == [1.5, 2.5, 3] and out.iloc[2, 3:5].isna().all()


def test_parquet_refuses_clearly(tmp_path, monkeypatch):
    parquet.write_table(pa.table({"a": [1.0, np.inf], "s": ["x", "y"]}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="infinite value in row 1"):
        read_file(tmp_path / "in.parquet")
    with pytest.raises(InputError, match="no column holds numbers"):
        read_file(tmp_path / "in.parquet", exclude=["a"])
    with pytest.raises(InputError, match="not numbers"):
        read_file(tmp_path / "in.parquet", columns=["s"])
    with pytest.raises(InputError, match="no date"):
        read_file(tmp_path / "in.parquet", time="s", exclude=["a"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install t1-impute\[io\]"):
        read_file(tmp_path / "in.parquet")
