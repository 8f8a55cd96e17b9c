"""Gap events: the runs of several columns that begin and end nearly together, as after a shared outage."""

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, Codes, FloatArray, IntArray
from t1.fill.gaps import N_CLASSES, Runs, gap_class

ALIKE = 0.7  # runs are one event when their overlap is this share of their union
DEFAULT_LENGTHS = (1, 1, 1, 3, 12)  # of a table without gaps
PER_CLASS = 4000  # events that are kept of each class: more would only take time


@dataclass(frozen=True, eq=False)
class Events:
    """Runs sorted by event; event e has the runs bounds[e] to bounds[e + 1]."""

    column: IntArray
    offset: IntArray  # from the first row of the event
    length: IntArray
    edge: BoolArray  # of each run; all runs of an event are alike in this, and in the next
    never: BoolArray
    bounds: IntArray
    at_once: FloatArray  # (events,), how many columns are missing in its rows, those of other events too

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, event: int) -> "Event":
        runs = slice(self.bounds[event], self.bounds[event + 1])
        return Event(
            self.column[runs],
            self.offset[runs],
            self.length[runs],
            self.code[runs],
            bool(self.edge[runs.start]),
            bool(self.never[runs.start]),
            float(self.at_once[event]),
        )

    @cached_property
    def code(self) -> Codes:
        """The gap class of each run."""
        return gap_class(self.length, self.edge, self.never)

    def thinned(self, rng: Generator) -> "Events":
        """At most PER_CLASS events of each class, drawn at random: a rare long gap is not lost."""
        if len(self) <= PER_CLASS:
            return self
        code = self.code[self.bounds[:-1]]
        keep = np.zeros(len(self), dtype=bool)
        for c in range(N_CLASSES):
            of_class = np.flatnonzero(code == c)
            keep[rng.permutation(of_class)[:PER_CLASS]] = True
        return self.take(keep)

    def take(self, which: BoolArray) -> "Events":
        """Some of the events."""
        sizes = np.diff(self.bounds)
        runs = np.repeat(which, sizes)
        return Events(
            self.column[runs],
            self.offset[runs],
            self.length[runs],
            self.edge[runs],
            self.never[runs],
            _bounds(sizes[which]),
            self.at_once[which],
        )


@dataclass(frozen=True, eq=False)
class Event:
    """The runs of one event: columns, offsets from its first row, lengths, classes; the rest as in Events."""

    column: IntArray
    offset: IntArray
    length: IntArray
    code: Codes
    edge: bool
    never: bool  # it takes a series as a whole, however long
    at_once: float

    @cached_property
    def span(self) -> int:
        return int((self.offset + self.length).max())

    def take(self, runs: BoolArray) -> "Event":
        if runs.all():
            return self
        return replace(
            self,
            column=self.column[runs],
            offset=self.offset[runs],
            length=self.length[runs],
            code=self.code[runs],
        )


def own_events(runs: Runs, alive: BoolArray, limit: int, edge_limit: int | None = None) -> Events:
    """The events of a table, runs cut to `limit` rows, those at an edge to `edge_limit`; whole series as they are.

    Columns with nothing observed take no part.
    """
    runs = runs.take(alive[runs.column])
    n_missing = _missing_before(runs)
    column, start, stop, edge, never = runs
    base = int(stop.max(initial=0)) + 1
    spans, which = np.unique((start * base + stop) * 3 + edge + never, return_inverse=True)
    spans, kind = np.divmod(spans, 3)
    event = _join_alike(*np.divmod(spans, base), kind)[which]
    order = np.lexsort((start, event))
    column, start, stop = column[order], start[order], stop[order]
    event, edge, never, length = event[order], edge[order], never[order], stop - start
    sizes = np.unique(event, return_counts=True)[1]
    bounds = _bounds(sizes)
    offset = start - np.repeat(start[bounds[:-1]], sizes)
    most = np.where(edge, limit if edge_limit is None else edge_limit, limit)
    most = np.where(never, length, most)
    short = np.where(length > most, 0, offset)
    at_once = (n_missing[stop] - n_missing[start]) / length
    at_once = np.add.reduceat(at_once, bounds[:-1]) / sizes if len(sizes) else at_once
    return Events(column, np.where(edge, 0, short), np.minimum(length, most), edge, never, bounds, at_once)


def _missing_before(runs: Runs) -> IntArray:
    """How many cells are missing in all rows before each row, in all columns together."""
    step = np.zeros(int(runs.stop.max(initial=0)) + 1, dtype=np.intp)
    np.add.at(step, runs.start, 1)
    np.add.at(step, runs.stop, -1)
    return np.append(0, np.cumsum(np.cumsum(step)))


def default_events(alive: BoolArray, limit: int) -> Events:
    """Single points and short runs, each in a column of its own."""
    lengths = [length for length in DEFAULT_LENGTHS if length <= limit]
    column = np.repeat(np.flatnonzero(alive), len(lengths))
    length = np.tile(np.array(lengths, dtype=np.intp), int(alive.sum()))
    inner = np.zeros(len(length), dtype=bool)
    alone = np.ones(len(length))
    return Events(column, np.zeros_like(length), length, inner, inner, np.arange(len(length) + 1), alone)


def _join_alike(start: IntArray, stop: IntArray, kind: IntArray) -> IntArray:
    """The event of each different span, given sorted by start: that of an earlier one much like it."""
    event = np.arange(len(start))
    # Looking only at the first span of an event keeps chains of overlaps from joining the whole table.
    leaders: deque[tuple[int, int, int, int]] = deque(maxlen=8)
    for i in np.flatnonzero(stop - start >= 3).tolist():
        a, b = int(start[i]), int(stop[i])
        for first, last, alike, leader in leaders:
            if alike == kind[i] and min(b, last) - a >= ALIKE * (max(b, last) - first):
                event[i] = leader
                break
        else:
            leaders.append((a, b, int(kind[i]), i))
    return event


def _bounds(sizes: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes)])
