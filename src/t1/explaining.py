"""`t1.explain`: from which columns and which stretch the fill of one cell was taken."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from t1.api.fitted import FittedFill, judge, load
from t1.data.dates import parse_time
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.data.kinds import find_kinds
from t1.data.place import Placed
from t1.data.table import check_columns
from t1.data.time_format import TimeFormat
from t1.errors import InputError
from t1.fill.explain import explain_cell
from t1.fill.explanation import Explanation
from t1.options import FitOptions
from t1.progress import OnProgress
from t1.registry import did_you_mean


def explain(
    data: Any,
    column: str,
    at: Any,
    *,
    series: Any = None,
    fitted: FittedFill | None = None,
    time: str | None = None,
    id: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    kind: Mapping[str, str] | None = None,
    method: str | None = None,
    budget: str | float = "30s",
    weights: str | Path | None = None,
    seed: int = 102,
) -> Explanation:
    """Say what one fill was taken from: the fill that `t1.impute` makes with the same options.

    `at` is a time stamp, or the number of the row (the first is 0); `series` the id where there are several.
    `fitted` is what `t1.fit` gave; without it the table is fitted first.

    >>> import numpy as np, t1
    >>> wave = np.sin(np.arange(300) / 5)
    >>> table = np.column_stack([wave, 2 * wave + 1])
    >>> table[100:104, 0] = np.nan
    >>> found = t1.explain(table, "x0", 102, budget="fast")
    >>> found.gap, sorted(found.columns["column"])
    (4, ['x0', 'x1'])
    """
    began = clock.perf_counter()
    options = FitOptions(method=method, budget=budget, weights=weights, engine="torch", seed=seed)
    if fitted is None:
        frame = Frame.read(data, time=time, id=id, columns=columns, exclude=exclude)
    else:
        frame = fitted.read(data)
    placed = Placed.of(frame.values, frame.columns, frame.time, frame.ids)
    _known(column, placed)
    row = _row(placed, at, series, None)
    if fitted is not None:
        return explain_cell(fitted.judged, placed.panel, column, row)
    kinds = find_kinds(frame.values, frame.columns, ids=frame.ids, times=frame.time, given=kind)
    judged = judge(placed.panel, options.learning(began), options, kinds)
    return explain_cell(judged, placed.panel, column, row)


def explain_file(
    source: str | Path,
    column: str,
    at: str | int,
    *,
    series: str | None = None,
    reading: Mapping[str, Any],
    options: FitOptions,
    model: str | Path | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Explanation:
    """The same for a file; `model` is a folder that `t1 train` wrote."""
    began = clock.perf_counter()
    fitted = None if model is None else load(model)
    file = read_file(source, **reading)
    placed = Placed.of(file.values, file.columns, file.time, file.ids)
    _known(column, placed)
    row = _row(placed, at, series, file.time_format)
    if fitted is not None:
        check_columns(fitted.columns, file.columns)
        return explain_cell(fitted.judged, placed.panel, column, row)
    options = replace(options, engine="torch")  # which knows where its heads looked
    learning = options.learning(began, on_progress=on_progress, should_stop=should_stop)
    judged = judge(placed.panel, learning, options, file.kinds)
    return explain_cell(judged, placed.panel, column, row)


def _known(column: str, placed: Placed) -> None:
    """A wrong name is told before anything is learned."""
    if column not in placed.panel.columns:
        raise InputError(
            f"there is no column {column!r} that can be filled",
            cure=did_you_mean(column, placed.panel.columns),
            option="column",
        )


def _row(placed: Placed, at: Any, series: Any, format: TimeFormat | None) -> int:
    """The row of the panel at a time stamp of a series, or of a row of the table by its number."""
    panel = placed.panel
    numbered = isinstance(at, int | np.integer) or (panel.times is None and str(at).strip().isdigit())
    if numbered:
        number = int(at)
        if not 0 <= number < len(placed.at):
            raise InputError(
                f"there is no row {number}",
                cure=f"Give a number from 0 to {len(placed.at) - 1}.",
                option="at",
            )
        return int(placed.at[number])
    if panel.times is None:
        raise InputError(
            f"{at!r} is no row of a table without time stamps", cure="Give the number of a row.", option="at"
        )
    span = panel.spans[_series(panel.ids, series)]
    moment = parse_time(at, format) if isinstance(at, str) else _utc(pd.Timestamp(at))
    times = panel.times[span]
    found = np.flatnonzero(times == moment)
    if not len(found):
        near = times[np.abs(times - moment).argmin()]
        text = str(near.astype("M8[s]")).replace("T", " ")
        raise InputError(f"there is no row at {at}", cure=f"The nearest one is at {text}.", option="at")
    return int(span.start + found[0])


def _utc(stamp: pd.Timestamp) -> np.datetime64:
    """Without its time zone, as the times of a table are kept."""
    plain = stamp if stamp.tzinfo is None else stamp.tz_convert("UTC").tz_localize(None)
    return plain.to_datetime64()


def _series(ids: Sequence[Any], series: Any) -> int:
    if series is None and len(ids) == 1:
        return 0
    names = [str(one) for one in ids]
    if series is None:
        raise InputError(
            f"the table has {len(ids)} series",
            cure=f"Say which one: {', '.join(names[:5])}, ...",
            option="series",
        )
    if str(series) not in names:
        raise InputError(
            f"there is no series {series!r}", cure=did_you_mean(str(series), names), option="series"
        )
    return names.index(str(series))
