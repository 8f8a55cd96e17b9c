"""What a training run tells while it goes on, and one line on the terminal that shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from t1.durations import duration


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands; what is not known (yet) is None."""

    step: int
    total_steps: int | None  # if the run has no time limit
    epoch: int  # the first is 1
    train_loss: float | None  # the mean since the last validation
    valid_loss: float | None  # of the last validation
    best_loss: float | None
    learning_rate: float
    steps_per_second: float | None
    seconds: float
    seconds_left: float | None  # by the budget that will end first; early stopping may come before
    stage: str = "training"
    best_error: float | None = (
        None  # of the best method so far on hidden cells, in units of a column's spread
    )

    @classmethod
    def at(cls, stage: str, best_error: float | None = None) -> Progress:
        """A stage of the work in which nothing is trained."""
        return cls(
            step=0,
            total_steps=None,
            epoch=0,
            train_loss=None,
            valid_loss=None,
            best_loss=None,
            learning_rate=0.0,
            steps_per_second=None,
            seconds=0.0,
            seconds_left=None,
            stage=stage,
            best_error=best_error,
        )


OnProgress = Callable[[Progress], None]


@contextmanager
def progress_line(title: str) -> Iterator[OnProgress]:
    """A function that shows Progress as one live line on stderr; silent if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    if not console.is_interactive:  # a terminal that cannot move its cursor
        yield lambda progress: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(10), TextColumn("{task.fields[line]}"))
    with RichProgress(*columns, console=console, refresh_per_second=4) as bar:
        task = bar.add_task(title, total=None, line="")

        def show(progress: Progress) -> None:
            total = None if progress.seconds_left is None else progress.seconds + progress.seconds_left
            bar.update(task, completed=progress.seconds, total=total, line=describe(progress))

        yield show


def describe(progress: Progress) -> str:
    """One line: epoch, time left, losses and speed, without what is not known."""
    parts = [f"epoch {progress.epoch}"] if progress.epoch else [progress.stage]
    if progress.seconds_left is not None:
        parts.append(f"{duration(progress.seconds_left)} left")
    if progress.train_loss is not None:
        parts.append(f"loss {progress.train_loss:.4f}")
    if progress.valid_loss is not None:
        parts.append(f"valid {progress.valid_loss:.4f}")
    if progress.best_loss is not None:
        parts.append(f"best {progress.best_loss:.4f}")
    if progress.steps_per_second is not None:
        parts.append(f"{progress.steps_per_second:.1f} steps/s")
    return "  ".join(parts)
