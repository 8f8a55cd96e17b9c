"""Strangers' files: each in tests/shapes is read right, given back to the byte, and told in docs/files.md.

The files are written by us in shapes that were seen; a new report adds a file here and a line in SHAPES.
"""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from t1.api.files import impute_file
from t1.data.files import read_file
from t1.errors import InputError
from t1.options import FillOptions, FitOptions

FOLDER = Path(__file__).parent / "shapes"
PAGE = Path(__file__).parents[1] / "docs" / "files.md"

# file: (what it is, columns to fill, missing cells, first time, last time)
SHAPES = {
    "air_quality.csv": (
        "date and 18.00.00 apart, -200, empty rows at the end",
        4,
        5,
        "2004-03-10T18",
        "2004-03-13T05",
    ),
    "asos.csv": ("ASOS (IEM): M for missing", 3, 7, "2020-01-01", "2020-01-03T11"),
    "cams.csv": ("CAMS radiation: names in a comment, start/end", 4, 2, "2020-03-01T00", "2020-03-01T11:45"),
    "day_of_year.csv": ("year, day of the year, hhmm", 2, 2, "2020-02-28T00:30", "2020-02-29T06:00"),
    "decimal_year.txt": ("decimal years", 2, 2, "1990-01-01", "1994-12-01"),
    "duplicate_names.csv": ("names twice, unnamed columns", 2, 2, "2020-03-01", "2020-03-02T05"),
    "dwd.txt": ("DWD: 2020010100, -999, eor", 4, 7, "2020-01-01", "2020-01-03T11"),
    "epoch.csv": ("milliseconds since 1970", 1, 7, "2020-01-01", "2020-01-03T11"),
    "fluxnet.csv": ("FLUXNET: two columns of 202001010000, -9999", 2, 7, "2020-01-01", "2020-01-03T11"),
    "footer.csv": ("a total and a remark at the end", 2, 2, "2021-05-01", "2021-05-30"),
    "german.csv": ("1.234,56 and a clock of its own", 2, 7, "2020-01-01", "2020-01-03T11"),
    "headerless.csv": ("no names", 2, 2, "2020-03-01", "2020-03-02T05"),
    "hobo.csv": ("HOBO logger: title, commas in names, AM and PM", 2, 67, "2020-01-01", "2020-01-03T11"),
    "household.txt": ("16/12/2006;17:24:00 and ?", 2, 7, "2006-12-16T17:24", "2006-12-16T18:23"),
    "isd_lite.txt": ("ISD-Lite: white space, no names, -9999", 4, 9, "2020-01-01", "2020-01-03T11"),
    "knmi.txt": ("KNMI: YYYYMMDD and HH from 1 to 24", 4, 2, "2020-03-01T01", "2020-03-03"),
    "long.csv": ("a long table: station, date, variable, value", 2, 4, "2021-05-03", "2021-06-01"),
    "matlab.txt": ("% t x y, and t counts seconds", 2, 7, "1970-01-01", "1970-01-01T00:00:05.9"),
    "money.csv": ("$1,234.50 and 20.5%", 3, 3, "2018-01-01", "2020-06-01"),
    "month_names.csv": ("months as Jan-09", 1, 6, "2009-01-01", "2014-12-01"),
    "monthly.csv": ("months as 01/MM/YYYY", 1, 2, "2015-01-01", "2019-12-01"),
    "ndbc.txt": ("NDBC buoy: #YY MM DD hh mm, MM, 999", 8, 6, "2020-03-01", "2020-03-01T23:30"),
    "open_meteo.csv": ("Open-Meteo: a table above the table", 2, 7, "2020-01-01", "2020-01-03T11"),
    "psm3.csv": ("NSRDB (psm3): two lines above the names", 4, 2, "2020-03-01T00:30", "2020-03-02T23:30"),
    "pvgis.csv": ("preamble, 20200301:0000, remarks at the end", 2, 2, "2020-03-01", "2020-03-02T11"),
    "quarters.csv": ("2009-Q1", 1, 1, "2009-01-01", "2018-10-01"),
    "sheet.xlsx": ("Excel, with a title above the names", 2, 4, "2020-03-01", "2020-03-02T05"),
    "short_rows.csv": ("rows with fewer cells", 2, 3, "2020-03-01", "2020-03-02T05"),
    "stocks.csv": ("two shares on the same days", 2, 2, "2021-05-03", "2021-06-01"),
    "surfrad.dat": ("SURFRAD: white space, no names, -9999.9", 8, 4, "2020-03-01", "2020-03-01T00:47"),
    "tmy3.csv": ("TMY3: a line on the station, 24:00", 5, 3, "1988-01-01T01", "1988-01-03"),
    "toa5.dat": ("TOA5 logger: four lines of header", 3, 3, "2020-03-01", "2020-03-02T23"),
    "units_row.csv": ("units below the names", 3, 2, "2020-03-01", "2020-03-02T11"),
    "usgs.rdb": ("USGS RDB: # lines, a line of formats", 2, 3, "2020-03-01", "2020-03-01T11:45"),
    "utf16.txt": ("UTF-16, tabs, decimal commas", 2, 2, "2020-03-01", "2020-03-01T23"),
    "white_space.txt": ("white space between cells", 2, 3, "2020-03-01", "2020-03-02T11"),
    "wide.csv": ("a wide table: a column for each date", 3, 2, "2020-01-22", "2020-03-01"),
    "world_bank.csv": ("World Bank: years as columns below a preamble", 5, 1, "2001-01-01", "2012-01-01"),
}


