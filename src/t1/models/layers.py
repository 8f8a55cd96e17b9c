"""Fast bricks; activations are (rows, chans, time) with rows = batch·vars, one per window and variable.

Each brick is an exact rewriting of a textbook layer into matrix products without copies in between:

- a depthwise convolution over time is a batched product with banded Toeplitz matrices, one per channel;
  it reads (rows, chans, time) and writes (chans, rows, time), the layout attention wants, for free;
- a pointwise convolution is a batched product with one shared matrix, and brings the layout back;
- convolution and attention over variables run together over slices of channels that fit the cache, so
  the weights of all heads never exist at one time (unless they are small enough to be worth keeping).

`tests/plain_t1.py` holds the textbook layers; the tests compare outputs and gradients.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

SLICE = 1 << 20  # numbers that a slice of channels works on at one time: they stay inside the cache
FEW = 16  # variables: with fewer torch's softmax does not fill a vector, and takes five times as long as its steps
KEEP = (
    1 << 24
)  # up to so many numbers a block keeps q, k, v and weights for the backward pass; above, it recomputes


# ---------------------------------------------------------------- convolutions over time


def toeplitz(kernels: Tensor, length: int) -> Tensor:
    """Kernels (n, chans, taps) -> matrices (chans, length, n·length): each channel's n side by side.

    x @ T is the "same" cross-correlation of x with an odd kernel: T[i, o] = kernel[i - o + reach].
    Row i is a stretch of the padded, flipped kernel that starts one place before that of row i - 1.
    """
    n, chans, taps = kernels.shape
    margin = length - 1 - taps // 2  # negative: the outer taps only ever meet the padding
    padded = F.pad(kernels, (margin, margin)).flip(-1)
    out = kernels.new_empty(chans, length, n, length)
    for i, kernel in enumerate(padded):
        out[:, :, i] = kernel.unfold(-1, length, 1).flip(1)  # the unfold, a view, has the last row first
    return out.view(chans, length, n * length)


def toeplitz_transposed(kernels: Tensor, length: int) -> Tensor:
    """The matrices of `toeplitz` with rows and columns exchanged, (chans, n·length, length).

    A product with these is a few percent faster than one with a transposed view of the others.
    """
    n, chans, taps = kernels.shape
    margin = length - 1 - taps // 2
    out = kernels.new_empty(chans, n, length, length)
    for i, kernel in enumerate(F.pad(kernels, (margin, margin))):
        out[:, i] = kernel.unfold(-1, length, 1).flip(1)
    return out.view(chans, n * length, length)


def toeplitz_backward(x: Tensor, grad: Tensor, taps: int) -> Tensor:
    """The gradient (n, chans, taps) of the kernels: the sums along the diagonals of xᵀ grad.

    x (rows, chans, length) and grad (chans, rows, n·length) are input and gradient of the product. Read with
    a row stride one longer, the diagonals of a matrix stand in columns: a view, no scatter and no copy. Where
    such a column leaves its matrix it meets a neighbour's cells, or the margins around all of them.
    """
    length, width = x.shape[-1], grad.shape[-1]
    chans, n, reach = len(grad), width // length, min(taps // 2, length - 1)
    front = -(-reach // 16) * 16  # keeps the product aligned
    flat = x.new_empty(front + chans * length * width + reach)
    product = flat[front : front + chans * length * width].view(chans, length, width)
    torch.bmm(x.permute(1, 2, 0), grad, out=product)
    diagonals = flat.as_strided(
        (chans, n, length, 2 * reach + 1), (length * width, length, width + 1, 1), front - reach
    )
    step = torch.arange(length, device=x.device)[:, None] + torch.arange(-reach, reach + 1, device=x.device)
    sums = torch.where((step >= 0) & (step < length), diagonals, 0).sum(2)
    margin = taps // 2 - reach
    return F.pad(sums.flip(-1).transpose(0, 1), (margin, margin))


def _wide(bias: Tensor, length: int) -> Tensor:
    """(n, chans) -> (chans, 1, n·length), to lie beside what `toeplitz` gives."""
    return bias.t().repeat_interleave(length, 1).unsqueeze(1)


class _TimeConvolution(torch.autograd.Function):
    """Several depthwise convolutions of one input, side by side in the last axis of the output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, kernels)
        return torch.baddbmm(_wide(bias, x.shape[-1]), x.transpose(0, 1), toeplitz(kernels, x.shape[-1]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, kernels = ctx.saved_tensors
        grad_x = torch.bmm(grad, toeplitz_transposed(kernels, x.shape[-1])).transpose(0, 1)
        grad_kernels = toeplitz_backward(x, grad, kernels.shape[-1])
        n = grad.shape[-1] // x.shape[-1]
        return grad_x, grad_kernels, grad.sum(1).view(-1, n, x.shape[-1]).sum(-1).t()


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
        if torch.is_grad_enabled():
            out: Tensor = _TimeConvolution.apply(x, self._kernels(), self.bias)  # type: ignore[no-untyped-call]
            return out
        length = x.shape[-1]
        return torch.baddbmm(_wide(self.bias, length), x.transpose(0, 1), self._matrices(length))

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


class _PairSums(torch.autograd.Function):
    """A weighted sum of each pair of steps, by strided views; autograd would scatter into zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        out = torch.addcmul(bias.unsqueeze(-1), x[..., 0::2], weight[:, :1])
        return out.addcmul_(x[..., 1::2], weight[:, 1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        grad_x, grad_weight = torch.empty_like(x), torch.empty_like(weight)
        for i in (0, 1):
            torch.mul(grad, weight[:, i : i + 1], out=grad_x[..., i::2])
            grad_weight[:, i] = (grad * x[..., i::2]).sum(0).sum(-1)
        return grad_x, grad_weight, grad.sum(0).sum(-1)


def pair_sums(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A depthwise convolution of kernel 2 and stride 2: x (rows, chans, time), weight (chans, 2)."""
    out: Tensor = _PairSums.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return out


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
        grad_x = torch.bmm(weight.t().contiguous().expand(len(x), -1, -1), grad)
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
        out: Tensor = _PointwiseConvolution.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return out


class NormedResidual(nn.Module):
    """skip + DropPath(scale · LayerNorm(x)), the norm over (chans, time): how both halves of a block end."""

    def __init__(self, n_channels: int, length: int, drop_path: float, scale: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_channels, length))
        self.bias = nn.Parameter(torch.zeros(n_channels, length))
        self.scale = nn.Parameter(torch.tensor(scale))
        self.drop_path = drop_path

    def forward(self, skip: Tensor, x: Tensor, n_vars: int) -> Tensor:  # both (rows, chans, time)
        normed = F.layer_norm(x, x.shape[1:], self.scale * self.weight, self.scale * self.bias)
        if not (self.training and self.drop_path > 0):
            return normed.add_(skip)
        windows = F.dropout(x.new_ones(len(x) // n_vars), self.drop_path)  # all variables of a window at once
        return torch.addcmul(skip, normed, windows.repeat_interleave(n_vars)[:, None, None])


# ---------------------------------------------------------------- attention over variables


class ChannelHeads(TimeConvs):
    """Q, K, V by convolutions over time, then attention over variables, for every channel on its own."""

    def __init__(self, n_channels: int, large: int, small: int, *, group: int, dropout: float) -> None:
        super().__init__(3, n_channels, large, small)
        self.group = group  # channels per head: 1 in the paper, more in its ablation
        self.dropout = dropout

    def forward(self, x: Tensor, n_vars: int = 1, record: list[Tensor] | None = None) -> Tensor:
        """x (rows, chans, time) -> (chans, rows, time); appends the weights to `record`."""
        dropout = self.dropout if self.training else 0.0
        seed = int(torch.randint(2**62, ())) if dropout > 0 else 0
        plan = _Slices(x, n_vars, self.group, dropout, seed)
        if torch.is_grad_enabled():
            out: Tensor = _HeadsFunction.apply(x, self._kernels(), self.bias, plan)  # type: ignore[no-untyped-call]
            return out
        out = x.new_empty(x.shape[1], x.shape[0], x.shape[2])
        slices = plan.attend(x, self._matrices(x.shape[-1]).__getitem__, self.bias, out)
        weights = [w for _, w in slices if record is not None]
        if record is not None:
            by_head = torch.cat(weights).view(-1, x.shape[0] // n_vars, n_vars, n_vars)
            record.append(by_head.transpose(0, 1))  # (batch, heads, vars, vars)
        return out


class _Slices:
    """How one block's attention is cut into slices of channels, and the steps both passes share."""

    def __init__(self, x: Tensor, n_vars: int, group: int, dropout: float, seed: int) -> None:
        rows, chans, time = x.shape
        self.n_vars, self.group, self.dropout, self.seed = n_vars, group, dropout, seed
        heads, per_head = chans // group, rows * (3 * time * group + n_vars)
        step = group * -(-heads // min(heads, -(-heads * per_head // SLICE)))  # slices of one size
        self.slices = [slice(i, min(i + step, chans)) for i in range(0, chans, step)]
        self.keep = per_head * heads <= KEEP

    def attend(
        self, x: Tensor, matrices: Callable[[slice], Tensor], bias: Tensor, out: Tensor
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Fill `out` (chans, rows, time) slice by slice; yields what the backward pass may want to keep."""
        for part in self.slices:
            qkv = self.project(x, matrices(part), bias, part)
            q, k, v = self.to_heads(qkv, 3)
            weights = attention_weights(q, k)
            kept = weights * self.keep_mask(weights, part) if self.dropout > 0 else weights
            out[part] = self.to_channels(torch.bmm(kept, v), out[part].shape)
            yield qkv, weights

    def project(self, x: Tensor, matrices: Tensor, bias: Tensor, part: slice) -> Tensor:
        """q, k, v side by side for a slice of channels: (chans, rows, 3·time)."""
        return torch.baddbmm(_wide(bias[:, part], x.shape[-1]), x.transpose(0, 1)[part], matrices)

    def to_heads(self, x: Tensor, n: int) -> tuple[Tensor, ...]:
        """(chans, rows, n·time) -> n tensors (heads·batch, vars, group·time); views for group 1."""
        if self.group == 1:
            return x.view(-1, self.n_vars, x.shape[-1]).chunk(n, -1)
        chans, rows, width = x.shape
        parts = x.view(chans // self.group, self.group, rows, n, width // n).permute(3, 0, 2, 1, 4)
        return parts.reshape(n, -1, self.n_vars, self.group * width // n).unbind(0)

    def to_channels(self, x: Tensor, shape: torch.Size) -> Tensor:
        """(heads·batch, vars, group·time) -> `shape` = (chans, rows, time)."""
        if self.group == 1:
            return x.view(shape)
        chans, rows, time = shape
        return x.view(chans // self.group, rows, self.group, time).transpose(1, 2).reshape(shape)

    def keep_mask(self, like: Tensor, part: slice) -> Tensor:
        """What dropout multiplies weights with; drawn from a seed, so that both passes see the same.

        One 64-bit draw serves four weights of 16 bits each: the share dropped is right to 1 / 65536.
        """
        generator = torch.Generator(device=like.device).manual_seed(self.seed + part.start)
        words = torch.empty(-(-like.numel() // 4), dtype=torch.int64, device=like.device)
        words.random_(-(2**63), None, generator=generator)
        draws = words.view(torch.int16)[: like.numel()].view(like.shape)
        keep = draws >= round(self.dropout * 65536) - 32768
        return keep.to(like.dtype).div_(1 - self.dropout)


def attention_weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ / sqrt(width)), q and k (heads·batch, vars, width)."""
    scale = 1 / math.sqrt(q.shape[-1])
    likeness = torch.baddbmm(q.new_zeros(()), q, k.transpose(1, 2), beta=0, alpha=scale)
    if likeness.shape[-1] >= FEW:
        return torch.softmax(likeness, dim=-1)
    likeness -= likeness.amax(-1, keepdim=True)
    likeness.exp_()
    return likeness.div_(likeness.sum(-1, keepdim=True))


class _HeadsFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Tensor, bias: Tensor, plan: _Slices) -> Tensor:
        out = x.new_empty(x.shape[1], x.shape[0], x.shape[2])
        slices = plan.attend(x, lambda part: toeplitz(kernels[:, part], x.shape[-1]), bias, out)
        kept = [t for pair in slices for t in pair if plan.keep]
        ctx.save_for_backward(x, kernels, bias, *kept)
        ctx.plan = plan
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, kernels, bias, *kept = ctx.saved_tensors
        plan: _Slices = ctx.plan
        rows, chans, time = x.shape
        grad_x = x.new_empty(chans, rows, time)
        grad_kernels, grad_bias = torch.empty_like(kernels), torch.empty_like(bias)
        for i, part in enumerate(plan.slices):
            if kept:
                qkv, weights = kept[2 * i : 2 * i + 2]
                q, k, v = plan.to_heads(qkv, 3)
            else:
                matrices = toeplitz(kernels[:, part], time)
                q, k, v = plan.to_heads(plan.project(x, matrices, bias, part), 3)
                weights = attention_weights(q, k)
            (grad_out,) = plan.to_heads(grad[part].contiguous(), 1)
            grad_weights = torch.bmm(grad_out, v.transpose(1, 2))
            used = weights
            if plan.dropout > 0:
                mask = plan.keep_mask(weights, part)
                used = weights * mask
                grad_weights *= mask
            grad_v = torch.bmm(used.transpose(1, 2), grad_out)
            grad_weights *= weights
            grad_weights -= weights * grad_weights.sum(-1, keepdim=True)
            grad_weights *= 1 / math.sqrt(q.shape[-1])
            grad_q, grad_k = torch.bmm(grad_weights, k), torch.bmm(grad_weights.transpose(1, 2), q)
            shape = grad[part].shape
            grad_qkv = torch.cat([plan.to_channels(g, shape) for g in (grad_q, grad_k, grad_v)], -1)
            grad_bias[:, part] = grad_qkv.sum(1).view(-1, 3, time).sum(-1).t()
            # cheaper to build matrices again, in the cache, than to read those of the forward pass
            torch.bmm(grad_qkv, toeplitz_transposed(kernels[:, part], time), out=grad_x[part])
            grad_kernels[:, part] = toeplitz_backward(x[:, part], grad_qkv, kernels.shape[-1])
        return grad_x.transpose(0, 1), grad_kernels, grad_bias, None
