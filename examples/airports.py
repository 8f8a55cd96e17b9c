"""`make demo`: fill a year of hourly weather at three airports, and say how wrong the fill is.

Two kinds of gaps are cut into observed stretches and held out: the table's own gaps, moved elsewhere, and
days on which one sensor is off. T1 never sees those cells, so these are errors on cells of known truth.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import t1
from t1.missing import own
from t1.models.classic import linear

QUANTITIES = ("temp", "dewp", "pressure")  # of the sample's seven; the other four fill as well, more slowly
DAY = 24


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=100, help="training time (default: 100)")
    parser.add_argument("--channels", type=int, default=64, help="width of the network (default: 64)")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="where to write (default: demo/)")
    options = parser.parse_args()
    began = time.perf_counter()

    table = t1.load_sample()
    table = table[[name for name in table if name.endswith(QUANTITIES)]]
    truth = table.to_numpy()
    observed = ~np.isnan(truth)
    rng = np.random.default_rng(102)
    own_gaps, days = transplanted_gaps(observed, rng), days_off(observed, rng)
    masked = table.mask(own_gaps | days)
    print(
        f"{len(table):,} hours x {table.shape[1]} columns, {(~observed).sum():,} cells missing; "
        f"{(own_gaps | days).sum():,} more held out to measure the error.\n"
        f"Training for {options.seconds:.0f} s ..."
    )

    imputer = t1.T1Imputer(max_seconds=options.seconds, n_channels=options.channels)
    imputer.fit(masked)
    fills = {"T1": imputer.transform(masked).to_numpy(), "linear": linear(masked.to_numpy())}
    filled = imputer.transform(table)
    assert (filled.to_numpy()[observed] == truth[observed]).all(), "an observed value was changed"
    options.out.mkdir(parents=True, exist_ok=True)
    filled.to_csv(options.out / "airports_filled.csv")

    def error(method: str, cells: np.ndarray, j: int) -> float:
        return float(np.abs(fills[method] - truth)[cells[:, j], j].mean())

    print(f"\n{'':<14}{'cells':>8}{'its own gaps':>20}{'a day off':>20}")
    print(f"{'column':<14}{'filled':>8}" + f"{'T1':>11}{'linear':>9}" * 2)
    wins = 0
    for j, name in enumerate(table.columns):
        errors = [error(m, cells, j) for cells in (own_gaps, days & ~own_gaps) for m in fills]
        wins += (errors[0] < errors[1]) + (errors[2] < errors[3])
        numbers = "".join(f"{e:>11.3f}{f:>9.3f}" for e, f in (errors[:2], errors[2:]))
        print(f"{name:<14}{(~observed[:, j]).sum():>8,}{numbers}")
    print(
        f"\nmean absolute error on held-out cells, in the column's own units; T1 beats linear interpolation "
        f"in {wins} of {2 * table.shape[1]} cases\nwrote {options.out / 'airports_filled.csv'} in "
        f"{time.perf_counter() - began:.0f} s ({imputer.result_.steps:,} training steps)"
    )


def transplanted_gaps(observed: np.ndarray, rng: np.random.Generator, length: int = 7 * DAY) -> np.ndarray:
    """The table's own gaps, moved: each week gets the gaps of another week, where it was observed."""
    hidden = np.zeros_like(observed)
    for begin in range(0, len(observed) - length, length):
        week = slice(begin, begin + length)
        hidden[week] = own(observed[week], donor_observed=observed, rng=rng)
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
