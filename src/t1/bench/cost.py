"""Accuracy beside cost: what an error was bought with, as numbers and as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from t1.bench.notes import run_notes, untrained
from t1.bench.sheet import DASH, Cell, Head, Sheet
from t1.bench.standard import SERIES
from t1.bench.store import Row, latest
from t1.bench.variants import Variant, line_up
from t1.durations import duration
from t1.errors import InputError

ERRORS = {"point": ("point", "natural"), "block": ("block",)}  # column -> kinds of scenarios


@dataclass(frozen=True)
class Cost:
    """One variant on one dataset: mean errors over the scenarios of a kind, and what they cost."""

    variant: Variant
    errors: dict[str, float]  # MSE by column, the mean over the ratios
    train_seconds: float
    eval_seconds: float  # of all scenarios together
    parameters: int
    trained: bool
    complete: dict[
        str, bool
    ]  # by column: on every scenario and the same cells as others, so that it can be best


def costs(rows: Sequence[Row], dataset: str) -> list[Cost]:
    """Every variant and budget with rows on the dataset, the most accurate first; the mean over its seeds."""
    found = []
    scored = {kind for kinds in ERRORS.values() for kind in kinds} | {"block-heavy", "natural-zeros"}
    here = [row for row in rows if row.dataset == dataset and row.kind in scored]
    for variant, each in _by_budget(here):
        seeds = len({row.seed for row in each})
        parts = {name: [row for row in each if row.kind in kinds] for name, kinds in ERRORS.items()}
        every = {name: {row.scenario for row in here if row.kind in kinds} for name, kinds in ERRORS.items()}
        found.append(
            Cost(
                variant=variant,
                errors={name: fmean(row.mse for row in part) for name, part in parts.items() if part},
                train_seconds=fmean(row.train_seconds for row in each),
                eval_seconds=sum(row.eval_seconds for row in each) / seeds,
                parameters=each[0].parameters,
                trained=not untrained(each[0]) or variant.model in SERIES,
                complete={
                    name: variant.model not in SERIES
                    and {row.scenario for row in part} == every[name]
                    and all(row.score_every == 1 for row in part)
                    for name, part in parts.items()
                },
            )
        )
    if not found:
        raise InputError(
            f"nothing has run on {dataset} yet.",
            cure="Run the study point on it, with linear and t1 (data, models).",
        )
    return sorted(found, key=lambda cost: cost.errors.get("point", float("inf")))


def _by_budget(rows: Sequence[Row]) -> Iterator[tuple[Variant, list[Row]]]:
    """The rows of each variant, apart for each budget it was trained with."""
    for variant, each in line_up(rows).items():
        for budget in dict.fromkeys(row.budget for row in each):
            yield variant, latest([row for row in each if row.budget == budget])


def compared(rows: Sequence[Row]) -> list[str]:
    """The datasets on which several trained models can be compared."""
    trained: dict[str, set[str]] = {}
    for row in rows:
        if not untrained(row):
            trained.setdefault(row.dataset, set()).add(row.model)
    return [name for name, models in trained.items() if len(models) > 1]


def cost_table(rows: Sequence[Row], dataset: str) -> Sheet:
    """Errors beside seconds, the most accurate first; those in other units are not compared."""
    found = costs(rows, dataset)

    def error(cost: Cost, name: str) -> Cell:
        value = cost.errors.get(name)
        if value is None:
            return Cell(DASH)
        units = cost.variant.units
        rivals = [
            c.errors[name]
            for c in found
            if name in c.errors and c.complete[name] and c.variant.units == units
        ]
        bold = cost.complete[name] and f"{value:.3f}" == f"{min(rivals):.3f}"
        return Cell(f"{value:.3f}", value, bold=bold)

    lines = [
        (
            Cell(cost.variant.label),
            error(cost, "point"),
            error(cost, "block"),
            Cell(duration(cost.train_seconds) if cost.train_seconds >= 0.5 else DASH, cost.train_seconds),
            Cell(duration(cost.eval_seconds), cost.eval_seconds),
            Cell(f"{cost.parameters:,}" if cost.parameters else DASH, cost.parameters),
        )
        for cost in found
    ]
    words = ("model", "training", "scoring")
    names = ("model", "point MSE", "block MSE", "training", "scoring", "parameters")
    here = line_up([row for row in rows if row.dataset == dataset and row.kind != "cost"])
    return Sheet(
        title=f"{dataset}: accuracy and cost",
        heads=tuple(Head(name, words=name in words) for name in names),
        lines=tuple(lines),
        notes=(
            "Point: the mean over the ratios. Scoring: all scenarios together. "
            "A system that was trained with several budgets has a line for each.",
            *run_notes(here, [dataset]),
        ),
    )
