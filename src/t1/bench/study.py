"""A study is data: its runs, the scenarios and metrics it shows, and where its published figures are."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from t1.bench.scenarios import MEANING
from t1.bench.standard import METHODS, PAPER, standard
from t1.data.catalog import Spec, names, spec, usual_scale
from t1.errors import InputError
from t1.models.catalog import MODELS, check_settings
from t1.registry import Registry

SplitName = Literal["paper", "disjoint"]
Size = Literal["paper", "small"]  # small: a declared, reduced configuration, for the systems that have one
MAX_EPOCHS, PATIENCE = 300, 30  # the full protocol
LATER = {
    "scale": "train",
    "loss": "",
}  # fields that are part of an id only if they are not this: older ids stay


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One training of one model; budgets are no part of it, so that it can be taken up with a larger one."""

    dataset: str  # a name of the catalogue, or the path of a spec
    model: str = "t1"
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the model, where not its defaults
    mask: Mapping[str, Any]  # what is hidden in training
    batch_size: int
    learning_rate: float
    seed: int = 102
    split: SplitName = "paper"
    scale: str = "train"  # the rows that units come from, or "series" for all
    loss: str = ""  # the model's own, if no other

    @property
    def id(self) -> str:
        """A hash of the fields: equal runs have equal ids, on every machine."""
        fields = {key: value for key, value in asdict(self).items() if LATER.get(key) != value}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        parts = [self.dataset, self.model, f"seed {self.seed}"]
        parts += [f"{key}={value}" for key, value in sorted(self.settings.items())]
        parts += [f"{key}={value}" for key, value in self.mask.items() if key.startswith("rate")]
        return " · ".join(parts + ["disjoint split"] * (self.split == "disjoint"))


@dataclass(frozen=True, kw_only=True)
class Study:
    """An experiment: which runs it needs, what its table shows of them, and what was published of it."""

    name: str
    title: str
    kinds: tuple[str, ...]  # of scenarios that its table shows
    published: tuple[str, ...] = ()  # tables in bench/paper; the first one counts where two have a figure
    metrics: tuple[str, ...] = ("mse", "mae")
    models: tuple[str, ...] = ("t1",)
    # Label -> settings of the model, or {"mask": ...}: what is compared, all with one budget. A study without
    # any compares models, each with the longest training it has.
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()  # if not all that have the scenarios
    base: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # settings that a dataset has besides

    @property
    def declared(self) -> str:
        """How a spec says that its dataset has these scenarios."""
        return next(key for key, kinds in MEANING.items() if self.kinds[0] in kinds)

    def labels(self, dataset: str, seed: int, split: SplitName) -> dict[str, str]:
        """The id of every compared run on a dataset, and what the table calls it."""
        return {run.id: label for label, run in self._variants(dataset, self.models[0], seed, split, {})}

    def runs(
        self,
        *,
        data: Sequence[str] = (),
        models: Sequence[str] = (),
        seeds: Sequence[int] = (102,),
        split: SplitName = "paper",
        size: Size = "paper",
        recipe: str = PAPER,
        settings: Mapping[str, Any] | None = None,
    ) -> list[Run]:
        """The runs, dataset by dataset; without `data`, of all datasets that are in the study."""
        chosen_models = models or self.models
        for model in chosen_models:  # a wrong name or setting is said now, not after hours of other runs
            if model not in METHODS:
                check_settings(model, settings or {})
            elif settings:
                raise InputError(f"{model} has no settings.\nLeave --set out, or run it by itself.")
        for seed in seeds:
            if seed < 0:
                raise InputError(f"a seed cannot be negative, got {seed}.\nGive a whole number from 0 up.")
        for name in data:
            self._check_part(spec(name))
        return [
            run
            for dataset in data or self._default_data()
            for model in chosen_models
            for seed in seeds
            for _, run in self._variants(
                dataset, model, seed, split, {**_size(model, size), **(settings or {})}, recipe
            )
        ]

    def _default_data(self) -> list[str]:
        every = [name for name in names() if self.declared in spec(name).scenarios]
        return [name for name in every if name in (self.datasets or every)]

    def _check_part(self, chosen: Spec) -> None:
        if self.declared not in chosen.scenarios:
            raise InputError(
                f"{chosen.name} is not part of the study {self.name!r}: "
                f"it has {', '.join(chosen.scenarios)}.\n"
                f"Run it with: t1 bench run {chosen.scenarios[0]} --data {chosen.name}"
            )

    def _variants(
        self,
        dataset: str,
        model: str,
        seed: int,
        split: SplitName,
        settings: Mapping[str, Any],
        recipe: str = PAPER,
    ) -> Iterator[tuple[str, Run]]:
        chosen = spec(dataset)
        usual = standard(chosen, model, recipe)
        for label, change in (self.changes or {"": {}}).items():
            base = {"d_model": 128, "d_ffn": 128, **usual.settings, **self.base.get(chosen.name, {})}
            changed = {key: _value(base, key, value) for key, value in change.items() if key != "mask"}
            yield (
                label,
                Run(
                    dataset=dataset_name(chosen, dataset),
                    model=model,
                    settings={**usual.settings, **self.base.get(chosen.name, {}), **settings, **changed},
                    mask=change.get("mask", usual.mask),
                    batch_size=usual.batch_size,
                    learning_rate=usual.learning_rate,
                    loss=usual.loss,
                    seed=seed,
                    split=split,
                    scale=usual_scale(chosen, split),
                ),
            )


