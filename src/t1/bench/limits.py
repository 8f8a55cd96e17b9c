"""How far a run goes, and whether a row is of a training that went as far."""

from dataclasses import dataclass

from t1.bench.store import Row
from t1.bench.study import MAX_EPOCHS, PATIENCE, Run
from t1.schedule import Clock, TrainConfig


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far a run goes: the paper's protocol, or a budget in seconds and a part of the test windows."""

    max_epochs: int = MAX_EPOCHS
    patience: int = PATIENCE
    seconds: float | None = None
    clock: Clock = "wall"  # by which seconds are counted; cpu: processor time
    score_every: int = 1  # of the test windows, for systems that take minutes to fill one
    afresh: bool = False  # with this very budget, though a longer training may be there
    train: bool = True  # False: only score the weights of trainings that have ended
    measures: tuple[str, ...] = ()  # what a study asks for besides the scenarios of the dataset

    def config(self, run: Run) -> TrainConfig:
        """The run's training; under a budget the rate decays to 0 where the budget ends."""
        return TrainConfig(
            seed=run.seed,
            batch_size=run.batch_size,
            learning_rate=run.learning_rate,
            average=run.average,
            schedule="constant" if self.seconds is None else "cosine",
            max_epochs=self.max_epochs,
            patience=self.patience,
            max_seconds=self.seconds,
            clock=self.clock,
        )

    def reached(self, row: Row) -> bool:
        """Whether a row is of a training at least as long as this one, and scored as thoroughly."""
        return row.score_every <= self.score_every and (self.afresh or self._far_enough(row))

    def _far_enough(self, row: Row) -> bool:
        if row.full:
            return True
        if self.seconds is None:
            protocol = row.schedule.endswith("constant")
            return protocol and row.stopped == "epochs" and row.epochs >= self.max_epochs
        if row.epochs >= self.max_epochs:
            return True
        if row.clock != self.clock:  # an hour of a busy machine is not an hour of a processor
            return False
        same_or_more = row.budget_seconds is not None and row.budget_seconds >= self.seconds
        return same_or_more or row.train_seconds >= 0.9 * self.seconds

    def has_budget_of(self, row: Row) -> bool:
        """Whether a row was trained with this very budget."""
        return row.budget_seconds == self.seconds and row.clock == self.clock
