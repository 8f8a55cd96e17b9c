"""DLinear (Zeng et al., AAAI 2023): a moving average and its remainder, each mapped by one linear layer."""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model


@dataclass(frozen=True, kw_only=True)
class DLinearConfig:
    """The maps are shared by all variables, as in Time-Series-Library; there is no normalisation."""

    n_vars: int
    window: int = 96
    moving_average: int = 25

    def __post_init__(self) -> None:
        if self.moving_average < 1 or self.moving_average % 2 == 0:
            raise InputError(f"moving_average must be odd and positive, got {self.moving_average}")


class DLinear(Model):
    """Window to window, linearly."""

    name: ClassVar[str] = "dlinear"
    Config: ClassVar[type[DLinearConfig]] = DLinearConfig

    def __init__(self, config: DLinearConfig) -> None:
        super().__init__()
        self.config = config
        self.trend = nn.Linear(config.window, config.window)
        self.season = nn.Linear(config.window, config.window)
        for layer in (self.trend, self.season):  # the official start: an average over the window
            nn.init.constant_(layer.weight, 1 / config.window)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        shown = (values * observed.to(values.dtype)).transpose(1, 2)  # (batch, vars, time)
        side = self.config.moving_average // 2
        padded = torch.cat(
            [shown[..., :1].expand(-1, -1, side), shown, shown[..., -1:].expand(-1, -1, side)], -1
        )
        trend = F.avg_pool1d(padded, self.config.moving_average, stride=1)
        filled: Tensor = self.trend(trend) + self.season(shown - trend)
        return filled.transpose(1, 2)
