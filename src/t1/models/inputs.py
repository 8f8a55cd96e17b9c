"""What T1 can be shown of a window beyond the paper's values and mask, and how far its fill may go.

None of it is in the paper. It makes one set of weights fill tables of any width: see docs/pretrained.md.
Axes: (batch, vars, time), in units of each window's own normalisation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from t1.models.base import Context


@dataclass(frozen=True)
class SeriesView:
    """A batch of normalised windows, each (batch, vars, time) unless it says otherwise."""

    normed: Tensor  # 0 where not observed
    observed: Tensor
    mean: Tensor  # (batch, vars, 1)
    std: Tensor  # (batch, vars, 1)
    lines: Tensor  # the gaps as straight lines
    distance: Tensor  # steps to the nearest observation
    context: Context | None = None

    @classmethod
    def of(
        cls, normed: Tensor, observed: Tensor, mean: Tensor, std: Tensor, context: Context | None = None
    ) -> "SeriesView":
        return cls(normed, observed, mean, std, *straight_lines(normed, observed), context)

    @cached_property
    def rough(self) -> Tensor:  # (batch, vars, 1)
        return roughness(self.normed, self.observed)

    @property
    def reach(self) -> Tensor:
        """How far a fill may be from the straight line, per unit of the network's output.

        A smooth series deviates from its chord by its curvature times the squared distance; where linear
        interpolation is nearly exact the network must be nearly silent. Never more than one deviation.
        """
        return (2 * self.rough * self.distance.clamp(min=1).square()).clamp(1e-4, 1.0)


# ---------------------------------------------------------------- the inputs by name


def _distance(view: SeriesView) -> list[Tensor]:
    return [torch.log1p(view.distance) / 2]


def _roughness(view: SeriesView) -> list[Tensor]:
    return [(view.rough.clamp(min=1e-3).log() / 3 + 1).expand_as(view.normed)]


def _season(view: SeriesView) -> list[Tensor]:
    """The neighbouring periods in the window's units, and how much is known of each; else zeros."""
    if view.context is None:
        return [torch.zeros_like(view.normed)] * 4
    c, parts = view.context, []
    for value, weight in ((c.before, c.before_weight), (c.after, c.after_weight)):
        value, weight = value.transpose(1, 2), weight.transpose(1, 2)
        normed = ((value - view.mean) / view.std).clamp(-8, 8)
        parts += [torch.where(weight > 0, normed, 0), weight]
    return parts


def _relation(view: SeriesView) -> list[Tensor]:
    """What the other variables say, how much of that was observed, and how well it explains the variable."""
    c = view.context
    if c is None or c.relation is None or c.intercept is None or c.trust is None:
        return [torch.zeros_like(view.normed)] * 3
    said = c.relation @ (view.lines * view.std + view.mean) + c.intercept.unsqueeze(-1)
    if c.said is not None:
        said = torch.where(c.said.isnan(), said.transpose(1, 2), c.said).transpose(1, 2)
    size = c.relation.abs()
    seen = size @ view.observed.to(size.dtype) / size.sum(-1, keepdim=True).clamp(min=1e-6)
    normed = ((said - view.mean) / view.std).clamp(-8, 8)
    trust = c.trust.unsqueeze(-1)
    return [torch.where(trust > 0, normed, 0), seen, trust.expand_as(normed)]


class Input(NamedTuple):
    """One entry of `T1Config.inputs`: how many tensors it adds, and what they are."""

    n: int
    of: Callable[[SeriesView], list[Tensor]]


# The order here is the order of the weights, whatever the order in a config.
INPUTS = {
    "distance": Input(1, _distance),
    "roughness": Input(1, _roughness),
    "season": Input(4, _season),
    "relation": Input(3, _relation),
}


# ---------------------------------------------------------------- lines


def straight_lines(values: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """Gaps as straight lines between neighbours, constant beyond the ends; steps to the nearest observation.

    values, observed: (..., time). Nothing observed at all: zeros, as far away as the window is long.
    """
    time = values.shape[-1]
    steps = torch.arange(time, device=values.device).expand(values.shape)
    before = torch.where(observed, steps, -1).cummax(-1).values
    after = torch.where(observed, steps, time).flip(-1).cummin(-1).values.flip(-1)
    left = torch.where(before < 0, after, before).clamp(max=time - 1)
    right = torch.where(after == time, before, after).clamp(min=0)
    share = (steps - left) / (right - left).clamp(min=1)
    first, last = values.gather(-1, left), values.gather(-1, right)
    distance = torch.minimum(
        torch.where(before < 0, time, steps - before), torch.where(after == time, time, after - steps)
    )
    return first + (last - first) * share, distance.to(values.dtype)


def roughness(values: Tensor, observed: Tensor) -> Tensor:
    """How far observed cells lie from the line between the observed cells before and after, (..., 1).

    The mean absolute error of linear interpolation where it can be seen; 1 where it cannot.
    """
    time = values.shape[-1]
    steps = torch.arange(time, device=values.device).expand(values.shape)
    before = F.pad(torch.where(observed, steps, -1).cummax(-1).values, (1, -1), value=-1)
    after = torch.where(observed, steps, time).flip(-1).cummin(-1).values.flip(-1)
    after = F.pad(after, (-1, 1), value=time)
    inner = observed & (before >= 0) & (after < time)
    left, right = before.clamp(min=0), after.clamp(max=time - 1)
    first, last = values.gather(-1, left), values.gather(-1, right)
    line = first + (last - first) * ((steps - left) / (right - left).clamp(min=1))
    error = torch.where(inner, (values - line).abs(), 0).sum(-1, keepdim=True)
    count = inner.sum(-1, keepdim=True)
    return torch.where(count > 0, error / count.clamp(min=1), 1.0)
