"""How long a run may take here: a few steps are timed, the rest is counted."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import torch

from t1.bench.limits import Limits
from t1.bench.scenarios import scenarios
from t1.bench.standard import UNTRAINED
from t1.bench.study import Run
from t1.data.catalog import load, spec
from t1.device import resolve_device, to_device
from t1.durations import duration
from t1.methods.catalog import build
from t1.models.base import Batch


@dataclass(frozen=True)
class Estimate:
    """Seconds; training is an upper bound: it may stop early."""

    step: float
    epoch: float  # with its validation
    training: float
    scoring: float

    @property
    def total(self) -> float:
        return self.training + self.scoring

    def __str__(self) -> str:
        if not self.step:
            return "nothing to train"
        return (
            f"at most {duration(self.training)} of training (an epoch {duration(self.epoch)}, "
            f"a step {self.step * 1000:.0f} ms), then {duration(self.scoring)} of scoring"
        )


def estimate(run: Run, limits: Limits, device: str = "cpu") -> Estimate:
    """Time the steps of an untrained model on the dataset's own windows."""
    if run.model in UNTRAINED:
        return Estimate(step=0.0, epoch=0.0, training=0.0, scoring=0.0)
    place = resolve_device(device)
    dataset = load(run.dataset, split=run.split, scale=run.scale)
    make = partial(build, run.model, n_vars=dataset.train.n_vars, window=dataset.train.window)
    model = make(**run.settings).to(place)
    values, observed = dataset.train.batch(slice(0, run.batch_size))
    hidden = observed & (np.random.default_rng(run.seed).random(observed.shape) < 0.4)
    batch = Batch(*(to_device(x, place) for x in (values, observed & ~hidden, hidden)))
    # A fill by diffusion takes many passes: one draw of two passes is timed.
    passes = getattr(model.config, "n_samples", 1) * getattr(model.config, "n_diffusion_steps", 1)
    quick = {"n_samples": 1, "n_diffusion_steps": 2} if passes > 1 else {}
    filler = make(**{**run.settings, **quick}).to(place).eval() if quick else model

    def step() -> None:
        model.train()
        model.loss(batch).backward()  # type: ignore[no-untyped-call]
        model.zero_grad(set_to_none=True)

    @torch.no_grad()
    def fill() -> None:
        filler.eval()
        filler(batch.values, batch.observed)

    per_step, per_fill = _timed(step), _timed(fill) / len(values)  # of a batch, of a window
    epoch = per_step * -(-len(dataset.train) // run.batch_size) + per_fill * len(dataset.valid)
    per_window = per_fill * (passes / 2 if quick else 1)
    training = epoch * limits.max_epochs
    n_scenarios = len(scenarios(spec(run.dataset), limits.measures))
    return Estimate(
        step=per_step,
        epoch=epoch,
        training=training if limits.seconds is None else min(training, limits.seconds),
        scoring=per_window * -(-len(dataset.test) // limits.score_every) * n_scenarios,
    )


def _timed(work: Callable[[], None]) -> float:
    work()  # not timed: the first one is slower
    times = []
    for _ in range(3):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return sorted(times)[1]
