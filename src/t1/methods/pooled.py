"""Series that share an id are stretches of one: a method learns from them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from t1.arrays import FloatArray, IntArray
from t1.panel import Panel


class Pooled(NamedTuple):
    """What there is of one id."""

    key: Any
    values: FloatArray  # (time, vars)
    phase: int  # where the first row stands on the clock


def pooled(panel: Panel, periods: Mapping[Any, int | None]) -> Iterator[Pooled]:
    """Each id once. Stretches follow each other in step with the season: one begins at the phase that the

    one before it would go on with, and so loses less than a period of its first rows.
    """
    by_id: dict[Any, list[int]] = {}
    for s, key in enumerate(panel.ids):
        by_id.setdefault(key, []).append(s)
    for key, series in by_id.items():
        first = int(panel.phase[series[0]])
        if len(series) == 1:
            span = panel.spans[series[0]]
            yield Pooled(key, panel.values[span], first)
            continue
        parts: list[IntArray] = []
        length, period = 0, periods.get(key)
        for s in series:
            span = panel.spans[s]
            late = 0 if period is None else (first + length - int(panel.phase[s])) % period
            parts.append(np.arange(min(span.start + late, span.stop), span.stop))
            length += len(parts[-1])
        rows = np.concatenate(parts)
        yield Pooled(key, panel.values[rows], first)
