"""What every kind of data file has in common: its numbers, what is left alone, and how it is written."""

from __future__ import annotations

import difflib
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray, TimeArray
from t1.data.atomic import check_target, open_target
from t1.data.kinds import Kind, find_kinds
from t1.data.reading import Reading
from t1.data.sentinels import Sentinel
from t1.data.time_format import TimeFormat
from t1.data.understood import understood
from t1.errors import InputError
from t1.registry import did_you_mean


@dataclass(frozen=True, eq=False, kw_only=True)
class NewRows:
    """Rows that the file lacks: when, for which series, and what they hold."""

    times: TimeArray  # (rows,)
    values: FloatArray  # (rows, vars), NaN where still missing
    ids: AnyArray | None = None  # (rows,)
    extra: Mapping[str, AnyArray] | None = None  # each (rows,)


@dataclass(frozen=True, eq=False, kw_only=True)
class FileFill:
    """What goes into a file: numbers for its missing cells, columns and rows to add."""

    values: FloatArray  # (rows, vars)
    missing: BoolArray  # (rows, vars), the cells that they are written to
    extra: Mapping[str, AnyArray]  # each (rows,)
    new_rows: NewRows | None = None
    decimals: IntArray | None = None  # (rows, vars), of each cell where they are not those of its column


@dataclass(frozen=True, eq=False, kw_only=True)
class DataFile(ABC):
    """A file of numbers with gaps; `write` gives the same file back with the gaps filled."""

    values: FloatArray = field(repr=False)  # (rows, vars), NaN where missing
    columns: tuple[str, ...]
    decimals: tuple[int, ...]  # the usual number of decimals of each column
    time: TimeArray | None = field(repr=False)  # (rows,)
    time_columns: tuple[str, ...]
    time_format: TimeFormat | None = None
    ids: AnyArray | None = field(repr=False)  # (rows,) of str
    id_columns: tuple[str, ...]
    passed_through: dict[str, str]  # the columns that are left alone, and why
    problems: list[str]
    said: tuple[str, ...] = ()  # what the reader found out about the file
    sentinels: tuple[Sentinel, ...] = ()  # values that count as missing without being asked for
    kind: Mapping[str, str] = field(default_factory=dict)  # what the user says a column is
    fixed: BoolArray | None = field(repr=False, default=None)
    # (rows, vars), missing cells that are never written: a formula stands there

    @property
    def time_column(self) -> str | None:
        """The time column, or several in one text; None without one."""
        return " + ".join(self.time_columns) or None

    @property
    def id_column(self) -> str | None:
        """The column that tells series apart, or several in one text; None without one."""
        return " + ".join(self.id_columns) or None

    @property
    def roles(self) -> dict[str, str | list[str] | None]:
        """Which columns say when and what a row is: how a dataframe of the same columns is to be read."""
        both = {"time": self.time_columns, "id": self.id_columns}
        return {
            part: list(names) if len(names) > 1 else next(iter(names), None) for part, names in both.items()
        }

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """What each column is, with the evidence."""
        return find_kinds(self.values, self.columns, ids=self.ids, times=self.time, given=self.kind)

    @cached_property
    def understood(self) -> tuple[str, ...]:
        """How the file was read, in one or two lines."""
        return understood(self)

    def write(
        self,
        target: str | Path,
        filled: FloatArray,
        *,
        observed: BoolArray | None = None,
        extra: Mapping[str, AnyArray] | None = None,
        new_rows: NewRows | None = None,
    ) -> None:
        """Write the file with `filled` (rows, vars) in its missing cells only; all of it or nothing.

        `observed` (rows, vars) are the cells to leave alone, for a caller who has filled `values` themselves;
        `extra` are columns (rows,) to add. A mapping that makes them one at a time saves memory.
        """
        filled = np.asarray(filled, dtype=np.float64)
        if filled.shape != self.values.shape:
            raise InputError(
                f"the filled values have shape {filled.shape}, the file has {self.values.shape}.",
                cure="Give one value for every cell of the file's numeric columns.",
            )
        extra = extra or {}
        new_rows = new_rows if new_rows is not None and len(new_rows.times) else None
        self.check(target, extra=list(extra), new_rows=new_rows is not None)
        self._check_shapes(extra, new_rows)
        with open_target(target) as stream:
            missing = np.isnan(self.values) if observed is None else ~observed
            missing &= np.isfinite(filled)
            if self.fixed is not None:
                missing &= ~self.fixed
            fill = FileFill(values=filled, missing=missing, extra=extra, new_rows=new_rows)
            self._write(stream, container(target), fill)

    def check(self, target: str | Path, *, extra: Sequence[str] = (), new_rows: bool = False) -> None:
        """Refuse at once what `write` could only refuse after the work: to be called before filling."""
        self._check_container(container(target))
        if str(target) != "-":
            check_target(target)
        for name in extra:
            if name in self.all_columns:
                raise InputError(
                    f"the file has a column {name!r} already, so none of that name can be added.",
                    cure="Rename the column in the file.",
                )
        if new_rows and self.time is None:
            raise InputError(
                "rows can only be added to a file with a time column.", cure="Name it.", option="time"
            )

    @abstractmethod
    def _check_container(self, kind: str) -> None:
        """Refuse an output (csv, parquet or excel) that this file cannot be written to."""

    @abstractmethod
    def _write(self, stream: IO[bytes], kind: str, fill: FileFill) -> None:
        """Write the file with its fill as csv, csv.gz, parquet or excel."""

    @property
    @abstractmethod
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""

    @abstractmethod
    def texts(self, name: str) -> list[str]:
        """The cells of any column as text."""

    def places(self, k: int) -> IntArray:
        """How many decimals each cell of one of the `columns` is written with (rows,)."""
        return np.full(len(self.values), self.decimals[k], dtype=np.intp)

    def _check_shapes(self, extra: Mapping[str, AnyArray], new_rows: NewRows | None) -> None:
        for name, cells in extra.items():
            if cells.shape != (len(self.values),):
                raise InputError(
                    f"the new column {name!r} has shape {cells.shape}, not {(len(self.values),)}."
                )
        if new_rows is None:
            return
        if new_rows.values.shape != (len(new_rows.times), len(self.columns)):
            raise InputError(
                f"the new rows have shape {new_rows.values.shape}, "
                f"not {(len(new_rows.times), len(self.columns))}."
            )
        if (new_rows.ids is None) != (self.ids is None):
            raise InputError("new rows need an id exactly when the file has one.")

    def decimals_for(self, name: str) -> int | None:
        """The decimals of an added column: those of the column it is named after (`temp_lo`: `temp`)."""
        end = name.rfind("_")
        while end >= 0 and name[:end] not in self._place:
            end = name.rfind("_", 0, end)
        return self.decimals[self._place[name[:end]]] if end >= 0 else None

    @cached_property
    def _place(self) -> dict[str, int]:
        return {column: j for j, column in enumerate(self.columns)}


