"""How fast `t1 serve` answers small tables: requests per second, latency, and what HTTP costs over `apply`.

    python benchmarks/serve.py                # 1, 8 and 32 clients, 5 s each
    python benchmarks/serve.py --rows 200 --seconds 2

A server of its own is started on a free port. `POST /v1/fill` judges the methods on the table and fills it. A model is
fitted there and here; then the same rows are filled by `POST /v1/models/{id}/fill` (Arrow in and out) and by
`FittedFill.apply`, in turns, so that both see the same machine.
"""

import argparse
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa

import t1

ARROW = "application/vnd.apache.arrow.stream"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=1000)
    p.add_argument("--columns", type=int, default=10)
    p.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    p.add_argument("--seconds", type=float, default=5.0, help="for each number of clients")
    p.add_argument("--pairs", type=int, default=20, help="direct and remote calls in turn, for the overhead")
    p.add_argument("--judged", type=int, default=7, help="calls of /v1/fill without a model")
    a = p.parse_args()
    table = waves(a.rows, a.columns)
    with tempfile.TemporaryDirectory() as folder:
        process, url = start(folder)
        try:
            measure(a, table, url)
        finally:
            process.terminate()
            process.wait()


def measure(a: argparse.Namespace, table: pd.DataFrame, url: str) -> None:
    with t1.Client(url) as client:
        model = client.fit(table, budget="fast")
    fitted = t1.fit(table, budget="fast")
    body = stream(table)
    with httpx.Client(base_url=url, timeout=300) as http:
        judged = [timed(lambda: post(http, "/v1/fill", body))[0] for _ in range(a.judged)]
        address = f"/v1/models/{model.id}/fill"
        post(http, address, body)  # the server loads the model
        fitted.apply(table)
        here, there, inside = [], [], []
        for _ in range(a.pairs):
            here.append(timed(lambda: fitted.apply(table))[0])
            seconds, answer = timed(lambda: post(http, address, body))
            there.append(seconds)
            inside.append(json.loads(answer.schema.metadata[b"t1"])["seconds"])
    print(
        f"{a.rows:,} x {a.columns}, {int(table.isna().sum().sum()):,} cells missing, {os.cpu_count()} cores"
    )
    if judged:
        print(
            f"judged and filled, nothing kept: median {statistics.median(judged):.2f} s, worst {max(judged):.2f} s"
        )
    print(f"apply here: median {1000 * statistics.median(here):.0f} ms")
    print(f"over HTTP:  median {1000 * statistics.median(there):.0f} ms")
    extra = [t - i for t, i in zip(there, inside, strict=True)]
    print(
        f"overhead (HTTP, process, Arrow; all but apply in the worker): median {1000 * statistics.median(extra):.1f} ms"
    )
    print(f"{'clients':>8} {'requests/s':>11} {'p50 ms':>8} {'p99 ms':>8} {'refused':>8}")
    for n in a.clients:
        took, refused, spent = together(n, a.seconds, url, model.id, body)
        ms = np.percentile(np.array(took) * 1000, [50, 99])
        print(f"{n:>8} {len(took) / spent:>11.1f} {ms[0]:>8.0f} {ms[1]:>8.0f} {refused:>8}", flush=True)


def together(n: int, seconds: float, url: str, model: str, body: bytes) -> tuple[list[float], int, float]:
    """The times of answers that n clients got, how many were told to come back, and how long it all took."""
    began = time.perf_counter()
    end = began + seconds

    def one(_: int) -> tuple[list[float], int]:
        took, refused = [], 0
        with httpx.Client(base_url=url, timeout=300) as http:
            while time.perf_counter() < end or not took:
                start = time.perf_counter()
                answer = http.post(f"/v1/models/{model}/fill", content=body, headers={"Content-Type": ARROW})
                if answer.status_code == 503:
                    refused += 1
                    time.sleep(0.05)
                else:
                    answer.raise_for_status()
                    took.append(time.perf_counter() - start)
        return took, refused

    with ThreadPoolExecutor(n) as pool:
        parts = list(pool.map(one, range(n)))
    spent = time.perf_counter() - began
    return [t for took, _ in parts for t in took], sum(refused for _, refused in parts), spent


def post(http: httpx.Client, address: str, body: bytes) -> pa.Table:
    answer = http.post(address, content=body, headers={"Content-Type": ARROW})
    answer.raise_for_status()
    return pa.ipc.open_stream(answer.content).read_all()


def timed(call):  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def stream(table: pd.DataFrame) -> bytes:
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, arrow.schema) as writer:
        writer.write_table(arrow)
    return out.getvalue()


def waves(rows: int, columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(rows)[:, None] / rng.uniform(3, 20, columns)) + rng.normal(
        0, 0.1, (rows, columns)
    )
    values[rng.random(values.shape) < 0.1] = np.nan
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])


def start(folder: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "t1.cli", "serve", "--port", "0", "--quiet", "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--folder", str(Path(folder) / "jobs")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"http://[^/\s]+", process.stdout.readline())
    assert found, "the server did not start"
    return process, found[0]


if __name__ == "__main__":
    main()
