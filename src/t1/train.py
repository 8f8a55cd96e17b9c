"""The only training loop, for every model: budgets, early stop, best weights, resume after kill -9.

Everything random in step k is a pure function of the seed and k: the order of an epoch, the hidden cells,
dropout. So a resumed run needs no random state, and ends with the same bits as one that was never killed.
"""

import math
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from t1 import checkpoint
from t1.average import Average
from t1.data.window import WindowSet
from t1.device import own_randomness, resolve_device
from t1.errors import InputError, TrainingDiverged
from t1.memory import keep_freed_memory
from t1.models.base import Model
from t1.progress import OnProgress, Progress
from t1.run_state import (
    FitResult,
    Reason,
    Record,
    RunState,
    Snapshot,
    epoch_of,
    identity,
    load_run,
    restore,
    save_run,
    snapshot,
    weights_of,
)
from t1.schedule import TrainConfig
from t1.source import HiddenWindows, Hide, Source
from t1.validation import VALIDATION, Validation, Validator
from t1.workers import Workers

__all__ = ["FitResult", "Hide", "Record", "Source", "TrainConfig", "fit", "fit_source", "resolve_device"]

DROPOUT = 4  # a stream of random numbers
CLOCKS = {"wall": perf_counter, "cpu": process_time}
LOSSES_AT_ONCE = 16  # a GPU is asked for its losses that seldom, each time it has to be waited for


def fit(
    model: Model,
    train: WindowSet,
    valid: WindowSet | None,
    config: TrainConfig,
    *,
    hide: Hide,
    valid_hide: Hide | None = None,
    device: str | torch.device = "cpu",
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
    workers: Workers | None = None,
) -> FitResult:
    """Train the model to fill the cells that `hide` draws; it ends with the best weights, in eval mode.

    With a `folder` the run is saved there, and `resume` takes it up again where it was when it was killed or
    its budget ended; budgets may have been raised meanwhile. `workers` (see `join_workers`): the processes of
    torchrun, each of which takes its share of every batch.
    """
    for part, windows in (("training", train), ("validation", valid)):
        if windows is not None and not (len(windows) and windows.seen.any()):
            raise InputError(
                f"the {part} part has {len(windows)} windows with {windows.seen.sum()} observed values.\n"
                "Use a longer series, a shorter window or another split."
            )
    place = resolve_device(device)
    validation = None
    if valid is not None:
        validation = Validation(
            valid, valid_hide or hide, seed=config.seed, batch_size=config.eval_batch_size
        )
    return fit_source(
        model,
        HiddenWindows(
            train,
            hide,
            seed=config.seed,
            batch_size=config.batch_size,
            device=place,
            share=(0, 1) if workers is None else (workers.rank, workers.n),
        ),
        config,
        validation=validation,
        device=place,
        folder=folder,
        resume=resume,
        on_progress=on_progress,
        should_stop=should_stop,
        workers=workers,
    )


def fit_source(
    model: Model,
    source: Source,
    config: TrainConfig,
    *,
    validation: Validator | None = None,
    device: str | torch.device = "cpu",
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
    workers: Workers | None = None,
) -> FitResult:
    """`fit` for batches from anywhere. `workers`: other processes train the same model on their shares."""
    keep_freed_memory()
    place = resolve_device(device)
    model.to(place)
    with own_randomness(place) as seed_torch:
        run = _TrainingRun(model, source, validation, config, place, seed_torch, workers or Workers())
        run.folder = Path(folder) if folder is not None else None
        run.on_progress = on_progress or run.on_progress
        run.asked_to_stop = should_stop or run.asked_to_stop
        if resume and run.folder and checkpoint.exists(run.folder):
            run.take_up(run.folder)
        else:
            run.keep()  # also finds out now, not in an hour, whether the folder can be written
        try:
            model.train()
            reason = run.go()
        finally:
            model.load_state_dict(run.best)
            model.train()  # drops what a model may have derived from other weights
            model.eval()
        return run.state.result(reason, source.per_epoch)


