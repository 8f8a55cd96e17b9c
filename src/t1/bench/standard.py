"""How the protocol runs a system on a dataset: what a table calls the plain model."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from t1.data.catalog import Spec
from t1.methods.catalog import MODELS


@dataclass(frozen=True)
class Method:
    """A system without a network to train."""

    family: str
    paper: str = ""
    year: int | None = None
    needs: Mapping[str, str] = field(default_factory=dict)  # module -> the package that brings it


METHODS = {
    "mean": Method("a constant"),
    "locf": Method("the last value"),
    "linear": Method("interpolation"),
    "seasonal": Method("a mean period"),
    "knn": Method("near rows", "Troyanskaya et al., Missing value estimation methods, Bioinformatics", 2001),
    "iterative": Method("chained regression", "van Buuren and Groothuis-Oudshoorn, mice, JSS", 2011),
    "pswi": Method(
        "optimal transport of spectra",
        "Wang et al., Optimal Transport for Time Series Imputation, ICLR",
        2025,
        {"ot": "POT"},
    ),
}
SERIES = ("pswi",)  # fill a whole series, so they are scored on the contiguous test part


@dataclass(frozen=True, kw_only=True)
class Standard:
    """The settings and the training that a run has if nobody asks for others."""

    settings: Mapping[str, Any]
    mask: Mapping[str, Any]
    batch_size: int
    learning_rate: float


def standard(chosen: Spec, model: str) -> Standard:
    """The dataset's training, changed where the system has a protocol of its own."""
    if model in METHODS:
        return Standard(settings={}, mask={}, batch_size=0, learning_rate=0.0)
    training = chosen.training
    usual = {
        "mask": training.mask,
        "batch_size": training.batch_size,
        "learning_rate": training.learning_rate,
    }
    own = _settings().get(model, {}).get(chosen.name, {})
    return Standard(settings=own, **{**usual, **MODELS[model].training})


@cache
def _settings() -> dict[str, dict[str, dict[str, Any]]]:
    text = resources.files("t1.bench").joinpath("settings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
