"""The settings of a training run: its budgets, and the learning rate over the budget."""

import math
import re
from dataclasses import dataclass
from typing import Literal, get_args

from t1.errors import InputError

Schedule = Literal["constant", "cosine", "trapezoid"]
Clock = Literal["wall", "cpu"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How to train; the defaults are the paper's (section 4). The budget that ends first ends the run."""

    seed: int = 102
    batch_size: int = 16
    learning_rate: float = 1e-3
    schedule: Schedule = "constant"  # cosine and trapezoid decay to 0 where the budget ends
    warmup: float = 0.02  # the share of the budget in which the rate rises; cosine only
    warmup_steps: int = 300  # the steps in which it rises; trapezoid only
    cooldown: float = 0.2  # the last share of the budget, in which the rate falls to 0; trapezoid only
    optimiser: Literal["adam", "adamw"] = "adam"
    weight_decay: float = 0.0  # adamw only
    clip: float | None = None  # the norm that gradients are cut to
    average: float | None = None  # validate and keep a running average of the weights, with this decay
    max_epochs: int | None = 300
    max_steps: int | None = None
    max_seconds: float | None = None  # all sessions of a resumed run together
    clock: Clock = "wall"  # cpu: processor time, so that a busy machine does not shorten a training
    patience: int | None = 30  # stop after so many validations without a better loss
    slack: float = (
        0.0  # later weights are kept though their validation loss is above the lowest by this share of it
    )
    validate_every: int | None = None  # in steps; None: after every epoch
    checkpoint_seconds: float = 30.0  # at least so often, and after every validation
    eval_batch_size: int = 64

    def __post_init__(self) -> None:
        self._whole("seed", 0)
        self._whole("batch_size", 1)
        self._whole("eval_batch_size", 1)
        for name in ("max_epochs", "max_steps", "patience", "validate_every"):
            if getattr(self, name) is not None:
                self._whole(name, 1)
        self._number("learning_rate", above=0)
        self._number("checkpoint_seconds", least=0)
        self._number("warmup", least=0, below=1)
        self._whole("warmup_steps", 0)
        self._number("cooldown", least=0, below=1)
        self._number("weight_decay", least=0)
        self._number("slack", least=0)
        if self.clip is not None:
            self._number("clip", above=0)
        if self.average is not None:
            self._number("average", above=0, below=1)
        if self.optimiser not in ("adam", "adamw"):
            raise InputError(f"unknown optimiser {self.optimiser!r}.\nUse adam or adamw.")
        if self.weight_decay and self.optimiser == "adam":
            raise InputError("adam has no weight decay.\nUse optimiser='adamw', or weight_decay=0.")
        if self.max_seconds is not None:
            self._number("max_seconds", above=0)
        if self.clock not in get_args(Clock):
            raise InputError(f"unknown clock {self.clock!r}.\nUse {', '.join(get_args(Clock))}.")
        if self.schedule not in get_args(Schedule):
            raise InputError(f"unknown schedule {self.schedule!r}.\nUse {', '.join(get_args(Schedule))}.")
        if self.max_epochs is None and self.max_steps is None and self.max_seconds is None:
            raise InputError("training would never end.\nSet max_epochs, max_steps or max_seconds.")

    def _whole(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} is {value!r}.\nGive a whole number of at least {least}.")

    def _number(
        self, name: str, *, above: float = -math.inf, least: float = -math.inf, below: float = math.inf
    ) -> None:
        value = getattr(self, name)
        good = isinstance(value, int | float) and math.isfinite(value)
        if not good or not (value > above and value >= least and value < below):
            bounds = [f"above {above:g}"] * (above > -math.inf) + [f"of at least {least:g}"] * (
                least > -math.inf
            )
            bounds += [f"below {below:g}"] * (below < math.inf)
            raise InputError(f"{name} is {value!r}.\nGive a number {' and '.join(bounds)}.")

    def total_steps(self, per_epoch: int) -> int | None:
        """After how many steps the run ends, if it is not the clock that ends it."""
        limits = [self.max_steps] if self.max_steps is not None else []
        if self.max_epochs is not None:
            limits.append(self.max_epochs * per_epoch)
        return min(limits, default=None)

    def spent(self, step: int, per_epoch: int, seconds: float, reserve: float = 0.0) -> float:
        """The share of the budget that is used up, from 0 to 1; `reserve` seconds are kept for the end."""
        total = self.total_steps(per_epoch)
        shares = [step / total] if total is not None else []
        if self.max_seconds is not None:
            usable = self.max_seconds - reserve
            shares.append(seconds / usable if usable > seconds else 1.0)
        return min(1.0, max(shares))

    def rate(self, spent: float, step: int = 0) -> float:
        """The learning rate of step number `step` (from 0), the share `spent` of the budget used up."""
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "trapezoid":
            rise = min(1.0, (step + 1) / self.warmup_steps) if self.warmup_steps else 1.0
            fall = (spent - (1 - self.cooldown)) / self.cooldown if self.cools_down(spent) else 0.0
            return self.learning_rate * rise * max(1 - math.sqrt(fall), 1e-3)
        if spent < self.warmup:
            return self.learning_rate * max(spent / self.warmup, 0.01)  # a rate of 0 would waste a step
        decay = (spent - self.warmup) / (1 - self.warmup)
        return self.learning_rate * (1 + math.cos(math.pi * decay)) / 2

    def cools_down(self, spent: float) -> bool:
        """Whether the trapezoid's rate falls: a larger budget has to go on from before that."""
        return self.schedule == "trapezoid" and self.cooldown > 0 and spent >= 1 - self.cooldown


def seconds_of(text: str, option: str = "budget") -> float:
    """The seconds in a length of time such as 60s, 5m or 1.5h; `option` is what it was given for."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h)\s*", text)
    seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if seconds <= 0:
        raise InputError(
            f"{text!r} is no length of time", cure="Give for example 60s, 5m or 1h.", option=option
        )
    return seconds
