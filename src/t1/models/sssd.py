"""SSSD^S4 (Lopez Alcaraz and Strodthoff, TMLR 2022): a conditional diffusion model on S4 layers.

It learns to tell the noise that was mixed into the hidden cells from what is visible; to fill, it starts with
noise there and takes it away step by step. Windows come in and go out as (batch, time, vars), inside
activations are (chans, batch, time). Data are expected standardised: there is no norm per window.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Batch, Model, median
from t1.models.s4 import S4Layer, impulse_responses

PAPER_STEPS = 200  # the noise schedule is that of so many steps


@dataclass(frozen=True, kw_only=True)
class SSSDConfig:
    """The defaults are the paper's, but for the number of draws."""

    n_vars: int
    window: int = 96
    n_blocks: int = 36
    n_channels: int = 256
    n_state: int = 64
    n_diffusion_steps: int = PAPER_STEPS  # fewer steps are larger, so that they end at the same noise
    first_beta: float = 1e-4
    last_beta: float = 0.02
    d_step: int = 128  # of the diffusion step's sines and cosines
    d_step_hidden: int = 512
    n_samples: int = 5  # draws; the fill is their median

    def __post_init__(self) -> None:
        counts = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if not name.endswith("beta")
        }
        for name, count in counts.items():
            if count < 1:
                raise InputError(f"{name} must be at least 1, got {count}")
        if self.d_step % 2 or self.d_step < 4:
            raise InputError(f"d_step must be even and at least 4, got {self.d_step}")
        if not 0 < self.first_beta <= self.last_beta < 1:
            raise InputError(f"betas must rise between 0 and 1, got {self.first_beta} to {self.last_beta}")

    def betas(self) -> Tensor:
        """The share of noise that each step adds, (steps,): linear."""
        longer = PAPER_STEPS / self.n_diffusion_steps
        ends = (self.first_beta * longer, self.last_beta * longer)
        return torch.linspace(*ends, self.n_diffusion_steps, dtype=torch.float64).clamp(max=0.999)


