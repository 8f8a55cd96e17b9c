"""ModernTCN (Luo and Wang, ICLR 2024): large kernels over time, then channels and variables mixed."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from t1.errors import InputError
from t1.models.base import Model
from t1.models.norm import masked_moments
from t1.models.pypots_parts import check_sizes, pypots_module


@dataclass(frozen=True, kw_only=True)
class ModernTCNConfig:
    """The defaults are those of the official imputation script for ETTh1; one entry per stage in tuples."""

    n_vars: int
    window: int = 96
    patch: int = 1
    stride: int = 1
    dims: tuple[int, ...] = (128,)
    n_blocks: tuple[int, ...] = (1,)
    large_kernels: tuple[int, ...] = (71,)
    small_kernels: tuple[int, ...] = (5,)
    downsampling: int = 2  # between stages
    ffn_ratio: int = 1
    dropout: float = 0.0
    head_dropout: float = 0.0

    def __post_init__(self) -> None:
        for field in ("dims", "n_blocks", "large_kernels", "small_kernels"):
            given = tuple(getattr(self, field))
            object.__setattr__(self, field, given)  # a list, as JSON has it, is welcome
            if len(given) != len(self.dims) or not given or min(given) < 1:
                raise InputError(f"{field} needs one positive number per stage, got {given}")
        check_sizes(self)
        for large, small in zip(self.large_kernels, self.small_kernels, strict=True):
            if not large % 2 or not small % 2 or small > large:
                raise InputError(f"kernels must be odd, the small one not larger, got {large} and {small}")
        if not self.stride <= self.patch <= self.window:
            raise InputError(
                f"patches of {self.patch} steps every {self.stride} do not fit a window of {self.window}"
            )
        least = self.stride * self.downsampling ** (len(self.dims) - 1)
        if self.window < least:
            raise InputError(f"these stages need a window of at least {least}, got {self.window}")


class ModernTCN(Model):
    """Patches, stages of large-kernel blocks, a variable's features to its window by one linear map."""

    name: ClassVar[str] = "moderntcn"
    Config: ClassVar[type[ModernTCNConfig]] = ModernTCNConfig

    def __init__(self, config: ModernTCNConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = pypots_module("nn.modules.moderntcn", needed_by="ModernTCN").BackboneModernTCN(
            config.window,
            config.n_vars,
            config.window,
            config.patch,
            config.stride,
            config.downsampling,
            config.ffn_ratio,
            list(config.n_blocks),
            list(config.large_kernels),
            list(config.small_kernels),
            list(config.dims),
            backbone_dropout=config.dropout,
            head_dropout=config.head_dropout,
            use_multi_scale=False,
        )
        self.head = self.backbone.head
        # what its forward never calls: the head it leaves to us, calendar marks, fusion of scales
        for unused in ("head", "te_patch", "lat_layer", "smooth_layer", "up_sample_conv"):
            delattr(self.backbone, unused)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        shown = torch.where(observed, values, 0)
        mean, std = masked_moments(shown, observed)
        inputs = (shown - mean) / std * observed.to(values.dtype)
        filled: Tensor = self.head(self.backbone(inputs.transpose(1, 2)))  # (batch, vars, time)
        return filled.transpose(1, 2) * std + mean
