"""The pretrained network in onnxruntime: numpy in, numpy out, no torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from t1.arrays import AnyArray, BoolArray, Float32Array
from t1.data.atomic import open_target
from t1.errors import InputError
from t1.weights import read_weights


class OnnxT1:
    """A network by its settings and weights; the session is made when it first fills."""

    def __init__(self, settings: Mapping[str, Any], weights: Mapping[str, AnyArray]) -> None:
        check_libraries("onnxruntime", "onnx")
        self.settings, self.weights = settings, weights

    @classmethod
    def pretrained(cls, path: str | Path | None = None) -> OnnxT1:
        """The shipped network, or one that `t1 pretrain` exported."""
        return cls(*_named(path))

    @property
    def window(self) -> int:
        """Rows of a window."""
        return int(self.settings["window"])

    def levels(
        self, values: Float32Array, observed: BoolArray, context: Sequence[Float32Array]
    ) -> Float32Array:
        """All quantiles (levels, batch, time, vars); `context` as in `models.base.Context`, in its order."""
        from t1.onnx.network import INPUTS

        given = (np.ascontiguousarray(x) for x in (values, observed, *context))
        out: Float32Array = self._session.run(None, dict(zip(INPUTS, given, strict=True)))[0]
        return out

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        from t1.onnx.network import network_graph

        options = onnxruntime.SessionOptions()
        if threads := os.environ.get("OMP_NUM_THREADS", ""):  # as torch does
            options.intra_op_num_threads = int(threads)
        # threads that wait without rest take the time of whoever else runs: faster without, on a free machine too
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = network_graph(self.settings, self.weights).SerializeToString()
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def export_onnx(target: str | Path, weights: str | Path | None = None) -> None:
    """Write the pretrained network as an ONNX file, whole or not at all; `weights` as in `t1.fit`."""
    check_libraries("onnx")
    from t1.onnx.network import network_graph

    model = network_graph(*_named(weights))
    with open_target(target) as stream:
        stream.write(model.SerializeToString())


def is_faster() -> bool:
    """Whether this engine fills sooner than torch does: it starts in a fraction of the time, but knows no GPU."""
    gpu = sys.platform == "darwin" or any(which(tool) for tool in ("nvidia-smi", "rocm-smi"))
    return not gpu and not _absent("onnxruntime", "onnx")


def check_libraries(*names: str) -> None:
    """Say what is not installed, and how to get it."""
    if absent := _absent(*names):
        raise InputError(
            f"the ONNX engine needs {' and '.join(absent)}, which is not installed",
            cure="Install it: pip install 't1-impute[onnx]'",
            option="engine",
        )


def _absent(*names: str) -> list[str]:
    return [name for name in names if find_spec(name) is None]


def _named(path: str | Path | None) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    import safetensors.numpy

    card, weights = read_weights(path)
    return card["network"], safetensors.numpy.load(weights)
