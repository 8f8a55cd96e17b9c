"""`python tests/golden.py FILE.npz [...]`: how far is our network from the reference implementation?

Builds the network that the file's parameters describe, runs it on the file's input, and prints the
largest absolute difference of the output and of each intermediate. Exit code 1 above the tolerance.
"""

import re
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from t1.models.t1 import T1, T1Config

TOLERANCE = 1e-4


def config_of(params: dict[str, np.ndarray], n_vars: int, window: int) -> T1Config:
    """Read the architecture off the parameters' shapes."""
    blocks = sorted(
        {tuple(map(int, re.findall(r"\d+", n.split(".q.")[0]))) for n in params if ".q.large.weight" in n}
    )
    stages = sorted({stage for stage, _ in blocks})
    n_channels = params["embed.weight"].shape[0]
    n_mixed = params["head.mix.weight"].shape[0]
    per_step = params["head.out.weight"].size > n_mixed
    n_out = params["head.out.weight"].size // (window if per_step else 1)
    return T1Config(
        n_vars=n_vars,
        window=window,
        n_channels=n_channels,
        depths=tuple(sum(s == stage for s, _ in blocks) for stage in stages),
        large_kernels=tuple(params[f"stage{s}.block0.q.large.weight"].shape[-1] for s in stages),
        small_kernel=params["stage0.block0.q.small.weight"].shape[-1],
        kernel_window=window,  # the kernels in the file are what they are: no scaling
        ffn_ratio=params["stage0.block0.ffn_in.weight"].shape[0] / n_channels,
        embed_mask=params["embed.weight"].shape[1] == 2,
        upsample="linear" if len(stages) > 1 and n_out == n_mixed else "shuffle",
        projection="per_step" if per_step else "shared",
    )


def _matrix(weight: np.ndarray) -> np.ndarray:
    """A pointwise convolution's weight with or without its trailing axis of 1."""
    return weight.reshape(weight.shape[:2])


def weights_of(params: dict[str, np.ndarray], config: T1Config) -> dict[str, Tensor]:
    """The file's parameters under our names: q, k, v stacked, everything else renamed."""
    out = {"embed.encoding": params["variable_encoding"]}
    for part in ("weight", "bias"):
        out[f"embed.{part}"] = params[f"embed.{part}"]
        for name, value in params.items():
            if match := re.fullmatch(rf"downsample(\d*)\.{part}", name):
                shape = (config.n_channels, 2) if part == "weight" else (config.n_channels,)
                out[f"downsamples.{match[1] or 0}.{part}"] = value.reshape(shape)
    out["head.mix.weight"] = params["head.mix.weight"].reshape(-1, config.n_channels)
    out["head.mix.bias"] = params["head.mix.bias"]
    weight = params["head.out.weight"]
    weight = weight.reshape(weight.shape[:2] if config.projection == "per_step" else -1)
    if config.projection == "per_step" and weight.shape[0] != config.window:
        weight = weight.T
    out["head.weight"], out["head.bias"] = weight, params["head.out.bias"].reshape(-1)
    for s, depth in enumerate(config.depths):
        for b in range(depth):
            theirs, ours = f"stage{s}.block{b}", f"stages.{s}.{b}"
            for key, last in (("large.weight", "large"), ("small.weight", "small"), ("large.bias", "bias")):
                stacked = np.stack([params[f"{theirs}.{x}.{key}"] for x in "qkv"])
                out[f"{ours}.time.{last}"] = (
                    stacked if last == "bias" else stacked.reshape(3, config.n_channels, -1)
                )
            for half in ("attn", "ffn"):
                out[f"{ours}.{half}_norm.scale"] = params[f"{theirs}.{half}_scale"].reshape(())
                for part in ("weight", "bias"):
                    out[f"{ours}.{half}_norm.{part}"] = params[f"{theirs}.{half}_norm.{part}"]
            for conv in ("attn_out", "ffn_in", "ffn_out"):
                out[f"{ours}.{conv}.weight"] = _matrix(params[f"{theirs}.{conv}.weight"])
                out[f"{ours}.{conv}.bias"] = params[f"{theirs}.{conv}.bias"]
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in out.items()}


def differences(path: Path) -> dict[str, float]:
    """The largest absolute difference of each output in the file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    groups: dict[str, dict[str, np.ndarray]] = {"param": {}, "input": {}, "output": {}}
    for name, array in arrays.items():
        group, _, rest = name.partition("/")
        groups[group][rest] = array
    values, mask = groups["input"]["values"], groups["input"]["mask"]
    batch, window, n_vars = values.shape
    config = config_of(groups["param"], n_vars, window)
    model = T1(config).eval()
    model.load_state_dict(weights_of(groups["param"], config))

    seen: dict[str, Tensor] = {}

    def keep(name: str):  # a forward hook that stores (batch, vars, chans, length)
        def hook(module, args, output: Tensor) -> None:
            seen[name] = output.unflatten(0, (batch, n_vars))

        return hook

    model.embed.register_forward_hook(keep("embedding"))
    for s, stage in enumerate(model.stages):
        for b, block in enumerate(stage):
            block.register_forward_hook(keep(f"stage{s}.block{b}"))
    with torch.no_grad():
        seen["imputed"] = model(torch.from_numpy(values), torch.from_numpy(mask) > 0)

    unknown = set(groups["output"]) - set(seen)
    if unknown:
        raise SystemExit(f"{path}: outputs we do not compute: {', '.join(sorted(unknown))}")
    return {name: float(np.abs(seen[name].numpy() - truth).max()) for name, truth in groups["output"].items()}


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__)
        return 2
    worst = 0.0
    for path in paths:
        print(path)
        for name, difference in differences(Path(path)).items():
            print(f"  {name:<16} {difference:.2e}")
            worst = max(worst, difference) if difference == difference else float("inf")
    print(f"worst {worst:.2e}, tolerance {TOLERANCE:.0e}: {'ok' if worst < TOLERANCE else 'TOO FAR'}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
