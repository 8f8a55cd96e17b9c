"""An explanation as a picture: the gap, and how far the fill moves without each column and stretch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t1.drawing import new_figure, write_figure

if TYPE_CHECKING:
    from t1.fill.explanation import Explanation

AROUND = 96  # rows on either side of the cell that are drawn


def draw(explanation: Explanation, path: str | Path) -> None:
    """Above the series around the cell; below it columns and stretches, darker where the fill moves more."""
    names = list(dict.fromkeys(explanation.cells["column"]))
    figure = new_figure(path, 7.6, 3.6 + 0.32 * max(len(names), len(explanation.columns)))
    parts: Any = figure.subfigures(
        2, 1, height_ratios=[2.2, 1.2 + 0.32 * max(len(names), len(explanation.columns))]
    )
    _draw_series(parts[0].add_subplot(), explanation)
    bars, heat = parts[1].subplots(1, 2, width_ratios=[1, 1.6])
    _draw_columns(bars, explanation)
    _draw_cells(heat, parts[1], explanation, names)
    write_figure(figure, path)


def _draw_series(axes: Any, explanation: Explanation) -> None:
    around = explanation.around
    here = (around["row"] - explanation.row).abs() <= AROUND + explanation.gap
    around = around[here]
    dated = explanation.time is not None
    x = around["time"].to_numpy() if dated else around["row"].to_numpy()
    at = explanation.time if dated else explanation.row
    axes.plot(x, around["observed"], color="black", marker=".", markersize=3, linewidth=0.8, label="observed")
    axes.plot(x, around["filled"], color="#0072b2", linestyle="--", marker=".", markersize=3, label="filled")
    axes.plot(
        [at], [explanation.value], color="#d55e00", marker="D", markersize=7, linestyle="", label="this fill"
    )
    axes.set_ylabel(explanation.column, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=7, ncols=3)
    axes.set_title(
        f"{explanation.column} at {explanation.where}: {explanation.value:.5g}, by {explanation.method}",
        fontsize=9,
        loc="left",
    )


def _draw_columns(axes: Any, explanation: Explanation) -> None:
    columns = explanation.columns
    y = np.arange(len(columns))[::-1]
    axes.barh(y, columns["moved"], color="#0072b2", edgecolor="black", linewidth=0.5, height=0.6)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_yticks(y, columns["column"], fontsize=7)
    axes.set_xlabel("the fill moves by, without the column\nin the gap or close to it", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", color="0.93")
    axes.set_axisbelow(True)


def _draw_cells(axes: Any, part: Any, explanation: Explanation, names: list[str]) -> None:
    ends = list(dict.fromkeys(zip(explanation.cells["first"], explanation.cells["last"], strict=True)))
    moved = explanation.cells["moved"].to_numpy().reshape(len(names), len(ends))
    image = axes.imshow(np.abs(moved), cmap="Greys", aspect="auto", vmin=0)
    axes.set_xticks(range(len(ends)), [_ends(*pair) for pair in ends], rotation=90, fontsize=6.5)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("without the column in these rows, counted from the cell", fontsize=8)
    part.colorbar(image, ax=axes, fraction=0.04).ax.tick_params(labelsize=6.5)


def _ends(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} … {last}"
