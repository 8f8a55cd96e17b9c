"""iTransformer (Liu et al., ICLR 2024): a variable's window is one token, attention runs over variables."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model
from t1.models.norm import masked_moments, zero_filled_moments


@dataclass(frozen=True, kw_only=True)
class ITransformerConfig:
    """The defaults are those of Time-Series-Library's imputation scripts."""

    n_vars: int
    window: int = 96
    d_model: int = 128
    d_ffn: int = 128
    n_heads: int = 8
    n_layers: int = 2
    dropout: float = 0.1
    norm: Literal["zero_filled", "masked"] = "zero_filled"  # the official code counts missing cells as 0

    def __post_init__(self) -> None:
        if self.norm not in ("zero_filled", "masked"):
            raise InputError(f"norm must be zero_filled or masked, got {self.norm!r}")
        if self.d_model % self.n_heads:
            raise InputError(f"d_model ({self.d_model}) must be a multiple of n_heads ({self.n_heads})")


class ITransformer(Model):
    """Linear embedding per variable, a Transformer encoder over variables, a linear map back to time."""

    name: ClassVar[str] = "itransformer"
    Config: ClassVar[type[ITransformerConfig]] = ITransformerConfig

    def __init__(self, config: ITransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Linear(config.window, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = encoder(config.d_model, config.n_heads, config.d_ffn, config.dropout, config.n_layers)
        self.last_norm = nn.LayerNorm(config.d_model)
        self.project = nn.Linear(config.d_model, config.window)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        moments = masked_moments if self.config.norm == "masked" else zero_filled_moments
        mean, std = moments(values, observed)
        shown = values * observed.to(values.dtype)
        inputs = (shown - mean) / std
        if self.config.norm == "masked":
            inputs = inputs * observed.to(values.dtype)
        tokens = self.dropout(self.embed(inputs.transpose(1, 2)))  # (batch, vars, d_model)
        filled: Tensor = self.project(self.last_norm(self.encoder(tokens)))  # (batch, vars, time)
        return filled.transpose(1, 2) * std + mean


def encoder(d_model: int, n_heads: int, d_ffn: int, dropout: float, n_layers: int) -> nn.TransformerEncoder:
    """The post-norm encoder with GELU that Time-Series-Library's general models share."""
    layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ffn, dropout, "gelu", batch_first=True)
    return nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
