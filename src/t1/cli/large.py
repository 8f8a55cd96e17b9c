"""`t1 impute` and `t1 train` with a file that is larger than memory: it is filled stretch by stretch."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from t1.bulk.plan import find_files, means_many
from t1.cli.flags import flag
from t1.cli.interrupt import interruptible
from t1.errors import InputError

if TYPE_CHECKING:
    from t1.api import FittedFill
    from t1.options import FillOptions, FitOptions

SHARE = 0.8  # of the free memory that a fill may take
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
AS_A_WHOLE = ("provenance", "report", "add_missing_rows")  # options that need the whole table in memory


def add_memory(p: argparse._ActionsContainer) -> None:
    p.add_argument(
        "--memory",
        type=_bytes,
        metavar="SIZE",
        help="a file that takes more is filled stretch by stretch: 4GB; 0 for always (default: what is free)",
    )


def is_too_large(a: argparse.Namespace) -> bool:
    """Whether a file is to be read in pieces."""
    from t1.data.pieces import memory_free, memory_needed

    if a.input == "-":
        return False
    return memory_needed(a.input) > (SHARE * memory_free() if a.memory is None else a.memory)


def impute_large(
    a: argparse.Namespace,
    reading: dict[str, Any],
    fit: "FitOptions",
    fill: "FillOptions",
    on_understood: Callable[[tuple[str, ...]], None],
) -> int:
    """Fill a file stretch by stretch."""
    for option in AS_A_WHOLE:
        if getattr(a, option):
            raise InputError(
                f"{flag(option)} needs the whole table in memory, and {a.input} is filled stretch by stretch",
                cure=f"Leave it out, or give a larger {flag('memory')}.",
            )
    if a.output == "-":
        raise InputError("a file larger than memory is written to a file", cure="Name one.", option="output")
    with interruptible("filling with the best so far") as should_stop:
        from t1.bulk.stretches import impute_stretches
        from t1.progress import progress_line

        with progress_line("T1 learns") as on_progress, _rows_line() as on_rows:
            result = impute_stretches(
                a.input,
                a.output,
                reading=reading,
                fit_options=fit,
                fill_options=fill,
                model=a.model,
                on_understood=None if a.quiet else on_understood,
                on_progress=on_progress,
                on_rows=on_rows,
                should_stop=should_stop,
            )
    if a.scorecard:
        from t1.data.atomic import open_target

        with open_target(a.scorecard, "scorecard") as stream:
            stream.write(json.dumps(result.scorecard.to_dict(), indent=1, allow_nan=False).encode())
    if not a.quiet:
        notes = [f"note: {problem}" for problem in result.problems]
        print("\n".join([*notes, result.scorecard.to_text()]))
        print(f"\nfilled {result.n_filled:,} cells in {result.seconds:.0f} s: {a.output}")
    return 0


def which_fit(a: argparse.Namespace) -> Callable[..., "FittedFill"]:
    """What fits a fill and keeps it: to a file, to a sample of a large one, or to a sample of many."""
    if means_many(a.input):
        from t1.bulk.train import fit_files

        return partial(fit_files, find_files(a.input), a.output)
    a.input = a.input[0]
    if is_too_large(a):
        from t1.bulk.stretches import fit_large_file

        return partial(fit_large_file, a.input, a.output)
    from t1.api import fit_file

    return partial(fit_file, a.input, a.output)


def _bytes(text: str) -> int:
    """A size such as 500MB or 1.5GB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give for example 500MB or 4GB")
    return int(float(match[1]) * UNITS[match[2].upper()])


@contextmanager
def _rows_line() -> Iterator[Callable[[int, int], None]]:
    """One live line on stderr about the rows that are written; silent if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda rows, of: None
        return

    def show(rows: int, of: int) -> None:
        print(f"\r{rows:,} of about {of:,} rows filled", end="", file=sys.stderr, flush=True)

    yield show
    print(file=sys.stderr)
