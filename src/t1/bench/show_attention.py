"""Where T1 looks: the tables and the picture, from rows and a kept trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t1.bench.notes import count, run_notes
from t1.bench.notes import place as rate_of
from t1.bench.sheet import DASH, MARK, Cell, Head, Sheet
from t1.bench.store import Row, Store
from t1.bench.study import STUDIES
from t1.bench.traces import ATTENTION, MAPS, PLACES, TOP
from t1.bench.variants import Variant, line_up
from t1.drawing import LOOKS, new_figure, write_figure
from t1.durations import duration
from t1.errors import InputError

STUDY = STUDIES["representation"]
CLEAR = 5.0  # per cent that attention must fall by to be said to fall


def _longest(rows: Sequence[Row], data: Sequence[str] | None) -> list[Row]:
    """The rows of the longest training that was looked into, of the paper's T1 if there is one."""
    here = [row for row in rows if row.kind in STUDY.kinds and row.dataset in (data or [row.dataset])]
    if not here:
        raise InputError(
            "nothing was looked into yet.", cure="Run the study representation; 16 minutes do (budget)."
        )
    plain = [row for variant, each in line_up(here).items() if variant.plain for row in each]
    best = max(plain or here, key=lambda row: (row.steps, row.finished))
    last = {row.scenario: row for row in here if row.id == best.id and row.steps == best.steps}
    return list(last.values())


def _blocks(row: Row) -> list[str]:
    return [name for name in row.metrics if name.startswith("block ")]


def tables(rows: Sequence[Row], data: Sequence[str] | None = None) -> list[Sheet]:
    """Attention by block as the target goes missing; attention by place where it goes missing."""
    found = _longest(rows, data)
    return [_by_rate(found), _by_place(found)]


def _trained(row: Row) -> str:
    return (
        f"{row.dataset}, {Variant(row.model).label}: trained for {duration(row.train_seconds)}"
        f"{' of processor time' * (row.clock == 'cpu')}, {count(row.epochs, 'epoch')}{'' if row.full else MARK}"
    )


def _by_rate(found: Sequence[Row]) -> Sheet:
    rows = {rate_of(row.scenario): row for row in found if row.kind == "attention"}
    rates = sorted(rows)
    if not rates:
        raise InputError("the run has no rows for attention.", cure="Run the study representation.")
    first, last = rows[rates[0]], rows[rates[-1]]
    blocks = _blocks(first)
    lines = []
    for block in blocks:
        values = [rows[rate].metrics[block] for rate in rates]
        cells = [Cell(f"{value:.4f}", value) for value in values]
        lines.append((Cell(block), *cells, _percent(values[0], values[-1]), *_published(block, blocks)))
    heads = [
        Head("block", words=True),
        *(Head(rate, "missing") for rate in rates),
    ]
    heads += [Head("change"), Head("0.1, paper"), Head("0.7, paper")]
    uniform = f"{1 / _n_vars(first):.3f}" if _n_vars(first) else DASH
    return Sheet(
        title=STUDY.title,
        heads=tuple(heads),
        lines=tuple(lines),
        notes=(
            f"{_trained(first)}. The mean weight that the other variables give the target, over all heads and "
            f"{first.cells:,} test windows, every variable being the target in turn; 40 % of the others' cells "
            f"are missing. Equal weights would be {uniform}.",
            _finding_by_rate(first, last, blocks),
            *run_notes({Variant(first.model): [first]}, [first.dataset]),
        ),
    )


def _n_vars(row: Row) -> int:
    return sum(name.endswith(" block 1") for name in row.metrics)


def _published(block: str, blocks: Sequence[str]) -> list[Cell]:
    name = {blocks[0]: "block 1", blocks[-1]: "last block"}.get(block)
    figures = [STUDY.paper.get(f"{name} at {rate}") for rate in ("0.1", "0.7")]
    return [Cell(DASH) if figure is None else Cell(f"{figure:.3f}", figure) for figure in figures]


def _change(before: float, after: float) -> float:
    return 100 * (after / before - 1)


def _percent(before: float, after: float) -> Cell:
    change = _change(before, after)
    return Cell(f"{change:+.1f} %".replace("-", "−"), change)


