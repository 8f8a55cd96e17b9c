"""A series in each row and no dates (M4): filled along the rows, and never behind the end of a series."""

import numpy as np
import pytest

from t1.api import impute_file
from t1.data.files import read_file
from t1.errors import InputError
from t1.options import FillOptions, FitOptions

LENGTHS = (30, 24, 18, 27, 12)


def table(lengths=LENGTHS, names="V", first=2, blank="", gaps=True):
    """Rows that count in steps of their own, with a gap each; the ends of shorter ones are empty."""
    width = max(lengths)
    lines = [",".join(["id", *(f"{names}{first + k}" for k in range(width))])]
    for i, length in enumerate(lengths):
        cells = [f"{100 * (i + 1) + k * (i + 1):.1f}" for k in range(length)] + [blank] * (width - length)
        if gaps:
            cells[5] = blank
        lines.append(",".join([f"H{i + 1}", *cells]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "how", [{}, {"blank": "NA"}, {"names": "", "first": 1}, {"names": "t_", "first": 0}, {"names": "x"}]
)
def test_rows_are_filled_along_themselves_up_to_their_end(put, tmp_path, how):
    source = put(table(**how))
    assert read_file(source).columns == ("H1", "H2", "H3", "H4", "H5")
    result = impute_file(
        source,
        tmp_path / "out.csv",
        reading={},
        fit_options=FitOptions(method="linear", budget="fast"),
        fill_options=FillOptions(),
    )
    assert result.n_filled == len(LENGTHS)
    # a straight line through a row is its own count; across rows it would not be
    whole = table(**how, gaps=False)
    assert (tmp_path / "out.csv").read_text() == whole


def test_formulas_in_a_sheet_stay_as_they_are_too(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for i, line in enumerate(table().splitlines()):
        book.active.append([float(c) if i and k and c else c or None for k, c in enumerate(line.split(","))])
    book.active["K3"] = "=1+1"
    book.save(tmp_path / "in.xlsx")
    file = read_file(tmp_path / "in.xlsx")
    assert file.fixed[9, 1] and file.fixed.sum() == 1 + sum(max(LENGTHS) - n for n in LENGTHS)


@pytest.mark.parametrize(
    "text",
    [
        table(lengths=(30, 30, 30, 30, 30)),  # of one length: samples of a spectrum may look so
        table().replace("H2,", "H1,"),  # no name of a series comes twice
        table().replace("V7,", "V07x,"),
        "\n".join(line.partition(",")[2] for line in table().splitlines()) + "\n",  # nothing in front
    ],
)
def test_other_tables_keep_their_columns(put, text):
    assert not read_file(put(text)).columns[0].startswith("H")


def test_the_user_may_say_so(put):
    equal = put(table(lengths=(30, 30, 30)))
    assert read_file(equal, layout="wide").columns == ("H1", "H2", "H3")
    assert len(read_file(put(table()), layout="table").columns) == 30
    with pytest.raises(InputError, match="not named by dates"):
        read_file(put("a,b\n1,2\n3,4\n"), layout="wide")


def test_columns_and_rows_cannot_be_added(put, tmp_path):
    file = read_file(put(table()))
    with pytest.raises(InputError, match="columns cannot be added"):
        file.check(tmp_path / "out.csv", extra=["H1_lo"])
    np.testing.assert_array_equal(np.isnan(file.values).sum(axis=0), [1, 7, 13, 4, 19])
