"""The study of costs: its tables and its picture, from rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from t1.bench.paper import printed_lines
from t1.bench.picture import dots
from t1.bench.sheet import DASH, Cell, Head, Sheet
from t1.bench.standard import TITLES
from t1.bench.store import Row
from t1.bench.study import STUDIES
from t1.bench.tables import averages
from t1.bench.variants import line_up
from t1.drawing import new_figure, write_figure
from t1.errors import InputError

# our metric, the paper's column, what one of ours is in the paper's unit
QUANTITIES = {
    "parameters, M": ("parameters", "params_m", 1e-6),
    "multiply-adds, G": ("multiply_adds", "gflops", 1e-9),
    "peak memory, MB": ("peak_mb", "memory_mb", 1.0),
    "ms a step": ("step_ms", "train_ms_per_iter", 1.0),
}
UNITS = {"M": 1e6, "G": 1e9}


def tables(rows: Sequence[Row], data: Sequence[str] | None = None) -> list[Sheet]:
    """Every system beside the paper's figures, and T1 with fewer heads."""
    return [_systems(rows, data), _heads(rows, data)]


def _measured(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.kind == "cost"]


def _ours(rows: Sequence[Row], dataset: str) -> dict[str, Row]:
    """The last measurement of every plain system on a dataset."""
    here = line_up(row for row in _measured(rows) if row.dataset == dataset)
    return {variant.model: each[-1] for variant, each in here.items() if variant.plain}


def _paper(dataset: str) -> dict[str, dict[str, float]]:
    names = {title: name for name, title in TITLES.items()}
    return {
        names[line["model"]]: {key: float(line[key]) for key in line if key not in ("dataset", "model")}
        for line in printed_lines("efficiency")
        if line["dataset"] == dataset
    }


def _datasets(study: str, rows: Sequence[Row], data: Sequence[str] | None) -> list[str]:
    every = [*STUDIES[study].datasets, *dict.fromkeys(row.dataset for row in _measured(rows))]
    every = list(dict.fromkeys(every))
    for name in data or ():
        if name not in every:
            raise InputError(f"{name!r} is no dataset of the study {study!r}.\nIt has: {', '.join(every)}.")
    return [name for name in every if name in (data or every)]


def _systems(rows: Sequence[Row], data: Sequence[str] | None) -> Sheet:
    lines: list[tuple[Cell, ...]] = []
    blocks = set()
    for dataset in _datasets("efficiency", rows, data):
        ours, paper = _ours(rows, dataset), _paper(dataset)
        if not (ours or paper):
            continue
        blocks.add(len(lines))
        errors = averages("point", rows).get(dataset, {})
        for name in TITLES:
            if name in ours or name in paper:
                cells = [Cell(dataset), Cell(TITLES[name])]
                for metric, column, unit in QUANTITIES.values():
                    cells += [
                        _number(ours[name].metrics[metric] * unit if name in ours else math.nan),
                        _number(paper.get(name, {}).get(column, math.nan)),
                    ]
                cells.append(_ratio(ours, name))
                cells.append(
                    _times(
                        _published(paper, name, "train_ms_per_iter"),
                        _published(paper, "t1", "train_ms_per_iter"),
                    )
                )
                figure = errors.get(TITLES[name])
                cells.append(
                    _number(figure.value if figure else math.nan, "†" * bool(figure and not figure.full))
                )
                cells.append(_number(_published(paper, name, "mse")))
                lines.append(tuple(cells))
    heads = [Head("dataset", words=True), Head("model", words=True)]
    for group in (*QUANTITIES, "a step, in steps of T1", "MSE"):
        heads += [Head("ours", group), Head("paper", group)]
    return Sheet(
        title=STUDIES["efficiency"].title,
        heads=tuple(heads),
        lines=tuple(lines),
        blocks=frozenset(blocks),
        notes=tuple(_notes(rows)),
    )


def _published(paper: dict[str, dict[str, float]], name: str, column: str) -> float:
    return paper.get(name, {}).get(column, math.nan)


def _number(value: float, mark: str = "") -> Cell:
    if math.isnan(value):
        return Cell(DASH)
    return Cell((f"{value:,.0f}" if value >= 100 else f"{value:.3g}") + mark, value)


def _times(value: float, unit: float) -> Cell:
    ratio = value / unit if unit else math.nan
    return Cell(DASH) if math.isnan(ratio) else Cell(f"{ratio:.2f}", ratio)


def _ratio(ours: dict[str, Row], name: str) -> Cell:
    steps = [ours[one].metrics["step_ms"] if one in ours else math.nan for one in (name, "t1")]
    return _times(*steps)


def _notes(rows: Sequence[Row]) -> list[str]:
    here = _measured(rows)
    if not here:
        return ["Nothing was measured here yet: t1 bench run efficiency."]
    threads = sorted({row.threads for row in here})
    busy = max(row.metrics["step_wall_ms"] / max(row.metrics["step_ms"], 1e-9) for row in here)
    notes = [
        f"Batch {here[0].batch_size}, windows of random numbers in the shape of the dataset, Adam, on "
        f"{' and '.join(map(str, threads))} thread{'s' * (threads != [1])} of a CPU; the paper measured on a GPU, so "
        "that memory and milliseconds compare within a column only. Steps of all systems in turns, each "
        f"system in a process of its own, the median of {min(int(r.metrics['steps']) for r in here)} to "
        f"{max(int(r.metrics['steps']) for r in here)} steps.",
        "A step is counted in processor time."
        + f" The machine was shared: by the clock on the wall a step took up to {busy:.1f} times as long."
        * (busy > 1.3),
        "Peak memory: of the first step, above what the process had before the network was built.",
        "Multiply-adds of a forward pass over one window; T1's as the paper defines it, with convolutions "
        "counted as convolutions. Fourier transforms are not counted.",
    ]
    for dataset in dict.fromkeys(row.dataset for row in here):
        notes += _finding(dataset, _ours(rows, dataset), _paper(dataset))
    return notes


