"""What a user may decide about reading, what is told before time is spent, and other containers."""

import doctest
import gzip
import importlib
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import t1.data.frames
from t1.cli import main
from t1.cli.flags import in_flags, shown
from t1.data import files
from t1.data.files import NewRows, read_file
from t1.data.pieces import open_pieces
from t1.errors import InputError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
SHAPES = Path(__file__).parent / "shapes"


# layout


def test_the_user_names_the_line_of_names_the_comments_and_the_units(put, tmp_path):
    text = "x,y\n3,4\na,b\nm,s\n1,2\n@ 9\n5,\n"
    source = put(text)
    file = read_file(source, header_row=3, units_row=True, comment="@")
    assert file.columns == ("a", "b")
    np.testing.assert_array_equal(file.values, [[1, 2], [5, np.nan]])
    file.write(tmp_path / "out.csv", np.array([[1, 2], [5, 6.0]]))
    assert (tmp_path / "out.csv").read_text() == text.replace("5,\n", "5,6\n")
    assert read_file(put("1,2\n3,4\n"), header_row=0).values.shape == (2, 2)
    assert read_file(put("1,2\n3,4\n"), header_row=1).columns == ("1", "2")
    skipped = read_file(put("a b c,d\ne,f\nt,x\n1,2\n3,4\n"), skip_rows=2)
    assert skipped.columns == ("t", "x")
    with pytest.raises(InputError, match="line 30") as caught:
        read_file(source, header_row=30)
    assert caught.value.option == "header_row"


def test_lines_longer_than_what_is_looked_at_first(put, tmp_path):
    n = 60_000
    names = ",".join(f"c{j:020}" for j in range(n))
    text = f"{names}\n" + "".join(f"{i}.5" + f",{i}" * (n - 1) + "\n" for i in range(4))
    file = read_file(put(text))
    assert file.values.shape == (4, n) and file.columns[-1] == f"c{n - 1:020}"
    file.write(tmp_path / "out.csv", file.values)
    assert (tmp_path / "out.csv").read_text() == text


def test_names_that_are_numbers_are_still_names(put):
    ids = read_file(put("101,205,309\n" + "1.5,2.5,3.5\n" * 5))
    assert ids.columns == ("101", "205", "309")
    years = read_file(put("station,2001,2002,2003\nx,1,2,3\ny,4,5,6\n"), layout="table")
    assert years.columns == ("2001", "2002", "2003")
    hashed = read_file(put("#,a,b\n1,2.5,3.5\n2,,4.5\n3,5.5,6.5\n"))
    assert hashed.columns == ("a", "b") and hashed.passed_through == {"#": "counts the rows"}


def test_a_name_may_be_what_means_missing_elsewhere(put):
    assert read_file(put("M\n1\n2\n3\n")).columns == ("M",)
    assert read_file(put("M,ND\n1,2\n3,4\nM,6\n")).columns == ("M", "ND")
    first = read_file(put("a,b\nM,M\n3,4\n5,6\n"))
    assert first.columns == ("a", "b") and np.isnan(first.values[0]).all()


def test_rows_between_the_rows(put, tmp_path):
    text = "time,a,b\n2020-01-01,1,2\n--- restarted ---\n2020-01-02,3,\ntime,a,b\n2020-01-03,5,6\n"
    file = read_file(put(text))
    assert len(file.values) == 3 and "no rows" in " ".join(file.said)
    file.write(tmp_path / "out.csv", np.nan_to_num(file.values, nan=4.0))
    assert (tmp_path / "out.csv").read_text() == text.replace("3,\n", "3,4\n")


def test_a_short_row_gets_the_cells_it_lacks(put, tmp_path):
    file = read_file(put("a,b,c\n1,2,3\n4\n7,8,9\n"))
    fills = np.array([[1, 2, 3], [4, np.nan, 6.0], [7, 8, 9]])
    file.write(tmp_path / "out.csv", fills)
    assert (tmp_path / "out.csv").read_text() == "a,b,c\n1,2,3\n4,,6\n7,8,9\n"
    file.write(tmp_path / "out.csv", file.values, extra={"a_lo": np.array([np.nan, 0, 1])})
    assert (tmp_path / "out.csv").read_text() == "a,b,c,a_lo\n1,2,3,\n4,,,0\n7,8,9,1\n"


def test_codes_with_zeros_in_front_are_no_numbers(put):
    file = read_file(put("site,x\n00123,1\n00124,2\n"))
    assert file.columns == ("x",) and "begin with 0" in file.passed_through["site"]
    assert read_file(put("site,x\n00123,1\n00124,2\n"), columns=["site"]).values[0, 0] == 123


