"""Zero-shot, blended and tuned T1 beside other methods, on tables that the pretraining never saw.

    python benchmarks/zero.py run                      # all tables and scenarios, methods without training
    python benchmarks/zero.py run --tune 60 --scenarios mix --tables held-out
    python benchmarks/zero.py run --saits 60 --scenarios mix --tables held-out
    python benchmarks/zero.py run --tune 30 --places 1 --tables held-out   # all kinds of gaps; --saits 30 the same
    python benchmarks/zero.py run --tables panels --scenarios mix runs "points 30"   # with several series
    python benchmarks/zero.py run --weights FOLDER --tables held-out   # T1 alone from other weights: the probe's
    python benchmarks/zero.py table                    # geometric means of error relative to linear interpolation

Rows go to results/zero.jsonl; what is there is not run again. Tables: the corpus's held-out part and the paper's
datasets, of each the longest series, at most 3,000 rows x 32 columns; and those of the held-out part that have several
series, with at most 30 of these.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from t1.fill.fit import fit_panel
from t1.methods.base import Budget, Learning
from t1.methods.catalog import fit_of
from t1.methods.columns import Linear
from t1.methods.seasons import find_periods
from t1.panel import Panel

ROWS, COLUMNS, SERIES = 3000, 32, 30
HERE = Path(__file__).resolve().parents[1]
STORE = Path(os.environ.get("T1_ZERO_ROWS", HERE / "results" / "zero.jsonl"))
os.environ.setdefault("T1_DATA_DIR", str(HERE.parent / "shared" / "data"))
CORPUS = Path(os.environ.get("T1_CORPUS_DIR", HERE.parent / "shared" / "corpus"))
PAPER = ("ETTh1", "ETTh2", "ETTm1", "ETTm2", "Weather", "Exchange", "Illness", "AQI36", "PhysioNet2012")
ORDER = (
    "linear",
    "nearest",
    "seasonal",
    "iterative",
    "saits",
    "regression",
    "together",
    "beside",
    "probe",
    "t1",
    "t1-rest",
    "blend",
    "t1 tuned",
    "blend tuned",
)
TITLES = {
    "iterative": "IterativeImputer",
    "saits": "SAITS, {budget:g} s",
    "regression": "ridge regression",
    "together": "one regression for all series",
    "beside": "series side by side",
    "probe": "the probe's recipe",
    "t1": "T1 zero-shot",
    "t1-rest": "T1 on what the regression leaves",
    "t1 tuned": "T1 tuned, {budget:g} s",
    "blend": "blend, no training",
    "blend tuned": "blend, {budget:g} s",
}
WITH_T1 = ("t1", "t1-rest", "blend", "t1 tuned", "blend tuned")
# An outage is one gap in each column, whose error is luck: it is measured in several places
PLACES = {"outage": 4}
GAPS = 900  # hidden gaps from which on the share of cells inside intervals is known to 0.01
TRAINED = ("saits", "t1 tuned", "blend tuned")
FULL = 60.0  # seconds of what is trained, in the first tables; other budgets are points of the curve ...
DEFAULT = 30.0  # ... and those of `t1 impute` by default, with which all kinds of gaps are filled
PANEL = ", several series"  # ends the name of such a table
CORES = 2  # of the machine whose seconds these are: what is trained has as many processor seconds for each
KINDS = {  # titles of the tables of the page
    "24 held-out tables": "held-out",
    "The paper's datasets (test parts)": "paper",
    "Held-out tables with several series": "panel",
}
SCENARIOS = ("points 10", "points 30", "points 50", "points 70", "runs", "outage", "blackout", "mix")


def tables(part: str) -> Iterator[tuple[str, np.ndarray, list[int]]]:
    """Name, numbers (rows, columns) and the first rows of the series of each table."""
    for name, values, bounds in held_out() if part in ("held-out", "all", "panels") else ():
        if part != "panels":
            a, b = max(pairwise(bounds), key=lambda ab: ab[1] - ab[0])
            yield name, cut(values[a:b]), [0]
        elif (n := min(len(bounds) - 1, SERIES)) > 1:
            every = [values[a:b][: ROWS // n] for a, b in pairwise(bounds[: n + 1])]
            starts = np.cumsum([0, *(len(one) for one in every[:-1])]).tolist()
            yield f"{name}{PANEL}", cut(np.concatenate(every)), starts
    if part in ("paper", "all"):
        from t1.data.catalog import load

        for name in PAPER:
            test = load(name).test
            values = np.where(test.seen, test.rows, np.nan).astype(np.float64)
            if np.diff(test.starts).min() == 1:  # windows of one series
                yield name, cut(values[int(test.starts.min()) :]), [0]
                continue
            first = test.starts[: ROWS // test.window]  # separate samples: as many as fit
            samples = np.concatenate([values[i : i + test.window] for i in first.tolist()])
            yield name, cut(samples), list(range(0, len(samples), test.window))


def held_out() -> Iterator[tuple[str, np.ndarray, list[int]]]:
    """Name, numbers and the bounds of the series of each held-out table of the corpus."""
    with (CORPUS / "CATALOG.csv").open() as stream:
        names = [row["name"] for row in csv.DictReader(stream) if row["part"] == "held-out"]
    for name in names:
        with np.load(CORPUS / f"{name}.npz") as file:
            values, starts = file["values"].astype(np.float64), file["series_starts"]
        yield name, values, [*starts.tolist(), len(values)]


def cut(values: np.ndarray) -> np.ndarray:
    values = values[:ROWS, :COLUMNS]
    return values[:, (np.isfinite(values).mean(axis=0) > 0.2) & (np.nanstd(values, axis=0) > 0)]


def hidden_cells(scenario: str, observed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Observed cells to hide."""
    n, m = observed.shape
    hidden = np.zeros_like(observed)
    if scenario.startswith("points"):
        hidden |= rng.random((n, m)) < int(scenario.split()[1]) / 100
    if scenario == "mix":
        hidden |= rng.random((n, m)) < 0.1
    if scenario in ("runs", "mix"):
        for j in range(m):
            while hidden[:, j].sum() < 0.2 * n:
                length = min(int(rng.integers(12, 61)), n // 4)
                start = int(rng.integers(0, n - length + 1))
                hidden[start : start + length, j] = True
    if scenario == "outage":
        length = max(n // 10, 1)
        for j in range(m):
            start = int(rng.integers(1, max(n - length, 2)))
            hidden[start : start + length, j] = True
    if scenario == "blackout":
        while hidden[:, 0].sum() < 0.1 * n:
            length = min(int(rng.integers(4, 41)), n // 8)
            start = int(rng.integers(0, n - length + 1))
            hidden[start : start + length] = True
    return hidden & observed


def place_rng(seed: int, scenario: str, place: int) -> np.random.Generator:
    return np.random.default_rng([seed, SCENARIOS.index(scenario), *([place] if place else [])])


def effective_gaps(hidden: np.ndarray, scenario: str) -> float:
    """How many gaps there are if errors inside one are all alike: long ones count for their share of the cells.

    A blackout is one gap in all columns.
    """
    if scenario == "blackout":
        hidden = hidden.sum(axis=1, keepdims=True)
    sizes = []
    for cells in hidden.T:
        first = (cells > 0) & (np.append(0, cells[:-1]) == 0)
        sizes.append(np.bincount(np.cumsum(first), weights=cells)[1:])
    size = np.concatenate(sizes)
    return float(size.sum() ** 2 / (size**2).sum())


def key_of(row: dict) -> tuple:
    return row["table"], row["scenario"], row["method"], row.get("budget"), row.get("place", 0)


def run(a: argparse.Namespace) -> None:
    done = {key_of(row) for row in rows()}
    about = {"commit": commit(), "weights": weights_id(a.weights), "seed": a.seed}
    for name, truth, starts in tables(a.tables):
        if a.only and name not in a.only:
            continue
        observed = np.isfinite(truth)
        for scenario, place in ((s, k) for s in a.scenarios for k in range(min(PLACES.get(s, 1), a.places))):
            hidden = hidden_cells(scenario, observed, place_rng(a.seed, scenario, place))
            if not hidden.any():
                continue
            panel = Panel.of(np.where(hidden, np.nan, truth), starts=starts)
            base = {"table": name, "scenario": scenario, "cells": int(hidden.sum()), **about}
            base |= {"place": place, "gaps": round(effective_gaps(hidden, scenario), 1)}
            if a.weights:
                method, made = "probe", lambda *cells: probe(*cells, a.weights)
            elif a.saits:
                method, made = "saits", lambda *cells: saits(*cells, a.saits)
            else:
                have = {key[2] for key in done if (key[:2], key[3:]) == ((name, scenario), (None, place))}
                method, made = "blend tuned" if a.tune else "blend", partial(ours, tune=a.tune, have=have)
            budget = {"budget": a.saits or a.tune} if a.saits or a.tune else {}
            if (name, scenario, method, budget.get("budget"), place) in done:
                continue
            results = made(panel, truth, hidden)
            with STORE.open("a") as stream:
                for result in results:
                    stream.write(json.dumps({**base, **budget, **result}) + "\n")
            best = {r["method"]: round(r["ratio"], 3) for r in results}
            print(f"{name} {scenario}: {best}", flush=True)


def processor_seconds(seconds: float) -> Budget:
    """Seconds of CORES cores, as processor time: a busy machine does not shorten what is measured."""
    return Budget(CORES * seconds, time.process_time(), time.process_time, cores=CORES)


def ours(panel: Panel, truth: np.ndarray, hidden: np.ndarray, tune: float, have: set[str]) -> list[dict]:
    """Every default method and scikit-learn's, but for those we `have` rows of; the blend, and its intervals."""
    began = time.perf_counter()
    budget = processor_seconds(tune) if tune else None
    judged = fit_panel(panel, Learning(budget=budget), tune=bool(tune))
    filled = judged.fill(panel, level=0.9)
    seconds = time.perf_counter() - began
    scale = np.nanstd(truth, axis=0)
    linear = Linear().fill(panel).values  # without an answer where a series knows nothing of a column
    made = []
    for method in judged.methods:
        if (tune and method.name != "t1 tuned") or method.name in have:
            continue  # measured in the run without training, or before
        if (
            method.name == "regression"
        ):  # where it has no weight in the blend, it has not learned from all cells
            method = fit_of("regression")(panel, Learning(periods=find_periods(panel)))
        began = time.perf_counter()
        values = method.fill(panel).values
        values = np.where(np.isfinite(values), values, linear)
        made.append(score(method.name, values, truth, hidden, scale, linear, time.perf_counter() - began))
    if not tune and "iterative" not in have:
        began = time.perf_counter()
        values = fit_of("iterative")(panel, Learning()).fill(panel).values
        made.append(score("iterative", values, truth, hidden, scale, linear, time.perf_counter() - began))
    total = score("blend tuned" if tune else "blend", filled.values, truth, hidden, scale, linear, seconds)
    inside = (filled.lo <= truth) & (truth <= filled.hi)
    hidden = hidden & np.isfinite(linear)
    total["coverage"] = float(inside[hidden].mean())
    total["width"] = float(((filled.hi - filled.lo) / scale)[hidden].mean())
    total["guess"] = judged._guess
    # one width for all cells of a column and gap class, as split conformal intervals have, for comparison
    plain = replace(judged)
    plain.__dict__["_guess"] = "constant"
    flat = plain.fill(panel, level=0.9)
    total["width_constant"] = float(((flat.hi - flat.lo) / scale)[hidden].mean())
    return [*made, total]


def probe(panel: Panel, truth: np.ndarray, hidden: np.ndarray, weights: str) -> list[dict]:
    """T1 alone, zero-shot, from other weights."""
    began = time.perf_counter()
    learning = Learning(weights=weights, periods=find_periods(panel))
    values = fit_of("t1")(panel, learning).fill(panel).values
    seconds = time.perf_counter() - began
    linear = Linear().fill(panel).values
    values = np.where(np.isfinite(values), values, linear)
    return [score("probe", values, truth, hidden, np.nanstd(truth, axis=0), linear, seconds)]


def saits(panel: Panel, truth: np.ndarray, hidden: np.ndarray, seconds: float) -> list[dict]:
    """PyPOTS' SAITS, trained on the masked table for so many seconds."""
    began = time.perf_counter()
    budget = processor_seconds(seconds)
    fitted = fit_of("saits")(panel, Learning(budget=budget))
    values = fitted.fill(panel).values
    linear = Linear().fill(panel).values
    scale = np.nanstd(truth, axis=0)
    return [score("saits", values, truth, hidden, scale, linear, time.perf_counter() - began)]


def score(
    method: str,
    values: np.ndarray,
    truth: np.ndarray,
    hidden: np.ndarray,
    scale: np.ndarray,
    linear: np.ndarray,
    seconds: float,
) -> dict:
    """Mean absolute error over hidden cells in units of the column's deviation, and relative to linear's.

    Where nothing of a column is known in a series (patients), there is no line, and the cell does not count.
    """
    hidden = hidden & np.isfinite(linear)
    error = float((np.abs(values - truth) / scale)[hidden].mean())
    base = float((np.abs(linear - truth) / scale)[hidden].mean())
    return {"method": method, "mae": error, "ratio": error / max(base, 1e-12), "seconds": round(seconds, 2)}


def rows() -> list[dict]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def commit() -> str:
    out = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return out.stdout.strip()


def weights_id(folder: str | None) -> str:
    path = Path(folder or HERE / "src" / "t1" / "weights") / "t1.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else ""


def by_table(chosen: list[dict], scenario: str, method: str) -> list[float]:
    """The error of each table relative to linear's, of all places where its cells were hidden together."""
    sums: dict[str, list[float]] = {}
    for r in chosen:
        if (r["scenario"], r["method"]) == (scenario, method):
            of_table = sums.setdefault(r["table"], [0.0, 0.0])
            of_table[0] += r["mae"]
            of_table[1] += r["mae"] / max(r["ratio"], 1e-12)
    return [error / max(base, 1e-12) for error, base in sums.values()]


def title_of(method: str, budget: float) -> str:
    return TITLES.get(method, method).format(budget=budget)


def summary(chosen: list[dict], budget: float) -> Iterator[str]:
    """Lines of a table: geometric means over tables, the worst table in brackets."""
    methods = [m for m in ORDER if any(r["method"] == m for r in chosen)]
    yield "| scenario | " + " | ".join(title_of(m, budget) for m in methods) + " |"
    yield "|---" * (len(methods) + 1) + "|"
    n_tables = len({r["table"] for r in chosen})
    for scenario in SCENARIOS:
        cells = []
        for method in methods:
            ratios = by_table(chosen, scenario, method)
            mean = math.exp(np.mean(np.log(ratios))) if ratios else math.nan
            few = f"; {len(ratios)} of {n_tables} tables" if len(ratios) < n_tables else ""
            cells.append(f"{mean:.3f} ({max(ratios):.2f}{few})" if ratios else "–")
        if any(cell != "–" for cell in cells):
            yield f"| {scenario} | " + " | ".join(cells) + " |"


def parts() -> Iterator[tuple[str, list[dict], float]]:
    """Title, rows and budget of each table of the page."""
    every = [r for r in rows() if r.get("budget", FULL) == FULL]
    short = [r for r in rows() if r.get("budget") == DEFAULT and r["method"] in TRAINED]
    # every method on the same hidden cells, in one table: what has not filled all of them yet stays out
    filled_by = {m: {cells_of(r) for r in short if r["method"] == m} for m in TRAINED}
    filled_by["t1 tuned"] = filled_by["blend tuned"]  # which leaves a T1 out that is no better for its tuning
    filled = max(filled_by.values(), key=len)
    short = [r for r in short if filled_by[r["method"]] >= filled]
    same = [r for r in rows() if "budget" not in r] + short
    same = [r for r in same if cells_of(r) in filled]
    for title, kind in KINDS.items():
        chosen = [r for r in every if kind_of(r["table"]) == kind]
        yield title, chosen, FULL
        some = [r for r in same if kind_of(r["table"]) == kind]
        n, n_all = (len({r["table"] for r in part}) for part in (some, chosen))
        so_far = f", {n} of {n_all} so far" if n < n_all else ""
        yield f"{title}{so_far}: {CORES * DEFAULT:g} s of processor time to train", some, DEFAULT


def kind_of(table: str) -> str:
    """Whether a table is one of the paper's, one with several series, or any other one."""
    return "paper" if table in PAPER else "panel" if table.endswith(PANEL) else "held-out"


def cells_of(row: dict) -> tuple:
    """What tells hidden cells from others."""
    return row["table"], row["scenario"], row.get("place", 0)


def table(a: argparse.Namespace) -> None:
    """results/zero.md, rendered from the rows."""
    lines = [
        "# Fills of tables that the pretraining never saw",
        "",
        "Rendered by `python benchmarks/zero.py table` from `zero.jsonl`. Mean absolute error on hidden cells",
        "relative to linear interpolation's: geometric mean over tables, the worst table in brackets. Seconds are of",
        f"both cores: {FULL:g} s are {CORES * FULL:g} s of processor time, {DEFAULT:g} s (the default) are "
        f"{CORES * DEFAULT:g}. Outages are hidden in four places",
        "one after the other, as each column has only one gap; for the probe, and where every fill trains, in one.",
    ]
    for title, chosen, budget in parts():
        if chosen:
            lines += ["", f"## {title}", "", *summary(chosen, budget)]
            of_t1 = [r for m in WITH_T1 for r in chosen if r["method"] == m]
            lines += ["", told_weights((title_of(r["method"], budget), r["weights"]) for r in of_t1)]
        for method in ("blend", "blend tuned"):
            bands = all_places([r for r in chosen if r["method"] == method and r["cells"] >= 500])
            if bands and (method in TRAINED or budget == FULL):
                lines += ["", *told_bands(title_of(method, budget), bands)]
    lines += [*curve(), "", "![Error relative to linear interpolation](zero.svg)", ""]
    STORE.with_suffix(".md").write_text("\n".join(lines))
    print("\n".join(lines))
    picture()


def told_bands(title: str, bands: list[dict]) -> Iterator[str]:
    """How many cells lie inside their intervals, and how wide those are."""
    cover = [r["coverage"] for r in bands]
    inside = np.mean([0.88 <= c <= 0.92 for c in cover])
    yield (
        f"90 % intervals of the {title} hold {np.mean(cover):.3f} of the hidden cells on average, "
        f"{min(cover):.3f} to {max(cover):.3f}; {inside:.0%} of {len(bands)} fills lie within "
        f"0.88 to 0.92. Mean width {np.mean([r['width'] for r in bands]):.3f} deviations; with one "
        "width for all cells of a "
        f"column and gap class {np.mean([r['width_constant'] for r in bands]):.3f}."
    )
    yield from known_well(bands)


def told_weights(measured: Iterable[tuple[str, str]]) -> str:
    """Which pretrained weights were behind what: pairs of a title and the weights that it was measured with."""
    found: dict[str, list[str]] = {}
    for title, weights in dict.fromkeys(measured):
        found.setdefault(weights, []).append(title)
    shipped = weights_id(None)
    each = (f"{weights}{' (shipped)' * (weights == shipped)}: {', '.join(m)}" for weights, m in found.items())
    return f"Measured with the weights {'; '.join(each)}."


def all_places(bands: list[dict]) -> list[dict]:
    """One row for each table and scenario: the shares inside intervals and the widths of all its places."""
    groups: dict[tuple, list[dict]] = {}
    for r in bands:
        groups.setdefault((r["table"], r["scenario"]), []).append(r)
    means = ("coverage", "width", "width_constant")
    return [
        {
            **same[0],
            "cells": sum(r["cells"] for r in same),
            "gaps": sum(r.get("gaps", 0) for r in same),
            **{name: float(np.mean([r[name] for r in same])) for name in means},
        }
        for same in groups.values()
    ]


def known_well(bands: list[dict]) -> Iterator[str]:
    """The share inside intervals where there are so many gaps that chance moves it by 0.01 only."""
    sure = [r["coverage"] for r in bands if r.get("gaps", 0) >= GAPS]
    if sure:
        inside = np.mean([0.88 <= c <= 0.92 for c in sure])
        yield (
            f"Of the {len(sure)} fills with at least {GAPS} hidden gaps, where chance moves the share by 0.01, "
            f"{inside:.0%} do, {min(sure):.3f} to {max(sure):.3f}."
        )
    tables: dict[str, list[dict]] = {}
    for r in bands:
        tables.setdefault(r["table"], []).append(r)
    shares = [
        np.average([r["coverage"] for r in of_table], weights=[r["cells"] for r in of_table])
        for of_table in tables.values()
        if sum(r.get("gaps", 0) for r in of_table) >= GAPS
    ]
    if shares and len(shares) < len(bands):
        inside = np.mean([0.88 <= c <= 0.92 for c in shares])
        yield (
            f"All kinds of gaps of a table together: {inside:.0%} of {len(shares)} tables do, "
            f"{min(shares):.3f} to {max(shares):.3f}."
        )


def curve() -> list[str]:
    """Error over seconds, on the tables that were tuned with every budget."""
    errors: dict[float, dict[str, float]] = {}
    used: list[tuple[str, dict]] = []
    for r in rows():
        if (
            r["scenario"] == "mix"
            and r["method"] in ("blend", "blend tuned")
            and kind_of(r["table"]) == "held-out"
        ):
            used.append((f"{r['budget']:g} s" if "budget" in r else "nothing trained", r))
            errors.setdefault(r.get("budget", 0.0), {})[r["table"]] = r["ratio"]
    same = set.intersection(*(set(of_budget) for of_budget in errors.values())) if errors else set()
    if len(errors) < 3 or not same:
        return []
    seconds = sorted(errors)
    means = [math.exp(np.mean([math.log(errors[b][name]) for name in sorted(same)])) for b in seconds]
    return [
        "",
        f"Error over seconds of two cores for the whole fill (judging, tuning, filling; mix, {len(same)} tables):",
        "",
        "| " + " | ".join("nothing trained" if b == 0 else f"{b:g} s" for b in seconds) + " |",
        "|---" * len(seconds) + "|",
        "| " + " | ".join(f"{mean:.3f}" for mean in means) + " |",
        "",
        told_weights((title, r["weights"]) for title, r in used if r["table"] in same),
    ]


def picture() -> None:
    """One dot per table: error relative to linear interpolation by method, in each scenario."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "zero"  # the same picture is the same file
    import matplotlib.pyplot as plt

    chosen = [r for r in rows() if kind_of(r["table"]) == "held-out" and r.get("budget", FULL) == FULL]
    methods = [m for m in ORDER if m != "linear" and any(r["method"] == m for r in chosen)]
    scenarios = [s for s in SCENARIOS if any(r["scenario"] == s for r in chosen)]
    figure, axes = plt.subplots(1, len(scenarios), sharey=True, figsize=(2.1 * len(scenarios), 4.2))
    for axis, scenario in zip(np.atleast_1d(axes), scenarios, strict=True):
        for k, method in enumerate(methods):
            ratios = by_table(chosen, scenario, method)
            if ratios:
                axis.plot([k] * len(ratios), np.clip(ratios, 0.1, 4), "o", ms=3, alpha=0.5, color="0.45")
                mean = math.exp(np.mean(np.log(ratios)))
                axis.plot([k - 0.3, k + 0.3], [mean, mean], "-", lw=2.5, color="#0b6e99")
        axis.axhline(1.0, lw=0.8, color="0.2", ls="--")
        axis.set_yscale("log")
        axis.set_yticks([0.1, 0.25, 0.5, 1, 2, 4], ["0.1", "0.25", "0.5", "1", "2", "4"])
        axis.set_xticks(range(len(methods)), [title_of(m, FULL) for m in methods], rotation=90, fontsize=7)
        axis.set_title(scenario, fontsize=9)
    np.atleast_1d(axes)[0].set_ylabel("error relative to linear interpolation")
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(
            STORE.with_suffix(f".{kind}"), dpi=130, metadata={"Date": None} if kind == "svg" else None
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("run")
    p.add_argument("--tables", choices=["held-out", "paper", "panels", "all"], default="all")
    p.add_argument("--only", nargs="*", help="names of tables")
    p.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS)
    p.add_argument(
        "--tune", type=float, default=0.0, help="seconds of two cores for the whole fill, tuning included"
    )
    p.add_argument("--saits", type=float, default=0.0, help="train PyPOTS' SAITS for so many seconds instead")
    p.add_argument(
        "--weights", help="fill with T1 from these weights instead (the probe's: the line to beat)"
    )
    p.add_argument(
        "--places", type=int, default=max(PLACES.values()), help="at most, in which outages are hidden"
    )
    p.add_argument("--seed", type=int, default=102)
    p.set_defaults(run=run)
    p = commands.add_parser("table")
    p.set_defaults(run=table)
    a = parser.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
