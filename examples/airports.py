"""`make demo`: fill a year of hourly weather at three airports, and say how wrong the fill is.

Two kinds of gaps are cut into observed stretches and held out: the table's own gaps, moved elsewhere, and
days on which one sensor is off. Nothing that fills ever sees those cells: these are errors of known truth.
"""

import argparse
from pathlib import Path

import numpy as np

import t1
from t1.methods.simple import linear
from t1.missing import own

QUANTITIES = ("temp", "dewp", "pressure")  # of the sample's seven; the other four fill as well, more slowly
DAY = 24
ENOUGH = 200  # cells of a column that are held out to measure an error


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", default="25s", help="a time, or fast: nothing is tuned (default: 25s)")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="where to write (default: demo/)")
    options = parser.parse_args()

    table = t1.load_sample()
    table = table[[name for name in table if name.endswith(QUANTITIES)]]
    truth = table.to_numpy()
    observed = ~np.isnan(truth)
    rng = np.random.default_rng(102)
    own_gaps, days = transplanted_gaps(observed, rng), days_off(observed, rng)
    held_out = own_gaps | days
    print(
        f"{len(table):,} hours x {table.shape[1]} columns, {(~observed).sum():,} cells missing; "
        f"{held_out.sum():,} more held out to measure the error.\nJudging methods, tuning T1 and filling, "
        f"budget {options.budget} ..."
    )

    result = t1.impute(table.mask(held_out), budget=options.budget, intervals=0.9)
    fills = {"ours": result.values, "linear": linear(table.mask(held_out).to_numpy())}
    assert (result.values[result.observed] == truth[result.observed]).all(), "an observed value was changed"

    options.out.mkdir(parents=True, exist_ok=True)
    table.fillna(result.data).to_csv(options.out / "airports_filled.csv")
    result.report(options.out / "report.html")

    def error(method: str, cells: np.ndarray, j: int) -> float:
        return float(np.abs(fills[method] - truth)[cells[:, j], j].mean())

    print(f"\n{'':<14}{'cells':>8}{'its own gaps':>20}{'a day off':>20}   methods")
    print(f"{'column':<14}{'filled':>8}" + f"{'ours':>11}{'linear':>9}" * 2)
    wins = 0
    for j, name in enumerate(table.columns):
        errors = [error(m, cells, j) for cells in (own_gaps, days & ~own_gaps) for m in fills]
        wins += (errors[0] <= errors[1]) + (errors[2] <= errors[3])
        numbers = "".join(f"{e:>11.3f}{f:>9.3f}" for e, f in (errors[:2], errors[2:]))
        used = np.unique(result.method[:, j][result.method[:, j] >= 0])
        names = (name for k in used for name in result.method_names[k].split(" + "))
        methods = ", ".join(dict.fromkeys(names))  # of its blends
        print(f"{name:<14}{(~observed[:, j]).sum():>8,}{numbers}   {methods}")
    inside = ((result.lo <= truth) & (truth <= result.hi))[held_out].mean()
    print(
        f"\nmean absolute error on held-out cells, in the column's own units: as good as linear "
        f"interpolation or better\nin {wins} of {2 * table.shape[1]} cases; "
        f"the 90 % intervals hold {inside:.0%} of them\n"
        f"wrote {options.out / 'airports_filled.csv'} and {options.out / 'report.html'} "
        f"in {result.seconds:.0f} s"
    )


def transplanted_gaps(observed: np.ndarray, rng: np.random.Generator, length: int = 7 * DAY) -> np.ndarray:
    """The table's own gaps, moved: each week gets the gaps of another week, where it was observed.

    Columns with few gaps get those of more weeks, as a handful of cells says nothing about an error.
    """
    hidden = np.zeros_like(observed)
    few = np.arange(observed.shape[1])
    while len(few):
        for begin in range(0, len(observed) - length, length):
            week = np.ix_(np.arange(begin, begin + length), few)
            hidden[week] |= own(observed[week], donor_observed=observed[:, few], rng=rng)
        few = np.flatnonzero(hidden.sum(axis=0) < ENOUGH)
    return hidden


def days_off(observed: np.ndarray, rng: np.random.Generator, per_column: int = 12) -> np.ndarray:
    """Single days on which one column is missing and the others are not."""
    hidden = np.zeros_like(observed)
    n_columns = observed.shape[1]
    days = rng.permutation(len(observed) // DAY)[: n_columns * per_column]
    for i, day in enumerate(days):
        hidden[day * DAY : (day + 1) * DAY, i % n_columns] = True
    return hidden & observed


if __name__ == "__main__":
    main()
