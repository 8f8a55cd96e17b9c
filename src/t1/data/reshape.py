"""Tables on their side: long ones (station, date, variable, value) and wide ones with a column per date.

Both are turned into one row per time stamp for filling, and every fill goes back to the cell it came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pandas as pd

from t1.arrays import AnyArray, BoolArray, IntArray
from t1.data.csv.numbers import MOST_DECIMALS, usual_decimals
from t1.data.data_file import DataFile, FileFill
from t1.data.dates import read_dates
from t1.data.ids import VARIABLES, join_ids
from t1.data.numeric_dates import read_numeric_dates
from t1.data.reading import Reading
from t1.data.series_in_rows import SERIES_IN_ROWS, are_numbered, are_series_in_rows, behind_the_end
from t1.data.suspicions import told_empty, told_nothing
from t1.errors import InputError

NAMES = re.compile(r"label|name", re.IGNORECASE)  # of a variable, if the numbers are called values
VALUES = re.compile(
    r"val|values?|value ?num|reading|result|measurement|wert|valeur|valor|numeric[ _]value", re.IGNORECASE
)
FLAGS = re.compile(r"(.*[ _.-])?(qc|qa|flags?|quality|status|qualifier|approval)([ _.-].*)?", re.IGNORECASE)
# what a column of a wide table may be called: 2010, 1/22/20, Jan 2010, Q1 2010
DATED = re.compile(r"\d|[^\W\d_]{3,}\.?[- ]?\d{2}(\d{2})?$|[QM]\d|K?W ?\d")
LEAST_DATES = 5  # columns named by dates: fewer may be anything


@dataclass(frozen=True, eq=False, kw_only=True)
class Reshaped(DataFile):
    """A table on its side; `cells` says where in the file each cell of `values` stands."""

    file: DataFile = field(repr=False)
    cells: IntArray = field(
        repr=False
    )  # (rows, vars), an index into file.values.ravel(), -1 where there is none
    shape: str  # long or wide
    value: int = 0  # which of the file's columns to fill holds the values of a long table

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""
        return self.file.all_columns

    def texts(self, name: str) -> list[str]:
        """The cells of any column of the file as text."""
        return self.file.texts(name)

    def _check_container(self, kind: str) -> None:
        self.file._check_container(kind)

    def check(self, target: Any, *, extra: Sequence[str] = (), new_rows: bool = False) -> None:
        """Refuse at once what `write` could only refuse after the work."""
        if new_rows or (extra and self.shape == "wide"):
            what = "rows" if new_rows else "columns"
            raise InputError(
                f"{what} cannot be added to a {self.shape} table.",
                cure="Turn it into one row per time stamp.",
            )
        self.file.check(target, extra=self._added(extra))

    def _added(self, extra: Sequence[str]) -> list[str]:
        value = self.file.columns[self.value]
        return list(dict.fromkeys(f"{value}_{name.rpartition('_')[2]}" for name in extra))

    def _write(self, stream: IO[bytes], kind: str, fill: FileFill) -> None:
        there = self.cells >= 0
        at = self.cells[there]
        out = np.full(self.file.values.size, np.nan)
        out[at] = fill.values[there]
        write = np.zeros(self.file.values.size, dtype=bool)
        write[at] = fill.missing[there]
        shape = self.file.values.shape
        added: dict[str, AnyArray] = {
            name: np.full(len(self.file.values), np.nan) for name in self._added(list(fill.extra))
        }
        for name in fill.extra:  # temp_lo of the variable temp goes to value_lo, on the rows of temp
            column, _, end = name.rpartition("_")
            k = self.columns.index(column)
            rows = self.cells[:, k][there[:, k]] // shape[1]
            added[f"{self.file.columns[self.value]}_{end}"][rows] = np.asarray(fill.extra[name])[there[:, k]]
        decimals = np.zeros(self.file.values.size, dtype=np.intp)
        decimals[at] = np.broadcast_to(np.array(self.decimals, dtype=np.intp), there.shape)[there]
        turned = FileFill(
            values=out.reshape(shape),
            missing=write.reshape(shape),
            extra=added,
            decimals=decimals.reshape(shape),
        )
        self.file._write(stream, kind, turned)


def reshape(file: DataFile, reading: Reading) -> DataFile:
    """The table turned upright if it lies on its side, or if the user says so; else as it is."""
    if reading.layout == "table":
        return file
    if reading.layout == "wide" or (reading.layout is None and _dates_as_columns(file) is not None):
        return _from_wide(file)
    if reading.layout is None and are_series_in_rows(file):
        return _from_wide(file, numbered=True)
    if reading.layout == "long" or reading.layout is None:
        at = _variable_column(file, asked=reading.layout == "long")
        if at is not None:
            return _from_long(file, at)
    return file


def _dates_as_columns(file: DataFile) -> AnyArray | None:
    """The dates that name the numeric columns of a table without a time column, if nearly all have one."""
    if file.time is not None or len(file.columns) < LEAST_DATES:
        return None
    names = [_bare(name) for name in file.columns if DATED.match(name)]
    if len(names) < max(LEAST_DATES, 0.8 * len(file.columns)):
        return None
    if all(re.fullmatch(r"\d{4}", name) for name in names):
        dates = read_numeric_dates(np.array([float(name) for name in names]), names)
    else:
        dates = read_dates(names)
    times = dates.times
    good = (
        not np.isnat(times).any()
        and len(np.unique(times)) == len(times)
        and dates.format.unit in ("", "year")
    )
    return times if good else None


def _bare(name: str) -> str:
    """The date in a column's name: 2004 of 2004 [YR2004]."""
    return re.sub(r" \[YR\d{4}\]$", "", name)


