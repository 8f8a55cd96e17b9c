"""T1 as a method: pretrained weights fill any table at once; tuned on the table, they fill it better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.context import explained
from t1.data.scale import Scaler
from t1.memory import keep_freed_memory
from t1.methods.base import Fill, Learning, LeftOut
from t1.methods.groups import Group, group_columns
from t1.methods.regression import RegressionFill
from t1.methods.windows import (
    FINE_STRIDE,
    SHORT,
    STRIDE,
    WIDE_STRIDE,
    Levels,
    Network,
    Relation,
    fill_ends,
    fill_series,
    fill_windows,
)
from t1.onnx.engine import OnnxT1, is_faster
from t1.panel import Panel
from t1.weights import load_pretrained

TUNED = "t1 tuned"  # the name of T1 after some training on the table (tune.py, which brings torch)
WINDOW = 96  # rows of the pretrained network
BOTH_WAYS = 100_000  # cells of a table that is filled both ways: larger ones would take too long
AT_ONCE = 512  # short series that are filled at once: bounds the memory
SAMPLE = 8192  # rows from which the relation of columns is learned


@dataclass(frozen=True, eq=False)
class T1Fill:
    """A network for tables of any width, and what it has to know of this one."""

    name: ClassVar[str] = "t1"
    network: Network
    scaler: Scaler
    groups: tuple[Group, ...]
    relations: tuple[Relation, ...]  # of the columns of each group
    periods: dict[Any, int | None]
    regression: RegressionFill | None = None  # says more than the relations do; not of wide and large tables
    trust: FloatArray | None = None  # (vars,): how much of each column it explains
    both_ways: bool = False  # more windows, each also backwards: three times the time, 1.5 % less error

    @classmethod
    def fit(cls, panel: Panel, learning: Learning) -> Self:
        """Nothing is trained but a regression: T1 is told what it says of every cell."""
        plain = cls.alone(panel, learning)
        if len(plain.groups) > 1 or learning.is_large(panel):
            return plain
        try:
            regression = RegressionFill.of_every(panel, learning)
        except LeftOut:  # too slow for the budget, as the method of its own says: T1 does without
            return plain
        given, told = plain.scaler.scale(panel.values), plain.scaler.scale(regression.told(panel))
        return replace(plain, regression=regression, trust=explained(given, told))

    @classmethod
    def alone(cls, panel: Panel, learning: Learning) -> Self:
        """Nothing is trained: the scale of each column, how columns relate, and their season."""
        keep_freed_memory()
        scaler = Scaler.even(panel.values)
        groups = tuple(group_columns(panel))
        rows = _sample(panel)
        return cls(
            network=_network(learning, wide=len(groups) > 1),
            scaler=scaler,
            groups=groups,
            relations=tuple(Relation.of(standard_rows(scaler, rows, g)) for g in groups),
            periods=dict(learning.periods),
            both_ways=len(groups) == 1 and _cost(panel) <= BOTH_WAYS,
        )

    def knowing(self, known: T1Fill) -> Self:
        """The same network, with what another fit knows of a panel of these columns."""
        return replace(
            self,
            scaler=known.scaler,
            relations=known.relations,
            regression=known.regression,
            trust=known.trust,
        )

    def fill(self, panel: Panel, *, asked: BoolArray | None = None, stride: int | None = None) -> Fill:
        """Each series by itself; columns of which the fit knew nothing have no answer.

        Rows that are not `asked` for (rows,) only help to fill the others. With a `stride`, how many rows there are
        from one window to the next, windows are filled in one way only: to try things out.
        """
        both_ways = self.both_ways and stride is None
        stride = stride or (FINE_STRIDE if both_ways else STRIDE)
        out = np.full((3, *panel.values.shape), np.nan)
        usual = next((p for p in self.periods.values() if p is not None), None)
        if len(self.groups) > 1:
            stride = max(stride, WIDE_STRIDE)
        told = None if self.regression is None else self.regression.told(panel)
        spans = panel.spans
        gappy = [k for k, span in enumerate(spans) if asked is None or asked[span].any()]
        for group, relation in zip(self.groups, self.relations, strict=True):
            own = group.columns[: group.n_own]
            short: dict[Any, list[tuple[slice, Float32Array | None, Relation]]] = {}  # filled at once
            for k in gappy:
                span, key = spans[k], panel.ids[k]
                if panel.observed[span][:, own].all():
                    continue
                period = self.periods.get(key, usual)
                said, related = self.told_of(told, span, group, relation)
                size = span.stop - span.start
                if size <= SHORT:
                    short.setdefault((size, period, said is None), []).append((span, said, related))
                    continue
                standard = standard_rows(self.scaler, panel.values[span], group)
                levels = fill_series(
                    self.network,
                    standard,
                    period,
                    related,
                    n_own=group.n_own,
                    stride=stride,
                    asked=None if asked is None else asked[span],
                    both_ways=both_ways,
                    said=said,
                )
                self._put(out, levels, panel, span, own)
            for (_, period, _), alike in short.items():
                for i in range(0, len(alike), AT_ONCE):
                    some, every, (related, *_) = zip(*alike[i : i + AT_ONCE], strict=True)
                    standard = np.stack([standard_rows(self.scaler, panel.values[s], group) for s in some])
                    said = None if every[0] is None else np.stack(every)
                    levels = fill_windows(self.network, standard, period, related, said, both_ways=both_ways)
                    for k, span in enumerate(some):
                        self._put(out, levels.of(k), panel, span, own)
        return Fill(out[0], down=out[1], up=out[2])

    def _put(self, out: FloatArray, levels: Levels, panel: Panel, span: slice, own: IntArray) -> None:
        """Write the levels of one series into fill, down and up (3, rows, vars), in the panel's units.

        Column by column: a copy of all is large. A column of which the series knows nothing has no answer, as the
        network cannot tell its level.
        """
        for k, j in enumerate(own.tolist()):
            if not panel.observed[span, j].any():
                continue
            parts = np.stack([levels.low[:, k], levels.fill[:, k], levels.high[:, k]])
            low, middle, high = self.scaler.of(slice(j, j + 1)).unscale(parts[..., None])[..., 0]
            out[0, span, j] = middle
            out[1:, span, j] = np.maximum(middle - low, 0), np.maximum(high - middle, 0)

    def told_of(
        self, told: FloatArray | None, span: slice, group: Group, relation: Relation
    ) -> tuple[Float32Array | None, Relation]:
        """What the regression says of a series in standard units, and how far to trust it; else the relation."""
        if told is None or self.trust is None or np.isnan(told[span]).any():
            return None, relation
        trust = self.trust[group.columns].astype(np.float32)
        return standard_rows(self.scaler, told[span], group), relation._replace(trust=trust)

    def fill_ends(self, panel: Panel, length: int, coarse_of: BoolArray | None = None) -> Fill:
        """Fill the last window of each series; all have this length. Earlier rows have no answer.

        Gaps that are longer than the network can look across have the level of a coarser rate in the series
        `coarse_of` (all where it is None), which takes as long again for every rate.
        """
        if coarse_of is None:
            coarse_of = np.ones(len(panel.ids), dtype=bool)
        shape = (-1, length, panel.n_vars)
        out = np.full((3, *panel.values.shape), np.nan)
        table = out.reshape(3, *shape)
        usual = next((p for p in self.periods.values() if p is not None), None)
        periods = [self.periods.get(key, usual) for key in panel.ids]
        for period in dict.fromkeys(periods):
            mine = np.flatnonzero([p == period for p in periods])
            for group, relation in zip(self.groups, self.relations, strict=True):
                own = group.columns[: group.n_own]
                rows = panel.values.reshape(shape)[mine]
                gappy = np.isnan(rows[:, -WINDOW:][:, :, own]).any(axis=(1, 2))
                if not gappy.any():
                    continue
                standard = standard_rows(self.scaler, rows[gappy].reshape(-1, panel.n_vars), group)
                levels = fill_ends(
                    self.network,
                    standard.reshape(-1, length, len(group.columns)),
                    period,
                    relation,
                    coarse_of[mine[gappy]],
                )
                for k, part in enumerate((levels.fill, levels.low, levels.high)):
                    own_part = self.scaler.of(own).unscale(part[..., : group.n_own])
                    at = np.ix_(mine[gappy], np.arange(length - part.shape[1], length), own)
                    table[k][at] = own_part
        fill, low, high = out
        return Fill(fill, down=np.maximum(fill - low, 0), up=np.maximum(high - fill, 0))


def _network(learning: Learning, *, wide: bool) -> Network:
    """The pretrained network; nobody changes it, so it serves all rounds of a rehearsal and the fill."""
    if learning.network is None:
        learning.network = _load(learning, wide=wide)
    network: Network = learning.network
    return network


def _load(learning: Learning, *, wide: bool) -> Network:
    if learning.engine == "onnx" or (learning.engine == "auto" and not wide and is_faster()):
        return OnnxT1.pretrained(learning.weights)
    from t1.device import resolve_device  # torch takes a second or two to import

    return load_pretrained(learning.weights).to(resolve_device("auto")).eval()


def _cost(panel: Panel) -> int:
    """Cells that the network looks at: of a short series as many as of a window."""
    return int(np.maximum(panel.sizes, WINDOW).sum()) * panel.n_vars


def _sample(panel: Panel) -> FloatArray:
    """Rows evenly spread over the panel."""
    if panel.n_rows <= SAMPLE:
        return panel.values
    return panel.values[np.linspace(0, panel.n_rows - 1, SAMPLE).astype(np.intp)]


def standard_rows(scaler: Scaler, values: FloatArray, group: Group) -> Float32Array:
    """The columns of a group in standard units (rows, columns)."""
    standard = scaler.of(group.columns).scale(values[:, group.columns])
    return np.clip(standard, -1e6, 1e6).astype(np.float32)
