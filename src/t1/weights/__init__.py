"""The pretrained T1 that ships with this package: t1.safetensors, and card.json that says what it is.

card.json   format, version, sha256 of the weights, the network's settings, how it was trained, figures
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t1.errors import InputError

if TYPE_CHECKING:  # reading the weights needs no torch
    from t1.models.t1 import T1

WEIGHTS, CARD = "t1.safetensors", "card.json"
FORMAT, VERSION = "t1-pretrained", 1
SHIPPED = Path(__file__).parent
MOST_BYTES = 3_000_000  # the package stays small


def load_pretrained(path: str | Path | None = None) -> "T1":
    """The pretrained network, in eval mode: the shipped one, or one that `t1 pretrain` exported."""
    import safetensors.torch
    import torch

    from t1.device import own_randomness
    from t1.models.t1 import T1, T1Config

    folder = SHIPPED if path is None else Path(path)
    card, weights = read_weights(path)
    try:
        with own_randomness(torch.device("cpu")):  # the weights a new network draws are overwritten
            network = T1(T1Config(**card["network"]))
        network.load_state_dict(safetensors.torch.load(weights))
    except (safetensors.SafetensorError, RuntimeError, TypeError, InputError) as error:
        raise InputError(
            f"{folder / WEIGHTS} does not fit the network that {CARD} describes: {error}",
            cure=_cure(folder),
            option="weights",
        ) from None
    return network.eval()


def read_weights(path: str | Path | None = None) -> tuple[dict[str, Any], bytes]:
    """The card and the weights as they were written, checked against the card's checksum."""
    folder = SHIPPED if path is None else Path(path)
    card = read_card(folder)
    weights = _read(folder / WEIGHTS)
    if hashlib.sha256(weights).hexdigest() != card["sha256"]:
        raise InputError(
            f"{folder / WEIGHTS} is cut short or was altered: its checksum is not the one in {CARD}",
            cure=_cure(folder),
            option="weights",
        )
    return card, weights


def read_card(path: str | Path | None = None) -> dict[str, Any]:
    """What the weights are: the network's settings, how it was trained, its figures."""
    folder = SHIPPED if path is None else Path(path)
    file = folder / CARD
    text = _read(file)
    try:
        card = json.loads(text)
    except ValueError as error:  # broken JSON or broken UTF-8
        raise InputError(
            f"{file} is no readable JSON: {error}", cure=_cure(folder), option="weights"
        ) from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise InputError(
            f"{file} does not say format {FORMAT!r}: it describes no pretrained T1",
            cure="Give a folder that a pretraining was exported to.",
            option="weights",
        )
    version = card.get("version")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        raise InputError(
            f"the weights in {folder} have version {version!r}, this t1 reads version {VERSION}",
            cure="Upgrade t1." if newer else "Export them again with this t1.",
            option="weights",
        )
    if not isinstance(card.get("network"), dict) or not isinstance(card.get("sha256"), str):
        raise InputError(
            f"{file} was altered: network or sha256 is lacking", cure=_cure(folder), option="weights"
        )
    return card


def save_pretrained(
    folder: str | Path, network: "T1", *, trained: Mapping[str, Any], figures: Mapping[str, Any]
) -> Path:
    """Write weights and card into a folder, the weights first; gives the path of the card."""
    import safetensors.torch

    folder = Path(folder)
    state = {name: t.detach().cpu().contiguous() for name, t in network.state_dict().items()}
    weights = safetensors.torch.save(state)
    if len(weights) > MOST_BYTES:
        raise InputError(
            f"the weights are {len(weights):,} bytes, at most {MOST_BYTES:,} are shipped",
            cure="Train a smaller network.",
            option="channels",
        )
    card = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": hashlib.sha256(weights).hexdigest(),
        "parameters": sum(t.numel() for t in state.values()),
        "network": dataclasses.asdict(network.config),
        "trained": dict(trained),
        "figures": dict(figures),
    }
    text = json.dumps(card, indent=1, allow_nan=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WEIGHTS).write_bytes(weights)
        (folder / CARD).write_text(text)
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror}", cure="Choose another folder."
        ) from None
    return folder / CARD


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = error.strerror if path.parent.is_dir() else f"{path.parent} is no folder"
        raise InputError(
            f"cannot read the pretrained weights, {path}: {what}",
            cure=_cure(path.parent),
            option="weights",
        ) from None


def _cure(folder: Path) -> str:
    if folder == SHIPPED:
        return "Install t1 again, or fill without the pretrained network."
    return "Copy the whole folder again, or leave it out to use the weights that ship with t1."