GAPS = {"", "NA", "NAN", "nan", "NaN", "M", "MM", "?", "-200", "-999", "-9999", "-9999.9", "999"}


def test_every_file_is_in_the_list():
    assert sorted(SHAPES) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_read_right(name):
    _, n_columns, n_missing, first, last = SHAPES[name]
    file = read_file(FOLDER / name)
    assert file.values.shape[1] == n_columns
    assert int(np.isnan(file.values).sum()) == n_missing
    assert file.time[0] == np.datetime64(first) and file.time[-1] == np.datetime64(last)
    if file.ids is None:
        steps = np.diff(file.time)
        months = np.diff(file.time.astype("M8[M]").astype("i8"))
        assert (steps == steps[0]).all() or (months == months[0]).all()
    assert file.understood and all(text.endswith(".") for text in file.understood)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_comes_back_to_the_byte_and_only_gaps_change(name, tmp_path):
    source, target = FOLDER / name, tmp_path / name
    file = read_file(source)
    file.write(target, file.values)
    if name.endswith(".xlsx"):
        assert parts_of(target.read_bytes()) == parts_of(source.read_bytes())
    else:
        assert target.read_bytes() == source.read_bytes()
    fills = np.where(np.isnan(file.values), 42.0, file.values)
    file.write(target, fills)
    again = read_file(target)
    np.testing.assert_array_equal(again.values, fills)
    if name.endswith(".xlsx"):
        return
    inner = getattr(file, "file", file)  # a long or wide table is a text table on its side
    separator = None if inner.cells.separator == ord(" ") else chr(inner.cells.separator)
    codec = "utf-16" if name == "utf16.txt" else "utf-8"
    before, after = (path.read_text(codec).split("\n") for path in (source, target))
    n_changed = 0
    for old, new in zip(before, after, strict=True):
        if old == new:
            continue
        cells = [line.rstrip("\r").split(separator) for line in (old, new)]
        cells[0] += [""] * (len(cells[1]) - len(cells[0]))  # a short row
        for x, y in zip(*cells, strict=True):
            assert x == y or (x.strip(' "') in GAPS and y.strip(' "$%').startswith("42")), (old, new)
            n_changed += x != y
    assert n_changed == int(np.isnan(file.values).sum())


@pytest.mark.parametrize(
    "name", [n for n in SHAPES if n not in ("long.csv", "wide.csv", "world_bank.csv", "sheet.xlsx")]
)
def test_new_rows_are_written_as_the_file_writes_its_own(name, tmp_path):
    """A row that was cut out comes back as it was, if what it held is given back."""
    source = (FOLDER / name).read_bytes()
    file = read_file(FOLDER / name)
    if file.ids is not None:
        pytest.skip("another row has the same time")
    row = len(file.values) // 2
    begin = int(file.cells.row_starts[row])
    end = int(file.cells.row_starts[row + 1])
    data = file.cells.data[: file.cells.size].tobytes()
    cut = data[:begin] + data[end:]
    (tmp_path / name).write_bytes(cut.decode().encode("utf-16-le") if file.wide else cut)
    short = read_file(tmp_path / name)
    assert len(short.values) == len(file.values) - 1
    from t1.data.data_file import NewRows

    new = NewRows(times=file.time[row : row + 1], values=file.values[row : row + 1])
    short.write(tmp_path / "out.txt", short.values, new_rows=new)
    out = read_file(tmp_path / "out.txt")
    np.testing.assert_array_equal(out.time, file.time)
    np.testing.assert_array_equal(out.values, file.values)
    if name in ("cams.csv", "day_of_year.csv", "decimal_year.txt", "monthly.csv", "psm3.csv", "pvgis.csv"):
        assert (tmp_path / "out.txt").read_bytes() == source


