"""T1 as a candidate: learns from the masked table within a budget, in groups where columns are many."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from t1.fill.coarse import Coarse, block_means, coarse_step
from t1.fill.engine import Filler, FloatArray
from t1.fill.holdout import HoldOut
from t1.imputer import MANY, T1Imputer
from t1.models.classic import linear
from t1.progress import OnProgress

WINDOW = 96
COARSE_SHARE = 0.3  # of the training, for the coarser table where gaps are long
LEAST = 8.0  # seconds of training per group of columns; with less T1 is left out


@dataclass
class T1Candidate:
    """Trains on the masked table for at most `seconds`, or takes a `model`; `notes` say what became of it."""

    seconds: float | None
    seed: int = 102
    on_progress: OnProgress | None = None
    should_stop: Callable[[], bool] | None = None
    model: T1Imputer | None = None
    max_steps: int | None = None  # of each network: a budget that repeats itself to the bit
    name: str = "t1"
    notes: list[str] = field(default_factory=list)

    def prepare(self, masked: FloatArray, hold: HoldOut) -> Filler:
        """Learn one network per group of columns."""
        cuts = hold.starts[1:]
        if self.model is not None:
            model = self.model
            return lambda values: np.concatenate(model.fill_series(np.split(values, cuts)))
        groups = group_columns(masked)
        each = None if self.seconds is None else self.seconds / len(groups)
        if len(groups) > 1 and each is not None and each < LEAST:
            self.notes.append(
                f"T1 was left out: {masked.shape[1]} columns are {len(groups)} groups, and the budget gives "
                f"each {each:.0f} s of the {LEAST:.0f} s it needs. Raise --budget."
            )
            return lambda values: np.full(values.shape, np.nan)
        fitted = [(group, self._learn(np.split(masked[:, group], cuts), each)) for group in groups]

        def fill(values: FloatArray) -> FloatArray:
            out = values.copy()
            for group, network in fitted:
                out[:, group] = np.concatenate(network.fill(np.split(values[:, group], cuts)))
            return out

        return fill

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
            window=WINDOW, max_seconds=limit, max_steps=self.max_steps, seed=self.seed, progress=False
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


def group_columns(values: FloatArray, most: int = MANY) -> list[list[int]]:
    """Groups of at most `most` columns that tell most about each other.

    Attention over columns grows with their square. The rule: the column with the greatest sum of absolute
    correlations opens a group and takes the columns it correlates with most; the rest is grouped likewise.
    Correlations are of the linearly interpolated series; columns without a value are in no group.
    """
    alive = np.flatnonzero(~np.isnan(values).all(axis=0))
    if len(alive) <= most:
        return [alive.tolist()] if len(alive) else []
    rows = np.linspace(0, len(values) - 1, min(len(values), 4000)).astype(np.intp)
    x = linear(values[:, alive])[rows]
    x = x - x.mean(axis=0)
    norm = np.sqrt(np.square(x).sum(axis=0))
    x = x / np.where(norm > 0, norm, 1)
    closeness = np.abs(x.T @ x)
    np.fill_diagonal(closeness, 2)  # whoever opens a group is in it
    left = np.ones(len(alive), dtype=bool)
    groups = []
    while left.any():
        open_ones = np.flatnonzero(left)
        first = open_ones[closeness[np.ix_(open_ones, open_ones)].sum(axis=1).argmax()]
        members = open_ones[np.argsort(-closeness[first, open_ones], kind="stable")][:most]
        groups.append(sorted(alive[members].tolist()))
        left[members] = False
    return groups
