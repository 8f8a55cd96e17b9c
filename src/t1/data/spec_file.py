"""The description of a dataset, read from a TOML file; an unknown key is a mistake, and says so."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from t1.data.readers import N_FILES, READERS
from t1.errors import InputError
from t1.registry import did_you_mean

SPECS = Path(__file__).parent / "specs"
SCENARIOS = ("point", "block", "natural")  # which cells are hidden at test time
SPLITS: dict[str, dict[str, type]] = {  # the keys of each kind of split, besides `kind`
    "rows": {"train": int, "valid": int, "test": int},
    "window_share": {"train": float, "valid": float},
    "disjoint": {"train": float, "valid": float},
    "samples": {"test": float, "valid": float, "seed": int},
    "months": {"test": list, "valid": list},
}
MASKS: dict[str, dict[str, type]] = {  # the keys of each kind of training mask, besides `kind`
    "point": {"rate": float},
    "own+point": {"rates": list},
    "entries": {},
}
SCALES = ("train", "series")  # which rows the mean and the standard deviation of a variable are taken from
UNMEASURED = ("", "mean")  # what was never measured is missing; or counts as observed, at its variable's mean
LOSSES = ("", "absolute")  # the model's own; absolute errors over hidden and observed cells


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a dataset: where it lies under the data folder, and where it comes from."""

    path: str
    url: str = ""
    sha256: tuple[str, ...] = ()  # any of these is right: some files are about with two kinds of line ends
    member: str = ""  # the file's name inside the archive at `url`


@dataclass(frozen=True, kw_only=True)
class TrainingSpec:
    """How a network is trained on this dataset."""

    learning_rate: float = 1e-3
    batch_size: int = 16
    mask: Mapping[str, Any] = field(default_factory=lambda: {"kind": "point", "rate": 0.4})
    loss: str = ""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A dataset's description; `source` is set if it is a TOML file of the user's, beside its data."""

    name: str
    reader: str
    files: tuple[File, ...]
    n_vars: int
    window: int
    split: Mapping[str, Any]
    about: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # of the reader
    scenarios: tuple[str, ...] = ("point", "block")
    scale: str = "train"
    unmeasured: str = ""
    training: TrainingSpec = field(default_factory=TrainingSpec)  # the paper's
    recipes: Mapping[str, TrainingSpec] = field(
        default_factory=dict
    )  # other ways, by name; the rest is `training`
    home: str = ""  # the page where people find the files
    licence: str = ""
    source: Path | None = None


FILE_KEYS = tuple(f.name for f in fields(File))


def read_spec(path: Path, source: Path | None) -> Spec:
    """Read and check a description."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}.\nGive the path of a dataset's .toml file."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML: {error}.\nCompare it with the files in {SPECS}.") from None

    _check_known(table, [f.name for f in fields(Spec) if f.name != "source"] + [*FILE_KEYS], "key ", path)
    single = {key: table.pop(key) for key in FILE_KEYS if key in table}
    if single:  # a dataset of one file needs no [[files]]
        table["files"] = [single, *table.get("files", [])]
    table.setdefault("name", path.stem)
    given = _arguments(Spec, table, "", path)
    given["files"] = tuple(File(**_arguments(File, file, "files.", path)) for file in given["files"])
    usual = given.get("training", {})
    given["training"] = TrainingSpec(**_arguments(TrainingSpec, usual, "training.", path))
    given["recipes"] = {
        name: TrainingSpec(**{**usual, **_arguments(TrainingSpec, recipe, f"recipes.{name}.", path)})
        for name, recipe in given.get("recipes", {}).items()
    }
    spec = Spec(**given, source=source)
    _check(spec, path)
    return spec


PLAIN: dict[str, tuple[type, ...]] = {  # annotation -> what TOML may give for it
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "tuple": (list, str),
    "Mapping": (dict,),
    "TrainingSpec": (dict,),
}


