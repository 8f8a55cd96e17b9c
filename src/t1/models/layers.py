"""Fast bricks; activations are (rows, chans, time) with rows = batch·vars, one per window and variable.

Each brick is an exact rewriting of a textbook layer into matrix products without copies in between:

- a depthwise convolution over time is a batched product with banded Toeplitz matrices, one per channel;
  it reads (rows, chans, time) and writes (chans, rows, time), the layout attention wants, for free;
- a pointwise convolution is a batched product with one shared matrix, and brings the layout back;
- attention over variables runs over slices of channels, so all its weights never exist at one time.

`tests/plain_t1.py` holds the textbook layers; the tests compare outputs and gradients.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

# How many attention weights may exist at one time: 2^20 floats stay inside the cache.
ATTENTION_SLICE = 1 << 20


# ---------------------------------------------------------------- convolutions over time


def toeplitz(kernels: Tensor, length: int) -> Tensor:
    """Kernels (n, chans, taps) -> matrices (chans, length, n·length), for each channel n of them side by side.

    x @ T is the "same" cross-correlation of x with an odd kernel: T[i, o] = kernel[i - o + reach].
    Row i is a stretch of the padded, flipped kernel that starts one place before that of row i - 1.
    """
    n, chans, taps = kernels.shape
    margin = length - 1 - taps // 2  # negative: the outer taps only ever meet the padding
    padded = F.pad(kernels, (margin, margin)).flip(-1)
    rows = padded.unfold(-1, length, 1)  # (n, chans, length, length), the last row first: still a view
    return rows.permute(1, 2, 0, 3).flip(1).reshape(chans, length, n * length)


def toeplitz_backward(grad: Tensor, taps: int) -> Tensor:
    """The gradient of the kernels from that of their Toeplitz matrices: a sum along each diagonal.

    Rows of length 2·length that are read again in rows of 2·length + 1 shear the diagonals into
    columns: far cheaper than a scatter.
    """
    chans, length, width = grad.shape
    n = width // length
    sheared = grad.new_zeros(n, chans, length, 2 * length + 1)
    place = sheared.as_strided(
        (n, chans, length, length),
        (*sheared.stride()[:2], 2 * length, 1),
        sheared.storage_offset() + length,
    )
    place.copy_(grad.view(chans, length, n, length).permute(2, 0, 1, 3))
    sums = sheared.sum(2)[..., 1:-1].flip(-1)  # offsets i - o from 1 - length to length - 1
    margin = taps // 2 - (length - 1)
    return F.pad(sums, (margin, margin))


class _TimeConvolution(torch.autograd.Function):
    """Several depthwise convolutions of one input, side by side in the last axis of the output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Tensor, bias: Tensor) -> Tensor:
        matrices = toeplitz(kernels, x.shape[-1])
        ctx.save_for_backward(x, matrices)
        ctx.taps = kernels.shape[-1]
        return torch.baddbmm(bias, x.transpose(0, 1), matrices)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, matrices = ctx.saved_tensors
        grad_x = torch.bmm(grad, matrices.transpose(1, 2)).transpose(0, 1)
        grad_kernels = toeplitz_backward(torch.bmm(x.permute(1, 2, 0), grad), ctx.taps)
        return grad_x, grad_kernels, grad.sum(1, keepdim=True)


class TimeConvs(nn.Module):
    """`n` depthwise convolutions of one input, each a large plus a small kernel, shared by all variables.

    Both kernels are linear and see the same input, so they are applied as their sum.
    """

    def __init__(self, n: int, n_channels: int, large: int, small: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(large)
        self.large = nn.Parameter(torch.empty(n, n_channels, large).uniform_(-reach, reach))
        self.small = nn.Parameter(torch.empty(n, n_channels, small).uniform_(-1, 1) / math.sqrt(small))
        self.bias = nn.Parameter(torch.empty(n, n_channels).uniform_(-reach, reach))
        self._built: tuple[tuple[int, ...], Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:  # (rows, chans, time) -> (chans, rows, n·time)
        length = x.shape[-1]
        bias = self.bias.t().repeat_interleave(length, 1).unsqueeze(1)  # (chans, 1, n·time)
        if torch.is_grad_enabled():
            out: Tensor = _TimeConvolution.apply(x, self._kernels(), bias)
            return out
        return torch.baddbmm(bias, x.transpose(0, 1), self._matrices(length))

    def _kernels(self) -> Tensor:
        margin = (self.large.shape[-1] - self.small.shape[-1]) // 2
        return self.large + F.pad(self.small, (margin, margin))

    def _matrices(self, length: int) -> Tensor:
        """The Toeplitz matrices, built once per state of the weights."""
        state = (length, *(v for p in (self.large, self.small) for v in (p.data_ptr(), p._version)))
        if self._built is None or self._built[0] != state:
            self._built = (state, toeplitz(self._kernels(), length))
        return self._built[1]

    def train(self, mode: bool = True) -> "TimeConvs":
        if mode:  # training changes the weights: do not hold on to old matrices
            self._built = None
        return super().train(mode)


# ---------------------------------------------------------------- mixing of channels


class _PointwiseConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.baddbmm(bias.unsqueeze(-1), weight.expand(len(x), -1, -1), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        grad_x = torch.bmm(weight.t().expand(len(x), -1, -1), grad)
        # (chans, rows·time) copies and one product beat a product per row and their sum
        by_chan, x_by_chan = (t.transpose(0, 1).reshape(t.shape[1], -1) for t in (grad, x))
        return grad_x, by_chan @ x_by_chan.t(), by_chan.sum(1)


class PointwiseConv(nn.Module):
    """A convolution of kernel 1: every time step's channels through one matrix."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-reach, reach))

    def forward(self, x: Tensor) -> Tensor:  # (rows, chans, time)
        out: Tensor = _PointwiseConvolution.apply(x, self.weight, self.bias)
        return out


class NormedResidual(nn.Module):
    """skip + DropPath(scale · LayerNorm(x)), the norm over (chans, time): the end of both halves of a block."""

    def __init__(self, n_channels: int, length: int, drop_path: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_channels, length))
        self.bias = nn.Parameter(torch.zeros(n_channels, length))
        self.scale = nn.Parameter(torch.tensor(1e-6))
        self.drop_path = drop_path

    def forward(self, skip: Tensor, x: Tensor, n_vars: int) -> Tensor:  # both (rows, chans, time)
        normed = F.layer_norm(x, x.shape[1:], self.scale * self.weight, self.scale * self.bias)
        if not (self.training and self.drop_path > 0):
            return skip + normed
        windows = F.dropout(x.new_ones(len(x) // n_vars), self.drop_path)  # all variables of a window at once
        return torch.addcmul(skip, normed, windows.repeat_interleave(n_vars)[:, None, None])


# ---------------------------------------------------------------- attention over variables


def attention_weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ / sqrt(width)) over the last two axes (vars, width)."""
    return torch.softmax(q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1])), dim=-1)


