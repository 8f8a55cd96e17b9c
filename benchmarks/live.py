"""Rows that arrive one by one: do intervals of the newest row hold, how long does a row take, does memory grow?

    python benchmarks/live.py                          # coverage and latency: ETTh1, hourly Weather, airports
    python benchmarks/live.py --soak 600 --rate 100    # 100 rows a second for ten minutes, memory over time

A fill is fitted to the first rows of a table with gaps (single points, runs of up to a day, in one column or in
several), and later rows arrive with gaps drawn the same way. Errors are in units of each column's deviation.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd

import t1
from t1.live.row import FINAL, NEWEST

DATA = Path(os.environ.get("T1_DATA_DIR", Path(__file__).parents[2] / "shared" / "data"))
AGES = ((1, 1), (2, 5), (6, 23), (24, 10**6))


def read(name: str, time: str = "date") -> pd.DataFrame:
    return pd.read_csv(DATA / name, index_col=time, parse_dates=True, encoding_errors="replace")


def airports() -> pd.DataFrame:
    table = t1.load_sample()
    return table.tz_localize(None) if table.index.tz is not None else table


def traffic() -> pd.DataFrame:
    table = pd.read_csv(DATA / "los_speed" / "los_speed.csv")
    return table.set_axis(pd.date_range("2012-03-01", periods=len(table), freq="5min"))


# the rehearsal of ends was tuned on ETTh1, Weather and airports, how a stream is followed on Weather, airports, ETTm1,
# Exchange and ETTh2; the others (ETTm2, PM2.5, Weather10) are to check that
TABLES = {
    "ETTh1": lambda: read("ETT-small/ETTh1.csv"),
    "Weather": lambda: read("weather/weather.csv").iloc[:, :10].resample("1h").first(),
    "Weather10": lambda: read("weather/weather.csv").iloc[:, :10],  # every 10 minutes
    "airports": lambda: airports().iloc[:, :10],
    "ETTh2": lambda: read("ETT-small/ETTh2.csv"),
    "Exchange": lambda: read("exchange_rate/exchange_rate.csv"),
    "ETTm1": lambda: read("ETT-small/ETTm1.csv"),
    "ETTm2": lambda: read("ETT-small/ETTm2.csv"),
    "traffic": lambda: traffic().iloc[:, :10],
    "PM2.5": lambda: read("pm25/pm25_ground.txt", "datetime").iloc[:, :10],
}


def gaps(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """About a tenth of the cells: single points, runs of a column, outages of several columns."""
    hidden = rng.random(shape) < 0.03
    for _ in range(shape[0] // 60):
        begin, length = rng.integers(shape[0]), int(np.exp(rng.uniform(0, np.log(36))))
        several = rng.random(shape[1]) < (0.4 if rng.random() < 0.3 else 1.2 / shape[1])
        hidden[begin : begin + length, several] = True
    return hidden


def rss() -> float:
    """Megabytes that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def stream(name: str, table: pd.DataFrame, options: argparse.Namespace) -> dict[str, object]:
    rng = np.random.default_rng(options.seed)
    fit_rows = min(options.fit_rows, len(table) - options.rows)
    table = table.iloc[: fit_rows + options.rows]
    truth = table.to_numpy(float)
    hidden = gaps(truth.shape, rng)
    shown = np.where(hidden, np.nan, truth)
    known = table.iloc[:fit_rows].mask(hidden[:fit_rows])
    began = time.process_time()
    fitted = t1.fit(known, budget=options.budget)
    fit_seconds = time.process_time() - began
    live = fitted.live(engine=options.engine, intervals=options.level)
    live.warm(known.to_numpy(), known.index)
    scale = np.nanstd(truth[:fit_rows], axis=0)
    silent = np.zeros(truth.shape[1], dtype=int)
    wall, cpu = [], []
    newest: list[tuple[int, bool, float, float, float]] = []
    final: list[bool] = []
    at = {when: i for i, when in enumerate(table.index)}
    for i in range(fit_rows, len(table)):
        last = shown[:i]
        silent = np.where(np.isnan(shown[i]), silent + 1, 0)
        a, b = time.perf_counter(), time.process_time()
        told = live.push(shown[i], table.index[i])
        wall.append(time.perf_counter() - a)
        cpu.append(time.process_time() - b)
        for row in told:
            k = at[pd.Timestamp(row.time)]
            inside = (truth[k] >= row.lo) & (truth[k] <= row.hi)
            scored = hidden[k] & ~np.isnan(truth[k])
            if row.status == NEWEST and k == i:
                for j in np.flatnonzero(scored):
                    seen = last[~np.isnan(last[:, j]), j]
                    carried = abs(seen[-1] - truth[k, j]) / scale[j]
                    error = abs(row.values[j] - truth[k, j]) / scale[j]
                    width = (row.hi[j] - row.lo[j]) / scale[j]
                    newest.append((int(silent[j]), bool(inside[j]), error, carried, width))
            elif row.status == FINAL:
                final += inside[scored].tolist()
    ages, inside, errors, carried, widths = map(np.array, zip(*newest, strict=True))
    by_age = {}
    for low, high in AGES:
        mine = (ages >= low) & (ages <= high)
        if mine.any():
            by_age[f"{low}+" if high > 10**5 else f"{low}-{high}"] = [
                round(float(inside[mine].mean()), 3),
                int(mine.sum()),
            ]
    ms = {
        f"{kind} p{q}": round(float(np.percentile(x, q)) * 1e3, 1)
        for kind, x in (("cpu", cpu), ("wall", wall))
        for q in (50, 99)
    }
    return {
        "table": name,
        "columns": truth.shape[1],
        "level": options.level,
        "newest inside": round(float(inside.mean()), 3),
        "cells": len(inside),
        "by rows of silence": by_age,
        "final inside": round(float(np.mean(final)), 3),
        "mean width": round(float(widths.mean()), 3),
        "error": round(float(errors.mean()), 3),
        "last value carried forward": round(float(carried.mean()), 3),
        "milliseconds per row": ms,
        "fit, seconds of CPU": round(fit_seconds, 1),
        "engine": options.engine,
        "budget": options.budget,
    }


