"""A pretraining run and its folder.

    folder/
      pretrain.json          the settings, as they were given at the start
      config.json            the checkpoint that `t1.train` keeps: see run_state.py
      weights-7.safetensors

Everything in step k is a function of the seed and k, so a run that was killed goes on with the same bits.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from t1 import checkpoint
from t1.errors import InputError
from t1.models.t1 import T1, T1Config
from t1.pretrain.corpus import read_corpus
from t1.pretrain.sampler import Sampler
from t1.progress import OnProgress
from t1.schedule import TrainConfig
from t1.source import Source
from t1.train import FitResult, fit_source
from t1.weights import load_pretrained, read_card, save_pretrained
from t1.workers import Workers, join_workers

SETTINGS = "pretrain.json"
QUANTILES = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)


@dataclass(frozen=True, kw_only=True)
class PretrainSettings:
    """What stays the same for a whole run; `network` and `training` say the rest."""

    seed: int = 1
    channels: int = 64
    window: int = 96
    ffn_ratio: float = 1.0
    inputs: tuple[str, ...] = ("distance", "roughness", "season", "relation")
    quantiles: tuple[float, ...] = QUANTILES
    rows: int = 128  # windows times variables of a step
    real_share: float = 0.5  # of the steps; the others see synthetic tables
    told_share: float = 0.5  # of the steps; in these a regression has told every cell
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.01
    average: float = 0.999
    warmup_steps: int = 300
    cooldown: float = 0.25
    started_from: Mapping[str, Any] | None = None  # steps, hours and checksum of the weights it began with

    def __post_init__(self) -> None:
        for name in ("inputs", "quantiles"):  # settings read from JSON bring lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.rows < 1 or not (0 <= self.real_share <= 1 and 0 <= self.told_share <= 1):
            raise InputError(
                f"rows is {self.rows}, real_share is {self.real_share}, told_share is {self.told_share}",
                cure="Give at least one row, and shares between 0 and 1.",
            )

    def network(self) -> T1Config:
        return T1Config(
            n_vars=0,
            window=self.window,
            n_channels=self.channels,
            ffn_ratio=self.ffn_ratio,
            encoding="shared",
            lines=True,
            bounded=True,
            inputs=self.inputs,
            quantiles=self.quantiles,
            attention_dropout=0.0,
            drop_path=0.0,
            residual_scale=0.1,
        )

    def training(self, *, steps: int | None = None, seconds: float | None = None) -> TrainConfig:
        return TrainConfig(
            seed=self.seed,
            learning_rate=self.learning_rate,
            optimiser="adamw",
            weight_decay=self.weight_decay,
            clip=1.0,
            average=self.average,
            schedule="trapezoid",
            warmup_steps=self.warmup_steps,
            cooldown=self.cooldown,
            max_epochs=None,
            max_steps=steps,
            max_seconds=seconds,
            patience=None,
        )

    def source(self, corpus: str | Path, workers: Workers | None = None) -> Source:
        return Sampler(
            read_corpus(corpus),
            window=self.window,
            seed=self.seed,
            rows=self.rows,
            real_share=self.real_share,
            told_share=self.told_share,
            relation="relation" in self.inputs,
            workers=workers,
        )

    def new_network(self) -> T1:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return T1(self.network())


def pretrain(
    corpus: str | Path,
    folder: str | Path,
    settings: Mapping[str, Any] | None = None,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    resume: bool = False,
    start: str | Path | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FitResult:
    """Pretrain T1 on a corpus folder until a budget of steps or seconds ends.

    `settings` are fields of PretrainSettings. `start` names exported weights that a new run begins with.
    `resume` goes on with the run in the folder and its settings; with a larger budget from before its learning
    rate fell. Processes of torchrun share each step.
    """
    folder = Path(folder)
    chosen = read_settings(folder, settings or {}) if resume else PretrainSettings(**(settings or {}))
    if not resume and checkpoint.exists(folder):
        raise InputError(
            f"{folder} holds a run already", cure="Resume it, or choose another folder.", option="resume"
        )
    training = chosen.training(steps=steps, seconds=seconds)
    network = chosen.new_network()
    if start is not None and not resume:
        _begin_with(network, load_pretrained(start))
        card = read_card(start)
        earlier = {name: card["trained"].get(name) for name in ("steps", "hours")}
        chosen = dataclasses.replace(chosen, started_from={**earlier, "sha256": card["sha256"]})
    with join_workers() as workers:
        source = chosen.source(corpus, workers)
        if workers.first and not (folder / SETTINGS).exists():
            write_settings(folder, chosen)
        return fit_source(
            network,
            source,
            training,
            device="auto",
            folder=folder,
            resume=resume,
            on_progress=on_progress,
            should_stop=should_stop,
            workers=workers,
        )


def _begin_with(network: T1, weights: T1) -> None:
    """Copy the weights of a network of the same settings."""
    if network.config != weights.config:
        raise InputError(
            "the weights to start from are those of a network with other settings",
            cure="Give the settings of their run: its card.json has them.",
            option="start",
        )
    network.load_state_dict(weights.state_dict())


def read_settings(folder: Path, given: Mapping[str, Any] | None = None) -> PretrainSettings:
    """The settings of the run in a folder, and what was given beside them; the defaults if it has none."""
    path = folder / SETTINGS
    saved: dict[str, Any] = {}
    if path.exists():
        try:
            saved = json.loads(path.read_bytes())
            PretrainSettings(**saved)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{path} is not what t1 pretrain writes: {error}", cure="Copy the whole folder again."
            ) from None
    return PretrainSettings(**{**saved, **(given or {})})


def write_settings(folder: Path, settings: PretrainSettings) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SETTINGS).write_text(json.dumps(dataclasses.asdict(settings), indent=1))
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror}", cure="Choose another folder."
        ) from None


def export(run: str | Path, folder: str | Path, figures: Mapping[str, Any] | None = None) -> Path:
    """Write the averaged weights of a run as a file to ship, with its card; gives the path of the card."""
    tensors, info = checkpoint.load(run)
    if info.get("kind") != "training" or info["run"]["model"].get("name") != T1.name:
        raise InputError(f"{run} is no pretraining run", cure="Give the folder that t1 pretrain wrote.")
    network = T1(T1Config(**{k: v for k, v in info["run"]["model"].items() if k != "name"}))
    best = {name.removeprefix("best."): t for name, t in tensors.items() if name.startswith("best.")}
    network.load_state_dict(best)
    state = info["state"]
    trained = {
        "steps": state["best_step"],
        "hours": round(state["seconds"] / 3600, 2),
        "data": info["run"]["data"]["training"],
        "settings": dataclasses.asdict(read_settings(Path(run))),
    }
    return save_pretrained(folder, network, trained=trained, figures=figures or {})
