"""How much of each method goes into the fill of each column and gap class, learned from hidden cells.

A blend of fills has less error than the best of them when their errors differ. Weights are non-negative and
sum to one. They are learned from all gaps inside the series, all at its edges, or all that take it whole, then drawn
towards what the gaps of each class say, and then those of the class in each column, the more the more events there are.

Whether a blend fills, or linear interpolation alone, is a question of belief: how much of linear's error does it
save here? A pretrained network brings a belief with it, from tables it had never seen; hidden cells of this
table correct it, first those of all columns, then the column's own. Any other method begins with no belief.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from t1.arrays import BoolArray, Codes, FloatArray, IntArray
from t1.fill.belief import FEWEST, Belief, Seen
from t1.fill.gaps import N_CLASSES, N_INNER, SIDES, TYPICAL

LUCK = 1.0  # standard errors by which weights look better than others on the very events that they were learned from
# events at which those of all gaps count as much as what is known of pretrained weights before, those of a class as
# much as those of all gaps, and those of a column in a class as much as those of all columns: fewer lead astray
HALF_OF_ALL, HALF_OF_CLASS, HALF_OF_COLUMN = 12, 48, 150
STEPS = 40  # of the search for weights
RATE = 0.4
AT_ONCE = 1 << 16  # cells that are worked on at a time, which bounds the memory
# Of the weights that go to what was trained on the table, all of it together, each by how close it is to the best of
# them. They are judged after less training than they fill with, and the mean of trees and a network, whose errors have
# little in common, is mostly better than the one that looked better.
TOGETHER = 0.5
CLOSE = 5.0  # the share of a method is as many e-folds smaller per part by which its error is larger
LEAST = 0.06  # a smaller weight is not worth a method's time
AHEAD = 0.7  # standard deviations of the belief by which a blend must be ahead of linear
AHEAD_KNOWN = 0.4  # where pretrained weights are part of it
TRIFLE = 1e-9  # the weight of methods that only fill where the others have no answer, all together
# What pretrained weights are believed to have of linear's error on tables they have never seen (its logarithm), and how
# it varies from table to table: more than on the paper's datasets (benchmarks/zero.py), which are not reported with it.
KNOWN_RATIO, KNOWN_SPREAD = math.log(0.65), 0.23
UNKNOWN_SPREAD = 1.0  # of methods of which nothing is known before
# A ratio of errors in gaps of one length says less of others, the more their lengths differ: per factor of e
TRANSFER = 0.1
COLUMN_SPREAD = 0.08  # how it varies from column to column


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights (vars, classes, methods), the first method being linear; `tested` where there were events."""

    methods: tuple[str, ...]
    weights: FloatArray
    tested: BoolArray  # (vars, classes): the class was rehearsed, in this column or in others

    @classmethod
    def of_one(cls, methods: tuple[str, ...], name: str, n_vars: int, tested: BoolArray) -> "Blend":
        """One method everywhere, because the user asked for it."""
        weights = np.zeros((n_vars, N_CLASSES, len(methods)))
        weights[..., methods.index(name)] = 1.0
        return cls(methods, weights, tested)

    def label(self, column: int, code: int) -> str:
        """The methods that fill here, by weight: "t1 + regression"; after "else" those for what they cannot."""
        weights = self.weights[column, code]
        order = [k for k in np.argsort(-weights, kind="stable").tolist() if weights[k] > 0]
        first = " + ".join(self.methods[k] for k in order if weights[k] > TRIFLE)
        rest = " + ".join(self.methods[k] for k in order if weights[k] <= TRIFLE)
        return f"{first}, else {rest}" if rest else first

    def mix(self, fills: FloatArray, column: IntArray, code: Codes) -> FloatArray:
        """The blended fill of cells, from `fills` (methods, cells)."""
        out = np.empty(fills.shape[1])
        for begin in range(0, len(out), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            out[part] = mixed(fills[:, part], self.weights[column[part], code[part]])
        return out


def mixed(fills: FloatArray, weights: FloatArray) -> FloatArray:
    """Fills (methods, cells) by weights (cells, methods); a method without an answer is left out.

    Where no method with a weight has an answer, linear's stands, and where it has none, any other's.
    """
    known = np.isfinite(fills)
    weights = np.where(known, weights.T, 0.0)
    total = weights.sum(axis=0)
    order = np.where(known, np.arange(len(fills))[:, None], len(fills)).min(axis=0)
    lone = (total <= 0) & (order < len(fills))
    weights[:, lone] = 0.0
    weights[order[lone], np.flatnonzero(lone)] = 1.0
    total = weights.sum(axis=0)
    sums = (weights * np.where(known, fills, 0.0)).sum(axis=0)
    out: FloatArray = np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0)
    return out


