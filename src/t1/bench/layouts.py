"""Two ways to lay a table out: few models side by side, or many models below each other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from t1.bench.columns import Columns
from t1.bench.grid import DASH, Cell, Head
from t1.bench.notes import short_scenario

AVERAGE = "average"

Line = tuple[Cell, ...]
Scenarios = Mapping[str, Sequence[str]]  # of each dataset
Laid = tuple[list[Head], list[list[Line]]]  # the heads, and for each dataset its lines


def side_by_side(columns: Sequence[Columns], scenarios: Scenarios) -> Laid:
    """A line per dataset and scenario; of a single model it also says how far the run got."""
    single = columns[0].single
    heads = [Head("dataset", words=True), Head("missing", words=True), *(h for c in columns for h in c.heads)]
    heads += [Head("how far", words=True)] * single
    blocks = []
    for dataset, each in scenarios.items():
        lines = []
        for where, over in _places(each).items():
            cells = [cell for part in _figures(columns, dataset, over) for cell in part]
            far = [Cell(columns[0].how_far(dataset, over) or DASH)] if single else []
            lines.append((Cell(dataset), Cell(where), *cells, *far))
        blocks.append(lines)
    return heads, blocks


def below_each_other(columns: Sequence[Columns], scenarios: Scenarios) -> Laid:
    """A line per dataset and model that has a figure there, ours or published."""
    entries = list(dict.fromkeys(column.entry for column in columns))
    metrics = list(dict.fromkeys(column.metric for column in columns))
    places = list(dict.fromkeys(where for each in scenarios.values() for where in _places(each)))
    places.sort(key=lambda where: (not _is_ratio(where), where != AVERAGE))  # ratios, their average, the rest
    wide = {(m, w): 2 if _is_ratio(w) else 3 for m in metrics for w in places}
    heads = [Head("dataset", words=True), Head("model", words=True)]
    for (metric, where), width in wide.items():
        upper = metric.upper()
        names = (upper, "paper", "diff")[:width]
        heads += [
            Head(text, where, f"{where} {upper}{'' if text == upper else ' ' + text}") for text in names
        ]
    blocks = []
    for dataset, each in scenarios.items():
        found = {where: _figures(columns, dataset, over) for where, over in _places(each).items()}
        lines = []
        for entry in entries:
            cells: list[Cell] = []
            for (metric, where), width in wide.items():
                at = next(i for i, c in enumerate(columns) if (c.entry, c.metric) == (entry, metric))
                cells += [*(found[where][at] if where in found else []), *[Cell(DASH)] * width][:width]
            if any(cell.number is not None for cell in cells):
                lines.append((Cell(dataset), Cell(entry.label), *cells))
        blocks.append(lines)
    return heads, [lines for lines in blocks if lines]


def _places(scenarios: Sequence[str]) -> dict[str, list[str]]:
    """What stands at a place of the table: each scenario alone, and if there are several, their average."""
    alone = {short_scenario(scenario): [scenario] for scenario in scenarios}
    return alone | ({AVERAGE: list(scenarios)} if len(scenarios) > 1 else {})


def _is_ratio(where: str) -> bool:
    return where[:1].isdigit()


def _figures(columns: Sequence[Columns], dataset: str, over: Sequence[str]) -> list[list[Cell]]:
    """The cells of each column; bold is the lowest of ours on the same split, and of the published ones."""
    cells = [column.cells(dataset, over) for column in columns]
    races: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, column in enumerate(columns):
        for j, race in enumerate((column.entry.split, "published")[: 2 if column.has_paper else 1]):
            if cells[i][j].number is not None and cells[i][j].may_win:
                races.setdefault((column.metric, race), []).append((i, j))
    for runners in races.values():
        times = {(i, j): f"{cells[i][j].number:.3f}" for i, j in runners}
        best = min(times.values(), key=float)
        for i, j in runners:
            if len(runners) > 1 and times[i, j] == best:
                cells[i][j] = replace(cells[i][j], bold=True)
    return cells
