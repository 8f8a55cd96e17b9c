"""What has run, and how T1 stands: one line per run, and the few figures that a newcomer reads first."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from t1.bench.notes import ending
from t1.bench.paper import DATASETS
from t1.bench.sheet import DASH, MARK, Cell, Head, Sheet
from t1.bench.store import Row
from t1.bench.tables import Figure, averages, figure_cell
from t1.bench.variants import Variant, line_up
from t1.durations import duration


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


def headline(rows: Sequence[Row]) -> Sheet:
    """What a newcomer reads first: the mean error over the ratios of each dataset, T1 beside the paper's."""
    labels = [variant.label for variant in (Variant("t1"), Variant("t1", "plus"), Variant("linear"))]
    lines = []
    for study in ("point", "natural"):
        for dataset, each in averages(study, rows).items():
            line = [each.get(label, Figure()) for label in labels]
            ours = [replace(figure.cells(["MSE"])[0], bold=False) for figure in line]
            if any(figure.seeds for figure in line):
                lines.append((Cell(dataset), figure_cell(line[0].paper, math.nan, False), *ours))
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
