"""The paper's figures, as printed there, and the names in which the paper and we speak of the same thing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from t1.bench.sheet import DASH, Cell, Head, Sheet
from t1.bench.standard import TITLES
from t1.errors import InputError
from t1.registry import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from t1.bench.study import Study

DATASETS = (  # in the paper's order, and called so there, but for -filled
    *("ETTh1", "ETTh2", "ETTm1", "ETTm2", "Weather", "PEMS03", "Exchange", "Illness", "Electricity"),
    *("PhysioNet2012", "PhysioNet2012-filled", "AQI36"),
)

MODELS = {title: name for name, title in TITLES.items()}

KEYS = ["dataset", "kind", "place", "variant", "metric"]
AVERAGE = "average"


def published(study: Study) -> pd.DataFrame:
    """What the paper reports, one line per figure, in its order: `KEYS`, `value`, `std`.

    `place` is a ratio, the name of a scenario, or the average of its ratios where only that is printed.
    `variant` is a model, or what the study compares.
    """
    import pandas as pd

    parts = [_read(name) for name in study.published]
    none = pd.DataFrame(columns=[*KEYS, "value", "std"])
    return pd.concat(parts).drop_duplicates(KEYS) if parts else none


def _read(name: str) -> pd.DataFrame:
    """One printed table, a line per figure."""
    import pandas as pd

    table = pd.read_csv(io.StringIO(_text(name)))
    if name == "ablation":
        table = table.drop(columns=["avg", "delta_percent"])
        table = table.melt(["component", "alternative"], var_name="dataset", value_name="mse")
    ratio = next((c for c in ("missing_ratio", "additional_ratio", "test_ratio") if c in table), None)
    kinds = {"block_missing": "block", "natural_missing": "natural"}
    table["kind"] = kinds.get(name, "point")
    # As far as can be told, what was never measured in PhysioNet2012 counts as observed there (docs/protocol.md).
    if name == "natural_missing":
        table["dataset"] = table["dataset"].replace("PhysioNet2012", "PhysioNet2012-filled")
    table["place"] = AVERAGE if name == "ablation" else table["kind"]
    if ratio:
        table["place"] = table[ratio].map(str).where(table[ratio].notna(), table["kind"])
    table["variant"] = [VARIANTS.get(name, _model)(line) for _, line in table.iterrows()]
    parts = []
    for metric in ("mse", "mae"):
        if metric in table:
            std = table[f"{metric}_std"] if f"{metric}_std" in table else float("nan")
            parts.append(table.assign(metric=metric, value=table[metric], std=std))
    return pd.concat(parts)[[*KEYS, "value", "std"]].dropna(subset="value")


def _model(line: Any) -> str:
    return MODELS[line["model"]]


def _heads(line: Any, fixed: str) -> str:
    return "8 heads" if line["n_heads"] == 8 else f"{line['n_heads']} heads, {fixed} width fixed"


VARIANTS: dict[str, Callable[[Any], str]] = {  # what a line is about, where that is not a model
    "ablation": lambda line: f"{line['component']}: {line['alternative']}",
    "head_count": lambda line: f"{line['heads']} channels",
    "training_ratio": lambda line: f"trained at {line['training_ratio']}",
    "itransformer_heads_fixed_dmodel": partial(_heads, fixed="model"),
    "itransformer_heads_fixed_dk": partial(_heads, fixed="head"),
}


def _text(name: str) -> str:
    return (resources.files("t1.bench") / "paper" / f"{name}.csv").read_text(encoding="utf-8")


def printed_lines(name: str) -> list[dict[str, str]]:
    """The lines of one printed table, by their columns' names."""
    return list(csv.DictReader(_text(name).splitlines()))


def printed_names() -> list[str]:
    """Every table of the paper that comes with this package."""
    files = resources.files("t1.bench") / "paper"
    return sorted(file.name.removesuffix(".csv") for file in files.iterdir() if file.name.endswith(".csv"))


def printed(name: str) -> Sheet:
    """One of them, as it was printed."""
    if name not in printed_names():
        raise InputError(f"unknown table {name!r}.\n{did_you_mean(name, printed_names())}")
    head, *lines = csv.reader(_text(name).splitlines())
    words = [not all(_is_number(line[j]) for line in lines) for j in range(len(head))]
    return Sheet(
        title=f"As printed: {name}",
        heads=tuple(Head(title, words=word) for title, word in zip(head, words, strict=True)),
        lines=tuple(
            tuple(Cell(text or DASH, float(text) if _is_number(text) and text else None) for text in line)
            for line in lines
        ),
    )


def _is_number(text: str) -> bool:
    return not text or text.replace(".", "", 1).replace("-", "", 1).isdigit()
