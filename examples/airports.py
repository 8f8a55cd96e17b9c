"""`make demo`: fill a year of hourly weather at three airports, and say how wrong the fill is.

Gaps of the table's own shapes are cut into observed stretches and held out: T1 never sees those cells,
so the errors below are errors on cells whose truth is known.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import t1
from t1.missing import own
from t1.models.classic import linear


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=100, help="training time (default: 100)")
    parser.add_argument("--channels", type=int, default=128, help="width of the network (default: 128)")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="where to write (default: demo/)")
    options = parser.parse_args()
    began = time.perf_counter()

    table = t1.load_sample()
    truth = table.to_numpy()
    observed = ~np.isnan(truth)
    held_out = hold_out(observed, np.random.default_rng(102))
    print(
        f"{len(table):,} hours x {table.shape[1]} columns, {(~observed).sum():,} cells missing; "
        f"{held_out.sum():,} more held out to measure the error; training for {options.seconds:.0f} s ..."
    )

    imputer = t1.T1Imputer(max_seconds=options.seconds, n_channels=options.channels)
    imputer.fit(table.mask(held_out))
    guess = imputer.transform(table.mask(held_out)).to_numpy()
    line = linear(table.mask(held_out).to_numpy())
    filled = imputer.transform(table)
    assert (filled.to_numpy()[observed] == truth[observed]).all(), "an observed value was changed"

    options.out.mkdir(parents=True, exist_ok=True)
    filled.to_csv(options.out / "airports_filled.csv")

    print(f"\n{'column':<14}{'filled':>8}{'held out':>10}{'T1 error':>11}{'linear':>9}")
    better = 0
    for j, name in enumerate(table.columns):
        cells = held_out[:, j]
        ours, theirs = (np.abs(x[cells, j] - truth[cells, j]).mean() for x in (guess, line))
        better += ours < theirs
        print(f"{name:<14}{(~observed[:, j]).sum():>8,}{cells.sum():>10,}{ours:>11.3f}{theirs:>9.3f}")
    print(
        f"\nmean absolute error in the column's own units; T1 beats linear interpolation in {better} of "
        f"{table.shape[1]} columns\nwrote {options.out / 'airports_filled.csv'} in "
        f"{time.perf_counter() - began:.0f} s ({imputer.result_.steps:,} training steps)"
    )


def hold_out(observed: np.ndarray, rng: np.random.Generator, length: int = 168) -> np.ndarray:
    """Transplant the table's own gaps: each week gets the gaps of another week, where it was observed."""
    hidden = np.zeros_like(observed)
    for begin in range(0, len(observed) - length, length):
        week = slice(begin, begin + length)
        hidden[week] = own(observed[week], donor_observed=observed, rng=rng)
    return hidden


if __name__ == "__main__":
    main()
