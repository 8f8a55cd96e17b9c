"""SAITS (Du et al., ESWA 2023): two stacks of attention over the other steps, and a mix of both."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from t1.errors import InputError
from t1.models.base import Batch, Model
from t1.models.pypots_parts import check_sizes, pypots_module


@dataclass(frozen=True, kw_only=True)
class SAITSConfig:
    """The defaults are the authors' SAITS-base."""

    n_vars: int
    window: int = 96
    n_layers: int = 2  # in each of the two stacks
    d_model: int = 256
    d_ffn: int = 128
    n_heads: int = 4
    d_k: int = 64
    d_v: int = 64
    dropout: float = 0.1
    attn_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.d_model % 2:
            raise InputError(f"d_model must be even, got {self.d_model}")
        if self.window < 2:
            raise InputError(f"a step looks only at others, so a window needs 2 steps, got {self.window}")


class SAITS(Model):
    """Trained to reproduce what it sees (ORT) and to impute what it does not (MIT), in absolute error."""

    name: ClassVar[str] = "saits"
    Config: ClassVar[type[SAITSConfig]] = SAITSConfig
    others: Tensor

    def __init__(self, config: SAITSConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = pypots_module("nn.modules.saits", needed_by="SAITS").BackboneSAITS(
            config.window,
            config.n_vars,
            config.n_layers,
            config.d_model,
            config.n_heads,
            config.d_k,
            config.d_v,
            config.d_ffn,
            config.dropout,
            config.attn_dropout,
        )
        self.register_buffer("others", 1 - torch.eye(config.window)[None], persistent=False)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        return self.reconstructions(values, observed)[-1]

    def loss(self, batch: Batch) -> Tensor:
        drafts = self.reconstructions(batch.values, batch.observed)
        reproduction = torch.stack([masked_mae(draft, batch.values, batch.observed) for draft in drafts])
        return reproduction.mean() + masked_mae(drafts[-1], batch.values, batch.target)

    def reconstructions(self, values: Tensor, observed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of the first stack, of the second, and their mix."""
        shown = torch.where(observed, values, 0)
        first, second, mix, *_ = self.backbone(shown, observed.to(values.dtype), self.others)
        return first, second, mix


def masked_mae(filled: Tensor, values: Tensor, where: Tensor) -> Tensor:
    """Mean absolute error over the cells of `where`; 0 if there are none."""
    error = torch.where(where, filled - values, 0).abs()
    return error.sum() / where.sum().clamp(min=1)
