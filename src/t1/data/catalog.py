"""The benchmark datasets: a dataset is data, one TOML each in `specs/`, or a TOML file of the user's.

`spec` reads a description, `find` its files, `load` makes standardised windows of the three parts.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from t1.arrays import BoolArray
from t1.data import split as splits
from t1.data.readers import READERS, Raw
from t1.data.scale import Scaler
from t1.data.spec_file import SCALES, SPECS, File, Spec, TrainingSpec, read_spec
from t1.data.split import Split
from t1.data.window import WindowSet, covered
from t1.errors import InputError
from t1.registry import did_you_mean

__all__ = [
    "Dataset",
    "File",
    "Spec",
    "TrainingSpec",
    "find",
    "folders",
    "load",
    "names",
    "spec",
    "usual_scale",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Standardised windows of the three parts, which share their rows."""

    name: str
    columns: tuple[str, ...]
    scaler: Scaler  # from the rows that training windows cover, or from the whole series
    train: WindowSet
    valid: WindowSet
    test: WindowSet
    test_hidden: BoolArray | None  # (rows of test.rows, vars): observed entries that the dataset evaluates
    checksum: str  # of the values as read, the entries to evaluate, and the windows of each part


def names() -> tuple[str, ...]:
    """The datasets of the catalog."""
    return tuple(_catalog())


@cache
def _catalog() -> dict[str, Spec]:
    specs = [read_spec(path, source=None) for path in SPECS.glob("*.toml")]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name.lower())}


def spec(name: str | Path) -> Spec:
    """The description of a dataset by its name, in any case, or by the path of a TOML file."""
    if isinstance(name, Path) or name.endswith(".toml"):
        return read_spec(Path(name), source=Path(name).resolve())
    known = _catalog()
    folded = {right.lower(): right for right in known}
    if name.lower() not in folded:
        raise InputError(
            f"unknown dataset {name!r}.\n{did_you_mean(name, known)} A path of a .toml file works too."
        )
    return known[folded[name.lower()]]


def folders(spec: Spec) -> list[Path]:
    """Where the files of a dataset are looked for, the first folder first."""
    if spec.source is not None:
        return [spec.source.parent]
    import pooch

    own = os.environ.get("T1_DATA_DIR")
    return [*([Path(own)] if own else []), Path(pooch.os_cache("t1-impute"))]


def find(spec: Spec) -> list[Path]:
    """The paths of a dataset's files, each in the first folder that has it."""
    found, looked = [], []
    for file in spec.files:
        places = [folder / file.path for folder in folders(spec)]
        here = next((path for path in places if path.is_file()), None)
        if here is None:
            looked += places
        else:
            found.append(here)
    if looked:
        raise InputError(
            f"the files of {spec.name} are not on this machine; looked for {', '.join(map(str, looked))}.\n"
            f"Download them with `t1 data fetch {spec.source or spec.name}`, "
            "or set T1_DATA_DIR to the folder of your data."
        )
    return found


def load(spec_or_name: Spec | str | Path, *, split: str = "paper", scale: str | None = None) -> Dataset:
    """Read, split and standardise; `split="disjoint"` shares no row between the parts.

    `scale` says which rows the units come from: "train" or "series". Without it, it is the spec's, and the
    training rows for a disjoint split: units of the whole series know of the test part.
    """
    if split not in ("paper", "disjoint"):
        raise InputError(f"unknown split {split!r}.\nUse 'paper' or 'disjoint' (no row in two parts).")
    s = spec_or_name if isinstance(spec_or_name, Spec) else spec(spec_or_name)
    scale = usual_scale(s, split) if scale is None else scale
    if scale not in SCALES:
        raise InputError(f"unknown scale {scale!r}.\nUse {' or '.join(SCALES)}.")
    raw = READERS[s.reader](find(s), **s.options)
    if raw.values.shape[1] != s.n_vars:
        raise InputError(
            f"{s.name} should have {s.n_vars} variables, its file has {raw.values.shape[1]}.\n"
            "Check that it is the right file, or correct n_vars in the spec."
        )
    parts = _split(s, raw, disjoint=split == "disjoint")
    rows = covered(parts.train, s.window, len(raw.values)) if scale == "train" else slice(None)
    scaler = Scaler.from_observed(raw.values[rows])
    values = scaler.scale(raw.values)
    every = WindowSet.from_series(np.nan_to_num(values) if s.unmeasured == "mean" else values, s.window)
    train, valid, test = (every.subset(part) for part in (parts.train, parts.valid, parts.test))
    return Dataset(
        s.name, raw.columns, scaler, train, valid, test, raw.hidden, _checksum(raw, parts, s.window)
    )


def usual_scale(spec: Spec, split: str) -> str:
    """The units of a dataset: the spec's for the paper's split, else those of the training rows."""
    return spec.scale if split == "paper" else "train"


def _checksum(raw: Raw, parts: Split, window: int) -> str:
    """Of what the file says, not of its bytes: other line ends are the same data, a mended reader is not."""
    found = hashlib.sha256(f"{raw.values.shape} {window}".encode())
    hidden = np.zeros(0, bool) if raw.hidden is None else raw.hidden
    for array in (raw.values, hidden, parts.train, parts.valid, parts.test):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]


def _split(s: Spec, raw: Raw, *, disjoint: bool) -> Split:
    options = {key: value for key, value in s.split.items() if key != "kind"}
    kind = "disjoint" if disjoint and s.split["kind"] == "window_share" else s.split["kind"]
    if kind != "months":
        return splits.BY_LENGTH[kind](len(raw.values), s.window, **options)
    if raw.times is None:
        raise InputError(
            f"{s.name} is split by months, but its file has no column of dates.\n"
            'Name it in the spec, options = { time = "..." }, or split by another kind.'
        )
    return splits.by_months(raw.times, s.window, **options)
