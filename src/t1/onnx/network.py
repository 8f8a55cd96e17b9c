"""The network of `models/t1.py` as an ONNX graph, for any number of windows and of variables.

Written with ONNX's operators one by one: torch's exporter fixes sizes that must stay free, takes a minute and
needs two more packages. `tests/test_onnx.py` compares the two networks.

Axes: batch, time, vars, chans; rows = batch·vars. Between the embedding and the head (rows, chans, time).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from t1.arrays import AnyArray
from t1.errors import InputError
from t1.onnx.graph import Graph

WINDOWS = ("values", "observed", "before", "before_weight", "after", "after_weight")  # (batch, time, vars)
RELATION = {"relation": ("vars", "vars"), "intercept": ("vars",), "trust": ("vars",)}
INPUTS = (*WINDOWS, *RELATION, "said")  # said: (batch, time, vars), NaN where the relation speaks
# settings of a network that fills tables of any width, as `t1 pretrain` makes them
NEEDED = {
    "lines": True,
    "embed_mask": True,
    "cross": "attention",
    "channels_per_head": 1,
    "encoding": "shared",
    "upsample": "shuffle",
    "projection": "shared",
}


def network_graph(settings: Mapping[str, Any], weights: Mapping[str, AnyArray]) -> Any:
    """The ONNX model of a pretrained network: its settings (as in its card) and its weights by name.

    The output has all quantiles, (levels, batch, time, vars).
    """
    other = {name: settings.get(name) for name, value in NEEDED.items() if settings.get(name) != value}
    if other or not settings["quantiles"]:
        raise InputError(
            f"a network with these settings cannot be exported: {other or 'no quantiles'}",
            cure="Export the shipped weights, or weights that t1 pretrain made.",
            option="weights",
        )
    wide = ("batch", settings["window"], "vars")
    inputs: dict[str, tuple[str, tuple[Any, ...]]] = {
        name: ("BOOL" if name == "observed" else "FLOAT", wide) for name in WINDOWS
    }
    inputs |= {name: ("FLOAT", ("batch", *sizes)) for name, sizes in RELATION.items()} | {
        "said": ("FLOAT", wide)
    }
    writer = _Writer(settings, weights)
    return writer.model(inputs, (writer.levels(), (len(settings["quantiles"]), *wide)))


class _Writer(Graph):
    """Writes the network's parts in the order of `T1.levels`."""

    def __init__(self, settings: Mapping[str, Any], weights: Mapping[str, AnyArray]) -> None:
        super().__init__()
        self.settings, self.weights = settings, weights
        self.time: int = settings["window"]
        self.n_channels: int = settings["n_channels"]
        self.steps = np.arange(self.time, dtype=np.float32)

    def levels(self) -> str:
        self.observed = self.op("Transpose", "observed", perm=(0, 2, 1))  # (batch, vars, time)
        self.known = self.op("Cast", self.observed, to=1)
        self.n_vars = self.op("Shape", "values", start=2, end=3)
        self.n_batch = self.op("Shape", "values", start=0, end=1)
        normed = self._normalise(self.op("Transpose", "values", perm=(0, 2, 1)))
        neighbours = self._neighbours()
        lines, distance = self._lines(normed, *neighbours)
        rough = self._roughness(normed, *neighbours)
        z = self._embed([lines, self.known, *self._inputs(lines, distance, rough)])
        length = self.time
        for i, depth in enumerate(self.settings["depths"]):
            if i:
                z = self._downsample(z, f"downsamples.{i - 1}", length)
                length = -(-length // 2)
            for j in range(depth):
                z = self._block(z, f"stages.{i}.{j}", length)
        out = self._head(z, length)  # (batch, vars, levels, time)
        if self.settings["bounded"]:
            far = self.op("Mul", self.op("Max", distance, 1.0), self.op("Max", distance, 1.0))
            reach = self.op("Clip", self.op("Mul", self.op("Mul", rough, 2.0), far), 1e-4, 1.0)
            out = self.op("Mul", out, self.op("Unsqueeze", reach, [2]))
        out = self.op("Add", out, self.op("Unsqueeze", lines, [2]))
        out = self.op("Mul", out, self.op("Unsqueeze", self.std, [2]))
        out = self.op("Add", out, self.op("Unsqueeze", self.mean, [2]))
        name: str = self.op("Transpose", out, perm=(2, 0, 3, 1))
        return name

    def _normalise(self, values: str) -> str:
        """`instance_normalise` with shrink; keeps mean and std."""
        count = self._sum(self.known)
        seen = self.op("Where", self.observed, values, 0.0)
        self.mean = self.op("Div", self._sum(seen), self.op("Max", count, 1.0))
        centred = self.op("Where", self.observed, self.op("Sub", values, self.mean), 0.0)
        squares = self._sum(self.op("Mul", centred, centred))
        weight = self.op("Mul", self.op("Exp", self.op("Mul", count, -0.25)), 2.0)
        freedom = self.op("Add", self.op("Max", self.op("Sub", count, 1.0), 0.0), weight)
        variance = self.op("Div", self.op("Add", squares, weight), freedom)
        self.std = self.op("Sqrt", self.op("Add", variance, 1e-5))
        name: str = self.op("Div", centred, self.std)
        return name

    # ------------------------------------------------------------ what the network is shown

    def _lines(self, normed: str, before: str, after: str) -> tuple[str, str]:
        """`straight_lines`."""
        none_before, none_after = self.op("Less", before, 0.0), self.op("Equal", after, float(self.time))
        left = self.op("Min", self.op("Where", none_before, after, before), float(self.time - 1))
        right = self.op("Max", self.op("Where", none_after, before, after), 0.0)
        lines = self._between(normed, left, right)
        to_before = self.op("Where", none_before, float(self.time), self.op("Sub", self.steps, before))
        to_after = self.op("Where", none_after, float(self.time), self.op("Sub", after, self.steps))
        return lines, self.op("Min", to_before, to_after)

    def _roughness(self, normed: str, before: str, after: str) -> str:
        """`roughness`: the error of straight lines where it can be seen, (batch, vars, 1)."""
        before, after = self._shift(before, 1, -1.0), self._shift(after, -1, float(self.time))
        both = self.op(
            "And", self.op("GreaterOrEqual", before, 0.0), self.op("Less", after, float(self.time))
        )
        inner = self.op("And", self.observed, both)
        left, right = self.op("Max", before, 0.0), self.op("Min", after, float(self.time - 1))
        error = self.op("Abs", self.op("Sub", normed, self._between(normed, left, right)))
        count = self._sum(self.op("Cast", inner, to=1))
        mean = self.op("Div", self._sum(self.op("Where", inner, error, 0.0)), self.op("Max", count, 1.0))
        name: str = self.op("Where", self.op("Greater", count, 0.0), mean, 1.0)
        return name

    def _neighbours(self) -> tuple[str, str]:
        """The last observed step up to each one, or -1, and the next from it on, or the window's length.

        ONNX has no running maximum: the maximum with a copy moved by 1, 2, 4, ... steps is one.
        """
        before = self.op("Where", self.observed, self.steps, -1.0)
        after = self.op("Where", self.observed, self.steps, float(self.time))
        for step in (2**k for k in range((self.time - 1).bit_length())):
            before = self.op("Max", before, self._shift(before, step, -1.0))
            after = self.op("Min", after, self._shift(after, -step, float(self.time)))
        return before, after

    def _shift(self, x: str, step: int, edge: float) -> str:
        """Moved along time by some steps, filled up with `edge`."""
        pads = [0, 0, max(step, 0), 0, 0, max(-step, 0)]
        first = max(-step, 0)
        name: str = self.op("Slice", self.op("Pad", x, pads, edge), [first], [first + self.time], [2])
        return name

    def _between(self, values: str, left: str, right: str) -> str:
        """Straight lines between the cells at two steps."""
        first, last = (
            self.op("GatherElements", values, self.op("Cast", side, to=7), axis=2) for side in (left, right)
        )
        span = self.op("Max", self.op("Sub", right, left), 1.0)
        share = self.op("Div", self.op("Sub", self.steps, left), span)
        name: str = self.op("Add", first, self.op("Mul", self.op("Sub", last, first), share))
        return name

    def _inputs(self, lines: str, distance: str, rough: str) -> list[str]:
        """`models.inputs.INPUTS`, in their order."""
        found: list[str] = []
        if "distance" in self.settings["inputs"]:
            found.append(self.op("Mul", self.op("Log", self.op("Add", distance, 1.0)), 0.5))
        if "roughness" in self.settings["inputs"]:
            size = self.op("Div", self.op("Log", self.op("Max", rough, 1e-3)), 3.0)
            found.append(self._wide(self.op("Add", size, 1.0), lines))
        if "season" in self.settings["inputs"]:
            for name in ("before", "after"):
                value, weight = (self.op("Transpose", x, perm=(0, 2, 1)) for x in (name, f"{name}_weight"))
                normed = self._in_units(value)
                found += [self.op("Where", self.op("Greater", weight, 0.0), normed, 0.0), weight]
        if "relation" in self.settings["inputs"]:
            full = self.op("Add", self.op("Mul", lines, self.std), self.mean)
            said = self.op("Add", self.op("MatMul", "relation", full), self.op("Unsqueeze", "intercept", [2]))
            given = self.op("Transpose", "said", perm=(0, 2, 1))
            said = self.op("Where", self.op("IsNaN", given), said, given)
            size = self.op("Abs", "relation")
            total = self.op("Max", self._sum(size), 1e-6)
            seen = self.op("Div", self.op("MatMul", size, self.known), total)
            trust = self.op("Unsqueeze", "trust", [2])
            told = self.op("Where", self.op("Greater", trust, 0.0), self._in_units(said), 0.0)
            found += [told, seen, self._wide(trust, lines)]
        return found

    def _in_units(self, value: str) -> str:
        normed = self.op("Div", self.op("Sub", value, self.mean), self.std)
        name: str = self.op("Clip", normed, -8.0, 8.0)
        return name

    def _wide(self, x: str, like: str) -> str:
        name: str = self.op("Expand", x, self.op("Shape", like))
        return name

    # ------------------------------------------------------------ the network

    def _embed(self, inputs: list[str]) -> str:
        """Circular padding: the kernel of 2 sees the last step before the first."""
        taps, time = [], self.time
        for x in inputs:
            last = self.op("Slice", x, [time - 1], [time], [2])
            rolled = self.op("Concat", last, self.op("Slice", x, [0], [time - 1], [2]), axis=2)
            taps += [self.op("Unsqueeze", rolled, [2]), self.op("Unsqueeze", x, [2])]
        weight = self.weights["embed.weight"].reshape(self.n_channels, -1)
        learned = self.weights["embed.bias"][:, None] + self.weights["embed.shared"]
        out = self.op("Add", self.op("MatMul", weight, self.op("Concat", *taps, axis=2)), learned)
        name: str = self.op("Reshape", out, [-1, self.n_channels, time])
        return name

    def _block(self, z: str, block: str, length: int) -> str:
        mixed = self._pointwise(self._attention(z, f"{block}.time", length), f"{block}.attn_out")
        z = self._residual(z, mixed, f"{block}.attn_norm")
        hidden = self.op("Gelu", self._pointwise(z, f"{block}.ffn_in"))
        return self._residual(z, self._pointwise(hidden, f"{block}.ffn_out"), f"{block}.ffn_norm")

    def _attention(self, z: str, part: str, length: int) -> str:
        """Q, K, V of every channel by products with Toeplitz matrices, then attention over variables."""
        large, small = self.weights[f"{part}.large"], self.weights[f"{part}.small"]
        margin = (large.shape[-1] - small.shape[-1]) // 2
        kernels = large + np.pad(small, ((0, 0), (0, 0), (margin, margin)))
        matrices = self.op("Gather", *_toeplitz(kernels, length), axis=1)
        bias = np.repeat(self.weights[f"{part}.bias"].T, length, axis=1)[:, None]  # (chans, 1, 3·time)
        qkv = self.op("Add", self.op("MatMul", self.op("Transpose", z, perm=(1, 0, 2)), matrices), bias)
        shape = self.op("Concat", [self.n_channels, -1], self.n_vars, [length], axis=0)
        parts = self.op("Split", qkv, [length] * 3, n_out=3, axis=2)
        q, k, v = (self.op("Reshape", x, shape) for x in parts)  # (chans, batch, vars, time)
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=(0, 1, 3, 2)))
        weights = self.op("Softmax", self.op("Mul", scores, float(1 / np.sqrt(length))), axis=-1)
        out = self.op("Reshape", self.op("MatMul", weights, v), [self.n_channels, -1, length])
        name: str = self.op("Transpose", out, perm=(1, 0, 2))
        return name

    def _pointwise(self, x: str, part: str) -> str:
        product = self.op("MatMul", self.weights[f"{part}.weight"], x)
        name: str = self.op("Add", product, self.weights[f"{part}.bias"][:, None])
        return name

    def _residual(self, skip: str, x: str, part: str) -> str:
        scale = self.weights[f"{part}.scale"]
        weight, bias = scale * self.weights[f"{part}.weight"], scale * self.weights[f"{part}.bias"]
        normed = self.op("LayerNormalization", x, weight, bias, axis=1, epsilon=1e-5)
        name: str = self.op("Add", skip, normed)
        return name

    def _downsample(self, x: str, part: str, length: int) -> str:
        """A weighted sum of each pair of steps; an odd length gets its last step in front first."""
        weight, end = self.weights[f"{part}.weight"], length + length % 2
        if length % 2:
            x = self.op("Concat", self.op("Slice", x, [length - 1], [length], [2]), x, axis=2)
        first, second = (
            self.op("Mul", self.op("Slice", x, [k], [end], [2], [2]), weight[:, k : k + 1]) for k in (0, 1)
        )
        pairs = self.op("Add", first, second)
        name: str = self.op("Add", pairs, self.weights[f"{part}.bias"][:, None])
        return name

    def _head(self, x: str, length: int) -> str:
        """Convolution, PixelShuffle1D and projection, multiplied before they meet the activations."""
        levels, ratio = len(self.settings["quantiles"]), 2 ** (len(self.settings["depths"]) - 1)
        project = self.weights["head.weight"]
        mix = self.weights["head.mix.weight"].reshape(-1, ratio, self.n_channels)
        weight = np.einsum("qo,orc->qrc", project, mix).reshape(levels * ratio, -1)
        bias = (project @ self.weights["head.mix.bias"].reshape(-1, ratio)).reshape(-1, 1)
        steps = self.op("Add", self.op("MatMul", weight, x), bias)
        steps = self.op("Reshape", steps, [-1, levels, ratio, length])
        steps = self.op("Transpose", steps, perm=(0, 1, 3, 2))
        steps = self.op("Reshape", steps, [-1, levels, length * ratio])
        start = (length * ratio - self.time) // 2
        steps = self.op("Slice", steps, [start], [start + self.time], [2])
        steps = self.op("Add", steps, self.weights["head.bias"][:, None])
        shape = self.op("Concat", self.n_batch, self.n_vars, [levels, self.time], axis=0)
        name: str = self.op("Reshape", steps, shape)
        return name

    def _sum(self, x: str) -> str:
        name: str = self.op("ReduceSum", x, [2], keepdims=1)
        return name


def _toeplitz(kernels: AnyArray, length: int) -> tuple[AnyArray, AnyArray]:
    """Padded kernels (chans, n·(2·length - 1)) and where each cell of their Toeplitz matrices is found in them.

    The runtime builds the matrices (chans, length, n·length) once, when it loads the file: they would be
    twenty times as large as the weights.
    """
    n, chans, taps = kernels.shape
    margin, wide = length - 1 - taps // 2, 2 * length - 1
    if margin < 0:  # the outer taps only ever meet the padding
        kernels, margin = kernels[..., -margin : taps + margin], 0
    padded = np.pad(kernels, ((0, 0), (0, 0), (margin, margin))).transpose(1, 0, 2).reshape(chans, n * wide)
    i, o = np.arange(length)[:, None], np.arange(length)
    index = np.concatenate([k * wide + i - o + length - 1 for k in range(n)], axis=1)
    return padded, index.astype(np.int32)