def _from_wide(file: DataFile, *, numbered: bool = False) -> Reshaped:
    times = None if numbered else _dates_as_columns(file)
    if times is None and not numbered and not are_numbered(file.columns):
        raise InputError(
            "the columns are not named by dates, so the table is not wide.",
            cure="Leave the layout to be found.",
            option="layout",
        )
    at = [k for k, name in enumerate(file.columns) if times is None or DATED.match(name)]
    if times is not None:
        _refuse_texts(file)
    texts = [
        file.texts(name)
        for name in file.all_columns
        if name in file.id_columns or "text" in file.passed_through.get(name, "")
    ]
    labels = [" / ".join(filter(None, parts)) for parts in zip(*texts, strict=True)]
    n_rows, n_columns = file.values.shape
    names = _unique(labels or [f"row {i + 1}" for i in range(n_rows)])
    others = [name for k, name in enumerate(file.columns) if k not in set(at)]
    cells = (np.arange(n_rows)[None, :] * n_columns + np.array(at)[:, None]).astype(np.intp)
    values = file.values[:, at].T.copy()
    of_dates = {told_nothing(file.columns[k]) for k in at}  # a date of which nothing is known is filled
    unseen = [told_nothing(names[i]) for i in np.flatnonzero(np.isnan(values).all(axis=0)).tolist()]
    return Reshaped(
        values=values,
        columns=names,
        decimals=_decimals_by_row(file, at),
        fixed=_fixed(file, cells, behind_the_end(values) if times is None else None),
        time=times,
        time_columns=() if times is None else (f"{file.columns[at[0]]} ... {file.columns[at[-1]]}",),
        ids=None,
        id_columns=(),
        passed_through={**file.passed_through, **dict.fromkeys(others, "is no date")},
        problems=[*(text for text in file.problems if text not in of_dates), *unseen],
        said=(
            SERIES_IN_ROWS
            if times is None
            else "a wide table: a column for each date, filled along the rows",
            *(text for text in file.said if "series of its own" not in text),
        ),
        sentinels=file.sentinels,
        kind=file.kind,
        file=file,
        cells=cells,
        shape="wide",
    )


def _refuse_texts(file: DataFile) -> None:
    """Refuse a wide table in which a date's column holds text: the series would go on without that date."""
    for name, why in file.passed_through.items():
        if why.startswith("holds text") and DATED.match(name):
            raise InputError(
                f"a column for each date, but column {name!r} {why}, where a number was expected.",
                cure="Take the letters out of such cells, or have them filled (missing_values).",
                option="layout",
            )


def _variable_column(file: DataFile, *, asked: bool) -> str | None:
    """The column that says which variable a value is of; None if the table is not long."""
    if _value(file) is None or file.time is None:
        if asked:
            raise InputError(
                "a long table has a time column and one column of values.",
                cure="Name the time (time) and the value (columns), or leave the layout to be found.",
                option="layout",
            )
        return None
    texts = [name for name in file.all_columns if file.passed_through.get(name, "").startswith("holds text")]
    words = (*file.id_columns, *texts)
    found = [name for name in words if VARIABLES.fullmatch(name.strip())]
    if not found and VALUES.fullmatch(file.columns[_value(file) or 0].strip()):
        found = [name for name in words if NAMES.fullmatch(name.strip())]
    if found and len(np.unique(file.time)) * 1.1 < len(file.time):
        return found[0]
    if asked:
        raise InputError(
            "no column says which variable a value is of.",
            cure="Name it variable, or name what tells the series apart (id).",
            option="layout",
        )
    return None


