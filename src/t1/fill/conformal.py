"""Intervals that hold what they promise: each cell's own spread, scaled by what hidden cells show.

Every cell has a guess of how far below and above its fill the truth may lie. There are several ways to guess:
T1's own quantiles, the distance from the nearest observation, or one width for all cells. Hidden cells say
which guess gives the narrowest intervals, and by which factor to stretch it (cross-conformal prediction: the
error at a hidden cell is that of a blend that has not learned from it).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from t1.arrays import AnyArray, BoolArray, Codes, FloatArray, IntArray, Lengths
from t1.errors import InputError
from t1.fill.gaps import N_CLASSES, N_INNER, NEVER, SIDES, TYPICAL

GUESSES = ("t1", "distance", "constant")
ENOUGH = 100  # events from which on a group stands for itself; with fewer it is drawn towards a larger group
FLOOR = 0.02  # of a column's spread: no guess is narrower
# What a rehearsal hides is missing beside what the table misses anyway, so its errors are larger than those of the fill
# by about this share (fills of 19 tables that T1 was pretrained on, six kinds of gaps).
HARDER = 0.033


@dataclass(frozen=True, eq=False)
class Spread:
    """How far below and above its fill each cell (cells,) may lie, up to a factor."""

    down: FloatArray
    up: FloatArray

    def score(self, error: FloatArray) -> FloatArray:
        """|error| in units of the spread on its side; error is fill less truth."""
        return np.where(error > 0, error / self.down, -error / self.up)

    def take(self, cells: BoolArray) -> "Spread":
        return Spread(self.down[cells], self.up[cells])


def guess_spread(
    kind: str,
    column: IntArray,
    code: AnyArray,
    distance: Lengths,
    scale: FloatArray,
    down: FloatArray | None,
    up: FloatArray | None,
) -> Spread:
    """One of GUESSES; where T1 has no answer, the distance speaks, and where there is none, the column's spread."""
    size = scale[column]
    if kind == "constant":
        return Spread(size, size)
    far = size * np.sqrt(np.maximum(distance, 1)) / 4  # errors of a random walk grow so
    far = np.where(code == NEVER, size, far)
    if kind == "distance" or down is None or up is None:
        return Spread(far, far)
    own = np.isfinite(down) & np.isfinite(up)
    least = FLOOR * size
    return Spread(np.where(own, np.maximum(down, least), far), np.where(own, np.maximum(up, least), far))


