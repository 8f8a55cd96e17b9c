"""How to fill: the options of `t1.impute`, by the same names as on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t1.arrays import TimeArray
from t1.data.dates import parse_span
from t1.data.kinds import Kind
from t1.data.time_format import TimeFormat
from t1.errors import InputError
from t1.fill.rules import Rules
from t1.methods.base import Budget, Learning
from t1.methods.catalog import METHODS, MODELS
from t1.onnx.engine import check_libraries
from t1.progress import OnProgress
from t1.schedule import seconds_of

QUALITY = 1800.0  # seconds that the budget "quality" trains at most; it stops when nothing gets better
ENGINES = ("auto", "torch", "onnx")
FAST = "fast"  # nothing is trained


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What may learn, and for how long."""

    method: str | None = None  # None: methods are blended by what the rehearsal shows
    budget: str | float = "30s"
    weights: str | Path | None = None  # pretrained weights: None for the shipped ones, a folder, or "none"
    engine: str = "auto"  # what runs the pretrained network: torch, onnx, which cannot train, or the faster
    seed: int = 102

    def __post_init__(self) -> None:
        seconds_in(self.budget)
        if self.method is not None:
            METHODS[self.method]
        self._check_engine()
        scratch = {"t1", "t1-zero"} if self.weights == "none" else set()
        if not self.trains and self.method in {*MODELS} - {"t1"} | scratch:
            raise InputError(
                f"{self.method} has to be trained on the table, and the budget {FAST!r} trains nothing",
                cure="Give it time: 30s, 5m or quality.",
                option="budget",
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"a seed is a whole number from 0 on, got {self.seed!r}", option="seed")

    def _check_engine(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(
                f"there is no engine {self.engine!r}",
                cure=f"Give {', '.join(ENGINES[:-1])} or {ENGINES[-1]}.",
                option="engine",
            )
        if self.engine == "onnx" and (self.trains or self.weights == "none"):
            raise InputError(
                "the engine onnx runs the pretrained network, it cannot train one",
                cure='Add the budget "fast", which trains nothing, or leave the engine out.',
                option="engine",
            )
        if self.engine == "onnx":
            check_libraries("onnxruntime", "onnx")

    def _engine(self, *, kept: bool) -> str:
        """Torch where it has to be: for what is trained, for what is kept, and for weights of any form."""
        must = kept or self.trains or self.weights is not None
        return "torch" if self.engine == "auto" and must else self.engine

    @property
    def trains(self) -> bool:
        """Whether T1 is tuned on the table."""
        return self.budget != FAST

    def learning(
        self,
        began: float,
        *,
        every: bool = False,
        on_progress: OnProgress | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Learning:
        """What methods may use; the budget runs from `began` on, and what was read has to be written."""
        budget = Budget(seconds_in(self.budget), began)
        budget.ahead = budget.clock() - began
        return Learning(
            seed=self.seed,
            budget=budget if self.trains else None,
            every=every,
            weights=self.weights,
            engine=self._engine(kept=every),
            on_progress=on_progress,
            should_stop=should_stop,
        )


@dataclass(frozen=True, kw_only=True)
class FillOptions:
    """What a fill may never be, and whether it comes with intervals."""

    intervals: float | None = None
    max_gap: int | None = None
    minimum: Mapping[str, float] = field(default_factory=dict)
    maximum: Mapping[str, float] = field(default_factory=dict)
    integer: Sequence[str] = ()
    lock: Sequence[str] = ()  # "START..END" in the table's times, or row numbers

    def __post_init__(self) -> None:
        if self.intervals is not None and not 0 < self.intervals < 1:
            raise InputError(
                f"intervals must be between 0 and 1, got {self.intervals}",
                cure="Give 0.9 for 90 %.",
                option="intervals",
            )

    def rules(
        self,
        times: TimeArray | None,
        format: TimeFormat | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> Rules:
        """The rules about fills, with the locks as pairs of times or row numbers."""
        return Rules(
            max_gap=self.max_gap,
            minimum=self.minimum,
            maximum=self.maximum,
            integer=self.integer,
            locked=[_lock(text, times is not None, format) for text in self.lock],
            kinds=kinds or {},
        )


def seconds_in(budget: Any) -> float:
    """The seconds of a budget: "fast", "quality", "5m" or a number."""
    if budget == "quality":
        return QUALITY
    if budget == FAST:
        return QUALITY  # nothing is trained, so nothing has to be cut short
    if isinstance(budget, int | float) and not isinstance(budget, bool) and budget > 0:
        return float(budget)
    if not isinstance(budget, str):
        raise InputError(
            f"{budget!r} is no budget", cure="Give for example fast, 60s, 5m or 1h.", option="budget"
        )
    return seconds_of(budget)


def _lock(text: str, dated: bool, format: TimeFormat | None) -> tuple[Any, Any]:
    if dated:
        return parse_span(text, format)
    start, dots, end = text.partition("..")
    try:
        return (
            (int(start) if start.strip() else None, int(end) if end.strip() else None) if dots else _no(text)
        )
    except ValueError:
        return _no(text)


def _no(text: str) -> tuple[Any, Any]:
    raise InputError(
        f"{text!r} is no lock for a table without times",
        cure="Give row numbers, as in 100..200; the first row is 0.",
        option="lock",
    )
