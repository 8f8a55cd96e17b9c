"""How time and memory grow with the rows of a file, filled stretch by stretch and as a whole.

    python benchmarks/scale.py --rows 1e5 1e6 1e7 --method linear --format parquet
    python benchmarks/scale.py --rows 1e5 --method all --one-fit   # both ways apply the fit of a sample

Every fill is a process of its own; seconds of processor time are told beside those of the clock, for a machine
that is shared. The peak is of resident memory (ru_maxrss), the interpreter and its libraries included. What
learns does so from a sample in the one case and from all rows in the other: such fills are equal with --one-fit only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

BLOCK = 100_000  # rows that are made at once
COLUMNS = 10
FILL = """
import json, resource, sys, time
from t1.api import impute_file
from t1.bulk.stretches import impute_stretches
from t1.options import FillOptions, FitOptions
source, target, how, method, model = sys.argv[1:]
base = resource.getrusage(resource.RUSAGE_SELF)
began = time.perf_counter()
fit = FitOptions(method=None if method == "all" else method, budget="fast")
def tell(rows, of):
    now = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{rows:,} rows written: {now.ru_utime + now.ru_stime:.0f} s of processor time, "
          f"{now.ru_maxrss / 1024:,.0f} MB at most", file=sys.stderr, flush=True)
stretches = how == "stretches"
done = (impute_stretches if stretches else impute_file)(
    source, target, reading={}, fit_options=FitOptions() if model else fit, fill_options=FillOptions(),
    model=model or None, **({"on_rows": tell} if stretches else {}),
)
used = resource.getrusage(resource.RUSAGE_SELF)
cpu = used.ru_utime + used.ru_stime - base.ru_utime - base.ru_stime
print(json.dumps({"seconds": time.perf_counter() - began, "cpu": cpu, "peak_mb": used.ru_maxrss / 1024,
    "start_mb": base.ru_maxrss / 1024, "filled": done.n_filled}))
"""


FIT = """
import sys
from t1.bulk.stretches import fit_large_file
from t1.options import FitOptions
source, folder, method = sys.argv[1:]
fit = FitOptions(method=None if method == "all" else method, budget="fast")
fit_large_file(source, folder, reading={}, options=fit)
"""


def block(begin: int, rows: int) -> pd.DataFrame:
    """Some rows of a table of minutes: a day's cycle, drift and noise, points and runs of cells missing."""
    rng = np.random.default_rng(begin)
    minutes = np.arange(begin, begin + rows)
    values = np.sin(2 * np.pi * minutes[:, None] / 1440 + np.arange(COLUMNS)) * np.arange(1, COLUMNS + 1)
    values += rng.normal(size=values.shape).cumsum(axis=0) * 0.01 + rng.normal(size=values.shape) * 0.1
    values[rng.random(values.shape) < 0.03] = np.nan
    for j in range(COLUMNS):
        for start in rng.integers(0, rows, rows // 2000):
            values[start : start + rng.integers(5, 60), j] = np.nan
    frame = pd.DataFrame(values.round(3), columns=[f"s{j}" for j in range(COLUMNS)])
    frame.insert(0, "time", pd.Timestamp("2000-01-01") + pd.to_timedelta(minutes, unit="min"))
    return frame


def write(path: Path, rows: int) -> None:
    """A file of so many rows, made block by block."""
    if path.suffix == ".csv":
        for begin in range(0, rows, BLOCK):
            part = block(begin, min(BLOCK, rows - begin))
            part.to_csv(path, index=False, header=begin == 0, mode="a" if begin else "w")
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Table.from_pandas(block(0, 10), preserve_index=False).schema
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, BLOCK):
            part = block(begin, min(BLOCK, rows - begin))
            writer.write_table(pa.Table.from_pandas(part, schema, preserve_index=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--method", default="linear", help="one, or all: what t1 impute --budget fast blends")
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv")
    parser.add_argument("--whole-up-to", type=float, default=1e6, metavar="ROWS", help="also as a whole")
    parser.add_argument(
        "--one-fit", action="store_true", help="fit once, to a sample; told are the fills only"
    )
    parser.add_argument("--trace", action="store_true", help="tell time and memory with every piece")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="for the files, which are deleted")
    a = parser.parse_args()
    print("| rows | file, MB | filled | clock, s | processor, s | rows / processor s | peak, MB | equal |")
    print("|---|---|---|---|---|---|---|---|")
    for rows in map(int, a.rows):
        with tempfile.TemporaryDirectory(dir=a.folder) as folder:
            source = Path(folder, f"in.{a.format}")
            write(source, rows)
            size, results = source.stat().st_size / 2**20, {}
            model = Path(folder, "model") if a.one_fit else ""
            if model:
                subprocess.run([sys.executable, "-c", FIT, source, model, a.method], check=True)
            for how in ("stretches", "whole")[: 1 + (rows <= a.whole_up_to)]:
                results[how] = target = Path(folder, f"{how}.{a.format}")
                ran = subprocess.run(
                    [sys.executable, "-c", FILL, source, target, how, a.method, model],
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=None if a.trace else subprocess.DEVNULL,
                    text=True,
                )
                told = json.loads(ran.stdout)
                equal = same(*results.values()) if len(results) > 1 else ""
                print(
                    f"| {rows:,} | {size:,.0f} | {how} | {told['seconds']:.1f} | {told['cpu']:.1f} | "
                    f"{rows / told['cpu']:,.0f} | {told['peak_mb']:,.0f} | {equal} |",
                    flush=True,
                )


def same(one: Path, other: Path) -> str:
    """Whether two fills are the same: the bytes of text, the table of Parquet."""
    if one.suffix == ".csv":
        return str(one.read_bytes() == other.read_bytes())
    import pyarrow.parquet as pq

    return str(pq.read_table(one).equals(pq.read_table(other)))


if __name__ == "__main__":
    main()
