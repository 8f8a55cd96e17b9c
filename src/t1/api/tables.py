"""`t1.fit` and `t1.impute`: tables in, tables out."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from t1.api.filled_table import FilledTable
from t1.api.fitted import FittedFill, clock_of, judge
from t1.data.frames import Frame
from t1.data.kinds import find_kinds
from t1.data.place import Placed
from t1.options import FillOptions, FitOptions
from t1.progress import OnProgress


def fit(
    data: Any,
    *,
    time: str | Sequence[str] | None = None,
    id: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    kind: Mapping[str, str] | None = None,
    keep_sentinels: bool = False,
    method: str | None = None,
    budget: str | float = "30s",
    weights: str | Path | None = None,
    seed: int = 102,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FittedFill:
    """Learn to fill a table, and judge it on hidden cells shaped like the table's own gaps.

    The table is a pandas, polars or pyarrow one, or an array (rows, columns). `time` and `id` name columns
    that say when a row is and which series it belongs to (each may be several); a pandas index of dates, or a
    column of dates with the clock beside it, serves as time by itself, and where times repeat, the columns that
    tell rows apart serve as `id`. `kind` overrides what columns are taken for ({"wind_dir": "angle"}). What is surely
    a code for missing (-9999, far from all other values and more than once) counts as missing unless
    `keep_sentinels`. `budget` is "fast" (nothing is trained), a time such as "30s", or "quality".
    """
    began = clock.perf_counter()
    options = FitOptions(method=method, budget=budget, weights=weights, seed=seed)
    frame = Frame.read(
        data, time=time, id=id, columns=columns, exclude=exclude, keep_sentinels=keep_sentinels
    )
    placed = Placed.of(frame.values, frame.columns, frame.time, frame.ids)
    learning = options.learning(began, every=True, on_progress=on_progress, should_stop=should_stop)
    kinds = find_kinds(frame.values, frame.columns, ids=frame.ids, times=frame.time, given=kind)
    judged = judge(placed.panel, learning, options, kinds)
    reading = {"time": _plain(time), "id": _plain(id), "keep_sentinels": keep_sentinels}
    return FittedFill(judged, reading, kinds, clock_of(placed.timeline))


def impute(
    data: Any,
    *,
    time: str | Sequence[str] | None = None,
    id: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    kind: Mapping[str, str] | None = None,
    keep_sentinels: bool = False,
    method: str | None = None,
    budget: str | float = "30s",
    weights: str | Path | None = None,
    engine: str = "auto",
    seed: int = 102,
    intervals: float | None = None,
    max_gap: int | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    integer: Sequence[str] = (),
    lock: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FilledTable:
    """Fill the gaps of a table: fit, then apply. Options as in `fit` and `FittedFill.apply`.

    `engine="onnx"` runs the pretrained network in onnxruntime instead of torch; it cannot train. By default it does
    where that is faster: where nothing is trained (`budget="fast"`), it is installed, and there is no GPU.

    >>> import numpy as np, t1
    >>> table = np.column_stack([np.arange(60.0), np.arange(60.0) % 7])
    >>> table[10:14, 0] = np.nan
    >>> result = t1.impute(table, budget="fast")
    >>> result.n_filled, bool(np.isnan(result.data).any())
    (4, False)
    """
    began = clock.perf_counter()
    fit_options = FitOptions(method=method, budget=budget, weights=weights, engine=engine, seed=seed)
    options = FillOptions(
        intervals=intervals,
        max_gap=max_gap,
        minimum=minimum or {},
        maximum=maximum or {},
        integer=integer,
        lock=lock,
    )
    frame = Frame.read(
        data, time=time, id=id, columns=columns, exclude=exclude, keep_sentinels=keep_sentinels
    )
    placed = Placed.of(frame.values, frame.columns, frame.time, frame.ids)
    kinds = find_kinds(frame.values, frame.columns, ids=frame.ids, times=frame.time, given=kind)
    rules = options.rules(placed.panel.times, kinds=kinds)
    rules.check(frame.columns)  # a typing error is found before anything is learned
    learning = fit_options.learning(began, on_progress=on_progress, should_stop=should_stop)
    fitted = FittedFill(judge(placed.panel, learning, fit_options, kinds), kinds=kinds)
    return fitted.fill_frame(frame, placed, options, began)


def _plain(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Names as they can be kept in a file."""
    return names if names is None or isinstance(names, str) else list(names)
