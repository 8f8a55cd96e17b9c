"""One regression for all series of a panel: what columns say of each other in one country holds in the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from t1.arrays import FloatArray
from t1.methods.base import Learning, Pace
from t1.methods.regression import RegressionFill, learn_regression, one_thread
from t1.panel import Panel


@dataclass(frozen=True, eq=False)
class TogetherFill(RegressionFill):
    """A regression that is learned from all series, also for series that it has never seen."""

    name: ClassVar[str] = "together"

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Learn from all series at once, which follow each other with a row of nothing between."""
        period = usual_period(learning.periods)
        with one_thread(panel.n_vars):
            found = learn_regression(
                one_after_the_other(panel, period),
                period,
                every=learning.every,
                on_share=Pace(learning, cls.name, times=3),
            )
        return cls({None: found.at_phase(int(panel.phase[0]))})


def one_after_the_other(panel: Panel, period: int | None) -> FloatArray:
    """All rows of a panel as one table, in step with the season: what lies between two series is missing."""
    parts: list[FloatArray] = []
    length = 0
    for span, phase in zip(panel.spans, panel.phase.tolist(), strict=True):
        between = int(length > 0)
        if period is not None:
            between += (phase - int(panel.phase[0]) - length - between) % period
        parts += [np.full((between, panel.n_vars), np.nan), panel.values[span]]
        length += between + span.stop - span.start
    return np.concatenate(parts)


def usual_period(periods: Mapping[Any, int | None]) -> int | None:
    """The period that most series have, of several the one that comes first."""
    every = list(periods.values())
    return max(dict.fromkeys(every), key=every.count) if every else None
