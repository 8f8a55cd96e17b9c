"""How much of each method goes into the fill of each column and gap class, learned on CHOOSE cells.

A blend of fills has less error than the best of them when their errors differ. Weights are non-negative and sum to
one. They are learned per gap class over all columns, then drawn towards what each column's own cells say, the more
the more events it has. Where a blend is not clearly ahead of linear interpolation, linear fills alone.
"""

from dataclasses import dataclass

import numpy as np

from t1.arrays import BoolArray, Codes, FloatArray, IntArray
from t1.fill.gaps import N_CLASSES

FEWEST = 4  # events below which a group says nothing on its own
HALF = 24  # events of a column's own at which they count as much as those of all columns
STEPS = 120  # of the search for weights
RATE = 0.25
LEAST = 0.06  # a smaller weight is not worth a method's time
AHEAD = 1.0  # standard errors by which a blend must be ahead of linear
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
    """Weights from the signed errors (methods, cells) of CHOOSE cells; `scale` (vars,) makes columns comparable.

    A method that has no answer for a cell is given linear's.
    """
    n_vars = len(scale)
    errors = np.where(np.isfinite(errors), errors, errors[:1]) / scale[column]
    errors = np.nan_to_num(errors, nan=0.0, posinf=1e6, neginf=-1e6)
    weights = np.zeros((n_vars, N_CLASSES, len(methods)))
    weights[..., 0] = 1.0
    tested = np.zeros((n_vars, N_CLASSES), dtype=bool)
    overall = _group_weights(errors, event)
    for c in range(N_CLASSES):
        mine = code == c
        if not mine.any():
            weights[:, c] = overall
            continue
        tested[:, c] = True
        n_events = len(np.unique(event[mine]))
        share = n_events / (n_events + HALF / 2)
        shared = share * _group_weights(errors[:, mine], event[mine]) + (1 - share) * overall
        weights[:, c] = _trusted(shared, errors[:, mine], event[mine])
        for j in np.unique(column[mine]).tolist():
            here = mine & (column == j)
            n_own = len(np.unique(event[here]))
            if n_own < FEWEST:
                continue
            share = n_own / (n_own + HALF)
            own = share * _group_weights(errors[:, here], event[here]) + (1 - share) * shared
            weights[j, c] = _trusted(own, errors[:, here], event[here])
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
        return np.eye(n)[best]
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
    kept = np.where(average >= LEAST, average, 0.0)
    return kept / kept.sum()


def _trusted(weights: FloatArray, errors: FloatArray, event: IntArray) -> FloatArray:
    """The weights if their blend is ahead of linear by more than noise, else linear alone."""
    kept = np.where(weights >= LEAST, weights, 0.0)
    weights = kept / kept.sum()
    linear = np.zeros(len(weights))
    linear[0] = 1.0
    if weights[0] == 1.0:
        return linear
    gain = np.abs(errors[0]) - np.abs(weights @ errors)
    _, which = np.unique(event, return_inverse=True)
    size = np.bincount(which)
    by_event = np.bincount(which, weights=gain) / size
    base = np.bincount(which, weights=np.abs(errors[0])) / size
    n = len(by_event)
    if n < FEWEST:
        return linear
    mean = by_event.mean()
    noise = by_event.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    ahead = mean > AHEAD * noise and mean > MARGIN * base.mean()
    return weights if ahead else linear