def container(target: str | Path) -> str:
    """What kind of file a name asks for: csv, csv.gz, parquet or excel; any other name is a text table."""
    name = str(target).lower()
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    if name.endswith((".xlsx", ".xlsm")):
        return "excel"
    for suffix in (".xls", ".ods", ".json", ".feather", ".arrow", ".h5", ".nc", ".zip", ".html", ".pdf"):
        if name.endswith(suffix):
            raise InputError(
                f"{suffix} files cannot be written.",
                cure="Give the output a name that ends in .csv, .csv.gz or .parquet.",
                option="output",
            )
    return "csv.gz" if name.endswith(".gz") else "csv"


@dataclass(frozen=True)
class Choice:
    """Which columns play which part, by position."""

    time: tuple[int, ...]
    id: tuple[int, ...]
    wanted: frozenset[int]  # to be filled if they hold numbers
    named: bool  # the user named them, so that one without numbers is an error


def choose(names: Sequence[str], reading: Reading) -> Choice:
    """Turn the names that the user gave into positions."""
    at = {name: j for j, name in enumerate(names)}

    def find(wanted: str, option: str) -> int:
        if wanted in at:
            return at[wanted]
        if wanted.isdigit() and 1 <= int(wanted) <= len(names) and not any(n.isdigit() for n in names):
            return int(wanted) - 1  # the third column of a file without names
        some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
        hint = did_you_mean(wanted, names, f"The file has {some}.")
        raise InputError(f"the file has no column {wanted!r}.", cure=hint, option=option)

    time = tuple(find(name, "time") for name in reading.time_names)
    ids = tuple(find(name, "id") for name in reading.id_names)
    if both := set(time) & set(ids):
        raise InputError(
            f"{names[both.pop()]!r} is named both as the time and as what tells series apart.",
            cure="Name two different columns (time, id).",
            option="id",
        )
    columns = reading.columns
    wanted = set(range(len(names))) if columns is None else {find(name, "columns") for name in columns}
    wanted -= {find(name, "exclude") for name in reading.exclude}
    for part in (*time, *ids):
        if columns is not None and part in wanted:
            raise InputError(
                f"column {names[part]!r} says when or what a row is, and is never filled.",
                cure="Take it out of the columns to fill.",
                option="columns",
            )
    return Choice(time, ids, frozenset(wanted - set(time) - set(ids)), columns is not None)


def read_bytes(source: str | Path) -> bytes:
    """All bytes of a file, or of the standard input for "-"."""
    if str(source) == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError(
                f"{str(path)!r} is a folder.",
                cure="Give a .csv, .csv.gz, .tsv, .txt, .xlsx or .parquet file.",
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}.", cure=_like(path)) from None
    except PermissionError:
        raise InputError(f"no permission to read {str(path)!r}.", cure=f"Try: chmod u+r {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}.", cure="Check the path.") from None


def _like(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return f"The folder {str(path.parent)!r} cannot be read either: check the path."
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    if near:
        return "Did you mean " + " or ".join(repr(str(path.with_name(name))) for name in near) + "?"
    return "Check the path."
