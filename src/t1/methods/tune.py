"""T1 tuned on the panel: the pretrained weights go on learning from its windows, as long as that helps."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np

from t1.device import resolve_device
from t1.methods.base import Learning, LeftOut
from t1.methods.t1 import TUNED, T1Fill
from t1.methods.tuning_windows import EVERY, FixedBatches, TuningWindows
from t1.methods.windows import Network
from t1.models.t1 import T1
from t1.panel import Panel
from t1.schedule import TrainConfig
from t1.train import FitResult, fit_source

# A small table is learned by heart soon: its training is planned for so many steps and one more for so many cells, so
# that the learning rate has fallen when it ends.
FIRST_STEPS, CELLS_PER_STEP = 200, 10
LEAST_SECONDS = 4.0  # of training: with less it does not get better
PATIENCE = 8  # validations without a better loss that end the training
SLACK = 0.02  # of a validation loss: what is within it is as good, as few cells validate
LONG = 150.0  # seconds from which on an encoding of its own for every variable is worth learning
JUDGED = 0.4  # share of the time in which it learns without the cells that it is judged by; then from all
RATE, HIGHEST_RATE = 5e-4, 8e-4  # of a training of SHORT seconds, and of a longer one
SHORT = 15.0
# of that rate, for a network that was tuned and judged already: it takes up the cells that judged it
GO_ON = 0.65


class Tuned(NamedTuple):
    """What came of a training."""

    fill: TunedFill
    result: FitResult
    error: float  # on cells that did not train, relative to the error before


@dataclass(frozen=True, eq=False)
class TunedFill(T1Fill):
    """The pretrained network after some training on the table."""

    name: ClassVar[str] = TUNED

    @classmethod
    def tune(cls, start: T1Fill, panel: Panel, learning: Learning) -> TunedFill:
        """Train with what is left of the budget; raises LeftOut where that is too little, or the user said stop."""
        if learning.stopped:
            raise LeftOut("T1 was not tuned: the run was stopped early, while methods were judged")
        seconds = learning.left()
        if seconds < LEAST_SECONDS:
            raise LeftOut(f"T1 was not tuned: {max(seconds, 0):.0f} s of the budget were left for it")
        first = JUDGED * seconds
        tuned = cls.train(start, panel, learning, first if first >= LEAST_SECONDS else seconds).fill
        if tuned.network is start.network:
            raise LeftOut("T1 was tuned, which did not help: it fills as it was")
        return tuned

    def go_on(self, panel: Panel, learning: Learning, judged: Panel) -> tuple[TunedFill, float]:
        """Train on with what is left of the budget, now from all cells; as it is where that is too little.

        `judged` is the panel that it was tuned on before. The second is its error relative to before, on cells that
        neither training learned from.
        """
        if learning.stopped or learning.budget is None or (seconds := learning.left()) < LEAST_SECONDS:
            return self, 1.0
        tuned = self.train(self, panel, learning, seconds, before=judged, rate=GO_ON)
        return tuned.fill, tuned.error

    @classmethod
    def train(
        cls,
        start: T1Fill,
        panel: Panel,
        learning: Learning,
        seconds: float,
        *,
        before: Panel | None = None,
        max_steps: int | None = None,
        rate: float = 1.0,
    ) -> Tuned:
        """Train for so many seconds or steps at most, and keep the weights that validate best.

        With `before`, the panel of an earlier training, the cells that validated then do so again. `rate` is relative
        to the learning rate that pretrained weights begin with.
        """
        windows = TuningWindows(start, panel, learning.seed, panel if before is None else before)
        if not windows.usable:
            raise LeftOut("T1 was not tuned: too little was observed")
        network = _trainable(start, panel.n_vars, seconds)
        config = TrainConfig(
            seed=learning.seed,
            learning_rate=rate * float(np.clip(RATE * np.sqrt(seconds / SHORT), RATE, HIGHEST_RATE)),
            schedule="cosine",
            warmup=0.05,
            optimiser="adamw",
            weight_decay=0.01,
            clip=1.0,
            average=0.97,
            max_epochs=None,
            max_steps=max_steps or FIRST_STEPS + int(panel.observed.sum()) // CELLS_PER_STEP,
            max_seconds=None if np.isinf(seconds) else seconds,
            clock=learning.clock,
            patience=PATIENCE,
            slack=SLACK,
            validate_every=EVERY,
        )
        batches = [windows.validation(k) for k in range(windows.n_validations)]
        validation = FixedBatches(batches, windows.fingerprint)
        error_before = validation.loss(network, windows.device, lambda: False)
        result = fit_source(
            network,
            windows,
            config,
            validation=validation,
            device=resolve_device("auto"),
            on_progress=learning.on_progress,
            should_stop=learning.should_stop,
        )
        if result.reason == "stopped":
            learning.notes.append("training was stopped early; the best weights so far were used")
        kept: Network = network.eval()
        after = {record.step: record.valid_loss for record in result.history}.get(result.best_step)
        error = 1.0 if after is None or error_before is None else after / error_before
        if error >= 1 + SLACK:  # clearly worse: what is close, hidden cells of the table tell better
            kept = start.network
        error = min(error, 1.0)
        same = {f.name: getattr(start, f.name) for f in fields(start)}
        return Tuned(cls(**same | {"network": kept}), result, error)


def _trainable(start: T1Fill, n_vars: int, seconds: float) -> T1:
    """A copy to train; in a long training of one group every variable has an encoding of its own."""
    network = start.network
    assert isinstance(network, T1)  # the options see to it that only torch trains
    shared = network.config.encoding == "shared"
    if shared and seconds >= LONG and len(start.groups) == 1 and len(start.groups[0].columns) == n_vars:
        return network.for_variables(n_vars)
    copy = T1(network.config)
    copy.load_state_dict(network.state_dict())
    return copy
