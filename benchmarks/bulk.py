"""Many files: two processes beside one, and what sending a file to another process or to Ray costs.

    python benchmarks/bulk.py --files 200

The first table is of the whole command on small files, start-up included. The second is of jobs that do nothing with
10 KB each, from the first answer to the last: what an executor costs for every file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from t1.jobs import Here, OnRay

ROWS = 300


def nothing(shared: object, job: bytes) -> bytes:
    """A job that costs nothing itself."""
    return job


def table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    values = np.sin(np.arange(ROWS) / 4 + seed)[:, None] * [1, 5, 20] + rng.normal(size=(ROWS, 3))
    values[rng.random(values.shape) < 0.1] = np.nan
    frame = pd.DataFrame(values.round(3), columns=["a", "b", "c"])
    frame.insert(0, "when", pd.date_range("2024-01-01", periods=ROWS, freq="h"))
    return frame


def seconds_of(*where: str, method: str) -> tuple[float, float]:
    """Seconds of the clock and of processors that the command takes; those of Ray's workers are not seen."""
    began, before = perf_counter(), os.times()
    command = [
        sys.executable,
        "-m",
        "t1.cli",
        "impute",
        "in",
        "-o",
        "-".join(["out", *where]).replace("/", ""),
    ]
    subprocess.run([*command, "--method", method, "-q", *where], check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return perf_counter() - began, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--method", default="linear")
    parser.add_argument("--jobs", type=int, default=500, help="that do nothing")
    parser.add_argument("--no-ray", action="store_true")
    a = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("| files | where | clock, s | processor, s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("in").mkdir()
        for k in range(a.files):
            table(k).to_csv(f"in/{k:05}.csv", index=False)
        for where in (["--jobs", "1"], ["--jobs", "2"], *([] if a.no_ray else [["--on", "ray"]])):
            clock, cpu = seconds_of(*where, method=a.method)
            print(f"| {a.files} | {' '.join(where)} | {clock:.1f} | {cpu:.1f} |", flush=True)
        os.chdir("/")
    print("\n| jobs | executor | ms per job |\n|---|---|---|")
    for executor in (Here(1), Here(2), *([] if a.no_ray else [OnRay()])):
        ends = [perf_counter() for _ in executor.run(nothing, None, [bytes(10_000)] * a.jobs)]
        per_job = 1000 * (ends[-1] - ends[0]) / (len(ends) - 1)
        print(f"| {a.jobs} | {executor} | {per_job:.2f} |", flush=True)


if __name__ == "__main__":
    main()
