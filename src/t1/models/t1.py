"""T1, the paper from top to bottom: one convolution channel, one attention head.

Axes: batch, time, vars, chans; rows = batch·vars, one row per window and variable.
Inside the network activations are (rows, chans, time), in attention (chans, rows, time): see `layers.py`.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.errors import InputError
from t1.models.base import Batch, Context, Model
from t1.models.inputs import INPUTS, SeriesView, straight_lines
from t1.models.layers import ChannelHeads, NormedResidual, PointwiseConv, TimeConvs, pair_sums

FAR = 20.0  # deviations of the observed cells of a window, beyond which a hidden cell is not learned from


@dataclass(frozen=True, kw_only=True)
class T1Config:
    """Everything the paper fixes or varies; the defaults are the paper's."""

    n_vars: int  # 0: any number, where nothing is learned per variable
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
    # Not in the paper: what lets one set of weights fill tables of any width (docs/pretrained.md).
    encoding: Literal["variable", "shared", "both"] = "variable"  # learned per variable, or one for all
    lines: bool = False  # gaps are shown as straight lines, and the network learns the difference from them
    bounded: bool = False  # the difference is bounded by the roughness of the series: see `SeriesView.reach`
    inputs: tuple[str, ...] = ()  # more inputs per variable, names of INPUTS
    quantiles: tuple[float, ...] = ()  # several outputs per cell instead of one; the middle one is the fill

    def __post_init__(self) -> None:
        for name in (
            "depths",
            "large_kernels",
            "inputs",
            "quantiles",
        ):  # a config read from JSON brings lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
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
            ("encoding", ("variable", "shared", "both")),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        self._at_least("n_vars", 0 if self.any_width else 1)
        unknown = [name for name in self.inputs if name not in INPUTS]
        if unknown or len(set(self.inputs)) < len(self.inputs):
            raise InputError(
                f"inputs are {', '.join(self.inputs)}", cure=f"Choose among {', '.join(INPUTS)}, each once."
            )
        if list(self.quantiles) != sorted(set(self.quantiles)) or not all(0 < q < 1 for q in self.quantiles):
            raise InputError(f"quantiles must rise and lie between 0 and 1, got {self.quantiles}")
        if self.quantiles and (len(self.quantiles) % 2 == 0 or self.projection != "shared"):
            raise InputError("quantiles need an odd number of levels and the shared projection")
        if (self.bounded or self.inputs) and not self.lines:
            raise InputError("bounded and inputs need lines=True")

    @property
    def any_width(self) -> bool:
        """Nothing is learned per variable, so one set of weights serves any number of them."""
        return self.encoding == "shared" and self.cross != "convolution"

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")

    @property
    def n_inputs(self) -> int:
        """Inputs per variable: the values, the mask, and what else the config names."""
        return 1 + self.embed_mask + sum(INPUTS[name].n for name in self.inputs)

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
    """Values, mask and further inputs to channels by a convolution of kernel 2, plus a learned encoding."""

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        n_in = config.n_inputs
        reach = 1 / math.sqrt(2 * n_in)
        self.weight = nn.Parameter(torch.empty(config.n_channels, n_in, 2).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(config.n_channels).uniform_(-reach, reach))
        shape = (config.n_channels, config.window)
        self.encoding = self.shared = None
        if config.encoding != "shared":
            scale = 0.02 if config.encoding == "variable" else 0.0
            self.encoding = nn.Parameter(torch.randn(config.n_vars, *shape) * scale)
        if config.encoding != "variable":
            self.shared = nn.Parameter(torch.randn(shape) * 0.02)

    def forward(self, inputs: list[Tensor]) -> Tensor:  # each (batch, vars, time)
        # Circular padding: the kernel of 2 sees the last step before the first.
        taps = torch.stack(
            [tap for x in inputs for tap in (x.roll(1, -1), x)], 2
        )  # (batch, vars, taps, time)
        out = torch.matmul(self.weight.flatten(1), taps)  # (batch, vars, chans, time)
        learned = self.bias[:, None]
        for encoding in (self.encoding, self.shared):
            if encoding is not None:
                learned = learned + encoding
        return (out + learned).flatten(0, 1)