def _value(file: DataFile) -> int | None:
    """Which of the columns to fill holds the values of a long table: the only one that is no flag.

    Or the only one that is called so, if nothing beside it can be filled: numbers of patients, empty columns.
    """
    found = [k for k, name in enumerate(file.columns) if not FLAGS.fullmatch(name.strip())]
    missing = np.isnan(file.values)
    seen = [k for k in found if not missing[:, k].all()]
    called = [k for k in seen if VALUES.fullmatch(file.columns[k].strip(" _"))]
    if len(found) > 1 and len(called) == 1 and not missing[:, [k for k in seen if k not in called]].any():
        found = called
    return found[0] if len(found) == 1 else None


def _from_long(file: DataFile, at: str) -> DataFile:
    k = _value(file)
    assert file.time is not None and k is not None
    variable = np.array(file.texts(at), dtype=object)
    others = [name for name in file.id_columns if name != at]
    keys = [np.array(file.texts(name), dtype=object) for name in others]
    names, codes = np.unique(variable.astype(str), return_inverse=True)
    frame = pd.DataFrame({"time": file.time, **{f"k{n}": key for n, key in enumerate(keys)}})
    row = frame.groupby([*(f"k{n}" for n in range(len(keys))), "time"], sort=False).ngroup().to_numpy()
    if len(np.unique(row * len(names) + codes)) < len(row):
        raise InputError(
            f"several rows have the same time and the same {at!r}: what tells them apart?",
            cure="Name what tells the series apart (id).",
            option="id",
        )
    cells = np.full((int(row.max()) + 1, len(names)), -1, dtype=np.intp)
    cells[row, codes] = np.arange(len(row)) * len(file.columns) + k
    values = np.where(cells >= 0, file.values.ravel()[np.maximum(cells, 0)], np.nan)
    first = np.unique(row, return_index=True)[1]
    ids = join_ids(keys)[first] if keys else None
    name = file.columns[k]
    flags = {flag: f"stands beside {name!r}" for flag in file.columns if flag != name}
    empty = {
        flag: int(np.isnan(file.values[:, n]).sum()) for n, flag in enumerate(file.columns) if flag != name
    }
    return Reshaped(
        values=values,
        columns=tuple(map(str, names)),
        decimals=_decimals_by_variable(file, k, codes, len(names)),
        fixed=_fixed(file, cells),
        time=file.time[first],
        time_columns=file.time_columns,
        time_format=file.time_format,
        ids=ids,
        id_columns=tuple(others),
        passed_through={**{name: why for name, why in file.passed_through.items() if name != at}, **flags},
        problems=[
            *file.problems,
            *(told_empty(flag, f"what stands beside {name!r}", n) for flag, n in empty.items() if n),
        ],
        said=(
            f"a long table: {at!r} says what each {name!r} is of; filled side by side",
            *(text for text in file.said if "series of its own" not in text),
        ),
        sentinels=file.sentinels,
        kind=file.kind,
        file=file,
        cells=cells,
        shape="long",
        value=k,
    )


def _decimals_by_row(file: DataFile, at: Sequence[int]) -> tuple[int, ...]:
    """The usual decimals of each row of a wide table: a column of which nothing is known has none of its own."""
    n = len(file.values)
    histogram = np.zeros((n, MOST_DECIMALS + 2), dtype=np.int64)
    for k in at:
        seen = np.flatnonzero(~np.isnan(file.values[:, k]))
        np.add.at(histogram, (seen, np.minimum(file.places(k)[seen], MOST_DECIMALS + 1)), 1)
    return tuple(usual_decimals(histogram).tolist())


def _decimals_by_variable(file: DataFile, k: int, codes: IntArray, n: int) -> tuple[int, ...]:
    """The usual decimals of each variable (0 to n - 1), which `codes` (rows,) name."""
    places = np.minimum(file.places(k), MOST_DECIMALS + 1)
    seen = ~np.isnan(file.values[:, k])
    slots = codes[seen] * (MOST_DECIMALS + 2) + places[seen]
    histogram = np.bincount(slots, minlength=n * (MOST_DECIMALS + 2)).reshape(n, MOST_DECIMALS + 2)
    own = usual_decimals(histogram)
    return tuple(np.where(histogram.any(axis=1), own, file.decimals[k]).tolist())


def _fixed(file: DataFile, cells: IntArray, more: BoolArray | None = None) -> BoolArray | None:
    """The cells of the upright table that are never written, and `more`."""
    if file.fixed is None:
        return more
    fixed: BoolArray = (cells >= 0) & file.fixed.ravel()[np.maximum(cells, 0)]
    return fixed if more is None else fixed | more


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(out)
