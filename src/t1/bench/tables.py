"""Rows beside the published figures: which line and column, what is averaged, what is bold."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Literal

from t1.bench.columns import Columns
from t1.bench.grid import DASH, Cell, Grid, Head
from t1.bench.layouts import below_each_other, side_by_side
from t1.bench.lineup import Entry, line_up
from t1.bench.notes import cell_notes, ending, run_notes
from t1.bench.paper import DATASETS, TITLES, published, published_scenarios
from t1.bench.store import Row
from t1.durations import duration
from t1.errors import InputError
from t1.registry import did_you_mean

Metric = Literal["mse", "mae", "both"]
SIDE_BY_SIDE = 3  # more models than these stand below each other


def table(
    study: str,
    rows: Sequence[Row],
    *,
    models: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    metric: Metric | None = None,
) -> Grid:
    """Our figures beside the paper's, a line per dataset and scenario, or of many models one for each.

    `models` are those with rows, and T1; `metric` is both for one model, the MSE for several.
    """
    here = [row for row in rows if row.scenario.split()[0] == study]
    scenarios = _scenarios(study, here, data)
    here = [row for row in here if row.dataset in scenarios]
    shown = _shown(here, models)
    single = len(shown) == 1
    chosen = metric or ("both" if single else "mse")
    metrics = ("mse", "mae") if chosen == "both" else (chosen,)
    figures = published(study)
    columns = [Columns(name, entry, shown[entry], figures, single) for entry in shown for name in metrics]
    layout = side_by_side if len(shown) <= SIDE_BY_SIDE else below_each_other
    heads, blocks = layout(columns, scenarios)
    what = next(iter(shown)).label if single else " and ".join(name.upper() for name in metrics)
    return Grid(
        title=f"{study.capitalize()} missing: {what}",
        heads=tuple(heads),
        lines=tuple(line for block in blocks for line in block),
        blocks=frozenset(accumulate((len(block) for block in blocks[:-1]), initial=0)),
        notes=(
            *_legend(shown, any(c.has_paper for c in columns), scenarios),
            *run_notes(shown, list(scenarios)),
            *cell_notes(shown),
        ),
    )


def _scenarios(study: str, rows: Iterable[Row], data: Sequence[str] | None) -> dict[str, list[str]]:
    """The datasets of the table with their scenarios: the paper's, and after them what else has run."""
    found = published_scenarios(study)
    for dataset, scenario in sorted({(row.dataset, row.scenario) for row in rows}):
        if scenario not in found.setdefault(dataset, []):
            found[dataset].append(scenario)
    if not data:
        return found
    folded = {name.lower(): name for name in found}
    for name in data:
        if name.lower() not in folded:
            raise InputError(f"{name!r} is no dataset of the study {study!r}.\n{did_you_mean(name, found)}")
    chosen = {folded[name.lower()] for name in data}
    return {name: each for name, each in found.items() if name in chosen}


def _shown(rows: Sequence[Row], models: Sequence[str] | None) -> dict[Entry, list[Row]]:
    """The entries of the table with their rows; a chosen model without any has the paper's figures."""
    entries = line_up(rows)
    ran = {row.model for row in rows}
    for name in models or ():
        if name not in TITLES and name not in ran:
            raise InputError(f"unknown model {name!r}.\n{did_you_mean(name, [*TITLES, *sorted(ran)])}")
    wanted = set(models) if models else {"t1", *ran}
    for name in wanted - {entry.model for entry in entries if entry.plain}:
        entries[Entry(name)] = []
    kept = sorted((entry for entry in entries if entry.model in wanted), key=lambda entry: entry.order)
    return {entry: entries[entry] for entry in kept}


def _legend(shown: dict[Entry, list[Row]], has_paper: bool, scenarios: dict[str, list[str]]) -> list[str]:
    legend = []
    if len(shown) > 1:
        where = "on a line" if len(shown) <= SIDE_BY_SIDE else "in a column, dataset by dataset"
        text = f"Bold: the lowest of our runs {where}, and the lowest of the published figures shown."
        splits = {entry.split for entry in shown}
        legend.append(text + " Runs on different splits are not compared." * (len(splits) > 1))
    if has_paper and any(len(each) > 1 for each in scenarios.values()):
        legend.append(
            "The paper's averages are those of its printed figures: its own may differ in the last digit."
        )
    return legend


def status(rows: Sequence[Row], claimed: Callable[[str], bool]) -> Grid:
    """One line per run: how far it is; `claimed` tells whether a process is at it now."""
    order = list(DATASETS)
    runs: list[tuple[tuple[int, str, int], Entry, list[Row]]] = []
    for entry, each in line_up(rows).items():
        for run in sorted({row.id for row in each}):
            mine = [row for row in each if row.id == run]
            name = mine[0].dataset
            place = order.index(name) if name in order else len(order)
            runs.append(((place, name, mine[0].seed), entry, mine))
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
    numbers = {"seed", "epochs", "best loss"}
    ordered = sorted(runs, key=lambda run: (run[0][:2], run[1].order, run[0][2]))
    return Grid(
        title="Runs",
        heads=tuple(Head(name, words=name not in numbers) for name in names),
        lines=tuple(_status(entry, mine, claimed(mine[0].id)) for _, entry, mine in ordered),
        notes=() if runs else ("Nothing has run yet.",),
    )


def _status(entry: Entry, rows: Sequence[Row], running: bool) -> tuple[Cell, ...]:
    last = max(rows, key=lambda row: (row.steps, row.finished))
    return (
        Cell(last.id),
        Cell(last.dataset),
        Cell(entry.label),
        Cell(str(last.seed), last.seed),
        Cell(", ".join(sorted({row.scenario for row in rows}))),
        Cell(str(last.epochs), last.epochs),
        Cell(DASH) if last.best_valid is None else Cell(f"{last.best_valid:.4f}", last.best_valid),
        Cell("running now" if running else ending(last)),
        Cell(duration(last.train_seconds), last.train_seconds),
        Cell(last.finished),
    )
