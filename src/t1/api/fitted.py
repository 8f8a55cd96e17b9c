"""`FittedFill`: a judged fill with what it has to know of tables; it is applied, saved and loaded."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t1.api.filled_table import FilledTable
from t1.arrays import BoolArray
from t1.data.frames import Frame
from t1.data.kinds import Kind
from t1.data.place import Placed
from t1.data.table import check_columns
from t1.data.timeline import Timeline
from t1.data.understood import spoken_ids
from t1.errors import InputError
from t1.fill.rules import Rules
from t1.fill.scorecard import Scorecard
from t1.methods.base import Learning
from t1.options import FillOptions, FitOptions
from t1.panel import Panel
from t1.schedule import seconds_of

if TYPE_CHECKING:  # these bring torch, which takes a second: bad input is told before
    from t1.fill.judged import JudgedFill
    from t1.live.fill import LiveFill
    from t1.sense.rank import Sensing

KIND = "fitted fill"


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
        began = clock.perf_counter()
        frame = self.read(data)
        placed = Placed.of(frame.values, frame.columns, frame.time, frame.ids)
        return self.fill_frame(frame, placed, options, began)

    def read(self, data: Any) -> Frame:
        """Read a table as the fitted one was read; it must have the same columns."""
        by_name = not isinstance(data, np.ndarray | list | tuple)
        frame = Frame.read(data, **self.reading, columns=self.columns if by_name else None)
        check_columns(self.columns, frame.columns)
        return frame

    def fill_frame(self, frame: Frame, placed: Placed, options: FillOptions, began: float) -> FilledTable:
        """Fill a table that was read and placed, in the container that it came in."""
        rules = options.rules(placed.panel.times, kinds=self.kinds).in_panel(placed)
        filled = self.judged.fill(placed.panel, rules=rules, level=options.intervals).in_table(placed)
        return FilledTable.of(
            filled,
            data=frame.restore(filled.values, filled.observed),
            times=frame.time,
            ids=frame.ids,
            series=placed.timeline.series,
            name="table",
            problems=(
                *frame.doubts,
                *spoken_ids(frame.values, frame.columns, self.kinds),
                *placed.timeline.problems(),
                *filled.notes,
            ),
            understood=frame.understood,
            seconds=clock.perf_counter() - began,
        )

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
        every = self.clock.get("step") if step is None else round(seconds_of(step, "step") * 1e9)
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

        frame = self.read(data)
        placed = Placed.of(frame.values, frame.columns, frame.time, frame.ids)
        return sense_panel(self.judged, placed.panel, budget=budget, allowed=allowed)

    def save(self, folder: str | Path) -> None:
        """Keep it in a folder: safetensors and JSON, never pickle."""
        from t1.fill.keep import save_kept

        things = {"fill": self.judged, "reading": dict(self.reading), "kinds": dict(self.kinds)}
        save_kept(Path(folder), KIND, {**things, "clock": dict(self.clock)})


def load(folder: str | Path) -> FittedFill:
    """Read a fitted fill that `FittedFill.save` or `t1 train` wrote.

    >>> import tempfile, numpy as np, t1
    >>> table = np.sin(np.arange(300) / 5)[:, None] * [1.0, 2.0]
    >>> table[100:104, 0] = np.nan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     t1.fit(table, budget="fast").save(folder + "/plant")
    ...     fitted = t1.load(folder + "/plant")
    >>> fitted.apply(table).n_filled
    4
    """
    from t1.fill.judged import JudgedFill
    from t1.fill.keep import load_kept

    cure = "Give a folder that t1 train or FittedFill.save wrote, or fit again."
    kept = load_kept(Path(folder), KIND, cure)
    fill, reading, kinds = kept.get("fill"), kept.get("reading"), kept.get("kinds")
    if not isinstance(fill, JudgedFill) or not isinstance(reading, dict) or not isinstance(kinds, dict):
        raise InputError(f"{folder} was altered: no fitted fill is in it", cure=cure, option="model")
    return FittedFill(fill, reading, kinds, kept.get("clock", {}))


def load_chosen(folder: str | Path | None, options: FitOptions) -> FittedFill | None:
    """The fitted fill to apply, if one is given; then the options may choose no method."""
    if folder is None:
        return None
    fitted = load(folder)
    for option, given in (("method", options.method), ("engine", options.engine == "onnx")):
        if given:
            raise InputError(
                "a fitted model brings its own methods, so none can be chosen",
                cure="Leave one of the two out.",
                option=option,
            )
    return fitted


def judge(panel: Panel, learning: Learning, options: FitOptions, kinds: Mapping[str, Kind]) -> JudgedFill:
    """Let the methods that the options name learn from a panel, and judge them."""
    from t1.fill.fit import fit_panel

    return fit_panel(panel, learning, method=options.method, tune=options.trains, kinds=kinds)


def clock_of(timeline: Timeline) -> dict[str, int]:
    """How many rows a table has, and the step that all its series share."""
    steps = {None if grid is None or grid.months else grid.step for grid in timeline.grids}
    step = steps.pop() if len(steps) == 1 else None
    rows = max((len(rows) for rows in timeline.series), default=0)
    return {"rows": rows} if step is None else {"rows": rows, "step": step}