@dataclass(frozen=True, eq=False)
class Calibration:
    """For each column and class the factor of the spread; `tested` where hidden cells were behind it."""

    level: float
    guess: str
    factor: FloatArray  # (vars, classes), NaN where nothing is known at all
    tested: BoolArray  # (vars, classes)
    reach: FloatArray  # (classes,), how far from an observation hidden cells were; NaN where there were none

    def bands(
        self, fill: FloatArray, spread: Spread, column: IntArray, code: Codes, distance: Lengths
    ) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the intervals of some cells.

        Gaps at an edge are rehearsed shorter than they are. With one width for all cells, those further from
        an observation than any that was rehearsed get wider by the square root of how much further they are.
        """
        factor = self.factor[column, code]
        if self.guess == "constant":
            beyond = np.where(code >= N_INNER, np.fmax(distance / self.reach[code], 1.0), 1.0)
            factor = factor * np.sqrt(beyond)
        return fill - factor * spread.down, fill + factor * spread.up


def calibrate(
    level: float,
    guess: str,
    error: FloatArray,
    spread: Spread,
    column: IntArray,
    code: Codes,
    event: IntArray,
    distance: Lengths,
    n_vars: int,
) -> Calibration:
    """Factors so that a share `level` of the hidden cells lies inside.

    A column and class of few events is drawn towards the class over all columns. A class that was never
    rehearsed takes the factor of the nearest rehearsed one, wider by the square root of how much longer its
    gaps are (as errors of a random walk grow), and counts as untested.
    """
    if not 0 < level < 1:
        raise InputError(
            f"an interval's level is between 0 and 1, got {level}",
            cure="Give 0.9 for 90 %.",
            option="intervals",
        )
    fine = np.isfinite(error)
    score = spread.take(fine).score(error[fine])
    column, code, event, distance = column[fine], code[fine], event[fine], distance[fine]
    reach = np.full(N_CLASSES, np.nan)
    factor = np.full((n_vars, N_CLASSES), np.nan)
    tested = np.zeros((n_vars, N_CLASSES), dtype=bool)
    n_events = np.zeros((n_vars, N_CLASSES))
    by_class = np.full(N_CLASSES, np.nan)
    order = np.lexsort((column, code))
    for of_class in np.split(order, np.searchsorted(code[order], np.arange(1, N_CLASSES))):
        if not len(of_class):
            continue
        c = int(code[of_class[0]])
        reach[c] = distance[of_class].max()
        by_class[c] = _quantile(score[of_class], len(np.unique(event[of_class])), level)
        factor[:, c] = by_class[c]
        tested[:, c] = True
        for here in np.split(of_class, np.flatnonzero(np.diff(column[of_class])) + 1):
            j = column[here[0]]
            n_events[j, c] = len(np.unique(event[here]))
            share = min(n_events[j, c] / ENOUGH, 1.0)
            own = _quantile(score[here], n_events[j, c], level)
            factor[j, c] = math.exp(
                share * math.log(max(own, 1e-9)) + (1 - share) * math.log(max(by_class[c], 1e-9))
            )
    if guess == "constant":
        _monotone(factor, tested, n_events)
    _borrow(factor, by_class, guess, level)
    return Calibration(level, guess, factor, tested, reach)


def _monotone(factor: FloatArray, tested: BoolArray, n_events: FloatArray) -> None:
    """With one width for all cells, longer gaps never get a narrower interval than shorter ones.

    Nor does a gap at an edge than one as long that is known on both sides. Classes that came out the wrong way
    round get their mean: taking the wider of both would make most intervals too wide.
    """
    for j in range(len(factor)):
        for group in SIDES:
            classes = [c for c in group if tested[j, c]]
            factor[j, classes] = _rising(factor[j, classes], n_events[j, classes])
    for edge, inner in ((N_INNER, 2), (N_INNER + 1, 3)):
        both = tested[:, edge] & tested[:, inner]
        factor[both, edge] = np.maximum(factor[both, edge], factor[both, inner])


def _rising(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Values that never fall, the nearest to those given: neighbours that do get their weighted mean."""
    runs: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, w in zip(values.tolist(), weight.tolist(), strict=True):
        run = (value, max(w, 0.5), 1)
        while runs and runs[-1][0] > run[0]:
            mean, total, n = runs.pop()
            run = ((mean * total + run[0] * run[1]) / (total + run[1]), total + run[1], n + run[2])
        runs.append(run)
    return np.array([mean for mean, _, n in runs for _ in range(n)])


def _borrow(factor: FloatArray, by_class: FloatArray, guess: str, level: float) -> None:
    """Factors of classes that were never rehearsed."""
    known = np.flatnonzero(np.isfinite(by_class[:NEVER]))
    if not len(known):
        return
    if not np.isfinite(by_class[NEVER]):  # as far as series of a normal spread are apart
        factor[:, NEVER] = NormalDist().inv_cdf((1 + level) / 2)
    for c in np.flatnonzero(~np.isfinite(by_class[:NEVER])).tolist():
        near = int(known[np.argmin(np.abs(np.log(TYPICAL[known] / TYPICAL[c])))])
        longer = max(TYPICAL[c] / TYPICAL[near], 1.0)
        if c >= N_INNER > near:
            longer *= 4.0  # one side only: as far from an observation as a gap four times as long
        factor[:, c] = factor[:, near] * (math.sqrt(longer) if guess == "constant" else longer**0.25)


def _quantile(score: FloatArray, n_events: float, level: float) -> float:
    """The quantile of the scores that holds for a new event: higher where events are few."""
    n = len(score)
    order = np.sort(score)
    # between cells that are all independent and cells of one event that are all alike
    effective = math.sqrt(n * n_events)
    # by so much more of the fill's cells lie inside: errors are about exponential there
    more = -HARDER * (1 - level) * math.log(1 - level)
    rank = min(level + level / effective - more, 1.0) * n
    # between two scores, not the higher of them: with 15 of them that would hold 94 % instead of 90 %
    return float(np.interp(rank, np.arange(1, n + 1), order))


def narrowest(
    level: float,
    guesses: dict[str, Spread],
    error: FloatArray,
    column: IntArray,
    scale: FloatArray,
) -> str:
    """The guess whose intervals are narrowest in the mean when stretched to hold a share `level`."""
    fine = np.isfinite(error)
    width = {}
    for kind, spread in guesses.items():
        part = spread.take(fine)
        score = np.sort(part.score(error[fine]))
        if not len(score):
            return "constant"
        stretch = score[min(int(level * len(score)), len(score) - 1)]
        width[kind] = float((stretch * (part.down + part.up) / scale[column[fine]]).mean())
    return min(width, key=lambda kind: width[kind])
