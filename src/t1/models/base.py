"""The contract every trainable model keeps, so that one loop can train them all.

Tensors are (batch, time, vars); `observed` is True where the model may look.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Context:
    """What is known beyond the windows: the neighbouring periods of each series, how the variables relate.

    In the units of the windows; `t1.data.context` computes it. A weight or trust of 0: nothing is known.
    """

    before: Tensor  # (batch, time, vars): the same phase one and two periods before, a weighted mean
    before_weight: Tensor
    after: Tensor
    after_weight: Tensor
    relation: Tensor | None = None  # (batch, vars, vars): each variable as a linear function of the others
    intercept: Tensor | None = None  # (batch, vars)
    trust: Tensor | None = None  # (batch, vars): the share of its variance that the others explain
    said: Tensor | None = (
        None  # (batch, time, vars): what a better regression says of every cell, in place of these
    )


@dataclass(frozen=True)
class Batch:
    """Windows of truth, what the model may see of them, and the cells it is scored on."""

    values: Tensor  # the truth where it is known, anything finite elsewhere
    observed: Tensor  # True: the model may look
    target: Tensor  # True: known to us, hidden from the model, and scored
    context: Context | None = field(default=None, kw_only=True)  # for a model that can use it
    one_table: bool = field(default=False, kw_only=True)  # all windows are of one table, in standard units

    def to(self, device: torch.device) -> "Batch":
        """The same batch there; nothing is copied if it is there already."""
        context = None
        if self.context is not None:
            given = {name: t for name, t in vars(self.context).items() if t is not None}
            context = Context(**{name: t.to(device) for name, t in given.items()})
        values, observed, target = (t.to(device) for t in (self.values, self.observed, self.target))
        return Batch(values, observed, target, context=context, one_table=self.one_table)


class Model(nn.Module, ABC):
    """A network that fills windows: `forward` reconstructs every cell from the observed ones."""

    name: ClassVar[str]
    Config: ClassVar[type[Any]]  # a frozen dataclass with n_vars and window, beside its model
    config: Any  # one of them

    @abstractmethod
    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        """Reconstruct all cells, (batch, time, vars); cells that are not observed must not matter."""

    def loss(self, batch: Batch) -> Tensor:
        """Mean squared error over the target cells; models with a loss of their own override this."""
        error: Tensor = (self(batch.values, batch.observed) - batch.values)[batch.target]
        return error.square().mean() if error.numel() else error.sum()

    def validation_errors(self, batch: Batch) -> Tensor:
        """Errors (cells,) whose mean square tells which weights are best: those of the fill at the target.

        A model whose fill takes many passes through its network gives errors of another kind here.
        """
        shown = torch.where(batch.observed, batch.values, 0)  # a model cannot score by looking at the truth
        errors: Tensor = (self(shown, batch.observed) - batch.values)[batch.target]
        return errors

    @torch.no_grad()
    def impute(self, values: Tensor, observed: Tensor) -> Tensor:
        """The windows with every unobserved cell filled and every observed one as it was."""
        return torch.where(observed, values, self(values, observed))


def median(draws: Tensor, dim: int) -> Tensor:
    """The middle draw, or for an even number the mean of the two in the middle."""
    ranked, n = draws.sort(dim).values, draws.shape[dim]
    return (ranked.select(dim, (n - 1) // 2) + ranked.select(dim, n // 2)) / 2
