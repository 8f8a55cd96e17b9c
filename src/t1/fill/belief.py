"""Whether a blend is better than linear interpolation: what is believed of it, and what hidden cells say.

Both speak of the logarithm of the blend's error relative to linear's: below 0 it is better. Errors of columns differ
by orders of magnitude, and their ratios do not.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from t1.arrays import FloatArray, IntArray

FEWEST = 4  # events below which a group says nothing on its own
FEW = 12  # events whose noise is a guess as well, and counts for twice as much
LEAST, MOST = 1e-3, 2.0  # ratios of errors that are told apart; the second where linear is exact
MARGIN = 0.005  # what a blend must be better by, whatever is believed
# A table, or a column, may be unlike all others: a population that grows evenly stands beside prices that jump.
# Without this share, what is believed before would outweigh any few events, however clear they are.
UNLIKE, HOW_UNLIKE = 0.03, 1.0


class Seen(NamedTuple):
    """The logarithm of a blend's error relative to linear's on some events, and its standard error."""

    ratio: float
    noise: float

    @classmethod
    def of(cls, blend: FloatArray, linear: FloatArray, event: IntArray) -> "Seen":
        """From the sizes of the errors (cells,) of both."""
        if len(event) < FEWEST:  # cells, of which an event has one at least
            return cls(0.0, math.inf)
        _, which = np.unique(event, return_inverse=True)
        size = np.bincount(which)
        n = len(size)
        if n < FEWEST:
            return cls(0.0, math.inf)
        ours, lines = (np.bincount(which, weights=errors) / size for errors in (blend, linear))
        error, base = float(ours.mean()), float(lines.mean())
        if base <= 0:  # linear is exact: nothing can be saved, but everything lost
            return cls(math.log(MOST) if error > 0 else 0.0, 0.0)
        ratio = max(error / base, LEAST)
        noise = float((ours / (ratio * base) - lines / base).std(ddof=1)) / math.sqrt(n)
        return cls(math.log(ratio), noise * (1 + FEW / n))


@dataclass(frozen=True)
class Belief:
    """The logarithm of a blend's error relative to linear's, as it is expected to be."""

    mean: float
    spread: float

    def learn(self, seen: Iterable[tuple[Seen, float]]) -> "Belief":
        """The belief once events were seen, each kind with a doubt: how far it may be from what is asked here."""
        heard = [(s.ratio, max(math.hypot(s.noise, doubt), 1e-3)) for s, doubt in seen if s.noise < math.inf]
        if not heard:
            return self
        sure = sum(noise**-2 for _, noise in heard)
        told = sum(ratio * noise**-2 for ratio, noise in heard) / sure
        likely, means, variances = [], [], []
        for share, spread in ((1 - UNLIKE, self.spread), (UNLIKE, math.hypot(self.spread, HOW_UNLIKE))):
            expected = math.hypot(spread, sure**-0.5)
            likely.append(math.log(share / expected) - ((told - self.mean) / expected) ** 2 / 2)
            variances.append(1 / (spread**-2 + sure))
            means.append((self.mean * spread**-2 + told * sure) * variances[-1])
        weights = np.exp(np.array(likely) - max(likely))
        mean = float(np.average(means, weights=weights))
        spread = (
            float(np.average(np.array(variances) + (np.array(means) - mean) ** 2, weights=weights)) ** 0.5
        )
        return Belief(mean, spread)

    def wider(self, by: float) -> "Belief":
        """What is believed of one of many that vary by so much."""
        return Belief(self.mean, math.hypot(self.spread, by))

    def ahead(self, by: float) -> bool:
        """Whether the blend is better than linear, `by` so many standard deviations and more than a trifle."""
        return self.mean + by * self.spread < -MARGIN