def test_a_blank_that_may_mean_zero_is_asked_about(put):
    rows = "".join(f"{i},{1 if i % 5 == 0 else ''}\n" for i in range(30))
    file = read_file(put("x,alarm\n" + rows))
    assert file.columns == ("x",) and any("may mean 0" in text for text in file.problems)
    assert read_file(put("x,alarm\n" + rows), columns=["alarm"]).columns == ("alarm",)


def test_no_message_advises_to_overwrite_a_value(put):
    for text in ("~0.5", "12.5x", "1.2.3"):
        with pytest.raises(InputError) as caught:
            read_file(put("a\n" + "1\n" * 30 + f"{text}\n"))
        assert "missing" not in str(caught.value)
    with pytest.raises(InputError, match="missing_values"):
        read_file(put("a\n" + "1\n" * 30 + "offline\n"))


# time


def test_several_columns_are_the_time(put):
    text = "Clock,When,x\n10:30,05/01/2024,1\n11:30,05/01/2024,2\n12:30,05/01/2024,3\n"
    file = read_file(put(text), time=["When", "Clock"], dayfirst=True)
    assert file.time[0] == np.datetime64("2024-01-05T10:30") and file.columns == ("x",)
    assert read_file(put(text), time=["Clock", "When"], dayfirst=True).time[0] == file.time[0]
    odd = "a,b,x\n2024|5,10h,1\n2024|6,11h,2\n"
    file = read_file(put(odd), time=["a", "b"], time_format="%Y|%m %Hh")
    assert file.time[1] == np.datetime64("2024-06-01T11")
    with pytest.raises(InputError, match="no time") as caught:
        read_file(put(text), time=["Clock", "x"])
    assert caught.value.option == "time"


def test_two_columns_tell_series_apart(put):
    days = enumerate(pd.date_range("2020-01-01", periods=8).date)
    rows = [f"{day},{a},{b},{i}" for i, day in days for a in "xy" for b in "uv"]
    text = "date,site,depth,v\n" + "\n".join(rows)
    file = read_file(put(text))
    assert file.id_columns == ("site", "depth") and set(file.ids) == {"x / u", "x / v", "y / u", "y / v"}
    assert set(read_file(put(text), id=["site", "depth"]).ids) == set(file.ids)
    assert len(set(read_file(put(text), id="site").ids)) == 2


def test_repeated_stamps_are_told_where_nothing_tells_them_apart(put):
    rows = [f"2020-01-{i // 2 + 1:02},{i % 5}" for i in range(20)]
    file = read_file(put("date,v\n" + "\n".join(rows)))
    assert file.ids is None and file.time is None
    assert any("name what tells them apart (id)" in text for text in file.problems)
    numbered = [f"2020-01-{i // 2 + 1:02},{101 + i % 2},{i % 5}" for i in range(20)]
    assert read_file(put("date,station,v\n" + "\n".join(numbered))).id_columns == ("station",)


def test_the_repeated_hour_of_autumn_is_no_second_series(put):
    stamps = [f"2024-10-27 {h:02}:00" for h in (0, 1, 2, 2, 3, 4, *range(5, 24))]
    file = read_file(put("time,x,note\n" + "".join(f"{s},{i},n{i % 2}\n" for i, s in enumerate(stamps))))
    assert file.ids is None


# sentinels and kinds reach the file


def test_sentinels_count_as_missing_and_can_be_kept(put, tmp_path):
    rows = "".join(f"{20 + i % 7}.5,{-9999 if i % 9 == 4 else i % 5}\n" for i in range(60))
    source = put("a,b\n" + rows)
    file = read_file(source)
    assert int(np.isnan(file.values).sum()) == 7 and "-9999 counts as missing (7 cells)" in file.understood[0]
    file.write(tmp_path / "out.csv", file.values)
    assert (tmp_path / "out.csv").read_bytes() == source.read_bytes()
    file.write(tmp_path / "out.csv", np.nan_to_num(file.values, nan=3.0))
    assert b"-9999" not in (tmp_path / "out.csv").read_bytes()
    assert not np.isnan(read_file(source, keep_sentinels=True).values).any()
    table = pa.table({"a": [1.5, 2.5, 3.5] * 20, "b": [-9999 if i % 9 == 4 else i % 5 for i in range(60)]})
    parquet.write_table(table, tmp_path / "in.parquet")
    assert int(np.isnan(read_file(tmp_path / "in.parquet").values).sum()) == 7


