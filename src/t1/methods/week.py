"""T1 over weeks: the same network, told of the same hour one week away instead of one day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from t1.methods.base import Learning, LeftOut
from t1.methods.t1 import T1Fill
from t1.panel import Panel


@dataclass(frozen=True, eq=False)
class WeekFill(T1Fill):
    """T1, and the regression that it is told of, with seven days as the season of what goes by the week."""

    name: ClassVar[str] = "t1-week"

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Nothing is trained but a regression, as for T1."""
        if not learning.weeks:
            raise LeftOut("t1-week was left out: no column goes by the week")
        return super().fit(
            panel, replace(learning, periods={**learning.periods, **learning.weeks}, told_by={})
        )


def untuned(fitted: T1Fill, panel: Panel, learning: Learning) -> T1Fill:
    """T1 without training, over days or weeks as one that was tuned."""
    return (T1Fill if fitted.periods == learning.periods else WeekFill).fit(panel, learning)
