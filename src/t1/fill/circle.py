"""Angles: 350 and 10 degrees are neighbours, so a column of angles is filled unwound, and wound up again."""

from collections.abc import Mapping

import numpy as np

from t1.panel import Panel


def unwind(panel: Panel, circles: Mapping[int, float], centre: Mapping[int, float] | None = None) -> Panel:
    """The panel with its circular columns unwound: from one observation to the next the shorter way round.

    circles: the length of the circle by column. `centre`: where the middle of a column lay when a fill was
    fitted; the series are moved by whole turns to lie as near to it as they can.
    """
    if not circles:
        return panel
    values = panel.values.copy()
    for column, turn in circles.items():
        for span in panel.spans:
            rows = np.flatnonzero(panel.observed[span, column]) + span.start
            if len(rows):
                unwound = np.unwrap(values[rows, column], period=turn)
                if centre is not None:
                    unwound += turn * np.round((centre[column] - np.median(unwound)) / turn)
                values[rows, column] = unwound
    return panel.with_values(values)


def centres(panel: Panel, circles: Mapping[int, float]) -> dict[int, float]:
    """The middle of each unwound column."""
    return {j: float(np.nanmedian(panel.values[:, j])) for j in circles if panel.known[j]}
