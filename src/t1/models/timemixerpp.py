"""TimeMixer++ (Wang et al., ICLR 2025): several scales as images of their periods, mixed across scales.

There is no public official code; pypots' implementation is the reference. Like TimesNet it takes the periods
from the mean spectrum of a batch.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model
from t1.models.norm import masked_moments
from t1.models.pypots_parts import check_sizes, pypots_module


@dataclass(frozen=True, kw_only=True)
class TimeMixerPPConfig:
    """No script is public: sizes of TimeMixer in Time-Series-Library, the rest as the community runs it."""

    n_vars: int
    window: int = 96
    n_layers: int = 2
    d_model: int = 16
    d_ffn: int = 32
    n_heads: int = 4  # of the mixing of variables on the coarsest scale
    top_k: int = 3  # periods
    n_kernels: int = 6
    dropout: float = 0.1
    channel_independence: bool = True  # every variable on its own but for the mixing; far slower
    channel_mixing: bool = True  # only with channel_independence
    downsampling_layers: int = 3
    downsampling_window: int = 2

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.top_k < 2 or self.downsampling_window < 2:
            raise InputError(
                f"top_k and downsampling_window must be at least 2, "
                f"got {self.top_k} and {self.downsampling_window}"
            )
        if self.d_model % 2:
            raise InputError(f"d_model must be even, got {self.d_model}")
        if self.window % self.coarsening or self.window < 2 * self.coarsening:
            raise InputError(
                f"with {self.downsampling_layers} coarser scales, each by {self.downsampling_window}, "
                f"TimeMixer++ takes windows of {2 * self.coarsening}, {3 * self.coarsening}, "
                f"{4 * self.coarsening}, ... steps, got {self.window}.\n"
                "Use such a window, or fewer downsampling_layers."
            )

    @property
    def coarsening(self) -> int:
        """Steps of the window in one step of the coarsest scale."""
        return int(self.downsampling_window**self.downsampling_layers)


class TimeMixerPP(Model):
    """The backbone's imputation task, in an instance normalisation that leaves out what is missing."""

    name: ClassVar[str] = "timemixerpp"
    Config: ClassVar[type[TimeMixerPPConfig]] = TimeMixerPPConfig

    def __init__(self, config: TimeMixerPPConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = pypots_module("nn.modules.timemixerpp", needed_by="TimeMixer++").BackboneTimeMixerPP(
            task_name="imputation",
            n_steps=config.window,
            n_features=config.n_vars,
            n_pred_steps=0,
            n_pred_features=config.n_vars,
            n_layers=config.n_layers,
            d_model=config.d_model,
            d_ffn=config.d_ffn,
            n_heads=min(config.n_heads, config.window // config.coarsening),  # a head has at least one step
            dropout=config.dropout,
            top_k=config.top_k,
            n_kernels=config.n_kernels,
            channel_mixing=config.channel_mixing and config.channel_independence,
            channel_independence=config.channel_independence,
            downsampling_layers=config.downsampling_layers,
            downsampling_window=config.downsampling_window,
            downsampling_method="avg",
            use_future_temporal_feature=False,
        )
        del self.backbone.enc_embedding.temporal_embedding  # of calendar marks
        if config.n_vars == 1 and self.backbone.channel_mixing:  # attention to the only one cannot learn
            self.backbone.channel_mixing_attention.w_qs.requires_grad_(False)
            self.backbone.channel_mixing_attention.w_ks.requires_grad_(False)
        # the output is read off the finest scale, which the last mixing from fine to coarse never reaches
        self.backbone.encoder_model[-1].multi_scale_season_conv = _Unmixed()

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        shown = torch.where(observed, values, 0)
        mean, std = masked_moments(shown, observed)
        inputs = (shown - mean) / std * observed.to(values.dtype)
        with np.errstate(divide="ignore"):  # the period of frequency 0, which the backbone then leaves out
            filled: Tensor = self.backbone.imputation(inputs, None)
        return filled * std + mean


class _Unmixed(nn.Module):
    """The seasons of all scales as they are, (batch, time, chans) each."""

    def forward(self, seasons: list[Tensor]) -> list[Tensor]:
        return [season.flatten(2).transpose(1, 2) for season in seasons]
