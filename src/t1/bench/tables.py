"""Our figures beside the paper's: one tidy frame, few variants side by side or many below each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from t1.bench.notes import cell_notes, duration, ending, how_far, place, run_notes
from t1.bench.paper import AVERAGE, DATASETS, KEYS, TITLES, published
from t1.bench.sheet import DASH, MARK, Cell, Head, Sheet
from t1.bench.standard import SERIES
from t1.bench.store import Row, latest
from t1.bench.study import STUDIES, Study
from t1.bench.variants import Variant, line_up, shown
from t1.errors import InputError
from t1.registry import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Metric = Literal["mse", "mae", "both"]
Where = tuple[str, str]  # a dataset and a kind of scenario
SIDE_BY_SIDE = 3  # more variants than these stand below each other
ASIDE = {"natural-zeros": "never measured = 0"}  # kinds that a table tells apart within a dataset


@dataclass(frozen=True)
class Figure:
    """Our mean over seeds and the paper's, of one variant in one place; NaN where there is none."""

    value: float = math.nan
    std: float = math.nan
    seeds: int = 0
    full: int = 0  # of the seeds went through the whole protocol
    epochs: int = 0
    comparable: bool = True  # scored on the same cells as other variants, so that the lowest can be told
    paper: float = math.nan
    paper_std: float = math.nan
    best: bool = False
    paper_best: bool = False

    @property
    def how_far(self) -> str:
        return how_far(self.seeds, self.full, self.epochs) if self.seeds else ""

    def cells(self, columns: Sequence[str]) -> list[Cell]:
        """Ours, the paper's and the difference, those of them that the table has columns for."""
        marked = MARK * (self.full < self.seeds)
        # deviations are shown side by side or not at all
        theirs = _cell(self.paper, self.paper_std if self.std == self.std else math.nan, self.paper_best)
        ours = replace(_cell(self.value, self.std, self.best, marked), how_far=self.how_far)
        return [ours, theirs, _difference(self.value, self.paper)][: len(columns)]


def _cell(value: float, std: float, bold: bool, mark: str = "") -> Cell:
    if math.isnan(value):
        return Cell(DASH)
    spread = "" if math.isnan(std) else f" ± {std:.3f}"
    return Cell(f"{value:.3f}{spread}{mark}", value, None if math.isnan(std) else std, bold=bold)


def _difference(ours: float, paper: float) -> Cell:
    if math.isnan(ours) or math.isnan(paper) or paper == 0:
        return Cell(DASH)
    percent = 100 * (ours / paper - 1)
    text = f"{percent:+.1f} %".replace("-", "−")
    return Cell("0.0 %" if text[1:] == "0.0 %" else text, percent)


class Figures:
    """Every figure of a table by dataset, kind of scenario, place, variant and metric."""

    def __init__(
        self,
        study: Study,
        variants: dict[Variant, list[Row]],
        places: dict[Where, list[str]],
        metrics: Sequence[str],
    ) -> None:
        ours, theirs = _ours(variants, metrics), _theirs(study, variants, metrics)
        self.has_paper = set(theirs["variant"])
        seeds = ["dataset", "kind", "variant", "metric"]
        ours = _with_averages(ours, places, [*seeds, "seed"])
        theirs = _with_averages(theirs, places, seeds)
        found = ours.groupby(KEYS, sort=False).agg(
            value=("value", fmean),
            std=("value", "std"),
            seeds=("value", "size"),
            full=("full", "sum"),
            epochs=("epochs", "min"),
            comparable=("comparable", "all"),
        )
        paper = theirs.set_index(KEYS)[["value", "std"]].rename(
            columns={"value": "paper", "std": "paper_std"}
        )
        both = found.join(paper, how="outer")
        both = both.fillna({"seeds": 0, "full": 0, "epochs": 0}).astype(
            {"seeds": int, "full": int, "epochs": int}
        )
        both["comparable"] = both["comparable"].eq(True)
        splits = both.index.get_level_values("variant").map({v.label: v.split for v in variants})
        race = ["dataset", "kind", "place", "metric"]
        both["best"] = _lowest(both["value"].where(both["comparable"]), [*race, splits])
        both["paper_best"] = _lowest(both["paper"], race)
        self._found = {
            key: Figure(**{str(k): v for k, v in figure.items()})
            for key, figure in both.to_dict("index").items()
        }

    def at(self, where: Where, place: str, variant: Variant, metric: str) -> Figure:
        return self._found.get((*where, place, variant.label, metric), Figure())


