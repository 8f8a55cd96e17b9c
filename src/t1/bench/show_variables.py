"""PhysioNet2012 variable by variable: the table and the pictures, from rows and kept curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from t1.bench.notes import count, run_notes
from t1.bench.paper import printed_lines
from t1.bench.sheet import DASH, MARK, Cell, Head, Sheet
from t1.bench.standard import TITLES
from t1.bench.store import Row, Store, latest
from t1.bench.study import STUDIES
from t1.bench.traces import CURVES
from t1.bench.variants import Variant, line_up
from t1.drawing import LOOKS, new_figure, write_figure
from t1.errors import InputError

STUDY = STUDIES["physionet"]
MEASURED, ZEROS = STUDY.kinds
COLUMNS = (("MSE", "mse", MEASURED), ("MAE", "mae", MEASURED), ("MSE", "mse", ZEROS), ("MAE", "mae", ZEROS))
GROUPS = {MEASURED: "over measured cells", ZEROS: "never measured = 0"}

Found = dict[Variant, dict[str, Row]]  # the rows of each system by kind


def _found(rows: Sequence[Row], dataset: str) -> Found:
    here = [row for row in latest(rows) if row.kind in STUDY.kinds and row.dataset == dataset]
    return {variant: {row.kind: row for row in each} for variant, each in line_up(here).items()}


def _dataset(rows: Sequence[Row], data: Sequence[str] | None) -> str:
    """One at a time: the one asked for, else the paper's if it ran, else whatever ran."""
    ran = list(dict.fromkeys(row.dataset for row in rows if row.kind in STUDY.kinds))
    known = [*STUDY.datasets, *ran]
    for name in data or ():
        if name not in known:
            raise InputError(
                f"{name!r} is no dataset of the study {STUDY.name!r}.\nIt has: {', '.join(known)}."
            )
    return (list(data or ()) or [name for name in known if name in ran] or known)[0]


def _variables(found: Found) -> list[str]:
    """Those of the study; of another dataset all that were scored."""
    scored = {
        name[:-4]
        for each in found.values()
        for row in each.values()
        for name in row.metrics
        if name[-4:] == " mse"
    }
    chosen = [name for name in STUDY.variables if name in scored or not scored]
    return chosen or sorted(scored)


def _paper() -> dict[tuple[str, str], dict[str, str]]:
    names = {title: name for name, title in TITLES.items()}
    return {
        (line["variable"], names[line["model"]]): line for line in printed_lines("physionet_per_variable")
    }


def _value(found: Found, variant: Variant, name: str, kind: str) -> float:
    row = found.get(variant, {}).get(kind)
    return math.nan if row is None else row.metrics.get(name, math.nan)


