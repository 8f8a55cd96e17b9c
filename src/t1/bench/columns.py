"""The columns of one model and metric: a mean over seeds, the paper's figure, the difference."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from t1.bench.grid import DASH, MARK, Cell, Head
from t1.bench.lineup import Entry
from t1.bench.notes import how_far
from t1.bench.paper import Figure, Key
from t1.bench.standard import SERIES
from t1.bench.store import Row


@dataclass(frozen=True)
class Value:
    """A figure: ours, a mean over seeds, or the paper's."""

    mean: float
    std: float | None = None
    mark: bool = False
    how_far: str = ""
    same_cells: bool = True  # as other systems, so that the lowest can be told

    @property
    def text(self) -> str:
        return f"{self.mean:.3f}"  # the paper's precision; what reads the same is a tie


class Columns:
    """The columns of one entry and metric: ours, and where there is one, the paper's figure beside it."""

    def __init__(
        self, metric: str, entry: Entry, rows: Iterable[Row], figures: dict[Key, Figure], single: bool
    ) -> None:
        self.metric, self.entry, self.single, self._figures = metric, entry, single, figures
        self.has_paper = entry.plain and any(model == entry.model for _, _, model in figures)
        self._rows = {(row.dataset, row.scenario, row.seed): row for row in rows}
        self._seeds = sorted({row.seed for row in rows})

    @property
    def heads(self) -> list[Head]:
        group, upper = "" if self.single else self.entry.label, self.metric.upper()
        names = [upper, *(["paper", "diff"] if self.has_paper else [])]
        return [
            Head(text, group, f"{group} {upper}{'' if text == upper else ' ' + text}".strip())
            for text in names
        ]

    def cells(self, dataset: str, scenarios: Sequence[str]) -> list[Cell]:
        """The cells of a line; for several scenarios their average, if all of them are there."""
        ours, paper = self._ours(dataset, scenarios), self._paper(dataset, scenarios)
        cells = [_cell(ours)]
        if self.has_paper:
            if paper and not (ours and ours.std is not None):
                paper = replace(paper, std=None)  # deviations are shown side by side or not at all
            cells += [_cell(paper), _difference(ours, paper)]
        return cells

    def how_far(self, dataset: str, scenarios: Sequence[str]) -> str:
        return "" if (value := self._ours(dataset, scenarios)) is None else value.how_far

    def _ours(self, dataset: str, scenarios: Sequence[str]) -> Value | None:
        complete = []
        for seed in self._seeds:
            rows = [self._rows.get((dataset, scenario, seed)) for scenario in scenarios]
            if found := [row for row in rows if row is not None]:
                complete += [found] * (len(found) == len(scenarios))
        if not complete:
            return None
        means = [fmean(getattr(row, self.metric) for row in rows) for rows in complete]
        return Value(
            fmean(means),
            stdev(means) if len(means) > 1 else None,
            mark=not all(row.full for rows in complete for row in rows),
            how_far=how_far([min(rows, key=lambda row: row.steps) for rows in complete]),
            same_cells=self.entry.model not in SERIES
            and all(row.score_every == 1 for rows in complete for row in rows),
        )

    def _paper(self, dataset: str, scenarios: Sequence[str]) -> Value | None:
        found = [self._figures.get((dataset, scenario, self.entry.model)) for scenario in scenarios]
        figures = [figure for figure in found if figure is not None]
        if len(figures) < len(scenarios):
            return None
        std = getattr(figures[0], f"{self.metric}_std") if len(figures) == 1 else None
        return Value(fmean(getattr(figure, self.metric) for figure in figures), std)


def _cell(value: Value | None) -> Cell:
    if value is None:
        return Cell(DASH)
    spread = "" if value.std is None else f" ± {value.std:.3f}"
    text = value.text + spread + MARK * value.mark
    return Cell(text, value.mean, value.std, value.how_far, may_win=value.same_cells)


def _difference(ours: Value | None, paper: Value | None) -> Cell:
    if ours is None or paper is None or paper.mean == 0:
        return Cell(DASH)
    percent = 100 * (ours.mean / paper.mean - 1)
    text = f"{percent:+.1f} %".replace("-", "−")
    return Cell("0.0 %" if text[1:] == "0.0 %" else text, percent)