class Block(nn.Module):
    """Temporal Q, K, V per channel, attention over variables per channel, then mixing over channels."""

    def __init__(self, config: T1Config, *, kernel: int, length: int) -> None:
        super().__init__()
        c = config.n_channels
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

    def forward(self, z: Tensor, n_vars: int, record: list[Tensor] | None = None) -> Tensor:
        mixed = self._across_variables(z, n_vars, record)  # z is (rows, chans, time)
        z = self.attn_norm(z, self.attn_out(mixed.transpose(0, 1)), n_vars)
        hidden = self.ffn_out(F.gelu(self.ffn_in(z)))
        out: Tensor = self.ffn_norm(z, hidden, n_vars)
        return out

    def _across_variables(self, z: Tensor, n_vars: int, record: list[Tensor] | None) -> Tensor:
        if isinstance(self.time, ChannelHeads):
            out: Tensor = self.time(z, n_vars, record)
            return out  # (chans, rows, time)
        v: Tensor = self.time(z)
        if self.over_vars is None:
            return v
        # variables are the channels of a pointwise convolution, the same for every channel and step
        mixed: Tensor = self.over_vars(v.reshape(-1, n_vars, v.shape[-1]))
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
        return pair_sums(x, self.weight, self.bias)


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
        levels = (len(config.quantiles),) if config.quantiles else ()
        self.weight = nn.Parameter(torch.empty(*steps, *levels, n_out).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(steps or levels or 1).uniform_(-reach, reach))
        self.n_levels = len(config.quantiles)

    def forward(
        self, x: Tensor
    ) -> Tensor:  # (rows, chans, length) -> (rows, window) or (rows, levels, window)
        if self.upsample == "linear":
            x = F.interpolate(x, size=self.window, mode="linear", align_corners=False)
        length = x.shape[-1]
        # PixelShuffle1D: of `ratio` consecutive channels, number r becomes step l·ratio + r
        mix = self.mix.weight.view(-1, self.ratio, x.shape[1])  # (out, ratio, chans)
        mix_bias = self.mix.bias.view(-1, self.ratio)  # (out, ratio)
        if self.n_levels:
            steps = torch.einsum("qo,orc->qrc", self.weight, mix).flatten(0, 1) @ x
            steps = steps + (self.weight @ mix_bias).flatten()[:, None]  # (rows, levels·ratio, length)
            steps = steps.view(len(x), self.n_levels, self.ratio, length).transpose(2, 3).flatten(2)
            return self._crop(steps) + self.bias[:, None]
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