def _arguments(kind: type, table: Any, where: str, path: Path) -> dict[str, Any]:
    """A table as arguments of a dataclass: every key known, none missing, each of the right kind."""
    if not isinstance(table, dict):
        raise InputError(f"{path}: {where}{table!r} is no table.\nCompare with the files in {SPECS}.")
    expected = {f.name: f for f in fields(kind) if f.name != "source"}
    _check_known(table, expected, f"key {where}", path)
    result = dict(table)
    for name, f in expected.items():
        annotation = str(f.type).partition("[")[0]
        if name in table:
            value = _of_type(table[name], PLAIN[annotation], f"{where}{name}", path)
            if annotation == "tuple":  # a single text stands for a list of one
                result[name] = (value,) if isinstance(value, str) else tuple(value)
        elif f.default is MISSING and f.default_factory is MISSING:
            wanted = "path" if name == "files" else f"{where}{name}"
            raise InputError(f"{path}: the key {wanted!r} is missing.\nCompare with the files in {SPECS}.")
    return result


def _check(spec: Spec, path: Path) -> None:
    """Names that stand for something must be known: split, scenarios, reader, and their options."""
    if spec.n_vars < 1 or spec.window < 1:
        raise InputError(f"{path}: n_vars and window must be at least 1.\nGive whole numbers above 0.")
    if not spec.files:
        raise InputError(f'{path}: no file is named.\nGive path = "my.csv".')
    _check_kind(spec.split, SPLITS, "split", path, may_lack=("window_share", "disjoint"))
    _check_known([spec.scale], SCALES, "scale ", path)
    _check_known([spec.unmeasured], UNMEASURED, "unmeasured ", path)
    for training in (spec.training, *spec.recipes.values()):
        _check_kind(training.mask, MASKS, "training.mask", path)
        _check_known([training.loss], LOSSES, "training.loss ", path)
    _check_known(spec.scenarios, SCENARIOS, "scenario ", path)
    _check_known([spec.reader], READERS, "reader ", path)
    wanted = N_FILES.get(spec.reader, 1)
    if len(spec.files) != wanted:
        raise InputError(
            f"{path}: the reader {spec.reader} takes {wanted} file{'s' * (wanted > 1)}, "
            f"{len(spec.files)} are named.\n"
            "Name as many, or choose another reader."
        )
    _, *options = inspect.signature(READERS[spec.reader]).parameters.values()
    _check_known(spec.options, [option.name for option in options], "key options.", path)
    for option in options:
        if option.name in spec.options:
            _of_type(spec.options[option.name], (type(option.default),), f"options.{option.name}", path)


def _check_kind(
    table: Mapping[str, Any],
    kinds: Mapping[str, Mapping[str, type]],
    where: str,
    path: Path,
    may_lack: Collection[str] = (),
) -> None:
    """A table with a `kind` has the keys of that kind, and no others; some kinds have defaults for theirs."""
    kind = table.get("kind", "")
    _check_known([kind], kinds, f"{where}.kind ", path)
    given = {key: value for key, value in table.items() if key != "kind"}
    _check_known(given, kinds[kind], f"key {where}.", path)
    for key, type_ in kinds[kind].items():
        if key in given:
            _of_type(given[key], (int, float) if type_ is float else (type_,), f"{where}.{key}", path)
        elif kind not in may_lack:
            raise InputError(
                f"{path}: the {where} by {kind} needs {', '.join(kinds[kind])}, {key!r} is missing.\nAdd it."
            )


def _of_type(value: Any, types: tuple[type, ...], where: str, path: Path) -> Any:
    if not isinstance(value, types) or isinstance(value, bool):
        wanted = " or ".join(type_.__name__ for type_ in types)
        raise InputError(
            f"{path}: {where} = {value!r} should be of type {wanted}.\nCompare with the files in {SPECS}."
        )
    return value


def _check_known(given: Collection[str], known: Collection[str], what: str, path: Path) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{path}: unknown {what}{name}.\n{did_you_mean(name, known)}")
