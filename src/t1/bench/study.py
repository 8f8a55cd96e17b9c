"""A study is data: a list of frozen runs, each with an id made of its own fields."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from t1.bench.standard import METHODS, standard
from t1.data.catalog import Spec, names, spec
from t1.errors import InputError
from t1.methods.catalog import MODELS, check_settings

Study = Literal["point", "block", "natural"]
STUDIES: tuple[Study, ...] = ("point", "block", "natural")
SplitName = Literal["paper", "disjoint"]
Size = Literal["paper", "small"]  # small: a declared, reduced configuration, for the systems that have one
MAX_EPOCHS, PATIENCE = 300, 30  # the full protocol


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

    @property
    def id(self) -> str:
        """A hash of the fields: equal runs have equal ids, on every machine."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        parts = [self.dataset, self.model, f"seed {self.seed}"]
        parts += [f"{key}={value}" for key, value in sorted(self.settings.items())]
        return " · ".join(parts + ["disjoint split"] * (self.split == "disjoint"))


def plan(
    study: Study,
    *,
    data: Sequence[str] = (),
    models: Sequence[str] = ("t1",),
    seeds: Sequence[int] = (102,),
    split: SplitName = "paper",
    size: Size = "paper",
    settings: Mapping[str, Any] | None = None,
) -> list[Run]:
    """The runs of a study, dataset by dataset; without `data`, of all datasets that are in the study."""
    if study not in STUDIES:
        raise InputError(f"unknown study {study!r}.\nKnown: {', '.join(STUDIES)}.")
    for model in models:  # a wrong name or setting is said now, not after hours of other runs
        if model not in METHODS:
            check_settings(model, settings or {})
        elif settings:
            raise InputError(f"{model} has no settings.\nLeave --set out, or run it by itself.")
    for seed in seeds:
        if seed < 0:
            raise InputError(f"a seed cannot be negative, got {seed}.\nGive a whole number from 0 up.")
    specs = [spec(name) for name in data] if data else [s for s in map(spec, names()) if study in s.scenarios]
    for chosen in specs:
        if study not in chosen.scenarios:
            raise InputError(
                f"{chosen.name} is not part of the study {study!r}: it has {', '.join(chosen.scenarios)}.\n"
                f"Run it with: t1 bench run {chosen.scenarios[0]} --data {chosen.name}"
            )
    return [
        _run(chosen, name, model, seed, split, {**_size(model, size), **(settings or {})})
        for name, chosen in zip(data or [s.name for s in specs], specs, strict=True)
        for model in models
        for seed in seeds
    ]


def _size(model: str, size: Size) -> dict[str, str]:
    small = size == "small" and model in MODELS and MODELS[model].small
    return {"size": "small"} if small else {}


def dataset_name(chosen: Spec, given: str) -> str:
    """What rows call a dataset: its name in the catalogue, or the path of the user's own spec."""
    return chosen.name if chosen.source is None else given


def _run(
    chosen: Spec, given: str, model: str, seed: int, split: SplitName, settings: Mapping[str, Any]
) -> Run:
    usual = standard(chosen, model)
    return Run(
        dataset=dataset_name(chosen, given),
        model=model,
        settings={**usual.settings, **settings},
        mask=usual.mask,
        batch_size=usual.batch_size,
        learning_rate=usual.learning_rate,
        seed=seed,
        split=split,
    )
