"""Lines of text in, lines of text out: CSV with a line of names, or JSON objects (NDJSON)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from t1.errors import InputError
from t1.live.row import LiveRow

MISSING = frozenset(["", "na", "n/a", "nan", "null", "none", "-"])


class Arrived(NamedTuple):
    """A row of the stream: what `LiveFill.push` takes."""

    values: dict[str, float | None]
    time: Any
    id: Any


@dataclass
class Lines:
    """Reads rows from lines of text and writes filled rows as lines of the same kind."""

    columns: tuple[str, ...]
    time: str | None = None  # the name of the column, or key, of the time
    id: str | None = None
    time_format: str | None = None
    separator: str = ","
    kind: str | None = None  # csv or ndjson; None: found from the first line
    names: list[str] = field(default_factory=list)  # of a CSV stream

    def read(self, text: str) -> Arrived | None:
        """The row of a line; None for an empty line and for the line of names."""
        text = text.strip("\r\n\ufeff")
        if not text.strip():
            return None
        if self.kind is None:
            self.kind = "ndjson" if text.lstrip().startswith("{") else "csv"
        if self.kind == "ndjson":
            return self._object(text)
        cells = next(csv.reader([text], delimiter=self.separator))
        if not self.names:
            self._check(cells)
            self.names = [name.strip() for name in cells]
            return None
        if len(cells) != len(self.names):
            raise ValueError(f"{len(cells)} cells, the stream has {len(self.names)} columns")
        return self._row(dict(zip(self.names, cells, strict=True)))

    def _object(self, text: str) -> Arrived:
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ValueError(f"no JSON: {error}") from None
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        if not self.names:
            self._check(list(found), some=True)
            self.names = [*self.columns]
        return self._row(found)

    def _check(self, names: Sequence[str], some: bool = False) -> None:
        """The stream has the columns of the model; of an object, which may leave out what is missing, some."""
        names = [name.strip() for name in names]
        absent = [name for name in self.columns if name not in names]
        fault = f"the stream has no column {absent[0]!r}" if absent else ""
        if some:
            fault = "the stream has none of the model's columns" if len(absent) == len(self.columns) else ""
        if not fault and self.time is not None and self.time not in names:
            fault = f"the stream has no time column {self.time!r}"
        if not fault and self.id is not None and self.id not in names:
            fault = f"the stream has no id column {self.id!r}"
        if fault:
            raise InputError(
                f"{fault}; it has: {', '.join(names[:10])}",
                cure=f"The model was fitted to: {', '.join(self.columns[:10])}.",
            )

    def _row(self, cells: dict[str, Any]) -> Arrived:
        values = {name: _number(name, cells.get(name)) for name in self.columns}
        time = None if self.time is None else self._time(cells.get(self.time))
        return Arrived(values, time, None if self.id is None else cells.get(self.id))

    def _time(self, given: Any) -> Any:
        if given is None or given == "":
            raise ValueError(f"no time in {self.time!r}")
        return given if self.time_format is None else datetime.strptime(str(given), self.time_format)

    # ------------------------------------------------------------ writing

    def head(self) -> Iterator[str]:
        """The line of names of a CSV stream."""
        if self.kind == "csv":
            bands = [f"{name}_{end}" for name in self.columns for end in ("lo", "hi")]
            yield self._csv(["time", *(["id"] if self.id else []), "status", *self.columns, *bands])

    def write(self, row: LiveRow) -> str:
        """A filled row as a line."""
        time = row.time if isinstance(row.time, int) else _iso(row.time)
        if self.kind == "csv":
            bands = [band for pair in zip(row.lo, row.hi, strict=True) for band in pair]
            cells = ["" if math.isnan(x) else repr(float(x)) for x in (*row.values, *bands)]
            return self._csv([str(time), *([str(row.id)] if self.id else []), row.status, *cells])
        filled = {
            name: {"lo": _plain(row.lo[j]), "hi": _plain(row.hi[j])}
            for j, name in enumerate(self.columns)
            if not row.observed[j]
        }
        values = {name: _plain(x) for name, x in zip(self.columns, row.values, strict=True)}
        said = {"time": time, **({"id": row.id} if self.id else {}), "status": row.status}
        return json.dumps({**said, "values": values, "filled": filled}, allow_nan=False)

    def _csv(self, cells: Sequence[str]) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=self.separator, lineterminator="").writerow(cells)
        return out.getvalue()


def _number(name: str, cell: Any) -> float | None:
    """A cell as a number, None where it is missing."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"{cell!r} in column {name!r} is no number") from None
    if math.isinf(number):
        raise ValueError(f"{cell!r} in column {name!r} is infinite")
    return None if math.isnan(number) else number


def _plain(x: Any) -> float | None:
    return None if math.isnan(x) else float(x)


def _iso(time: np.datetime64) -> str:
    text = str(time.astype("M8[ns]"))
    return text.rstrip("0").rstrip(".") if "." in text else text
