"""CSDI (Tashiro et al., NeurIPS 2021): hidden cells are drawn by a diffusion conditioned on the seen ones.

Inside, tensors are (batch, vars, time).
"""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Batch, Model, median
from t1.models.pypots_parts import check_sizes, pypots_module

FEATURES_AT_ONCE = 2**20  # of one layer: more leave the cache, and many variables would fill the memory


@dataclass(frozen=True, kw_only=True)
class CSDIConfig:
    """The defaults are the authors' own, but for the number of samples (theirs: 100)."""

    n_vars: int
    window: int = 96
    n_layers: int = 4
    n_channels: int = 64
    n_heads: int = 8
    d_time: int = 128
    d_feature: int = 16
    d_diffusion: int = 128
    n_diffusion_steps: int = 50
    beta_start: float = 1e-4
    beta_end: float = 0.5
    n_samples: int = 5  # the fill is their median

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.n_channels % self.n_heads:
            raise InputError(f"n_channels ({self.n_channels}) must be a multiple of n_heads ({self.n_heads})")
        if self.d_time % 2 or self.d_diffusion % 2 or self.d_diffusion < 4:
            raise InputError(
                f"d_time must be even, d_diffusion even and above 2, got {self.d_time} and {self.d_diffusion}"
            )
        if self.window < 2:
            raise InputError(f"a window needs at least 2 steps, got {self.window}")
        if not 0 < self.beta_start <= self.beta_end < 1:
            raise InputError(f"betas must rise between 0 and 1, got {self.beta_start} to {self.beta_end}")


class CSDI(Model):
    """Trained to tell the noise in hidden cells; a fill takes `n_samples` draws from torch's generator."""

    name: ClassVar[str] = "csdi"
    Config: ClassVar[type[CSDIConfig]] = CSDIConfig

    def __init__(self, config: CSDIConfig) -> None:
        super().__init__()
        self.config = config
        core = pypots_module("imputation.csdi.core", needed_by="CSDI")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "enable_nested_tensor is True")  # a hint about speed on a GPU
            self.core = core._CSDI(
                config.n_vars,
                config.n_layers,
                config.n_heads,
                config.n_channels,
                config.d_time,
                config.d_feature,
                config.d_diffusion,
                False,
                config.n_diffusion_steps,
                "quad",
                config.beta_start,
                config.beta_end,
            )
        if config.n_vars == 1:  # there is nothing to attend to among the variables, and it is skipped
            for layer in self.core.backbone.diff_model.residual_layers:
                layer.feature_layer = nn.Identity()

    def loss(self, batch: Batch) -> Tensor:
        error = self.validation_errors(batch)
        return error.square().mean() if error.numel() else error.sum()

    def validation_errors(self, batch: Batch) -> Tensor:
        """Errors of the noise, each window at a random step: a fill takes too many passes for this."""
        known = torch.where(batch.observed | batch.target, batch.values, 0).transpose(1, 2).contiguous()
        observed = batch.observed.transpose(1, 2).to(known.dtype)
        target = batch.target.transpose(1, 2)
        step = torch.randint(self.config.n_diffusion_steps, (len(known),), device=known.device)
        kept = self.core.backbone.alpha_torch[step]  # (batch, 1, 1)
        noise = torch.randn_like(known)
        noisy = kept.sqrt() * known + (1 - kept).sqrt() * noise
        told = self._noise(noisy, known * observed, observed, self._side(observed), step)
        return (noise - told)[target]

    @torch.no_grad()
    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        return median(self.draw(values, observed, self.config.n_samples), dim=1)

    @torch.no_grad()
    def draw(self, values: Tensor, observed: Tensor, n_samples: int) -> Tensor:
        """Samples of all cells, (batch, samples, time, vars); the observed ones come out as noise."""
        shown = torch.where(observed, values, 0).transpose(1, 2)
        seen = observed.transpose(1, 2).to(shown.dtype)
        shown, seen = (x.repeat_interleave(n_samples, 0) for x in (shown, seen))
        size = max(1, FEATURES_AT_ONCE // (shown[0].numel() * self.config.n_channels))
        parts = range(0, len(shown), size)
        drawn = torch.cat([self._draw(shown[i : i + size], seen[i : i + size]) for i in parts])
        return drawn.view(len(values), n_samples, *drawn.shape[1:]).transpose(2, 3)

    def _draw(self, shown: Tensor, seen: Tensor) -> Tensor:
        """One sample for each row: from noise, step by step, to data."""
        backbone = self.core.backbone
        side = self._side(seen)
        sample = torch.randn_like(shown)
        for step in reversed(range(self.config.n_diffusion_steps)):
            told = self._noise(sample, shown, seen, side, torch.tensor([step], device=shown.device))
            beta, kept = float(backbone.beta[step]), float(backbone.alpha[step])
            sample = (sample - beta / (1 - kept) ** 0.5 * told) / (1 - beta) ** 0.5
            if step:
                spread = (1 - float(backbone.alpha[step - 1])) / (1 - kept) * beta
                sample = sample + spread**0.5 * torch.randn_like(sample)
        return sample

    def _noise(self, noisy: Tensor, shown: Tensor, seen: Tensor, side: Tensor, step: Tensor) -> Tensor:
        """The network's opinion on the noise in the unseen cells."""
        inputs = torch.stack([shown, (1 - seen) * noisy], 1)  # (batch, 2, vars, time)
        told: Tensor = self.core.backbone.diff_model(inputs, side, step)
        return told

    def _side(self, seen: Tensor) -> Tensor:
        """Where a cell is, which variable it is of, and whether it is seen, (batch, features, vars, time)."""
        times = torch.arange(seen.shape[2], device=seen.device, dtype=seen.dtype).expand(len(seen), -1)
        side: Tensor = self.core.get_side_info(times, seen)
        return side