def _finding_by_rate(first: Row, last: Row, blocks: Sequence[str]) -> str:
    paper = STUDY.paper
    ends = [(first.metrics[block], last.metrics[block]) for block in (blocks[0], blocks[-1])]
    falls = [_change(*pair) for pair in ends]
    published = [
        _change(paper[f"{name} at 0.1"], paper[f"{name} at 0.7"]) for name in ("block 1", "last block")
    ]
    holds = falls[0] <= -CLEAR and falls[0] < falls[1]
    return (
        f"The paper: the first block turns away from a variable as it goes missing ({published[0]:+.0f} %), the "
        f"last hardly does ({published[1]:+.0f} %). Here {falls[0]:+.1f} % and {falls[1]:+.1f} %: that the first block "
        f"turns away by {CLEAR:g} % at least, and more than the last, {'holds' if holds else 'does not hold'} here."
    )


def _by_place(found: Sequence[Row]) -> Sheet:
    row = next((row for row in found if row.kind == "where"), None)
    if row is None:
        raise InputError("the run has no row for places.", cure="Run the study representation.")
    blocks = [name[len("clean ") :] for name in row.metrics if name.startswith("clean ")]
    lines = []
    for place in PLACES:
        cells = [Cell(place)]
        for prefix in ("", "sample "):
            for block in blocks if not prefix else blocks[-1:]:
                value = row.metrics[f"{prefix}{place} {block}"]
                cells.append(Cell(f"{value:.4f}", value))
            top = [row.metrics[f"{prefix}{name} {blocks[-1]}"] for name in ("clean", place)]
            cells.append(Cell(DASH) if place == "clean" else _percent(*top))
        figure = STUDY.paper.get(place)
        cells.append(Cell(DASH) if figure is None else Cell(f"{figure:+.1f} %".replace("-", "−"), figure))
        lines.append(tuple(cells))
    heads = [Head("30 % of the target hidden at", words=True)]
    heads += [*(Head(block, f"mean over {row.cells} windows") for block in blocks)]
    heads += [Head("change", f"mean over {row.cells} windows")]
    heads += [Head(blocks[-1], "one sample"), Head("change", "one sample"), Head("change, paper")]
    return Sheet(
        title="Attention to a variable by where its cells go missing",
        heads=tuple(heads),
        lines=tuple(lines),
        notes=(
            f"{_trained(row)}. Top {TOP}: the heads of all blocks that look most at the target in the clean case. "
            "Changes are of those, against clean.",
            _finding_by_place(row),
        ),
    )


def _finding_by_place(row: Row) -> str:
    def change(place: str, prefix: str) -> float:
        return _change(*(row.metrics[f"{prefix}{name} top {TOP}"] for name in ("clean", place)))

    here = {prefix: [change(place, prefix) for place in PLACES[3:]] for prefix in ("sample ", "")}
    paper = [STUDY.paper[place] for place in PLACES[3:]]
    holds = {prefix: high <= low - 1 and high < 0 for prefix, (high, low) in here.items()}
    words = {True: "holds", False: "does not hold"}
    sample, mean = here["sample "], here[""]
    return (
        f"The paper: heads turn away more where the hidden cells had high local variance ({paper[0]:+.1f} %) than low "
        f"({paper[1]:+.1f} %). Here in the sample {sample[0]:+.1f} and {sample[1]:+.1f} %: {words[holds['sample ']]}; "
        f"over {row.cells} windows {mean[0]:+.1f} and {mean[1]:+.1f} %: {words[holds['']]}."
    )


def picture(rows: Sequence[Row], path: str | Path, store: Store, data: Sequence[str] | None = None) -> None:
    """Attention by block, by head, and the maps of the heads that look most at the target."""
    found = _longest(rows, data)
    trace = store.trace(ATTENTION, found[0].id)
    if trace is None:
        raise InputError(
            f"the numbers of the sample are not kept in {store.folder}.",
            cure="Score the study representation again (study).",
        )
    figure = new_figure(path, 7.6, 9.6)
    figure.suptitle(_trained(found[0]), fontsize=9)
    parts: Any = figure.subfigures(3, 1, height_ratios=[1.2, 1.2, 2.6])
    top, middle, bottom = parts
    left, right = top.subplots(1, 2)
    _draw_rates(left, found)
    _draw_sample(right, trace)
    _draw_heads(middle.add_subplot(), trace)
    _draw_maps(bottom, trace)
    write_figure(figure, path)


