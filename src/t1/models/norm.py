"""Instance normalisation as the general models' imputation code does it: per window and variable."""

import torch
from torch import Tensor

EPS = 1e-5


def masked_moments(values: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the observed cells over time, (batch, 1, vars); 0 and ~0 if none."""
    seen = observed.to(values.dtype)
    count = seen.sum(1, keepdim=True).clamp(min=1)
    mean = (values * seen).sum(1, keepdim=True) / count
    spread = (values - mean) * seen
    return mean, torch.sqrt(spread.square().sum(1, keepdim=True) / count + EPS)


def zero_filled_moments(values: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """The same over all cells, zeros for the unobserved, as in Time-Series-Library's iTransformer."""
    shown = values * observed.to(values.dtype)
    mean = shown.mean(1, keepdim=True)
    return mean, torch.sqrt((shown - mean).square().mean(1, keepdim=True) + EPS)
