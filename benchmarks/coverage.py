"""Do intervals hold what they promise? Hidden cells of real tables, intervals by `t1.impute`, one run each.

    python benchmarks/coverage.py                     # ETTh1 and Weather, 0.9, nothing is trained
    python benchmarks/coverage.py --level 0.8 --budget 2m

Hidden are single points, short runs, day-long outages, gaps of 100 to 200 rows, and the beginning or the end
of most columns. `t1.impute` calibrates on cells that it holds out itself: these here it never sees.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import t1
from t1.fill.gaps import CLASS_NAMES, Gaps

DATA = Path(os.environ.get("T1_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))
FILES = {"ETTh1": "ETT-small/ETTh1.csv", "Weather": "weather/weather.csv"}


def hide(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    hidden = rng.random(shape) < 0.08
    for j in range(shape[1]):
        for lengths, count in (((6, 24), 40), ((24, 49), 12), ((100, 200), 6)):
            for begin in rng.integers(0, shape[0] - 200, count):
                hidden[begin : begin + rng.integers(*lengths), j] = True
        if j % 2:
            hidden[:120, j] = True
        elif j % 4 == 0:
            hidden[-120:, j] = True
    return hidden


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--budget", default="fast")
    parser.add_argument("--rows", type=int, default=17_420)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"share of hidden cells inside their {options.level:g} interval, budget {options.budget}")
    print(f"{'table':<10}" + "".join(f"{name:>16}" for name in (*CLASS_NAMES, "all", "mean of columns")))
    for name, path in FILES.items():
        table = pd.read_csv(DATA / path, index_col=0, encoding_errors="replace").iloc[: options.rows]
        truth = table.to_numpy(float)
        hidden = hide(truth.shape, np.random.default_rng(options.seed))
        result = t1.impute(table.mask(hidden), intervals=options.level, budget=options.budget)
        inside = (truth >= result.lo) & (truth <= result.hi)
        cells = []
        gaps = Gaps.of(result.observed, np.zeros(1, dtype=np.intp))
        for code in range(len(CLASS_NAMES)):
            mine = gaps.code == code
            mine &= hidden[gaps.row, gaps.column]
            here = inside[gaps.row[mine], gaps.column[mine]]
            cells.append(f"{here.mean():.3f} ({len(here):,})" if len(here) else "-")
        by_column = np.mean([inside[hidden[:, j], j].mean() for j in range(truth.shape[1])])
        cells += [f"{inside[hidden].mean():.3f}", f"{by_column:.3f}"]
        blends = {result.method_names[k] for k in np.unique(result.method[hidden])}
        used = sorted({name for blend in blends for name in blend.split(" + ")})
        print(f"{name:<10}" + "".join(f"{cell:>16}" for cell in cells) + f"   by {', '.join(used)}")


if __name__ == "__main__":
    main()