def tables(rows: Sequence[Row], data: Sequence[str] | None = None) -> list[Sheet]:
    """Errors of each variable at 0.5, both ways to score, beside the paper's."""
    dataset = _dataset(rows, data)
    found, paper = _found(rows, dataset), _paper()
    shown = dict(found)
    plain = {variant.model for variant in found if variant.plain}
    if dataset in STUDY.datasets:
        shown |= {Variant(name): {} for name in STUDY.models if name not in plain}
    order = sorted(shown, key=lambda variant: variant.order)
    lines: list[tuple[Cell, ...]] = []
    blocks = set()
    for variable in _variables(found):
        blocks.add(len(lines))
        best = {
            (metric, kind): min(
                (_value(found, v, f"{variable} {metric}", kind) for v in found), default=math.nan
            )
            for _, metric, kind in COLUMNS
        }
        for variant in order:
            theirs = (
                paper.get((variable, variant.model)) if variant.plain and dataset in STUDY.datasets else None
            )
            cells = [Cell(variable), Cell(variant.label), *_missing(found, variant, variable, theirs)]
            for _, metric, kind in COLUMNS:
                value = _value(found, variant, f"{variable} {metric}", kind)
                row = found.get(variant, {}).get(kind)
                cell = _cell(value, MARK * bool(row and not row.full))
                cells.append(replace(cell, bold=len(found) > 1 and value == best[metric, kind]))
                if kind == ZEROS:
                    cells.append(_cell(float(theirs[metric]) if theirs else math.nan))
            lines.append(tuple(cells))
    heads = [Head("variable", words=True), Head("model", words=True)]
    heads += [Head("ours", "missing share"), Head("paper", "missing share")]
    for text, _, kind in COLUMNS:
        heads.append(Head(text, GROUPS[kind]))
        heads += [Head(f"{text}, paper", GROUPS[kind])] * (kind == ZEROS)
    ran = {variant: list(each.values()) for variant, each in found.items()}
    return [
        Sheet(
            title=STUDY.title if dataset in STUDY.datasets else f"{dataset}, variable by variable",
            heads=tuple(heads),
            lines=tuple(lines),
            blocks=frozenset(blocks),
            notes=(
                "Half of the measured cells of the test patients are hidden. Bold: the lowest of ours.",
                "Never measured = 0: cells that were never measured count as hidden zeros, which is what the "
                "published figures seem to mean.",
                *_shares(found, paper, dataset),
                *_findings(found, paper, dataset),
                *run_notes(ran, [dataset]),
            ),
        )
    ]


def _shares(found: Found, paper: dict[tuple[str, str], dict[str, str]], dataset: str) -> list[str]:
    """Variables of which the paper prints another missing share than the data have."""
    if dataset not in STUDY.datasets or not found:
        return []
    first = next(iter(found))
    other = []
    for name in STUDY.variables:
        ours = _value(found, first, f"{name} missing", MEASURED)
        theirs = float(paper[name, "t1"]["natural_missing_rate"])
        if abs(ours - theirs) > 0.1:
            other.append(f"{name} {ours:.2f}, published {theirs:.2f}")
    return [f"Missing shares that differ by more than 0.1: {'; '.join(other)}."] if other else []


def _missing(found: Found, variant: Variant, variable: str, theirs: dict[str, str] | None) -> list[Cell]:
    ours = _value(found, variant, f"{variable} missing", MEASURED)
    return [
        Cell(DASH) if math.isnan(ours) else Cell(f"{ours:.2f}", ours),
        Cell(f"{float(theirs['natural_missing_rate']):.2f}") if theirs else Cell(DASH),
    ]


def _cell(value: float, mark: str = "") -> Cell:
    return Cell(DASH) if math.isnan(value) else Cell(f"{value:.3f}{mark}", value)


def _findings(found: Found, paper: dict[tuple[str, str], dict[str, str]], dataset: str) -> list[str]:
    """Whether T1 is ahead on each variable, in the paper and here."""
    own = next((variant for variant in found if variant.model == "t1" and variant.plain), None)
    others = [variant for variant in found if variant.model != "t1" and variant.plain]
    if own is None or not others or dataset not in STUDY.datasets:
        return []
    ahead_there = [
        name
        for name in STUDY.variables
        if all(
            float(paper[name, "t1"]["mse"]) <= float(line["mse"])
            for (n, _), line in paper.items()
            if n == name
        )
    ]
    sentences = [
        f"The paper's T1 has the lowest MSE on {len(ahead_there)} of {len(STUDY.variables)} variables."
    ]
    for kind in STUDY.kinds:
        ahead = []
        for name in STUDY.variables:
            mine = _value(found, own, f"{name} mse", kind)
            rivals = [_value(found, variant, f"{name} mse", kind) for variant in others]
            ahead += [name] * all(mine <= rival for rival in rivals)
        verdict = "holds" if set(ahead_there) <= set(ahead) else "does not hold"
        which = f" ({', '.join(ahead)})" * bool(ahead)
        sentences.append(
            f"Here, {GROUPS[kind]}, on {len(ahead)}{which} beside {count(len(others), 'other system')}: "
            f"the paper's conclusion {verdict} in these runs."
        )
    return [" ".join(sentences)]


