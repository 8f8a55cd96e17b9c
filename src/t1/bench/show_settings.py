"""Pictures of studies in which one setting takes several values: errors over that setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from t1.bench.findings import GROUPS
from t1.bench.store import Row
from t1.bench.tables import averages, by_place
from t1.drawing import LOOKS, new_figure, write_figure

OPEN = {"color": "0.35", "marker": "D", "markerfacecolor": "white", "linestyle": ":"}
SIZES = {"channels": (64, 128, 256), "large kernel": (31, 51, 71), "FFN ratio": (1, 2, 4)}  # of GROUPS


def _style(axes: Any, x: str, title: str) -> None:
    axes.set_xlabel(x, fontsize=8)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="0.93")


def _ran(found: dict[str, Any]) -> dict[str, Any]:
    """The datasets on which anything ran, or all of them where nothing has."""
    return {name: each for name, each in found.items() if any(f.seeds for f in each.values())} or found


def _from_zero(panels: Sequence[Any]) -> None:
    """Errors begin at 0, with some room above the highest that was drawn in any of the panels."""
    lines = [line for axes in panels for line in axes.get_lines()]
    drawn = [y for line in lines for y in line.get_ydata() if not math.isnan(y)]
    for axes in panels:
        axes.set_ylim(0, max(drawn, default=1.0) * 1.08)


def _line(axes: Any, x: Sequence[float], y: Sequence[float], **look: Any) -> None:
    if not all(math.isnan(value) for value in y):
        axes.plot(x, y, markersize=5, **look)


def sensitivity(rows: Sequence[Row], path: str | Path, data: Sequence[str] | None) -> None:
    """A row of panels for each dataset: channels, large kernel, width of the feed-forward part."""
    found = _ran(averages("sensitivity", rows, data))
    figure = new_figure(path, 7.6, 0.6 + 2.0 * len(found))
    panels = figure.subplots(len(found), 3, squeeze=False)
    for i, (dataset, each) in enumerate(found.items()):
        for axes, (group, labels) in zip(panels[i], GROUPS.items(), strict=True):
            x = list(range(len(labels)))
            ours, paper = (
                [getattr(each[label], kind) if label in each else math.nan for label in labels]
                for kind in ("value", "paper")
            )
            _line(axes, x, ours, label="ours", **LOOKS[0])
            if not any(math.isnan(value) for value in paper):  # of the others the paper prints a picture only
                _line(axes, x, paper, label="published", **OPEN)
            axes.set_xticks(x, [str(size) for size in SIZES[group]])
            _style(axes, group, f"{dataset}: {group}")
        _from_zero(panels[i])
        panels[i][0].set_ylabel("MSE, mean over ratios", fontsize=8)
    panels[0][0].legend(fontsize=7)
    write_figure(figure, path)


def training_ratio(rows: Sequence[Row], path: str | Path, data: Sequence[str] | None) -> None:
    """Errors over the test ratio, a line for each training ratio, ours beside the published."""
    found = _ran(by_place("training-ratio", rows, data))
    figure = new_figure(path, 7.2, 0.6 + 2.6 * len(found))
    panels = figure.subplots(len(found), 2, squeeze=False, sharey="row")
    for i, (dataset, each) in enumerate(found.items()):
        labels = list(dict.fromkeys(label for label, _ in each))
        places = sorted({place for _, place in each})
        for axes, kind, title in zip(panels[i], ("value", "paper"), ("ours", "published"), strict=True):
            for k, label in enumerate(sorted(labels)):
                y = [getattr(each[label, p], kind) if (label, p) in each else math.nan for p in places]
                _line(axes, [float(p) for p in places], y, label=label, **LOOKS[k % len(LOOKS)])
            axes.set_yscale("log")
            for axis_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
                axis_formatter("{x:.2f}")
            axes.tick_params(axis="y", which="both", labelsize=7)
            axes.set_xticks([float(p) for p in places])
            _style(axes, "missing share at test time", f"{dataset}, {title}")
        panels[i][0].set_ylabel("MSE", fontsize=8)
    panels[0][-1].legend(fontsize=7)
    write_figure(figure, path)


def heads(rows: Sequence[Row], path: str | Path, data: Sequence[str] | None) -> None:
    """Errors over the number of heads, the width of the model fixed or that of a head."""
    found = _ran(averages("heads", rows, data))
    figure = new_figure(path, 7.2, 0.6 + 2.6 * len(found))
    panels = figure.subplots(len(found), 2, squeeze=False, sharey="row")
    counts = (8, 16, 32, 64, 128)
    for i, (dataset, each) in enumerate(found.items()):
        for k, width in enumerate(("model", "head")):
            labels = ["8 heads", *(f"{n} heads, {width} width fixed" for n in counts[1:])]
            axes = panels[i][k]
            for kind, label, look in (("value", "ours", LOOKS[k]), ("paper", "published", OPEN)):
                y = [getattr(each[name], kind) if name in each else math.nan for name in labels]
                _line(axes, range(len(counts)), y, label=label, **look)
            axes.set_xticks(range(len(counts)), [str(n) for n in counts])
            _style(axes, "heads", f"{dataset}, {width} width fixed")
            axes.legend(fontsize=7)
        _from_zero(panels[i])
        panels[i][0].set_ylabel("MSE, mean over ratios", fontsize=8)
    write_figure(figure, path)


DRAWN: dict[str, Callable[[Sequence[Row], str | Path, Sequence[str] | None], None]] = {
    "sensitivity": sensitivity,
    "training-ratio": training_ratio,
    "heads": heads,
}
