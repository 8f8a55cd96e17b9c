"""TimesNet (Wu et al., ICLR 2023): the window folded by its strongest periods, convolutions over the folds.

Like the original it takes the periods from the mean spectrum of a batch, so a fill depends a little on the
other windows of its batch.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model
from t1.models.norm import masked_moments
from t1.models.pypots_parts import check_sizes, pypots_module


@dataclass(frozen=True, kw_only=True)
class TimesNetConfig:
    """The defaults are those of Time-Series-Library's imputation script for ETTh1."""

    n_vars: int
    window: int = 96
    n_layers: int = 2
    top_k: int = 3  # periods
    d_model: int = 16
    d_ffn: int = 32
    n_kernels: int = 6
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.d_model % 2:
            raise InputError(f"d_model must be even, got {self.d_model}")
        if self.top_k > self.window // 2:
            raise InputError(
                f"a window of {self.window} has {self.window // 2} periods, top_k asks for {self.top_k}"
            )


class TimesNet(Model):
    """Embedding without calendar marks, blocks over folded periods, a linear map back to the variables."""

    name: ClassVar[str] = "timesnet"
    Config: ClassVar[type[TimesNetConfig]] = TimesNetConfig

    def __init__(self, config: TimesNetConfig) -> None:
        super().__init__()
        self.config = config
        embedding = pypots_module("nn.modules.transformer.embedding", needed_by="TimesNet")
        timesnet = pypots_module("nn.modules.timesnet", needed_by="TimesNet")
        self.embed = embedding.DataEmbedding(
            config.n_vars, config.d_model, dropout=config.dropout, n_max_steps=config.window
        )
        del self.embed.temporal_embedding  # of calendar marks, which no system here is given
        self.backbone = timesnet.BackboneTimesNet(
            config.n_layers, config.window, 0, config.top_k, config.d_model, config.d_ffn, config.n_kernels
        )
        self.project = nn.Linear(config.d_model, config.n_vars)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        shown = torch.where(observed, values, 0)
        mean, std = masked_moments(shown, observed)
        inputs = (shown - mean) / std * observed.to(values.dtype)
        filled: Tensor = self.project(self.backbone(self.embed(inputs)))
        return filled * std + mean