def _finding(dataset: str, ours: dict[str, Row], paper: dict[str, dict[str, float]]) -> list[str]:
    """Whether T1's place among the systems is the paper's."""
    both = [name for name in paper if name in ours and name != "t1"]
    if "t1" not in ours or "t1" not in paper or not both:
        return []
    counts = {}
    for title, (metric, column, _) in QUANTITIES.items():
        there = sum(paper[name][column] < paper["t1"][column] for name in both)
        here = sum(ours[name].metrics[metric] < ours["t1"].metrics[metric] for name in both)
        counts[title.split(",")[0]] = there, here
    close = all(abs(there - here) <= 1 for there, here in counts.values())
    listed = "; ".join(f"{name} {there} and {here}" for name, (there, here) in counts.items())
    return [
        f"{dataset}: of {len(both)} other systems take less than T1, in the paper and here: {listed}. "
        f"The paper's place of T1 among them {'holds' if close else 'does not hold in all four'}."
    ]


def _heads(rows: Sequence[Row], data: Sequence[str] | None) -> Sheet:
    """T1 with 4, 8 and 16 heads beside 128."""
    study = STUDIES["grouped-heads"]
    paper = {(line["dataset"], f"{line['heads']} heads"): line for line in printed_lines("head_overhead")}
    found = line_up(_measured(rows), study)
    lines: list[tuple[Cell, ...]] = []
    blocks, more = set(), list[str]()
    for dataset in _datasets("grouped-heads", [], data):
        blocks.add(len(lines))
        for variant, each in found.items():
            row = next((row for row in each[::-1] if row.dataset == dataset), None)
            theirs = paper.get((dataset, variant.label))
            lines.append(
                (
                    Cell(dataset),
                    Cell(variant.label),
                    _number(row.metrics["multiply_adds"] * 1e-9 if row else math.nan),
                    _number(_giga(theirs["flops"]) if theirs else math.nan),
                    _number(row.metrics["peak_mb"] if row else math.nan),
                    _number(float(theirs["memory_mb"]) if theirs else math.nan),
                    _number(row.metrics["step_ms"] if row else math.nan),
                )
            )
        more += _overhead(
            dataset, {v.label: [r for r in e if r.dataset == dataset] for v, e in found.items()}, paper
        )
    heads = [Head("dataset", words=True), Head("heads", words=True)]
    for group in ("multiply-adds, G", "peak memory, MB"):
        heads += [Head("ours", group), Head("paper", group)]
    return Sheet(
        title=study.title,
        heads=(*heads, Head("ms a step")),
        lines=tuple(lines),
        blocks=frozenset(blocks),
        notes=(
            "128 channels; heads of several channels attend with all of them together.",
            *more,
        ),
    )


def _giga(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNITS[unit] * 1e-9


def _overhead(
    dataset: str, ours: dict[str, list[Row]], paper: dict[tuple[str, str], dict[str, str]]
) -> list[str]:
    """What 128 heads cost beside the fewest."""
    full, few = ours.get("128 heads"), ours.get("4 heads")
    if not full or not few:
        return []
    here = 100 * (full[-1].metrics["peak_mb"] / few[-1].metrics["peak_mb"] - 1)
    memory = [float(paper[dataset, label]["memory_mb"]) for label in ("128 heads", "4 heads")]
    there = 100 * (memory[0] / memory[1] - 1)
    time = 100 * (full[-1].metrics["step_ms"] / few[-1].metrics["step_ms"] - 1)
    holds = "holds" if here <= max(there, 0) + 10 else "does not hold"
    return [
        f"{dataset}: a head for every channel takes {here:+.1f} % memory beside 4 heads (paper {there:+.1f} %), the "
        f"same multiply-adds and {time:+.1f} % time: that it comes at hardly any cost {holds} here."
    ]


def picture(rows: Sequence[Row], path: str | Path, data: Sequence[str] | None = None) -> None:
    """Every quantity relative to T1's, ours and the published, a row of panels for each dataset."""
    datasets = [d for d in _datasets("efficiency", rows, data) if _ours(rows, d) or _paper(d)]
    names = [n for n in TITLES if any(n in _ours(rows, d) or n in _paper(d) for d in datasets)]
    figure = new_figure(path, 9.6, 0.9 + len(datasets) * (0.8 + 0.2 * len(names)))
    for i, dataset in enumerate(datasets):
        ours, paper = _ours(rows, dataset), _paper(dataset)
        for k, (title, (metric, column, _)) in enumerate(QUANTITIES.items()):
            axes = figure.add_subplot(len(datasets), 4, 4 * i + k + 1)
            base = ours["t1"].metrics[metric] if "t1" in ours else math.nan
            dots(
                axes,
                {
                    "value": [ours[n].metrics[metric] / base if n in ours else math.nan for n in names],
                    "paper": [_published(paper, n, column) / _published(paper, "t1", column) for n in names],
                },
                [TITLES[name] for name in names] if k == 0 else [""] * len(names),
                log=True,
            )
            axes.axvline(1, color="0.6", linewidth=0.8, zorder=0)
            axes.set_title(f"{dataset}: {title.split(',')[0]}" if k == 0 else title.split(",")[0], fontsize=9)
            axes.set_xlabel("relative to T1", fontsize=8)
            if i == 0 and k == 0:
                figure.legend(
                    *axes.get_legend_handles_labels(), fontsize=8, ncols=2, loc="outside lower center"
                )
    write_figure(figure, path)