class Times(int):
    """A setting that is so many times the dataset's usual one."""


def _value(base: Mapping[str, Any], key: str, value: Any) -> Any:
    return base[key] * int(value) if isinstance(value, Times) else value


def _size(model: str, size: Size) -> dict[str, str]:
    small = size == "small" and model in MODELS and MODELS[model].small
    return {"size": "small"} if small else {}


def dataset_name(chosen: Spec, given: str) -> str:
    """What rows call a dataset: its name in the catalogue, or the path of the user's own spec."""
    return chosen.name if chosen.source is None else given


STUDIES: Registry[Study] = Registry("study")


def _add(name: str, title: str, kinds: Sequence[str], *published: str, **facts: Any) -> None:
    STUDIES.add(name)(Study(name=name, title=title, kinds=tuple(kinds), published=published, **facts))


_add("point", "Point missing", ["point"], "point_missing", "sssd")
_add("block", "Block missing", ["block"], "block_missing")
_add("block-heavy", "Block missing, half of the hidden cells in runs", ["block-heavy"])
_add("natural", "Natural missing", ["natural", "natural-zeros"], "natural_missing")

SIX = ("ETTh1", "ETTh2", "ETTm1", "ETTm2", "Weather", "Electricity")
_add(
    "ablation",
    "Ablation",
    ["point"],
    "ablation",
    datasets=SIX,
    metrics=("mse",),
    changes={
        "T1: full model": {},
        "Cross-variable: Conv": {"cross": "convolution"},
        "Cross-variable: w/o": {"cross": "none"},
        "Channel-Head Binding: 32 Chns": {"channels_per_head": 32},
        "Channel-Head Binding: 16 Chns": {"channels_per_head": 16},
        "Channel-Head Binding: 8 Chns": {"channels_per_head": 8},
        "Embedding: w/o mask": {"embed_mask": False},
        "Reconstruction: Linear": {"upsample": "linear"},
    },
)
_add(
    "sensitivity",
    "Sensitivity",
    ["point"],
    "head_count",
    datasets=SIX,
    changes={
        "128 channels": {},  # and kernel 71, FFN ratio 1: the protocol
        "64 channels": {"n_channels": 64},
        "256 channels": {"n_channels": 256},
        "kernel 31": {"large_kernels": [31, 31]},  # choice: the second stage keeps its 31
        "kernel 51": {"large_kernels": [51, 31]},
        "FFN ratio 2": {"ffn_ratio": 2.0},
        "FFN ratio 4": {"ffn_ratio": 4.0},
    },
)
_add(
    "training-ratio",
    "Share of cells hidden in training",
    ["point"],
    "training_ratio",
    datasets=SIX,
    changes={
        f"trained at {rate}": {"mask": {"kind": "point", "rate": rate}} for rate in (0.1, 0.3, 0.5, 0.7)
    },
)
# Choices: the feed-forward part is as wide as the model; windows are normalised by observed cells, as the
# published figures suggest. Weather's model is as wide as the published table says.
HEADS = (16, 32, 64, 128)
BASE = {"n_heads": 8, "norm": "masked"}
_add(
    "heads",
    "Heads of iTransformer",
    ["point"],
    "itransformer_heads_fixed_dmodel",
    "itransformer_heads_fixed_dk",
    models=("itransformer",),
    datasets=("ETTh1", "ETTm2", "Weather"),
    base={"Weather": {"d_model": 512, "d_ffn": 512}},
    changes={
        "8 heads": BASE,
        **{f"{n} heads, model width fixed": BASE | {"n_heads": n} for n in HEADS},
        **{
            f"{n} heads, head width fixed": BASE
            | {"n_heads": n, "d_model": Times(n // 8), "d_ffn": Times(n // 8)}
            for n in HEADS
        },
    },
)
