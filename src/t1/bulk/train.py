"""One fitted fill for many files of the same columns: learned from a sample of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import default_rng

from t1.api.files import OnUnderstood
from t1.api.fitted import FittedFill, judge
from t1.bulk.plan import Planned
from t1.data.files import DataFile, read_file
from t1.data.kinds import Kind, find_kinds
from t1.data.place import Placed
from t1.errors import InputError
from t1.options import FitOptions
from t1.panel import Panel
from t1.progress import OnProgress

FILES = 32  # of the sample
ROWS = 98304  # of all files of the sample together
LEAST_ROWS = 1024  # of one file, if it has as many


def fit_files(
    planned: Sequence[Planned],
    folder: str | Path,
    *,
    reading: Mapping[str, Any],
    options: FitOptions,
    on_understood: OnUnderstood | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FittedFill:
    """Learn one fill from a sample of many files, and keep it in a folder for `impute_file(model=folder)`.

    Every series of every file is learned from as one of many of a kind, under the id None; so the fill serves
    files and series that it has not seen.
    """
    began = perf_counter()
    chosen = [planned[k] for k in np.unique(np.linspace(0, len(planned) - 1, FILES).astype(int))]
    files = [read_file(one.source, **reading) for one in chosen]
    for one, file in zip(chosen, files, strict=True):
        if file.columns != files[0].columns:
            raise InputError(
                f"{one.source} has other columns than {chosen[0].source}: "
                f"{', '.join(file.columns[:8])} and {', '.join(files[0].columns[:8])}",
                cure="Train on files of the same columns, or name the columns that all have.",
                option="columns",
            )
    if on_understood is not None:
        on_understood((f"{chosen[0].name}: {files[0].understood[0]}", *files[0].understood[1:]))
    rng = default_rng(options.seed)
    most = max(ROWS // len(files), LEAST_ROWS)
    panel = Panel.stack([_stretch(file, most, rng) for file in files])
    kinds = _kinds(files)
    learning = options.learning(began, every=True, on_progress=on_progress, should_stop=should_stop)
    learning.notes.append(f"learned from {panel.n_rows:,} rows of {len(files)} of {len(planned):,} files")
    judged = judge(panel, learning, options, kinds)
    fitted = FittedFill(judged, files[0].roles, kinds)
    fitted.save(folder)
    return fitted


def _stretch(file: DataFile, rows: int, rng: np.random.Generator) -> Panel:
    """Some rows of a file that follow each other, of each of its series."""
    panel = Placed.of(file.values, file.columns, file.time, file.ids).panel
    share = min(rows / max(panel.n_rows, 1), 1.0)
    stretches = []
    for s, span in enumerate(panel.spans):
        length = span.stop - span.start
        size = max(round(share * length), min(length, 1))
        begin = span.start + int(rng.integers(0, length - size + 1))
        stretches.append((s, begin, begin + size))
    part = panel if share == 1 else panel.take(stretches)
    return replace(part, ids=(None,) * len(part.starts))


def _kinds(files: Sequence[DataFile]) -> dict[str, Kind]:
    """What columns are, by what all files of the sample say."""
    sizes = [len(file.values) for file in files]
    times = [file.time for file in files if file.time is not None]
    return find_kinds(
        np.concatenate([file.values for file in files]),
        files[0].columns,
        ids=np.repeat(np.arange(len(files)), sizes),
        times=np.concatenate(times) if len(times) == len(files) else None,
        given=files[0].kind,
    )
