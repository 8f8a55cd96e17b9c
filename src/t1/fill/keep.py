"""Fitted things in a folder: numbers as safetensors, the rest as JSON, never pickle.

Everything that is kept is a dataclass of plain values, arrays, networks and other such dataclasses. Only the
classes named here are ever made when a folder is read, whatever it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from t1 import checkpoint
from t1.data.kinds import Kind
from t1.data.scale import Scaler
from t1.errors import InputError
from t1.fill.blend import Blend
from t1.fill.judged import Evidence, JudgedFill
from t1.methods.beside import BesideFill
from t1.methods.catalog import model_class
from t1.methods.columns import Linear, Locf, Mean, Nearest, Seasonal
from t1.methods.forest import Forest
from t1.methods.groups import Group
from t1.methods.network import NetworkFill
from t1.methods.regression import Regression, RegressionFill
from t1.methods.related import Formula, RelatedFill
from t1.methods.rest import RestFill
from t1.methods.t1 import T1Fill
from t1.methods.together import TogetherFill
from t1.methods.trees import ColumnTrees, TreesFill
from t1.methods.tune import TunedFill
from t1.methods.week import WeekFill
from t1.methods.whole import Iterative, Knn, Pswi
from t1.methods.windows import Relation
from t1.models.base import Model

VERSION = 5
CLASSES = {
    kind.__name__: kind
    for kind in (
        BesideFill,
        Blend,
        ColumnTrees,
        Evidence,
        Forest,
        Group,
        Iterative,
        JudgedFill,
        Kind,
        Knn,
        Linear,
        Locf,
        Mean,
        Nearest,
        NetworkFill,
        Pswi,
        Regression,
        RegressionFill,
        RelatedFill,
        RestFill,
        Formula,
        Relation,
        Scaler,
        Seasonal,
        T1Fill,
        TogetherFill,
        TreesFill,
        TunedFill,
        WeekFill,
    )
}


def save_kept(folder: Path, kind: str, things: Mapping[str, Any]) -> None:
    """Write some things, all or nothing; `kind` says what they are."""
    tensors: dict[str, Tensor] = {}
    packed = {name: _pack(thing, tensors) for name, thing in things.items()}
    checkpoint.save(folder, tensors, {"kind": kind, "version": VERSION, "kept": packed})


def load_kept(folder: Path, kind: str, cure: str) -> dict[str, Any]:
    """What `save_kept` wrote."""
    tensors, info = checkpoint.load(folder)
    if info.get("kind") != kind or info.get("version") != VERSION:
        raise InputError(f"{folder} holds no {kind} of this version", cure=cure, option="model")
    try:
        return {name: _unpack(thing, tensors) for name, thing in info["kept"].items()}
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder} was altered: {error}", cure=cure, option="model") from None


def _pack(x: Any, tensors: dict[str, Tensor]) -> Any:
    """What JSON can hold; arrays and weights go to `tensors`."""
    if x is None or isinstance(x, bool | str | int):
        return x
    if isinstance(x, float | np.floating):
        return float(x) if math.isfinite(x) else {"float": str(float(x))}
    if isinstance(x, np.integer):
        return int(x)
    if isinstance(x, np.ndarray):
        name = f"array-{len(tensors)}"
        tensors[name] = torch.from_numpy(np.ascontiguousarray(x))
        return {"array": name}
    if isinstance(x, Model):
        name = f"network-{len(tensors)}"
        tensors.update({f"{name}.{key}": value for key, value in x.state_dict().items()})
        return {"network": name, "model": x.name, "config": asdict(x.config)}
    if isinstance(x, Mapping):
        return {"pairs": [[_key(key), _pack(value, tensors)] for key, value in x.items()]}
    if type(x).__name__ in CLASSES:
        names = getattr(x, "_fields", None) or [f.name for f in fields(x)]
        return {"class": type(x).__name__, "fields": {n: _pack(getattr(x, n), tensors) for n in names}}
    if isinstance(x, list | tuple):
        return {"list": [_pack(item, tensors) for item in x], "tuple": isinstance(x, tuple)}
    raise TypeError(f"a {type(x).__name__} cannot be kept")


def _key(key: Any) -> Any:
    key = key.item() if isinstance(key, np.generic) else key
    return key if key is None or isinstance(key, bool | str | int | float) else str(key)


def _unpack(x: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(x, dict):
        return x
    if "float" in x:
        return float(x["float"])
    if "array" in x:
        return tensors[x["array"]].numpy()
    if "network" in x:
        kind = model_class(x["model"])
        network = kind(kind.Config(**x["config"]))
        prefix = x["network"] + "."
        network.load_state_dict({k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)})
        return network.eval()
    if "pairs" in x:
        return {key: _unpack(value, tensors) for key, value in x["pairs"]}
    if "class" in x:
        if x["class"] not in CLASSES:
            raise InputError(
                f"a kept fill holds an unknown {x['class']!r}", cure="Fit again.", option="model"
            )
        return CLASSES[x["class"]](**{name: _unpack(v, tensors) for name, v in x["fields"].items()})
    items = [_unpack(item, tensors) for item in x["list"]]
    return tuple(items) if x["tuple"] else items