class T1(Model):
    """The network of the paper; `forward` takes and gives (batch, time, vars)."""

    name: ClassVar[str] = "t1"
    Config: ClassVar[type[T1Config]] = T1Config
    config: T1Config

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
        if config.lines:  # at the start the network is linear interpolation
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(
        self,
        values: Tensor,
        observed: Tensor,
        context: Context | None = None,
        record: list[Tensor] | None = None,
    ) -> Tensor:
        """The reconstruction (batch, time, vars); the middle one of the quantiles, if there are several."""
        levels = self.levels(values, observed, context, record)
        middle: Tensor = levels[len(levels) // 2]
        return middle

    def levels(
        self,
        values: Tensor,
        observed: Tensor,
        context: Context | None = None,
        record: list[Tensor] | None = None,
    ) -> Tensor:
        """All quantiles (levels, batch, time, vars), in the order of the config; one level without them.

        A network that starts from lines takes shorter windows too: they are missing rows at the end.
        """
        config = self.config
        batch, time, n_vars = values.shape
        if config.lines and time < config.window and context is None:
            missing = (0, 0, 0, config.window - time)
            longer = F.pad(values, missing), F.pad(observed, missing, value=False)
            return self.levels(*longer, record=record)[:, :, :time]
        if time != config.window or (not config.any_width and n_vars != config.n_vars):
            width = "any number of" if config.any_width else config.n_vars
            raise InputError(
                f"expected windows of {config.window} steps x {width} variables, got {time} x {n_vars}"
            )
        observed = observed.transpose(1, 2)  # (batch, vars, time)
        normed, mean, std = instance_normalise(values.transpose(1, 2), observed, shrink=config.lines)
        view = SeriesView.of(normed, observed, mean, std, context) if config.lines else None
        inputs = [normed if view is None else view.lines]
        if config.embed_mask:
            inputs.append(observed.to(values.dtype) / (time if view is None else 1))
        if view is not None:
            inputs += [x for name in INPUTS if name in config.inputs for x in INPUTS[name].of(view)]
        z = self.embed(inputs)
        for i, stage in enumerate(self.stages):
            if i:
                z = self.downsamples[i - 1](z)
            for block in stage:  # type: ignore[attr-defined]
                z = block(z, n_vars, record)
        out = self.head(z).view(batch, n_vars, -1, time)  # (batch, vars, levels, time)
        if view is not None:
            out = (out * view.reach.unsqueeze(2) if config.bounded else out) + view.lines.unsqueeze(2)
        filled: Tensor = out * std.unsqueeze(2) + mean.unsqueeze(2)
        return filled.permute(2, 0, 3, 1)

    @torch.no_grad()
    def attention(self, values: Tensor, observed: Tensor) -> list[Tensor]:
        """The attention weights of every block, each (batch, heads, vars, vars); rows sum to 1."""
        record: list[Tensor] = []
        self(values, observed, record=record)
        return record

    def loss(self, batch: Batch) -> Tensor:
        """The paper's mean squared error over the target cells; with quantiles their pinball loss."""
        if self.config.quantiles:
            return self._pinball(batch).sum() / batch.target.sum().clamp(min=1)
        error: Tensor = (self(batch.values, batch.observed, batch.context) - batch.values)[batch.target]
        return error.square().mean() if error.numel() else error.sum()

    def validation_errors(self, batch: Batch) -> Tensor:
        """Errors of the fill at the target; with quantiles the roots of their pinball losses."""
        if self.config.quantiles:
            return self._pinball(batch)[batch.target].sqrt()
        shown = torch.where(batch.observed, batch.values, 0)
        errors: Tensor = (self(shown, batch.observed, batch.context) - batch.values)[batch.target]
        return errors

    def _pinball(self, batch: Batch) -> Tensor:
        """The loss of each target cell (batch, time, vars), 0 elsewhere.

        Twice the mean pinball loss of all quantiles and half the absolute error of the middle one. In batches of
        many tables a row counts by the inverse of linear interpolation's error there, so that smooth series,
        where all errors are small, are learned too; in those of one table by its deviation, so that errors count
        in the units of the table. Cells more than `FAR` deviations away cannot be foretold and are left out.
        """
        shown = torch.where(batch.observed, batch.values, 0)
        levels = self.levels(shown, batch.observed, batch.context)
        with torch.no_grad():
            observed = batch.observed.transpose(1, 2)
            normed, mean, std = instance_normalise(shown.transpose(1, 2), observed, shrink=self.config.lines)
            mean, std = mean.transpose(1, 2), std.transpose(1, 2)
            truth = (batch.values - mean) / std
            target = batch.target & (truth.abs() < FAR)
            if batch.one_table:
                weight = torch.where(target, std, 0)
            else:
                lines = straight_lines(normed, observed)[0].transpose(1, 2)
                linear_error = torch.where(target, (lines - truth).abs(), 0).sum(1, keepdim=True)
                linear_error /= target.sum(1, keepdim=True).clamp(min=1)
                weight = torch.where(target, 1 / (linear_error + 0.1), 0)
        error = (batch.values - levels) / std
        q = torch.tensor(self.config.quantiles, device=error.device).view(-1, 1, 1, 1)
        pinball = torch.maximum(q * error, (q - 1) * error).mean(0)
        return (2 * pinball + 0.5 * error[len(levels) // 2].abs()) * weight

    def for_variables(self, n_vars: int, *, middle_only: bool = False) -> "T1":
        """A copy to fine-tune on `n_vars` variables, with an encoding of each that is 0 at the start.

        Until it is trained it fills as this network does. `middle_only` keeps the middle quantile alone; its
        loss is then the mean squared error.
        """
        if self.config.encoding != "shared":
            raise InputError(
                f"this network has the encoding {self.config.encoding!r}, so its variables are fixed",
                cure='Start from a network with encoding="shared", as the pretrained one is.',
            )
        middle_only = middle_only and bool(self.config.quantiles)
        quantiles = () if middle_only else self.config.quantiles
        wide = T1(replace(self.config, n_vars=n_vars, encoding="both", quantiles=quantiles))
        weights = self.state_dict()
        if middle_only:
            middle = len(self.config.quantiles) // 2
            weights["head.weight"] = weights["head.weight"][middle]
            weights["head.bias"] = weights["head.bias"][middle : middle + 1]
        weights["embed.encoding"] = torch.zeros(n_vars, self.config.n_channels, self.config.window)
        wide.load_state_dict(weights)
        return wide.to(self.head.weight.device).train(self.training)


@torch.no_grad()
def instance_normalise(
    values: Tensor, observed: Tensor, shrink: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise each window's variables by their observed entries; missing entries become 0.

    values, observed: (batch, vars, time). Mean and std are constants to the gradient. With `shrink`, the
    deviation of a handful of entries is drawn towards 1, that of the whole series.
    """
    seen = torch.where(observed, values, 0)
    count = observed.sum(-1, keepdim=True)
    mean = seen.sum(-1, keepdim=True) / count.clamp(min=1)
    centred = torch.where(observed, values - mean, 0)
    squares = centred.square().sum(-1, keepdim=True)
    if shrink:
        weight = 2 * torch.exp(-count.to(values.dtype) / 4)
        std = ((squares + weight) / ((count - 1).clamp(min=0) + weight) + 1e-5).sqrt()
    else:
        std = torch.where(count > 1, (squares / (count - 1).clamp(min=1) + 1e-5).sqrt(), 1)
    return centred / std, mean, std


def multiply_adds(config: T1Config) -> dict[str, int]:
    """Multiply-adds of one window, by part.

    The paper's table leaves the attention products out and counts four per normalised element
    (as common profilers do): "convolutions" + "norms" is the figure to compare with it.
    """
    m, c = config.n_vars, config.n_channels
    n_time = 3 if config.cross == "attention" else 1
    convolutions = 2 * config.n_inputs * c * config.window * m
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