class _TrainingRun:
    """A model in training: its optimiser, its state and its best weights."""

    def __init__(
        self,
        model: Model,
        source: Source,
        validation: Validator | None,
        config: TrainConfig,
        device: torch.device,
        seed_torch: Callable[[int], None],
        workers: Workers,
    ) -> None:
        self.model, self.source, self.validation, self.config = model, source, validation, config
        self.device, self.seed_torch, self.workers = device, seed_torch, workers
        self.folder: Path | None = None
        self.on_progress: OnProgress = lambda progress: None
        self.asked_to_stop: Callable[[], bool] = lambda: False
        self.per_epoch = source.per_epoch
        self.pending: list[tuple[int, Tensor]] = []  # losses that were not looked at yet, with their steps
        self.stepping = (0, 0.0)  # steps of this session, and the seconds they took
        self.clock = CLOCKS[config.clock]
        self.started, self.kept_at = self.clock(), perf_counter()
        self.kept_step = -1
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimiser = _optimiser(list(self.parameters.values()), config, device)
        self.average = Average(self.parameters, config.average)
        valid = None if validation is None else validation.fingerprint
        self.identity = identity(model, source.fingerprint, valid, config)
        self.state = RunState()
        self.best = weights_of(model)
        self.before: Snapshot | None = None  # the run before its learning rate fell

    # ------------------------------------------------------------ the loop

    def go(self) -> Reason:
        """Step, validate and save until a budget ends or somebody wants to stop."""
        state = self.state
        every = self.config.validate_every or self.per_epoch
        reason = None
        while reason is None:
            if state.step % every == 0 and state.step != state.validated_step and not self.validate():
                return self.stop()
            reason = self.ended()
            if reason is None:
                if self.should_stop():
                    return self.stop()
                if self.before is None and self.config.cools_down(self.spent()):
                    self.before = self.snapshot().copy()
                self.learn()
                if perf_counter() - self.kept_at >= self.config.checkpoint_seconds:
                    self.keep()
        if state.step != state.validated_step and not self.validate():
            return self.stop()
        return reason

    def ended(self) -> Reason | None:
        """Which budget is used up, if one is."""
        state, config = self.state, self.config
        if config.patience is not None and state.without_better >= config.patience:
            return "patience"
        if self.spent() < 1:
            return None
        if config.max_steps is not None and state.step >= config.max_steps:
            return "steps"
        if config.max_epochs is not None and state.step >= config.max_epochs * self.per_epoch:
            return "epochs"
        return "seconds"

    def stop(self) -> Reason:
        """Keep what there is, without another validation: whoever asked is waiting."""
        if self.state.step != self.kept_step:
            self.keep()
        return "stopped"

    def learn(self) -> None:
        """One step of the optimiser."""
        state, began = self.state, perf_counter()
        batch = self.source.batch(state.step)
        count = 0 if batch is None else int(batch.target.sum()) if self.workers.n > 1 else 1
        total = self.workers.total(count)
        if total:  # else there is nothing to learn from
            self.seed_torch(self.torch_seed(DROPOUT, state.step, self.workers.rank))
            state.learning_rate = self.config.rate(self.spent(), state.step)
            self.optimiser.param_groups[0]["lr"] = state.learning_rate
            if state.schedules[-1:] != [self.config.schedule]:
                state.schedules.append(self.config.schedule)
            loss = torch.zeros(())
            if batch is not None:
                loss = self.model.loss(batch.to(self.device))
                if self.workers.n > 1:  # a mean over all cells of the step, wherever they are
                    loss = loss * (count / total)
                loss.backward()  # type: ignore[no-untyped-call]
            self.workers.add_gradients(self.parameters.values())
            if self.config.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.config.clip)
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            self.average.follow(state.step)
            if self.workers.n > 1:
                loss = torch.tensor(self.workers.total(float(loss.detach())))
            self.pending.append((state.step + 1, loss.detach()))
        state.step += 1
        if self.device.type == "cpu" or len(self.pending) >= LOSSES_AT_ONCE:
            self.look_at_losses()
        self.tick()
        steps, seconds = self.stepping
        self.stepping = (steps + 1, seconds + perf_counter() - began)
        self.report()

    def validate(self) -> bool:
        """Score the validation part and keep the weights if they are the best; False if told to stop."""
        state, began = self.state, self.clock()
        self.check()
        loss = None
        if self.validation is not None:
            self.seed_torch(self.torch_seed(VALIDATION, 0))  # some models draw samples
            with self.average.in_place():
                loss = self.validation.loss(self.model, self.device, self.should_stop)
            if loss is None:
                return False
            if not math.isfinite(loss):
                self.diverged("validation loss", loss, state.step)
            lowest = math.inf if state.best_loss is None else state.best_loss
            state.without_better = 0 if loss < lowest else state.without_better + 1
            state.best_loss = min(loss, lowest)
            if loss < lowest or loss < (1 + self.config.slack) * lowest:
                self.take_as_best()
        state.slowest_validation = max(state.slowest_validation, self.clock() - began)
        self.tick()
        state.history.append(
            Record(
                epoch=epoch_of(state.step, self.per_epoch),
                step=state.step,
                train_loss=state.train_loss,
                valid_loss=loss,
                learning_rate=state.learning_rate,
                seconds=state.seconds,
            )
        )
        state.validated_step = state.step
        state.loss_sum, state.loss_count = 0.0, 0
        self.keep()
        self.report()
        return True

    # ------------------------------------------------------------ bookkeeping

    def tick(self) -> None:
        self.state.seconds = self.workers.agree(self.clock() - self.started)

    def should_stop(self) -> bool:
        return bool(self.workers.agree(float(self.asked_to_stop())))

    def spent(self, state: RunState | None = None) -> float:
        """The share of the budget that was used up in this state, the present one if none is given."""
        state = state or self.state
        return self.config.spent(state.step, self.per_epoch, state.seconds, state.slowest_validation)

    def torch_seed(self, stream: int, number: int, rank: int = 0) -> int:
        sequence = np.random.SeedSequence([self.config.seed, stream, number, *([rank] if rank else [])])
        return int(sequence.generate_state(1, np.uint64)[0] >> 1)

    def take_as_best(self) -> None:
        with self.average.in_place():
            self.best, self.state.best_step = weights_of(self.model), self.state.step

    def keep(self) -> None:
        """Save the run; until a validation has named the best weights, they are the last."""
        state = self.state
        self.check()
        if state.best_loss is None:
            self.take_as_best()
        if self.folder is not None and self.workers.first:
            save_run(self.folder, self.snapshot(), self.before, self.identity)
        self.kept_at, self.kept_step = perf_counter(), state.step

    def snapshot(self) -> Snapshot:
        return snapshot(
            self.state,
            model=self.model,
            best=self.best,
            optimiser=self.optimiser,
            average=self.average.weights,
        )

    def take_up(self, folder: Path) -> None:
        """Go on where the run in this folder stood; with a larger budget, before its learning rate fell."""
        now, before = load_run(folder, model=self.model, identity=self.identity)
        if before is not None and not self.config.cools_down(self.spent(before.state)):
            now, before = before, None
        self.state, self.best, self.average.weights = restore(now, model=self.model, optimiser=self.optimiser)
        self.before = before
        self.started -= self.state.seconds
        self.kept_step = self.state.step
        if self.state.schedules and self.state.schedules[-1] != self.config.schedule:
            self.state.without_better = 0  # another rate may find what the one before did not

    def check(self) -> None:
        """Stop the run before bad weights are scored or saved; a last finite loss may have spoilt them."""
        self.look_at_losses()
        if not all(bool(torch.isfinite(p).all()) for p in self.model.parameters()):
            self.diverged("weights", math.nan, self.state.step)

    def look_at_losses(self) -> None:
        """Add up the losses of the last steps, and stop the run if one is no number."""
        state = self.state
        if not self.pending:
            return
        losses = torch.stack([loss for _, loss in self.pending]).tolist()
        for (step, _), loss in zip(self.pending, losses, strict=True):
            if not math.isfinite(loss):
                self.diverged("training loss", loss, step)
            state.loss_sum += loss
            state.loss_count += 1
        self.pending.clear()

    def diverged(self, what: str, value: float, step: int) -> NoReturn:
        rate, epoch = self.state.learning_rate, epoch_of(step, self.per_epoch)
        raise TrainingDiverged(
            f"the {what} became {value} at step {step} (epoch {epoch}, learning rate {rate:g}).\n"
            f"Use a smaller learning rate, such as {rate / 4:.1g}, and check that every variable is scaled "
            f"to a standard deviation of about 1. The weights of step {self.state.best_step} are kept."
        )

    def report(self) -> None:
        if not self.workers.first:
            return
        state = self.state
        spent = self.spent()
        steps, seconds = self.stepping
        timed = self.config.max_seconds is not None
        self.on_progress(
            Progress(
                step=state.step,
                total_steps=None if timed else self.config.total_steps(self.per_epoch),
                epoch=epoch_of(state.step, self.per_epoch),
                train_loss=state.train_loss,
                valid_loss=state.history[-1].valid_loss if state.history else None,
                best_loss=state.best_loss,
                learning_rate=state.learning_rate,
                steps_per_second=steps / seconds if seconds else None,
                seconds=state.seconds,
                seconds_left=state.seconds * (1 - spent) / spent if spent else None,
            )
        )


def _optimiser(
    parameters: list[torch.nn.Parameter], config: TrainConfig, device: torch.device
) -> torch.optim.Optimizer:
    fused = device.type in ("cpu", "cuda") and all(p.is_floating_point() for p in parameters)
    if config.optimiser == "adamw":
        decay = config.weight_decay
        return torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=decay, fused=fused)
    return torch.optim.Adam(parameters, lr=config.learning_rate, fused=fused)
