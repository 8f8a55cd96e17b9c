"""T1 as a candidate: learns from the masked table within a budget, in groups where columns are many."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.data.series import n_gappy_windows
from t1.fill.candidates import Filler, Fills
from t1.fill.coarse import Coarse, block_means, coarse_step
from t1.fill.holdout import HoldOut
from t1.fill.plan import TRIES, LeftOut, Plan
from t1.imputer import T1Imputer
from t1.network import MANY, seconds_per_window
from t1.progress import OnProgress

WINDOW = 96
COARSE_SHARE = 0.3  # of the training, for the coarser table where gaps are long
LEAST = 8.0  # seconds of training per group of columns; with less T1 is left out
LEAST_SHARE = 0.1  # of the budget for training; with less T1 is left out, or overruns it if it was asked for


@dataclass
class T1Candidate:
    """Trains on the masked table within a plan or for `seconds`, or takes a `model`; `notes` say how it went.

    With a plan it trains with what is left of the budget once its own fills, timed beforehand, are set aside.
    """

    seconds: float | None = None
    seed: int = 102
    on_progress: OnProgress | None = None
    should_stop: Callable[[], bool] | None = None
    model: T1Imputer | None = None
    max_steps: int | None = None  # of each network: a budget that repeats itself to the bit
    plan: Plan | None = None
    forced: bool = False  # it was asked for, and is not left out
    name: str = "t1"  # of the network, in the catalogue of models
    notes: list[str] = field(default_factory=list)

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """Learn one network per group of columns."""
        cuts = hold.starts[1:]
        if self.model is not None:
            fitted = [(np.arange(masked.shape[1]), _Network(self.model, None))]
        else:
            groups = group_columns(masked)
            self._check_budget(self._seconds_left(0.0), masked.shape[1], len(groups))
            ahead = 0.0 if self.plan is None else self._fill_seconds(masked, cuts, groups)
            self._check_budget(self._seconds_left(ahead), masked.shape[1], len(groups))
            fitted = []
            for k, group in enumerate(groups):
                left = self._seconds_left(ahead)  # also what an earlier group did not need
                each = None if left is None else left / (len(groups) - (k if self.plan is not None else 0))
                fitted.append((group, self._learn(np.split(_columns(masked, group), cuts), each)))

        def fill(values: FloatArray) -> Fills:
            for group, network in fitted:
                filled = network.fill(np.split(_columns(values, group), cuts))
                yield group, filled[0] if len(filled) == 1 else np.concatenate(filled)

        return fill

    def _fill_seconds(self, masked: FloatArray, cuts: IntArray, groups: list[IntArray]) -> float:
        """How long all fills by T1 will take, from a timed one of a few windows."""
        each = seconds_per_window(max(len(group) for group in groups), WINDOW, network=self.name)
        windows = sum(n_gappy_windows(one, WINDOW) for one in np.split(masked, cuts))
        return (TRIES + 1) * len(groups) * windows * each

    def _seconds_left(self, ahead: float) -> float | None:
        """What all networks together may train."""
        if self.plan is None:
            return self.seconds
        left = self.plan.left(ahead)
        return max(left, LEAST_SHARE * self.plan.seconds) if self.forced else left

    def _check_budget(self, left: float | None, n_columns: int, n_groups: int) -> None:
        if left is None or self.forced:
            return
        each = max(left, 0.0) / n_groups
        if n_groups > 1 and each < LEAST:
            raise LeftOut(
                f"T1 was left out: {n_columns} columns are {n_groups} groups, and the budget gives "
                f"each {each:.0f} s of the {LEAST:.0f} s it needs. Raise --budget."
            )
        if self.plan is not None and left < LEAST_SHARE * self.plan.seconds:
            raise LeftOut(
                f"T1 was left out: filling the table takes most of the budget, which leaves {each:.0f} s "
                "to learn. Raise --budget."
            )

    def _learn(self, series: list[FloatArray], seconds: float | None) -> "_Network":
        """Train on the series (time, vars) of one group, and on coarser ones where gaps are long."""
        step = coarse_step(series, WINDOW)
        share = 1.0 if step is None else 1 - COARSE_SHARE
        fine = self._train(series, seconds, share)
        if step is None:
            return _Network(fine, None)
        coarse = self._train([block_means(values, step) for values in series], seconds, COARSE_SHARE)
        return _Network(fine, Coarse(coarse, step, WINDOW // 2))

    def _train(self, series: list[FloatArray], seconds: float | None, share: float) -> T1Imputer:
        limit = None if seconds is None else seconds * share
        imputer = T1Imputer(
            network=self.name,
            window=WINDOW,
            max_seconds=limit,
            max_steps=self.max_steps,
            seed=self.seed,
            progress=False,
        )
        imputer.fit_series(series, on_progress=self.on_progress, should_stop=self.should_stop)
        note = "training was stopped early; the best weights so far were used"
        if imputer.result_.reason == "stopped" and note not in self.notes:
            self.notes.append(note)
        return imputer


@dataclass(frozen=True)
class _Network:
    fine: T1Imputer
    coarse: Coarse | None

    def fill(self, series: list[FloatArray]) -> list[FloatArray]:
        supported = series if self.coarse is None else [self.coarse.supported(values) for values in series]
        return self.fine.fill_series(supported)


def _columns(values: FloatArray, group: IntArray) -> FloatArray:
    return values if len(group) == values.shape[1] else values[:, group]


def group_columns(values: FloatArray, most: int = MANY) -> list[IntArray]:
    """Groups of at most `most` columns that tell most about each other.

    Attention over columns grows with their square. The rule: the column with the greatest sum of absolute
    correlations opens a group and takes the columns it correlates with most; the rest is grouped likewise.
    Correlations are of the linearly interpolated series; columns without a value are in no group.
    """
    alive = np.flatnonzero([not np.isnan(column).all() for column in values.T])
    if len(alive) <= most:
        return [alive] if len(alive) else []
    rows = np.linspace(0, len(values) - 1, min(len(values), 4000)).astype(np.intp)
    x = np.empty((len(alive), len(rows)), dtype=np.float32)
    for k, j in enumerate(alive):
        seen = np.flatnonzero(~np.isnan(values[:, j]))
        column = np.interp(rows, seen, values[seen, j])
        column -= column.mean()
        norm = np.sqrt(np.square(column).sum())
        x[k] = column / norm if norm > 0 else 0.0
    closeness = np.abs(x @ x.T)
    np.fill_diagonal(closeness, 2)  # whoever opens a group is in it
    left = np.ones(len(alive), dtype=bool)
    groups = []
    while left.any():
        open_ones = np.flatnonzero(left)
        first = open_ones[(closeness @ left.astype(np.float32))[open_ones].argmax()]
        members = open_ones[np.argsort(-closeness[first, open_ones], kind="stable")][:most]
        groups.append(np.sort(alive[members]))
        left[members] = False
    return groups
