"""T1 transcribed from the equations with textbook layers: oracle of the tests, rival of the benchmarks.

Slow on purpose: depthwise nn.Conv1d, permutes around attention, nothing merged. Same config, and
`PlainT1.from_fast` copies the weights of a fast network.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from t1.models.t1 import T1, T1Config


class PlainTwoScale(nn.Module):
    def __init__(self, chans: int, large: int, small: int) -> None:
        super().__init__()
        self.large = nn.Conv1d(chans, chans, large, padding=large // 2, groups=chans)
        self.small = nn.Conv1d(chans, chans, small, padding=small // 2, groups=chans, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.large(x) + self.small(x)


class PlainDropPath(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:  # (batch, ...)
        if not self.training or self.rate == 0:
            return x
        keep = torch.rand(x.shape[0], *[1] * (x.ndim - 1)) >= self.rate
        return x * keep / (1 - self.rate)


class PlainBlock(nn.Module):
    def __init__(self, cfg: T1Config, kernel: int, length: int) -> None:
        super().__init__()
        self.cfg, c = cfg, cfg.n_channels
        names = "qkv" if cfg.cross == "attention" else "v"
        self.convs = nn.ModuleDict({n: PlainTwoScale(c, kernel, cfg.small_kernel) for n in names})
        if cfg.cross == "convolution":
            self.over_vars = nn.Conv1d(cfg.n_vars, cfg.n_vars, 1)
        self.attn_out = nn.Conv1d(c, c, 1)
        self.ffn_in = nn.Conv1d(c, cfg.n_ffn, 1)
        self.ffn_out = nn.Conv1d(cfg.n_ffn, c, 1)
        self.attn_norm = nn.LayerNorm((c, length))
        self.ffn_norm = nn.LayerNorm((c, length))
        self.attn_scale = nn.Parameter(torch.tensor(1e-6))
        self.ffn_scale = nn.Parameter(torch.tensor(1e-6))
        self.dropout = nn.Dropout(cfg.attention_dropout)
        self.drop_path = PlainDropPath(cfg.drop_path)

    def forward(self, z: Tensor) -> Tensor:  # (batch, vars, chans, length)
        b, m, c, n = z.shape
        flat = z.reshape(b * m, c, n)
        v = self.convs["v"](flat).view(b, m, c, n)
        if self.cfg.cross == "attention":
            heads, width = c // self.cfg.channels_per_head, self.cfg.channels_per_head * n
            q, k, v = (
                x.view(b, m, heads, width).permute(0, 2, 1, 3)
                for x in (self.convs["q"](flat), self.convs["k"](flat), v)
            )
            weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(width), -1)
            v = (self.dropout(weights) @ v).permute(0, 2, 1, 3).reshape(b, m, c, n)
        elif self.cfg.cross == "convolution":
            v = self.over_vars(v.reshape(b, m, c * n)).view(b, m, c, n)
        o = self.attn_out(v.reshape(b * m, c, n))
        z = z + self.drop_path(self.attn_scale * self.attn_norm(o).view(b, m, c, n))
        h = self.ffn_out(F.gelu(self.ffn_in(z.reshape(b * m, c, n))))
        return z + self.drop_path(self.ffn_scale * self.ffn_norm(h).view(b, m, c, n))


class PlainT1(nn.Module):
    def __init__(self, cfg: T1Config) -> None:
        super().__init__()
        self.cfg, c = cfg, cfg.n_channels
        self.embed = nn.Conv1d(2 if cfg.embed_mask else 1, c, 2)
        self.encoding = nn.Parameter(torch.randn(cfg.n_vars, c, cfg.window) * 0.02)
        self.stages = nn.ModuleList(
            nn.ModuleList(PlainBlock(cfg, kernel, length) for _ in range(depth))
            for depth, kernel, length in zip(cfg.depths, cfg.kernels, cfg.lengths, strict=True)
        )
        self.downsamples = nn.ModuleList(nn.Conv1d(c, c, 2, stride=2, groups=c) for _ in cfg.depths[1:])
        self.ratio = 2 ** (len(cfg.depths) - 1)
        mixed = -(-c // self.ratio) * self.ratio if cfg.upsample == "shuffle" else c
        self.mix = nn.Conv1d(c, mixed, 1)
        n_out = mixed // self.ratio if cfg.upsample == "shuffle" else c
        steps = (cfg.window,) if cfg.projection == "per_step" else ()
        self.out_weight = nn.Parameter(torch.randn(*steps, n_out))
        self.out_bias = nn.Parameter(torch.randn(steps or (1,)))

    def forward(self, values: Tensor, observed: Tensor) -> Tensor:  # (batch, time, vars)
        b, t, m = values.shape
        x, seen = values.transpose(1, 2), observed.transpose(1, 2).to(values.dtype)
        with torch.no_grad():
            x = torch.nan_to_num(x) * seen
            n = seen.sum(-1, keepdim=True)
            mean = x.sum(-1, keepdim=True) / n.clamp(min=1)
            var = ((x - mean) ** 2 * seen).sum(-1, keepdim=True) / (n - 1).clamp(min=1)
            std = torch.sqrt(var + 1e-5)
            std = torch.where(n <= 1, torch.ones_like(std), std)
            x = (x - mean) / std * seen
        inputs = torch.stack([x, seen / t], 2) if self.cfg.embed_mask else x.unsqueeze(2)  # (b, m, in, t)
        inputs = torch.cat([inputs[..., -1:], inputs], -1).reshape(b * m, -1, t + 1)
        z = self.embed(inputs).view(b, m, -1, t) + self.encoding
        for i, stage in enumerate(self.stages):
            if i:
                if z.shape[-1] % 2:
                    z = torch.cat([z[..., -1:], z], -1)
                z = self.downsamples[i - 1](z.flatten(0, 1)).unflatten(0, (b, m))
            for block in stage:
                z = block(z)
        y = self.mix(z.flatten(0, 1))  # (b·m, mixed, length)
        if self.cfg.upsample == "shuffle":
            rows, chans, length = y.shape
            y = y.view(rows, chans // self.ratio, self.ratio, length).permute(0, 1, 3, 2)
            y = y.reshape(rows, chans // self.ratio, length * self.ratio)
            start = (y.shape[-1] - t) // 2
            y = y[..., start : start + t]
        else:
            y = F.interpolate(y, size=t, mode="linear", align_corners=False)
        weight = self.out_weight if self.out_weight.ndim == 2 else self.out_weight.expand(t, -1)
        y = (y * weight.t()).sum(1) + self.out_bias
        return (y.view(b, m, t) * std + mean).transpose(1, 2)

    @classmethod
    def from_fast(cls, fast: T1) -> "PlainT1":
        """The same weights in textbook layers."""
        plain = cls(fast.config)
        missing = plain.load_state_dict(plain_names(dict(fast.named_parameters())))
        assert not missing.missing_keys and not missing.unexpected_keys
        return plain.train(fast.training)


def plain_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Parameters (or gradients) of the fast network under the plain network's names and shapes."""
    out: dict[str, Tensor] = {}
    for name, value in tensors.items():
        value = value.detach()
        head, _, last = name.rpartition(".")
        if ".time." in name:
            base = head.removesuffix("time") + "convs."
            for letter, part in zip("qkv" if len(value) == 3 else "v", value, strict=True):
                key = {"large": "large.weight", "small": "small.weight", "bias": "large.bias"}[last]
                out[f"{base}{letter}.{key}"] = part if last == "bias" else part.unsqueeze(1)
        elif name == "embed.encoding":
            out["encoding"] = value
        elif name.startswith("downsamples") and last == "weight":
            out[name] = value.unsqueeze(1)
        elif last == "scale":
            out[head.replace("_norm", "_scale")] = value
        elif name in ("head.weight", "head.bias"):
            out[f"out_{last}"] = value
        elif name.startswith("head.mix"):
            out[f"mix.{last}"] = value.unsqueeze(-1) if last == "weight" else value
        elif last == "weight" and any(s in name for s in ("attn_out", "ffn_in", "ffn_out", "over_vars")):
            out[name] = value.unsqueeze(-1)
        else:
            out[name] = value
    return out
