"""The paper's figures, as printed there, and the names in which the paper and we speak of the same thing."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from t1.bench.grid import DASH, Cell, Grid, Head
from t1.errors import InputError
from t1.registry import did_you_mean

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


def printed_names() -> list[str]:
    """Every table of the paper that comes with this package."""
    files = resources.files("t1.bench") / "paper"
    return sorted(file.name.removesuffix(".csv") for file in files.iterdir() if file.name.endswith(".csv"))


def printed(name: str) -> Grid:
    """One of them, as it was printed."""
    if name not in printed_names():
        raise InputError(f"unknown table {name!r}.\n{did_you_mean(name, printed_names())}")
    text = (resources.files("t1.bench") / "paper" / f"{name}.csv").read_text(encoding="utf-8")
    head, *lines = csv.reader(text.splitlines())
    words = [not all(_is_number(line[j]) for line in lines) for j in range(len(head))]
    return Grid(
        title=f"As printed: {name}",
        heads=tuple(Head(title, words=word) for title, word in zip(head, words, strict=True)),
        lines=tuple(
            tuple(Cell(text or DASH, float(text) if _is_number(text) and text else None) for text in line)
            for line in lines
        ),
    )


def _is_number(text: str) -> bool:
    return not text or text.replace(".", "", 1).replace("-", "", 1).isdigit()


def _figure(line: dict[str, str]) -> Figure:
    mse_std, mae_std = (float(line[name]) if line.get(name) else None for name in ("mse_std", "mae_std"))
    return Figure(float(line["mse"]), float(line["mae"]), mse_std, mae_std)
