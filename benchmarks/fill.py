"""`t1.impute` beside other methods on a real table whose truth is known, in one run.

    python benchmarks/fill.py                          # ETTh1, default budget
    python benchmarks/fill.py --file X.csv --budget 5m

30 % of the cells are hidden as single points, and on a few days single columns are off. Errors are mean
absolute errors per column, in units of the column's standard deviation.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import t1
from t1.methods.regression import regression
from t1.methods.simple import CLASSIC

DATA = Path(os.environ.get("T1_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))


def hide(shape: tuple[int, int], rng: np.random.Generator, day: int, outages: int) -> np.ndarray:
    hidden = rng.random(shape) < 0.3
    for j in range(shape[1]):
        for begin in rng.choice(shape[0] // day - 1, outages, replace=False) * day:
            hidden[begin : begin + day, j] = True
    return hidden


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, default=DATA / "ETT-small" / "ETTh1.csv")
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--rows", type=int, help="only the first rows")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--day", type=int, default=24, help="rows in a day")
    options = parser.parse_args()
    table = pd.read_csv(options.file, encoding="latin-1").select_dtypes("number").iloc[: options.rows]
    truth = table.to_numpy(dtype=float)
    hidden = hide(truth.shape, np.random.default_rng(options.seed), options.day, outages=5)
    masked = np.where(hidden, np.nan, truth)
    scale = truth.std(axis=0)

    fills: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}

    def run(name: str, method) -> None:
        begin = time.perf_counter()
        fills[name] = method()
        seconds[name] = time.perf_counter() - begin

    for name in ("mean", "locf", "nearest", "linear", "seasonal"):
        run(name, lambda name=name: CLASSIC[name](masked))
    run("regression", lambda: regression(masked))
    run("IterativeImputer", lambda: IterativeImputer(random_state=0).fit_transform(masked))
    run("t1.impute fast", lambda: t1.impute(masked, budget="fast").values)
    run("t1.impute", lambda: t1.impute(masked, budget=options.budget).values)

    print(
        f"{options.file.name}: {truth.shape[0]:,} x {truth.shape[1]}, {hidden.mean():.1%} hidden, "
        f"budget {options.budget}"
    )
    print(f"{'method':<18}{'seconds':>8}{'all':>8}" + "".join(f"{c[:7]:>8}" for c in table.columns))
    errors = {}
    for name, fill in fills.items():
        error = np.abs(fill - truth) / scale
        errors[name] = np.array([error[hidden[:, j], j].mean() for j in range(truth.shape[1])])
        row = "".join(f"{e:>8.3f}" for e in errors[name])
        print(f"{name:<18}{seconds[name]:>8.1f}{error[hidden].mean():>8.3f}{row}")
    for rival in ("linear", "IterativeImputer"):
        wins = int((errors["t1.impute"] < errors[rival]).sum())
        print(f"t1.impute beats {rival} in {wins} of {truth.shape[1]} columns")


if __name__ == "__main__":
    main()
