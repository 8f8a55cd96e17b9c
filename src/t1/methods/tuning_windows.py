"""What T1 is tuned on: windows of the panel, some with cells hidden to train on, others with cells that validate."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.random import Generator, default_rng

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.context import weighted_mean
from t1.device import resolve_device
from t1.methods.groups import Group
from t1.methods.t1 import T1Fill, standard_rows
from t1.missing import hide
from t1.models.base import Batch, Context, Model
from t1.models.t1 import T1
from t1.panel import Panel

ROWS = 64  # windows times columns of a step: twice as many steps as with 128 are worth 0.7 % of the error
EVERY = 50  # steps between two validations
VALID_BATCHES = 12  # at most
# Of the observed cells validate, in pieces that lie all over a series, as its gaps do: at least PIECES of them and none
# longer than a window, but none shorter than SHORTEST_PIECE rows.
VALID_SHARE = 0.12
PIECES, SHORTEST_PIECE = 12, 48
LONGEST = (
    20_000  # rows of a series in which they lie: more would take memory, and validation sees fewer anyway
)
JITTER = 24  # rows by which a window that validates may lie beside its piece
SHIFTS = (-1, -2, 1, 2)  # periods away that season inputs look at
STEPS, COPIES, VALIDATION, KEPT = 11, 12, 13, 14  # streams of random numbers
# steps that learn from the same hidden cells: a regression has to say what it says again for others
PER_COPY = 12
COPY_ROWS = 2048  # rows of a copy at most
OWN = 0.8  # share of windows with the panel's own gaps alone, which are what will be filled ...
MANY_GAPS = 0.95  # ... if less than this share of its cells is observed: else windows would hide too little


@dataclass(frozen=True, eq=False)
class Stretch:
    """One series of one group in standard units."""

    values: Float32Array  # (time, vars), 0 where missing
    observed: BoolArray  # cells to train on
    kept: BoolArray  # other cells, that validate
    pieces: IntArray  # where pieces with such cells begin
    period: int | None
    series: int
    group: int

    @property
    def known(self) -> BoolArray:
        return self.observed | self.kept


class Copy(NamedTuple):
    """Some rows of a stretch with cells hidden, which a few steps learn from."""

    stretch: Stretch
    rows: slice
    hidden: BoolArray  # (rows, vars)
    said: Float32Array  # (rows, vars): what a regression says of every cell as it is seen; NaN without one
    trust: Float32Array | None  # in it


class TuningWindows:
    """Batches of windows of the panel, with cells hidden as in its own gaps and otherwise."""

    per_epoch = EVERY

    def __init__(self, start: T1Fill, panel: Panel, seed: int, choice: Panel) -> None:
        """The cells that validate are chosen from those of `choice`."""
        assert isinstance(start.network, T1)
        self.window, self.seed = start.network.config.window, seed
        self.start, self.panel = start, panel
        self.groups: tuple[Group, ...] = start.groups
        self.device = resolve_device("auto")
        self.stretches: list[Stretch] = []
        for k, (key, span) in enumerate(zip(panel.ids, panel.spans, strict=True)):
            self._add(k, panel.values[span], choice.observed[span], start.periods.get(key))
        self.weight = _shares(int(s.observed.sum()) for s in self.stretches)
        self.valid_weight = _shares(int(s.kept.sum()) for s in self.stretches)
        crc = 0
        for s in self.stretches:
            crc = zlib.crc32(np.ascontiguousarray(s.values).view(np.uint8).data, crc)
        self.fingerprint = f"{len(self.stretches)} stretches, crc {crc:08x}"
        self._last: tuple[int, Copy] | None = None

    @property
    def usable(self) -> bool:
        """Whether there is something to learn from, and to validate with."""
        return bool(self.weight.any() and self.valid_weight.any())

    def _add(self, series: int, values: FloatArray, choice: BoolArray, period: int | None) -> None:
        """The stretches of one series, in which the same cells validate."""
        short = ((0, max(0, self.window - len(values))), (0, 0))
        values, choice = np.pad(values, short, constant_values=np.nan), np.pad(choice, short)
        observed = np.isfinite(values)
        kept, pieces = self._kept(default_rng([self.seed, KEPT, series]), choice)
        for g, group in enumerate(self.groups):
            rows = standard_rows(self.start.scaler, values, group)
            mine, seen = kept[:, group.columns], observed[:, group.columns]
            known = np.where(seen, rows, 0).astype(np.float32)
            self.stretches.append(Stretch(known, seen & ~mine, mine, pieces, period, series, g))

    def _kept(self, rng: Generator, observed: BoolArray) -> tuple[BoolArray, IntArray]:
        """Cells that validate, in gaps like those that train, and where the pieces with such cells begin.

        They lie among the rows that train, as the gaps do that are to be filled. The last rows of a series, kept out
        altogether, would say how well T1 fills rows of which it has learned nothing.
        """
        kept = np.zeros_like(observed)
        first = int(rng.integers(0, len(observed) - LONGEST)) if len(observed) > LONGEST else 0
        observed = observed[first : first + LONGEST]
        n = len(observed)
        length = int(np.clip(n // PIECES, SHORTEST_PIECE, self.window))
        begins = rng.permutation(np.arange(-int(rng.integers(0, length)), n, length))
        hidden = self._hidden(rng, observed, observed)
        so_far = np.append(0, hidden.sum(axis=1).cumsum())
        cells = so_far[np.minimum(begins + length, n)] - so_far[np.maximum(begins, 0)]
        enough = np.searchsorted(cells.cumsum(), VALID_SHARE * observed.sum()) + 1
        begins = begins[:enough][cells[:enough] > 0]
        for begin in begins.tolist():
            rows = slice(max(begin, 0), min(begin + length, n))
            kept[first + rows.start : first + rows.stop] = hidden[rows]
        return kept, first + begins.clip(0, n - self.window)

    def batch(self, step: int) -> Batch | None:
        """The windows of a step: all of one copy, so that they have the same columns."""
        number = step // PER_COPY
        if self._last is None or self._last[0] != number:
            rng = default_rng([self.seed, COPIES, number])
            s = self._drawn(rng, self.weight)
            first = int(rng.integers(0, max(len(s.values) - COPY_ROWS, 0) + 1))
            rows = slice(first, first + COPY_ROWS)
            self._last = number, self._copy(s, rows, self._hidden(rng, s.observed[rows], s.known))
        copy, rng = self._last[1], default_rng([self.seed, STEPS, step])
        n_windows = max(1, ROWS // copy.hidden.shape[1])
        return self._cut(copy, rng.integers(0, len(copy.hidden) - self.window + 1, n_windows))

    @property
    def n_validations(self) -> int:
        """So many batches that each piece is seen about twice, but for large panels."""
        rows: int = sum(2 * len(s.pieces) * s.values.shape[1] for s in self.stretches)
        return min(-(-rows // ROWS), VALID_BATCHES)

    def validation(self, number: int) -> Batch | None:
        """Windows with cells that were kept out of training."""
        rng = default_rng([self.seed, VALIDATION, number])
        s = self._drawn(rng, self.valid_weight)
        n_windows = max(1, ROWS // s.values.shape[1])
        first = int(np.clip(rng.choice(s.pieces) - COPY_ROWS // 2, 0, max(len(s.values) - COPY_ROWS, 0)))
        rows = slice(first, first + COPY_ROWS)
        copy = self._copy(s, rows, s.kept[rows])
        last = len(copy.hidden) - self.window  # row of the copy at which a window can begin
        pieces = s.pieces - first
        begin = rng.choice(pieces[(pieces >= 0) & (pieces <= last)], n_windows)
        return self._cut(copy, (begin + rng.integers(-JITTER, JITTER + 1, n_windows)).clip(0, last))

    def _drawn(self, rng: Generator, weight: FloatArray) -> Stretch:
        return self.stretches[int(rng.choice(len(self.stretches), p=weight))]

    def _copy(self, s: Stretch, rows: slice, hidden: BoolArray) -> Copy:
        """These rows with cells hidden; a regression says what it says of them as they are seen then."""
        said, trust = np.full(hidden.shape, np.nan, dtype=np.float32), None
        regression, group = self.start.regression, self.groups[s.group]
        if regression is not None:
            span = self.panel.spans[s.series]
            first = span.start + rows.start
            seen = self.panel.take([(s.series, first, min(first + len(hidden), span.stop))])
            values = seen.values.copy()
            unseen = (hidden | s.kept[rows])[: len(values)]
            values[:, group.columns] = np.where(unseen, np.nan, values[:, group.columns])
            told = regression.told(seen.with_values(values))
            part, relation = self.start.told_of(told, slice(None), group, self.start.relations[s.group])
            if part is not None:
                said[: len(part)], trust = part, relation.trust
        return Copy(s, rows, hidden, said, trust)

    def _hidden(self, rng: Generator, observed: BoolArray, known: BoolArray) -> BoolArray:
        """Cells to hide, drawn window by window; where the windows begin is drawn as well.

        `known`: all that the stretch knows, whose gaps are its own.
        """
        n, n_vars = observed.shape
        shift = int(rng.integers(0, self.window))
        whole = np.pad(observed, ((shift, -(n + shift) % self.window), (0, 0)))
        windows = whole.reshape(-1, self.window, n_vars)
        hidden = hide("mixed", windows, rng=rng, donor_observed=known, rate=(0.02, 0.5))
        if known.mean() < MANY_GAPS:
            gaps = hide("own", windows, rng=rng, donor_observed=known)
            hidden = np.where(rng.random((len(windows), 1, 1)) < OWN, gaps, hidden)
        return (hidden & windows).reshape(-1, n_vars)[shift : shift + n]

    def _cut(self, copy: Copy, begin: IntArray) -> Batch | None:
        """Windows of a copy that begin in these of its rows."""
        s, first = copy.stretch, copy.rows.start
        here = begin[:, None] + np.arange(self.window)
        hidden = copy.hidden[here]
        if not hidden.any():
            return None
        rows = first + here
        seen = s.observed.copy()
        seen[copy.rows] &= ~copy.hidden
        season = _season_beside(replace(s, observed=seen), rows)
        relation = self.start.relations[s.group]
        relation = relation if copy.trust is None else relation._replace(trust=copy.trust)
        parts = [np.broadcast_to(part, (len(begin), *part.shape)) for part in relation]
        context = Context(*(self._tensor(x) for x in (*season, *parts, copy.said[here])))
        return Batch(
            self._tensor(s.values[rows]),
            self._tensor(seen[rows]),
            self._tensor(hidden),
            context=context,
            one_table=True,
        )

    def _tensor(self, x: Float32Array | BoolArray) -> torch.Tensor:
        return torch.tensor(np.ascontiguousarray(x), device=self.device)


def _season_beside(s: Stretch, rows: IntArray) -> list[Float32Array]:
    """The neighbouring periods of some windows (windows, time), as far as they are seen."""
    shape = (*rows.shape, s.values.shape[1])
    if s.period is None or s.period >= len(s.values):
        return [np.zeros(shape, dtype=np.float32)] * 4
    parts: list[Float32Array] = []
    for shifts in (SHIFTS[:2], SHIFTS[2:]):
        near = np.empty((2, *shape), dtype=np.float32)
        for at_shift, k in enumerate(shifts):
            there = rows + k * s.period
            inside = (there >= 0) & (there < len(s.values))
            at = there.clip(0, len(s.values) - 1)
            near[at_shift] = np.where(s.observed[at] & inside[..., None], s.values[at], np.nan)
        parts += weighted_mean(near)
    return parts


def _shares(counts: Iterable[int]) -> FloatArray:
    """Of the sum; zeros if that is 0."""
    of_each = np.array(list(counts), dtype=np.float64)
    shares: FloatArray = of_each / max(of_each.sum(), 1.0)
    return shares


@dataclass(frozen=True, eq=False)
class FixedBatches:
    """Fixed batches that every validation scores."""

    batches: list[Batch | None]
    fingerprint: str

    @torch.no_grad()
    def loss(self, model: Model, device: torch.device, should_stop: Callable[[], bool]) -> float | None:
        """The mean loss of the target cells; None if told to stop."""
        model.eval()
        total, count = 0.0, 0
        for batch in self.batches:
            if should_stop():
                return None
            if batch is not None:
                errors = model.validation_errors(batch).double()
                total += float(errors.square().sum())
                count += errors.numel()
        model.train()
        return total / max(count, 1)
