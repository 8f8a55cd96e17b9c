"""A table of numbers with gaps: any container in, the same container out, observed cells untouched."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from numbers import Complex, Integral, Real
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.arrays import AnyArray, BoolArray, FloatArray
from t1.data.fit import fit, fit_decimals
from t1.errors import InputError

DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers (time, vars) with NaN where missing, and the container they came in."""

    values: FloatArray
    columns: tuple[str, ...]
    native: Any = field(repr=False)

    @cached_property
    def observed(self) -> BoolArray:
        """True where a value was given (time, vars)."""
        return ~np.isnan(self.values)

    @classmethod
    def from_any(cls, X: Any) -> Table:
        """Read a 2-D array, a list of rows, or a pandas, polars or pyarrow table of numbers."""
        if hasattr(X, "toarray"):
            raise InputError(
                "sparse data is not supported.\nGive X.toarray(), with NaN where a value is missing."
            )
        if hasattr(X, "__array__") and not (
            isinstance(X, np.ndarray) or _is_frame(X) or nw.dependencies.is_into_series(X)
        ):
            X = np.asarray(X)
        if isinstance(X, np.ndarray):
            columns, cells = _read_array(X)
        elif isinstance(X, list | tuple):
            columns, cells = _read_array(_array_from_rows(X))
        else:
            columns, cells = _read_frame(X)
        table = cls(values=_to_numbers(columns, cells), columns=columns, native=X)
        _check_finite(table)
        if not table.observed.any():
            raise InputError(
                "every value of the table is missing, so nothing can be learned from it.\n"
                "Check how the file was read: the missing-value code or the decimal sign may be wrong."
            )
        return table

    def to_native(self, filled: FloatArray) -> Any:
        """Give the container back with `filled` (time, vars) in its missing cells only.

        An integer column keeps its dtype: its fills are rounded. A NaN in `filled` leaves the cell missing.
        """
        filled = np.asarray(filled, dtype=np.float64)
        if filled.shape != self.values.shape:
            raise InputError(
                f"the filled values have shape {filled.shape}, the table has {self.values.shape}.\n"
                "Give one value for every cell of the table."
            )
        write = ~self.observed & ~np.isnan(filled)
        filled = np.where(self.observed, self.values, filled)
        if isinstance(self.native, np.ndarray):
            out = self.native.copy()
            out[write] = fit(filled[write], out.dtype)
            return out
        if isinstance(self.native, list | tuple):
            return _write_rows(self.native, write, filled)
        if isinstance(self.native, pd.DataFrame):
            return _write_pandas(self.native, write, filled)
        return _write_frame(self.native, write, filled)


def check_columns(expected: Sequence[str], got: Sequence[str]) -> None:
    """Refuse a table whose columns are not those of the fit, in the same order."""
    if tuple(expected) == tuple(got):
        return
    missing = [name for name in expected if name not in set(got)]
    unexpected = [name for name in got if name not in set(expected)]
    faults = [f"missing {_names(missing)}"] if missing else []
    faults += [f"unexpected {_names(unexpected)}"] if unexpected else []
    raise InputError(
        f"fitted on {len(expected)} columns ({_names(expected)}), got {len(got)}: "
        f"{'; '.join(faults) or f'the same names in another order ({_names(got)})'}.\n"
        "Give the columns of the fit, in the order of the fit."
    )


def _names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# Reading: every container becomes its column names and either one float array (time, vars) or its columns.

Cells = FloatArray | Iterator[AnyArray]


def _read_array(X: AnyArray) -> tuple[tuple[str, ...], Cells]:
    if X.ndim != 2:
        raise InputError(
            f"expected a table of 2 dimensions (time, columns), got {X.ndim} with shape {X.shape}.\n"
            "Reshape your data: x.reshape(-1, 1) for a single series; give several tables one at a time."
        )
    columns = tuple(f"x{j}" for j in range(X.shape[1]))
    _check_size(X.shape[0], columns)
    numeric = X.dtype.kind in "iuf"
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64 if numeric else object), np.nan)
    if numeric:
        with np.errstate(over="ignore"):  # a long double past float64 is reported as infinite
            return columns, np.array(X, dtype=np.float64, order="C")
    return columns, iter(X.T)


