"""Ways to fill a table: what every candidate can do, and the classic ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.data.blocks import column_blocks
from t1.data.scale import Scaler
from t1.fill.holdout import HoldOut
from t1.fill.plan import TRIES, Pace, Plan
from t1.models.classic import CLASSIC, linear
from t1.models.pswi import pswi, settings_for
from t1.models.regression import OnShare, Regression, learn_regression
from t1.models.seasons import find_period
from t1.models.tabular import iterative, knn

Fills = Iterator[tuple[IntArray, FloatArray]]  # some columns, and their fill (time, columns); then others
Filler = Callable[[FloatArray], Fills]  # (time, vars) with NaN -> its columns filled, a few at a time

SIMPLE_FIRST = ("linear", "nearest", "seasonal", "regression")
Whole = Callable[[FloatArray, int, float], FloatArray]  # (time, vars) with NaN, a seed, seconds to spend
WHOLE: dict[str, Whole] = {
    "knn": lambda values, seed, seconds: knn(values),
    "iterative": lambda values, seed, seconds: iterative(values, seed=seed),
    "pswi": lambda values, seed, seconds: pswi(
        values, rng=seed, seconds=seconds, **settings_for("any other")
    ),
}


class Candidate(Protocol):
    """A way to fill. In a panel the series are stacked, and begin at the rows `hold.starts`."""

    @property
    def name(self) -> str: ...

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """Learn from `masked` (time, vars), NaN where missing or held out; it is changed after the call.

        NaN in a fill, or a column that is not filled, goes to linear; so does all of it after a `LeftOut`.
        """
        ...


@dataclass
class _Periods:
    """The period of each series of a table, found once for all methods that need it."""

    hold: HoldOut | None = None
    found: list[int | None] = field(default_factory=list)

    def of(self, masked: FloatArray, hold: HoldOut) -> list[int | None]:
        if self.hold is not hold:
            self.hold, self.found = hold, [find_period(one) for one in np.split(masked, hold.starts[1:])]
        return self.found


@dataclass
class _Classic:
    name: str
    plan: Plan | None
    periods: _Periods

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """A regression learns its weights, a season its period; the others have nothing to learn."""
        cuts = hold.starts[1:]
        periods = self.periods.of(masked, hold) if self.name in ("seasonal", "regression") else []
        learned = self._learn(np.split(masked, cuts), periods) if self.name == "regression" else []
        done = 0

        def fill(values: FloatArray) -> Fills:
            nonlocal done
            plan = self.plan or Plan(np.inf, 0.0)
            began = plan.clock()
            plan.fills.pop(self.name, None)
            on_share = self._pace(TRIES + 1 - done)
            if self.name == "regression":
                yield from _regress(learned, values, cuts, on_share)
            else:
                yield from self._by_blocks(values, cuts, periods, on_share)
            plan.fills[self.name] = plan.clock() - began
            done += 1

        return fill

    def _learn(self, series: list[FloatArray], periods: list[int | None]) -> list[Regression]:
        learned: list[Regression] = []
        on_share = self._pace(3)  # all fills together take about twice as long as learning
        for one, period in zip(series, periods, strict=True):
            learned.append(learn_regression(one, period, on_share=on_share if len(series) == 1 else None))
            on_share(len(learned) / len(series))
        return learned

    def _pace(self, fills: int) -> OnShare:
        # What falls back on linear needs it, and a method that was chosen has to fill in the end.
        if self.plan is None or self.name == "linear" or fills <= 1:
            return lambda share: None
        return Pace(self.plan, self.name, fills)

    def _by_blocks(
        self, values: FloatArray, cuts: IntArray, periods: list[int | None], on_share: OnShare
    ) -> Fills:
        on_share(0.0)
        for block in column_blocks(values.shape):
            filled = []
            for s, one in enumerate(np.split(values[:, block], cuts)):
                if self.name != "seasonal":
                    filled.append(CLASSIC[self.name](one))
                else:
                    period = periods[s]
                    filled.append(linear(one) if period is None else CLASSIC["seasonal"](one, period=period))
            whole = filled[0] if len(filled) == 1 else np.concatenate(filled)
            yield np.arange(block.start, block.stop), whole
            on_share(block.stop / values.shape[1])


def _regress(learned: list[Regression], values: FloatArray, cuts: IntArray, on_share: OnShare) -> Fills:
    if len(learned) == 1:
        for j, column in learned[0].fill(values, on_share):
            yield np.array([j]), column[:, None]
        return
    out = np.full(values.shape, np.nan)
    for k, (one, filled, known) in enumerate(
        zip(np.split(values, cuts), np.split(out, cuts), learned, strict=True)
    ):
        for j, column in known.fill(one):
            filled[:, j] = column
        on_share((k + 1) / len(learned))
    yield np.arange(values.shape[1]), out


@dataclass(frozen=True)
class _Whole:
    """A method that looks at all columns of a series together, in standard units."""

    name: str
    plan: Plan
    seed: int

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """Nothing is learned beforehand: each fill learns from the table it fills."""
        cuts = hold.starts[1:]
        to_come = (TRIES + 1) * (len(cuts) + 1)

        def fill(values: FloatArray) -> Fills:
            nonlocal to_come
            parts = []
            for one in np.split(values, cuts):
                scaler = Scaler.from_observed(one)
                seconds = max(self.plan.left(), 0.0) / max(to_come, 1)
                parts.append(scaler.unscale(WHOLE[self.name](scaler.scale(one), self.seed, seconds)))
                to_come -= 1
            yield np.arange(values.shape[1]), np.concatenate(parts)

        return fill


def whole_candidate(name: str, plan: Plan, seed: int) -> Candidate:
    """One of `WHOLE`; they are slow, and only tried when they are asked for."""
    WHOLE[name]  # a wrong name fails here
    return _Whole(name, plan, seed)


def classic_candidate(name: str, plan: Plan | None = None) -> Candidate:
    """One of `t1.models.classic.CLASSIC`, applied to each series on its own."""
    CLASSIC[name]  # a wrong name fails here
    return _Classic(name, plan, _Periods())


def classic_candidates(plan: Plan | None = None) -> list[Candidate]:
    """The classic methods worth a try, from simple to complex; within a plan they keep to its budget."""
    periods = _Periods()
    return [_Classic(name, plan, periods) for name in SIMPLE_FIRST]
