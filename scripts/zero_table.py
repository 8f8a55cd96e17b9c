"""`python scripts/zero_table.py`: the README's first table, from results/rows.jsonl and the published figures.

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
    ours: dict[str, dict[str, float]] = defaultdict(dict)
    for line in ROWS.read_text().splitlines():
        row = json.loads(line)
        usual = row.get("scale", "train") == ("train" if row["dataset"].startswith("ETT") else "series")
        if row["model"] in ("t1-zero", "linear") and row["split"] == "paper" and usual:
            ours[row["model"], row["dataset"]][row["scenario"].removeprefix("point ")] = _mse(row)
    paper: dict[tuple[str, str], list[float]] = defaultdict(list)
    text = resources.files("t1.bench").joinpath("paper", "point_missing.csv").read_text()
    for row in csv.DictReader(text.splitlines()):
        paper[row["model"], row["dataset"]].append(float(row["mse"]))
    systems = [name for name in dict.fromkeys(name for name, _ in paper) if name != "T1"]
    best = {d: min((_mean(paper[s, d]), s) for s in systems if paper[s, d]) for d in DATASETS}
    lines = [["", *DATASETS], ["---"] * (len(DATASETS) + 1)]
    zero = {d: _ours(ours, "t1-zero", d) for d in DATASETS}
    lines.append(["**T1, zero-shot** (never trained on any of them)"])
    lines[-1] += [
        f"**{x:.3g}**" if (x := zero[d]) is not None and x < best[d][0] else _show(x) for d in DATASETS
    ]
    lines.append(
        [f"best of {len(systems)} systems trained on each (paper)", *(_show(best[d][0]) for d in DATASETS)]
    )
    lines.append(["which one", *(best[d][1] for d in DATASETS)])
    lines.append(["linear interpolation", *(_show(_ours(ours, "linear", d)) for d in DATASETS)])
    lines.append(["T1 trained on each (paper)", *(_show(_mean(paper["T1", d])) for d in DATASETS)])
    print("\n".join("| " + " | ".join(line) + " |" for line in lines))


def _mse(row: dict) -> float:
    return row["metrics"]["mse"] if "metrics" in row else row["mse"]  # older rows have it beside the others


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _ours(ours: dict, model: str, dataset: str) -> float | None:
    found = ours[model, dataset]
    return _mean([found[r] for r in RATIOS]) if all(r in found for r in RATIOS) else None


def _show(x: float | None) -> str:
    return "–" if x is None else f"{x:.3g}"


if __name__ == "__main__":
    main()