def _array_from_rows(rows: Sequence[Any]) -> AnyArray:
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            raise InputError(
                f"expected a list of rows, each a list of numbers, but row {i} is a {type(row).__name__}.\n"
                "Wrap a single series as [[v] for v in series], or stack arrays with np.stack."
            )
        if len(row) != len(rows[0]):
            raise InputError(
                f"row {i} has {len(row)} values, row 0 has {len(rows[0])}.\n"
                "Give every row one value per column, None where it is missing."
            )
    array = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _read_frame(X: Any) -> tuple[tuple[str, ...], Cells]:
    frame = _narwhals(X)
    columns = tuple(str(name) for name in (X.columns if isinstance(X, pd.DataFrame) else frame.columns))
    _check_size(len(frame), columns)
    name, times = Counter(columns).most_common(1)[0]
    if times > 1:
        raise InputError(f"{times} columns are named {name!r}.\nGive every column a name of its own.")
    if isinstance(X, pd.DataFrame) and all(
        isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in X.dtypes.unique()
    ):
        return columns, np.array(
            X.to_numpy(dtype=np.float64), order="C"
        )  # at once: wide tables have many columns
    return columns, (_cells(series) for series in frame.iter_columns())


def _is_frame(X: Any) -> bool:
    return nw.dependencies.is_into_dataframe(X) or hasattr(X, "__dataframe__")


def _narwhals(X: Any) -> nw.DataFrame[Any]:
    if isinstance(X, pd.DataFrame):  # by position: pandas names may be numbers, tuples, or repeat themselves
        X = X.set_axis([str(j) for j in range(X.shape[1])], axis=1)
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError:
        raise InputError(
            f"expected a table, got {type(X).__name__}.\n"
            "Give a 2-D numpy array, a list of rows, or a pandas, polars or pyarrow table: "
            "a single series with .to_frame(), a lazy frame after .collect()."
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"{error}.\nGive every column a name of its own.") from None


def _cells(series: nw.Series[Any]) -> AnyArray:
    if series.dtype in (nw.Categorical, nw.Enum):  # the codes of a category are no measurements
        series = series.cast(nw.String)
    if series.dtype in (nw.Int128, nw.UInt128):  # unknown to numpy
        series = series.cast(nw.Float64)
    return series.to_numpy()


def _check_size(n_rows: int, columns: tuple[str, ...]) -> None:
    shape = (n_rows, len(columns))
    for count, what, unit in ((shape[1], "columns", "feature"), (n_rows, "rows", "sample")):
        if count == 0:
            raise InputError(
                f"the table has no {what}: 0 {unit}(s) (shape={shape}) while a minimum of 1 is required.\n"
                "Give at least one column and one row."
            )


def _to_numbers(columns: tuple[str, ...], cells: Cells) -> FloatArray:
    if isinstance(cells, np.ndarray):
        return cells
    numbers: list[FloatArray] = []
    refused: dict[str, InputError] = {}
    for name, column in zip(columns, cells, strict=True):
        try:
            numbers.append(_column_to_numbers(name, column))
        except InputError as error:
            refused[name] = error
    if refused:
        first, *others = refused
        start = "no column is numeric: " if not numbers else ""
        more = f"\nAlso not numeric: {_names(others)}." if others else ""
        raise InputError(f"{start}{refused[first]}{more}")
    return np.ascontiguousarray(np.stack(numbers).T)


def _column_to_numbers(name: str, cells: AnyArray) -> FloatArray:
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    given = ~np.asarray(pd.isna(cells))
    strange = {kind for kind in set(map(type, cells[given])) if not _is_number(kind)}
    if strange or cells.dtype.kind in "Mm":
        _refuse(name, cells, np.array([type(cell) in strange for cell in cells], dtype=bool) & given)
    numbers = np.full(len(cells), np.nan)
    try:
        numbers[given] = cells[given].astype(np.float64)
    except OverflowError:
        raise InputError(
            f"column {name!r} holds a number too large for a 64-bit float.\n"
            "Divide the column by a power of ten."
        ) from None
    return numbers


def holds_numbers(cells: AnyArray) -> bool:
    """Whether cells of any type are numbers or missing, and not all are missing."""
    given = cells[~np.asarray(pd.isna(cells))]
    return len(given) > 0 and all(_is_number(kind) for kind in set(map(type, given)))


def _is_number(kind: type) -> bool:
    return issubclass(kind, Real | Decimal) and not issubclass(kind, bool | np.timedelta64)


def _refuse(name: str, cells: AnyArray, strange: BoolArray) -> NoReturn:
    """Name the first strange cell, or rather the first that cannot even be read as a number."""
    rows = np.flatnonzero(strange)
    row = next((i for i in rows if not _parses(cells[i])), rows[0] if len(rows) else None)
    cell = cells[row] if row is not None else None
    where = f", {str(cell)[:60]!r} in row {row} (the first row is 0)" if row is not None else ""
    if isinstance(cell, DATE_TYPES) or cells.dtype.kind in "Mm":
        what, cure = "dates or times", "Make it the index of the table, or drop it."
    elif isinstance(cell, bool | np.bool_):
        what, cure = "true/false values", "Leave the column out, or turn it into the numbers 0 and 1."
    elif isinstance(cell, Complex):
        what, cure = (
            "complex numbers",
            "Complex data not supported: give the real and the imaginary part apart.",
        )
    elif isinstance(cell, str):
        what, cure = "text", "Leave the column out, or turn it into numbers (NaN where there is none)."
    else:
        what = f"{type(cell).__name__} objects"
        cure = "Leave the column out, or turn it into numbers."
    raise InputError(f"column {name!r} holds {what}{where}.\n{cure}")


