"""Read the files of a benchmark dataset: one function per format, each gives a `Raw`."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray
from t1.errors import InputError
from t1.registry import Registry

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Raw:
    """What a file holds, in its own units."""

    values: FloatArray  # (rows, vars), NaN where missing
    columns: tuple[str, ...]
    times: npt.NDArray[Any] | None = None  # (rows,), as written in the file
    hidden: BoolArray | None = None  # (rows, vars), observed entries that the dataset keeps for evaluation


Reader = Callable[..., Raw]  # (paths, *, options)
READERS: Registry[Reader] = Registry("reader")
N_FILES = {"aqi36": 2}  # of a reader; one for all others
BRINGS_ENTRIES = ("aqi36",)  # readers whose datasets say which entries are evaluated


@READERS.add("csv")
def read_csv(paths: Sequence[Path], *, time: str = "date", encoding: str = "") -> Raw:
    """One table with a header line; the column `time` is set aside (time = "" if there is none).

    Without an `encoding` it is UTF-8, or else Latin-1: copies of Weather are about in both.
    """
    (path,) = paths
    table = _read_table(path, encoding)
    times = None
    if time:
        if time not in table.columns:
            raise InputError(
                f"{path} has no column {time!r}; it has {', '.join(map(repr, table.columns[:8]))}.\n"
                'Name the column of dates in the spec, options = { time = "..." }, "" if there is none.'
            )
        times = table.pop(time).to_numpy()
    for name, dtype in table.dtypes.items():
        if dtype.kind not in "iuf":
            raise InputError(
                f"{path}: column {name!r} does not hold numbers.\n"
                "Take it out of the file, or download the file again."
            )
    columns = tuple(str(name) for name in table.columns)
    return Raw(values=table.to_numpy(np.float64), columns=columns, times=times)


@READERS.add("npz")
def read_npz(paths: Sequence[Path], *, key: str = "data", feature: int = 0) -> Raw:
    """An array (time, vars), or one `feature` of an array (time, vars, features), from a numpy archive."""
    (path,) = paths
    try:
        with np.load(path, allow_pickle=False) as archive:
            if key not in archive:
                raise InputError(
                    f"{path} has no array {key!r}; it has {', '.join(archive)}.\n"
                    'Name the array in the spec: options = { key = "..." }.'
                )
            values = archive[key]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is no numpy archive: {error}.\nDownload it again.") from None
    if values.ndim == 3 and 0 <= feature < values.shape[2]:
        values = values[:, :, feature]
    if values.ndim != 2:
        raise InputError(
            f"{path}: expected (time, vars) or (time, vars, features) with feature {feature}, "
            f"got shape {values.shape}.\nGive the array and the feature in the spec's options."
        )
    return Raw(values=values.astype(np.float64), columns=tuple(str(j) for j in range(values.shape[1])))


STATIC = ("Age", "Gender", "Height", "ICUType", "RecordID")  # written once per patient, no time series


@READERS.add("physionet2012")
def read_physionet2012(paths: Sequence[Path], *, hours: int = 48, bin: str = "mean") -> Raw:
    """One file per patient in a tar archive -> `hours` hourly rows per patient, patients by record number."""
    import pandas as pd

    if bin not in ("mean", "last"):
        raise InputError(f'unknown bin {bin!r} for hourly values.\nUse bin = "mean" or bin = "last".')
    (path,) = paths
    texts = _patients(path)
    lines = pd.read_csv(
        io.StringIO("".join(texts)),
        names=["time", "parameter", "value"],
        dtype={"time": "category", "parameter": "category"},
    )
    patient = np.repeat(np.arange(len(texts)), [text.count("\n") for text in texts])
    hour = np.array([int(time[:2]) for time in lines["time"].cat.categories])[lines["time"].cat.codes]
    found = list(lines["parameter"].cat.categories)
    columns = sorted(set(found) - set(STATIC))
    place = {name: j for j, name in enumerate(columns)}
    column = np.array([place.get(name, -1) for name in found])[lines["parameter"].cat.codes]
    value = lines["value"].to_numpy(np.float64)
    # A time of exactly 48:00 (41 lines) lies after the last bin, as in the public loaders (TSDB, CSDI).
    # -1 is the archive's "not recorded": it occurs for Weight alone, 326 times. Other odd values (22 negative
    # temperatures, a pH of 735) are what was measured or typed, and stay, as everywhere.
    keep = (hour < hours) & (column >= 0) & (value != -1)
    cell, value = ((patient * hours + hour) * len(columns) + column)[keep], value[keep]

    values = np.full(len(texts) * hours * len(columns), np.nan)
    # **choice**: TSDB / BenchPOTS, whose 37 variables and 3,997 patients the paper's counts match, averages
    # within the hour; CSDI (35 variables) takes the last value. It concerns one cell in eight.
    if bin == "mean":
        count = np.bincount(cell, minlength=len(values))
        np.divide(np.bincount(cell, value, len(values)), count, out=values, where=count > 0)
    else:
        values[cell] = value  # of several for one cell, the last one stays
    samples = values.reshape(len(texts), hours, len(columns))
    # Patients without a single measurement drop out: three of set-a, 3,997 remain.
    samples = samples[~np.isnan(samples).all(axis=(1, 2))]
    return Raw(values=samples.reshape(-1, len(columns)), columns=tuple(columns))


def _patients(path: Path) -> list[str]:
    """The lines of each patient's file without the header, in order of record number, read in memory."""
    texts = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.name.endswith(".txt") else None
                if stream is not None:
                    text = stream.read().decode().replace("\r\n", "\n").rstrip("\n") + "\n"
                    texts[int(Path(member.name).stem)] = text.partition("\n")[2]
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise InputError(f"{path} is no archive of patient files: {error}.\nDownload it again.") from None
    if not texts:
        raise InputError(f"{path} holds no patient file (set-a/132539.txt, ...).\nDownload it again.")
    return [texts[record] for record in sorted(texts)]


@READERS.add("aqi36")
def read_aqi36(paths: Sequence[Path], *, time: str = "datetime") -> Raw:
    """The measured table and the same with evaluation entries taken out; those are `hidden`."""
    ground, missing = (read_csv([path], time=time) for path in paths)
    if ground.columns != missing.columns or not np.array_equal(ground.times, missing.times):  # type: ignore[arg-type]
        raise InputError(
            f"{paths[0]} and {paths[1]} do not have the same rows and columns.\nDownload them again."
        )
    hidden = ~np.isnan(ground.values) & np.isnan(missing.values)
    return Raw(values=ground.values, columns=ground.columns, times=ground.times, hidden=hidden)


def _read_table(path: Path, encoding: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(path, encoding=encoding or "utf-8")
    except UnicodeDecodeError:
        if not encoding:
            return _read_table(path, "latin-1")
        raise InputError(
            f"{path} is not encoded as {encoding}.\nGive its encoding in the spec's options, such as latin-1."
        ) from None
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r} for {path}.\nUse utf-8 or latin-1.") from None
    except ValueError as error:  # pandas' ParserError and EmptyDataError
        raise InputError(f"{path} is no CSV table: {error}.\nDownload it again.") from None
