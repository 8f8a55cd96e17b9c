"""Gap events: the runs of several columns that begin and end nearly together, as after a shared outage."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from t1.arrays import BoolArray, IntArray
from t1.fill.gaps import N_CLASSES, Runs, gap_class

ALIKE = 0.7  # runs are one event when their overlap is this share of their union
DEFAULT_LENGTHS = (1, 1, 1, 3, 12)  # of a table without gaps
PER_CLASS = 4000  # events that are kept of each class: more would only take time


@dataclass(frozen=True)
class Events:
    """Runs sorted by event; event e has the runs bounds[e] to bounds[e + 1]."""

    column: IntArray
    offset: IntArray  # from the first row of the event
    length: IntArray
    bounds: IntArray

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, event: int) -> tuple[IntArray, IntArray, IntArray]:
        runs = slice(self.bounds[event], self.bounds[event + 1])
        return self.column[runs], self.offset[runs], self.length[runs]

    def __iter__(self) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        return (self[event] for event in range(len(self)))

    def thinned(self, rng: Generator) -> "Events":
        """At most PER_CLASS events of each class, drawn at random: a rare long gap is not lost."""
        if len(self) <= PER_CLASS:
            return self
        code = gap_class(np.maximum.reduceat(self.length, self.bounds[:-1]))
        keep = np.zeros(len(self), dtype=bool)
        for c in range(N_CLASSES):
            of_class = np.flatnonzero(code == c)
            keep[rng.permutation(of_class)[:PER_CLASS]] = True
        sizes = np.diff(self.bounds)
        runs = np.repeat(keep, sizes)
        return Events(self.column[runs], self.offset[runs], self.length[runs], _bounds(sizes[keep]))


def own_events(runs: Runs, alive: BoolArray, limit: int) -> Events:
    """The events of a table, runs cut to `limit` rows; columns with nothing observed take no part."""
    keep = alive[runs.column]
    column, start, stop = (part[keep] for part in runs)
    base = int(stop.max(initial=0)) + 1
    spans, which = np.unique(start * base + stop, return_inverse=True)
    event = _join_alike(*np.divmod(spans, base))[which]
    order = np.lexsort((start, event))
    column, start, length, event = column[order], start[order], (stop - start)[order], event[order]
    sizes = np.unique(event, return_counts=True)[1]
    bounds = _bounds(sizes)
    offset = start - np.repeat(start[bounds[:-1]], sizes)
    return Events(column, np.where(length > limit, 0, offset), np.minimum(length, limit), bounds)


def default_events(alive: BoolArray, limit: int) -> Events:
    """Single points and short runs, each in a column of its own."""
    lengths = [length for length in DEFAULT_LENGTHS if length <= limit]
    column = np.repeat(np.flatnonzero(alive), len(lengths))
    length = np.tile(np.array(lengths, dtype=np.intp), int(alive.sum()))
    return Events(column, np.zeros_like(length), length, np.arange(len(length) + 1))


def _join_alike(start: IntArray, stop: IntArray) -> IntArray:
    """The event of each different span, given sorted by start: that of an earlier one much like it."""
    event = np.arange(len(start))
    # Looking only at the first span of an event keeps chains of overlaps from joining the whole table.
    leaders: deque[tuple[int, int, int]] = deque(maxlen=8)
    for i in np.flatnonzero(stop - start >= 3).tolist():
        a, b = int(start[i]), int(stop[i])
        for first, last, leader in leaders:
            if min(b, last) - a >= ALIKE * (max(b, last) - first):
                event[i] = leader
                break
        else:
            leaders.append((a, b, i))
    return event


def _bounds(sizes: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes)])
