"""Fill a file that is larger than memory: learn from a sample, then fill stretch by stretch and write as it goes.

    piece:            |---- 2 ----|
    stretch:   |......|---- 2 ----|...|        what is filled together: the piece and context from its neighbours
    written:          |---- 2 ----|

A stretch begins where windows and coarser rates of T1 would begin in the whole series (every ALIGN rows), so its
fills are those of the whole, except in gaps that reach beyond the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from t1.api.files import OnUnderstood
from t1.api.fitted import FittedFill, judge, load_chosen
from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray
from t1.data.atomic import check_target, open_target
from t1.data.data_file import DataFile, FileFill
from t1.data.pieces import FilledPiece, Pieces, open_pieces
from t1.data.place import Placed
from t1.data.table import check_columns
from t1.errors import InputError
from t1.fill.bands import Bands, band_names
from t1.fill.judged import JudgedFill
from t1.fill.rules import Rules
from t1.fill.scorecard import Scorecard
from t1.memory import give_back_memory
from t1.options import FillOptions, FitOptions
from t1.panel import Panel
from t1.progress import OnProgress

ALIGN = 12288  # rows: half a window of 96, at the rate of 256 rows
BEHIND = 2 * ALIGN  # rows of context before a piece, of which at least half is used
AHEAD = ALIGN  # and after it

OnRows = Callable[[int, int], None]  # rows that are written, of about how many


@dataclass(frozen=True, kw_only=True)
class FilledStretches:
    """What there is to say about a file that was filled stretch by stretch."""

    rows: int
    n_filled: int
    scorecard: Scorecard  # of the sample, or of the table that the model was fitted to
    problems: tuple[str, ...]
    seconds: float


def impute_stretches(
    source: str | Path,
    target: str | Path,
    *,
    reading: Mapping[str, Any],
    fit_options: FitOptions,
    fill_options: FillOptions,
    model: str | Path | None = None,
    on_understood: OnUnderstood | None = None,
    on_progress: OnProgress | None = None,
    on_rows: OnRows = lambda rows, of: None,
    should_stop: Callable[[], bool] | None = None,
) -> FilledStretches:
    """Fill a CSV or Parquet file of any size with little memory; options as in `impute_file`."""
    began = perf_counter()
    fitted = load_chosen(model, fit_options)
    pieces = open_pieces(source, reading)
    kind, known = pieces.check(target), pieces.sample.file
    check_target(target)
    known.check(target, extra=band_names(known.columns, fill_options.intervals))
    fill_options.rules(known.time, known.time_format).check(known.columns)
    if on_understood is not None:
        on_understood(known.understood)
    if fitted is None:
        fitted = fit_sample(pieces, fit_options, on_progress=on_progress, should_stop=should_stop)
        give_back_memory()  # what judging took
    check_columns(fitted.columns, known.columns)
    rules = fill_options.rules(known.time, known.time_format, fitted.kinds)
    level = fill_options.intervals
    filler = _StretchFiller(fitted.judged, rules, level)
    count = _Count()
    with open_target(target) as stream:
        fills = _fills(pieces, filler, count, lambda: on_rows(count.rows, pieces.n_rows))
        pieces.write(stream, fills, kind)
    judged = fitted.judged
    learned = sum(pieces.sample.rows)
    sampled = f"filled stretch by stretch; learned and judged on {learned:,} of {count.rows:,} rows"
    notes = (*known.problems, *judged.notes, *([sampled] if model is None else []))
    return FilledStretches(
        rows=count.rows,
        n_filled=count.filled,
        scorecard=judged.score(judged.missing, level),
        problems=notes,
        seconds=perf_counter() - began,
    )


def fit_large_file(
    source: str | Path,
    folder: str | Path,
    *,
    reading: Mapping[str, Any],
    options: FitOptions,
    on_understood: OnUnderstood | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FittedFill:
    """Fit to a sample of a file of any size and keep the fitted fill in a folder, as `fit_file` does."""
    pieces = open_pieces(source, reading)
    if on_understood is not None:
        on_understood(pieces.sample.file.understood)
    fitted = fit_sample(pieces, options, every=True, on_progress=on_progress, should_stop=should_stop)
    fitted.save(folder)
    return fitted


def fit_sample(
    pieces: Pieces,
    options: FitOptions,
    *,
    every: bool = False,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FittedFill:
    """Learn to fill a file from the stretches of its sample; `every` column, if the fit is to be kept."""
    began, file = perf_counter(), pieces.sample.file
    panels = []
    ends = np.cumsum(pieces.sample.rows)
    for begin, end, first in zip(ends - pieces.sample.rows, ends, pieces.sample.first, strict=True):
        rows = slice(int(begin), int(end))
        panels.append(_place(_Rows.of(file, rows), file.columns, {None: first}).panel)
    learning = options.learning(began, every=every, on_progress=on_progress, should_stop=should_stop)
    learning.cells = pieces.n_rows * len(file.columns)
    judged = judge(Panel.stack(panels), learning, options, file.kinds)
    return FittedFill(judged, file.roles, file.kinds)


# ---------------------------------------------------------------- stretches


@dataclass
class _Count:
    rows: int = 0
    filled: int = 0


@dataclass(frozen=True)
class _Rows:
    """Some rows of a file: their numbers, times and ids."""

    values: FloatArray
    time: AnyArray | None
    ids: AnyArray | None

    @classmethod
    def of(cls, file: DataFile, rows: slice) -> _Rows:
        time, ids = (None if part is None else part[rows] for part in (file.time, file.ids))
        return cls(file.values[rows], time, ids)

    def __len__(self) -> int:
        return len(self.values)

    def last(self, n: int) -> _Rows:
        """The last n rows, copied, so that the others can be forgotten."""
        keep = slice(max(len(self) - n, 0), None)
        time, ids = (None if part is None else part[keep].copy() for part in (self.time, self.ids))
        return _Rows(self.values[keep].copy(), time, ids)

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        def join(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if any(one is None for one in found) else np.concatenate(found)

        return cls(np.concatenate([part.values for part in parts]), join("time"), join("ids"))


def _place(rows: _Rows, columns: tuple[str, ...], before: Mapping[Any, int]) -> Placed:
    """Rows on their clock; where there is none, rows are counted: `before` says how many each series had."""
    placed = Placed.of(rows.values, columns, rows.time, rows.ids)
    phase = placed.panel.phase.copy()
    for s, (clock, key) in enumerate(zip(placed.timeline.grids, placed.panel.ids, strict=True)):
        if clock is None:
            phase[s] = before.get(key, 0)
    return replace(placed, panel=replace(placed.panel, phase=phase))


def _fills(
    pieces: Pieces, filler: _StretchFiller, count: _Count, told: Callable[[], None]
) -> Iterator[FilledPiece]:
    """Every piece with its fills, one behind what is read: the next piece is the context after it."""
    waiting: DataFile | None = None
    behind: _Rows | None = None
    end: Any = None
    for table in chain(pieces.tables(), [None]):
        if waiting is not None:
            ahead = None if table is None else _Rows.of(table, slice(0, AHEAD))
            yield filler.fill(waiting, behind, ahead, count)
            told()
            rows = _Rows.of(waiting, slice(None))
            behind = (rows if behind is None else _Rows.joined([behind, rows])).last(BEHIND)
        if table is not None and table.time is not None and table.ids is None:
            first = table.time.min()
            if end is not None and first < end:
                raise InputError(
                    f"{pieces.source}: rows are not in time order ({first} comes after {end}), and so a file "
                    "larger than memory cannot be filled",
                    cure="Sort it by time first.",
                    option="memory",
                )
            end = table.time.max()
        waiting = table


class _StretchFiller:
    """Fills one piece after the other."""

    def __init__(self, judged: JudgedFill, rules: Rules, level: float | None) -> None:
        self.judged, self.rules, self.level = judged, rules, level
        self.before: dict[Any, int] = {}  # rows of each series that were filled
        self.first_phase: dict[Any, int] = {}

    def fill(self, piece: DataFile, behind: _Rows | None, ahead: _Rows | None, count: _Count) -> FilledPiece:
        """The fills of a piece, with the rows before and after it as context."""
        own = _Rows.of(piece, slice(None))
        n_behind = 0 if behind is None else len(behind)
        rows = _Rows.joined([part for part in (behind, own, ahead) if part is not None])
        inside = {} if behind is None else _counts(behind)
        before = {key: n - inside.get(key, 0) for key, n in self.before.items()}
        placed = _place(rows, piece.columns, before)
        panel, moved = self._aligned(placed, n_behind)
        core = slice(n_behind, n_behind + len(own))
        at = moved[placed.at[core]]
        rules = self._rules(placed, panel, moved, count.rows - n_behind)
        asked = np.zeros(panel.n_rows, dtype=bool)
        asked[at] = True
        whole = self.judged.fill(panel, rules=rules, level=self.level, asked=asked)
        filled = whole.rows(at, own.values)
        for key, n in _counts(own).items():
            self.before[key] = self.before.get(key, 0) + n
        count.rows += len(own)
        count.filled += filled.n_filled
        missing = ~filled.observed & np.isfinite(filled.values)
        # intervals of every column: which ones have gaps is not known before the end
        bands = dict(Bands(filled, range(len(filled.columns))))
        return piece, FileFill(values=filled.values, missing=missing, extra=bands)

    def _aligned(self, placed: Placed, n_behind: int) -> tuple[Panel, IntArray]:
        """The panel without the first rows of its series, up to where windows of the whole series begin.

        Also the new place of each of its rows, -1 for those that are gone.
        """
        panel = placed.panel
        own = np.zeros(panel.n_rows, dtype=bool)
        own[placed.at[n_behind:]] = True
        stretches: list[tuple[int, int, int]] = []
        moved = np.full(panel.n_rows, -1, dtype=np.intp)
        length = 0
        for s, (key, span) in enumerate(zip(panel.ids, panel.spans, strict=True)):
            phase = int(panel.phase[s])
            position = phase - self.first_phase.setdefault(key, phase)
            room = int(own[span].argmax())  # rows before the first of the piece's own
            drop = -position % ALIGN
            if room - drop >= 2 * ALIGN:
                drop += ALIGN
            if room - drop < ALIGN // 2:
                drop = 0  # too little would be left: close to the whole series' fill, but not equal
            stretches.append((s, span.start + drop, span.stop))
            kept = span.stop - span.start - drop
            moved[span.start + drop : span.stop] = np.arange(length, length + kept)
            length += kept
        return (panel.take(stretches) if length < panel.n_rows else panel), moved

    def _rules(self, placed: Placed, panel: Panel, moved: IntArray, first: int) -> Rules:
        """Rules whose locked row numbers, which are the file's, are rows of the panel."""
        if panel.times is not None or not self.rules.locked:
            return self.rules
        rows = self.rules.locked_rows(len(placed.at), np.arange(first, first + len(placed.at)))
        at = moved[placed.at]
        locked: BoolArray = np.zeros(panel.n_rows, dtype=bool)
        locked[at[at >= 0]] = rows[at >= 0]
        return replace(self.rules, locked=[locked])


def _counts(rows: _Rows) -> dict[Any, int]:
    if rows.ids is None:
        return {None: len(rows)}
    keys, counts = np.unique(rows.ids.astype(str), return_counts=True)
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))
