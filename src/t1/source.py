"""What a training learns from: batches, each a pure function of a seed and the number of the step."""

import zlib
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from numpy.random import Generator, default_rng

from t1.arrays import BoolArray
from t1.data.window import WindowSet
from t1.device import to_device
from t1.models.base import Batch

Hide = Callable[[npt.NDArray[np.float32], BoolArray, Generator], BoolArray]  # values, observed, rng -> hidden

ORDER, MASKS = 1, 2  # streams of random numbers; train.py has 3 and 4


class Source(Protocol):
    """Where the batches come from; a resumed run asks for the same steps again and gets the same batches."""

    @property
    def per_epoch(self) -> int:
        """How many steps are counted as an epoch, after each of which is validated."""

    @property
    def fingerprint(self) -> str:
        """A few letters that differ for different data or settings: a run goes on only with the same."""

    def batch(self, step: int) -> Batch | None:
        """The windows of a step; None if there is nothing to learn from in it."""


class HiddenWindows:
    """Every window once an epoch, in an order of its own, with cells that `hide` draws anew each time."""

    def __init__(
        self,
        windows: WindowSet,
        hide: Hide,
        *,
        seed: int,
        batch_size: int,
        device: torch.device,
        share: tuple[int, int] = (0, 1),  # of n processes that share every batch: which one this is, and n
    ) -> None:
        self.windows, self.hide, self.seed, self.batch_size = windows, hide, seed, batch_size
        self.device, self.share = device, slice(share[0], None, share[1])
        self.per_epoch = -(-len(windows) // batch_size)
        self.fingerprint = fingerprint(windows)
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty(0, np.int64))  # of which epoch

    def batch(self, step: int) -> Batch | None:
        values, observed = self.windows.batch(self._chosen(step))
        hidden = self.hide(values, observed, default_rng([self.seed, MASKS, step])) & observed
        values, observed, hidden = values[self.share], observed[self.share], hidden[self.share]
        return hidden_batch(values, observed, hidden, self.device) if hidden.any() else None

    def _chosen(self, step: int) -> npt.NDArray[np.int64]:
        epoch, position = divmod(step, self.per_epoch)
        if self._order[0] != epoch:
            order = default_rng([self.seed, ORDER, epoch]).permutation(len(self.windows))
            self._order = (epoch, order)
        return self._order[1][position * self.batch_size : (position + 1) * self.batch_size]


def fingerprint(windows: WindowSet) -> str:
    """A few letters that differ for different windows."""
    n = 0
    for array in (windows.rows, windows.seen, windows.starts):
        n = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, n)
    return f"{len(windows)} windows of {windows.window} x {windows.n_vars}, crc {n:08x}"


def hidden_batch(
    values: npt.NDArray[np.float32], observed: BoolArray, hidden: BoolArray, device: torch.device
) -> Batch:
    """Windows (batch, time, vars) of which the hidden cells are the target."""
    return Batch(*(to_device(x, device) for x in (values, observed & ~hidden, hidden)))