def test_a_code_that_is_rare_in_each_column_but_stands_in_many_is_missing(put):
    rng = np.random.default_rng(0)
    table = rng.normal(10, 1, (40, 4)).round(1)
    table[[3, 9, 20], [0, 1, 2]] = -99.9
    table[30, 3] = 888.8  # once: told, not done
    text = "a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in table.tolist()) + "\n"
    file = read_file(put(text))
    assert int(np.isnan(file.values).sum()) == 3 and "-99.9 counts as missing (3 cells)" in file.understood[0]
    assert any("888.8" in text and "may mean missing" in text for text in file.problems)
    assert not np.isnan(read_file(put("\n".join(text.replace("-99.9", "9.5", 1).splitlines()))).values).any()


@pytest.mark.parametrize("word", ["unavailable", "unknown", r"\N", "(null)", "No Data", ":"])
def test_words_for_what_is_missing(put, tmp_path, word):
    text = "time,a\n" + "".join(f"2024-01-01 {i:02d}:00,{word if i == 4 else i / 2}\n" for i in range(20))
    file = read_file(put(text))
    assert np.flatnonzero(np.isnan(file.values[:, 0])).tolist() == [4]
    file.write(tmp_path / "out.csv", np.full(file.values.shape, 9.5))
    assert (tmp_path / "out.csv").read_text() == text.replace(word + "\n", "9.5\n")


def test_days_without_a_name_are_the_time(put):
    days = pd.date_range("2024-01-28", periods=30)
    file = read_file(put("".join(f"{day:%Y%m%d},{i / 4}\n" for i, day in enumerate(days))))
    assert (file.time == days.to_numpy("M8[ns]")).all() and file.columns == ("column 2",)
    numbers = read_file(put("".join(f"{20240128 + i},{i / 4}\n" for i in range(30))))
    assert numbers.time is None  # there is no 32nd of January


@pytest.mark.parametrize(
    "text", ['{"time": [1, 2], "a": [1, null]}', '[{"time": 1, "a": 2}]', "{\n}", "[\n1]"]
)
def test_json_is_told(put, text):
    with pytest.raises(InputError, match="this is JSON, not a table"):
        read_file(put(text))


def test_kinds_are_those_of_the_file_and_of_the_user(put):
    rows = "".join(f"{(i * 37) % 360},{i % 3}\n" for i in range(60))
    file = read_file(put("wind_dir,x\n" + rows), kind={"x": "category"})
    assert file.kinds["wind_dir"].circular == 360 and file.kinds["x"].states == (0, 1, 2)
    with pytest.raises(InputError, match="'y', which is no column to fill"):
        read_file(put("wind_dir,x\n" + rows), kind={"y": "category"})
    with pytest.raises(InputError, match="header_row"):
        read_file(put("a\n1\n"), headerrow=1)


# what would take too long, or too much


def test_blank_lines_cost_nothing(put):
    began = time.perf_counter()
    read_file(put("a;b\n1;2\n" + "\n" * 8000 + "3;4\n"))
    assert time.perf_counter() - began < 1


def test_intervals_are_made_once_however_many_rows(put, tmp_path):
    class Bands(dict):
        asked = 0

        def __getitem__(self, name):
            Bands.asked += 1
            return super().__getitem__(name)

        def items(self):
            return [(name, self[name]) for name in self]

    n = 300_000
    file = read_file(put("a,b\n" + "1.5,\n" * n))
    file.write(tmp_path / "out.csv", file.values, extra=Bands(a_lo=np.full(n, np.nan)))
    assert Bands.asked <= 3


def test_a_small_gzip_file_may_hold_too_much(put, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 10_000)
    assert read_file(put(gzip.compress(b"a\n" + b"1\n" * 4000), "a.csv.gz")).values.shape == (4000, 1)
    with pytest.raises(InputError, match="too much"):
        read_file(put(gzip.compress(b"a\n" + b"1\n" * 6000), "a.csv.gz"))
    with pytest.raises(InputError, match="too much"):
        read_file(put(gzip.compress(b"a\n" + b"1\n" * 4000) * 2, "a.csv.gz"))
    two = gzip.compress(b"a\n1\n") + gzip.compress(b"2\n")
    assert len(read_file(put(two, "a.csv.gz")).values) == 2
    with pytest.raises(InputError, match="damaged"):
        read_file(put(gzip.compress(b"a\n1\n")[:-9], "a.csv.gz"))


# other containers


