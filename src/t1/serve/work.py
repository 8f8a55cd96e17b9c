"""What a worker does to fill a file. A job is (input, options) -> (output).

`carry_out` runs in any process of any machine that sees the two folders: it prints nothing and knows nothing
of HTTP or of the queue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from t1.data.atomic import open_target, write_bytes
from t1.errors import InputError, T1Error
from t1.options import FAST, FitOptions, seconds_in
from t1.progress import Progress
from t1.serve.options import JobOptions, parse
from t1.serve.sizes import check_table

if TYPE_CHECKING:  # the server itself, which only queues jobs, starts without the engine
    from t1.api.filled_table import FilledTable

EVERY = 0.2  # seconds between two events of one stage
RESULT = "result.json"  # written last: an attempt that has it is whole
OnEvent = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A job as an executor sees it."""

    source: Path  # the input file
    target: Path  # the folder of this attempt, where the output goes
    options: Mapping[str, Any]
    name: str  # what the user calls the file: for the report
    max_unpacked: int
    max_cells: int

    @property
    def output(self) -> Path:
        return self.target / f"filled{''.join(self.source.suffixes)}"

    @property
    def model(self) -> Path:
        return self.target / "model"


def carry_out(task: Task, tell: OnEvent, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Fill the file and say how it ended; what the user can mend is a problem, not an exception."""
    # a worker of a server that was killed may not have noticed yet
    with FileLock(task.source.with_name("running.lock"), timeout=60):
        return _carry_out(task, tell, should_stop)


def _carry_out(task: Task, tell: OnEvent, should_stop: Callable[[], bool]) -> dict[str, Any]:
    task.target.mkdir(parents=True, exist_ok=True)
    try:
        ended: dict[str, Any] = {"state": "done", "summary": _fill(task, tell, should_stop)}
    except MemoryError:
        ended = {"state": "failed", "problem": {"detail": "the table needs more memory than a worker has"}}
    except RuntimeError as error:
        if "alloc" not in str(error):  # torch's word for it
            raise
        ended = {"state": "failed", "problem": {"detail": "the table needs more memory than a worker has"}}
    except InputError as error:
        problem = {"detail": told(error, task.source, task.target), "cure": error.cure, "field": error.option}
        ended = {"state": "failed", "problem": problem}
    except T1Error as error:
        ended = {"state": "failed", "problem": {"detail": str(error)}}
    write_bytes(task.target / RESULT, json.dumps(ended, allow_nan=False).encode())
    return ended


def told(error: InputError, *places: Path) -> str:
    """The message without the server's own paths."""
    message = error.message
    for place in places:
        message = message.removeprefix(f"{place}: ").replace(f"{place}/", "").replace(str(place), "the file")
    return message


class _Stages:
    """Tells what a job is doing: each stage at once, news of the same one every EVERY seconds."""

    def __init__(self, tell: OnEvent, budget: str) -> None:
        self.tell, self.began = tell, perf_counter()
        self.whole = None if budget == FAST else seconds_in(budget)
        self.stage, self.told = "", 0.0
        self.best_error: float | None = None

    @property
    def seconds(self) -> float:
        return perf_counter() - self.began

    def say(self, stage: str, **more: Any) -> None:
        spent = self.seconds
        if stage == self.stage and spent - self.told < EVERY:
            return
        self.stage, self.told = stage, spent
        left = None if self.whole is None else max(self.whole - spent, 0.0)
        known = {"stage": stage, "seconds": spent, "seconds_left": left, "best_error": self.best_error}
        self.tell({**known, **more})

    def on_progress(self, progress: Progress) -> None:
        self.best_error = progress.best_error or self.best_error
        self.say(progress.stage, step=progress.step or None, best_loss=progress.best_loss)


def _fill(task: Task, tell: OnEvent, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """One job from reading to report; what it made, in short."""
    options: JobOptions = parse(JobOptions, dict(task.options))
    stages = _Stages(tell, options.budget)
    stages.say("reading the file")
    check_table(task.source, options.reading(), task.max_unpacked, task.max_cells)
    watch: dict[str, Any] = {"on_progress": stages.on_progress, "should_stop": should_stop}
    model = _keep_model(task, options, watch) if options.keep_model else None
    if model is not None:
        stages.say("filling")
    result = _filled(task, options, watch)
    stages.say("writing the report")
    result = replace(result, name=task.name, seconds=stages.seconds)
    _write_files(task.target, result)
    summary = _summary(result)
    return summary if model is None else {**summary, "model": model}


def _keep_model(task: Task, options: JobOptions, watch: dict[str, Any]) -> dict[str, Any]:
    """Fit the file and keep what was learned beside the output; what is to be known of it."""
    from t1.api import fit_file

    fitted = fit_file(
        task.source, task.model, reading=options.reading(), options=options.fit_options(), **watch
    )
    return {
        "columns": list(fitted.columns),
        "bytes": sum(path.stat().st_size for path in task.model.rglob("*") if path.is_file()),
        "scorecard": fitted.scorecard.to_dict(),
    }


def _filled(task: Task, options: JobOptions, watch: dict[str, Any]) -> FilledTable:
    """Write the filled file; with a model that was kept nothing is learned again."""
    from t1.api import impute_file

    return impute_file(
        task.source,
        task.output,
        reading=options.reading(),
        fit_options=FitOptions() if options.keep_model else options.fit_options(),
        fill_options=options.fill_options(),
        model=task.model if options.keep_model else None,
        add_missing_rows=options.add_missing_rows,
        **watch,
    )


def _write_files(target: Path, result: FilledTable) -> None:
    """What lies beside the filled file: scorecard, provenance, report."""
    with open_target(target / "scorecard.json") as stream:
        stream.write(json.dumps(result.to_dict(), indent=1, allow_nan=False).encode())
    with open_target(target / "provenance.parquet") as stream:
        result.provenance.to_parquet(stream)
    if len(result.series) > 1:  # the report draws them one after the other
        with open_target(target / "order.npy") as stream:
            np.save(stream, np.concatenate(result.series))
    result.report(target / "report.html")


def _summary(result: FilledTable) -> dict[str, Any]:
    card = result.scorecard
    return {
        "filled": result.n_filled,
        "missing": card.missing,
        "verdict": card.verdict,
        "scaled_mae": card.scaled_mae,
        "linear_scaled_mae": card.linear_scaled_mae,
        "coverage": card.coverage,
        "level": card.level,
        "understood": list(result.understood),
        "problems": list(result.problems),
        "columns": list(result.columns),
        "seconds": result.seconds,
    }
