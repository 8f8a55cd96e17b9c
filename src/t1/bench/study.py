"""A study is data: its runs, the scenarios and metrics it shows, and where its published figures are."""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any, Literal

from t1.bench.scenarios import MEANING
from t1.bench.standard import PAPER, UNTRAINED, standard
from t1.data.catalog import Spec, names, spec, usual_scale
from t1.errors import InputError
from t1.methods.catalog import MODELS, check_settings
from t1.registry import Registry

SplitName = Literal["paper", "disjoint"]
Size = Literal["paper", "small"]  # small: a declared, reduced configuration, for the systems that have one
MAX_EPOCHS, PATIENCE = 300, 30  # the full protocol
LATER = {
    "scale": "train",
    "loss": "",
    "average": None,
    "start": "",
}  # part of an id only if they are not this, so that older ids stay


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
    average: float | None = None  # decay of a running average of the weights
    start: str = ""  # "pretrained": from the weights that this package ships

    @property
    def id(self) -> str:
        """A hash of the fields: equal runs have equal ids, on every machine."""
        fields = {k: v for k, v in asdict(self).items() if k not in LATER or LATER[k] != v}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        parts = [self.dataset, self.model, f"seed {self.seed}"]
        parts += [f"{key}={value}" for key, value in sorted(self.settings.items())]
        parts += [f"hides {value}" for key, value in self.mask.items() if key.startswith("rate")]
        return " · ".join(parts + ["disjoint split"] * (self.split == "disjoint"))


@dataclass(frozen=True, kw_only=True)
class Study:
    """An experiment: which runs it needs, what its table shows of them, and what was published of it."""

    name: str
    title: str
    kinds: tuple[str, ...]  # of scenarios that its table shows
    published: tuple[str, ...] = ()  # tables in bench/paper
    metrics: tuple[str, ...] = ("mse", "mae")
    models: tuple[str, ...] = ("t1",)
    only: bool = False  # a table of these models, not of all that ran
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # label -> settings, or a mask
    datasets: tuple[str, ...] = ()  # if not all that have the scenarios
    base: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # dataset -> settings of all variants
    part_of: str = ""  # what a dataset must declare, if `kinds` are no scenarios but measured for this study
    variables: tuple[str, ...] = ()  # that a table shows one by one
    curves: tuple[str, ...] = ()  # variables whose fills are drawn
    paper: Mapping[str, float] = field(default_factory=dict)  # figures that the paper has in its text

    @property
    def declared(self) -> str:
        """How a spec says that its dataset has these scenarios."""
        return self.part_of or next(key for key, kinds in MEANING.items() if self.kinds[0] in kinds)

    @property
    def measures(self) -> tuple[str, ...]:
        """The kinds that are measured for this study alone, besides the scenarios of a dataset."""
        return self.kinds if self.part_of else ()

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
        for model in models or self.models:  # a wrong name or setting is said now, not after hours
            if model not in UNTRAINED:
                check_settings(model, settings or {})
            elif settings:
                raise InputError(
                    f"{model} has no settings.",
                    cure="Leave them out, or run it by itself.",
                    option="settings",
                )
        for seed in seeds:
            if seed < 0:
                raise InputError(
                    f"a seed cannot be negative, got {seed}.",
                    cure="Give a whole number from 0 up.",
                    option="seeds",
                )
        for chosen in map(spec, data):
            if self.declared not in chosen.scenarios:
                raise InputError(
                    f"{chosen.name} is not part of the study {self.name!r}: "
                    f"it has {', '.join(chosen.scenarios)}.",
                    cure=f"Run the study {chosen.scenarios[0]} on it.",
                    option="data",
                )
        every = [name for name in names() if self.declared in spec(name).scenarios]
        return [
            run
            for dataset in data or [name for name in every if name in (self.datasets or every)]
            for model in models or self.models
            for seed in seeds
            for _, run in self.variants(
                dataset, model, seed, split, {**_size(model, size), **(settings or {})}, recipe
            )
        ]

    def variants(
        self,
        dataset: str,
        model: str,
        seed: int,
        split: SplitName,
        settings: Mapping[str, Any],
        recipe: str = PAPER,
    ) -> Iterator[tuple[str, Run]]:
        """What is compared on a dataset, by label; in a study without changes the one run of the model."""
        chosen = spec(dataset)
        usual = standard(chosen, model, recipe)
        base = {**usual.settings, **self.base.get(chosen.name, {})}
        for label, change in (self.changes or {"": {}}).items():
            changed = {key: _value(base, key, value) for key, value in change.items() if key != "mask"}
            training = asdict(usual) | {"settings": {**base, **settings, **changed}}
            training["mask"] = change.get("mask", usual.mask)
            if training["settings"]:  # another network than the pretrained one
                training["start"] = ""
            scale = usual_scale(chosen, split)
            name = dataset_name(chosen, dataset)
            yield label, Run(dataset=name, model=model, seed=seed, split=split, scale=scale, **training)


def _value(base: Mapping[str, Any], key: str, value: Any) -> Any:
    """A setting; "2x" is twice the dataset's own, which is 128 where a width is not given."""
    multiple = isinstance(value, str) and value.endswith("x") and value[:-1].isdigit()
    return base.get(key, 128) * int(value[:-1]) if multiple else value


def _size(model: str, size: Size) -> dict[str, str]:
    small = size == "small" and model in MODELS and MODELS[model].small
    return {"size": "small"} if small else {}


def dataset_name(chosen: Spec, given: str) -> str:
    """What rows call a dataset: its name in the catalogue, or the path of the user's own spec."""
    return chosen.name if chosen.source is None else given


STUDIES: Registry[Study] = Registry("study")
for _name, _facts in tomllib.loads(
    resources.files("t1.bench").joinpath("studies.toml").read_text(encoding="utf-8")
).items():
    _lists = {key: tuple(value) for key, value in _facts.items() if isinstance(value, list)}
    STUDIES.add(_name)(Study(name=_name, **{**_facts, **_lists}))
