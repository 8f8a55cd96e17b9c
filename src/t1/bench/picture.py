"""Pictures drawn from rows: accuracy over cost, and what a study compares beside the published figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t1.bench.cost import Cost, costs
from t1.bench.store import Row
from t1.bench.tables import averages
from t1.drawing import new_figure, write_figure

# Told apart by their shape and filling, so also in grey.
STYLES: dict[str, dict[str, Any]] = {
    "paper": {"label": "published", "marker": "D", "color": "0.35", "markerfacecolor": "white"},
    "value": {"label": "ours", "marker": "o", "color": "#0072b2"},
}


def dots(axes: Any, panels: dict[str, list[float]], labels: Sequence[str], *, log: bool = False) -> None:
    """Ours and the published as dots, a line for each label, the first on top."""
    for kind, style in STYLES.items():
        axes.plot(panels[kind][::-1], range(len(labels)), linestyle="", markersize=5, **style)
    axes.set_yticks(range(len(labels)), labels[::-1], fontsize=8)
    axes.set_ylim(-0.6, len(labels) - 0.4)
    axes.grid(axis="x", color="0.9")
    axes.tick_params(axis="x", labelsize=8)
    if log:
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(
            min(low, 0.08) if low > 0 else 0.08, max(high, 12)
        )  # more than a decade on either side of 1
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())


def study_picture(
    study: str, rows: Sequence[Row], path: str | Path, data: Sequence[str] | None = None
) -> None:
    """The mean error of all that a study compares, ours and the published, a panel for each dataset."""
    found = averages(study, rows, data)
    ran = {name: each for name, each in found.items() if any(figure.seeds for figure in each.values())}
    panels = ran or found
    labels = list(dict.fromkeys(label for each in panels.values() for label in each))[
        ::-1
    ]  # the first on top
    figure = new_figure(path, 2.0 + 2.6 * len(panels), 1.2 + 0.28 * len(labels))
    for i, (name, each) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), i + 1)
        for kind, style in STYLES.items():
            errors = [getattr(each[label], kind) if label in each else math.nan for label in labels]
            axes.plot(errors, range(len(labels)), linestyle="", **style)
        axes.set_yticks(range(len(labels)), labels if i == 0 else [""] * len(labels), fontsize=8)
        axes.set_ylim(-0.6, len(labels) - 0.4)
        axes.grid(axis="x", color="0.9")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("MSE, mean over the ratios", fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        if i == 0:
            axes.legend(fontsize=8)
    write_figure(figure, path)


def cost_picture(rows: Sequence[Row], dataset: str, path: str | Path) -> None:
    """Error over training seconds, both logarithmic; methods without training are lines across."""
    figure = new_figure(path, 9, 6)
    every = [cost for cost in costs(rows, dataset) if "point" in cost.errors]
    # Errors in different units cannot be drawn on one axis: those of most trainings are.
    units = Counter(cost.variant.units for cost in every if cost.trained).most_common(1)
    drawn = units[0][0] if units else ""
    found = [(cost, cost.errors["point"]) for cost in every if cost.variant.units == drawn]
    trained = [(cost, error) for cost, error in found if cost.trained]
    others = [(cost, error) for cost, error in found if not cost.trained]
    axes = figure.add_subplot()
    axes.set_yscale("log")
    axes.margins(x=0.05, y=0.06)
    for cost, error in trained:
        ours = cost.variant.model == "t1"
        axes.scatter(cost.train_seconds, error, s=60 if ours else 30, color="C3" if ours else "C0", zorder=3)
    for _, error in others:
        axes.axhline(error, color="0.75", linewidth=0.8, linestyle="--")
    if trained:
        axes.set_xscale("log")
        axes.set_xlim(right=axes.get_xlim()[1] * 3)  # for the names
    axes.set_xlabel("training seconds")
    axes.set_ylabel("MSE, mean over the missing ratios" + f", in units of {drawn}" * bool(drawn))
    axes.set_title(f"{dataset}: accuracy over cost (dashed: nothing to train)", fontsize=10)
    figure.draw_without_rendering()  # from here on places are known

    def place(seconds: float, error: float) -> tuple[float, float]:
        """Where a point is in the axes, both from 0 to 1."""
        x, y = axes.transAxes.inverted().transform(axes.transData.transform((seconds, error)))
        return x, y

    def heights(costs: Sequence[tuple[Cost, float]]) -> list[float]:
        return [place(1, error)[1] for _, error in costs]

    def name(cost: Cost, at: tuple[float, float], beside: tuple[float, float], **style: Any) -> None:
        ours = cost.variant.model == "t1"
        axes.annotate(
            cost.variant.label,
            at,
            xytext=beside,
            xycoords=axes.transAxes,
            textcoords=axes.transAxes,
            fontsize=8,
            va="center",
            fontweight="bold" if ours else "normal",
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2},
            **style,
        )

    for (cost, error), label in zip(others, _apart(heights(others)), strict=True):
        name(cost, (1.0, place(1, error)[1]), (1.02, label), color="0.4", annotation_clip=False)
    for near in _neighbours(trained):
        column = max(place(cost.train_seconds, error)[0] for cost, error in near) + 0.02
        for (cost, error), label in zip(near, _apart(heights(near)), strict=True):
            name(cost, place(cost.train_seconds, error), (column, label))
    write_figure(figure, path)


def _neighbours(trained: Sequence[tuple[Cost, float]]) -> list[list[tuple[Cost, float]]]:
    """Points that took about the same time: their names stand in one column."""
    columns: list[list[tuple[Cost, float]]] = []
    for one in sorted(trained, key=lambda each: each[0].train_seconds):
        if columns and one[0].train_seconds <= 1.5 * columns[-1][-1][0].train_seconds:
            columns[-1].append(one)
        else:
            columns.append([one])
    return columns


def _apart(heights: Sequence[float], gap: float = 0.03) -> list[float]:
    """The heights, moved up where names would lie on each other."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed, last = list(heights), float("-inf")
    for i in order:
        last = placed[i] = max(heights[i], last + gap)
    return placed