def learn_blend(
    methods: tuple[str, ...],
    errors: FloatArray,
    column: IntArray,
    code: Codes,
    event: IntArray,
    scale: FloatArray,
    known: tuple[str, ...] = (),
    trained: tuple[str, ...] = (),
) -> Blend:
    """Weights from the signed errors (methods, cells) of hidden cells, in units of `scale` (vars,).

    A method that has no answer for a cell is given linear's. `known` are the methods with pretrained weights, as they
    came and tuned: the best of them fills gaps inside a series where cells are too few to say anything. `trained` are
    those that were trained on the table: where there are several, some of the weight is shared out between them.
    """
    n_vars = len(scale)
    errors = np.where(np.isfinite(errors), errors, errors[:1]) / scale[column]
    errors = np.nan_to_num(errors, nan=0.0, posinf=1e6, neginf=-1e6)
    weights = np.zeros((n_vars, N_CLASSES, len(methods)))
    weights[..., 0] = 1.0
    tested = np.zeros((n_vars, N_CLASSES), dtype=bool)
    pretrained = [methods.index(name) for name in known]
    together = [methods.index(name) for name in trained]
    best_known = min(reversed(pretrained), key=lambda k: float(np.abs(errors[k]).sum()), default=None)
    of_class = [np.flatnonzero(code == c) for c in range(N_CLASSES)]
    tested[:] = [len(cells) > 0 for cells in of_class]
    alike = [_nearest_classes(of_class, c) for c in range(N_CLASSES)]
    # gaps of a length that could not be rehearsed are filled like those nearest in length that were
    of_class = [of_class[near[0]] if near else of_class[c] for c, near in enumerate(alike)]
    own = [_by_column(cells, column, n_vars) for cells in of_class]
    sides = [np.flatnonzero(np.isin(code, classes)) for classes in SIDES]
    best = _best_weights(
        errors, event, [*sides, *of_class, *(cells for by_column in own for cells in by_column)]
    )
    for c in range(N_CLASSES):
        prior = best_known if c < N_INNER else None
        side = _side(c)
        of_all = best[side]
        if prior is not None:
            of_all = _towards(np.eye(len(methods))[prior], of_all, errors, event, sides[side], HALF_OF_ALL)
        shared = _towards(of_all, best[len(sides) + c], errors, event, of_class[c], HALF_OF_CLASS)
        belief = Belief(0.0, UNKNOWN_SPREAD)
        if prior is not None:
            belief = Belief(KNOWN_RATIO * float(shared[pretrained].sum()), KNOWN_SPREAD)
        belief = belief.learn(_seen(shared, errors, event, of_class, c, alike[c])).wider(COLUMN_SPREAD)
        for j, here in enumerate(own[c]):
            in_column = shared
            if enough := len(np.unique(event[here])) >= FEWEST:
                in_column = best[len(sides) + N_CLASSES + c * n_vars + j]
                in_column = _towards(shared, in_column, errors, event, here, HALF_OF_COLUMN)
            in_classes = [by_column[j] for by_column in own]
            own_belief = belief.learn(_seen(in_column, errors, event, in_classes, c, alike[c]))
            if own_belief.ahead(AHEAD if prior is None else AHEAD_KNOWN):
                cells = here if enough else of_class[c]
                weights[j, c] = _shared_out(in_column, together, errors, cells)
    return Blend(methods, weights, tested)


def _towards(
    from_: FloatArray, to: FloatArray, errors: FloatArray, event: IntArray, cells: IntArray, half: float
) -> FloatArray:
    """Weights between two, of which the second were learned from these cells: halfway when they have `half` events.

    Fewer events are enough where they say clearly that the second weights are better, beyond what they would say of
    any weights that were learned from them.
    """
    if not len(cells):
        return _pruned(from_)
    saved = np.abs(from_ @ errors[:, cells]) - np.abs(to @ errors[:, cells])
    by_event = _by_event(saved, event[cells])
    n = len(by_event)
    clear = 0.0
    if n >= FEWEST and by_event.any():
        clear = float(by_event.mean() / max(by_event.std(ddof=1) / np.sqrt(n), 1e-12)) - LUCK
    clear = max(clear, 1.0)
    share = n / (n + half / clear / clear)  # a square of 1e200 is no number
    return _pruned(share * to + (1 - share) * from_)


def _shared_out(
    weights: FloatArray, trained: Sequence[int], errors: FloatArray, cells: IntArray
) -> FloatArray:
    """Weights of which a part goes to all trained methods, unless others are far ahead of them in these cells."""
    if len(trained) < 2 or not len(cells):
        return weights
    errors = errors[:, cells]
    error = np.abs(errors[trained]).mean(axis=1)
    best, so_far = float(error.min()), float(np.abs(weights @ errors).mean())
    if so_far <= 0 or best <= 0:
        return weights
    among = np.exp(-CLOSE * (error / best - 1))
    part = np.zeros_like(weights)
    part[trained] = among / among.sum()
    share = TOGETHER * min(1.0, float(np.exp(-CLOSE * (best / so_far - 1))))
    return _pruned(share * part + (1 - share) * weights)


