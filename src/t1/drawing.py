"""Figures: colours and markers that also work in grey, and files that are written whole or not at all."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t1.data.atomic import open_target
from t1.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
# Okabe and Ito's colours, which colour-blind people can tell apart; with a marker and a dash each, for grey.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    {"color": "#d55e00", "marker": "s", "linestyle": "--"},
    {"color": "#009e73", "marker": "^", "linestyle": "-."},
    {"color": "#cc79a7", "marker": "v", "linestyle": ":"},
    {"color": "#e69f00", "marker": "P", "linestyle": (0, (5, 1))},
    {"color": "#56b4e9", "marker": "X", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#000000", "marker": "*", "linestyle": (0, (1, 1))},
)


def check_picture(path: str | Path) -> None:
    """Find out whether a picture can be drawn and written at all, before time is spent on it."""
    if find_spec("matplotlib") is None:
        raise InputError(
            "pictures need matplotlib, which is not installed.\nTry: pip install 't1-impute[bench]'"
        )
    if Path(path).suffix[1:].lower() not in FORMATS:
        raise InputError(f"{str(path)!r} is no picture file.\nGive a name that ends with .svg, .png or .pdf.")


def new_figure(path: str | Path, width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    check_picture(path)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Figure, path: str | Path) -> None:
    from matplotlib import rc_context

    kind = Path(path).suffix[1:].lower()
    metadata = {"Date": None} if kind == "svg" else None
    with rc_context({"svg.hashsalt": "t1"}), open_target(path) as stream:  # the same rows, the same file
        figure.savefig(stream, format=kind, metadata=metadata, dpi=200)
