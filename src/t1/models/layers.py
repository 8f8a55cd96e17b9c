"""Fast bricks in a channels-first layout: activations are (chans, rows, time) with rows = batch·vars.

Each brick is an exact rewriting of a textbook layer, chosen because it is faster on CPUs and on GPUs:

- a depthwise convolution over time is a batched matrix product with banded Toeplitz matrices;
- a pointwise convolution is one matrix product over (rows·time);
- layer norm over (chans, time), its learned scale, the residual sum and stochastic depth are one step;
- attention over variables runs over slices of channels, so all weights never exist at one time.

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


def toeplitz(kernel: Tensor, length: int) -> Tensor:
    """Matrices T, (chans, length, length), with x @ T = "same" cross-correlation of x with an odd kernel.

    T[i, o] = kernel[i - o + reach]. Row i is a stretch of the padded, flipped kernel that starts one
    place earlier than row i - 1: an unfold, read from its end.
    """
    reach = kernel.shape[-1] // 2
    if reach >= length:  # taps that only ever meet the padding
        kernel = kernel[..., reach - length + 1 : reach + length]
        reach = length - 1
    padded = F.pad(kernel, (length - 1 - reach, length - 1 - reach)).flip(-1)
    return padded.unfold(-1, length, 1).flip(-2)


def toeplitz_kernel_grad(grad: Tensor, size: int) -> Tensor:
    """The gradient of the kernel from that of its Toeplitz matrices: a sum along each diagonal.

    Padding a row with `length` zeros and reading the result in rows one shorter shears the diagonals
    into columns: far cheaper than a scatter.
    """
    chans, length, _ = grad.shape
    reach = size // 2
    sheared = F.pad(grad.flip(-2), (0, length)).reshape(chans, -1)[:, : length * (2 * length - 1)]
    taps = sheared.view(chans, length, 2 * length - 1).sum(1).flip(-1)  # offsets 1 - length .. length - 1
    outside = reach - (length - 1)
    return F.pad(taps, (outside, outside))


class _TimeConvolution(torch.autograd.Function):
    """Several depthwise convolutions of one input, side by side in the last axis."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, kernels)
        return torch.baddbmm(bias, x, stack_toeplitz(kernels, x.shape[-1]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, kernels = ctx.saved_tensors
        n, chans, size = kernels.shape
        length = x.shape[-1]
        grad_x = torch.bmm(grad, stack_toeplitz(kernels, length).transpose(1, 2))
        grad_matrices = torch.bmm(x.transpose(1, 2), grad)  # (chans, length, n·length)
        grad_kernels = torch.stack(
            [toeplitz_kernel_grad(part, size) for part in grad_matrices.split(length, -1)]
        )
        return grad_x, grad_kernels, grad.sum(1, keepdim=True)


def stack_toeplitz(kernels: Tensor, length: int) -> Tensor:
    """(n, chans, taps) -> the n Toeplitz matrices of each channel side by side, (chans, length, n·length)."""
    n, chans, _ = kernels.shape
    out = kernels.new_empty(chans, length, n * length)
    for i, kernel in enumerate(kernels):
        out[:, :, i * length : (i + 1) * length] = toeplitz(kernel, length)
    return out


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

    def _kernels(self) -> Tensor:
        margin = (self.large.shape[-1] - self.small.shape[-1]) // 2
        return self.large + F.pad(self.small, (margin, margin))

    def forward(self, x: Tensor) -> Tensor:  # (chans, rows, time) -> (chans, rows, n·time)
        length = x.shape[-1]
        wide_bias = self.bias.t().repeat_interleave(length, 1).unsqueeze(1)  # (chans, 1, n·time)
        if torch.is_grad_enabled():
            out: Tensor = _TimeConvolution.apply(x, self._kernels(), wide_bias)
            return out
        return torch.baddbmm(wide_bias, x, self._matrices(length))

    def _matrices(self, length: int) -> Tensor:
        """The Toeplitz matrices, built once per state of the weights."""
        parameters = (self.large, self.small)
        state = (length, *(v for p in parameters for v in (p.data_ptr(), p._version)))
        if self._built is None or self._built[0] != state:
            self._built = (state, stack_toeplitz(self._kernels(), length))
        return self._built[1]

    def train(self, mode: bool = True) -> "TimeConvs":
        self._built = None  # training changes the weights: do not hold on to old matrices
        return super().train(mode)


class PointwiseConv(nn.Module):
    """A convolution of kernel 1 over channels: one matrix product."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(n_in)
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-reach, reach))

    def forward(self, x: Tensor) -> Tensor:  # (chans, rows, time)
        out = torch.addmm(self.bias.unsqueeze(1), self.weight, x.flatten(1))
        return out.view(-1, *x.shape[1:])


class _NormedResidual(torch.autograd.Function):
    """skip + gate · scale · LayerNorm(x), the norm over (chans, time) of each row."""

    @staticmethod
    def forward(
        ctx: Any, skip: Tensor, x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, gate: Tensor, eps: float
    ) -> Tensor:
        mean, inverse_std = _row_statistics(x, eps)
        ctx.save_for_backward(x, weight, bias, scale, gate, mean, inverse_std)
        amount = gate * scale
        out = x * (inverse_std * amount)
        out -= mean * inverse_std * amount
        out *= weight.unsqueeze(1)
        out += skip
        return out.addcmul_(amount, bias.unsqueeze(1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, scale, gate, mean, inverse_std = ctx.saved_tensors
        count = x.shape[0] * x.shape[-1]
        normed = x * inverse_std
        normed -= mean * inverse_std
        inner = grad * gate
        grad_bias = inner.sum(1)
        grad_weight = (inner * normed).sum(1)
        grad_scale = (weight * grad_weight).sum() + (bias * grad_bias).sum()
        inner *= weight.unsqueeze(1)
        mean_inner = inner.sum(0).sum(-1, keepdim=True) / count
        mean_product = (inner * normed).sum(0).sum(-1, keepdim=True) / count
        normed *= -mean_product
        normed += inner
        normed -= mean_inner
        normed *= inverse_std * scale
        return grad, normed, grad_weight * scale, grad_bias * scale, grad_scale, None, None


def _row_statistics(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1/std over (chans, time), each (rows, 1); two plain reductions beat `var_mean` tenfold here."""
    count = x.shape[0] * x.shape[-1]
    mean = x.sum(0).sum(-1, keepdim=True) / count
    centred = x - mean
    variance = centred.square_().sum(0).sum(-1, keepdim=True) / count
    return mean, (variance + eps).rsqrt()


class NormedResidual(nn.Module):
    """skip + DropPath(scale · LayerNorm(x)): the end of both halves of a block."""

    def __init__(self, n_channels: int, length: int, drop_path: float, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_channels, length))
        self.bias = nn.Parameter(torch.zeros(n_channels, length))
        self.scale = nn.Parameter(torch.tensor(1e-6))
        self.drop_path = drop_path
        self.eps = eps

    def forward(self, skip: Tensor, x: Tensor, n_vars: int) -> Tensor:  # both (chans, rows, time)
        rows = x.shape[1]
        gate = x.new_ones(rows // n_vars)
        if self.training and self.drop_path > 0:  # a whole window is dropped, all its variables at once
            gate = F.dropout(gate, self.drop_path)
        gate = gate.repeat_interleave(n_vars).unsqueeze(-1)  # (rows, 1)
        out: Tensor = _NormedResidual.apply(skip, x, self.weight, self.bias, self.scale, gate, self.eps)
        return out


def _slices(weights_per_head: int, heads: int) -> list[slice]:
    step = max(1, min(heads, ATTENTION_SLICE // max(1, weights_per_head)))
    return [slice(i, min(i + step, heads)) for i in range(0, heads, step)]


def attention_weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ / sqrt(width)) over the last two axes (vars, width)."""
    return torch.softmax(q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1])), dim=-1)


class _SlicedAttention(torch.autograd.Function):
    """Attention over variables, a slice of heads at a time; the backward pass computes the weights again.

    Dropout masks are drawn per slice from a seed, so that both passes see the same ones.
    """

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, dropout: float, seed: int) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.dropout, ctx.seed = dropout, seed
        heads, batch, n_vars, width3 = qkv.shape
        width = width3 // 3
        out = qkv.new_empty(heads, batch, n_vars, width)
        for part in _slices(batch * n_vars * n_vars, heads):
            q, k, v = qkv[part].split(width, -1)
            weights = attention_weights(q, k)
            if dropout > 0:
                weights = weights.mul_(_keep_mask(weights, dropout, seed + part.start))
            torch.matmul(weights, v, out=out[part])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (qkv,) = ctx.saved_tensors
        heads, batch, n_vars, width3 = qkv.shape
        width = width3 // 3
        root = 1 / math.sqrt(width)
        grad_qkv = torch.empty_like(qkv)
        for part in _slices(batch * n_vars * n_vars, heads):
            q, k, v = qkv[part].split(width, -1)
            grad_q, grad_k, grad_v = grad_qkv[part].split(width, -1)
            weights = attention_weights(q, k)
            grad_weights = grad[part] @ v.transpose(-1, -2)
            kept = weights
            if ctx.dropout > 0:
                keep = _keep_mask(weights, ctx.dropout, ctx.seed + part.start)
                kept = weights * keep
                grad_weights *= keep
            grad_v.copy_(kept.transpose(-1, -2) @ grad[part])
            grad_logits = grad_weights.mul_(weights)
            grad_logits -= weights * grad_logits.sum(-1, keepdim=True)
            grad_logits *= root
            grad_q.copy_(grad_logits @ k)
            grad_k.copy_(grad_logits.transpose(-1, -2) @ q)
        return grad_qkv, None, None


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
    """One head per channel: qkv (chans, batch·vars, 3·time) -> (chans, batch·vars, time)."""
    chans, rows, width3 = qkv.shape
    seed = int(torch.randint(2**62, ())) if dropout > 0 else 0
    heads = qkv.view(chans, rows // n_vars, n_vars, width3)
    out: Tensor = _SlicedAttention.apply(heads, dropout, seed)
    return out.view(chans, rows, width3 // 3)
