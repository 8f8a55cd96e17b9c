"""`t1 look` and `t1.look`: how a table is understood, without filling it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from t1.arrays import FloatArray
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.data.kinds import Kind, find_kinds
from t1.data.suspicions import suspicions

SHADES = " ░▒▓█"  # of a map of gaps: from all there to all missing
WIDTH = 60  # of the map


@dataclass(frozen=True, eq=False, kw_only=True)
class Look:
    """How a table is understood: `print` it."""

    understood: tuple[str, ...]
    columns: tuple[str, ...]
    kinds: Mapping[str, Kind]
    values: FloatArray = field(repr=False)  # (rows, vars), NaN where missing
    left_alone: Mapping[str, str]  # the other columns, and why
    suspicions: tuple[str, ...]
    command: str  # that fills it

    def __str__(self) -> str:
        parts = ["\n".join(self.understood), self._table()]
        if np.isnan(self.values).any():
            parts.append(self.gap_map())
        else:
            parts.append("No value is missing: there is nothing to fill.")
        if self.left_alone:
            parts.append("\n".join(f"left alone: {name!r} {why}" for name, why in self.left_alone.items()))
        if self.suspicions:
            parts.append("\n".join(f"look at: {text}" for text in self.suspicions))
        return "\n\n".join([*parts, self.command])

    def _table(self) -> str:
        rows = [("column", "taken for", "missing", "gaps", "longest", "from", "to", "why")]
        for j, name in enumerate(self.columns):
            column = self.values[:, j]
            lengths = gap_lengths(column)
            seen = column[~np.isnan(column)]
            low, high = (f"{seen.min():g}", f"{seen.max():g}") if len(seen) else ("", "")
            kind = self.kinds[name]
            share = f"{np.isnan(column).mean():.1%}" if len(lengths) else ""
            counts = (str(len(lengths)), str(max(lengths))) if lengths else ("", "")
            rows.append((name, kind.name, share, *counts, low, high, kind.evidence))
        wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in rows
        )

    def gap_map(self) -> str:
        """Where values are missing: a line for each column with gaps, from the first row to the last."""
        missing = np.isnan(self.values)
        edges = np.linspace(0, len(missing), min(WIDTH, len(missing)) + 1).astype(int)
        names = [(j, name) for j, name in enumerate(self.columns) if missing[:, j].any()]
        wide = max(len(name) for _, name in names)
        lines = []
        for j, name in names:
            shares = [missing[a:b, j].mean() for a, b in pairwise(edges)]
            marks = "".join(SHADES[int(np.ceil(share * (len(SHADES) - 1)))] for share in shares)
            lines.append(f"{name.ljust(wide)} |{marks}|")
        return "\n".join(lines)


def gap_lengths(column: FloatArray) -> list[int]:
    """How many rows each gap of a column has."""
    missing = np.concatenate([[False], np.isnan(column), [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(missing))
    return [int(n) for n in edges[1::2] - edges[::2]]


def look(table: Any, *, time: str | Sequence[str] | None = None, **reading: Any) -> Look:
    """How a file or a dataframe is understood: what each column is taken for, its gaps, and what looks odd.

    `reading` are the options of reading a file. For an array or a dataframe only `time` and `kind` count.

    >>> import numpy as np
    >>> print(look(np.array([[1.5], [np.nan], [2.5]])).understood[0])
    no time column: rows are taken in their order; 1 column, 1 of 3 values missing.
    """
    if isinstance(table, str | Path):
        return _look_at_file(table, time=time, **reading)
    return _look_at_table(table, time, reading.get("kind"))


def _look_at_file(source: str | Path, **reading: Any) -> Look:
    file = read_file(source, **reading)
    path = Path("table.csv" if str(source) == "-" else source)
    out = path.with_name(f"{path.name.split('.')[0]}-filled{''.join(path.suffixes)}")
    odd = [f"{one}: counts as missing (keep_sentinels)." for one in file.sentinels if one.sure]
    return Look(
        understood=file.understood,
        columns=file.columns,
        kinds=file.kinds,
        values=file.values,
        left_alone=file.passed_through,
        suspicions=(*odd, *file.problems, *suspicions(file.values, file.columns, file.kinds)),
        command=f"t1 impute {_word(Path(source))} -o {_word(out)}",
    )


def _look_at_table(table: Any, time: str | Sequence[str] | None, kind: Mapping[str, str] | None) -> Look:
    frame = Frame.read(table, time=time)
    kinds = find_kinds(frame.values, frame.columns, times=frame.time, given=kind)
    odd = [f"{one}: counts as missing (keep_sentinels)." for one in frame.sentinels if one.sure]
    return Look(
        understood=frame.understood,
        columns=frame.columns,
        kinds=kinds,
        values=frame.values,
        left_alone=frame.left_alone,
        suspicions=(*odd, *frame.doubts, *suspicions(frame.values, frame.columns, kinds)),
        command=f"t1.impute(table{f', time={_asked(frame.time_columns)!r}' if frame.time_columns else ''})",
    )


def _asked(names: Sequence[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _word(path: Path) -> str:
    text = str(path)
    return (
        text
        if text.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()
        else f'"{text}"'
    )
