"""`python scripts/zero_table.py`: the README's first table, from results/rows.jsonl and the published figures.

Bold: zero-shot below every system of the paper that was trained on the dataset; T1+ below the paper's T1.
Mean over the missing ratios 0.1, 0.3, 0.5 and 0.7 of the mean squared error on the test part, points hidden.
"""

import csv
import json
from collections import defaultdict
from importlib import resources
from pathlib import Path

DATASETS = ("ETTh1", "ETTh2", "ETTm1", "ETTm2", "Weather", "Exchange", "Illness")
RATIOS = ("0.1", "0.3", "0.5", "0.7")
ROWS = Path(__file__).resolve().parents[1] / "results" / "rows.jsonl"


def main() -> None:
    ours: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    minutes: list[float] = []  # of training of each T1+
    for line in ROWS.read_text().splitlines():
        row = json.loads(line)
        usual = row.get("scale", "train") == ("train" if row["dataset"].startswith("ETT") else "series")
        model = "t1+" if row["model"] == "t1" and row.get("start") == "pretrained" else row["model"]
        if model in ("t1-zero", "t1+", "linear") and row["split"] == "paper" and usual:
            ours[model, row["dataset"]][row["scenario"].removeprefix("point ")] = _mse(row)
            if model == "t1+":
                minutes.append(row["budget_seconds"] / 60)
    paper: dict[tuple[str, str], list[float]] = defaultdict(list)
    text = resources.files("t1.bench").joinpath("paper", "point_missing.csv").read_text()
    for row in csv.DictReader(text.splitlines()):
        paper[row["model"], row["dataset"]].append(float(row["mse"]))
    systems = [name for name in dict.fromkeys(name for name, _ in paper) if name != "T1"]
    best = {d: min((_mean(paper[s, d]), s) for s in systems if paper[s, d]) for d in DATASETS}
    lines = [["", *DATASETS], ["---"] * (len(DATASETS) + 1)]
    trained = {d: _mean(paper["T1", d]) for d in DATASETS}
    zero = [_bold(_ours(ours, "t1-zero", d), best[d][0]) for d in DATASETS]
    lines.append(["**T1, zero-shot** (never trained on any of them)", *zero])
    if minutes:
        tuned = [_bold(_ours(ours, "t1+", d), trained[d]) for d in DATASETS]
        lines.append(
            [
                f"**T1+**: started from pretrained weights, at most {max(minutes):.0f} min of training on one core",
                *tuned,
            ]
        )
    lines.append(
        [f"best of {len(systems)} systems trained on each (paper)", *(_show(best[d][0]) for d in DATASETS)]
    )
    lines.append(["which one", *(best[d][1] for d in DATASETS)])
    lines.append(["linear interpolation", *(_show(_ours(ours, "linear", d)) for d in DATASETS)])
    lines.append(["T1 trained on each (paper)", *(_show(trained[d]) for d in DATASETS)])
    print("\n".join("| " + " | ".join(line) + " |" for line in lines))


def _mse(row: dict) -> float:
    return row["metrics"]["mse"] if "metrics" in row else row["mse"]  # older rows have it beside the others


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _ours(ours: dict, model: str, dataset: str) -> float | None:
    found = ours[model, dataset]
    return _mean([found[r] for r in RATIOS]) if all(r in found for r in RATIOS) else None


def _bold(x: float | None, below: float) -> str:
    return f"**{x:.3g}**" if x is not None and x < below else _show(x)


def _show(x: float | None) -> str:
    return "–" if x is None else f"{x:.3g}"


if __name__ == "__main__":
    main()
