"""`t1 impute 'in/*.csv' -o out/`: many files with one command."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from t1.cli.flags import flag, shown
from t1.cli.interrupt import interruptible
from t1.errors import InputError

if TYPE_CHECKING:
    from t1.bulk.files import FileOutcome
    from t1.options import FillOptions, FitOptions

MOST_FAILURES = 20  # that are printed; the summary has all
FOR_ONE = ("scorecard", "provenance", "report", "in_place")  # options that make no sense for many files
FOR_MANY = ("jobs", "on", "per")


def add_many(p: argparse.ArgumentParser) -> None:
    """The options for many files."""
    many = p.add_argument_group("many files")
    many.add_argument("--jobs", type=int, metavar="N", help="files at a time (default: one for each core)")
    many.add_argument(
        "--per", choices=("file", "series"), help="one fit per file (default), or per series of it"
    )
    add_on(many)


def add_on(p: argparse._ActionsContainer) -> None:
    p.add_argument("--on", metavar="WHERE", help="ray, or ray://HOST:PORT: on a Ray cluster instead of here")


def refuse_many(a: argparse.Namespace) -> None:
    """Refuse options for many files where there is one."""
    for option in FOR_MANY:
        if getattr(a, option) is not None:
            raise InputError(
                f"{flag(option)} is for many files, and {a.input[0]!r} is one",
                cure="Leave it out, or give a folder or a pattern in quotes, such as 'in/*.csv'.",
            )


def impute_many(
    a: argparse.Namespace, reading: dict[str, Any], fit: "FitOptions", fill: "FillOptions"
) -> int:
    """Fill many files into a folder, and say what became of them."""
    from t1.bulk.plan import find_files
    from t1.jobs import executor_of

    for option in FOR_ONE:
        if getattr(a, option):
            raise InputError(
                f"{flag(option)} is for one file",
                cure="Leave it out: the output folder has a summary of all files.",
            )
    output = Path(a.output)
    planned = find_files(a.input, without=output)
    executor = executor_of(a.on, a.jobs)
    with interruptible("finishing the files under way") as should_stop:
        from t1.bulk.files import HowToFill, fill_files
        from t1.bulk.record import PAGE, FolderRecord
        from t1.bulk.summary import headline, summarise, write_summary

        how = HowToFill.of(
            reading, fit, fill, add_missing_rows=a.add_missing_rows, per=a.per or "file", model=a.model
        )
        began = perf_counter()
        with FolderRecord.open(output, [one.name for one in planned]) as record:
            try:
                with _progress(len(planned)) as on_outcome:
                    ended = fill_files(
                        planned, record, how, executor, on_outcome=on_outcome, should_stop=should_stop
                    )
            except KeyboardInterrupt:
                print(
                    f"t1: interrupted; what is filled stays in {output}: the same command goes on",
                    file=sys.stderr,
                )
                return 130
            summary = summarise(ended, perf_counter() - began)
            write_summary(output, summary)
        stopped = len(ended) < len(planned)
    failed = [outcome for outcome in ended if outcome.error is not None]
    for outcome in failed[:MOST_FAILURES]:
        error = outcome.error
        text = shown(error) if isinstance(error, InputError) else str(error)
        print(f"t1: {outcome.name}: {text}", file=sys.stderr)
    if len(failed) > MOST_FAILURES:
        print(f"t1: {len(failed) - MOST_FAILURES} more failed: see the summary", file=sys.stderr)
    if not a.quiet:
        print(f"{headline(summary)}\nsummary: {(output / PAGE).resolve()}")
    if stopped:
        print(f"t1: stopped, {len(planned) - len(ended)} files are left for the next time", file=sys.stderr)
        return 130
    return (2 if any(isinstance(o.error, InputError) for o in failed) else 1) if failed else 0


@contextmanager
def _progress(total: int) -> Iterator[Callable[["FileOutcome"], None]]:
    """One live line on stderr about all files; silent if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda outcome: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as bar:
        task, failed = bar.add_task("", total=total), 0

        def show(outcome: "FileOutcome") -> None:
            nonlocal failed
            failed += outcome.error is not None
            bar.update(task, advance=1, description=f"{outcome.name}{f', {failed} failed' * bool(failed)}")

        yield show
