"""How long a column stays above or below what is expected of it, and what follows for the cells of a gap."""

from typing import NamedTuple

import numpy as np

from t1.arrays import FloatArray, IntArray

LAGS = 2 ** np.arange(8)  # 1 to 128 rows, or samples of a column that is sampled more slowly
DECAYS = 1 - np.exp(-np.linspace(0.05, 7, 40))  # per row: from nothing to a thousand rows
PAIRS = 20  # fewer pairs of observations at a lag say nothing


class Memory(NamedTuple):
    """Of what a regression misses: rows at a distance d have a correlation of share * decay**d.

    The rest, 1 - share, is noise that no other row knows of.

    >>> Memory(1.0, 0.5).carried(np.array([1]), np.array([1]), np.array([3.0]), np.array([3.0])).round(2)
    array([2.4])
    """

    share: float = 0.0
    decay: float = 0.0

    @property
    def at_once(self) -> float:
        """The correlation of a row with the next."""
        return self.share * self.decay

    @classmethod
    def of(cls, missed: FloatArray) -> "Memory":
        """Of a series (time,), NaN where nothing was observed: the decay that fits its autocorrelation best."""
        size = float(np.nanmean(missed**2)) if np.isfinite(missed).any() else 0.0
        if not size > 0:
            return cls()
        lags, found = [], []
        steps = LAGS * sampled_every(np.flatnonzero(np.isfinite(missed)))
        for lag in steps[len(missed) // 3 > steps].tolist():
            products = missed[lag:] * missed[:-lag]
            products = products[np.isfinite(products)]
            if len(products) > PAIRS:
                lags.append(lag)
                found.append(float(products.mean()) / size)
        if not lags:
            return cls()
        curves = DECAYS[:, None] ** np.array(lags)
        shares = np.clip(curves @ found / (curves**2).sum(axis=1), 0, 1)
        best = int(np.argmin(((shares[:, None] * curves - found) ** 2).sum(axis=1)))
        return cls(float(shares[best]), float(DECAYS[best]))

    def carried(
        self, to_before: IntArray, to_after: IntArray, before: FloatArray, after: FloatArray
    ) -> FloatArray:
        """What is likely missed inside gaps, from what was missed in the last row before and the first after.

        Best linear prediction, given how many rows away the two are; both missed 0 where there is no such row.
        """
        near, far = self.share * self.decay**to_before, self.share * self.decay**to_after
        across = self.share * self.decay ** (to_before + to_after)
        apart = np.maximum(1 - across**2, 1e-6)
        likely: FloatArray = ((near - across * far) * before + (far - across * near) * after) / apart
        return likely


def sampled_every(seen: IntArray) -> int:
    """How many rows mostly lie from one observed row to the next.

    >>> sampled_every(np.array([3, 10, 17, 18, 24, 31]))
    7
    """
    return int(np.bincount(np.diff(seen)).argmax()) if len(seen) > 1 else 1