def _best_weights(errors: FloatArray, event: IntArray, groups: list[IntArray]) -> FloatArray:
    """Weights (groups, methods) that minimise the mean absolute error of each group of cells.

    Multiplicative steps begin near the best single method, and stop after some: that keeps weights close to one
    method where cells are few. All groups take their steps at once, which is much faster than one after the other.
    """
    n = len(errors)
    found = np.zeros((len(groups), n))
    found[:, 0] = 1.0
    filled = [g for g, cells in enumerate(groups) if len(cells)]
    ends = np.cumsum([len(groups[g]) for g in filled])
    for batch in np.split(filled, np.flatnonzero(np.diff(ends // AT_ONCE)) + 1):
        if len(batch):
            found[batch] = _search(errors, event, [groups[g] for g in batch.tolist()])
    return found


def _search(errors: FloatArray, event: IntArray, groups: list[IntArray]) -> FloatArray:
    """The weights of a batch of groups, none of them empty."""
    cells, sizes = np.concatenate(groups), [len(group) for group in groups]
    group, first = np.repeat(np.arange(len(groups)), sizes), np.append(0, np.cumsum(sizes)[:-1])
    errors = errors[:, cells].astype(np.float32)  # half the memory to walk through
    _, which, size = np.unique(
        group * (event.max(initial=0) + 1) + event[cells], return_inverse=True, return_counts=True
    )
    importance = 1.0 / np.sqrt(size[which])  # the cells of one event are not independent
    importance = (importance / np.add.reduceat(importance, first)[group]).astype(np.float32)
    alone = np.add.reduceat(np.abs(errors) * importance, first, axis=1)  # (methods, groups)
    best = np.argmin(alone, axis=0)
    error = alone[best, np.arange(len(groups))]
    start = np.full(alone.shape, 0.3 / len(alone), dtype=np.float32)
    start[best, np.arange(len(groups))] += 0.7
    log_weights, found, lowest = np.log(start), start, np.full(len(groups), np.inf)
    for step in range(STEPS):
        weights = np.exp(log_weights - log_weights.max(axis=0))
        weights /= weights.sum(axis=0)
        mixed = (np.repeat(weights, sizes, axis=1) * errors).sum(axis=0)
        loss = np.add.reduceat(np.abs(mixed) * importance, first)
        found = np.where(loss < lowest, weights, found)
        lowest = np.minimum(loss, lowest)
        gradient = np.add.reduceat(errors * (np.sign(mixed) * importance), first, axis=1)
        log_weights = log_weights - RATE / np.sqrt(1 + step / 10) * gradient / np.where(error > 0, error, 1.0)
    exact = error <= 0  # nothing is better than a method without error
    found[:, exact] = 0.0
    found[best[exact], exact] = 1.0
    return np.stack([_pruned(weights) for weights in found.T])


def _pruned(weights: FloatArray) -> FloatArray:
    """Without the methods whose share is too small to be worth their time."""
    kept = np.where(weights >= LEAST, weights, 0.0)
    pruned: FloatArray = kept / kept.sum()
    return pruned


def _by_column(cells: IntArray, column: IntArray, n_vars: int) -> list[IntArray]:
    """Some cells, those of each column."""
    cells = cells[np.argsort(column[cells], kind="stable")]
    return np.split(cells, np.searchsorted(column[cells], np.arange(1, n_vars)))


def _side(c: int) -> int:
    return next(k for k, classes in enumerate(SIDES) if c in classes)


def _nearest_classes(of_class: list[IntArray], c: int) -> list[int]:
    """The classes that have hidden cells, those nearest in length first.

    Gaps inside a series and gaps at its edge say nothing about each other: what interpolates well may
    extrapolate badly.
    """
    alike = [k for k in SIDES[_side(c)] if len(of_class[k])]
    return sorted(alike, key=lambda k: abs(float(np.log(TYPICAL[k] / TYPICAL[c]))))


def _seen(
    weights: FloatArray,
    errors: FloatArray,
    event: IntArray,
    of_class: Sequence[IntArray],
    c: int,
    alike: list[int],
) -> Iterator[tuple[Seen, float]]:
    """What every class on the side of `c` says of a blend there, each with a doubt.

    Each for itself: many short gaps together with a few long ones would drown these.
    """
    for k in alike:
        cells = of_class[k]
        seen = Seen.of(np.abs(weights @ errors[:, cells]), np.abs(errors[0, cells]), event[cells])
        yield seen, TRANSFER * abs(math.log(TYPICAL[k] / TYPICAL[c]))


def _by_event(values: FloatArray, event: IntArray) -> FloatArray:
    """The mean of the values (cells,) of each event."""
    _, which = np.unique(event, return_inverse=True)
    means: FloatArray = np.bincount(which, weights=values) / np.bincount(which)
    return means
