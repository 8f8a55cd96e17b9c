"""The paper's figures, as printed there, and the names in which the paper and we speak of the same thing."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from t1.errors import InputError

# our name -> the shown one, in the order of the paper's tables; then what the paper does not have
TITLES = {
    "t1": "T1",
    "timemixerpp": "TimeMixer++",
    "moderntcn": "ModernTCN",
    "itransformer": "iTransformer",
    "timesnet": "TimesNet",
    "patchtst": "PatchTST",
    "dlinear": "DLinear",
    "imputeformer": "ImputeFormer",
    "saits": "SAITS",
    "csdi": "CSDI",
    "brits": "BRITS",
    "pswi": "PSW-I",
    "sssd": "SSSD",
    "mean": "Mean",
    "locf": "LOCF",
    "linear": "Linear interpolation",
    "seasonal": "Seasonal",
    "knn": "kNN",
    "iterative": "Iterative",
    "nearest": "Nearest",
    "regression": "Regression",
}

# the paper's name -> the catalogue's; the same so far, and a new spelling in a table fails here
DATASETS = {
    name: name
    for name in (
        *("ETTh1", "ETTh2", "ETTm1", "ETTm2", "Weather", "PEMS03", "Exchange", "Illness", "Electricity"),
        *("PhysioNet2012", "AQI36"),
    )
}

MODELS = {title: name for name, title in TITLES.items()}

# study -> its tables; a model that is in two of them (T1, beside SSSD) has the same figures in both
TABLES = {
    "point": ("point_missing.csv", "sssd.csv"),
    "block": ("block_missing.csv",),
    "natural": ("natural_missing.csv",),
}


@dataclass(frozen=True)
class Figure:
    """A published error; its standard deviation where it was printed."""

    mse: float
    mae: float
    mse_std: float | None = None
    mae_std: float | None = None


Key = tuple[str, str, str]  # dataset, scenario, model


def published(study: str) -> dict[Key, Figure]:
    """What the paper reports, by dataset, scenario (as in a Row) and model, in the paper's order."""
    return dict(_published(study))


def published_scenarios(study: str) -> dict[str, list[str]]:
    """The study's datasets with their scenarios, in the paper's order."""
    found: dict[str, list[str]] = {}
    for dataset, scenario, _ in _published(study):
        if scenario not in found.setdefault(dataset, []):
            found[dataset].append(scenario)
    return found


@cache
def _published(study: str) -> MappingProxyType[Key, Figure]:
    if study not in TABLES:
        raise InputError(f"unknown study {study!r}.\nKnown: {', '.join(TABLES)}.")
    found: dict[Key, Figure] = {}
    for name in TABLES[study]:
        text = (resources.files("t1.bench") / "paper" / name).read_text(encoding="utf-8")
        for line in csv.DictReader(text.splitlines()):
            ratio = line.get("missing_ratio") or line.get("additional_ratio")
            key = DATASETS[line["dataset"]], f"{study} {ratio}" if ratio else study, MODELS[line["model"]]
            found.setdefault(key, _figure(line))  # the main table first: it has the deviations
    return MappingProxyType(found)


def _figure(line: dict[str, str]) -> Figure:
    mse_std, mae_std = (float(line[name]) if line.get(name) else None for name in ("mse_std", "mae_std"))
    return Figure(float(line["mse"]), float(line["mae"]), mse_std, mae_std)