def parts_of(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_excel_file_changes_only_in_its_missing_cells(tmp_path):
    file = read_file(FOLDER / "sheet.xlsx")
    fills = np.where(np.isnan(file.values), 7.25, file.values)
    file.write(
        tmp_path / "out.xlsx", fills, extra={"temp_lo": np.where(np.isnan(file.values[:, 0]), 6.5, np.nan)}
    )
    before, after = (parts_of(path.read_bytes()) for path in (FOLDER / "sheet.xlsx", tmp_path / "out.xlsx"))
    sheet = "xl/worksheets/sheet1.xml"
    assert {k: v for k, v in before.items() if k != sheet} == {k: v for k, v in after.items() if k != sheet}
    assert b'<c r="B11" s="2"><v>7.25</v></c>' in after[sheet]  # its format is kept
    assert b"<t>temp_lo</t>" in after[sheet]
    again = read_file(tmp_path / "out.xlsx")
    assert again.columns == ("temp", "flow", "temp_lo")
    np.testing.assert_array_equal(again.values[:, 0], fills[:, 0])
    assert again.values[12, 1] == 7  # a column of whole numbers
    file.write(tmp_path / "out.csv", fills)
    assert read_file(tmp_path / "out.csv").time[0] == file.time[0]
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert book.active["B11"].value == 7.25 and book.active["A4"].value == pd.Timestamp("2020-03-01")
    with pytest.raises(InputError, match="zip file"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.csv", "a\n1\n")
        (tmp_path / "a.zip").write_bytes(buffer.getvalue())
        read_file(tmp_path / "a.zip")


def test_a_long_table_is_filled_along_time_and_takes_intervals(tmp_path):
    file = read_file(FOLDER / "long.csv")
    assert file.columns == ("rain", "temp") and set(file.ids) == {"north", "south"}
    fills = np.where(np.isnan(file.values), 9.87, file.values)
    lo = {"temp_lo": np.where(np.isnan(file.values[:, 1]), 8.5, np.nan)}
    file.write(tmp_path / "out.csv", fills, extra=lo)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "station,date,variable,value,value_lo"
    assert sum(line.endswith(",9.9,8.5") for line in lines) == 4
    with pytest.raises(InputError, match="cannot be added"):
        file.check(tmp_path / "out.csv", new_rows=True)
    assert read_file(FOLDER / "long.csv", kind={"rain": "non-negative"}).kinds["rain"].given
    as_table = read_file(FOLDER / "long.csv", layout="table")
    assert as_table.columns == ("value",) and len(set(as_table.ids)) == 4


def test_a_wide_table_is_filled_along_its_rows(tmp_path):
    file = read_file(FOLDER / "wide.csv")
    assert file.columns == ("Here", "East / There", "West / There")
    assert np.isnan(file.values[10:12, 1]).all()
    with pytest.raises(InputError, match="cannot be added"):
        file.check(tmp_path / "out.csv", extra=["Here_lo"])
    with pytest.raises(InputError, match="not named by dates"):
        read_file(FOLDER / "footer.csv", layout="wide")


def test_a_date_without_an_observation_is_filled_and_one_with_text_is_refused(tmp_path):
    years = range(2000, 2012)
    rows = [
        ["DE", *(f"{10 + y % 4}.5" for y in years)],
        ["FR", *(f"{20 + y % 3}.5" for y in years)],
        ["IT"] + [""] * 12,
    ]
    for row in rows:
        row[4] = ":"
    table = tmp_path / "wide.csv"
    table.write_text("\n".join(["geo," + ",".join(map(str, years)), *map(",".join, rows)]) + "\n")
    file = read_file(table)
    assert file.columns == ("DE", "FR", "IT") and np.isnan(file.values[3]).all()
    assert file.problems == ["column 'IT' has no observed value, so it stays empty."]
    table.write_text(table.read_text().replace("11.5", "11.5 ?", 1))
    with pytest.raises(InputError, match="'2001' holds text"):
        read_file(table)


@pytest.mark.parametrize("name", ["long.csv", "wide.csv"])
def test_tables_on_their_side_are_turned_in_every_container(name, tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    text, upright = pd.read_csv(FOLDER / name), read_file(FOLDER / name)
    text.to_parquet(tmp_path / "in.parquet", index=False)
    text.to_excel(tmp_path / "in.xlsx", index=False)
    for container in ("parquet", "xlsx"):
        file = read_file(tmp_path / f"in.{container}")
        assert file.columns == upright.columns
        np.testing.assert_array_equal(file.values, upright.values)
        file.write(tmp_path / f"out.{container}", np.nan_to_num(file.values, nan=42.0))
        again = read_file(tmp_path / f"out.{container}")
        np.testing.assert_array_equal(again.values, np.nan_to_num(file.values, nan=42.0))


def test_two_shares_are_two_series():
    file = read_file(FOLDER / "stocks.csv")
    assert file.id_columns == ("Symbol",) and set(file.ids) == {"AAA", "BBB"}
    assert "'Symbol'" in file.understood[0]


def test_the_page_tells_what_happens_now():
    """Run with T1_WRITE_DOCS=1 to write the list in docs/files.md anew."""
    lines = ["| file | what it is | how it is understood |", "|---|---|---|"]
    for name, (what, *_) in SHAPES.items():
        said = " ".join(read_file(FOLDER / name).understood).replace("|", "\\|")
        lines.append(f"| [{name}](../tests/shapes/{name}) | {what} | {said} |")
    begin, end = "<!-- shapes -->\n", "<!-- end of shapes -->\n"
    page = PAGE.read_text()
    head, tail = page.partition(begin)[0], page.partition(end)[2]
    new = head + begin + "\n".join(lines) + "\n" + end + tail
    if os.environ.get("T1_WRITE_DOCS"):
        PAGE.write_text(new)
    assert page == new or os.environ.get("T1_WRITE_DOCS")


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_filled_from_the_command_line(name, tmp_path, capsys):
    from t1.cli import main

    target = tmp_path / name
    code = main(["impute", str(FOLDER / name), "-o", str(target), "--method", "linear", "--budget", "2s"])
    assert code == 0, capsys.readouterr().err
    before, after = read_file(FOLDER / name), read_file(target, keep_sentinels=True)
    seen = ~np.isnan(before.values)
    np.testing.assert_array_equal(after.values[seen], before.values[seen])
    empty = ~seen.any(axis=0)
    assert not np.isnan(after.values[:, ~empty]).any()


def test_a_formula_is_never_written(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["when", "temp", "double"])
    for i in range(30):
        sheet.append([pd.Timestamp("2024-05-01") + pd.Timedelta(hours=i), i % 7 + 0.5, f"=B{i + 2}*2"])
    sheet["B5"], sheet["B6"], sheet["B20"] = "=1234.5", None, "=NA()"
    book.save(tmp_path / "in.xlsx")
    raw = (tmp_path / "in.xlsx").read_bytes()
    parts = parts_of(raw)
    sheet1 = "xl/worksheets/sheet1.xml"
    # a stored error, and a stored empty text
    parts[sheet1] = (
        parts[sheet1]
        .replace(b"<f>NA()</f><v />", b"<f>NA()</f><v>#N/A</v>")
        .replace(b'<c r="B21" t="n"><v>5.5</v>', b'<c r="B21" t="str"><f>IF(1,"")</f><v></v>')
    )
    assert b"#N/A" in parts[sheet1] and b"IF(1" in parts[sheet1]
    with zipfile.ZipFile(tmp_path / "in.xlsx", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    file = read_file(tmp_path / "in.xlsx")
    told = " ".join(file.problems)
    assert "without a stored result" in told and "C2, C3, C4, ... (31 cells)" in told
    assert "B20, B21 (2 cells)" in told
    filled = np.nan_to_num(file.values, nan=42.0)
    file.write(tmp_path / "out.xlsx", filled, extra={"temp_lo": filled[:, 0]})
    after = parts_of((tmp_path / "out.xlsx").read_bytes())[sheet1]
    for kept in (
        b"<f>1234.5</f><v />",
        b"<f>NA()</f><v>#N/A</v>",
        b'<f>IF(1,"")</f><v></v>',
        b"<f>B30*2</f><v />",
    ):
        assert kept in after
    assert b'<c r="B6"><v>42.0</v></c>' in after
    result = impute_file(
        tmp_path / "in.xlsx",
        tmp_path / "out.xlsx",
        reading={},
        fit_options=FitOptions(method="linear", budget="fast"),
        fill_options=FillOptions(intervals=0.9),
    )
    assert result.n_filled == 1  # what is not written does not count


def test_one_formula_over_several_cells_is_in_all_of_them(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.worksheet.formula import ArrayFormula

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["x", "y"])
    for i in range(12):
        sheet.append([i + 0.5, i * 2 + 0.5])
    sheet["A4"], sheet["A5"] = ArrayFormula("A4:A5", "=B4:B5"), None
    book.save(tmp_path / "in.xlsx")
    file = read_file(tmp_path / "in.xlsx")
    assert file.fixed[2:4, 0].all() and file.fixed.sum() == 2


def test_a_time_of_formulas_without_results_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["date", "x"])
    for i in range(12):
        sheet.append(["2024-01-01" if i == 0 else f"=A{i + 1}+1", i + 0.5])
    book.save(tmp_path / "in.xlsx")
    with pytest.raises(InputError, match="says when") as caught:
        read_file(tmp_path / "in.xlsx")
    assert "LibreOffice" in caught.value.cure


def test_a_cover_sheet_is_told_with_the_other_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    book.active.append(["This workbook"])
    book.active.append(["was made by us"])
    for name in ("Data", "Notes"):
        sheet = book.create_sheet(name)
        for row in (["time", "x"], *([f"2024-01-{d:02d}", d + 0.5] for d in range(1, 13))):
            sheet.append(row)
    book.save(tmp_path / "in.xlsx")
    with pytest.raises(InputError, match="first sheet, 'Cover'") as caught:
        read_file(tmp_path / "in.xlsx")
    assert "'Data', 'Notes'" in caught.value.cure and caught.value.option == "sheet"
    file = read_file(tmp_path / "in.xlsx", sheet="Data")
    assert file.columns == ("x",) and "sheet 'Data' is read, not 'Cover', 'Notes'" in file.understood[1]


def vitals(variable="variable", value="value", more=False, sign="."):
    rows = []
    for i in range(24):
        for who in ("p1", "p2"):
            for name, cell in (
                ("heart", f"{70 + i % 7}"),
                ("temp", f"{36 + i % 5 / 10:.1f}"),
                ("crea", f"{1 + i / 100:.2f}"),
            ):
                cell = "" if i in (5, 6) else cell.replace(".", sign)
                rows.append(f"{who};2024-05-01 {i:02d}:00;{name};{cell}" + (";1" if more else ""))
    return f"patient;time;{variable};{value}{';qc' if more else ''}\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    "options",
    [{}, {"variable": "label", "value": "valuenum"}, {"variable": "name"}, {"more": True}, {"sign": ","}],
)
def test_each_variable_of_a_long_table_has_its_own_decimals(put, tmp_path, options):
    text = vitals(**options)
    file = read_file(put(text))
    assert file.columns == ("crea", "heart", "temp") and file.decimals == (2, 0, 1)
    assert set(file.ids) == {"p1", "p2"}
    file.write(tmp_path / "out.csv", np.nan_to_num(file.values, nan=38.118))
    sign, end = options.get("sign", "."), ";1" if options.get("more") else ""
    for name, cell in (("crea", f"38{sign}12"), ("heart", "38"), ("temp", f"38{sign}1")):
        text = text.replace(f";{name};{end}\n", f";{name};{cell}{end}\n")
    assert (tmp_path / "out.csv").read_text() == text


def test_names_of_stations_are_no_variables(put):
    rows = "".join(
        f"2024-05-01 {i:02d}:00,{name},{i + 0.5}\n" for i in range(12) for name in ("north", "south")
    )
    file = read_file(put("time,name,temp\n" + rows))
    assert file.columns == ("temp",) and file.id_columns == ("name",)


def test_a_long_sheet_has_its_own_decimals_too(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for k, line in enumerate(vitals().splitlines()):
        cells = line.split(";")
        book.active.append(cells if not k else [*cells[:3], float(cells[3]) if cells[3] else None])
    book.save(tmp_path / "in.xlsx")
    file = read_file(tmp_path / "in.xlsx")
    file.write(tmp_path / "out.xlsx", np.nan_to_num(file.values, nan=38.118))
    again = read_file(tmp_path / "out.xlsx")
    assert again.values[10].tolist() == [38.12, 38, 38.1]


def test_true_and_false_are_filled_as_such(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["x", "on"])
    for i in range(30):
        book.active.append([i + 0.5, None if i == 9 else i % 3 == 0])
    book.save(tmp_path / "in.xlsx")
    file = read_file(tmp_path / "in.xlsx")
    file.write(tmp_path / "out.xlsx", np.nan_to_num(file.values, nan=1.0))
    assert openpyxl.load_workbook(tmp_path / "out.xlsx").active["B11"].value is True
