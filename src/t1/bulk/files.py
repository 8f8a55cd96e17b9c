"""Fill many files: each by itself, or all with one fitted fill."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any

from t1 import __version__
from t1.api.files import impute_file
from t1.api.fitted import load_chosen
from t1.bulk.facts import table_facts
from t1.bulk.plan import Planned
from t1.bulk.record import FolderRecord
from t1.bulk.series import impute_each_series
from t1.data.data_file import read_bytes
from t1.errors import InputError, T1Error
from t1.jobs import JobRunner
from t1.options import FillOptions, FitOptions
from t1.weights import load_pretrained, read_card

Folder = Mapping[str, bytes]  # the files of a folder by their names


@dataclass(frozen=True, kw_only=True)
class HowToFill:
    """What all files share. Folders travel as bytes: a worker may be on a machine that does not have them."""

    reading: Mapping[str, Any]
    fit: FitOptions
    fill: FillOptions
    add_missing_rows: bool = False
    per: str = "file"  # one fit per file, or per series of a file
    model: Folder | None = None
    weights: Folder | None = None  # instead of fit.weights, where that is a folder

    @classmethod
    def of(
        cls,
        reading: Mapping[str, Any],
        fit: FitOptions,
        fill: FillOptions,
        *,
        model: str | Path | None = None,
        **more: Any,
    ) -> HowToFill:
        """With the model and the weights read from their folders; what cannot be used is told now."""
        if more.get("per") == "series" and (model is not None or more.get("add_missing_rows")):
            raise InputError(
                "a fit per series goes neither with a fitted model nor with rows to add",
                cure="Leave one of them out.",
                option="per",
            )
        load_chosen(model, fit)
        weights = None
        if fit.weights not in (None, "none"):
            load_pretrained(fit.weights)
            weights = read_folder(str(fit.weights))
        files = None if model is None else read_folder(model)
        return cls(reading=reading, fit=fit, fill=fill, model=files, weights=weights, **more)

    @property
    def checksum(self) -> str:
        """Of everything that a fill depends on but the file itself."""
        fit = asdict(self.fit) | {"weights": None if self.weights else self.fit.weights}
        shipped = read_card()["sha256"] if self.weights is None and self.model is None else None
        parts = [
            __version__,
            shipped,
            dict(self.reading),
            fit,
            asdict(self.fill),
            self.add_missing_rows,
            self.per,
        ]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode())
        for folder in (self.model, self.weights):
            for name, data in sorted((folder or {}).items()):
                digest.update(name.encode() + hashlib.sha256(data).digest())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class FileJob:
    """One file to fill: its name, its bytes and their checksum."""

    name: str
    data: bytes = field(repr=False)
    source: str


@dataclass(frozen=True)
class FilledFile:
    """The same file with its gaps filled, and what there is to say about it."""

    data: bytes = field(repr=False)
    facts: dict[str, Any]


@dataclass(frozen=True)
class FileOutcome:
    """How one file ended."""

    name: str
    how: str  # "filled", "was filled" or "failed"
    facts: Mapping[str, Any] = field(default_factory=dict)
    error: T1Error | None = None


def fill_files(
    planned: Sequence[Planned],
    record: FolderRecord,
    how: HowToFill,
    executor: JobRunner,
    *,
    on_outcome: Callable[[FileOutcome], None] = lambda outcome: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[FileOutcome]:
    """Fill every file that is not filled yet; `on_outcome` hears of each as it ends.

    Workers get bytes and give bytes back, and only this process writes: no file is written twice, and the
    workers need not see this machine's disk.
    """
    options = how.checksum
    outcomes: list[FileOutcome] = []

    def end(outcome: FileOutcome) -> None:
        outcomes.append(outcome)
        on_outcome(outcome)

    def jobs() -> Iterator[FileJob]:
        for one in planned:
            try:
                data = read_bytes(one.source)
            except InputError as error:
                end(FileOutcome(one.name, "failed", error=error))
                continue
            source = hashlib.sha256(data).hexdigest()
            if record.has(one.name, source, options):
                end(FileOutcome(one.name, "was filled", record.done[one.name]["facts"]))
            else:
                yield FileJob(one.name, data, source)

    for job, result in executor.run(fill_one, how, jobs(), should_stop):
        if isinstance(result, FilledFile):
            record.keep(job.name, result.data, source=job.source, options=options, facts=result.facts)
            end(FileOutcome(job.name, "filled", result.facts))
        else:
            end(FileOutcome(job.name, "failed", error=result))
    return sorted(outcomes, key=lambda outcome: outcome.name)


def fill_one(how: HowToFill, job: FileJob) -> FilledFile:
    """Fill one file; runs in a process or on a machine of its own."""
    began = perf_counter()
    weights = how.fit.weights if how.weights is None else _unpacked(_Files(how.weights))
    fit = replace(how.fit, weights=weights)
    with tempfile.TemporaryDirectory(prefix="t1-") as folder:
        name = PurePosixPath(job.name).name
        source, target = Path(folder, name), Path(folder, f"filled-{name}")
        source.write_bytes(job.data)
        options: dict[str, Any] = {"reading": how.reading, "fit_options": fit, "fill_options": how.fill}
        try:
            if how.per == "series":
                facts = impute_each_series(source, target, **options)
            else:
                model = None if how.model is None else _unpacked(_Files(how.model))
                table = impute_file(
                    source, target, **options, model=model, add_missing_rows=how.add_missing_rows
                )
                facts = table_facts(table)
        except InputError as error:  # the user knows the file by another name
            message = error.message.replace(f"{source}: ", "")
            raise InputError(message, cure=error.cure, option=error.option) from None
        return FilledFile(target.read_bytes(), {**facts, "seconds": round(perf_counter() - began, 3)})


def read_folder(folder: str | Path) -> Folder:
    """The files of a folder, to be sent."""
    return {one.name: one.read_bytes() for one in sorted(Path(folder).iterdir()) if one.is_file()}


@dataclass(frozen=True)
class _Files:
    """A folder that can be looked up, by its content."""

    files: Folder

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.files.items())))


@lru_cache(maxsize=4)
def _unpacked(given: _Files) -> Path:
    """A folder of this worker's with those files, made once."""
    folder = tempfile.TemporaryDirectory(prefix="t1-shared-")
    _KEPT.append(folder)
    for name, data in given.files.items():
        Path(folder.name, name).write_bytes(data)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # deleted when the process ends
