"""Tensors and settings in a folder: safetensors and JSON, never pickle, whole at every moment.

    folder/
      config.json             format, version, the name and sha256 of the weights file, and `info`
      weights-7.safetensors   the tensors; every save writes a new number

A save writes the new weights under a new name first, then replaces config.json in one atomic step, and only
then deletes the old weights. Whenever it is killed, config.json names weights that are there and complete.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from t1.data.atomic import left_over, sync_folder, write_bytes
from t1.errors import InputError

CONFIG = "config.json"
FORMAT = "t1-checkpoint"
VERSION = 1
WEIGHTS = re.compile(r"weights-(\d+)\.safetensors")
PARTIAL = re.compile(r"\.weights-\d+\.safetensors\..*\.part")

Info = dict[str, Any]  # what JSON can hold, without NaN and infinity


def exists(folder: str | Path) -> bool:
    """Whether the folder holds a checkpoint, good or bad."""
    with _readable(Path(folder)):
        return (Path(folder) / CONFIG).is_file()


def save(folder: str | Path, tensors: Mapping[str, Tensor], info: Mapping[str, Any]) -> None:
    """Write tensors and info; a reader finds the old state or the new one, never a mixture."""
    folder = Path(folder)
    # copies: safetensors refuses tensors that share memory
    weights = safetensors.torch.save(
        {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    )
    config = {"format": FORMAT, "version": VERSION, "weights": "", "sha256": _sha256(weights), "info": info}
    json.dumps(config, allow_nan=False)  # fails before anything is written
    with _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / CONFIG).exists():
            _read_config(folder)  # refuses to replace a config.json of somebody else
        old = _own_files(folder)
        number = 1 + max((int(m[1]) for path in old if (m := WEIGHTS.fullmatch(path.name))), default=0)
        config["weights"] = f"weights-{number}.safetensors"
        new = folder / str(config["weights"])
        try:
            write_bytes(new, weights)
            sync_folder(folder)  # the weights must be there before the config that names them
            write_bytes(folder / CONFIG, json.dumps(config, allow_nan=False, indent=1).encode())
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        sync_folder(folder)
        for path in old:
            path.unlink(missing_ok=True)


def load(folder: str | Path) -> tuple[dict[str, Tensor], Info]:
    """The tensors and the info of a folder that `save` wrote."""
    folder = Path(folder)
    with _readable(folder):
        if not folder.exists():
            raise InputError(f"{folder} does not exist.\nGive the folder that the model was saved to.")
        if not folder.is_dir():
            raise InputError(
                f"{folder} is a file, a T1 model is a folder.\nGive the folder that holds {CONFIG}."
            )
        if not (folder / CONFIG).exists():
            raise InputError(
                f"{folder} is not a T1 model folder: it has no {CONFIG}.\n"
                "Give the folder that the model was saved to."
            )
        config, weights = _read_both(folder)
    path = folder / config["weights"]
    if _sha256(weights) != config["sha256"]:
        raise InputError(
            f"{path} is cut short or was altered: its checksum is not the one that {CONFIG} names.\n"
            "Copy the whole folder again, or train again."
        )
    try:
        tensors = safetensors.torch.load(weights)
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(
            f"{path} is no readable safetensors file: {error}.\nCopy the folder again, or train again."
        ) from None
    return {name: t.clone() for name, t in tensors.items()}, config["info"]


def _read_both(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The config and the weights it names; a save that goes on meanwhile replaces both, in that order."""
    config = _read_config(folder)
    while True:
        try:
            return config, (folder / config["weights"]).read_bytes()
        except FileNotFoundError:
            newer = _read_config(folder)
            if newer == config:
                raise InputError(
                    f"{folder} is incomplete: its weights file {config['weights']} is not there.\n"
                    "Copy the whole folder again, or train again."
                ) from None
            config = newer


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:  # broken JSON or broken UTF-8
        raise InputError(
            f"{path} is no readable JSON: {error}.\nCopy the whole folder again, or use another folder."
        ) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(
            f"{folder} is not a T1 model folder: its {CONFIG} does not say format {FORMAT!r}.\n"
            "Give the folder that the model was saved to, or another folder to save in."
        )
    version = config.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"{folder} was written by a newer t1: its format is version {version}, "
            f"this t1 reads up to {VERSION}.\nUpgrade t1."
        )
    named = isinstance(config.get("weights"), str) and WEIGHTS.fullmatch(config["weights"])
    if version != VERSION or not named or not isinstance(config.get("info"), dict):
        raise InputError(
            f"{path} was altered: version, weights or info is not what t1 writes.\n"
            "Copy the whole folder again, or use another folder."
        )
    return config


def _own_files(folder: Path) -> list[Path]:
    """Weights of earlier saves, and what killed ones left behind."""
    return [
        path
        for path in folder.iterdir()
        if WEIGHTS.fullmatch(path.name) or left_over(path, CONFIG) or PARTIAL.fullmatch(path.name)
    ]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename or folder}: {error.strerror}.\nCheck its permissions."
        ) from None


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write to {error.filename or folder}: {error.strerror}.\n"
            "Choose another folder, or check its permissions and the free space."
        ) from None
