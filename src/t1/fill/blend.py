"""How much of each method goes into the fill of each column and gap class, learned on CHOOSE cells.

A blend of fills has less error than the best of them when their errors differ. Weights are non-negative and
sum to one. They are learned per gap class over all columns, then drawn towards what each column's own cells
say, the more the more events it has. Where a blend is not clearly ahead of linear interpolation, linear fills
alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from t1.arrays import BoolArray, Codes, FloatArray, IntArray
from t1.fill.gaps import N_CLASSES, N_INNER, TYPICAL

FEWEST = 4  # events below which a group says nothing on its own
SOME = 12  # events below which a class asks its neighbours
HALF = 24  # events of a column's own at which they count as much as those of all columns
STEPS = 120  # of the search for weights
RATE = 0.25
LEAST = 0.06  # a smaller weight is not worth a method's time
AHEAD = 0.7  # standard errors by which a blend must be ahead of linear, over all columns
AHEAD_ALONE = 2.0  # in one column, where over all columns it is not
MARGIN = 0.005  # and the share of linear's error that it must save


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
        """The methods that fill here, by weight: "t1 + regression"."""
        weights = self.weights[column, code]
        return " + ".join(self.methods[k] for k in np.argsort(-weights, kind="stable") if weights[k] > 0)

    def mix(self, fills: FloatArray, column: IntArray, code: Codes) -> FloatArray:
        """The blended fill of cells, from `fills` (methods, cells); a method without an answer is left out.

        Where no method with a weight has an answer, linear's stands, and where it has none, any other's.
        """
        weights = self.weights[column, code].T  # (methods, cells)
        known = np.isfinite(fills)
        weights = np.where(known, weights, 0.0)
        total = weights.sum(axis=0)
        order = np.where(known, np.arange(len(fills))[:, None], len(fills)).min(axis=0)
        lone = (total <= 0) & (order < len(fills))
        weights[:, lone] = 0.0
        weights[order[lone], np.flatnonzero(lone)] = 1.0
        total = weights.sum(axis=0)
        mixed = (weights * np.where(known, fills, 0.0)).sum(axis=0)
        out: FloatArray = np.divide(mixed, total, out=np.full(len(total), np.nan), where=total > 0)
        return out


def learn_blend(
    methods: tuple[str, ...],
    errors: FloatArray,
    column: IntArray,
    code: Codes,
    event: IntArray,
    scale: FloatArray,
) -> Blend:
    """Weights from the signed errors (methods, cells) of CHOOSE cells, in units of `scale` (vars,).

    A method that has no answer for a cell is given linear's.
    """
    n_vars = len(scale)
    errors = np.where(np.isfinite(errors), errors, errors[:1]) / scale[column]
    errors = np.nan_to_num(errors, nan=0.0, posinf=1e6, neginf=-1e6)
    weights = np.zeros((n_vars, N_CLASSES, len(methods)))
    weights[..., 0] = 1.0
    tested = np.zeros((n_vars, N_CLASSES), dtype=bool)
    for c in range(N_CLASSES):
        mine = code == c
        tested[:, c] = mine.any()
        around = _with_neighbours(code, event, c)
        n_events = len(np.unique(event[mine]))
        share = n_events / (n_events + HALF / 2)
        shared = share * _group_weights(errors[:, mine], event[mine]) if share else 0.0
        shared = _pruned(shared + (1 - share) * (_group_weights(errors[:, around], event[around])))
        gain = _gain(shared, errors[:, around], event[around])
        for j in range(n_vars):
            here = mine & (column == j)
            n_own = len(np.unique(event[here]))
            own = shared
            if n_own >= FEWEST:
                share = n_own / (n_own + HALF)
                own = _pruned(share * _group_weights(errors[:, here], event[here]) + (1 - share) * shared)
            if _trusted(gain, _gain(own, errors[:, here], event[here])):
                weights[j, c] = own
    return Blend(methods, weights, tested)


def _group_weights(errors: FloatArray, event: IntArray) -> FloatArray:
    """Weights that minimise the mean absolute error, by multiplicative steps from near the best method.

    Starting there, and stopping after some steps, keeps weights close to a single method where cells are few.
    """
    n = len(errors)
    start = np.zeros(n)
    if errors.shape[1] == 0:
        start[0] = 1.0
        return start
    _, which, size = np.unique(event, return_inverse=True, return_counts=True)
    importance = 1.0 / np.sqrt(size[which])  # the cells of one event are not independent
    importance /= importance.sum()
    alone = np.abs(errors) @ importance
    best = int(np.argmin(alone))
    start[:] = 0.3 / n
    start[best] += 0.7
    if alone[best] <= 0:
        start[:] = 0.0
        start[best] = 1.0
        return start
    log_weights, average, lowest = np.log(start), start, np.inf
    for step in range(STEPS):
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        mixed = weights @ errors
        loss = float(np.abs(mixed) @ importance)
        if loss < lowest:
            lowest, average = loss, weights
        gradient = errors @ (np.sign(mixed) * importance) / alone[best]
        log_weights = log_weights - RATE / np.sqrt(1 + step / 10) * gradient
    return _pruned(average)


def _pruned(weights: FloatArray) -> FloatArray:
    """Without the methods whose share is too small to be worth their time."""
    kept = np.where(weights >= LEAST, weights, 0.0)
    pruned: FloatArray = kept / kept.sum()
    return pruned


def _with_neighbours(code: Codes, event: IntArray, c: int) -> BoolArray:
    """The cells of a class; where their events are few, also those of the classes nearest in length.

    Gaps inside a series and gaps at its edge say nothing about each other: what interpolates well may
    extrapolate badly.
    """
    alike = np.flatnonzero((np.arange(N_CLASSES) >= N_INNER) == (c >= N_INNER))
    order = alike[np.argsort(np.abs(np.log(TYPICAL[alike] / TYPICAL[c])), kind="stable")]
    mine = np.zeros(len(code), dtype=bool)
    for k in order.tolist():
        mine |= code == k
        if len(np.unique(event[mine])) >= SOME:
            break
    return mine


class _Gain(NamedTuple):
    """How far a blend is ahead of linear, by event: the mean, its standard error, and linear's own error."""

    mean: float
    noise: float
    base: float
    n_events: int

    def ahead(self, by: float) -> bool:
        """Ahead `by` standard errors, or more where events are few: then their noise is a guess as well."""
        wanted = by * (1 + SOME / max(self.n_events, 1))
        return self.mean > wanted * self.noise and self.mean > MARGIN * self.base


def _gain(weights: FloatArray, errors: FloatArray, event: IntArray) -> _Gain:
    if not errors.shape[1]:
        return _Gain(0.0, np.inf, 0.0, 0)
    gain = np.abs(errors[0]) - np.abs(weights @ errors)
    _, which = np.unique(event, return_inverse=True)
    size = np.bincount(which)
    by_event = np.bincount(which, weights=gain) / size
    base = np.bincount(which, weights=np.abs(errors[0])) / size
    n = len(by_event)
    noise = float(by_event.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    return _Gain(float(by_event.mean()), noise, float(base.mean()), n)


def _trusted(shared: _Gain, own: _Gain) -> bool:
    """A blend fills if it is clearly ahead of linear in all columns and not behind here, or ahead here."""
    if shared.n_events < FEWEST:
        return False
    if own.n_events < FEWEST:
        return shared.ahead(AHEAD)
    return own.ahead(AHEAD_ALONE) or (shared.ahead(AHEAD) and own.mean >= 0)