def _parses(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def _check_finite(table: Table) -> None:
    infinite = np.isinf(table.values)
    if infinite.any():
        column = int(infinite.any(axis=0).argmax())
        row = int(infinite[:, column].argmax())
        value = table.values[row, column]
        raise InputError(
            f"column {table.columns[column]!r} holds an infinite value, {value} in row {row} "
            "(the first row is 0).\nReplace infinite values by NaN to have them filled."
        )


# Writing: only the cells of `write` (time, vars) change, and each column keeps its dtype.


def _write_rows(rows: Any, write: BoolArray, filled: FloatArray) -> Any:
    out = [list(row) for row in rows]
    for i, j in np.argwhere(write).tolist():
        out[i][j] = float(filled[i, j])
    return type(rows)(type(row)(cells) for row, cells in zip(rows, out, strict=True))


def _write_pandas(native: pd.DataFrame, write: BoolArray, filled: FloatArray) -> pd.DataFrame:
    kinds = native.dtypes.unique()
    if len(kinds) == 1 and isinstance(kinds[0], np.dtype) and kinds[0].kind == "f":
        block = native.to_numpy(copy=True)  # at once: wide tables have many columns
        block[write] = filled[write]
        return _dress_like(native, pd.DataFrame(block, index=native.index))
    arrays: dict[int, Any] = {}
    for j, dtype in enumerate(native.dtypes):
        arrays[j] = native.iloc[:, j].array
        rows = write[:, j]
        if not rows.any():
            continue
        if isinstance(dtype, pd.SparseDtype) or not (
            pd.api.types.is_object_dtype(dtype) or pd.api.types.is_any_real_numeric_dtype(dtype)
        ):
            arrays[j] = filled[:, j]  # a sparse column, or a text column with every cell missing
            continue
        arrays[j] = arrays[j].copy()
        if pd.api.types.is_object_dtype(dtype):
            arrays[j][rows] = _objects_like(native.iloc[:, j].to_numpy(), filled[rows, j])
        else:
            arrays[j][rows] = fit(filled[rows, j], getattr(dtype, "numpy_dtype", dtype))
    return _dress_like(native, pd.DataFrame(arrays, index=native.index))


def _objects_like(cells: AnyArray, fills: FloatArray) -> AnyArray:
    """Fills of a column of objects: decimals among decimals, whole numbers among whole numbers, else floats."""
    kinds = {type(cell) for cell in cells[~np.asarray(pd.isna(cells))]}
    out = np.empty(len(fills), dtype=object)
    if kinds and all(issubclass(kind, Decimal) for kind in kinds):
        places = [
            -int(cell.as_tuple().exponent) for cell in cells if isinstance(cell, Decimal) and cell.is_finite()
        ]
        out[:] = fit_decimals(fills, max([0, *places]))
    elif kinds and all(issubclass(kind, Integral) for kind in kinds):
        out[:] = [round(fill) for fill in fills.tolist()]
    else:
        out[:] = fills.tolist()
    return out


def _dress_like(native: pd.DataFrame, out: pd.DataFrame) -> pd.DataFrame:
    out.columns = native.columns
    out.attrs.update(native.attrs)
    return out


def _write_frame(native: Any, write: BoolArray, filled: FloatArray) -> Any:
    frame = _narwhals(native)
    changed = [
        _write_series(series, np.flatnonzero(rows), column)
        for series, rows, column in zip(frame.iter_columns(), write.T, filled.T, strict=True)
        if rows.any()
    ]
    return frame.with_columns(*changed).to_native()


def _write_series(series: nw.Series[Any], rows: npt.NDArray[np.intp], filled: FloatArray) -> nw.Series[Any]:
    dtype, backend = series.dtype, series.implementation
    fill: Any = filled[rows]
    if isinstance(dtype, nw.Decimal):
        fill = fit_decimals(fill, dtype.scale)
    elif dtype.is_numeric():
        fill = fit(fill, np.dtype(str(dtype).lower().replace("128", "64")))
    else:  # a column of nulls only
        return nw.new_series(series.name, filled, nw.Float64, backend=backend)
    return series.scatter(rows, nw.new_series(series.name, fill, dtype, backend=backend))
