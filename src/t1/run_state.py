"""Where a training run stands, and how that is saved and taken up again."""

import copy
import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from t1 import checkpoint
from t1.errors import InputError
from t1.models.base import Model
from t1.schedule import TrainConfig

Reason = Literal["epochs", "steps", "seconds", "patience", "stopped"]
Identity = dict[str, Any]

# What a resumed run may change: when it ends, how the rate runs towards that end, and how often it saves.
CHANGEABLE = (
    "max_epochs",
    "max_steps",
    "max_seconds",
    "clock",
    "patience",
    "slack",
    "schedule",
    "warmup",
    "warmup_steps",
    "cooldown",
    "checkpoint_seconds",
)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One validation."""

    epoch: int  # the first is 1
    step: int
    train_loss: float | None  # the mean of the steps since the last validation
    valid_loss: float | None
    learning_rate: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """How a run ended; the model holds the weights of `best_step`."""

    best_loss: float | None  # the lowest; None: never validated, the best weights are the last
    best_epoch: int
    best_step: int
    epochs: int  # begun
    steps: int
    seconds: float
    reason: Reason
    history: tuple[Record, ...]
    schedule: str = ""  # of the learning rate, "cosine then constant" if the run went on with another


@dataclass
class RunState:
    """Everything a run has to remember besides tensors; the rest follows from the seed and the step."""

    step: int = 0
    seconds: float = 0.0
    validated_step: int = 0
    without_better: int = 0  # validations since the best one
    best_loss: float | None = None
    best_step: int = 0
    loss_sum: float = 0.0  # of the steps since the last validation
    loss_count: int = 0
    slowest_validation: float = 0.0  # seconds
    learning_rate: float = 0.0  # of the last step
    history: list[Record] = field(default_factory=list)
    schedules: list[str] = field(default_factory=list)  # that steps were taken with, one after the other

    @property
    def train_loss(self) -> float | None:
        """The mean training loss since the last validation."""
        return self.loss_sum / self.loss_count if self.loss_count else None

    def result(self, reason: Reason, per_epoch: int) -> FitResult:
        """What the run comes to if it ends here."""
        return FitResult(
            best_loss=self.best_loss,
            best_epoch=epoch_of(self.best_step, per_epoch),
            best_step=self.best_step,
            epochs=epoch_of(self.step, per_epoch),
            steps=self.step,
            seconds=self.seconds,
            reason=reason,
            history=tuple(self.history),
            schedule=" then ".join(self.schedules),
        )


def epoch_of(step: int, per_epoch: int) -> int:
    """The epoch in which step number `step` is taken; both count from 1."""
    return max(1, -(-step // per_epoch))


def weights_of(model: Model) -> dict[str, Tensor]:
    """A copy of the model's weights and buffers."""
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


def identity(model: Model, train: str, valid: str | None, config: TrainConfig) -> Identity:
    """What has to be the same for a run to go on: the model, the settings, the fingerprints of the data."""
    settings = {k: v for k, v in dataclasses.asdict(config).items() if k not in CHANGEABLE}
    made = {
        "model": {"name": model.name, **dataclasses.asdict(model.config)},
        "training": settings,
        "data": {"training": train, "validation": valid},
    }
    # as it will come from the file: tuples become lists, infinity and the like their names
    same: Identity = json.loads(json.dumps(made, default=str), parse_constant=str)
    return same


# ---------------------------------------------------------------- saved and taken up again


@dataclass
class Snapshot:
    """Everything a run goes on from: its state, and tensors named `group.name`.

    Groups: `model` (the weights in training), `best`, `adam` (the moments, by the parameter's number) and,
    where weights are averaged, `average`.
    """

    state: RunState
    tensors: dict[str, Tensor]

    def group(self, group: str) -> dict[str, Tensor]:
        """The tensors of one group by their own names."""
        return {n.removeprefix(f"{group}."): t for n, t in self.tensors.items() if n.startswith(f"{group}.")}

    def copy(self) -> "Snapshot":
        return Snapshot(
            copy.deepcopy(self.state), {name: t.detach().clone() for name, t in self.tensors.items()}
        )


