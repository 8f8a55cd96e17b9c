"""A running average of a model's weights, which fills better than the last weights do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """Exponential, with a given decay per step; without one the average is the weights themselves."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], decay: float | None) -> None:
        self.parameters, self.decay = parameters, decay
        self.weights = {} if decay is None else {n: p.detach().clone() for n, p in parameters.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Move towards the weights after step number `step`; faster in the first steps, to forget them."""
        if self.decay is not None:
            decay = min(self.decay, (1 + step) / (10 + step))
            average = [self.weights[name] for name in self.parameters]
            torch._foreach_lerp_(average, [p.detach() for p in self.parameters.values()], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model with the average of its weights; afterwards with its own again."""
        if self.decay is None:
            yield
            return
        own = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(own)

    @torch.no_grad()
    def _put(self, weights: Mapping[str, Tensor]) -> None:
        for name, p in self.parameters.items():
            p.copy_(weights[name])