def soak(options: argparse.Namespace) -> None:
    table = TABLES["Weather"]().iloc[:4000]
    known = table.mask(gaps(table.shape, np.random.default_rng(0)))
    live = t1.fit(known, budget="fast").live(engine=options.engine)
    rows = known.to_numpy()
    step = known.index[1] - known.index[0]
    cpu, wall, late, held = [], [], 0, []
    began = time.perf_counter()
    total = int(options.soak * options.rate)
    for i in range(total):
        due = began + i / options.rate
        if (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        late += time.perf_counter() - due > 1.0
        a, b = time.process_time(), time.perf_counter()
        live.push(rows[i % len(rows)], known.index[0] + i * step)
        cpu.append(time.process_time() - a)
        wall.append(time.perf_counter() - b)
        if i % max(1, total // 40) == 0:
            held.append(round(rss(), 1))
            print(f"{i:>8,} rows  {time.perf_counter() - began:6.0f} s  {held[-1]:7.1f} MB", flush=True)
    seconds = time.perf_counter() - began
    said = {
        "rows": len(cpu),
        "rows per second": round(len(cpu) / seconds, 1),
        "rows more than 1 s behind": late,
        "MB after the first tenth, at the end": [held[len(held) // 10], held[-1]],
        "rows per second of processor time": round(len(cpu) / sum(cpu), 1),
        "cpu ms p50, p99": [round(float(np.percentile(cpu, q)) * 1e3, 1) for q in (50, 99)],
        "wall ms p50, p99": [round(float(np.percentile(wall, q)) * 1e3, 1) for q in (50, 99)],
        "engine": options.engine,
    }
    print(json.dumps(said))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=["ETTh1", "Weather", "airports"])
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--budget", default="fast")
    parser.add_argument("--engine", default="torch")
    parser.add_argument("--fit-rows", type=int, default=5000)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--soak", type=float, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=100.0, help="rows per second of a soak")
    options = parser.parse_args()
    if options.soak:
        soak(options)
        return
    for name in options.tables:
        print(json.dumps(stream(name, TABLES[name](), options)), flush=True)


if __name__ == "__main__":
    main()
