"""Is it worth measuring where `t1 sense` says? Error after k measurements, beside random and evenly spread ones.

    python benchmarks/sense.py run ETTh1 Weather AQI36 --seeds 3   # appends rows to results/sense.jsonl
    python benchmarks/sense.py draw                                # results/sense.png from the rows

Stretches of a table lose long gaps (6 to 72 rows) in single columns and in several at once. A fill is fitted to
what is left, 40 cells are chosen, their true values are put in, and the same fill is applied again. The error is
the mean over all cells that were missing at first and that no one measured, in units of each column's deviation.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

import t1
from t1.data.catalog import find, spec
from t1.data.readers import READERS

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "results" / "sense.jsonl"
BUDGETS = (0, 5, 10, 20, 40)
LENGTH = 600  # rows of a stretch


def table(name: str, seed: int, columns: int) -> pd.DataFrame:
    """A stretch of the dataset."""
    os.environ.setdefault("T1_DATA_DIR", str(ROOT.parent / "shared" / "data"))
    known = spec(name)
    values = READERS[known.reader](find(known), **known.options).values
    begin = np.random.default_rng([7, seed]).integers(0, len(values) - LENGTH)
    part = values[begin : begin + LENGTH, :columns]
    return pd.DataFrame(part, columns=[f"x{j}" for j in range(part.shape[1])])


def gaps(known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """About a tenth of the cells, in long gaps; only cells whose truth is known count."""
    hidden = np.zeros(known.shape, dtype=bool)
    while hidden.mean() < 0.1:
        length, begin = int(np.exp(rng.uniform(np.log(6), np.log(72)))), rng.integers(known.shape[0])
        several = rng.random(known.shape[1]) < (0.4 if rng.random() < 0.25 else 1 / known.shape[1])
        hidden[begin : begin + length, several] = True
    return hidden & known


def run(name: str, seed: int, columns: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    frame = table(name, seed, columns)
    truth = frame.to_numpy()
    hidden = gaps(~np.isnan(truth), rng)
    scale = np.nanstd(truth, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    began = time.process_time()
    fitted = t1.fit(frame.mask(hidden), budget="fast")
    fit_seconds = time.process_time() - began
    began = time.process_time()
    sensing = fitted.sense(frame.mask(hidden), budget=BUDGETS[-1], allowed=hidden)
    sense_seconds = time.process_time() - began
    at = {c: j for j, c in enumerate(frame.columns)}
    chosen = [(r, at[c]) for r, c in zip(sensing.cells["row"], sensing.cells["column"], strict=True)]
    cells = np.argwhere(hidden)  # by time, then column
    errors: dict[str, list[float]] = {"sense": [], "even": [], "random": []}
    for k in BUDGETS:
        plans = {
            "sense": [chosen[:k]],
            "even": [cells[((np.arange(k) + 0.5) * len(cells) / max(k, 1)).astype(int)]],
            "random": [rng.permutation(cells)[:k] for _ in range(3)],
        }
        elsewhere = hidden.copy()
        for row, column in (cell for several in plans.values() for plan in several for cell in plan):
            elsewhere[row, column] = False
        for plan, several in plans.items():
            found = []
            for measured in several:
                left = hidden.copy()
                for row, column in measured:
                    left[row, column] = False
                filled = fitted.apply(frame.mask(left)).values
                found.append((np.abs(filled - truth) / scale)[elsewhere].mean())
            errors[plan].append(round(float(np.mean(found)), 4))
    return {
        "table": name,
        "columns": truth.shape[1],
        "seed": seed,
        "missing": int(hidden.sum()),
        "k": BUDGETS,
        **errors,
        "seconds of CPU": {"fit": round(fit_seconds, 1), "sense": round(sense_seconds, 1)},
    }


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = pd.DataFrame([json.loads(line) for line in ROWS.read_text().splitlines()])
    names = list(dict.fromkeys(rows["table"]))
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3.2), squeeze=False)
    looks = {"random": ("C7", "o"), "even": ("C0", "s"), "sense": ("C3", "D")}
    print(f"{'table':10} {'plan':8}" + "".join(f"{k:>9}" for k in BUDGETS))
    for axis, name in zip(axes[0], names, strict=True):
        mine = rows[rows["table"] == name]
        for plan, (colour, marker) in looks.items():
            relative = np.array([np.array(e) / e[0] for e in mine[plan]])
            axis.plot(BUDGETS, relative.mean(axis=0), color=colour, marker=marker, label=plan)
            print(f"{name:10} {plan:8}" + "".join(f"{x:9.3f}" for x in relative.mean(axis=0)))
        axis.set_title(f"{name} ({len(mine)} stretches)")
        axis.set_xlabel("cells measured")
    axes[0][0].set_ylabel("error of all other cells\nrelative to none measured")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(ROOT / "results" / "sense.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "draw"))
    parser.add_argument("tables", nargs="*", default=["ETTh1", "Weather", "AQI36"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--columns", type=int, default=21, help="at most so many of a table")
    options = parser.parse_args()
    if options.what == "draw":
        draw()
        return
    for seed in range(options.seeds):
        for name in options.tables:
            row = run(name, seed, options.columns)
            with ROWS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