def _ours(variants: dict[Variant, list[Row]], metrics: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns = [*KEYS, "seed", "value", "full", "epochs", "comparable"]
    lines = [
        (
            *(row.dataset, row.kind, place(row.scenario), variant.label, metric, row.seed),
            *(row.metrics[metric], row.full, row.epochs),
            variant.model not in SERIES and row.score_every == 1,
        )
        for variant, rows in variants.items()
        for row in rows
        for metric in metrics
        if metric in row.metrics
    ]
    return pd.DataFrame(lines, columns=columns).astype({"value": float})


def _theirs(study: Study, variants: dict[Variant, list[Row]], metrics: Sequence[str]) -> pd.DataFrame:
    """The published figures under the labels of the variants that they belong to."""
    import pandas as pd

    paper = published(study)
    paper = paper[paper["metric"].isin(metrics)]
    plain = [variant for variant in variants if variant.plain and variant.split == "paper"]
    parts = [paper[paper["variant"] == v.published].assign(variant=v.label) for v in plain]
    return pd.concat(parts or [paper.iloc[:0]]).astype({"value": float, "std": float})


def _with_averages(frame: pd.DataFrame, places: dict[Where, list[str]], by: list[str]) -> pd.DataFrame:
    """With the mean over all ratios of a dataset where all of them are there, and no average is printed."""
    import pandas as pd

    single = frame[frame["place"] != AVERAGE]
    how: dict[str, Any] = {"value": ("value", fmean), "n": ("place", "nunique")}
    if "full" in frame:
        how |= {"full": ("full", "all"), "epochs": ("epochs", "min"), "comparable": ("comparable", "all")}
    mean = single.groupby(by, sort=False).agg(**how).reset_index()
    wanted = [len(places.get((d, k), ())) for d, k in zip(mean["dataset"], mean["kind"], strict=True)]
    mean = mean[(mean["n"] == wanted) & (mean["n"] > 1)].drop(columns="n").assign(place=AVERAGE)
    parts = [part for part in (frame, mean) if len(part)]
    return pd.concat(parts).drop_duplicates([*by, "place"]) if parts else frame


def _lowest(values: pd.Series[float], by: Any) -> pd.Series[bool]:
    """The lowest as printed: what reads the same is a tie, and one alone has won nothing."""
    printed = values.map(lambda value: float(f"{value:.3f}"))
    races = printed.groupby(by, dropna=False)
    return printed.eq(races.transform("min")) & races.transform("count").gt(1)


def table(
    study_name: str,
    rows: Sequence[Row],
    *,
    models: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    metric: Metric | None = None,
) -> Sheet:
    """A study's figures beside the paper's, a line per dataset and scenario, or one for each variant.

    `models` are those with rows, and the study's; `metric` is both for one variant, the MSE for several.
    """
    study = STUDIES[study_name]
    here = [row for row in rows if row.kind in study.kinds]
    places = _places(study, here, data)
    here = [row for row in here if (row.dataset, row.kind) in places]
    known = [*TITLES, *sorted({row.model for row in here})]
    for name in models or ():
        if name not in known:
            raise InputError(f"unknown model {name!r}.\n{did_you_mean(name, known)}")
    variants = shown(here, study, models)
    single = len(variants) == 1
    chosen = metric or ("both" if single else "mse")
    metrics = study.metrics if chosen == "both" else (chosen,)
    figures = Figures(study, variants, places, metrics)
    wide = bool(study.changes) or len(variants) > SIDE_BY_SIDE
    heads, blocks = (_below_each_other if wide else _side_by_side)(figures, list(variants), metrics, places)
    what = next(iter(variants)).label if single else " and ".join(name.upper() for name in metrics)
    starts = [sum(map(len, blocks[:i])) for i in range(len(blocks))]
    return Sheet(
        title=f"{study.title}: {what}",
        heads=tuple(heads),
        lines=tuple(line for block in blocks for line in block),
        blocks=frozenset(starts),
        notes=(
            *_legend(list(variants), wide, bool(figures.has_paper), places),
            *run_notes(variants, list(dict.fromkeys(dataset for dataset, _ in places))),
            *cell_notes(variants),
        ),
    )


def _places(study: Study, rows: Iterable[Row], data: Sequence[str] | None) -> dict[Where, list[str]]:
    """The datasets of the table with their places: the paper's, and after them what else has run."""
    found: dict[Where, list[str]] = {}
    ran = sorted({(row.dataset, row.kind, place(row.scenario)) for row in rows})
    paper = published(study)
    for dataset, kind, at in [*zip(paper["dataset"], paper["kind"], paper["place"], strict=True), *ran]:
        if at not in found.setdefault((dataset, kind), []) and at != AVERAGE:
            found[dataset, kind].append(at)
    for where, each in found.items():  # printed as an average alone: of the usual ratios
        found[where] = each or ["0.1", "0.3", "0.5", "0.7"]
    if not data:
        return found
    folded = {name.lower(): name for name, _ in found}
    for name in data:
        if name.lower() not in folded:
            names = list(folded.values())
            raise InputError(
                f"{name!r} is no dataset of the study {study.name!r}.\n{did_you_mean(name, names)}"
            )
    chosen = {folded[name.lower()] for name in data}
    return {where: each for where, each in found.items() if where[0] in chosen}


Laid = tuple[list[Head], list[list[tuple[Cell, ...]]]]  # the heads, and for each dataset its lines


def _name(where: Where) -> Cell:
    return Cell(f"{where[0]}, {ASIDE[where[1]]}" if where[1] in ASIDE else where[0])


def _ratios(each: Sequence[str]) -> list[str]:
    """The places of a dataset, and if there are several, their average."""
    return [*each, *[AVERAGE] * (len(each) > 1)]


def _heads(group: str, metric: str, columns: Sequence[str]) -> list[Head]:
    upper = metric.upper()
    names = (upper, *columns[1:])
    return [Head(t, group, f"{group} {upper}{'' if t == upper else ' ' + t}".strip()) for t in names]


def _side_by_side(
    figures: Figures, variants: Sequence[Variant], metrics: Sequence[str], places: dict[Where, list[str]]
) -> Laid:
    """A line per dataset and scenario; of a single variant it also says how far the run got."""
    single = len(variants) == 1
    groups = [
        (v, metric, ("ours", "paper", "diff") if v.label in figures.has_paper else ("ours",))
        for v in variants
        for metric in metrics
    ]
    heads = [Head("dataset", words=True), Head("missing", words=True)]
    heads += [h for v, metric, columns in groups for h in _heads("" if single else v.label, metric, columns)]
    heads += [Head("how far", words=True)] * single
    blocks = []
    for where, each in places.items():
        lines = []
        for at in _ratios(each):
            cells = [
                c for v, metric, columns in groups for c in figures.at(where, at, v, metric).cells(columns)
            ]
            far = [Cell(figures.at(where, at, variants[0], metrics[0]).how_far or DASH)] if single else []
            lines.append((_name(where), Cell(at), *cells, *far))
        blocks.append(lines)
    return heads, blocks


def _below_each_other(
    figures: Figures, variants: Sequence[Variant], metrics: Sequence[str], places: dict[Where, list[str]]
) -> Laid:
    """A line per dataset and variant that has a figure there, ours or published."""
    every = list(dict.fromkeys(at for each in places.values() for at in _ratios(each)))
    every.sort(key=lambda at: (not at[:1].isdigit(), at != AVERAGE))  # ratios, their average, the rest
    columns = ("ours", "paper", "diff") if figures.has_paper else ("ours",)
    wide = {(m, at): columns[: 2 if at[:1].isdigit() else 3] for m in metrics for at in every}
    heads = [Head("dataset", words=True), Head("model", words=True)]
    heads += [head for (metric, at), each in wide.items() for head in _heads(at, metric, each)]
    blocks = []
    for where, each in places.items():
        lines = []
        for variant in variants:
            cells = [
                cell
                for (metric, at), names in wide.items()
                for cell in (
                    figures.at(where, at, variant, metric) if at in _ratios(each) else Figure()
                ).cells(names)
            ]
            if any(cell.number is not None for cell in cells):
                lines.append((_name(where), Cell(variant.label), *cells))
        blocks.append(lines)
    return heads, [lines for lines in blocks if lines]


def _legend(
    variants: Sequence[Variant], wide: bool, has_paper: bool, places: dict[Where, list[str]]
) -> list[str]:
    legend = []
    if len(variants) > 1:
        where = "in a column, dataset by dataset" if wide else "on a line"
        text = f"Bold: the lowest of our runs {where}, and the lowest of the published figures shown."
        splits = {variant.split for variant in variants}
        legend.append(text + " Runs on different splits are not compared." * (len(splits) > 1))
    if has_paper and any(len(each) > 1 for each in places.values()):
        legend.append(
            "The paper's averages are those of its printed figures: its own may differ in the last digit."
        )
    if any(kind in ASIDE for _, kind in places):
        legend.append(
            "Never measured = 0: cells that were never measured count as hidden zeros, which is what the "
            "published figures seem to mean; without it, errors are over the hidden measured cells."
        )
    return legend


def status(rows: Sequence[Row], claimed: Callable[[str], bool]) -> Sheet:
    """One line per run: how far it is; `claimed` tells whether a process is at it now."""
    order = list(DATASETS)
    runs: list[tuple[tuple[Any, ...], Variant, list[Row]]] = []
    for variant, each in line_up(rows).items():
        for run in sorted({row.id for row in each}):
            mine = [row for row in each if row.id == run]
            name = mine[0].dataset
            at = order.index(name) if name in order else len(order)
            runs.append(((at, name, variant.order, mine[0].seed), variant, mine))
    names = [
        "run",
        "dataset",
        "model",
        "seed",
        "scenarios",
        "epochs",
        "best loss",
        "ended by",
        "time",
        "when",
    ]
    numbers = {"seed", "epochs", "best loss"}
    return Sheet(
        title="Runs",
        heads=tuple(Head(name, words=name not in numbers) for name in names),
        lines=tuple(_status(v, mine, claimed(mine[0].id)) for _, v, mine in sorted(runs, key=lambda r: r[0])),
        notes=() if runs else ("Nothing has run yet.",),
    )


def _status(variant: Variant, rows: Sequence[Row], running: bool) -> tuple[Cell, ...]:
    last = max(rows, key=lambda row: (row.steps, row.finished))
    return (
        Cell(last.id),
        Cell(last.dataset),
        Cell(variant.label),
        Cell(str(last.seed), last.seed),
        Cell(", ".join(sorted({row.scenario for row in rows}))),
        Cell(str(last.epochs), last.epochs),
        Cell(DASH) if last.best_valid is None else Cell(f"{last.best_valid:.4f}", last.best_valid),
        Cell("running now" if running else ending(last)),
        Cell(duration(last.train_seconds), last.train_seconds),
        Cell(last.finished),
    )


def headline(rows: Sequence[Row]) -> Sheet:
    """What a newcomer reads first: the mean error over the ratios of each dataset, T1 beside the paper's."""
    columns = [Variant("t1"), Variant("t1", "plus"), Variant("linear")]
    lines: dict[str, list[Cell]] = {}
    every = latest(rows)
    for study in (STUDIES["point"], STUDIES["natural"]):
        here = line_up(row for row in every if row.kind in study.kinds)
        variants = {variant: here.get(variant, []) for variant in columns}
        places = _places(study, [], None)
        figures = Figures(study, variants, places, ["mse"])
        for where, each in places.items():
            found = [figures.at(where, _ratios(each)[-1], variant, "mse") for variant in columns]
            if any(figure.seeds for figure in found):
                ours = [replace(figure.cells(["ours"])[0], bold=False) for figure in found]
                lines[_name(where).text] = [_cell(found[0].paper, math.nan, False), *ours]
    names = ("dataset", "T1, published", "T1", "T1+", "Linear interpolation")
    return Sheet(
        title="T1 beside the paper",
        heads=tuple(Head(name, words=name == "dataset") for name in names),
        lines=tuple((Cell(name), *cells) for name, cells in lines.items()),
        notes=(
            "MSE, the mean over the missing ratios. T1: the paper's recipe. T1+: the share of hidden cells "
            f"is drawn per window. {MARK} a budget ended the training before the protocol did: see below.",
        ),
    )
