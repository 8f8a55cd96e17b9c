"""What a worker does: fill a file, or look at it. A job is (input, options) -> (output).

`carry_out` runs in any process of any machine that sees the two folders: it prints nothing and knows nothing
of HTTP or of the queue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from filelock import FileLock

from t1.data.atomic import open_target, write_bytes
from t1.data.look import gap_lengths
from t1.errors import InputError, T1Error
from t1.options import FAST, FitOptions, seconds_in
from t1.progress import Progress
from t1.serve.options import JobOptions, parse
from t1.serve.settings import size
from t1.serve.sizes import check_cells, check_table

EVERY = 0.2  # seconds between two events of one stage
RESULT = "result.json"  # written last: an attempt that has it is whole
MAP_BINS = 240
PREVIEW_ROWS = 8
PREVIEW_COLUMNS = 40
MOST_TOLD = 500  # columns of a wide table that are described one by one
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


def _fill(task: Task, tell: OnEvent, should_stop: Callable[[], bool]) -> dict[str, Any]:
    from t1.api import fit_file, impute_file

    options: JobOptions = parse(JobOptions, dict(task.options))
    began = perf_counter()
    whole = None if options.budget == FAST else seconds_in(options.budget)

    last: dict[str, Any] = {"stage": "", "at": 0.0}

    def say(stage: str, **more: Any) -> None:
        spent = perf_counter() - began
        if stage == last["stage"] and spent - last["at"] < EVERY:
            return
        last.update(stage=stage, at=spent)
        left = None if whole is None else max(whole - spent, 0.0)
        known = {"best_error": last.get("best_error")}
        tell({"stage": stage, "seconds": spent, "seconds_left": left, **known, **more})

    def on_progress(progress: Progress) -> None:
        last["best_error"] = progress.best_error or last.get("best_error")
        say(progress.stage, step=progress.step or None, best_loss=progress.best_loss)

    say("reading the file")
    reading = options.reading()
    check_table(task.source, reading, task.max_unpacked, task.max_cells)
    more: dict[str, Any] = {"on_progress": on_progress, "should_stop": should_stop}
    fit_options, model, kept = options.fit_options(), None, None
    if options.keep_model:
        model = task.target / "model"
        fitted = fit_file(task.source, model, reading=reading, options=fit_options, **more)
        fit_options = FitOptions()
        kept = {
            "columns": list(fitted.columns),
            "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
            "scorecard": fitted.scorecard.to_dict(),
        }
        say("filling")
    result = impute_file(
        task.source,
        task.output,
        reading=reading,
        fit_options=fit_options,
        fill_options=options.fill_options(),
        model=model,
        add_missing_rows=options.add_missing_rows,
        **more,
    )
    say("writing the report")
    result = replace(result, name=task.name, seconds=perf_counter() - began)
    with open_target(task.target / "scorecard.json") as stream:
        stream.write(json.dumps(result.to_dict(), indent=1, allow_nan=False).encode())
    with open_target(task.target / "provenance.parquet") as stream:
        result.provenance.to_parquet(stream)
    if len(result.series) > 1:  # the report draws them one after the other
        with open_target(task.target / "order.npy") as stream:
            np.save(stream, np.concatenate(result.series))
    result.report(task.target / "report.html")
    card = result.scorecard
    summary: dict[str, Any] = {
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
    return summary if kept is None else {**summary, "model": kept}


# ---------------------------------------------------------------- looking


def look_at(source: Path, options: Mapping[str, Any], max_unpacked: int, max_cells: int) -> dict[str, Any]:
    """How a file is understood, its gap map and its first rows, as JSON; what is wrong is an InputError."""
    from t1.data.files import read_file
    from t1.data.suspicions import suspicions

    chosen: JobOptions = parse(JobOptions, dict(options))
    chosen.check()
    try:
        check_table(source, {}, max_unpacked, max_cells)
        file = read_file(source, **chosen.reading())
        check_cells(file.values.shape, max_cells)
        rules = chosen.fill_options().rules(file.time, getattr(file, "time_format", None), file.kinds)
        rules.check(file.columns)
    except InputError as error:
        raise InputError(told(error, source), cure=error.cure, option=error.option) from None
    missing = np.isnan(file.values)
    sure = [f"{one}: counts as missing (keep_sentinels)." for one in file.sentinels if one.sure]
    doubts = suspicions(file.values, file.columns, file.kinds)
    names = list(file.all_columns)
    return {
        "understood": list(file.understood),
        "problems": list(dict.fromkeys([*sure, *file.problems, *doubts])),
        "rows": len(file.values),
        "bytes": size(source.stat().st_size),
        "missing": int(missing.sum()),
        "time": list(_names(file.time_column)),
        "id": list(_names(file.id_column)),
        "all_columns": names[:MOST_TOLD],
        "left_alone": dict(list(file.passed_through.items())[:MOST_TOLD]),
        "columns": [_column(file, j) for j in range(min(len(file.columns), MOST_TOLD))],
        "more_columns": max(len(file.columns) - MOST_TOLD, 0),
        "preview": [_start(file.texts(name)) for name in names[:PREVIEW_COLUMNS]],
    }


def explain_at(
    source: Path, column: str, row: int, options: Mapping[str, Any], model: Path
) -> dict[str, Any]:
    """From which columns and which stretch the fill of a cell was taken, by the model that filled it."""
    from t1.explaining import explain_file

    chosen: JobOptions = parse(JobOptions, dict(options))
    try:
        found = explain_file(
            source, column, row, reading=chosen.reading(), options=chosen.fit_options(), model=model
        )
    except InputError as error:
        option = "row" if error.option == "at" else error.option
        raise InputError(told(error, source, model), cure=error.cure, option=option) from None
    plain: dict[str, Any] = json.loads(json.dumps(found.to_dict(), default=str))
    return plain


def _names(given: Any) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _column(file: Any, j: int) -> dict[str, Any]:
    values = file.values[:, j]
    kind = file.kinds[file.columns[j]]
    lengths = gap_lengths(values)
    seen = values[~np.isnan(values)]
    edges = np.linspace(0, len(values), min(MAP_BINS, len(values)) + 1).astype(int)
    shares = [float(np.isnan(values[a:b]).mean()) for a, b in pairwise(edges)] if lengths else []
    return {
        "name": file.columns[j],
        "kind": kind.name,
        "why": kind.evidence,
        "missing": int(sum(lengths)),
        "gaps": len(lengths),
        "longest": max(lengths, default=0),
        "low": float(seen.min()) if len(seen) else None,
        "high": float(seen.max()) if len(seen) else None,
        "map": [round(share, 3) for share in shares],
    }


def _start(cells: list[str]) -> list[str]:
    return [str(cell)[:200] for cell in cells[:PREVIEW_ROWS]]
