"""Our figures beside the paper's: one tidy frame, few variants side by side or many below each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from t1.bench.findings import findings
from t1.bench.notes import cell_notes, ending, how_far, place, run_notes
from t1.bench.paper import AVERAGE, DATASETS, KEYS, published
from t1.bench.sheet import DASH, MARK, Cell, Head, Sheet
from t1.bench.standard import SERIES, TITLES
from t1.bench.store import Row
from t1.bench.study import STUDIES, Study
from t1.bench.variants import Variant, line_up, shown
from t1.durations import duration
from t1.errors import InputError
from t1.registry import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Metric = Literal["mse", "mae", "both"]
Where = tuple[str, str]  # a dataset and a kind of scenario
Places = dict[Where, list[str]]  # ratios, or the one scenario of that kind
Variants = dict[Variant, list[Row]]
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
        return how_far(self.seeds, self.full, self.epochs) if self.seeds else DASH

    def cells(self, columns: Sequence[str]) -> list[Cell]:
        """Ours, the paper's and the difference, those of them that the table has columns for."""
        marked = MARK * (self.full < self.seeds)
        # deviations are shown side by side or not at all
        theirs = _cell(self.paper, math.nan if math.isnan(self.std) else self.paper_std, self.paper_best)
        ours = replace(_cell(self.value, self.std, self.best, marked), how_far=self.how_far.strip(DASH))
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


Figures = dict[Any, Figure]  # by dataset, kind of scenario, place, label of the variant, metric


def figures(study: Study, variants: Variants, places: Places, metrics: Sequence[str]) -> Figures:
    """Every figure of a table: the mean over seeds, the paper's beside it, and which is the lowest."""
    by = ["dataset", "kind", "variant", "metric"]
    ours = _with_averages(_ours(variants, metrics), places, [*by, "seed"])
    theirs = _with_averages(_theirs(study, variants, metrics), places, by)
    found = ours.groupby(KEYS, sort=False).agg(
        value=("value", fmean),
        std=("value", "std"),
        seeds=("value", "size"),
        full=("full", "sum"),
        epochs=("epochs", "min"),
        comparable=("comparable", "all"),
    )
    paper = theirs.set_index(KEYS)[["value", "std"]].set_axis(["paper", "paper_std"], axis=1)
    both = found.join(paper, how="outer")
    both = both.fillna({"seeds": 0, "full": 0, "epochs": 0}).astype(
        dict.fromkeys(("seeds", "full", "epochs"), int)
    )
    both["comparable"] = both["comparable"].eq(True)
    labels = both.index.get_level_values("variant")
    test = labels.map({v.label: f"{v.split} {v.units}" for v in variants})  # others are on other values
    race = ["dataset", "kind", "place", "metric"]
    both["best"] = _lowest(both["value"].where(both["comparable"]), [*race, test])
    both["paper_best"] = _lowest(both["paper"], race)
    lines = both.to_dict("index").items()
    return {key: Figure(**{str(name): value for name, value in line.items()}) for key, line in lines}


