"""Where the time of a budget goes: what is spent, what is still to come, and what is left to train with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

SLACK = 0.03  # of the budget: estimates are never right
TRIES = 3  # a method fills the table once for each part of the hold-out, and once more in the end


class LeftOut(Exception):
    """A method does not fit into the budget; the text says so to the user."""


@dataclass
class Plan:
    """A budget of `seconds` for the whole run, which began at `began` on the clock."""

    seconds: float
    began: float
    output: float = 0.0  # seconds that writing will take: about as long as reading took
    clock: Callable[[], float] = perf_counter
    fills: dict[str, float] = field(default_factory=dict)  # seconds of one fill by each method tried so far

    @classmethod
    def of(cls, seconds: float, began: float) -> "Plan":
        """The plan of a run that has just read its table."""
        return cls(seconds, began, output=perf_counter() - began)

    def left(self, ahead: float = 0.0) -> float:
        """Seconds to spend now, if `ahead` seconds of work are known to follow.

        What follows in any case: the last fill by every method tried so far, and writing.
        """
        spent = self.clock() - self.began
        return self.seconds * (1 - SLACK) - spent - self.output - sum(self.fills.values()) - ahead


@dataclass
class Pace:
    """Stops a method of which the first part of the work shows that all of it would take too long."""

    plan: Plan
    name: str
    fills: int  # that are still to come, this one included
    patience: float = 1.0  # seconds of work before a first judgement
    began: float = field(init=False)
    first: tuple[float, float] | None = None  # when the first share was reported, and which

    def __post_init__(self) -> None:
        self.began = self.plan.clock()

    def __call__(self, share: float) -> None:
        """Called by the method with the share of this fill that is done; before the first call it sets up."""
        now = self.plan.clock()
        if self.first is None:
            self.first = now, share
        then, done = self.first
        if now - then < self.patience or share <= done:
            return
        work = (now - then) / (share - done)
        whole = then - self.began + work
        if work * (1 - share) + (self.fills - 1) * whole > self.plan.left():
            raise LeftOut(
                f"{self.name} was left out: it would take about {whole * self.fills:.0f} s, more than is "
                "left of the budget. Raise --budget."
            )
