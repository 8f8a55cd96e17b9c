"""The state of a live fill in a folder: safetensors and JSON."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from t1 import checkpoint
from t1.arrays import FloatArray
from t1.errors import InputError
from t1.live.track import Track

KIND, VERSION = "live state", 4
PLAIN = ("step", "end", "anchor", "anchor_row", "dropped", "repeated", "jumps", "filled_at")


def save_tracks(folder: Path, columns: tuple[str, ...], lag: int, tracks: Mapping[Any, Track]) -> None:
    """Write all series; a reader finds the old state or the new one."""
    tensors: dict[str, Tensor] = {}
    kept = []
    for k, (key, track) in enumerate(tracks.items()):
        for name, array in _arrays(track).items():
            tensors[f"{name}-{k}"] = torch.tensor(array)
        for i, (_, values) in enumerate(track.strays):
            tensors[f"stray-{k}-{i}"] = torch.tensor(values)
        plain = {name: getattr(track, name) for name in PLAIN}
        kept.append({"id": key, "strays": [row for row, _ in track.strays], **plain})
    info = {"kind": KIND, "version": VERSION, "columns": list(columns), "lag": lag, "tracks": kept}
    checkpoint.save(folder, tensors, info)


def load_tracks(folder: Path, columns: tuple[str, ...], empty: Track) -> dict[Any, Track]:
    """What `save_tracks` wrote, for a fill of these columns, whose series are like the `empty` one."""
    tensors, info = checkpoint.load(folder)
    cure = "Start without it, or with the model and the lag that it was saved with."
    if info.get("kind") != KIND or info.get("version") != VERSION:
        raise InputError(f"{folder} holds no state of a live fill", cure=cure, option="state")
    if tuple(info["columns"]) != columns or info["lag"] != empty.lag:
        raise InputError(
            f"the state in {folder} is of another fill: columns {', '.join(info['columns'])}, lag {info['lag']}",
            cure=cure,
            option="state",
        )
    tracks: dict[Any, Track] = {}
    try:
        for k, kept in enumerate(info["tracks"]):
            strays = [(row, tensors[f"stray-{k}-{i}"].numpy()) for i, row in enumerate(kept["strays"])]
            found = deepcopy(empty)
            for name, array in _arrays(found).items():
                saved = tensors[f"{name}-{k}"].numpy()
                if saved.shape != array.shape:
                    raise InputError(f"the state in {folder} is of another fill", cure=cure, option="state")
                array[:] = saved
            plain = {name: kept[name] for name in PLAIN}
            tracks[kept["id"]] = replace(found, strays=strays, **plain)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder} was altered: {error}", cure=cure, option="state") from None
    return tracks


def _arrays(track: Track) -> dict[str, FloatArray]:
    """All that a series remembers in arrays, by name; to read from or to write into."""
    widths, lean = track.widths, track.lean
    return {
        "values": track.values,
        "shown": track.shown,
        "fills": track.fills,
        "misses": widths.misses,
        "factors": widths.factors,
        "drift": widths.drift,
        "errors": lean.errors,
        "count": lean.count,
        "shares": lean.shares,
    }
