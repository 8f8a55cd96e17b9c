"""How the protocol runs a system on a dataset: what a table calls the plain model, and other recipes."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from t1.data.catalog import Spec
from t1.errors import InputError
from t1.methods.catalog import METHODS, MODELS
from t1.registry import did_you_mean

# Methods with nothing to train that the benchmark scores; those of SERIES fill a whole series, not windows.
SERIES = ("pswi",)
UNTRAINED = ("t1-zero", *SERIES, "mean", "locf", "nearest", "linear", "seasonal", "knn", "iterative")
TITLES = {name: METHODS[name].title for name in (*MODELS, *UNTRAINED)}  # in the order of the tables

PAPER = "paper"
PRETRAINED = "pretrained"
PRETRAINED_WINDOW = 96
# Ways to train that every dataset has, besides those of its spec. "plus" is T1+: it draws the hidden share of
# each window, so that one model has seen all shares, and T1 starts from its pretrained weights where they fit.
RECIPES: dict[str, dict[str, Any]] = {
    "plus": {
        "mask": {"kind": "point", "rate": [0.05, 0.85]},
        "batch_size": 32,
        "learning_rate": 1.5e-3,
        "average": 0.999,
        "start": PRETRAINED,
    },
}


@dataclass(frozen=True, kw_only=True)
class Standard:
    """The protocol's settings and training for one system on one dataset."""

    settings: Mapping[str, Any]
    mask: Mapping[str, Any]
    batch_size: int
    learning_rate: float
    loss: str = ""
    average: float | None = None
    start: str = ""


def standard(chosen: Spec, model: str, recipe: str = PAPER) -> Standard:
    """The dataset's training, changed where the recipe or the system has a protocol of its own."""
    if recipe not in recipes(chosen):
        raise InputError(
            f"{chosen.name} has no recipe {recipe!r}.\n{did_you_mean(recipe, recipes(chosen))}",
            option="recipe",
        )
    if model in UNTRAINED:
        return Standard(settings={}, mask={}, batch_size=0, learning_rate=0.0)
    training = asdict(chosen.recipes.get(recipe, chosen.training))
    if recipe == PAPER:
        training |= MODELS[model].training
    own = _settings().get(model, {}).get(chosen.name, {})
    made = Standard(settings=own, **{**training, **RECIPES.get(recipe, {})})
    fits = model == "t1" and not own and chosen.window <= PRETRAINED_WINDOW
    return made if fits else replace(made, start="")


def recipes(chosen: Spec) -> tuple[str, ...]:
    """The ways to train on a dataset, the paper's first."""
    return (PAPER, *chosen.recipes, *RECIPES)


@cache
def _settings() -> dict[str, dict[str, dict[str, Any]]]:
    text = resources.files("t1.bench").joinpath("settings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
