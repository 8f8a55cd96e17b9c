"""`t1.impute`: one table in, the same table back without gaps, and how wrong the fill is.

The command line is a thin shell over `impute_file`; both share `Options` and `fill_values`.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.arrays import FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.data.data_file import DataFile, NewRows
from t1.data.files import read_file
from t1.data.table import Table, check_columns
from t1.data.timeline import Timeline
from t1.errors import InputError
from t1.fill import Candidate, Filled, classic_candidates, fill_table
from t1.fill.candidates import SIMPLE_FIRST, WHOLE, classic_candidate, whole_candidate
from t1.fill.grid import Absent, Grid
from t1.fill.learned import T1Candidate
from t1.fill.plan import Plan
from t1.imputer import T1Imputer
from t1.models.catalog import MODELS
from t1.models.classic import CLASSIC
from t1.options import Options, options_of
from t1.progress import OnProgress
from t1.registry import did_you_mean

SAVING = 0.95  # of a budget is for training, where nothing has to be filled


@dataclass(frozen=True, kw_only=True)
class FilledTable(Filled):
    """A filled table: `data` in the container it came in, `scorecard`, `provenance`, `report(path)`."""

    data: Any = field(repr=False)
    times: npt.NDArray[Any] | None = field(repr=False)
    series: list[IntArray] = field(repr=False)  # the rows of each series in time order
    name: str
    problems: tuple[str, ...]
    seconds: float

    @classmethod
    def of(cls, filled: Filled, **table: Any) -> FilledTable:
        """A fill together with the table it belongs to."""
        return cls(**{f.name: getattr(filled, f.name) for f in fields(Filled)}, **table)

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
        )


def impute(
    data: Any,
    *,
    time: str | None = None,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    **options: Any,
) -> FilledTable:
    """Fill the gaps of a pandas, polars or pyarrow table, or of an array (time, columns).

    `time` and `id` name columns that say when a row is and which series it belongs to (a pandas index of
    dates serves as time by itself); columns that are not numbers pass through untouched. `options` are those
    of `Options`: method, intervals, max_gap, minimum, maximum, integer, lock, budget, seed.
    """
    began = clock.perf_counter()
    chosen = options_of(options)
    if isinstance(data, np.ndarray | list | tuple):
        names, times, ids = None, None, None
        part = data
    else:
        names, times, ids = _columns(data, time, id, columns, exclude)
        part = _select(data, names)
    table = Table.from_any(part)
    timeline = Timeline(len(table.values), times, ids)
    columns_of_table, values = table.columns, table.values
    del table  # with its copy of the numbers, which become the fill
    filled, notes, _ = fill_values(values, columns_of_table, timeline, chosen, began=began)
    native = _to_native(part, columns_of_table, filled)
    return FilledTable.of(
        filled,
        data=native if names is None else _join(data, native, names),
        times=times,
        series=timeline.series,
        name="table",
        problems=(*timeline.problems(), *notes),
        seconds=clock.perf_counter() - began,
    )


def impute_file(
    source: str | Path,
    target: str | Path,
    *,
    reading: Mapping[str, Any],
    options: Options,
    model: str | Path | None = None,
    add_missing_rows: bool = False,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FilledTable:
    """Fill a CSV or Parquet file and write the same file back with its gaps filled.

    `model` is a folder that `train_file` wrote: its network is used as it is, and nothing is trained.
    """
    began = clock.perf_counter()
    fitted = None if model is None else T1Imputer.load(model)
    file = read_file(source, **reading)
    if fitted is not None:
        check_columns(tuple(fitted.get_feature_names_out()), file.columns)
    timeline = Timeline(len(file.values), file.time, file.ids)
    options.rules(file.time).check(file.columns)  # a typing error is found before the training, not after
    filled, notes, absent = fill_values(
        file.values,
        file.columns,
        timeline,
        options,
        began=began,
        model=fitted,
        add_missing_rows=add_missing_rows,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    _write(file, target, filled, absent)
    return FilledTable.of(
        filled,
        data=None,
        times=file.time,
        series=timeline.series,
        name=str(source),
        problems=(*file.problems, *timeline.problems(), *notes),
        seconds=clock.perf_counter() - began,
    )


def train_file(
    source: str | Path,
    folder: str | Path,
    *,
    reading: Mapping[str, Any],
    options: Options,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> T1Imputer:
    """Train T1 on the observed cells of a file and save it, for `impute_file(model=folder)`."""
    began = clock.perf_counter()
    file = read_file(source, **reading)
    grid = Grid.of(file.values, Timeline(len(file.values), file.time, file.ids))
    seconds = options.seconds * SAVING - (clock.perf_counter() - began)
    imputer = T1Imputer(max_seconds=max(seconds, 1.0), seed=options.seed, progress=False)
    imputer.fit_series(
        [grid.values[rows] for rows in grid.series],
        columns=file.columns,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    imputer.save(folder)
    return imputer


def fill_values(
    values: FloatArray,
    columns: Sequence[str],
    timeline: Timeline,
    options: Options,
    *,
    began: float,
    model: T1Imputer | None = None,
    add_missing_rows: bool = False,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[Filled, list[str], Absent | None]:
    """Fill (rows, vars) in time order, absent time stamps counted as gaps; notes say what was unusual.

    The budget runs from `began` on. To save memory, `values` are used up: they may come back as the fill.
    """
    if not (~np.isnan(values)).any():
        raise InputError(
            "every value of the table is missing, so nothing can be learned from it.\n"
            "Check how the file was read: the missing-value code or the decimal sign may be wrong."
        )
    plan = Plan.of(options.seconds, began)
    learned = T1Candidate(
        seed=options.seed,
        on_progress=on_progress,
        should_stop=should_stop,
        model=model,
        plan=plan,
        forced=options.method is not None,
        name=options.method if options.method is not None and options.method in MODELS else "t1",
    )
    candidates: list[Candidate] = [*classic_candidates(plan if options.method is None else None)]
    if options.method in WHOLE:
        candidates.append(whole_candidate(options.method, plan, options.seed))
    elif options.method is None or options.method in MODELS:
        candidates.append(learned)
    elif options.method in CLASSIC and options.method not in SIMPLE_FIRST:
        candidates.append(classic_candidate(options.method))
    elif options.method not in CLASSIC:
        known = (*CLASSIC, *WHOLE, *MODELS)
        hint = did_you_mean(options.method, known)
        raise InputError(f"unknown method {options.method!r}.\n{hint}")
    grid = Grid.of(values, timeline)
    filled = fill_table(
        grid.values,
        columns,
        candidates,
        level=options.intervals,
        rules=options.rules(timeline.times),
        seed=options.seed,
        forced=options.method,
        series=grid.series,
        times=grid.times,
        in_place=True,
    )
    absent = grid.absent(filled) if add_missing_rows else None
    if add_missing_rows and absent is None and timeline.times is None:
        raise InputError("--add-missing-rows needs a time column.\nName it with --time COL.")
    return grid.back(filled), [*filled.notes, *learned.notes], absent


def _write(file: DataFile, target: str | Path, filled: Filled, absent: Absent | None) -> None:
    extra_new = {}
    if absent is not None and absent.lo is not None and absent.hi is not None:
        for j, name in enumerate(file.columns):
            extra_new[f"{name}_lo"], extra_new[f"{name}_hi"] = absent.lo[:, j], absent.hi[:, j]
    new_rows = None
    if absent is not None:
        new_rows = NewRows(times=absent.times, values=absent.values, ids=absent.ids, extra=extra_new or None)
    file.write(target, filled.values, observed=filled.observed, extra=_Bands(filled), new_rows=new_rows)


class _Bands(Mapping[str, FloatArray]):
    """The columns <name>_lo and <name>_hi of a fill with intervals, each made when it is asked for."""

    def __init__(self, filled: Filled) -> None:
        self.filled = filled
        ends = () if filled.missing.lo is None else ("lo", "hi")
        self.names = {f"{name}_{end}": (end, j) for j, name in enumerate(filled.columns) for end in ends}

    def __getitem__(self, name: str) -> FloatArray:
        return self.filled.band(*self.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


# ---------------------------------------------------------------- options and containers


def _columns(
    data: Any, time: str | None, id: str | None, columns: Sequence[str] | None, exclude: Sequence[str]
) -> tuple[list[str], npt.NDArray[Any] | None, npt.NDArray[Any] | None]:
    """Which columns to fill, the times and the ids of the rows."""
    frame = nw.from_native(data, eager_only=True)
    for name in (*(columns or ()), *exclude, *(n for n in (time, id) if n is not None)):
        if name not in frame.columns:
            raise InputError(
                f"the table has no column {name!r}.\nIt has: {', '.join(map(str, frame.columns))}."
            )
    numeric = [name for name in frame.columns if frame[name].dtype.is_numeric()]
    wanted = [n for n in (columns or numeric) if n not in (time, id, *exclude)]
    if not wanted:
        raise InputError("no column is numeric, so there is nothing to fill.\nTurn the columns into numbers.")
    times = None
    if time is not None:
        times = pd.to_datetime(frame[time].to_numpy()).to_numpy("M8[ns]")
    elif isinstance(data, pd.DataFrame) and isinstance(data.index, pd.DatetimeIndex):
        times = data.index.tz_localize(None).to_numpy("M8[ns]")
    return wanted, times, None if id is None else frame[id].to_numpy().astype(object)


def _select(data: Any, names: list[str]) -> Any:
    if list(getattr(data, "columns", ())) == names:
        return data
    return data[names] if isinstance(data, pd.DataFrame) else nw.from_native(data).select(names).to_native()


def _to_native(part: Any, columns: tuple[str, ...], filled: Filled) -> Any:
    """The container `part` with its gaps filled."""
    if not isinstance(part, pd.DataFrame) or part.shape[1] < 2:
        values = np.where(filled.observed, filled.values, np.nan)
        return Table(values, columns, part).to_native(filled.values)
    pieces = []
    for block in column_blocks(filled.values.shape):  # a few columns at a time, to save memory
        values = np.where(filled.observed[:, block], filled.values[:, block], np.nan)
        piece = Table(values, columns[block], part.iloc[:, block])
        pieces.append(piece.to_native(filled.values[:, block]))
    whole = pd.concat(pieces, axis=1)
    whole.columns = part.columns
    whole.attrs.update(part.attrs)
    return whole


def _join(data: Any, filled: Any, names: list[str]) -> Any:
    """The table with its filled columns in their places."""
    if list(data.columns) == names and isinstance(data, pd.DataFrame):
        return filled
    if isinstance(data, pd.DataFrame):
        return data.assign(**{name: filled[name] for name in names})
    new = nw.from_native(filled, eager_only=True)
    return nw.from_native(data, eager_only=True).with_columns(*(new[name] for name in names)).to_native()
