"""ImputeFormer (Nie et al., KDD 2024): attention over time through a few learnt steps, and over variables.

pypots' version, which one of the authors wrote: without the original's Fourier loss and time encoding.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from t1.errors import InputError
from t1.models.base import Batch, Model
from t1.models.pypots_parts import check_sizes, pypots_module
from t1.models.saits import masked_mae


@dataclass(frozen=True, kw_only=True)
class ImputeFormerConfig:
    """The defaults are the authors' own."""

    n_vars: int
    window: int = 96
    n_layers: int = 3
    d_input_embed: int = 32
    d_learnable_embed: int = 96
    d_proj: int = 8  # learnt steps that the attention over time passes through
    d_ffn: int = 256
    n_heads: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_sizes(self)
        if (self.d_input_embed + self.d_learnable_embed) % self.n_heads:
            raise InputError(
                f"d_input_embed + d_learnable_embed ({self.d_input_embed} + {self.d_learnable_embed}) "
                f"must be a multiple of n_heads ({self.n_heads})"
            )


class ImputeFormer(Model):
    """Trained like SAITS: to reproduce what it sees and to impute what it does not, in absolute error."""

    name: ClassVar[str] = "imputeformer"
    Config: ClassVar[type[ImputeFormerConfig]] = ImputeFormerConfig

    def __init__(self, config: ImputeFormerConfig) -> None:
        super().__init__()
        self.config = config
        core = pypots_module("imputation.imputeformer.core", needed_by="ImputeFormer")
        losses = pypots_module("nn.modules.loss", needed_by="ImputeFormer")
        self.core = core._ImputeFormer(
            n_steps=config.window,
            n_features=config.n_vars,
            n_layers=config.n_layers,
            d_input_embed=config.d_input_embed,
            d_learnable_embed=config.d_learnable_embed,
            d_proj=config.d_proj,
            d_ffn=config.d_ffn,
            n_temporal_heads=config.n_heads,
            dropout=config.dropout,
            input_dim=1,
            output_dim=1,
            ORT_weight=1,
            MIT_weight=1,
            training_loss=losses.MAE(),
            validation_metric=losses.MAE(),
        )
        for layer in self.core.attn_layers_s:
            del layer.attn.out_proj  # its forward never calls it

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        shown = torch.where(observed, values, 0)
        filled: Tensor = self.core({"X": shown, "missing_mask": observed.to(values.dtype)})["reconstruction"]
        return filled

    def loss(self, batch: Batch) -> Tensor:
        filled = self(batch.values, batch.observed)
        seen = masked_mae(filled, batch.values, batch.observed)
        return seen + masked_mae(filled, batch.values, batch.target)