def test_csv_to_parquet_and_back(put, tmp_path):
    source = put("time,a,n,note\n2020-01-01 00:00,1.5,7,x\n2020-01-01 01:00,,8,\n2020-01-01 02:00,2.5,9,z\n")
    file = read_file(source)
    fills = np.nan_to_num(file.values, nan=2.0)
    new = NewRows(times=np.array(["2020-01-01T03"], "M8[ns]"), values=np.array([[3.0, 10.0]]))
    file.write(tmp_path / "out.parquet", fills, extra={"a_lo": np.array([np.nan, 1.0, np.nan])}, new_rows=new)
    table = parquet.read_table(tmp_path / "out.parquet")
    kinds = [str(kind) for kind in table.schema.types]
    assert kinds == ["timestamp[ns]", "double", "int64", "string", "double"]
    assert table["a"].to_pylist() == [1.5, 2.0, 2.5, 3.0]
    assert table["a_lo"].to_pylist() == [None, 1.0, None, None]
    assert table["note"].to_pylist() == ["x", None, "z", None]
    back = read_file(tmp_path / "out.parquet")
    back.write(tmp_path / "back.csv", back.values)
    lines = (tmp_path / "back.csv").read_text().splitlines()
    assert lines[:2] == ["time,a,n,note,a_lo", "2020-01-01 00:00:00,1.5,7,x,"]
    back.write(tmp_path / "back.csv.gz", back.values)
    assert gzip.decompress((tmp_path / "back.csv.gz").read_bytes()).decode().splitlines() == lines
    np.testing.assert_array_equal(read_file(tmp_path / "back.csv").values, back.values)


CONVERTED = ["toa5.dat", "psm3.csv", "money.csv", "surfrad.dat", "utf16.txt", "usgs.rdb", "sheet.xlsx"]


@pytest.mark.parametrize("name", CONVERTED)
def test_a_shape_becomes_parquet(name, tmp_path):
    file = read_file(SHAPES / name)
    fills = np.nan_to_num(file.values, nan=42.0)
    file.write(tmp_path / "out.parquet", fills)
    again = read_file(tmp_path / "out.parquet", keep_sentinels=True, exclude=[])
    assert len(again.values) == len(file.values)
    for k, column in enumerate(file.columns):
        np.testing.assert_array_equal(again.values[:, again.columns.index(column)], fills[:, k])


def test_what_cannot_be_written_is_told_before(put, tmp_path, monkeypatch):
    file = read_file(put("a,a_lo\n1,2\n,3\n"))
    for target, extra, says in (
        (tmp_path / "no" / "out.csv", [], "does not exist"),
        (tmp_path / "out.xlsx", [], "Excel"),
        (tmp_path / "out.feather", [], "feather"),
        (tmp_path / "out.csv", ["a_lo"], "already"),
    ):
        with pytest.raises(InputError, match=says):
            file.check(target, extra=extra)
    with pytest.raises(InputError, match="time column") as caught:
        file.check(tmp_path / "out.csv", new_rows=True)
    assert caught.value.option == "time"
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="pyarrow"):
        file.check(tmp_path / "out.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


# on the command line


def test_messages_name_flags_only_on_the_command_line(put, capsys):
    error = InputError("no date.", cure="Correct it, or give the format (time_format).", option="time")
    assert shown(error) == "no date.\nCorrect it, or give the format (--time-format). (--time)"
    assert in_flags("left (to have it filled, name it: columns) (a, b)") == (
        "left (to have it filled, name it: --columns) (a, b)"
    )
    assert in_flags("Name two columns (time, id).") == "Name two columns (--time, --id)."
    source = put("a\n" + "1\n" * 30 + "oops\n")
    assert main(["look", str(source)]) == 2
    assert "(--exclude)" in (told := capsys.readouterr().err) and "(--missing-value)" in told
    for path in Path(files.__file__).parent.rglob("*.py"):
        if path.name not in ("timeline.py", "fetch.py", "spec_file.py", "catalog.py", "readers.py"):
            assert not re.search(r"--[a-z]", path.read_text()), path


def test_look_shows_everything_and_fills_nothing(tmp_path, capsys):
    assert main(["look", str(SHAPES / "ndbc.txt")]) == 0
    out = capsys.readouterr().out
    for part in ("every 30 min", "WDIR", "angle", "█", "999 in 'WDIR'", "--keep-sentinels", "t1 impute"):
        assert part in out
    assert main(["look", str(SHAPES / "monthly.csv"), "--kind", "Sales=count", "--dayfirst"]) == 0
    out = capsys.readouterr().out
    assert "count" in out and out.rstrip().endswith("--dayfirst --kind Sales=count")
    assert main(["look", str(SHAPES / "monthly.csv"), "--kind", "Sales"]) == 2
    assert "COL=KIND" in capsys.readouterr().err


def test_look_at_a_table_in_python():
    import polars as pl

    import t1

    times = pd.date_range("2020-01-01", periods=40, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"t": times, "wind_dir": np.arange(40) * 37 % 360.0, "note": "x"})
    frame.loc[5:7, "wind_dir"] = np.nan
    for table in (frame, pl.from_pandas(frame)):
        found = t1.look(table)
        assert "column 't', every hour" in found.understood[0] and "3 of 40" in found.understood[0]
        assert found.kinds["wind_dir"].name == "angle" and "note" in found.left_alone
        assert "█" in str(found) and "time='t'" in found.command
    assert "index" in t1.look(frame.set_index("t")[["wind_dir"]]).understood[0]
    assert "no time" in t1.look(np.array([[1.0], [2.0]])).understood[0]
    assert "nothing to fill" in str(t1.look(np.array([[1.0], [2.0]])))


