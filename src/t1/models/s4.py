"""The S4 layer of SSSD (Gu et al., ICLR 2022): long convolutions over time, mixed over channels.

A linear state space x' = A x + B u per channel, with A and B frozen at HiPPO-LegS, answers an impulse with
`state` fixed curves; what is learned is how to mix them into a kernel, once for the past and once for the
future. So the curves are computed once, in 64 bits, and no state is complex. They depend on the shape
alone, so that all layers share them and no checkpoint stores them.

Activations are (chans, batch, time): mixing channels is one matrix product without a copy.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

GOLDEN = (math.sqrt(5) - 1) / 2


def time_steps(n_channels: int, shortest: float = 1e-3, longest: float = 1e-1) -> Tensor:
    """Each channel's step size (chans,), log-uniform as in the paper, but spread instead of drawn.

    By the golden ratio, not in order: then both halves of a gate, and any neighbours, span all time scales.
    """
    share = np.arange(1, n_channels + 1) * GOLDEN % 1
    return torch.from_numpy(shortest * (longest / shortest) ** share)


def hippo(n_state: int) -> tuple[Tensor, Tensor]:
    """HiPPO-LegS in 64 bits: the matrix A (state, state), lower triangular, and the vector B (state,)."""
    n = torch.arange(n_state, dtype=torch.float64)
    b = torch.sqrt(2 * n + 1)
    return -torch.tril(torch.outer(b, b), -1) - torch.diag(n + 1), b


def discretise(n_state: int, steps: Tensor) -> tuple[Tensor, Tensor]:
    """The bilinear rule: dA (chans, state, state) and dB (chans, state) for each channel's step size."""
    a, b = hippo(n_state)
    half = steps[:, None, None] / 2 * a
    eye = torch.eye(n_state, dtype=torch.float64)
    right = torch.cat([eye + half, (steps[:, None] * b)[..., None]], -1)
    solved = torch.linalg.solve_triangular(eye - half, right, upper=False)
    return solved[..., :-1], solved[..., -1]


def impulse_responses(n_channels: int, n_state: int, length: int) -> Tensor:
    """The curves dA^l dB, (chans, state, length), in 32 bits."""
    d_a, state = discretise(n_state, time_steps(n_channels))
    curves = torch.empty(n_channels, n_state, length)
    for i in range(length):
        curves[..., i] = state
        state = (d_a @ state[..., None])[..., 0]
    return curves


def long_convolution(x: Tensor, kernels: Tensor) -> Tensor:
    """x (chans, batch, time) with kernels (chans, 2·time): lags 0 to time - 1, then -time to -1.

    By FFT: in training, at 96 steps and batch 16, it takes half the time of a product with Toeplitz matrices;
    in sampling, where that would win a sixth, one way is enough.
    """
    time = x.shape[-1]
    spectrum = torch.fft.rfft(x, 2 * time) * torch.fft.rfft(kernels)[:, None]
    out: Tensor = torch.fft.irfft(spectrum, 2 * time)[..., :time]
    return out


class S4Layer(nn.Module):
    """LayerNorm(x + Linear(GELU(long convolution of x))), the norm over channels at each time step."""

    def __init__(self, n_channels: int, n_state: int) -> None:
        super().__init__()
        self.mixture = nn.Parameter(torch.randn(2, n_channels, n_state))  # C of the paper: past, future
        self.direct = nn.Parameter(torch.randn(n_channels))  # D
        self.linear = nn.Linear(n_channels, n_channels)
        self.norm = nn.LayerNorm(n_channels)

    def kernels(self, curves: Tensor) -> Tensor:
        """Two-sided kernels (chans, 2·time) from the curves (chans, state, time)."""
        past, future = torch.bmm(self.mixture.transpose(0, 1), curves).unbind(1)
        now = past[:, :1] + self.direct[:, None]
        return torch.cat([now, past[:, 1:], future.flip(-1)], -1)

    def forward(self, x: Tensor, curves: Tensor) -> Tensor:
        y = long_convolution(x, self.kernels(curves))
        flat = F.gelu(y).flatten(1)
        mixed = torch.addmm(self.linear.bias[:, None], self.linear.weight, flat).view(x.shape)
        return norm_channels(x + mixed, self.norm)


def norm_channels(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """A LayerNorm over the first axis of (chans, batch, time)."""
    centred = x - x.mean(0)
    scale = torch.rsqrt(centred.square().mean(0) + norm.eps)
    return torch.addcmul(norm.bias[:, None, None], centred * scale, norm.weight[:, None, None])