class SSSD(Model):
    """36 gated residual blocks, each with two S4 layers, that predict the noise."""

    name: ClassVar[str] = "sssd"
    Config: ClassVar[type[SSSDConfig]] = SSSDConfig

    def __init__(self, config: SSSDConfig) -> None:
        super().__init__()
        self.config = config
        width = config.n_channels
        self.inputs = NormedConv(config.n_vars, width)
        self.step_layers = nn.Sequential(
            nn.Linear(config.d_step, config.d_step_hidden),
            nn.SiLU(),
            nn.Linear(config.d_step_hidden, config.d_step_hidden),
            nn.SiLU(),
        )
        last = config.n_blocks - 1
        self.blocks = nn.ModuleList(ResidualBlock(config, last=i == last) for i in range(config.n_blocks))
        self.skips = NormedConv(width, width)
        self.outputs = nn.Linear(width, config.n_vars)  # zero: the first prediction is no noise at all
        nn.init.zeros_(self.outputs.weight)
        nn.init.zeros_(self.outputs.bias)
        # What follows from the config is no part of a checkpoint.
        betas = config.betas()
        left = torch.cumprod(1 - betas, 0)  # the share of the signal's variance that is left after a step
        before = F.pad(left[:-1], (1, 0), value=1.0)
        for name, constants in {
            "signal": left.sqrt(),
            "noise": (1 - left).sqrt(),
            "shrink": (1 - betas).sqrt(),
            "remove": betas / (1 - left).sqrt(),
            "sigma": (betas * (1 - before) / (1 - left)).sqrt(),
            "waves": torch.logspace(0, -4, config.d_step // 2, dtype=torch.float64),
        }.items():
            self.register_buffer(name, constants.float(), persistent=False)
        curves = impulse_responses(2 * width, config.n_state, config.window)
        self.register_buffer("curves", curves, persistent=False)

    signal: Tensor
    noise: Tensor
    shrink: Tensor
    remove: Tensor
    sigma: Tensor
    waves: Tensor
    curves: Tensor

    def loss(self, batch: Batch) -> Tensor:
        """Mean squared error of the noise at the target cells."""
        error = self.validation_errors(batch)
        return error.square().mean() if error.numel() else error.sum()

    def validation_errors(self, batch: Batch) -> Tensor:
        """Errors of the noise, each window at a random step: a fill takes too many passes for this."""
        known = batch.observed | batch.target
        values = torch.where(known, batch.values, 0.0).permute(2, 0, 1)  # (vars, batch, time)
        observed, target = (mask.permute(2, 0, 1) for mask in (batch.observed, batch.target))
        step = torch.randint(len(self.signal), (values.shape[1],), device=values.device)
        # At visible cells signal and noise are both the value, as in the authors' code.
        noise = torch.where(observed, values, torch.randn_like(values))
        mixed = self.signal[step, None] * values + self.noise[step, None] * noise
        return (self.predict(mixed, values, observed, step) - noise)[target]

    @torch.no_grad()
    def forward(self, values: Tensor, observed: Tensor) -> Tensor:
        visible = torch.where(observed, values, 0.0).permute(2, 0, 1)
        seen = observed.permute(2, 0, 1)
        draws = torch.stack([self.draw(visible, seen) for _ in range(self.config.n_samples)])
        return median(draws, dim=0).permute(1, 2, 0)

    def draw(self, visible: Tensor, observed: Tensor) -> Tensor:
        """One draw of the hidden cells (vars, batch, time) given the visible ones."""
        x = torch.randn_like(visible)
        for step in reversed(range(len(self.signal))):
            x = self.denoise(x, visible, observed, step)
        return x

    def denoise(self, x: Tensor, visible: Tensor, observed: Tensor, step: int) -> Tensor:
        """Take the noise of one step away; visible cells are as they were, before and after."""
        x = torch.where(observed, visible, x)
        steps = torch.full((x.shape[1],), step, device=x.device)
        x = (x - self.remove[step] * self.predict(x, visible, observed, steps)) / self.shrink[step]
        if step > 0:
            x = x + self.sigma[step] * torch.randn_like(x)
        return torch.where(observed, visible, x)

    def predict(self, x: Tensor, visible: Tensor, observed: Tensor, step: Tensor) -> Tensor:
        """The noise in x (vars, batch, time), a mixture as after `step` (batch,)."""
        seen = observed.to(x.dtype)
        given = torch.cat([visible * seen, seen])
        angle = step[:, None] * self.waves
        embedded = self.step_layers(torch.cat([angle.sin(), angle.cos()], -1))
        h = F.relu(self.inputs(x))
        total = h.new_zeros(())
        for block in self.blocks:
            h, skip = block(h, given, embedded, self.curves)
            total = total + skip
        h = F.relu(self.skips(total / math.sqrt(len(self.blocks))))
        return pointwise(h, self.outputs.weight, self.outputs.bias)


class ResidualBlock(nn.Module):
    """Step, convolution, S4, what is visible, S4, gate; half of the result goes on, half to the end."""

    def __init__(self, config: SSSDConfig, *, last: bool) -> None:
        super().__init__()
        width = config.n_channels
        self.step = nn.Linear(config.d_step_hidden, width)
        self.convolution = NormedConv(width, 2 * width, taps=3)
        self.first = S4Layer(2 * width, config.n_state)
        self.given = NormedConv(2 * config.n_vars, 2 * width)
        self.second = S4Layer(2 * width, config.n_state)
        self.results = NormedConv(width, width if last else 2 * width)  # nothing goes on from the last

    def forward(self, x: Tensor, given: Tensor, embedded: Tensor, curves: Tensor) -> tuple[Tensor, Tensor]:
        h = self.convolution(x + self.step(embedded).t()[..., None])
        h = self.first(h, curves) + self.given(given)
        filtered, gate = self.second(h, curves).chunk(2)
        results = self.results(torch.tanh(filtered) * torch.sigmoid(gate))
        if len(results) == len(x):
            return x, results
        goes_on, skip = results.chunk(2)
        return (x + goes_on) / math.sqrt(2), skip


class NormedConv(nn.Module):
    """A convolution over time with weight norm: each output's weights are a direction and a length."""

    def __init__(self, n_in: int, n_out: int, taps: int = 1) -> None:
        super().__init__()
        self.taps, fan_in = taps, taps * n_in
        self.direction = nn.Parameter(torch.randn(n_out, fan_in) * math.sqrt(2 / fan_in))  # Kaiming
        self.length = nn.Parameter(self.direction.detach().norm(dim=1, keepdim=True))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-1, 1) / math.sqrt(fan_in))

    def forward(self, x: Tensor) -> Tensor:  # (chans, batch, time)
        if self.taps > 1:
            time, reach = x.shape[-1], self.taps // 2
            padded = F.pad(x, (reach, reach))
            x = torch.cat([padded[..., i : i + time] for i in range(self.taps)])
        return pointwise(x, self.length * F.normalize(self.direction, dim=1), self.bias)


def pointwise(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Every time step's channels of x (chans, batch, time) through one matrix (out, chans)."""
    return torch.addmm(bias[:, None], weight, x.flatten(1)).view(-1, *x.shape[1:])