def _draw_rates(axes: Any, found: Sequence[Row]) -> None:
    rows = {float(rate_of(row.scenario)): row for row in found if row.kind == "attention"}
    rates = sorted(rows)
    blocks = _blocks(rows[rates[0]])
    for k, block in enumerate(blocks):
        axes.plot(rates, [rows[rate].metrics[block] for rate in rates], label=block, markersize=4, **LOOKS[k])
    for name, block, k in (("block 1", blocks[0], 0), ("last block", blocks[-1], len(blocks) - 1)):
        figures = [STUDY.paper[f"{name} at {rate}"] for rate in (0.1, 0.7)]
        look = {"color": LOOKS[k]["color"], "marker": "D", "markerfacecolor": "white", "linestyle": ""}
        axes.plot([0.1, 0.7], figures, label=f"{block}, published", markersize=5, **look)
    axes.set_xlabel("missing share of the target", fontsize=8)
    axes.set_ylabel("attention to the target", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.93")
    axes.legend(fontsize=6, ncols=2)
    axes.set_title("(a) as a variable goes missing", fontsize=9, loc="left")


def _draw_sample(axes: Any, trace: dict[str, Any]) -> None:
    values = trace["values"]
    axes.plot(values, color="0.4", linewidth=1)
    low, high = min(values), max(values)
    step = (high - low or 1.0) * 0.12
    for k, place in enumerate(PLACES[1:]):
        at = trace["hidden"][place]
        look = LOOKS[k]
        level = low - step * (k + 1)
        axes.plot(
            at, [level] * len(at), linestyle="", marker=look["marker"], color=look["color"], markersize=3
        )
        axes.annotate(place, (len(values), level), fontsize=6.5, va="center", annotation_clip=False)
    axes.set_xlabel("step of the window", fontsize=8)
    axes.set_ylabel(trace["target"], fontsize=8)
    axes.tick_params(labelsize=8)
    axes.set_title("(b) the sample, and what is hidden of it", fontsize=9, loc="left")


def _draw_heads(axes: Any, trace: dict[str, Any]) -> None:
    top = trace["top"]
    for k, place in enumerate(PLACES):
        heads = trace["attention"][place]
        values = [heads[block - 1][head - 1] for block, head in top]
        look = {**LOOKS[(k - 1) % len(LOOKS)], "linestyle": ""}
        if place == "clean":
            look = {"color": "0.3", "marker": "_", "linestyle": "", "markersize": 14}
        axes.plot(range(len(top)), values, label=place, **{"markersize": 4, **look})
    names = [f"{block}·{head}" for block, head in top]
    axes.set_xticks(range(len(top)), names, rotation=90, fontsize=7)
    axes.set_xlabel("block · head", fontsize=8)
    axes.set_ylabel(f"attention to {trace['target']}", fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="y", color="0.93")
    axes.legend(fontsize=7, ncols=5)
    axes.set_title(f"(c) the {len(top)} heads that look most at the target", fontsize=9, loc="left")


def _draw_maps(part: Any, trace: dict[str, Any]) -> None:
    """Variables that look (rows) at variables (columns): clean, and below it what changes."""
    maps, top = trace["maps"], trace["top"]
    n = min(MAPS, len(top))
    panels = part.subplots(len(PLACES), n, squeeze=False)
    largest = (
        max(
            (
                abs(a - b)
                for p in PLACES[1:]
                for k in range(n)
                for ra, rb in zip(maps[p][k], maps["clean"][k], strict=True)
                for a, b in zip(ra, rb, strict=True)
            ),
            default=0.0,
        )
        or 1.0
    )
    most = max(x for head in maps["clean"][:n] for row in head for x in row)
    shown: dict[str, Any] = {}
    for i, place in enumerate(PLACES):
        for k in range(n):
            axes = panels[i][k]
            if place == "clean":
                shown["clean"] = axes.imshow(maps[place][k], cmap="cividis", vmin=0, vmax=most)
                axes.set_title(f"{top[k][0]}·{top[k][1]}", fontsize=7)
            else:
                change = [
                    [a - b for a, b in zip(ra, rb, strict=True)]
                    for ra, rb in zip(maps[place][k], maps["clean"][k], strict=True)
                ]
                shown["change"] = axes.imshow(change, cmap="PuOr", vmin=-largest, vmax=largest)
            axes.set_xticks([])
            axes.set_yticks([])
            if k == 0:
                text = "clean" if place == "clean" else f"{place}\nless clean"
                axes.set_ylabel(text, fontsize=6.5, rotation=0, ha="right", va="center")
    part.colorbar(shown["clean"], ax=panels[0, :].tolist(), fraction=0.02).ax.tick_params(labelsize=6)
    part.colorbar(shown["change"], ax=panels[1:, :].ravel().tolist(), fraction=0.02).ax.tick_params(
        labelsize=6
    )
    part.suptitle(
        "(d) who looks (rows) at whom (columns): clean, and the difference from it",
        fontsize=9,
        x=0.02,
        ha="left",
    )
