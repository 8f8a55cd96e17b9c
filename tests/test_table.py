"""Any container in, the same container out."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from t1.data.table import Table, check_columns
from t1.errors import InputError

BIG = 2**60 + 1  # a float64 cannot hold it


def names(x):
    return [f"c{j}" for j in range(x.shape[1])]


def nones(x):
    return [[None if np.isnan(cell) else cell for cell in row] for row in x.tolist()]


CONTAINERS = {
    "array": lambda x: x,
    "array of float32": lambda x: x.astype(np.float32),
    "array of objects": lambda x: np.array(nones(x), dtype=object),
    "Fortran array": np.asfortranarray,
    "masked array": lambda x: np.ma.masked_invalid(x),
    "list": lambda x: nones(x),
    "tuple of lists": lambda x: tuple(nones(x)),
    "pandas": lambda x: pd.DataFrame(x, columns=names(x)),
    "pandas float32": lambda x: pd.DataFrame(x.astype(np.float32), columns=names(x)),
    "pandas mixed": lambda x: pd.DataFrame(x, columns=names(x)).astype({"c0": np.float32}),
    "pandas Float64": lambda x: pd.DataFrame(x, columns=names(x)).astype("Float64"),
    "pandas on arrow": lambda x: pd.DataFrame(x, columns=names(x)).astype("double[pyarrow]"),
    "pandas objects": lambda x: pd.DataFrame(nones(x), columns=names(x), dtype=object),
    "polars": lambda x: pl.DataFrame(x, schema=names(x)),
    "polars nulls": lambda x: pl.DataFrame(x, schema=names(x)).fill_nan(None),
    "pyarrow": lambda x: pa.table(dict(zip(names(x), x.T, strict=True))),
    "pyarrow nulls": lambda x: pl.DataFrame(x, schema=names(x)).fill_nan(None).to_arrow(),
}
NUMBERS = st.floats(-1e9, 1e9, width=32) | st.just(np.nan)


@pytest.mark.parametrize("kind", CONTAINERS)
@given(x=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=NUMBERS))
def test_a_container_comes_back_as_it_was_but_for_the_gaps(kind, x):
    x[0, 0] = 1.5
    native = CONTAINERS[kind](x)
    table = Table.from_any(native)
    np.testing.assert_array_equal(table.values, x)
    np.testing.assert_array_equal(table.observed, ~np.isnan(x))
    assert table.values.flags.c_contiguous

    filled = table.to_native(np.full(x.shape, 0.25))
    assert type(filled) is type(native)
    again = Table.from_any(filled)
    assert again.columns == table.columns
    np.testing.assert_array_equal(again.values, np.where(np.isnan(x), 0.25, x))
    if isinstance(native, np.ndarray):
        assert filled.dtype == native.dtype
    if isinstance(native, pd.DataFrame):
        assert (filled.dtypes == native.dtypes).all()
    if isinstance(native, pl.DataFrame | pa.Table):
        assert filled.schema == native.schema

    np.testing.assert_array_equal(Table.from_any(native).values, x)  # what was given is as it was
    kept = Table.from_any(table.to_native(np.full(x.shape, np.nan)))
    np.testing.assert_array_equal(kept.values, x)  # a NaN fills nothing


def test_values_are_a_copy():
    x = np.ones((3, 2))
    Table.from_any(x).values[:] = 7
    assert (x == 1).all()
    frame = pd.DataFrame(x)
    Table.from_any(frame).values[:] = 7
    assert (frame.to_numpy() == 1).all()


@pytest.mark.parametrize(
    ("native", "column"),
    [
        (pd.DataFrame({"n": pd.array([BIG, None, 3], dtype="Int64")}), lambda out: out["n"].tolist()),
        (
            pd.DataFrame({"n": pd.array([BIG, None, 3], dtype="int64[pyarrow]")}),
            lambda out: out["n"].tolist(),
        ),
        (pl.DataFrame({"n": [BIG, None, 3]}), lambda out: out["n"].to_list()),
        (pl.DataFrame({"n": pl.Series([BIG, None, 3], dtype=pl.Int128)}), lambda out: out["n"].to_list()),
        (pa.table({"n": [BIG, None, 3]}), lambda out: out["n"].to_pylist()),
        (np.ma.array([[BIG], [0], [3]], mask=[[0], [1], [0]]), lambda out: out[:, 0].tolist()),
    ],
    ids=["Int64", "int64[pyarrow]", "polars", "polars Int128", "pyarrow", "masked array"],
)
def test_integers_stay_exact_and_their_fills_are_rounded(native, column):
    filled = Table.from_any(native).to_native(np.full((3, 1), 7.6))
    assert column(filled) == [BIG, 8, 3]
    if isinstance(native, pd.DataFrame):
        assert filled["n"].dtype == native["n"].dtype
    if isinstance(native, pl.DataFrame | pa.Table):
        assert filled.schema == native.schema


def test_untyped_cells_stay_exact_and_take_fractions():
    assert Table.from_any([[BIG, 1], [None, 2]]).to_native(np.full((2, 2), 7.6)) == [[BIG, 1], [7.6, 2]]
    objects = Table.from_any(np.array([[BIG], [None]], dtype=object)).to_native(np.full((2, 1), 7.6))
    assert objects.tolist() == [[BIG], [7.6]]
    frame = pd.DataFrame({"n": pd.Series([BIG, None, Decimal("1.5"), pd.NA], dtype=object)})
    assert Table.from_any(frame).to_native(np.full((4, 1), 7.6))["n"].tolist() == [
        BIG,
        7.6,
        Decimal("1.5"),
        7.6,
    ]


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [
        (pl.UInt8, -3.0, 0),
        (pl.UInt8, 999.0, 255),
        (pl.Int64, 1e30, 2**63 - 1024),
        (pl.Int64, -1e30, -(2**63)),
        (pl.Float32, 1e300, float(np.finfo(np.float32).max)),
    ],
)
def test_a_fill_stays_in_the_range_of_its_column(dtype, fill, expected):
    frame = pl.DataFrame({"n": pl.Series([1, None], dtype=dtype)})
    assert Table.from_any(frame).to_native(np.full((2, 1), fill))["n"].to_list() == [1, expected]


def test_a_mixed_frame_keeps_each_dtype_its_index_and_its_names():
    native = pd.DataFrame(
        {
            "f16": np.array([1, np.nan, 3], dtype=np.float16),
            7: np.array([BIG, 2, 3]),
            ("a", 1): pd.array([1, None, 3], dtype="UInt8"),
            "F32": pd.array([None, 0.1, 3], dtype="Float32"),
            "decimal": pd.array([None, Decimal("1.25"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
            "sparse": pd.arrays.SparseArray([0.1, np.nan, 2.0]),
        },
        index=pd.MultiIndex.from_tuples([("x", 1), ("x", 1), ("y", 2)], names=["place", None]),
    )
    native.attrs["unit"] = "mm"
    table = Table.from_any(native)
    assert table.columns == ("f16", "7", "('a', 1)", "F32", "decimal", "sparse")
    filled = table.to_native(np.full((3, 6), 0.5))
    pd.testing.assert_index_equal(filled.index, native.index)
    pd.testing.assert_index_equal(filled.columns, native.columns)
    assert filled.attrs == {"unit": "mm"}
    pd.testing.assert_frame_equal(filled.iloc[:, :5].isna(), native.iloc[:, :5].isna() & False)
    assert (filled.dtypes.iloc[:5] == native.dtypes.iloc[:5]).all()
    assert filled[7].tolist() == [BIG, 2, 3]
    assert filled["F32"].tolist() == [np.float32(0.5), np.float32(0.1), np.float32(3)]
    assert filled["decimal"].tolist() == [Decimal("0.50"), Decimal("1.25"), Decimal("0.50")]
    assert filled["sparse"].tolist() == [0.1, 0.5, 2.0]


@pytest.mark.parametrize(
    "columns",
    [[3, 1], pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=["m", "n"])],
    ids=["numbers", "levels"],
)
@pytest.mark.parametrize("dtype", ["float64", "Float64"])
def test_pandas_names_of_any_kind_come_back(columns, dtype):
    native = pd.DataFrame([[1.0, np.nan], [np.nan, 2.0]], columns=columns, dtype=dtype)
    filled = Table.from_any(native).to_native(np.zeros((2, 2)))
    pd.testing.assert_frame_equal(filled, native.fillna(0.0))


def test_a_time_index_keeps_its_frequency():
    native = pd.DataFrame(
        {"a": [1.0, np.nan]}, index=pd.date_range("2020-01-01", periods=2, freq="h", tz="UTC")
    )
    filled = Table.from_any(native).to_native(np.zeros((2, 1)))
    pd.testing.assert_index_equal(filled.index, native.index)
    assert filled.index.freq == native.index.freq


def test_polars_nulls_and_nan_are_both_missing():
    table = Table.from_any(pl.DataFrame({"a": [1.0, None, float("nan")]}))
    np.testing.assert_array_equal(table.observed[:, 0], [True, False, False])
    assert table.to_native(np.full((3, 1), 9.0))["a"].to_list() == [1.0, 9.0, 9.0]


@pytest.mark.parametrize("empty", [pl.Null, pl.String, pl.Int32])
def test_a_column_of_nulls_can_be_filled_in_a_frame(empty):
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": pl.Series([None, None], dtype=empty)})
    for native in (frame, frame.to_arrow(), frame.to_pandas()):
        filled = Table.from_any(native).to_native(np.full((2, 2), 4.0))
        assert type(filled) is type(native)
        assert [float(cell) for cell in filled["b"].to_numpy()] == [4.0, 4.0]


def test_a_table_keeps_its_arrow_metadata():
    native = pa.table({"a": pa.array([1.0, None])}).replace_schema_metadata({"source": "pump"})
    assert Table.from_any(native).to_native(np.zeros((2, 1))).schema.metadata == {b"source": b"pump"}


def test_fills_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"shape \(2, 1\), the table has \(2, 2\)"):
        Table.from_any(np.ones((2, 2))).to_native(np.ones((2, 1)))


def test_a_real_file_comes_back_unchanged(data_dir):
    native = pd.read_csv(data_dir / "ETT-small" / "ETTh1.csv", index_col="date")
    table = Table.from_any(native)
    assert table.values.shape == (17420, 7)
    assert table.columns == ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
    pd.testing.assert_frame_equal(table.to_native(np.zeros((17420, 7))), native)
    with pytest.raises(InputError, match=r"column 'date' holds text, '2016-07-01 00:00:00' in row 0"):
        Table.from_any(native.reset_index())


DAYS = pd.date_range("2020-01-01", periods=3)
NUMBER = {"a": [1.0, 2.0, 3.0]}
REFUSED = {
    "text": (
        pd.DataFrame(NUMBER | {"b": ["1", None, "n/a"]}),
        "column 'b' holds text, 'n/a' in row 2",
        "Leave",
    ),
    "text in polars": (pl.DataFrame(NUMBER | {"b": ["x", "y", "z"]}), "column 'b' holds text, 'x'", "Leave"),
    "text in pyarrow": (pa.table(NUMBER | {"b": ["x", "y", "z"]}), "column 'b' holds text, 'x'", "Leave"),
    "text in a list": ([[1, 2], [3, "?"]], "column 'x1' holds text, '?' in row 1", "turn it into numbers"),
    "two text columns": (
        pd.DataFrame(NUMBER | {"b": ["x"] * 3, "c": ["y"] * 3}),
        "column 'b'",
        "Also not numeric: 'c'.",
    ),
    "numbers as text": (
        pl.DataFrame(NUMBER | {"b": ["1", "2", "3"]}),
        "'b' holds text, '1' in row 0",
        "Leave",
    ),
    "categories": (pd.DataFrame(NUMBER | {"b": pd.Categorical([4, 5, 4])}), "'b' holds text, '4'", "Leave"),
    "bools": (pd.DataFrame(NUMBER | {"b": [True, False, True]}), "'b' holds true/false values", "0 and 1"),
    "nullable bools": (pl.DataFrame(NUMBER | {"b": [None, False, True]}), "'False' in row 1", "0 and 1"),
    "object bools": (
        [[1.0, None], [2.0, True]],
        "column 'x1' holds true/false values, 'True' in row 1",
        "0 and 1",
    ),
    "bool array": (np.ones((2, 2), dtype=bool), "no column is numeric: column 'x0'", "0 and 1"),
    "dates": (pd.DataFrame(NUMBER | {"t": DAYS}), "column 't' holds dates or times, '2020-01-01", "index"),
    "dates in polars": (pl.DataFrame(NUMBER | {"t": [dt.date(2020, 1, 1)] * 3}), "'t' holds dates", "index"),
    "no date at all": (pd.DataFrame(NUMBER | {"t": [pd.NaT] * 3}), "'t' holds dates or times.", "index"),
    "durations": (np.ones((2, 2), dtype="m8[s]"), "'x0' holds dates or times, '1 seconds'", "index"),
    "periods": (pd.DataFrame(NUMBER | {"t": DAYS.to_period()}), "'t' holds dates or times", "index"),
    "complex": (
        np.ones((2, 2), dtype=complex),
        "column 'x0' holds complex numbers",
        "real and the imaginary",
    ),
    "one complex": (
        pd.DataFrame(NUMBER | {"z": [1j, 2, 3]}),
        "'z' holds complex numbers, '1j' in row 0",
        "real",
    ),
    "lists": (pl.DataFrame(NUMBER | {"b": [[1], [2], [3]]}), "column 'b' holds ndarray objects", "Leave"),
    "infinity": (
        pd.DataFrame(NUMBER | {"b": [1, np.inf, -np.inf]}),
        "'b' holds an infinite value, inf in row 1",
        "NaN",
    ),
    "infinity in a list": ([[1.0], [float("-inf")]], "'x0' holds an infinite value, -inf in row 1", "NaN"),
    "too large": ([[10**400]], "too large for a 64-bit float", "Divide"),
    "only text": (pl.DataFrame({"b": ["x"]}), "no column is numeric: column 'b' holds text", "Leave"),
    "no rows": (pl.DataFrame({"a": []}, schema={"a": pl.Float64}), "the table has no rows", "Give"),
    "no rows in an array": (np.ones((0, 3)), "the table has no rows", "Give"),
    "no columns": (pd.DataFrame(index=[1, 2]), "the table has no columns", "Give"),
    "nothing": ([], "the table has no", "Give"),
    "all missing": (np.full((3, 2), np.nan), "every value of the table is missing", "Check"),
    "all null": (pl.DataFrame({"a": [None, None]}), "every value of the table is missing", "Check"),
    "twin names": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "2 columns are named 'a'",
        "Give every column",
    ),
    "twin names as text": (pd.DataFrame([[1, 2]], columns=[1, "1"]), "2 columns are named '1'", "Give every"),
    "twin names in pyarrow": (pa.table([[1], [2]], names=["a", "a"]), "'a' 2 times", "Give every column"),
    "one dimension": (np.ones(3), "got 1 with shape (3,)", "reshape(-1, 1)"),
    "three dimensions": (np.ones((2, 3, 4)), "got 3 with shape (2, 3, 4)", "one at a time"),
    "flat list": ([1.0, 2.0], "row 0 is a float", "[[v] for v in series]"),
    "ragged list": ([[1, 2], [3]], "row 1 has 1 values, row 0 has 2", "None where it is missing"),
    "series": (pd.Series([1.0]), "got Series", ".to_frame()"),
    "lazy frame": (pl.LazyFrame({"a": [1]}), "got LazyFrame", ".collect()"),
    "word": ("table.csv", "expected a table, got str", "Give a 2-D numpy array"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_of_numbers_is_refused_with_place_and_cure(case):
    X, fault, cure = REFUSED[case]
    with pytest.raises(InputError) as error:
        Table.from_any(X)
    head, _, tail = str(error.value).partition("\n")
    assert fault in str(error.value)
    assert cure in tail, "the cure is on the next line"
    assert head


def test_the_columns_of_the_fit_are_asked_for():
    check_columns(("a", "b"), ("a", "b"))
    with pytest.raises(InputError) as error:
        check_columns(("a", "b", "d"), ("c", "d"))
    assert str(error.value) == (
        "fitted on 3 columns ('a', 'b', 'd'), got 2: missing 'a', 'b'; unexpected 'c'.\n"
        "Give the columns of the fit, in the order of the fit."
    )
    with pytest.raises(InputError, match=r"got 2: the same names in another order \('b', 'a'\)"):
        check_columns(("a", "b"), ("b", "a"))
    with pytest.raises(InputError, match=r"fitted on 20 .*'x7' and 12 more\), got 19: missing 'x19'\."):
        check_columns([f"x{j}" for j in range(20)], [f"x{j}" for j in range(19)])
