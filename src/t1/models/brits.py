"""BRITS (Cao et al., NeurIPS 2018): a recurrent network in each direction, forgetting with time."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from t1.models.base import Batch, Model
from t1.models.pypots_parts import check_sizes, pypots_module
from t1.models.saits import masked_mae


@dataclass(frozen=True, kw_only=True)
class BRITSConfig:
    """The default is that of TSI-Bench for ETT_h1."""

    n_vars: int
    window: int = 96
    d_hidden: int = 512

    def __post_init__(self) -> None:
        check_sizes(self)


class BRITS(Model):
    """Every step is estimated before it is read, so nothing has to be hidden in training."""

    name: ClassVar[str] = "brits"
    Config: ClassVar[type[BRITSConfig]] = BRITSConfig

    def __init__(self, config: BRITSConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = pypots_module("nn.modules.brits", needed_by="BRITS").BackboneBRITS(
            config.window, config.n_vars, config.d_hidden, _step_error
        )
        if config.n_vars == 1:  # a variable is not estimated from itself, so these weights have no use
            for direction in (self.backbone.rits_f, self.backbone.rits_b):
                direction.feat_reg.W.requires_grad_(False)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        _, ahead, back, *_ = self.backbone(_both_ways(values, observed))
        filled: Tensor = (ahead + back) / 2
        return filled

    def loss(self, batch: Batch) -> Tensor:
        *_, consistency, reconstruction = self.backbone(
            _both_ways(batch.values, batch.observed | batch.target)
        )
        total: Tensor = consistency + reconstruction
        return total


def since_observed(observed: Tensor) -> Tensor:
    """Steps since the last observed value before this one, or the window's start, (batch, time, vars)."""
    steps = torch.arange(observed.shape[1], device=observed.device)[:, None]
    last = torch.where(observed, steps, 0).cummax(1).values
    before = torch.cat([torch.zeros_like(last[:, :1]), last[:, :-1]], 1)
    return steps - before


def _both_ways(values: Tensor, observed: Tensor) -> dict[str, dict[str, Tensor]]:
    """The inputs of the backbone in the order of time and against it."""
    shown = torch.where(observed, values, 0)
    ways = {"forward": (shown, observed), "backward": (shown.flip(1), observed.flip(1))}
    return {
        way: {
            "X": x,
            "missing_mask": seen.to(values.dtype),
            "deltas": since_observed(seen).to(values.dtype),
        }
        for way, (x, seen) in ways.items()
    }


def _step_error(filled: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """Mean absolute error of one step; pypots' own is the same after checks that take longer."""
    return masked_mae(filled, values, weights > 0)