@pytest.mark.parametrize(
    "module",
    [
        "durations",
        "errors",
        "data.dates",
        "data.look",
        "fill.filled",
        "fill.scorecard",
        "api.fitted",
        "api.tables",
    ],
)
def test_the_examples_in_docstrings_are_true(module):
    result = doctest.testmod(importlib.import_module(f"t1.{module}"))
    assert result.attempted and not result.failed


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_quote_within_a_cell_of_the_first_lines_opens_no_cell(put, n):
    rows = [f"2024-01-01 {h:02}:00,{'pipe of 5' + chr(34) if h < n else 'pipe'},{h}" for h in range(12)]
    file = read_file(put("\n".join(["time,part,x", *rows]) + "\n"))
    assert file.columns == ("x",) and file.values[:, 0].tolist() == list(range(12))


def test_a_quoted_cell_may_hold_line_breaks_and_doubled_quotes(put):
    rows = [f'2024-01-01 {h:02}:00,"two ""lines"",\nof text",{h}' for h in range(12)]
    file = read_file(put("\n".join(["time,note,x", *rows]) + "\n"))
    assert file.columns == ("x",) and file.values[:, 0].tolist() == list(range(12))


# thousands


def steps(separator=";", sign=".", more=""):
    numbers = [1820, 315, 2036, 267, 1957, 980, 12345, 77, 1004, 5, 610, 1500]
    cells = [f"{n:,}".replace(",", sign) for n in numbers]
    cells[4] = ""
    rows = [f"{i + 1:02d}.03.2024{separator}{cell}{more}" for i, cell in enumerate(cells)]
    return f"Datum{separator}Schritte{separator + 'kg' if more else ''}\n" + "\n".join(rows) + "\n", numbers


def test_a_point_beside_whole_numbers_separates_thousands(put, tmp_path):
    for separator in (";", "\t", ","):
        text, numbers = steps(separator)
        file = read_file(put(text))
        np.testing.assert_array_equal(file.values[:, 0], [*numbers[:4], np.nan, *numbers[5:]])
        file.write(tmp_path / "out.csv", np.full(file.values.shape, 1957.0))
        assert (tmp_path / "out.csv").read_text() == text.replace(
            "05.03.2024" + separator, f"05.03.2024{separator}1.957"
        )
    assert read_file(put(steps()[0]), decimal=".").values[0, 0] == 1.82  # the user decides


def test_a_column_has_thousands_though_another_has_decimals(put, tmp_path):
    text, _ = steps(more=";80.5")
    source = put(text)
    file = read_file(source)
    assert file.values[0].tolist() == [1820, 80.5]
    assert [piece.values[0].tolist() for piece in open_pieces(source, {}).tables()] == [[1820, 80.5]]
    file.write(tmp_path / "out.parquet", np.full(file.values.shape, 1957.0))
    assert read_file(tmp_path / "out.parquet").values[[0, 4], 0].tolist() == [1820, 1957]
    text, _ = steps(sign=",", more=";80.5")
    assert read_file(put(text)).values[0].tolist() == [1820, 80.5]


def test_numbers_that_may_be_thousands_or_decimals_are_told(put):
    cells = ["1.250", "2", "3.125", "4.375", "1", "", "2.875", "3", "1.625", "2.125"]
    source = put("t,x\n" + "".join(f"2024-01-{i + 1:02d},{cell}\n" for i, cell in enumerate(cells)))
    file = read_file(source)
    assert file.values[0, 0] == 1.25
    assert any("separates thousands" in text and "(decimal)" in text for text in file.problems)
    assert read_file(source, decimal=",").values[0, 0] == 1250
    others = put("t;x;y\n" + "".join(f"2024-01-{i + 1:02d};{cell};0.125\n" for i, cell in enumerate(cells)))
    assert read_file(others).values[0].tolist() == [1.25, 0.125]
    three = put("t;x\n" + "".join(f"2024-01-{i + 1:02d};{1 + i / 8:.3f}\n" for i in range(9)))
    assert read_file(three).values[1, 0] == 1.125 and not read_file(three).problems


