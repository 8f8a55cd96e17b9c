"""Accuracy beside cost: what an error was bought with, as numbers and as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from t1.bench.grid import DASH, Cell, Grid, Head
from t1.bench.lineup import Entry, line_up
from t1.bench.notes import duration, run_notes, untrained
from t1.bench.standard import SERIES
from t1.bench.store import Row, latest
from t1.errors import InputError


@dataclass(frozen=True)
class Cost:
    """One entry on one dataset: mean errors over the scenarios of a kind, and what they cost."""

    entry: Entry
    point: float | None  # MSE, the mean over the ratios
    block: float | None
    train_seconds: float
    eval_seconds: float  # of all scenarios together
    parameters: int
    trained: bool
    comparable: bool  # scored on every scenario and the same cells as the others, so that it can be the best


def costs(rows: Sequence[Row], dataset: str) -> list[Cost]:
    """Every entry and budget with rows on the dataset, the most accurate first; the mean over its seeds."""
    found = []
    here = [row for row in rows if row.dataset == dataset]
    every = {row.scenario for row in here}
    for entry, each in _by_budget(here):
        seeds = len({row.seed for row in each})
        found.append(
            Cost(
                entry=entry,
                point=_mean([row.mse for row in each if row.scenario.split()[0] in ("point", "natural")]),
                block=_mean([row.mse for row in each if row.scenario == "block"]),
                train_seconds=_mean([row.train_seconds for row in each]) or 0.0,
                eval_seconds=sum(row.eval_seconds for row in each) / seeds,
                parameters=each[0].parameters,
                trained=not untrained(each[0]) or entry.model in SERIES,
                comparable=entry.model not in SERIES
                and {row.scenario for row in each} == every
                and all(row.score_every == 1 for row in each),
            )
        )
    if not found:
        raise InputError(
            f"nothing has run on {dataset} yet.\nRun: t1 bench run point --data {dataset} --models linear,t1"
        )
    return sorted(found, key=lambda cost: (cost.point is None, cost.point))


def _by_budget(rows: Sequence[Row]) -> Iterator[tuple[Entry, list[Row]]]:
    """The rows of each entry, apart for each budget it was trained with."""
    for entry, each in line_up(rows).items():
        for budget in dict.fromkeys(row.budget_seconds for row in each):
            yield entry, latest([row for row in each if row.budget_seconds == budget])


def compared(rows: Sequence[Row]) -> list[str]:
    """The datasets on which several trained models can be compared."""
    trained: dict[str, set[str]] = {}
    for row in rows:
        if not untrained(row):
            trained.setdefault(row.dataset, set()).add(row.model)
    return [name for name, models in trained.items() if len(models) > 1]


def cost_table(rows: Sequence[Row], dataset: str) -> Grid:
    """Errors beside seconds, the most accurate first."""
    found = costs(rows, dataset)
    best = {
        kind: min(
            (getattr(c, kind) for c in found if c.comparable and getattr(c, kind) is not None), default=0.0
        )
        for kind in ("point", "block")
    }

    def error(cost: Cost, kind: str) -> Cell:
        value: float | None = getattr(cost, kind)
        if value is None:
            return Cell(DASH)
        return Cell(f"{value:.3f}", value, bold=cost.comparable and f"{value:.3f}" == f"{best[kind]:.3f}")

    lines = [
        (
            Cell(cost.entry.label),
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
    here = line_up([row for row in rows if row.dataset == dataset])
    return Grid(
        title=f"{dataset}: accuracy and cost",
        heads=tuple(Head(name, words=name in words) for name in names),
        lines=tuple(lines),
        notes=(
            "Point: the mean over the ratios. Scoring: all scenarios together. "
            "A system that was trained with several budgets has a line for each.",
            *run_notes(here, [dataset]),
        ),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
