"""The score of a model on the validation part: the same windows with the same hidden cells every time."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from numpy.random import default_rng

from t1.arrays import BoolArray
from t1.data.window import WindowSet
from t1.errors import InputError
from t1.models.base import Model
from t1.source import Hide, fingerprint, hidden_batch

VALIDATION = 3  # a stream of random numbers


class Validator(Protocol):
    """Whatever can score a model."""

    @property
    def fingerprint(self) -> str:
        """A few letters that differ for different data: a run goes on only with the same."""

    def loss(self, model: Model, device: torch.device, should_stop: Callable[[], bool]) -> float | None:
        """The less the better; None if told to stop."""


class Validation:
    """The windows to score, and which of their cells are hidden."""

    def __init__(self, windows: WindowSet, hide: Hide, *, seed: int, batch_size: int) -> None:
        self.windows, self.hide, self.seed, self.batch_size = windows, hide, seed, batch_size
        self._hidden: list[npt.NDArray[np.uint8]] = []  # drawn once, eight cells to a byte
        self.fingerprint = fingerprint(windows)

    @torch.no_grad()
    def loss(self, model: Model, device: torch.device, should_stop: Callable[[], bool]) -> float | None:
        """Mean square of the model's errors over the hidden cells of all windows; None if told to stop."""
        model.eval()
        squares, count = 0.0, 0
        size = self.batch_size
        for i in range(-(-len(self.windows) // size)):
            if should_stop():
                return None
            values, observed = self.windows.batch(slice(i * size, (i + 1) * size))
            batch = hidden_batch(values, observed, self._hidden_in(i, values, observed), device)
            errors = model.validation_errors(batch).cpu().double()
            squares += float(errors.square().sum())
            count += errors.numel()
        model.train()
        if not count:
            raise InputError(
                "no cell of the validation part was hidden, so nothing can be scored.\n"
                "Hide a larger share, or train without a validation part."
            )
        return squares / count

    def _hidden_in(self, i: int, values: npt.NDArray[np.float32], observed: BoolArray) -> BoolArray:
        """What is hidden in batch `i` of every validation."""
        if i == len(self._hidden):
            rng = default_rng([self.seed, VALIDATION, i])
            self._hidden.append(np.packbits(self.hide(values, observed, rng) & observed))
        bits = np.unpackbits(self._hidden[i], count=observed.size)
        return bits.view(np.bool_).reshape(observed.shape)