def test_few_numbers_above_a_thousand(put):
    rows = "".join(f"2024-01-01 {i // 60:02d}:{i % 60:02d};{i % 900}\n" for i in range(100))
    file = read_file(put("t;x\n2023-01-01 00:00;1.234\n" + rows), decimal=",")
    assert file.values[0, 0] == 1234


# lines that are no rows


def test_an_empty_line_between_dated_rows_is_left_alone(put, tmp_path):
    rows = [f"2024-01-01 {h:02d}:00,{h / 2},{h + 0.5}" for h in range(12)]
    rows[4] = "2024-01-01 04:00,,4.5"
    for blank in (",,", " , ,", '"","",""', ",,,,", ""):
        text = "time,a,b\n" + "\n".join([*rows[:6], blank, *rows[6:]]) + "\n"
        file = read_file(put(text))
        assert file.time is not None and len(file.values) == 12
        assert not blank or "1 empty row between the others" in file.understood[1]
        file.write(tmp_path / "out.csv", np.full(file.values.shape, 9.5))
        assert (tmp_path / "out.csv").read_text() == text.replace("04:00,,", "04:00,9.5,")


@pytest.mark.parametrize(
    ("head", "row", "end"),
    [
        ("| time | a | b |\n|---|---|---|\n", "| {} | {} | {} |", ""),
        ("time | a | b\n-----------------+-----+----\n", "{} | {} | {}", "(12 rows)\n"),
        ("time,a,b\n---,---,---\n", "{},{},{}", ""),
    ],
)
def test_a_rule_below_the_names_is_no_row(put, tmp_path, head, row, end):
    rows = [row.format(f"2024-01-01 {h:02d}:00", h / 2 if h != 4 else "", h + 0.5) for h in range(12)]
    text = head + "\n".join(rows) + "\n" + end
    file = read_file(put(text))
    assert file.time is not None and file.values.shape == (12, 2)
    file.write(tmp_path / "out.csv", np.full(file.values.shape, 9.5))
    filled = row.format("2024-01-01 04:00", 9.5, 4.5)
    out = (tmp_path / "out.csv").read_text()
    assert out.replace(" ", "") == text.replace(rows[4], filled).replace(" ", "")


def test_a_remark_between_the_rows_of_two_columns_is_no_row(put, tmp_path):
    rows = [f"2024-01-01 {h:02d}:00,{h / 2 if h != 4 else ''}" for h in range(12)]
    text = "time,a\n" + "\n".join([*rows[:6], "# calibrated", *rows[6:]]) + "\n"
    file = read_file(put(text))
    assert file.time is not None and len(file.values) == 12
    assert "a line between the rows is no row" in file.understood[1]
    file.write(tmp_path / "out.csv", np.full(file.values.shape, 9.5))
    assert (tmp_path / "out.csv").read_text() == text.replace("04:00,", "04:00,9.5")


def test_totals_between_dated_rows_are_no_rows(put, tmp_path):
    rows = [f"2024-01-{d + 1:02},{d / 2 if d != 4 else ''}" for d in range(20)]
    text = (
        "date,a\n"
        + "\n".join([*rows[:7], "Subtotal,10.5", *rows[7:14], '"Total week",33', *rows[14:]])
        + "\n"
    )
    file = read_file(put(text))
    assert file.time is not None and len(file.values) == 20 and np.nanmax(file.values) == 9.5
    file.write(tmp_path / "out.csv", np.full(file.values.shape, 2.5))
    assert (tmp_path / "out.csv").read_text() == text.replace("01-05,", "01-05,2.5")
    named = "month,a\n" + "".join(
        f"{m} {y},{y}.5\n" for y in range(2001, 2009) for m in ("Mar", "May", "Sep")
    )
    assert len(read_file(put(named)).values) == 24


def test_an_empty_line_in_a_table_of_numbers_is_a_row(put):
    assert len(read_file(put("a,b\n1,2\n,\n3,4\n")).values) == 3
    assert len(read_file(put("timestamp,b\n1,2\n,\n3,4\n")).values) == 2


