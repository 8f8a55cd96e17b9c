"""T1 tuned on the panel: the pretrained weights go on learning from its windows, as long as that helps."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.random import Generator, default_rng

from t1.arrays import BoolArray, Float32Array, FloatArray, IntArray
from t1.data.context import weighted_mean
from t1.device import resolve_device
from t1.methods.base import Learning, LeftOut
from t1.methods.groups import Group
from t1.methods.t1 import TUNED, T1Fill, standard_rows
from t1.methods.windows import Network
from t1.missing import hide
from t1.models.base import Batch, Context, Model
from t1.models.t1 import T1
from t1.panel import Panel
from t1.schedule import TrainConfig
from t1.train import FitResult, fit_source

ROWS = 64  # windows times columns of a step: twice as many steps as with 128 are worth 0.7 % of the error
# A small table is learned by heart soon: its training is planned for so many steps and one more for so many cells, so
# that the learning rate has fallen when it ends.
FIRST_STEPS, CELLS_PER_STEP = 200, 10
LEAST_SECONDS = 4.0  # of training: with less it does not get better
EVERY = 50  # steps between two validations
PATIENCE = 8  # validations without a better loss that end the training
SLACK = 0.02  # of a validation loss: what is within it is as good, as few cells validate
VALID_BATCHES = 12  # at most
# Of the observed cells validate, in pieces that lie all over a series, as its gaps do: at least PIECES of them and none
# longer than a window, but none shorter than SHORTEST_PIECE rows.
VALID_SHARE = 0.12
PIECES, SHORTEST_PIECE = 12, 48
JITTER = 24  # rows by which a window that validates may lie beside its piece
SHIFTS = (-1, -2, 1, 2)  # periods away that season inputs look at
STEPS, COPIES, VALIDATION, KEPT = 11, 12, 13, 14  # streams of random numbers
# steps that learn from the same hidden cells: a regression has to say what it says again for others
PER_COPY = 12
COPY_ROWS = 2048  # rows of a copy at most
LONG = 150.0  # seconds from which on an encoding of its own for every variable is worth learning
JUDGED = 0.4  # share of the time in which it learns without the cells that it is judged by; then from all
RATE, HIGHEST_RATE = 5e-4, 8e-4  # of a training of SHORT seconds, and of a longer one
SHORT = 15.0
# of that rate, for a network that was tuned and judged already: it takes up the cells that judged it
GO_ON = 0.65
OWN = 0.8  # share of windows with the panel's own gaps alone, which are what will be filled ...
MANY_GAPS = 0.95  # ... if less than this share of its cells is observed: else windows would hide too little


class Tuned(NamedTuple):
    """What came of a training."""

    fill: TunedFill
    result: FitResult
    error: float  # on windows that did not train, relative to the error before


@dataclass(frozen=True, eq=False)
class TunedFill(T1Fill):
    """The pretrained network after some training on the table."""

    name: ClassVar[str] = TUNED

    @classmethod
    def tune(cls, start: T1Fill, panel: Panel, learning: Learning) -> TunedFill:
        """Train with what is left of the budget; raises LeftOut where that is too little, or the user said stop."""
        if learning.stopped:
            raise LeftOut("T1 was not tuned: the run was stopped early, while methods were judged")
        seconds = learning.left()
        if seconds < LEAST_SECONDS:
            raise LeftOut(f"T1 was not tuned: {max(seconds, 0):.0f} s of the budget were left for it")
        first = JUDGED * seconds
        tuned = cls.train(start, panel, learning, first if first >= LEAST_SECONDS else seconds).fill
        if tuned.network is start.network:
            raise LeftOut("T1 was tuned, which did not help: it fills as it was")
        return tuned

    def go_on(self, panel: Panel, learning: Learning, judged: Panel) -> tuple[TunedFill, float]:
        """Train on with what is left of the budget, now from all cells; as it is where that is too little.

        `judged` is the panel that it was tuned on before. The second is its error relative to before, on cells that
        neither training learned from.
        """
        if learning.stopped or learning.budget is None or (seconds := learning.left()) < LEAST_SECONDS:
            return self, 1.0
        tuned = self.train(self, panel, learning, seconds, before=judged, rate=GO_ON)
        return tuned.fill, tuned.error

    @classmethod
    def train(
        cls,
        start: T1Fill,
        panel: Panel,
        learning: Learning,
        seconds: float,
        *,
        before: Panel | None = None,
        max_steps: int | None = None,
        rate: float = 1.0,
    ) -> Tuned:
        """Train for so many seconds or steps at most, and keep the weights that validate best.

        With `before`, the panel of an earlier training, the cells that validated then do so again. `rate` is relative
        to the learning rate that pretrained weights begin with.
        """
        windows = _Windows(start, panel, learning.seed, before or panel)
        if not windows.any:
            raise LeftOut("T1 was not tuned: too little was observed")
        network = _trainable(start, panel.n_vars, seconds)
        config = TrainConfig(
            seed=learning.seed,
            learning_rate=rate * float(np.clip(RATE * np.sqrt(seconds / SHORT), RATE, HIGHEST_RATE)),
            schedule="cosine",
            warmup=0.05,
            optimiser="adamw",
            weight_decay=0.01,
            clip=1.0,
            average=0.97,
            max_epochs=None,
            max_steps=max_steps or FIRST_STEPS + int(panel.observed.sum()) // CELLS_PER_STEP,
            max_seconds=None if np.isinf(seconds) else seconds,
            clock=learning.clock,
            patience=PATIENCE,
            slack=SLACK,
            validate_every=EVERY,
        )
        batches = [windows.validation(k) for k in range(windows.n_validations)]
        validation = _FixedBatches(batches, windows.fingerprint)
        error_before = validation.loss(network, windows.device, lambda: False)
        result = fit_source(
            network,
            windows,
            config,
            validation=validation,
            device=resolve_device("auto"),
            on_progress=learning.on_progress,
            should_stop=learning.should_stop,
        )
        if result.reason == "stopped":
            learning.notes.append("training was stopped early; the best weights so far were used")
        kept: Network = network.eval()
        after = {record.step: record.valid_loss for record in result.history}.get(result.best_step)
        error = 1.0 if after is None or error_before is None else after / error_before
        if error >= 1 + SLACK:  # clearly worse: what is close, hidden cells of the table tell better
            kept = start.network
        error = min(error, 1.0)
        same = {f.name: getattr(start, f.name) for f in fields(start)}
        return Tuned(cls(**same | {"network": kept}), result, error)


def _trainable(start: T1Fill, n_vars: int, seconds: float) -> T1:
    """A copy to train; in a long training of one group every variable has an encoding of its own."""
    network = start.network
    assert isinstance(network, T1)  # the options see to it that only torch trains
    shared = network.config.encoding == "shared"
    if shared and seconds >= LONG and len(start.groups) == 1 and len(start.groups[0].columns) == n_vars:
        return network.for_variables(n_vars)
    copy = T1(network.config)
    copy.load_state_dict(network.state_dict())
    return copy


@dataclass(frozen=True, eq=False)
class _Stretch:
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


class _Copy(NamedTuple):
    """Some rows of a stretch with cells hidden, which a few steps learn from."""

    stretch: _Stretch
    rows: slice
    hidden: BoolArray  # (rows, vars)
    said: Float32Array  # (rows, vars): what a regression says of every cell as it is seen; NaN without one
    trust: Float32Array | None  # in it


class _Windows:
    """Batches of windows of the panel, with cells hidden as in its own gaps and otherwise."""

    def __init__(self, start: T1Fill, panel: Panel, seed: int, choice: Panel) -> None:
        """The cells that validate are chosen from those of `choice`."""
        assert isinstance(start.network, T1)
        self.window, self.seed = start.network.config.window, seed
        self.start, self.panel = start, panel
        self.groups: tuple[Group, ...] = start.groups
        self.device = resolve_device("auto")
        self.stretches: list[_Stretch] = []
        for k, (key, span) in enumerate(zip(panel.ids, panel.spans, strict=True)):
            self._add(k, panel.values[span], choice.observed[span], start.periods.get(key))
        self.weight = _shares(int(s.observed.sum()) for s in self.stretches)
        self.valid_weight = _shares(int(s.kept.sum()) for s in self.stretches)
        crc = 0
        for s in self.stretches:
            crc = zlib.crc32(np.ascontiguousarray(s.values).view(np.uint8).data, crc)
        self.fingerprint = f"{len(self.stretches)} stretches, crc {crc:08x}"
        self._last: tuple[int, _Copy] | None = None

    per_epoch = EVERY

    @property
    def any(self) -> bool:
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
            self.stretches.append(_Stretch(known, seen & ~mine, mine, pieces, period, series, g))

    def _kept(self, rng: Generator, observed: BoolArray) -> tuple[BoolArray, IntArray]:
        """Cells that validate, in gaps like those that train, and where the pieces with such cells begin.

        They lie among the rows that train, as the gaps do that are to be filled. The last rows of a series, kept out
        altogether, would say how well T1 fills rows of which it has learned nothing.
        """
        n = len(observed)
        length = int(np.clip(n // PIECES, SHORTEST_PIECE, self.window))
        begins = rng.permutation(np.arange(-int(rng.integers(0, length)), n, length))
        hidden = self._hidden(rng, observed, observed)
        so_far = np.append(0, hidden.sum(axis=1).cumsum())
        cells = so_far[np.minimum(begins + length, n)] - so_far[np.maximum(begins, 0)]
        enough = np.searchsorted(cells.cumsum(), VALID_SHARE * observed.sum()) + 1
        begins = begins[:enough][cells[:enough] > 0]
        kept = np.zeros_like(observed)
        for begin in begins.tolist():
            rows = slice(max(begin, 0), begin + length)
            kept[rows] = hidden[rows]
        return kept, begins.clip(0, n - self.window)

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
        latest = len(s.values) - self.window
        first = int(np.clip(rng.choice(s.pieces) - COPY_ROWS // 2, 0, max(len(s.values) - COPY_ROWS, 0)))
        rows = slice(first, first + COPY_ROWS)
        inside = s.pieces[(s.pieces >= first) & (s.pieces + self.window <= first + COPY_ROWS)]
        begin = rng.choice(inside, n_windows) + rng.integers(-JITTER, JITTER + 1, n_windows)
        last = min(latest, first + COPY_ROWS - self.window)
        return self._cut(self._copy(s, rows, s.kept[rows]), begin.clip(first, last) - first)

    def _drawn(self, rng: Generator, weight: FloatArray) -> _Stretch:
        return self.stretches[int(rng.choice(len(self.stretches), p=weight))]

    def _copy(self, s: _Stretch, rows: slice, hidden: BoolArray) -> _Copy:
        """These rows with cells hidden; a regression says what it says of them as they are seen then."""
        said, trust = np.full(hidden.shape, np.nan, dtype=np.float32), None
        regression, group = self.start.regression, self.groups[s.group]
        if regression is not None:
            span = self.panel.spans[s.series]
            stretch = (
                s.series,
                span.start + rows.start,
                min(span.start + rows.start + len(hidden), span.stop),
            )
            seen = self.panel.take([stretch])
            values = seen.values.copy()
            unseen = (hidden | s.kept[rows])[: len(values)]
            values[:, group.columns] = np.where(unseen, np.nan, values[:, group.columns])
            told = regression.told(seen.with_values(values))
            part, relation = self.start.told_of(told, slice(None), group, self.start.relations[s.group])
            if part is not None:
                said[: len(part)], trust = part, relation.trust
        return _Copy(s, rows, hidden, said, trust)

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

    def _cut(self, copy: _Copy, begin: IntArray) -> Batch | None:
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


def _season_beside(s: _Stretch, rows: IntArray) -> list[Float32Array]:
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
class _FixedBatches:
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