def snapshot(
    state: RunState,
    *,
    model: Model,
    best: dict[str, Tensor],
    optimiser: torch.optim.Optimizer,
    average: dict[str, Tensor],
) -> Snapshot:
    """A view of the run as it stands; `copy` it to keep it while the run goes on."""
    tensors = {f"model.{name}": t for name, t in model.state_dict().items()}
    tensors |= {f"best.{name}": t for name, t in best.items()}
    tensors |= {f"average.{name}": t for name, t in average.items()}
    for i, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{name}": t for name, t in moments.items()}
    return Snapshot(state, tensors)


def restore(
    saved: Snapshot, *, model: Model, optimiser: torch.optim.Optimizer
) -> tuple[RunState, dict[str, Tensor], dict[str, Tensor]]:
    """Put the weights and moments in place; give the state, the best weights and the average."""
    model.load_state_dict(saved.group("model"))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in saved.group("adam").items():
        i, _, rest = name.partition(".")
        moments.setdefault(int(i), {})[rest] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
    device = next(iter(model.state_dict().values())).device
    best, average = ({n: t.to(device) for n, t in saved.group(g).items()} for g in ("best", "average"))
    return saved.state, best, average


def save_run(folder: Path, now: Snapshot, before: Snapshot | None, identity: Identity) -> None:
    """Write the run's checkpoint, with the state before the learning rate fell if it has fallen."""
    info = {"kind": "training", "run": identity, "state": dataclasses.asdict(now.state)}
    tensors = dict(now.tensors)
    if before is not None:
        info["before"] = dataclasses.asdict(before.state)
        tensors |= {f"before.{name}": t for name, t in before.tensors.items()}
    checkpoint.save(folder, tensors, info)


def load_run(folder: Path, *, model: Model, identity: Identity) -> tuple[Snapshot, Snapshot | None]:
    """The saved run as it stood, and as it stood before the learning rate fell, if it has."""
    tensors, info = checkpoint.load(folder)
    if info.get("kind") != "training":
        raise InputError(
            f"{folder} holds a model, not a training run.\n"
            "Give the training's own folder, or start anew with resume=False."
        )
    _check_same(folder, info["run"], identity, model)
    earlier = {n: t for n, t in tensors.items() if n.startswith("before.")}
    now = Snapshot(_state(info["state"]), {n: t for n, t in tensors.items() if n not in earlier})
    shapes = {name: t.shape for name, t in model.state_dict().items()}
    for group in ("model", "best"):
        if {name: t.shape for name, t in now.group(group).items()} != shapes:
            raise InputError(
                f"the weights in {folder} have other names or shapes than the model's.\n"
                "Resume with the model it was started with, or start anew with resume=False."
            )
    if not earlier:
        return now, None
    return now, Snapshot(
        _state(info["before"]), {name.removeprefix("before."): t for name, t in earlier.items()}
    )


def _state(saved: dict[str, Any]) -> RunState:
    return RunState(**{**saved, "history": [Record(**record) for record in saved["history"]]})


def _check_same(folder: Path, saved: Identity, current: Identity, model: Model) -> None:
    # a setting that did not exist when the run was saved had the effect of its default
    defaults = {"training": _defaults(TrainConfig), "model": _defaults(type(model.config))}
    for part, settings in current.items():
        before = {**{k: v for k, v in defaults.get(part, {}).items() if k in settings}, **saved[part]}
        differing = [
            f"{name} is {settings.get(name)!r}, was {before.get(name)!r}"
            for name in sorted(settings.keys() | before.keys())
            if settings.get(name) != before.get(name)
        ]
        if differing:
            raise InputError(
                f"the run in {folder} was started with another {part} setting: {'; '.join(differing)}.\n"
                "Only budgets may change: resume with the same settings, or start anew with resume=False."
            )


def _defaults(config: Any) -> dict[str, Any]:
    """The default settings of a dataclass, as they would come from a file."""
    given = {f.name: f.default for f in dataclasses.fields(config) if f.default is not dataclasses.MISSING}
    defaults: dict[str, Any] = json.loads(json.dumps(given, default=str), parse_constant=str)
    return defaults
