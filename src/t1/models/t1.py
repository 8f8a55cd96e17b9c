"""T1, the paper from top to bottom: one convolution channel, one attention head.

Axes: batch, time, vars, chans; rows = batch·vars, one row per window and variable.
Inside the network activations are (rows, chans, time), in attention (chans, rows, time): see `layers.py`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Model
from t1.models.layers import ChannelHeads, NormedResidual, PointwiseConv, TimeConvs


@dataclass(frozen=True, kw_only=True)
class T1Config:
    """Everything the paper fixes or varies; the defaults are the paper's."""

    n_vars: int
    window: int = 96
    n_channels: int = 128
    channels_per_head: int = 1  # 1 binds each channel to a head of its own; 8, 16, 32 in the ablation
    depths: tuple[int, ...] = (2, 2)  # blocks per stage; each further stage halves the length
    large_kernels: tuple[int, ...] = (71, 31)  # one per stage, for a window of `kernel_window`
    small_kernel: int = 5
    kernel_window: int = 96  # large kernels scale by window / kernel_window
    ffn_ratio: float = 1.0
    embed_mask: bool = True  # mask-aware embedding, section 3.1
    cross: Literal["attention", "convolution", "none"] = "attention"  # how variables meet
    upsample: Literal["shuffle", "linear"] = "shuffle"
    projection: Literal["shared", "per_step"] = "shared"  # the last projection: one, or one per time step
    attention_dropout: float = 0.1
    drop_path: float = 0.1
    residual_scale: float = 1e-6  # where the learned scale of every residual branch starts
    anchor: Literal["none", "linear", "neighbours"] = "none"  # what the network starts from: see `Anchor`

    def __post_init__(self) -> None:
        for name in ("depths", "large_kernels"):  # a config read from JSON brings lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._at_least("n_vars", 1)
        self._at_least("window", 8)
        self._at_least("n_channels", 1)
        self._at_least("channels_per_head", 1)
        self._at_least("kernel_window", 1)
        if not self.depths or min(self.depths) < 1:
            raise InputError(f"depths needs at least one block per stage, got {self.depths}")
        if len(self.large_kernels) != len(self.depths):
            raise InputError(
                f"large_kernels needs one kernel per stage ({len(self.depths)}), got {self.large_kernels}"
            )
        if self.small_kernel < 1 or self.small_kernel % 2 == 0:
            raise InputError(f"small_kernel must be odd and positive, got {self.small_kernel}")
        if self.n_channels % self.channels_per_head:
            raise InputError(
                f"n_channels ({self.n_channels}) must be a multiple of channels_per_head "
                f"({self.channels_per_head})"
            )
        if self.n_ffn < 1:
            raise InputError(f"ffn_ratio {self.ffn_ratio} leaves no channel in the feed-forward part")
        for name in ("attention_dropout", "drop_path"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        for name, allowed in (
            ("cross", ("attention", "convolution", "none")),
            ("upsample", ("shuffle", "linear")),
            ("projection", ("shared", "per_step")),
            ("anchor", ("none", "linear", "neighbours")),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")

    @property
    def n_ffn(self) -> int:
        return round(self.n_channels * self.ffn_ratio)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length each stage works at: the window, then half of it (rounded up), and so on."""
        lengths = [self.window]
        for _ in self.depths[1:]:
            lengths.append(-(-lengths[-1] // 2))
        return tuple(lengths)

    @property
    def kernels(self) -> tuple[int, ...]:
        """The large kernel of each stage: floor(k · window / kernel_window), odd, at least the small one."""
        scaled = (self.window * k // self.kernel_window for k in self.large_kernels)
        return tuple(max(k if k % 2 else k - 1, self.small_kernel) for k in scaled)


class MaskAwareEmbedding(nn.Module):
    """Values and mask to channels by a convolution of kernel 2, plus a learned encoding per variable."""

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        n_in = 2 if config.embed_mask else 1
        reach = 1 / math.sqrt(2 * n_in)
        self.weight = nn.Parameter(torch.empty(config.n_channels, n_in, 2).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(config.n_channels).uniform_(-reach, reach))
        self.encoding = nn.Parameter(torch.randn(config.n_vars, config.n_channels, config.window) * 0.02)

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:  # (batch, vars, time), normalised
        inputs = [values]
        if self.weight.shape[1] == 2:
            inputs.append(observed.to(values.dtype) / values.shape[-1])
        # a kernel of 2 sees each step and the one before; before the first stands the last
        taps = torch.stack(
            [tap for x in inputs for tap in (x.roll(1, -1), x)], 2
        )  # (batch, vars, taps, time)
        out = torch.matmul(self.weight.flatten(1), taps)  # (batch, vars, chans, time)
        out = out + (self.encoding + self.bias[:, None])
        return out.flatten(0, 1)


class Block(nn.Module):
    """Temporal Q, K, V per channel, attention over variables per channel, then mixing over channels."""

    def __init__(self, config: T1Config, *, kernel: int, length: int) -> None:
        super().__init__()
        c = config.n_channels
        self.n_vars = config.n_vars
        self.time: TimeConvs
        if config.cross == "attention":
            self.time = ChannelHeads(
                c,
                kernel,
                config.small_kernel,
                group=config.channels_per_head,
                dropout=config.attention_dropout,
            )
        else:
            self.time = TimeConvs(1, c, kernel, config.small_kernel)
        self.over_vars = (
            PointwiseConv(config.n_vars, config.n_vars) if config.cross == "convolution" else None
        )
        self.attn_out = PointwiseConv(c, c)
        self.attn_norm = NormedResidual(c, length, config.drop_path, config.residual_scale)
        self.ffn_in = PointwiseConv(c, config.n_ffn)
        self.ffn_out = PointwiseConv(config.n_ffn, c)
        self.ffn_norm = NormedResidual(c, length, config.drop_path, config.residual_scale)

    def forward(self, z: Tensor, record: list[Tensor] | None = None) -> Tensor:  # (rows, chans, time)
        mixed = self._across_variables(z, record)
        z = self.attn_norm(z, self.attn_out(mixed.transpose(0, 1)), self.n_vars)
        hidden = self.ffn_out(F.gelu(self.ffn_in(z)))
        out: Tensor = self.ffn_norm(z, hidden, self.n_vars)
        return out

    def _across_variables(self, z: Tensor, record: list[Tensor] | None) -> Tensor:  # -> (chans, rows, time)
        if isinstance(self.time, ChannelHeads):
            out: Tensor = self.time(z, self.n_vars, record)
            return out
        v: Tensor = self.time(z)
        if self.over_vars is None:
            return v
        # variables are the channels of a pointwise convolution, the same for every channel and step
        mixed: Tensor = self.over_vars(v.reshape(-1, self.n_vars, v.shape[-1]))
        return mixed.view(v.shape)


class Downsample(nn.Module):
    """A depthwise convolution of kernel 2 and stride 2; an odd length gets its last column in front first."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(2)
        self.weight = nn.Parameter(torch.empty(n_channels, 2).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(n_channels).uniform_(-reach, reach))

    def forward(self, x: Tensor) -> Tensor:  # (rows, chans, time) -> (rows, chans, ceil(time / 2))
        if x.shape[-1] % 2:
            x = torch.cat([x[..., -1:], x], -1)
        pairs = x.reshape(*x.shape[:2], -1, 2)  # (rows, chans, time / 2, 2)
        return (pairs * self.weight[:, None]).sum(-1) + self.bias[:, None]


class Reconstruction(nn.Module):
    """Channels to time steps: a pointwise convolution, PixelShuffle1D (or linear upsampling), a projection.

    All three are linear, so convolution and projection are multiplied first (a few thousand numbers),
    and the activations meet only their product.
    """

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        self.window = config.window
        self.upsample = config.upsample
        self.ratio = 2 ** (len(config.depths) - 1) if config.upsample == "shuffle" else 1
        n_mixed = -(-config.n_channels // self.ratio) * self.ratio
        n_out = n_mixed // self.ratio
        self.mix = PointwiseConv(config.n_channels, n_mixed)
        reach = 1 / math.sqrt(n_out)
        steps = (config.window,) if config.projection == "per_step" else ()
        self.weight = nn.Parameter(torch.empty(*steps, n_out).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(steps or 1).uniform_(-reach, reach))

    def forward(self, x: Tensor) -> Tensor:  # (rows, chans, length) -> (rows, window)
        if self.upsample == "linear":
            x = F.interpolate(x, size=self.window, mode="linear", align_corners=False)
        length = x.shape[-1]
        # PixelShuffle1D: of `ratio` consecutive channels, number r becomes step l·ratio + r
        mix = self.mix.weight.view(-1, self.ratio, x.shape[1])  # (out, ratio, chans)
        mix_bias = self.mix.bias.view(-1, self.ratio)  # (out, ratio)
        if self.weight.ndim == 1:
            steps = torch.einsum("o,orc->rc", self.weight, mix) @ x + (self.weight @ mix_bias)[:, None]
            return self._crop(steps.transpose(1, 2).flatten(1)) + self.bias
        start, past = self._margins(length * self.ratio)
        weight = F.pad(self.weight, (0, 0, start, past)).view(length, self.ratio, -1)  # (length, ratio, out)
        per_step = torch.einsum("lro,orc->lrc", weight, mix)
        steps = torch.einsum("ncl,lrc->nlr", x, per_step) + torch.einsum("lro,or->lr", weight, mix_bias)
        return self._crop(steps.flatten(1)) + self.bias

    def _margins(self, length: int) -> tuple[int, int]:
        """How many steps to leave out at either end: the centre is kept."""
        start = (length - self.window) // 2
        return start, length - self.window - start

    def _crop(self, x: Tensor) -> Tensor:
        start, _ = self._margins(x.shape[-1])
        return x[..., start : start + self.window]


class Anchor(nn.Module):
    """A simple fill to start from, not in the paper: the network then learns only what this one lacks.

    "linear": linear interpolation, constant beyond the ends. "neighbours": plus a learned share of what every
    other variable did meanwhile, which is its distance from its own straight line over the same gap.
    """

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        self.share = (
            nn.Parameter(torch.zeros(config.n_vars, config.n_vars)) if config.anchor == "neighbours" else None
        )

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:  # (batch, vars, time)
        time = values.shape[-1]
        steps = torch.arange(time, device=values.device).expand(values.shape)
        before = torch.where(observed, steps, -1).cummax(-1).values
        after = torch.where(observed, steps, time).flip(-1).cummin(-1).values.flip(-1)
        left = torch.where(before < 0, after, before).clamp(max=time - 1)
        right = torch.where(after == time, before, after).clamp(min=0)
        slope = (steps - left) / (right - left).clamp(min=1)
        lines = _line(values, left, right, slope)
        if self.share is None:
            return lines
        shape = (
            len(values),
            values.shape[1],
            *values.shape[1:],
        )  # (batch, vars with the gap, other vars, time)
        others = lines.unsqueeze(1).expand(shape)
        over_gap = _line(others, *(x.unsqueeze(2).expand(shape) for x in (left, right, slope)))
        # few numbers that everything else waits for: the factor is a higher learning rate for them
        return lines + torch.einsum("bijt,ij->bit", others - over_gap, 3 * self.share)


def _line(values: Tensor, left: Tensor, right: Tensor, slope: Tensor) -> Tensor:
    """At every step the straight line between the values at `left` and at `right`."""
    first, last = values.gather(-1, left), values.gather(-1, right)
    return first + (last - first) * slope


class T1(Model):
    """The network of the paper; `forward` takes and gives (batch, time, vars)."""

    name: ClassVar[str] = "t1"
    Config: ClassVar[type[T1Config]] = T1Config

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        self.config = config
        self.embed = MaskAwareEmbedding(config)
        self.stages = nn.ModuleList(
            nn.ModuleList(Block(config, kernel=kernel, length=length) for _ in range(depth))
            for depth, kernel, length in zip(config.depths, config.kernels, config.lengths, strict=True)
        )
        self.downsamples = nn.ModuleList(Downsample(config.n_channels) for _ in config.depths[1:])
        self.head = Reconstruction(config)
        self.anchor = None if config.anchor == "none" else Anchor(config)
        if self.anchor is not None:  # start as the anchor alone
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(self, values: Tensor, observed: Tensor, record: list[Tensor] | None = None) -> Tensor:
        batch, time, n_vars = values.shape
        if (time, n_vars) != (self.config.window, self.config.n_vars):
            raise InputError(
                f"expected windows of {self.config.window} steps x {self.config.n_vars} variables, "
                f"got {time} x {n_vars}"
            )
        observed = observed.transpose(1, 2)  # (batch, vars, time)
        normed, mean, std = instance_normalise(values.transpose(1, 2), observed)
        if self.anchor is not None:
            normed = self.anchor(normed, observed)
        z = self.embed(normed, observed)
        for i, stage in enumerate(self.stages):
            if i:
                z = self.downsamples[i - 1](z)
            for block in stage:  # type: ignore[attr-defined]
                z = block(z, record)
        filled = self.head(z).view(batch, n_vars, time)
        if self.anchor is not None:
            filled = filled + normed
        out: Tensor = (filled * std + mean).transpose(1, 2)
        return out

    @torch.no_grad()
    def attention(self, values: Tensor, observed: Tensor) -> list[Tensor]:
        """The attention weights of every block, each (batch, heads, vars, vars); rows sum to 1."""
        record: list[Tensor] = []
        self(values, observed, record)
        return record


@torch.no_grad()
def instance_normalise(values: Tensor, observed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise each window's variables by their observed entries; missing entries become 0.

    values, observed: (batch, vars, time). Mean and std are constants to the gradient.
    """
    seen = torch.where(observed, values, 0)
    count = observed.sum(-1, keepdim=True)
    mean = seen.sum(-1, keepdim=True) / count.clamp(min=1)
    centred = torch.where(observed, values - mean, 0)
    variance = centred.square().sum(-1, keepdim=True) / (count - 1).clamp(min=1)
    std = torch.where(count > 1, (variance + 1e-5).sqrt(), 1)
    return centred / std, mean, std


def multiply_adds(config: T1Config) -> dict[str, int]:
    """Multiply-adds of one window, by part.

    The paper's table leaves the attention products out and counts four per normalised element
    (as common profilers do): "convolutions" + "norms" is the figure to compare with it.
    """
    m, c = config.n_vars, config.n_channels
    n_time = 3 if config.cross == "attention" else 1
    inputs = 2 if config.embed_mask else 1
    convolutions = 2 * inputs * c * config.window * m
    attention = norms = 0
    for depth, kernel, length in zip(config.depths, config.kernels, config.lengths, strict=True):
        taps = n_time * (kernel + config.small_kernel) * c
        pointwise = c * c + 2 * c * config.n_ffn
        convolutions += depth * (taps + pointwise) * length * m
        attention += depth * 2 * m * m * c * length if config.cross == "attention" else 0
        convolutions += depth * m * m * c * length if config.cross == "convolution" else 0
        norms += depth * 2 * 4 * c * length * m
    convolutions += sum(2 * c * length * m for length in config.lengths[1:])
    head = Reconstruction(config)
    convolutions += head.mix.weight.numel() * config.lengths[-1] * m
    convolutions += head.weight.shape[-1] * config.window * m
    return {"convolutions": convolutions, "attention": attention, "norms": norms}