def _ours(variants: Variants, metrics: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

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
    return pd.DataFrame(lines, columns=[*KEYS, "seed", "value", "full", "epochs", "comparable"])


def _theirs(study: Study, variants: Variants, metrics: Sequence[str]) -> pd.DataFrame:
    """The published figures under the labels of the variants that they belong to."""
    import pandas as pd

    paper = published(study)
    paper = paper[paper["metric"].isin(metrics)]
    plain = [variant for variant in variants if variant.plain and variant.split == "paper"]
    parts = [paper[paper["variant"] == v.published].assign(variant=v.label) for v in plain]
    return pd.concat(parts or [paper.iloc[:0]]).astype({"value": float, "std": float})


def _with_averages(frame: pd.DataFrame, places: Places, by: list[str]) -> pd.DataFrame:
    """With the mean over all ratios of a dataset where all of them are there, and no average is printed."""
    import pandas as pd

    how: dict[str, Any] = {"value": ("value", fmean), "n": ("place", "nunique")}
    if "full" in frame:
        how |= {"full": ("full", "all"), "epochs": ("epochs", "min"), "comparable": ("comparable", "all")}
    mean = frame[frame["place"] != AVERAGE].groupby(by, sort=False).agg(**how).reset_index()
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
    below: bool = False,
) -> Sheet:
    """A study's figures beside the paper's, a line per dataset and scenario, or one for each variant.

    `models` are those with rows, and the study's; `metric` is both for one variant, the MSE for several. More
    than a few variants stand below each other, and fewer if `below` says so.
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
    found = figures(study, variants, places, metrics)
    wide = below or bool(study.changes) or len(variants) > SIDE_BY_SIDE
    heads, blocks = _lay_out(found, list(variants), metrics, places, wide)
    what = next(iter(variants)).label if single else " and ".join(name.upper() for name in metrics)
    return Sheet(
        title=f"{study.title}: {what}",
        heads=tuple(heads),
        lines=tuple(line for block in blocks for line in block),
        blocks=frozenset(sum(map(len, blocks[:i])) for i in range(len(blocks))),
        notes=(
            *_legend(list(variants), wide, found, places),
            *findings(study.name, averages(study_name, rows, data), rows),
            *run_notes(variants, list(dict.fromkeys(dataset for dataset, _ in places))),
            *cell_notes(variants),
        ),
    )


def _places(study: Study, rows: Iterable[Row], data: Sequence[str] | None) -> Places:
    """The datasets of the table with their places: the paper's, and after them what else has run."""
    found: Places = {}
    ran = sorted({(row.dataset, row.kind, place(row.scenario)) for row in rows})
    paper = published(study)
    for dataset, kind, at in [*zip(paper["dataset"], paper["kind"], paper["place"], strict=True), *ran]:
        if at not in found.setdefault((dataset, kind), []) and at != AVERAGE:
            found[dataset, kind].append(at)
    for where, each in found.items():  # printed as an average alone: of the usual ratios
        found[where] = each or ["0.1", "0.3", "0.5", "0.7"]
    folded = {name.lower(): name for name, _ in found}
    for name in data or ():
        if name.lower() not in folded:
            hint = did_you_mean(name, list(folded.values()))
            raise InputError(f"{name!r} is no dataset of the study {study.name!r}.\n{hint}")
    chosen = {folded[name.lower()] for name in data or folded}
    return {where: each for where, each in found.items() if where[0] in chosen}


def _with_average(each: Sequence[str]) -> list[str]:
    return [*each, *[AVERAGE] * (len(each) > 1)]


def _name(where: Where) -> Cell:
    return Cell(f"{where[0]}, {ASIDE[where[1]]}" if where[1] in ASIDE else where[0])


def _lay_out(
    found: Figures, variants: Sequence[Variant], metrics: Sequence[str], places: Places, wide: bool
) -> tuple[list[Head], list[list[tuple[Cell, ...]]]]:
    """The heads, and for each dataset its lines.

    Few variants stand side by side, a line per dataset and scenario; of a single one it also says how far its
    run got. Many stand below each other, with a line per dataset and variant that has a figure there.
    """
    single = len(variants) == 1 and not wide
    printed = {key[2 if wide else 3] for key, figure in found.items() if not math.isnan(figure.paper)}
    across: list[Any] = list(variants)
    if wide:
        across = list(dict.fromkeys(at for each in places.values() for at in _with_average(each)))
        across.sort(key=lambda at: (not at[:1].isdigit(), at != AVERAGE))  # ratios, their average, the rest
    groups: list[tuple[Any, str, list[str]]] = []
    heads = [Head("dataset", words=True), Head("model" if wide else "missing", words=True)]
    for one in across:
        for metric in metrics:
            label, upper = one if wide else one.label, metric.upper()
            columns = [upper, *(["paper", "diff"] if label in printed else [])]
            columns = columns[: 2 if wide and label[:1].isdigit() else 3]  # no differences for single ratios
            group = "" if single else label
            heads += [
                Head(t, group, f"{group} {upper}{'' if t == upper else ' ' + t}".strip()) for t in columns
            ]
            groups.append((one, metric, columns))
    blocks = []
    for where, each in places.items():
        lines = []
        down: Any  # what a line is about, a variant or a place
        for down in variants if wide else _with_average(each):
            cells: list[Cell] = []
            for one, metric, columns in groups:
                at, variant = (one, down) if wide else (down, one)
                cells += found.get((*where, at, variant.label, metric), Figure()).cells(columns)
            if single:
                key = (*where, down, variants[0].label, metrics[0])
                cells.append(Cell(found.get(key, Figure()).how_far))
            if not wide or any(cell.number is not None for cell in cells):
                lines.append((_name(where), Cell(down.label if isinstance(down, Variant) else down), *cells))
        blocks.append(lines)
    return heads + [Head("how far", words=True)] * single, [lines for lines in blocks if lines]


