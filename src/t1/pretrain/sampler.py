"""The batches of pretraining: windows of one width from many tables, real or synthetic."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.random import default_rng

from t1.arrays import BoolArray, Float32Array, FloatArray
from t1.data.context import relate, weighted_mean
from t1.models.base import Batch, Context
from t1.pretrain.corpus import CorpusTable, fingerprint
from t1.pretrain.told import ToldStretch, draw_stretch
from t1.pretrain.window import Window, draw_window
from t1.synthetic import draw_table
from t1.workers import Workers

VERSION = 2  # of what is drawn: raise it when a batch of the same seed and step changes
WIDTHS = (1, 2, 3, 4, 5, 7, 9, 12, 16, 24, 32)  # variables of a batch
WINDOWS, TABLES, STRETCHES = 1, 2, 3  # streams of random numbers
POOL = 48  # synthetic tables at a time, of which every fourth is wide
POOL_STEPS = 64  # after so many steps there are new ones
SYNTHETIC_ROWS = 1024
PER_STRETCH = 4  # windows of a stretch that a regression has told: to draw one takes as long as a few windows
MANY_ROWS = 5000  # a longer table is not drawn more often


class Sampler:
    """A Source: `rows` windows times variables a step, a share of the steps from real tables.

    In a share of them a regression of the table has told every cell, in the others the variables around a window
    relate as their correlations say. Each worker draws its own part of the windows, each window from a random
    stream of its own.
    """

    def __init__(
        self,
        corpus: Sequence[CorpusTable],
        *,
        window: int,
        seed: int,
        rows: int = 128,
        real_share: float = 0.5,
        told_share: float = 0.5,
        relation: bool = True,
        workers: Workers | None = None,
        per_epoch: int = 500,
    ) -> None:
        self.corpus, self.window, self.seed, self.rows = list(corpus), window, seed, rows
        self.real_share = real_share if corpus else 0.0
        self.told_share = told_share if relation else 0.0
        self.relation, self.workers, self.per_epoch = relation, workers or Workers(), per_epoch
        self.fingerprint = (
            f"{fingerprint(self.corpus)}, sampler {VERSION} with {rows} rows, {self.real_share:g} real, "
            f"{self.told_share:g} told"
        )
        self._chances = _chances(self.corpus)
        self._drawn: tuple[int, list[CorpusTable]] = (-1, [])  # synthetic tables, and of which steps

    def batch(self, step: int) -> Batch | None:
        rng = default_rng([self.seed, WINDOWS, step])
        n_vars = int(rng.choice(WIDTHS))
        n_windows = max(1, self.rows // n_vars)
        tables, chances = self.corpus, self._chances
        real = rng.random() < self.real_share
        if not real or max(table.n_vars for table in tables) < n_vars:
            tables = self._synthetic(step)
            chances = np.ones(len(tables))
        wide_enough = chances * [table.n_vars >= n_vars for table in tables]
        picks = rng.choice(len(tables), n_windows, p=wide_enough / wide_enough.sum())
        if rng.random() < self.told_share:
            return self._told_batch(step, [tables[k] for k in picks[::PER_STRETCH]], n_windows, n_vars)
        windows = [
            draw_window(default_rng([self.seed, WINDOWS, step, i]), tables[picks[i]], self.window, n_vars)
            for i in self._mine(n_windows)
        ]
        return self._batch(windows) if any(w.hidden.any() for w in windows) else None

    def _mine(self, n_windows: int) -> range:
        """The windows that this worker draws."""
        return range(self.workers.rank, n_windows, self.workers.n)

    def _told_batch(self, step: int, tables: list[CorpusTable], n_windows: int, n_vars: int) -> Batch | None:
        """Windows of stretches that a regression has told, some of each stretch."""
        stretches: dict[int, ToldStretch] = {}
        windows: list[tuple[ToldStretch, slice]] = []
        for i in self._mine(n_windows):
            k = i // PER_STRETCH
            if k not in stretches:
                rng = default_rng([self.seed, STRETCHES, step, k])
                stretches[k] = draw_stretch(rng, tables[k], self.window, n_vars)
            rng = default_rng([self.seed, WINDOWS, step, i])
            windows.append((stretches[k], stretches[k].window(rng, self.window)))
        if not any(s.hidden[at].any() for s, at in windows):
            return None
        hidden = np.stack([s.hidden[at] for s, at in windows])
        values = np.stack([s.values[at] for s, at in windows])
        known = [
            *np.stack([s.season[:, at] for s, at in windows], 1),
            *(np.stack(parts) for parts in zip(*(s.relation for s, _ in windows), strict=True)),
            np.stack([s.said[at] for s, at in windows]),
        ]
        return _tensors(values, hidden, known)

    def _synthetic(self, step: int) -> list[CorpusTable]:
        number = step // POOL_STEPS
        if self._drawn[0] != number:
            tables = []
            for i in range(POOL):
                width = max(WIDTHS) if i % 4 == 0 else max(WIDTHS) // 2
                drawn = draw_table(default_rng([self.seed, TABLES, number, i]), SYNTHETIC_ROWS, width)
                tables.append(CorpusTable(drawn.values, ((0, SYNTHETIC_ROWS),), drawn.period))
            self._drawn = (number, tables)
        return self._drawn[1]

    def _batch(self, windows: list[Window]) -> Batch:
        values = np.stack([w.values for w in windows])
        hidden = np.stack([w.hidden for w in windows])
        around = np.stack([w.around for w in windows], 1)  # (4, windows, time, vars)
        known = [*weighted_mean(around[:2]), *weighted_mean(around[2:])]
        if self.relation:
            nothing = np.full(values.shape, np.nan, dtype=np.float32)  # is said by a regression
            known += [*relate(np.stack([w.surroundings for w in windows])), nothing]
        return _tensors(values, hidden, known)


def _tensors(values: Float32Array, hidden: BoolArray, known: Sequence[Float32Array]) -> Batch:
    """Windows (windows, time, vars), NaN where missing, and what is known beyond them, in the order of Context."""
    seen = np.isfinite(values)
    return Batch(
        torch.tensor(np.where(seen, values, 0)),
        torch.tensor(seen & ~hidden),
        torch.tensor(hidden),
        context=Context(*map(torch.tensor, known)),
    )


def _chances(tables: Sequence[CorpusTable]) -> FloatArray:
    """How often each table is drawn: by the root of its length; a domain by the root of its tables."""
    sizes = [min(len(table.values), MANY_ROWS) ** 0.5 for table in tables]
    domains: dict[str, list[float]] = defaultdict(list)
    for table, size in zip(tables, sizes, strict=True):
        domains[table.domain].append(size)
    return np.array(
        [
            size * len(domains[table.domain]) ** 0.5 / sum(domains[table.domain])
            for table, size in zip(tables, sizes, strict=True)
        ]
    )
