"""What every method can do: learn from a panel, and fill one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np

from t1.arrays import FloatArray
from t1.panel import Panel
from t1.progress import OnProgress, Progress
from t1.schedule import Clock

LARGE = 1_000_000  # cells of a table that T1 fills once, without what a regression says of every cell
SLACK = 0.03  # of a budget: estimates are never right


class LeftOut(Exception):
    """A method cannot take part (too slow for the budget, nothing to learn from); the text says why."""


@dataclass(frozen=True, eq=False)
class Fill:
    """A filled panel (rows, vars): NaN where the method has no answer.

    A method that knows how sure it is of each cell says how far below and above its fill the truth may lie.
    """

    values: FloatArray
    down: FloatArray | None = None
    up: FloatArray | None = None


@dataclass
class Budget:
    """A budget of `seconds` for a whole run, which began at `began` on the clock."""

    seconds: float
    began: float = field(default_factory=perf_counter)
    clock: Callable[[], float] = perf_counter
    ahead: float = 0.0  # seconds of work that are known to follow: fills, writing
    cores: int = 1  # whose seconds the clock adds up, where it counts processor time

    def left(self) -> float:
        """Seconds to spend now."""
        return self.seconds * (1 - SLACK) - (self.clock() - self.began) - self.ahead


@dataclass(kw_only=True)
class Learning:
    """What a method may use while it learns."""

    seed: int = 102
    budget: Budget | None = None  # None: no limit of time
    periods: dict[Any, int | None] = field(default_factory=dict)  # of each series, by its id; found once
    weeks: dict[Any, int] = field(default_factory=dict)  # seven periods of the series that go by the week
    follows: dict[int, tuple[int, ...]] = field(
        default_factory=dict
    )  # columns that are copies or sums of others
    cells: int = 0  # of the table that is filled in the end, where the panel is only a sample of it
    every: bool = False  # learn about every column, also those without gaps: the fit is to be kept
    weights: Any = None  # pretrained weights to start from: a path, "none", or None for the shipped ones
    engine: str = "torch"  # what runs the pretrained network: torch, onnx, or auto, the faster of them
    network: Any = None  # the pretrained network, once it was loaded
    # the regression that T1 and trees are told by: of each series, of all together, or of all side by side
    tells: str = "regression"
    told_by: dict[tuple[int, str], Any] = field(default_factory=dict)  # such regressions, with their panels
    on_progress: OnProgress | None = None
    should_stop: Callable[[], bool] | None = None
    notes: list[str] = field(default_factory=list)  # what the user should know

    @property
    def clock(self) -> Clock:
        """The clock that a training has to go by: that of the budget."""
        by_processor = self.budget is not None and self.budget.clock is process_time
        return "cpu" if by_processor else "wall"

    def is_large(self, panel: Panel) -> bool:
        """Whether what takes as long as T1 again has to be left out."""
        return max(panel.values.size, self.cells) > LARGE

    def left(self) -> float:
        return np.inf if self.budget is None else self.budget.left()

    def is_long(self, seconds: float) -> bool:
        """Whether the whole run has so many seconds or more."""
        return self.budget is None or self.budget.seconds >= seconds * self.budget.cores

    @property
    def stopped(self) -> bool:
        """Whether the user asked to make do with what there is."""
        return self.should_stop is not None and self.should_stop()

    def tell(self, stage: str, best_error: float | None = None) -> None:
        """Say what is being done now."""
        if self.on_progress is not None:
            self.on_progress(Progress.at(stage, best_error))


class FittedMethod(Protocol):
    """A method that has learned what it needs: a dataclass, so that it can be printed, kept and sent."""

    @property
    def name(self) -> str: ...

    def fill(self, panel: Panel) -> Fill:
        """The panel with its missing cells filled."""
        ...


Fit = Callable[[Panel, Learning], FittedMethod]  # learns from observed cells; raises LeftOut if it cannot


@dataclass
class Pace:
    """Stops a method of which the first part of the work shows that all of it would take too long."""

    learning: Learning
    name: str
    times: float  # as much work as this one follows, this one included
    share: float = 1.0  # of what is left of the budget, that it may take
    patience: float = 1.0  # seconds of work before a first judgement
    began: float = np.nan  # by the budget's clock: now, if nothing else is said
    first: tuple[float, float] | None = None  # when the first share was reported, and which

    def __post_init__(self) -> None:
        if self.learning.budget is not None and np.isnan(self.began):
            self.began = self.learning.budget.clock()

    def __call__(self, share: float) -> None:
        """Called by the method with the share of the work that is done; before the first call it sets up."""
        budget = self.learning.budget
        if budget is None:
            return
        now = budget.clock()
        if self.first is None:
            self.first = now, share
        then, done = self.first
        if now - then < self.patience or share <= done:
            return
        work = (now - then) / (share - done)
        whole = then - self.began + work
        if work * (1 - share) + (self.times - 1) * whole > self.share * budget.left():
            raise LeftOut(
                f"{self.name} was left out: it would take about {whole * self.times:.0f} s, more than is "
                "left of the budget for it"
            )
