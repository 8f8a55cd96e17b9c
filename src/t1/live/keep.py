"""The state of a live fill in a folder: safetensors and JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from t1 import checkpoint
from t1.errors import InputError
from t1.live.adapt import Widths
from t1.live.track import Track

KIND, VERSION = "live state", 2
PLAIN = ("step", "end", "anchor", "anchor_row", "dropped", "repeated", "jumps")


def save_tracks(folder: Path, columns: tuple[str, ...], lag: int, tracks: Mapping[Any, Track]) -> None:
    """Write all series; a reader finds the old state or the new one."""
    tensors: dict[str, Tensor] = {}
    kept = []
    for k, (key, track) in enumerate(tracks.items()):
        tensors[f"values-{k}"] = torch.tensor(track.values)
        tensors[f"shown-{k}"] = torch.tensor(track.shown)
        tensors[f"shared-{k}"] = torch.tensor(track.widths.shared)
        tensors[f"own-{k}"] = torch.tensor(track.widths.own)
        for i, (_, values) in enumerate(track.strays):
            tensors[f"stray-{k}-{i}"] = torch.tensor(values)
        plain = {name: getattr(track, name) for name in PLAIN}
        kept.append({"id": key, "strays": [row for row, _ in track.strays], **plain})
    info = {"kind": KIND, "version": VERSION, "columns": list(columns), "lag": lag, "tracks": kept}
    checkpoint.save(folder, tensors, info)


def load_tracks(folder: Path, columns: tuple[str, ...], lag: int, memory: int) -> dict[Any, Track]:
    """What `save_tracks` wrote, for a fill of these columns, lag and memory."""
    tensors, info = checkpoint.load(folder)
    cure = "Start without it, or with the model and the lag that it was saved with."
    if info.get("kind") != KIND or info.get("version") != VERSION:
        raise InputError(f"{folder} holds no state of a live fill", cure=cure, option="state")
    if tuple(info["columns"]) != columns or info["lag"] != lag:
        raise InputError(
            f"the state in {folder} is of another fill: columns {', '.join(info['columns'])}, lag {info['lag']}",
            cure=cure,
            option="state",
        )
    tracks: dict[Any, Track] = {}
    try:
        for k, kept in enumerate(info["tracks"]):
            strays = [(row, tensors[f"stray-{k}-{i}"].numpy()) for i, row in enumerate(kept["strays"])]
            values, shown = tensors[f"values-{k}"].numpy(), tensors[f"shown-{k}"].numpy()
            if values.shape != (memory, len(columns)) or shown.shape != (lag + 1, len(columns)):
                raise InputError(f"the state in {folder} is of another fill", cure=cure, option="state")
            widths = Widths(*(np.array(tensors[f"{part}-{k}"].numpy()) for part in ("shared", "own")))
            if widths.shared.shape != (2,) or widths.own.shape != (2, len(columns)):
                raise InputError(f"the state in {folder} is of another fill", cure=cure, option="state")
            plain = {name: kept[name] for name in PLAIN}
            tracks[kept["id"]] = Track(
                values=np.array(values), shown=np.array(shown), widths=widths, strays=strays, **plain
            )
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder} was altered: {error}", cure=cure, option="state") from None
    return tracks
