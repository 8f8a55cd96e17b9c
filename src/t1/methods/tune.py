"""T1 tuned on the panel: the pretrained weights go on learning from its windows, as long as that helps."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.random import Generator, default_rng

from t1.arrays import BoolArray, Float32Array, IntArray
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
LEAST_SECONDS = 4.0  # of training: with less it does not get better
EVERY = 50  # steps between two validations
PATIENCE = 8  # validations without a better loss that end the training
# Of the lowest validation loss. The gaps to be filled lie among the rows that train, so going on pays for longer than
# rows kept out of training say.
SLACK = 0.02
VALID_BATCHES = 12
VALID_SHARE = 0.12  # the last share of every series validates, where it is long enough
SHIFTS = (-1, -2, 1, 2)  # periods away that season inputs look at
STEPS, COPIES, VALIDATION = 11, 12, 13  # streams of random numbers
PER_COPY = (
    12  # steps that learn from the same hidden cells: a regression has to say what it says again for others
)
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

    def go_on(self, panel: Panel, learning: Learning) -> tuple[TunedFill, float]:
        """Train on with what is left of the budget, now from all cells; as it is where that is too little.

        The second is its error relative to before, on windows that neither learned from.
        """
        if learning.stopped or learning.budget is None or (seconds := learning.left()) < LEAST_SECONDS:
            return self, 1.0
        tuned = self.train(self, panel, learning, seconds, rate=GO_ON)
        return tuned.fill, tuned.error

    @classmethod
    def train(
        cls,
        start: T1Fill,
        panel: Panel,
        learning: Learning,
        seconds: float,
        *,
        max_steps: int | None = None,
        rate: float = 1.0,
    ) -> Tuned:
        """Train for so many seconds or steps at most, and keep the weights that validate best.

        `rate` is relative to the learning rate that pretrained weights begin with.
        """
        windows = _Windows(start, panel, learning.seed)
        if not windows.groups:
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
            max_steps=max_steps,
            max_seconds=None if np.isinf(seconds) else seconds,
            clock=learning.clock,
            patience=PATIENCE,
            slack=SLACK,
            validate_every=EVERY,
        )
        batches = [windows.validation(k) for k in range(VALID_BATCHES)]
        validation = _FixedBatches(batches, windows.fingerprint)
        before = validation.loss(network, windows.device, lambda: False)
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
        error = 1.0 if after is None or before is None else after / before
        if error >= 1:
            kept, error = start.network, 1.0  # the training did not help
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
    observed: BoolArray
    period: int | None
    series: int
    group: int
    train_rows: int  # windows that end before this row train


class _Copy(NamedTuple):
    """Some rows of a stretch with cells hidden, which a few steps learn from."""

    stretch: _Stretch
    rows: slice
    hidden: BoolArray  # (rows, vars)
    said: Float32Array  # (rows, vars): what a regression says of every cell as it is seen; NaN without one
    trust: Float32Array | None  # in it


class _Windows:
    """Batches of windows of the panel, with cells hidden as in its own gaps and otherwise."""

    def __init__(self, start: T1Fill, panel: Panel, seed: int) -> None:
        assert isinstance(start.network, T1)
        self.window, self.seed = start.network.config.window, seed
        self.start, self.panel = start, panel
        self.groups: tuple[Group, ...] = start.groups
        self.device = resolve_device("auto")
        self.stretches: list[_Stretch] = []
        for k, (key, span) in enumerate(zip(panel.ids, panel.spans, strict=True)):
            for g, group in enumerate(start.groups):
                rows = standard_rows(start.scaler, panel.values[span], group)
                self._add(rows, start.periods.get(key), k, g)
        weight = np.array([s.observed.sum() for s in self.stretches], dtype=np.float64)
        if not weight.sum():
            self.groups = ()
        self.weight = weight / max(weight.sum(), 1)
        crc = 0
        for s in self.stretches:
            crc = zlib.crc32(np.ascontiguousarray(s.values).view(np.uint8).data, crc)
        self.fingerprint = f"{len(self.stretches)} stretches, crc {crc:08x}"
        self._last: tuple[int, _Copy] | None = None

    per_epoch = EVERY

    def _add(self, values: Float32Array, period: int | None, series: int, group: int) -> None:
        short = max(0, self.window - len(values))
        values = np.pad(values, ((0, short), (0, 0)), constant_values=np.nan) if short else values
        observed = np.isfinite(values)
        n = len(values)
        tail = max(round(n * VALID_SHARE), self.window)
        train_rows = n - tail if n - tail >= 2 * self.window else n
        known = np.where(observed, values, 0).astype(np.float32)
        self.stretches.append(_Stretch(known, observed, period, series, group, train_rows))

    def batch(self, step: int) -> Batch | None:
        """The windows of a step: all of one copy, so that they have the same columns."""
        number = step // PER_COPY
        if self._last is None or self._last[0] != number:
            rng = default_rng([self.seed, COPIES, number])
            stretch = self._drawn(rng)
            self._last = number, self._copy(rng, stretch, 0, stretch.train_rows)
        return self._cut(self._last[1], default_rng([self.seed, STEPS, step]))

    def validation(self, number: int) -> Batch | None:
        """Windows of the last part of a series, where it was kept out of training."""
        rng = default_rng([self.seed, VALIDATION, number])
        stretch = self._drawn(rng)
        n = len(stretch.values)
        first = stretch.train_rows if stretch.train_rows < n else 0
        return self._cut(self._copy(rng, stretch, first, n), rng)

    def _drawn(self, rng: Generator) -> _Stretch:
        return self.stretches[int(rng.choice(len(self.stretches), p=self.weight))]

    def _copy(self, rng: Generator, s: _Stretch, first: int, stop: int) -> _Copy:
        """Some of these rows with cells hidden; a regression says what it says of them as they are seen then."""
        n = min(stop - first, COPY_ROWS)
        first += int(rng.integers(0, stop - first - n + 1))
        rows = slice(first, first + n)
        hidden = self._hidden(rng, s, s.observed[rows])
        said, trust = np.full(hidden.shape, np.nan, dtype=np.float32), None
        regression, group = self.start.regression, self.groups[s.group]
        if regression is not None:
            span = self.panel.spans[s.series]
            stretch = (s.series, span.start + first, min(span.start + first + n, span.stop))
            seen = self.panel.take([stretch])
            values = seen.values.copy()
            values[:, group.columns] = np.where(hidden[: len(values)], np.nan, values[:, group.columns])
            told = regression.told(seen.with_values(values))
            part, relation = self.start.told_of(told, slice(None), group, self.start.relations[s.group])
            if part is not None:
                said[: len(part)], trust = part, relation.trust
        return _Copy(s, rows, hidden, said, trust)

    def _hidden(self, rng: Generator, s: _Stretch, observed: BoolArray) -> BoolArray:
        """Cells to hide, drawn window by window; where the windows begin is drawn as well."""
        n, n_vars = observed.shape
        shift = int(rng.integers(0, self.window))
        whole = np.pad(observed, ((shift, -(n + shift) % self.window), (0, 0)))
        windows = whole.reshape(-1, self.window, n_vars)
        hidden = hide("mixed", windows, rng=rng, donor_observed=s.observed, rate=(0.02, 0.5))
        if s.observed.mean() < MANY_GAPS:
            gaps = hide("own", windows, rng=rng, donor_observed=s.observed)
            hidden = np.where(rng.random((len(windows), 1, 1)) < OWN, gaps, hidden)
        return (hidden & windows).reshape(-1, n_vars)[shift : shift + n]

    def _cut(self, copy: _Copy, rng: Generator) -> Batch | None:
        s, first = copy.stretch, copy.rows.start
        n_windows = max(1, ROWS // s.values.shape[1])
        begin = rng.integers(0, len(copy.hidden) - self.window + 1, n_windows)
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
        parts = [np.broadcast_to(part, (n_windows, *part.shape)) for part in relation]
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