class _SlicedAttention(torch.autograd.Function):
    """Attention a slice of heads at a time; with many slices the backward pass computes the weights again.

    Dropout masks are drawn per slice from a seed, so that both passes see the same ones.
    """

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, dropout: float, seed: int) -> Tensor:
        heads, batch, n_vars, width = qkv.shape
        slices = _slices(batch * n_vars * n_vars, heads)
        out = qkv.new_empty(heads, batch, n_vars, width // 3)
        for part in slices:
            q, k, v = qkv[part].chunk(3, -1)
            weights = attention_weights(q, k)
            kept = weights
            if dropout > 0:
                kept = weights * _keep_mask(weights, dropout, seed + part.start)
            out[part] = kept @ v
        ctx.save_for_backward(qkv, *([weights] if len(slices) == 1 else []))
        ctx.slices, ctx.dropout, ctx.seed = slices, dropout, seed
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        qkv, *saved = ctx.saved_tensors
        grad_qkv = torch.empty_like(qkv)
        for part in ctx.slices:
            q, k, v = qkv[part].chunk(3, -1)
            grad_q, grad_k, grad_v = grad_qkv[part].chunk(3, -1)
            weights = saved[0] if saved else attention_weights(q, k)
            grad_out = grad[part].contiguous()
            grad_weights = grad_out @ v.transpose(-1, -2)
            kept = weights
            if ctx.dropout > 0:
                keep = _keep_mask(weights, ctx.dropout, ctx.seed + part.start)
                kept = weights * keep
                grad_weights *= keep
            grad_v.copy_(kept.transpose(-1, -2) @ grad_out)
            grad_weights *= weights
            grad_weights -= weights * grad_weights.sum(-1, keepdim=True)
            grad_weights *= 1 / math.sqrt(q.shape[-1])
            grad_q.copy_(grad_weights @ k)
            grad_k.copy_(grad_weights.transpose(-1, -2) @ q)
        return grad_qkv, None, None


def _slices(weights_per_head: int, heads: int) -> list[slice]:
    step = max(1, min(heads, ATTENTION_SLICE // max(1, weights_per_head)))
    return [slice(i, min(i + step, heads)) for i in range(0, heads, step)]


def _keep_mask(like: Tensor, dropout: float, seed: int) -> Tensor:
    """What to multiply attention weights with: 0 where dropped, 1 / (1 - dropout) elsewhere.

    One 64-bit draw serves four weights of 16 bits each: the share dropped is right to 1 / 65536.
    """
    generator = torch.Generator(device=like.device).manual_seed(seed)
    words = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device)
    words.random_(-(2**63), None, generator=generator)
    draws = words.view(torch.int16)[: like.numel()].view(like.shape)
    keep = draws >= round(dropout * 65536) - 32768
    return keep.to(like.dtype).div_(1 - dropout)


def variable_attention(qkv: Tensor, n_vars: int, dropout: float) -> Tensor:
    """Every head on its own: qkv (heads, batch·vars, 3·width) -> (heads, batch·vars, width)."""
    heads, rows, width = qkv.shape
    seed = int(torch.randint(2**62, ())) if dropout > 0 else 0
    out: Tensor = _SlicedAttention.apply(qkv.view(heads, rows // n_vars, n_vars, width), dropout, seed)
    return out.view(heads, rows, width // 3)