def _legend(variants: Sequence[Variant], wide: bool, found: Figures, places: Places) -> list[str]:
    legend = []
    if len(variants) > 1:
        where = "in a column, dataset by dataset" if wide else "on a line"
        text = f"Bold: the lowest of our runs {where}, and the lowest of the published figures shown."
        splits = {variant.split for variant in variants}
        legend.append(text + " Runs on different splits are not compared." * (len(splits) > 1))
    averaged = any(key[2] == AVERAGE and not math.isnan(figure.paper) for key, figure in found.items())
    if averaged and any(len(each) > 1 for each in places.values()):
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
    order, lines = list(DATASETS), []
    for variant, each in line_up(rows).items():
        for run in {row.id: None for row in each}:
            mine = [row for row in each if row.id == run]
            last = max(mine, key=lambda row: (row.steps, row.finished))
            loss = last.best_valid
            cells = (
                *(Cell(run), Cell(last.dataset), Cell(variant.label), Cell(str(last.seed), last.seed)),
                Cell(", ".join(sorted({row.scenario for row in mine}))),
                Cell(str(last.epochs), last.epochs),
                Cell(DASH) if loss is None else Cell(f"{loss:.4f}", loss),
                Cell("running now" if claimed(run) else ending(last)),
                Cell(duration(last.train_seconds), last.train_seconds),
                Cell(last.finished),
            )
            at = order.index(last.dataset) if last.dataset in order else len(order)
            lines.append(((at, last.dataset, variant.order, last.seed, run), cells))
    names = (
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
    )
    return Sheet(
        title="Runs",
        heads=tuple(Head(name, words=name not in ("seed", "epochs", "best loss")) for name in names),
        lines=tuple(cells for _, cells in sorted(lines, key=lambda line: line[0])),
        notes=() if lines else ("Nothing has run yet.",),
    )


def by_place(
    study_name: str, rows: Sequence[Row], data: Sequence[str] | None = None
) -> dict[str, dict[tuple[str, str], Figure]]:
    """By dataset, and by label of the variant and place: the MSE, ours and the paper's."""
    study = STUDIES[study_name]
    here = [row for row in rows if row.kind in study.kinds]
    places = _places(study, here, data)
    found = figures(study, shown(here, study, None), places, ["mse"])
    means: dict[str, dict[tuple[str, str], Figure]] = {}
    for (dataset, _, at, label, _), figure in found.items():
        if dataset in {name for name, _ in places} and at != AVERAGE:
            means.setdefault(dataset, {})[label, at] = figure
    return means


def averages(
    study_name: str, rows: Sequence[Row], data: Sequence[str] | None = None
) -> dict[str, dict[str, Figure]]:
    """By dataset and label of the variant: the mean MSE over the ratios, ours and the paper's."""
    study = STUDIES[study_name]
    here = [row for row in rows if row.kind in study.kinds]
    places = _places(study, here, data)
    variants = shown(here, study, None)
    found = figures(study, variants, places, ["mse"])
    means = {
        _name(where).text: {
            variant.label: found[key]
            for variant in variants
            if (key := (*where, _with_average(each)[-1], variant.label, "mse")) in found
        }
        for where, each in places.items()
    }
    return {name: each for name, each in means.items() if each}


def headline(rows: Sequence[Row]) -> Sheet:
    """What a newcomer reads first: the mean error over the ratios of each dataset, T1 beside the paper's."""
    labels = [variant.label for variant in (Variant("t1"), Variant("t1", "plus"), Variant("linear"))]
    lines = []
    for study in ("point", "natural"):
        for dataset, each in averages(study, rows).items():
            line = [each.get(label, Figure()) for label in labels]
            ours = [replace(figure.cells(["MSE"])[0], bold=False) for figure in line]
            if any(figure.seeds for figure in line):
                lines.append((Cell(dataset), _cell(line[0].paper, math.nan, False), *ours))
    names = ("dataset", "T1, published", "T1", "T1+", "Linear interpolation")
    return Sheet(
        title="T1 beside the paper",
        heads=tuple(Head(name, words=name == "dataset") for name in names),
        lines=tuple(lines),
        notes=(
            "MSE, the mean over the missing ratios. T1: the paper's recipe. T1+: the share of hidden cells "
            f"is drawn per window. {MARK} a budget ended the training before the protocol did: see below.",
        ),
    )
