"""Do intervals hold what they promise? Hidden cells of real tables, intervals by `t1.impute`, one run each.

    python benchmarks/coverage.py                     # ETTh1 and Weather, 0.9, 60 s each
    python benchmarks/coverage.py --level 0.8 --budget 2m

Hidden are single points, short runs, day-long outages and gaps of 100 to 200 rows. `t1.impute` calibrates
on cells that it holds out itself: these here it never sees.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import t1

DATA = Path(os.environ.get("T1_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))
FILES = {"ETTh1": "ETT-small/ETTh1.csv", "Weather": "weather/weather.csv"}
CLASSES = {"1": (1, 1), "2-5": (2, 5), "6-23": (6, 23), "24-95": (24, 95), "96+": (96, 10**9)}


def hide(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    hidden = rng.random(shape) < 0.08
    for j in range(shape[1]):
        for lengths, count in (((6, 24), 40), ((24, 49), 12), ((100, 200), 6)):
            for begin in rng.integers(0, shape[0] - 200, count):
                hidden[begin : begin + rng.integers(*lengths), j] = True
    return hidden


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--rows", type=int, default=17_420)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"share of hidden cells inside their {options.level:g} interval, budget {options.budget}")
    print(f"{'table':<10}" + "".join(f"{name:>16}" for name in (*CLASSES, "all", "mean of columns")))
    for name, path in FILES.items():
        table = pd.read_csv(DATA / path, index_col=0, encoding_errors="replace").iloc[: options.rows]
        truth = table.to_numpy(float)
        hidden = hide(truth.shape, np.random.default_rng(options.seed))
        result = t1.impute(table.mask(hidden), intervals=options.level, budget=options.budget)
        inside = (truth >= result.lo) & (truth <= result.hi)
        cells = []
        for low, high in CLASSES.values():
            mine = hidden & (result.gap >= low) & (result.gap <= high)
            cells.append(f"{inside[mine].mean():.3f} ({mine.sum():,})")
        by_column = np.mean([inside[hidden[:, j], j].mean() for j in range(truth.shape[1])])
        cells += [f"{inside[hidden].mean():.3f}", f"{by_column:.3f}"]
        used = sorted({result.method_names[k] for k in np.unique(result.method[hidden])})
        print(f"{name:<10}" + "".join(f"{cell:>16}" for cell in cells) + f"   by {', '.join(used)}")


if __name__ == "__main__":
    main()