def test_sums_without_a_word_are_no_row(put, tmp_path):
    rows = "".join(f"2024-01-01 {h:02d}:00,{h / 2},{h + 0.5}\n" for h in range(12))
    text = "time,a,b\n" + rows + ",33.0,72.0\n,,6.0\n"
    file = read_file(put(text))
    assert file.time is not None and file.values.shape == (12, 2)
    assert "the last 2 lines are no rows" in file.understood[1]
    file.write(tmp_path / "out.csv", file.values)
    assert (tmp_path / "out.csv").read_text() == text
    sparse = "day,a\n" + "2024-01-01,1\n,2\n,3\n2024-01-02,4\n,5\n,6\n" * 3
    assert len(read_file(put(sparse)).values) == 18  # a date is written once for several rows


@pytest.mark.parametrize("unit", [" C", " l/min", " µS/cm", " widgets", "C", " m³/h"])
def test_any_unit_that_all_numbers_have_is_kept(put, tmp_path, unit):
    cells = [f"{12 + i / 10:.1f}{unit}" for i in range(12)]
    cells[4] = ""
    text = "time,a\n" + "".join(f"2024-01-01 {i:02d}:00,{cell}\n" for i, cell in enumerate(cells))
    file = read_file(put(text))
    assert file.values[3, 0] == 12.3 and np.isnan(file.values[4, 0])
    file.write(tmp_path / "out.csv", np.full(file.values.shape, 12.4))
    assert (tmp_path / "out.csv").read_text() == text.replace("04:00,", f"04:00,12.4{unit}")


@pytest.mark.parametrize(
    "cells", [["1 May"] * 9, ["1 AM"] * 9, ["7 up"] * 8 + ["7"], ["7 up"] * 8 + ["7 down"]]
)
def test_words_are_no_units(put, cells):
    file = read_file(put("x,y\n" + "".join(f"{i}.5,{cell}\n" for i, cell in enumerate(cells))))
    assert file.columns == ("x",)


@pytest.mark.parametrize("every", [2, 40])
def test_a_long_minus_is_a_minus(put, tmp_path, every):
    cells = [("−" if i % every == 1 else "") + f"{12 + i / 10:.1f}" for i in range(60)]
    cells[4] = ""
    text = "time,a\n" + "".join(f"2024-01-01 00:{i:02d},{cell}\n" for i, cell in enumerate(cells))
    file = read_file(put(text))
    assert file.values[[0, 1], 0].tolist() == [12.0, -12.1] and np.isnan(file.values[4, 0])
    file.write(tmp_path / "out.csv", np.full(file.values.shape, -3.4))
    assert (tmp_path / "out.csv").read_text() == text.replace("00:04,", "00:04,−3.4")


def test_millions_and_bytes_are_read_where_all_numbers_have_them(put):
    cells = {"v": "{:.2f}M", "b": "{:.0f}MB", "mixed": "{:.2f}M"}
    rows = [[shape.format(12 + i / 8) for shape in cells.values()] for i in range(20)]
    rows[7][2] = "950"
    text = "time,v,b,mixed\n" + "".join(
        f"2024-01-01 {i:02d}:00,{','.join(row)}\n" for i, row in enumerate(rows)
    )
    file = read_file(put(text))
    assert file.columns == ("v", "b") and file.values[1, 0] == 12.12


def test_a_code_and_its_flag_are_no_decimal_number(put):
    rows = "".join(f'2024-01-01 {i:02d}:00,"+{150 + i:04},5",{i}.5\n' for i in range(20))
    file = read_file(put("DATE,TMP,x\n" + rows))
    assert file.columns == ("x",) and "text" in file.passed_through["TMP"]


# several series


def test_sensors_that_take_turns_in_a_log_are_series(put, tmp_path):
    rng = np.random.default_rng(0)
    times = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.cumsum(rng.integers(20, 4000, 60)), unit="s")
    which = rng.choice(["sensor.heart", "sensor.temp"], 60)
    log = pd.DataFrame(
        {"entity_id": which, "state": np.where(which == "sensor.heart", 80.5, 37.5), "when": times}
    )
    log.to_csv(tmp_path / "in.csv", index=False)
    file = read_file(tmp_path / "in.csv")
    assert file.id_columns == ("entity_id",) and "rows take turns" in file.understood[1]
    assert len(t1.data.frames.Frame.read(log).id_columns) == 1
    log.to_parquet(tmp_path / "in.parquet")
    assert read_file(tmp_path / "in.parquet").id_columns == ("entity_id",)
    # other columns of text, and ids of a regular table, tell no series apart
    assert not read_file(put(log.rename(columns={"entity_id": "mood"}).to_csv(index=False))).id_columns
    hours = log.assign(when=pd.date_range("2024-05-01", periods=60, freq="h"))
    assert not read_file(put(hours.to_csv(index=False))).id_columns
    strictly = hours.assign(entity_id=["a", "b"] * 30)
    assert read_file(put(strictly.to_csv(index=False))).id_columns == ("entity_id",)


