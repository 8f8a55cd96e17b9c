"""`t1.fit`, `t1.impute`, `t1.load`: tables in, tables out, and how wrong the fill is.

`impute` is `fit`, then `apply`. The command line is a thin shell over `fit_file` and `impute_file`.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from t1.arrays import AnyArray, BoolArray, FloatArray, TimeArray
from t1.data.data_file import NewRows
from t1.data.files import read_file
from t1.data.frames import Frame
from t1.data.kinds import Kind, find_kinds
from t1.data.place import Placed
from t1.data.table import check_columns
from t1.data.timeline import Timeline
from t1.errors import InputError
from t1.fill.filled import Filled
from t1.fill.rules import Rules
from t1.fill.scorecard import Scorecard
from t1.methods.base import Learning
from t1.options import FillOptions, FitOptions
from t1.progress import OnProgress
from t1.schedule import seconds_of

if TYPE_CHECKING:  # these bring torch, which takes a second: bad input is told before
    from t1.fill.judged import JudgedFill
    from t1.live.fill import LiveFill
    from t1.sense.rank import Sensing

KIND = "fitted fill"
OnUnderstood = Callable[[tuple[str, ...]], None]


@dataclass(frozen=True, kw_only=True)
class AddedRows:
    """Rows that a table lacked: their fill, when they are, and which series they belong to."""

    filled: Filled
    times: TimeArray  # (rows,)
    ids: AnyArray | None  # (rows,)


@dataclass(frozen=True, kw_only=True)
class FilledTable(Filled):
    """A filled table: `data` in the container it came in, `scorecard`, `provenance`, `report(path)`."""

    data: Any = field(repr=False)
    times: TimeArray | None = field(repr=False)
    series: list[Any] = field(repr=False)  # the rows of each series in time order
    name: str
    problems: tuple[str, ...]
    seconds: float
    understood: tuple[str, ...] = ()  # how the file was read
    ids: AnyArray | None = field(default=None, repr=False)  # (rows,), what tells several series apart
    added: AddedRows | None = field(default=None, repr=False)  # rows that were added for absent time stamps

    @classmethod
    def of(cls, filled: Filled, **table: Any) -> FilledTable:
        """A fill together with the table it belongs to."""
        return cls(**{f.name: getattr(filled, f.name) for f in fields(Filled)}, **table)

    def _count(self) -> int:
        return super()._count() + (0 if self.added is None else self.added.filled.n_filled)

    def _origin(self) -> pd.DataFrame:
        """With the time and the series of each cell, where there are any; added rows have no number."""
        origin = _with_place(super()._origin(), self.times, self.ids)
        if self.added is None:
            return origin
        more = _with_place(self.added.filled.provenance, self.added.times, self.added.ids)
        row = pd.array([pd.NA] * len(more), dtype="Int64")
        names = {
            name: union_categoricals([origin[name], more[name]]) for name in ("column", "method", "rule")
        }
        both = pd.concat([origin.astype({"row": "Int64"}), more.assign(row=row)], ignore_index=True)
        return both.assign(**names)

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML page: what was filled, by what, and how wrong it is."""
        from t1.report import write_report

        write_report(
            path,
            self,
            times=self.times,
            original_name=self.name,
            problems=self.problems,
            series=self.series if len(self.series) > 1 else None,
            understood=self.understood,
        )

    def to_dict(self) -> dict[str, Any]:
        """The scorecard with what was understood of the table and what was odd about it, for JSON."""
        return {
            "understood": list(self.understood),
            "problems": list(self.problems),
            "filled": self.n_filled,
            "seconds": round(self.seconds, 3),
            **self.scorecard.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class FittedFill:
    """A judged fill that can be kept: what `t1.fit` gives.

    >>> import numpy as np, t1
    >>> rng = np.random.default_rng(0)
    >>> table = np.sin(np.arange(400) / 5)[:, None] + rng.normal(0, 0.1, (400, 3))
    >>> table[rng.random(table.shape) < 0.1] = np.nan
    >>> fitted = t1.fit(table, budget="fast")
    >>> filled = fitted.apply(table[:100])
    >>> bool(np.isnan(filled.data).any())
    False
    """

    judged: JudgedFill
    reading: Mapping[str, Any] = field(default_factory=dict)  # the columns that say when and what a row is
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # what each column is: no negative rain
    clock: Mapping[str, int] = field(default_factory=dict)  # rows of the table; nanoseconds of a regular step

    @property
    def scorecard(self) -> Scorecard:
        """How wrong the fill is, on cells of the fitted table that nothing had learned from."""
        return self.judged.scorecard

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it fills."""
        return self.judged.columns

    def apply(
        self,
        data: Any,
        *,
        intervals: float | None = None,
        max_gap: int | None = None,
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        integer: Sequence[str] = (),
        lock: Sequence[str] = (),
    ) -> FilledTable:
        """Fill a table of the same columns; errors and intervals are those that the fit measured."""
        options = FillOptions(
            intervals=intervals,
            max_gap=max_gap,
            minimum=minimum or {},
            maximum=maximum or {},
            integer=integer,
            lock=lock,
        )
        return self._apply(Frame.read(data, **self._reading(data)), options, clock.perf_counter())

    def _reading(self, data: Any) -> dict[str, Any]:
        reading = dict(self.reading)
        if not isinstance(data, np.ndarray | list | tuple):
            reading["columns"] = self.columns
        return reading

    def _apply(self, frame: Frame, options: FillOptions, began: float) -> FilledTable:
        check_columns(self.columns, frame.columns)
        timeline = Timeline(len(frame.values), frame.time, frame.ids)
        placed = Placed.of(frame.values, frame.columns, timeline)
        rules = options.rules(placed.panel.times, kinds=self.kinds)
        return _filled_frame(frame, timeline, _fill(self.judged, placed, rules, options.intervals), began)

    def live(
        self,
        *,
        lag: int = 48,
        intervals: float = 0.9,
        step: str | None = None,
        engine: str = "torch",
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        integer: Sequence[str] = (),
    ) -> LiveFill:
        """Fill rows as they arrive: `live.push(row, time)` gives the row filled, and earlier ones revised.

        `lag` is for how many rows back fills are revised; `step` the time between rows ("1h"), where it is not
        that of the fitted table.
        """
        rules = Rules(minimum=minimum or {}, maximum=maximum or {}, integer=integer, kinds=self.kinds)
        every = self.clock.get("step") if step is None else round(seconds_of(step) * 1e9)
        from t1.live.fill import LiveFill, with_engine

        return LiveFill(
            self.judged if engine == "torch" else with_engine(self.judged, engine),
            rules,
            lag=lag,
            intervals=intervals,
            step=every,
            first_row=self.clock.get("rows", 0),
        )

    def sense(self, data: Any, *, budget: int = 20, allowed: BoolArray | None = None) -> Sensing:
        """Where to measure next: missing cells of a table by what they would tell of the others; its columns.

        `allowed` (rows, columns) says which cells could be measured; the table must then have no absent rows.
        """
        from t1.sense.rank import sense_panel

        frame = Frame.read(data, **self._reading(data))
        check_columns(self.columns, frame.columns)
        placed = Placed.of(frame.values, frame.columns, Timeline(len(frame.values), frame.time, frame.ids))
        return sense_panel(self.judged, placed.panel, budget=budget, allowed=allowed)

    def save(self, folder: str | Path) -> None:
        """Keep it in a folder: safetensors and JSON, never pickle."""
        from t1.fill.keep import save_kept

        things = {"fill": self.judged, "reading": dict(self.reading), "kinds": dict(self.kinds)}
        save_kept(Path(folder), KIND, {**things, "clock": dict(self.clock)})


def load(folder: str | Path) -> FittedFill:
    """Read a fitted fill that `FittedFill.save` or `t1 train` wrote."""
    from t1.fill.judged import JudgedFill
    from t1.fill.keep import load_kept

    cure = "Give a folder that t1 train or FittedFill.save wrote, or fit again."
    kept = load_kept(Path(folder), KIND, cure)
    fill, reading, kinds = kept.get("fill"), kept.get("reading"), kept.get("kinds")
    if not isinstance(fill, JudgedFill) or not isinstance(reading, dict) or not isinstance(kinds, dict):
        raise InputError(f"{folder} was altered: no fitted fill is in it", cure=cure, option="model")
    return FittedFill(fill, reading, kinds, kept.get("clock", {}))


def fit(
    data: Any,
    *,
    time: str | None = None,
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
    that say when a row is and which series it belongs to (`id` may be several); a pandas index of dates, or a
    column of dates, serves as time by itself, and where times repeat, the columns of text that tell rows apart
    serve as `id`. `kind` overrides what columns are taken for ({"wind_dir": "angle"}). What is surely
    a code for missing (-9999, far from all other values and more than once) counts as missing unless
    `keep_sentinels`. `budget` is "fast" (nothing is trained), a time such as "30s", or "quality".
    """
    began = clock.perf_counter()
    options = FitOptions(method=method, budget=budget, weights=weights, seed=seed)
    frame = Frame.read(
        data, time=time, id=id, columns=columns, exclude=exclude, keep_sentinels=keep_sentinels
    )
    timeline = Timeline(len(frame.values), frame.time, frame.ids)
    placed = Placed.of(frame.values, frame.columns, timeline)
    learning = options.learning(began, every=True, on_progress=on_progress, should_stop=should_stop)
    kinds = _kinds(frame, kind)
    judged = _judge(placed, learning, options, kinds)
    names = id if id is None or isinstance(id, str) else list(id)
    reading = {"time": time, "id": names, "keep_sentinels": keep_sentinels}
    return FittedFill(judged, reading, kinds, _clock(timeline))


def impute(
    data: Any,
    *,
    time: str | None = None,
    id: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    kind: Mapping[str, str] | None = None,
    keep_sentinels: bool = False,
    method: str | None = None,
    budget: str | float = "30s",
    weights: str | Path | None = None,
    engine: str = "torch",
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

    `engine="onnx"` runs the pretrained network in onnxruntime instead of torch; it cannot train.

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
    timeline = Timeline(len(frame.values), frame.time, frame.ids)
    placed = Placed.of(frame.values, frame.columns, timeline)
    kinds = _kinds(frame, kind)
    rules = options.rules(placed.panel.times, kinds=kinds)
    rules.check(frame.columns)  # a typing error is found before anything is learned
    learning = fit_options.learning(began, on_progress=on_progress, should_stop=should_stop)
    judged = _judge(placed, learning, fit_options, kinds)
    return _filled_frame(frame, timeline, _fill(judged, placed, rules, intervals), began)


def _judge(placed: Placed, learning: Learning, options: FitOptions, kinds: Mapping[str, Kind]) -> JudgedFill:
    from t1.fill.fit import fit_panel

    return fit_panel(placed.panel, learning, method=options.method, tune=options.trains, kinds=kinds)


def _filled_frame(frame: Frame, timeline: Timeline, filled: Filled, began: float) -> FilledTable:
    """The fill in the container that the table came in."""
    return FilledTable.of(
        filled,
        data=frame.restore(filled.values, filled.observed),
        times=frame.time,
        ids=frame.ids,
        series=timeline.series,
        name="table",
        problems=(*frame.doubts, *timeline.problems(), *filled.notes),
        understood=frame.understood,
        seconds=clock.perf_counter() - began,
    )


def _clock(timeline: Timeline) -> dict[str, int]:
    """How many rows a table has, and the step that all its series share."""
    steps = {None if grid is None or grid.months else grid.step for grid in timeline.grids}
    step = steps.pop() if len(steps) == 1 else None
    rows = max((len(rows) for rows in timeline.series), default=0)
    return {"rows": rows} if step is None else {"rows": rows, "step": step}


def _kinds(frame: Frame, given: Mapping[str, str] | None) -> dict[str, Kind]:
    return find_kinds(frame.values, frame.columns, ids=frame.ids, times=frame.time, given=given)


def _in_panel(rules: Rules, placed: Placed) -> Rules:
    """Rules whose locked row numbers, which are the table's, are rows of the panel."""
    if placed.panel.times is not None or placed.as_they_are or not rules.locked:
        return rules
    locked = np.zeros(placed.panel.n_rows, dtype=bool)
    locked[placed.at] = rules.locked_rows(len(placed.at), None)
    return replace(rules, locked=[locked])


def _fill(judged: JudgedFill, placed: Placed, rules: Rules, level: float | None) -> Filled:
    """The fill in the rows of the table."""
    filled = judged.fill(placed.panel, rules=_in_panel(rules, placed), level=level)
    return filled if placed.as_they_are else filled.rows(placed.at, placed.values)


# ---------------------------------------------------------------- files


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
    fitted = None if model is None else load(model)
    for option, given in (("method", fit_options.method), ("engine", fit_options.engine != "torch")):
        if fitted is not None and given:
            raise InputError(
                "a fitted model brings its own methods, so none can be chosen",
                cure="Leave one of the two out.",
                option=option,
            )
    file = read_file(source, **reading)
    timeline = Timeline(len(file.values), file.time, file.ids)
    kinds = file.kinds if fitted is None else fitted.kinds
    rules = fill_options.rules(file.time, getattr(file, "time_format", None), kinds)
    rules.check(file.columns)
    placed = Placed.of(file.values, file.columns, timeline, add_rows=add_missing_rows)
    gaps = np.isnan(file.values).any(axis=0) | (add_missing_rows and len(placed.absent) > 0)
    banded = [] if fill_options.intervals is None else np.flatnonzero(gaps).tolist()
    bands = [f"{file.columns[j]}_{end}" for j in banded for end in ("lo", "hi")]
    file.check(target, extra=bands, new_rows=add_missing_rows)  # what must fail fails before time is spent
    if on_understood is not None:
        on_understood(file.understood)
    if fitted is not None:
        check_columns(fitted.columns, file.columns)
        judged = fitted.judged
    else:
        learning = fit_options.learning(began, on_progress=on_progress, should_stop=should_stop)
        judged = _judge(placed, learning, fit_options, kinds)
    whole = judged.fill(placed.panel, rules=_in_panel(rules, placed), level=fill_options.intervals)
    filled = whole if placed.as_they_are else whole.rows(placed.at, placed.values)
    gappy: BoolArray = ~np.all((whole if add_missing_rows else filled).observed, axis=0)
    added = _added(placed, whole, file.ids is not None) if add_missing_rows else None
    new_rows = None if added is None else _new_rows(added, gappy)
    extra = _Bands(filled, gappy)
    file.write(target, filled.values, observed=filled.observed, extra=extra, new_rows=new_rows)
    return FilledTable.of(
        filled,
        data=None,
        times=file.time,
        ids=file.ids,
        added=added,
        series=timeline.series,
        name=str(source),
        problems=(*file.problems, *timeline.problems(), *filled.notes),
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
    timeline = Timeline(len(file.values), file.time, file.ids)
    placed = Placed.of(file.values, file.columns, timeline)
    learning = options.learning(began, every=True, on_progress=on_progress, should_stop=should_stop)
    fitted = FittedFill(
        _judge(placed, learning, options, file.kinds),
        {
            "time": file.time_column,
            "id": file.id_column,
            "keep_sentinels": bool(reading.get("keep_sentinels", False)),
        },
        file.kinds,
        _clock(timeline),
    )
    fitted.save(folder)
    return fitted


def sense_file(
    source: str | Path, *, reading: Mapping[str, Any], budget: int = 20, model: str | Path | None = None
) -> Sensing:
    """Where to measure next in a file; without a `model` a fill is fitted to it, and nothing is trained."""
    from t1.sense.rank import sense_panel

    fitted = None if model is None else load(model)
    file = read_file(source, **reading)
    placed = Placed.of(file.values, file.columns, Timeline(len(file.values), file.time, file.ids))
    if fitted is not None:
        check_columns(fitted.columns, file.columns)
        return sense_panel(fitted.judged, placed.panel, budget=budget)
    options = FitOptions(method="t1", budget="fast")
    judged = _judge(placed, options.learning(clock.perf_counter(), every=True), options, file.kinds)
    return sense_panel(judged, placed.panel, budget=budget)


def _added(placed: Placed, whole: Filled, panel: bool) -> AddedRows | None:
    """The fill at time stamps that the file lacks; `panel`: it has several series."""
    absent = placed.absent
    if not len(absent) or placed.panel.times is None:
        return None
    ids = placed.ids_of(absent) if panel else None
    return AddedRows(filled=whole.rows(absent), times=placed.panel.times[absent], ids=ids)


def _new_rows(added: AddedRows, gappy: BoolArray) -> NewRows:
    bands = _Bands(added.filled, gappy)
    extra = {name: bands[name] for name in bands} or None
    return NewRows(times=added.times, values=added.filled.values, ids=added.ids, extra=extra)


def _with_place(origin: pd.DataFrame, times: TimeArray | None, ids: AnyArray | None) -> pd.DataFrame:
    """The provenance with the time and the id of each cell's row."""
    row = origin["row"].to_numpy()
    for name, cells in (("id", ids), ("time", times)):
        if cells is not None:
            origin.insert(1, name, cells[row])
    return origin


class _Bands(Mapping[str, FloatArray]):
    """The columns <name>_lo and <name>_hi of a fill with intervals, each made when it is asked for.

    Only `gappy` columns (vars,) get them.
    """

    def __init__(self, filled: Filled, gappy: BoolArray) -> None:
        self.filled = filled
        ends = () if filled.missing.lo is None else ("lo", "hi")
        self.names = {
            f"{name}_{end}": (end, j) for j, name in enumerate(filled.columns) if gappy[j] for end in ends
        }

    def __getitem__(self, name: str) -> FloatArray:
        return self.filled.band(*self.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
