"""What every kind of data file has in common: its numbers, what is left alone, and how it is written."""

from __future__ import annotations

import difflib
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.atomic import open_target
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
class DataFile(ABC):
    """A file of numbers with gaps; `write` gives the same file back with the gaps filled."""

    values: FloatArray = field(repr=False)  # (rows, vars), NaN where missing
    columns: tuple[str, ...]
    decimals: tuple[int, ...]  # the usual number of decimals of each column
    time: TimeArray | None = field(repr=False)  # (rows,)
    time_column: str | None
    ids: AnyArray | None = field(repr=False)  # (rows,) of str
    id_column: str | None
    passed_through: dict[str, str]  # the columns that are left alone, and why
    problems: list[str]

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
                f"the filled values have shape {filled.shape}, the file has {self.values.shape}.\n"
                "Give one value for every cell of the file's numeric columns."
            )
        extra = extra or {}
        self._check_extra(extra, new_rows)
        with open_target(target) as stream:
            missing = np.isnan(self.values) if observed is None else ~observed
            missing &= np.isfinite(filled)
            self._write(stream, _suffixes(target), filled, missing, extra, new_rows)

    @abstractmethod
    def _write(
        self,
        stream: IO[bytes],
        suffixes: str,
        filled: FloatArray,
        missing: BoolArray,
        extra: Mapping[str, AnyArray],
        new_rows: NewRows | None,
    ) -> None:
        """Write `filled` where `missing` is True, both (rows, vars)."""

    @property
    @abstractmethod
    def all_columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, in its order."""

    def _check_extra(self, extra: Mapping[str, AnyArray], new_rows: NewRows | None) -> None:
        for name, cells in extra.items():
            if name in self.all_columns:
                raise InputError(
                    f"the file has a column {name!r} already, so none of that name can be added.\n"
                    "Rename the column in the file."
                )
            if cells.shape != (len(self.values),):
                raise InputError(
                    f"the new column {name!r} has shape {cells.shape}, not {(len(self.values),)}."
                )
        if new_rows is None or not len(new_rows.times):
            return
        if self.time is None:
            raise InputError("rows can only be added to a file with a time column.\nName it with --time COL.")
        if new_rows.values.shape != (len(new_rows.times), len(self.columns)):
            raise InputError(
                f"the new rows have shape {new_rows.values.shape}, "
                f"not {(len(new_rows.times), len(self.columns))}."
            )
        if (new_rows.ids is None) != (self.ids is None):
            raise InputError("new rows need an id exactly when the file has one.")

    def decimals_for(self, name: str) -> int | None:
        """The decimals of an added column: those of the column it is named after (`temp_lo`: `temp`)."""
        near = [j for j, column in enumerate(self.columns) if name.startswith(f"{column}_")]
        return self.decimals[max(near, key=lambda j: len(self.columns[j]))] if near else None


@dataclass(frozen=True)
class Choice:
    """Which columns play which part, by position."""

    time: int | None
    id: int | None
    wanted: frozenset[int]  # to be filled if they hold numbers
    named: bool  # the user named them, so that one without numbers is an error


def choose(
    names: Sequence[str],
    *,
    time: str | None,
    id: str | None,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
) -> Choice:
    """Turn the names that the user gave into positions."""
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"{times} columns are named {name!r}.\n"
            "Give every column a name of its own; the first line of the file must hold the names."
        )
    at = {name: j for j, name in enumerate(names)}

    def find(wanted: str, option: str) -> int:
        if wanted in at:
            return at[wanted]
        some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
        hint = did_you_mean(wanted, names, f"The file has {some}.")
        raise InputError(f"{option} {wanted!r}: the file has no such column.\n{hint}")

    time_at = None if time is None else find(time, "--time")
    id_at = None if id is None else find(id, "--id")
    if time_at is not None and time_at == id_at:
        raise InputError(f"--time and --id both name {time!r}.\nName two different columns.")
    wanted = set(range(len(names))) if columns is None else {find(name, "--columns") for name in columns}
    wanted -= {find(name, "--exclude") for name in exclude}
    for part, option in ((time_at, "--time"), (id_at, "--id")):
        if columns is not None and part in wanted:
            raise InputError(
                f"column {names[part]!r} is named by {option} and by --columns.\n"
                "It says when or what a row is, and is never filled: take it out of --columns."
            )
    return Choice(time_at, id_at, frozenset(wanted - {time_at, id_at}), columns is not None)


def read_bytes(source: str | Path) -> bytes:
    """All bytes of a file, or of the standard input for "-"."""
    if str(source) == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError(
                f"{str(path)!r} is a folder.\nGive a .csv, .csv.gz, .tsv, .txt or .parquet file."
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}.\n{_like(path)}") from None
    except PermissionError:
        raise InputError(f"no permission to read {str(path)!r}.\nTry: chmod u+r {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}.\nCheck the path.") from None


def _like(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return f"The folder {str(path.parent)!r} cannot be read either: check the path."
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    if near:
        return "Did you mean " + " or ".join(repr(str(path.with_name(name))) for name in near) + "?"
    return "Check the path."


def _suffixes(target: str | Path) -> str:
    return "".join(Path(target).suffixes[-2:]).lower()