def patients() -> pd.DataFrame:
    """Hearts of five patients, of whom no two were ever looked at in the same minute."""
    rng = np.random.default_rng(3)
    parts = []
    for p in range(5):
        minutes = p + 10 * np.cumsum(rng.integers(4, 9, 40))
        when = pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min")
        hr = 60 + 20 * p + rng.normal(0, 1, 40).round(1)
        parts.append(pd.DataFrame({"subject_id": 10 + p, "when": when, "hr": hr}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("name", ["subject_id", "RecordID", "patientid"])
def test_patients_that_are_numbers_are_series(put, tmp_path, name):
    table = patients().rename(columns={"subject_id": name})
    file = read_file(put(table.to_csv(index=False)))
    assert file.id_columns == (name,) and file.columns == ("hr",)
    table.to_parquet(tmp_path / "in.parquet")
    assert read_file(tmp_path / "in.parquet").id_columns == (name,)
    assert t1.data.frames.Frame.read(table).id_columns == (name,)
    humid = table.rename(columns={name: "humid"})  # numbers that are called anything else are measured
    assert not read_file(put(humid.to_csv(index=False))).id_columns


def test_numbered_items_of_numbered_patients_are_a_long_table(put, tmp_path):
    keys = [(p, h, item) for p in (11, 12) for h in range(40) for item in (220179, 220180)]
    rows = [
        f"{p},{p + 900},2024-01-{1 + h // 24:02} {h % 24:02}:00,{item},{item - 220100 + h % 5 if h != 7 else ''},mmHg"
        for p, h, item in keys
    ]
    text = "subject_id,hadm_id,charttime,itemid,valuenum,valueuom\n" + "\n".join(rows) + "\n"
    file = read_file(put(text))
    assert file.id_columns == ("subject_id",) and file.columns == ("220179", "220180")
    assert file.passed_through["hadm_id"] == "stands beside 'valuenum'"
    table = pd.read_csv(put(text))
    table.to_parquet(tmp_path / "in.parquet")
    assert read_file(tmp_path / "in.parquet").columns == ("220179", "220180")
    two = text.replace("hadm_id", "weight").replace(
        ",911,", ",,", 9
    )  # two columns to fill: each patient's items
    assert read_file(put(two)).id_columns == ("subject_id", "itemid")


def test_patients_within_a_variable_are_series(put):
    table = patients()
    both = pd.concat([table.assign(label="HR"), table.assign(label="SBP", hr=table.hr + 50)])
    file = read_file(put(both.rename(columns={"hr": "valuenum"}).to_csv(index=False)))
    assert file.id_columns == ("subject_id",) and file.columns == ("HR", "SBP")


def test_annotated_tables_of_influxdb_are_long(put):
    rows = "".join(
        f",,{k},2024-01-01T{h:02}:00:00Z,{20 * k + h % 7}.5,{name},home\n"
        for k, name in enumerate(("t", "rh"))
        for h in range(24)
    )
    head = "#datatype,string,long,dateTime:RFC3339,double,string,string\n#default,_result,,,,,\n"
    file = read_file(put(f"{head},result,table,_time,_value,_field,_measurement\n{rows}"))
    assert file.columns == ("rh", "t") and file.ids is None


def test_powers_of_ten_are_written_as_in_the_column(put, tmp_path):
    rows = [f"{i},{1.5e-6 + i * 1e-8:.3e},{5.5e9 + i * 1e7:.4E},{i / 4}" for i in range(12)]
    rows[4] = "4,,,"
    text = "n,x,y,z\n" + "\n".join(rows) + "\n"
    file = read_file(put(text))
    file.write(
        tmp_path / "out.csv", np.tile([4.0, 1.5404e-6, 5.54321e9, 0.25], (12, 1))[:, -len(file.columns) :]
    )
    assert (tmp_path / "out.csv").read_text() == text.replace("4,,,", "4,1.540e-06,5.5432E+09,0.25")
    rows = "".join(
        f"2024-01-{i + 1:02d},{v},{c}\n" for i in range(9) for v, c in (("a", f"{i + 1}.25e-06"), ("b", i))
    )
    assert read_file(put("time,variable,value\n" + rows)).decimals == (8, 0)
