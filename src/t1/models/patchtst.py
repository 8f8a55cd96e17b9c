"""PatchTST (Nie et al., ICLR 2023): every variable on its own, its window cut into overlapping patches."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model
from t1.models.itransformer import encoder
from t1.models.norm import masked_moments


@dataclass(frozen=True, kw_only=True)
class PatchTSTConfig:
    """Patches are the class's defaults; widths are those Time-Series-Library gives its Transformers here."""

    n_vars: int
    window: int = 96
    patch: int = 16
    stride: int = 8
    d_model: int = 128
    d_ffn: int = 128
    n_heads: int = 8
    n_layers: int = 2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if not 1 <= self.patch <= self.window or self.stride < 1:
            raise InputError(
                f"patches of {self.patch} steps every {self.stride} do not fit a window of {self.window}"
            )
        if self.d_model % self.n_heads:
            raise InputError(f"d_model ({self.d_model}) must be a multiple of n_heads ({self.n_heads})")

    @property
    def n_patches(self) -> int:
        return (self.window + self.stride - self.patch) // self.stride + 1


class PatchTST(Model):
    """Patches to tokens, a Transformer encoder over them, all tokens to the window by one linear map."""

    name: ClassVar[str] = "patchtst"
    Config: ClassVar[type[PatchTSTConfig]] = PatchTSTConfig
    positions: Tensor

    def __init__(self, config: PatchTSTConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Linear(config.patch, config.d_model, bias=False)
        self.register_buffer("positions", _sinusoids(config.n_patches, config.d_model), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = encoder(config.d_model, config.n_heads, config.d_ffn, config.dropout, config.n_layers)
        self.last_norm = nn.BatchNorm1d(config.d_model)
        self.head_dropout = nn.Dropout(config.dropout)
        self.project = nn.Linear(config.d_model * config.n_patches, config.window)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        batch, time, n_vars = values.shape
        mean, std = masked_moments(values, observed)
        inputs = (values - mean) / std * observed.to(values.dtype)
        rows = inputs.transpose(1, 2).reshape(batch * n_vars, 1, time)
        padded = F.pad(rows, (0, self.config.stride), mode="replicate")[:, 0]
        patches = padded.unfold(-1, self.config.patch, self.config.stride)  # (batch·vars, patches, patch)
        tokens = self.dropout(self.embed(patches) + self.positions)
        tokens = self.last_norm(self.encoder(tokens).transpose(1, 2))  # (batch·vars, d_model, patches)
        filled: Tensor = self.head_dropout(self.project(tokens.flatten(1)))
        return filled.view(batch, n_vars, time).transpose(1, 2) * std + mean


def _sinusoids(length: int, width: int) -> Tensor:
    """Positions as sines and cosines (length, width)."""
    place = torch.arange(length, dtype=torch.float32)[:, None]
    pace = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10_000.0) / width))
    out = torch.zeros(length, width)
    out[:, 0::2] = torch.sin(place * pace)
    out[:, 1::2] = torch.cos(place * pace)[:, : width // 2]
    return out
