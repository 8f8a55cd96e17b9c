"""What the page's script draws, as compact JSON: the gap map, the methods by column, and each series.

A series is four strings of numbers and two of codes, see `series`; page.js takes them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.fill.filled import Filled
from t1.report.thin import drawable, thin

MAP_BINS, MAP_CELLS = 1500, 1_500_000
POINTS, POINTS_WITH_BANDS = 500_000, 300_000  # of all series together; they keep the page under 10 MB
MOST_POINTS, FEWEST_POINTS = 12_000, 120  # of one series
BARS = 40


@dataclass(frozen=True)
class View:
    """A filled table in the order it is drawn, and its time axis: row i lies at `origin + unit * tick[i]`."""

    filled: Filled
    rows: IntArray  # (time,) of the table, in the order of time
    series: IntArray  # (time,) which series of a panel a drawn row belongs to
    tick: npt.NDArray[np.int64]
    origin: float  # milliseconds since 1970, or 0
    unit: float
    dated: bool
    labels: tuple[str, ...]  # of the columns: one line, short and unlike each other
    empty: BoolArray  # (vars,) whether nothing was observed

    @classmethod
    def of(
        cls, filled: Filled, times: npt.NDArray[Any] | None, series: Sequence[IntArray] | None = None
    ) -> "View":
        """Times that are absent, partly unknown or run back and forth are replaced by row numbers."""
        n = len(filled.values)
        parts = [np.asarray(s, dtype=np.intp) for s in series or [] if len(s)] or [np.arange(n)]
        rows = np.concatenate(parts)
        which = np.repeat(np.arange(len(parts)), [len(s) for s in parts])
        micros = None
        if times is not None and len(parts) == 1 and not np.isnat(when := np.asarray(times)[rows]).any():
            micros = when.astype("datetime64[us]").astype(np.int64)
            if (np.diff(micros) < 0).any() and len(np.unique(micros)) == n:
                order = np.argsort(micros)
                rows, micros = rows[order], micros[order]
            if not n or (np.diff(micros) < 0).any():
                micros = None
        labels = unique_labels(filled.columns)
        empty: BoolArray = ~np.any(filled.observed, axis=0)
        if micros is None:
            return cls(filled, rows, which, np.arange(n, dtype=np.int64), 0.0, 1.0, False, labels, empty)
        unit = max(int(np.gcd.reduce(np.diff(micros))) if n > 1 else 1, 1)
        tick = (micros - micros[0]) // unit
        return cls(filled, rows, which, tick, micros[0] / 1000, unit / 1000, True, labels, empty)


def payload(view: View) -> dict[str, Any]:
    """All that page.js needs."""
    filled = view.filled
    first = np.argsort(filled.observed.all(axis=0), kind="stable")  # columns with gaps come first
    total = POINTS if filled.lo is None else POINTS_WITH_BANDS
    limit = min(max(total // max(len(first), 1), FEWEST_POINTS), MOST_POINTS)
    return {
        "labels": view.labels,
        "methods": filled.method_names,
        "origin": view.origin,
        "unit": view.unit,
        "dated": view.dated,
        "level": filled.scorecard.level,
        "map": gap_map(view),
        "bars": bars(view),
        "series": [series(view, int(j), limit) for j in first],
    }


def unique_labels(names: Sequence[str], width: int = 24) -> tuple[str, ...]:
    """Printable, at most `width` long, and different where names are the same once shortened."""
    seen: dict[str, int] = {}
    taken: set[str] = set()
    labels = []
    for name in names:
        shown = "".join(c if c.isprintable() else "␤" if c == "\n" else "�" for c in str(name)).strip()
        shown = shown or "(no name)"
        label = shown = shown if len(shown) <= width else shown[: width - 1] + "…"
        while label in taken:
            seen[shown] = seen.get(shown, 1) + 1
            tail = f" ({seen[shown]})"
            label = shown[: width - len(tail)] + tail
        taken.add(label)
        labels.append(label)
    return tuple(labels)


def gap_map(view: View) -> dict[str, Any]:
    """States by column and bin of rows: 0 observed, 1 partly filled, 2 mostly filled, 3 some left empty."""
    filled = view.filled
    n, n_vars = filled.values.shape
    bins = max(min(n, MAP_BINS, max(MAP_CELLS // max(n_vars, 1), 50)), 1)
    edge = np.linspace(0, n, bins + 1).astype(np.intp)
    size = np.diff(edge)
    digits = []
    for j in range(n_vars):
        missing = ~filled.observed[view.rows, j]
        if not missing.any():
            digits.append("")  # all observed
            continue
        empty = np.isnan(filled.values[view.rows, j])
        count, holes = np.add.reduceat(missing, edge[:-1]), np.add.reduceat(empty, edge[:-1])
        state = np.where(holes > 0, 3, np.where(count == 0, 0, np.where(2 * count < size, 1, 2)))
        digits.append((state + 48).astype(np.uint8).tobytes().decode())
    last = view.tick[-1] + 1 if n else 1
    x = [*view.tick[edge[:-1]].tolist(), int(last)] if n else [0, 1]
    return {"x": x, "z": digits, "bins": bins, "rows": -(-n // bins)}


def bars(view: View) -> dict[str, Any]:
    """Cells by method, and left empty, of the columns with the most missing cells."""
    filled = view.filled
    missing = (~filled.observed).sum(axis=0)
    most = np.sort(np.argsort(-missing, kind="stable")[:BARS])
    most = most[missing[most] > 0]
    cells = [(filled.method[:, most] == k).sum(axis=0).tolist() for k in range(len(filled.method_names))]
    empty = (~filled.observed[:, most] & np.isnan(filled.values[:, most])).sum(axis=0).tolist()
    return {"column": most.tolist(), "cells": cells, "empty": empty}


def series(view: View, column: int, limit: int) -> dict[str, Any]:
    """One column: steps of time `t`, values `v`, a code per point `s`; of fills `lo`, `hi` and method `m`.

    Codes: 0 to 3 observed (+1: joined to the observed point before it, +2: to the filled point just before
    it); 4 filled, 5 filled and joined to the point just before it.
    """
    filled = view.filled
    value, seen = filled.values[view.rows, column], filled.observed[view.rows, column]
    is_filled = ~seen & ~np.isnan(value)
    rows, step = thin(value, is_filled, limit)
    code = _join(rows, seen, filled.gap[view.rows, column], is_filled, view.series, step)
    own = rows[is_filled[rows]]
    digits = _digits(value[rows])
    made = {
        "c": column,
        "missing": int(np.count_nonzero(~seen)),
        "step": step,
        "t": _joined(np.diff(view.tick[rows], prepend=0).tolist()),
        "v": _numbers(value[rows], digits),
        "s": (code + 48).astype(np.uint8).tobytes().decode(),
        "m": "".join(chr(code + 97) for code in filled.method[view.rows[own], column].tolist()),
    }
    if filled.lo is not None and filled.hi is not None:
        made["lo"] = _numbers(filled.lo[view.rows[own], column], digits)
        made["hi"] = _numbers(filled.hi[view.rows[own], column], digits)
    return made


def _join(
    rows: IntArray, seen: BoolArray, gap: npt.NDArray[Any], filled: BoolArray, series: IntArray, step: int
) -> npt.NDArray[np.int64]:
    """The codes of `series`: gaps shorter than a bin do not break the line of a thinned series."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    breaks = np.cumsum(~seen & (gap > step)) + np.cumsum(np.diff(series, prepend=0) != 0)
    run = np.cumsum(np.diff(filled, prepend=False))  # each stretch of fills has its own number
    is_fill = filled[rows]
    before = np.concatenate([rows[:1], rows[:-1]])
    near = (np.arange(len(rows)) > 0) & (rows - before == 1) & (series[rows] == series[before])
    same = filled[before] & is_fill & (run[rows] == run[before]) & (np.arange(len(rows)) > 0)
    touches_fill = near & filled[before]
    last = np.maximum.accumulate(np.where(is_fill, -1, np.arange(len(rows))))
    last = np.concatenate([[-1], last[:-1]])  # the observed point before
    consecutive = rows - rows[last] == 1 if step == 0 else np.ones(len(rows), dtype=bool)
    line = (last >= 0) & consecutive & (breaks[rows] == breaks[rows[last]])
    fill_code = 4 + (same | (near & ~filled[before]))
    code: npt.NDArray[np.int64] = np.where(is_fill, fill_code, line + 2 * touches_fill)
    return code


def _digits(values: FloatArray) -> int:
    """Significant digits that show a column's spread to one part in 100,000."""
    if not len(values):
        return 6
    size, spread = float(np.abs(values).max()), float(values.max() / 2 - values.min() / 2)
    if spread == 0 or size == 0:
        return 17
    return int(np.clip(np.ceil(np.log10(size / spread)) + 6, 6, 17))


def _numbers(values: FloatArray, digits: int) -> str:
    """Numbers with commas between them; nothing where there is none to draw."""
    return ",".join(
        format(v, f".{digits}g") if ok else ""
        for v, ok in zip(values.tolist(), drawable(values).tolist(), strict=True)
    )


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