def picture(rows: Sequence[Row], path: str | Path, store: Store, data: Sequence[str] | None = None) -> None:
    """How much is missing of each variable, errors by variable, and fills of several systems over the truth."""
    dataset = _dataset(rows, data)
    found = _found(rows, dataset)
    if not found:
        raise InputError("nothing has run yet.", cure="Run the study physionet; 10 minutes do (budget).")
    figure = new_figure(path, 7.2, 8.6)
    parts: Any = figure.subfigures(3, 1, height_ratios=[1.1, 1.1, 1.6])
    top, middle, bottom = parts
    _draw_missing(top.add_subplot(), found)
    _draw_errors(middle.add_subplot(), found)
    traces = {variant: store.trace(CURVES, next(iter(each.values())).id) for variant, each in found.items()}
    _draw_curves(bottom, {v: t["curves"] for v, t in traces.items() if t is not None})
    write_figure(figure, path)


def _draw_missing(axes: Any, found: Found) -> None:
    row = next(iter(next(iter(found.values())).values()))
    shares = {name[:-8]: share for name, share in row.metrics.items() if name.endswith(" missing")}
    names = sorted(shares, key=lambda name: shares[name])
    chosen = _variables(found)
    axes.bar(
        range(len(names)),
        [100 * shares[name] for name in names],
        color=["#0072b2" if name in chosen else "0.8" for name in names],
        edgecolor="0.3",
        linewidth=0.4,
    )
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6.5)
    axes.set_ylabel("missing, %", fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_title("(a) never measured in the test part (dark: the variables below)", fontsize=9, loc="left")


def _draw_errors(axes: Any, found: Found) -> None:
    variables = _variables(found)
    for k, variant in enumerate(found):
        look = {**LOOKS[k % len(LOOKS)], "linestyle": ""}
        shift = (k - (len(found) - 1) / 2) * 0.12
        values = [_value(found, variant, f"{name} mse", MEASURED) for name in variables]
        axes.plot(
            [i + shift for i in range(len(variables))], values, label=variant.label, markersize=5, **look
        )
    axes.set_xticks(range(len(variables)), variables, fontsize=8)
    axes.set_ylabel("MSE", fontsize=8)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="0.9")
    axes.tick_params(axis="y", labelsize=8)
    axes.legend(fontsize=7, ncols=2)
    axes.set_title("(b) errors over hidden measured cells, half of them hidden", fontsize=9, loc="left")


def _draw_curves(part: Any, traces: dict[Variant, dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for curves in traces.values() for name in curves))
    if not names:
        return
    panels = part.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for i, (axes, name) in enumerate(zip(panels, names, strict=True)):
        for k, (variant, curves) in enumerate(traces.items()):
            look = {**LOOKS[k % len(LOOKS)], "marker": ""}
            one = curves[name]
            filled = [
                t if seen else x for t, seen, x in zip(one["truth"], one["visible"], one["fill"], strict=True)
            ]
            axes.plot(filled, linewidth=1.1, label=variant.label, **look)
        one = next(curves[name] for curves in traces.values() if name in curves)
        truth, visible = one["truth"], one["visible"]
        for shown, style in ((True, {"color": "black"}), (False, {"color": "white"})):
            at = [t for t, x in enumerate(truth) if x is not None and visible[t] == shown]
            label = "measured, shown" if shown else "measured, hidden"
            axes.plot(
                at,
                [truth[t] for t in at],
                "o",
                markersize=4,
                markeredgecolor="black",
                label=label,
                zorder=4,
                **style,
            )
        axes.set_ylabel(name, fontsize=8)
        axes.tick_params(labelsize=8)
        if i == 0:
            axes.set_title("(c) fills of the test patient with most hidden values", fontsize=9, loc="left")
    panels[-1].set_xlabel("hours", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    part.legend(handles, labels, fontsize=7, ncols=4, loc="outside lower center")
