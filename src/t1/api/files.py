"""Files in, files out: the same file back with its gaps filled, or a fitted fill in a folder."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t1.api.filled_table import AddedRows, FilledTable
from t1.api.fitted import FittedFill, clock_of, judge, load, load_chosen
from t1.data.data_file import DataFile, NewRows
from t1.data.files import read_file
from t1.data.place import Placed
from t1.data.table import check_columns
from t1.fill.bands import Bands, band_names
from t1.fill.filled import Filled
from t1.options import FillOptions, FitOptions
from t1.progress import OnProgress

if TYPE_CHECKING:  # brings torch, which takes a second: bad input is told before
    from t1.sense.rank import Sensing

OnUnderstood = Callable[[tuple[str, ...]], None]


def impute_file(
    source: str | Path,
    target: str | Path,
    *,
    reading: Mapping[str, Any],
    fit_options: FitOptions,
    fill_options: FillOptions,
    model: str | Path | None = None,
    add_missing_rows: bool = False,
    on_understood: OnUnderstood | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FilledTable:
    """Fill a file and write the same file back with its gaps filled.

    `model` is a folder that `fit_file` wrote: it is applied as it is, with the errors that it was saved with.
    `on_understood` hears how the file was read, before anything is learned.
    """
    began = clock.perf_counter()
    fitted = load_chosen(model, fit_options)
    file = read_file(source, **reading)
    placed = Placed.of(file.values, file.columns, file.time, file.ids, add_rows=add_missing_rows)
    kinds = file.kinds if fitted is None else fitted.kinds
    level = fill_options.intervals
    rules = fill_options.rules(file.time, file.time_format, kinds)
    rules.check(file.columns)
    _check_output(file, target, placed, level, add_missing_rows)
    if on_understood is not None:
        on_understood(file.understood)
    if fitted is not None:
        check_columns(fitted.columns, file.columns)
        judged = fitted.judged
    else:
        learning = fit_options.learning(began, on_progress=on_progress, should_stop=should_stop)
        judged = judge(placed.panel, learning, fit_options, kinds)
    whole = judged.fill(placed.panel, rules=rules.in_panel(placed), level=level)
    filled = whole.in_table(placed)
    if file.fixed is not None:
        filled = filled.without(file.fixed)
    added = _added(placed, whole, file) if add_missing_rows else None
    _write(file, target, filled, whole if add_missing_rows else filled, added)
    return FilledTable.of(
        filled,
        data=None,
        times=file.time,
        ids=file.ids,
        added=added,
        series=placed.timeline.series,
        name=str(source),
        problems=(*file.problems, *placed.timeline.problems(file.time_format), *filled.notes),
        understood=file.understood,
        seconds=clock.perf_counter() - began,
    )


def fit_file(
    source: str | Path,
    folder: str | Path,
    *,
    reading: Mapping[str, Any],
    options: FitOptions,
    on_understood: OnUnderstood | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FittedFill:
    """Fit to a file and keep the fitted fill in a folder, for `impute_file(model=folder)`."""
    began = clock.perf_counter()
    file = read_file(source, **reading)
    if on_understood is not None:
        on_understood(file.understood)
    placed = Placed.of(file.values, file.columns, file.time, file.ids)
    learning = options.learning(began, every=True, on_progress=on_progress, should_stop=should_stop)
    judged = judge(placed.panel, learning, options, file.kinds)
    keep_sentinels = bool(reading.get("keep_sentinels", False))
    how = {**file.roles, "keep_sentinels": keep_sentinels}
    fitted = FittedFill(judged, how, file.kinds, clock_of(placed.timeline))
    fitted.save(folder)
    return fitted


def sense_file(
    source: str | Path, *, reading: Mapping[str, Any], budget: int = 20, model: str | Path | None = None
) -> Sensing:
    """Where to measure next in a file; without a `model` a fill is fitted to it, and nothing is trained."""
    from t1.sense.rank import sense_panel

    fitted = None if model is None else load(model)
    file = read_file(source, **reading)
    placed = Placed.of(file.values, file.columns, file.time, file.ids)
    if fitted is not None:
        check_columns(fitted.columns, file.columns)
        return sense_panel(fitted.judged, placed.panel, budget=budget)
    options = FitOptions(method="t1", budget="fast")
    learning = options.learning(clock.perf_counter(), every=True)
    return sense_panel(judge(placed.panel, learning, options, file.kinds), placed.panel, budget=budget)


def _check_output(
    file: DataFile, target: str | Path, placed: Placed, level: float | None, add_rows: bool
) -> None:
    """What cannot be written is told before time is spent."""
    gaps = np.isnan(file.values).any(axis=0) | (add_rows and len(placed.absent) > 0)
    gappy = [file.columns[j] for j in np.flatnonzero(gaps).tolist()]
    file.check(target, extra=band_names(gappy, level), new_rows=add_rows)


def _added(placed: Placed, whole: Filled, file: DataFile) -> AddedRows | None:
    """The fill at time stamps that the file lacks."""
    absent = placed.absent
    if not len(absent) or placed.panel.times is None:
        return None
    ids = None if file.ids is None else placed.ids_of(absent)
    return AddedRows(filled=whole.rows(absent), times=placed.panel.times[absent], ids=ids)


def _write(
    file: DataFile, target: str | Path, filled: Filled, all_rows: Filled, added: AddedRows | None
) -> None:
    """Write the fill, with intervals in the columns that have a gap in any of `all_rows`."""
    gappy = np.flatnonzero(~np.all(all_rows.observed, axis=0)).tolist()
    new_rows = None
    if added is not None:
        bands = dict(Bands(added.filled, gappy)) or None
        new_rows = NewRows(times=added.times, values=added.filled.values, ids=added.ids, extra=bands)
    extra = Bands(filled, gappy)
    file.write(target, filled.values, observed=filled.observed, extra=extra, new_rows=new_rows)
