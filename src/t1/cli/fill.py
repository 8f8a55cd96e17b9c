"""`t1 impute in.csv -o out.csv` and `t1 train`."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from t1.bulk.plan import means_many
from t1.cli.flags import in_flags
from t1.cli.interrupt import interruptible
from t1.cli.large import impute_large, is_too_large, which_fit
from t1.cli.many import add_many, impute_many, refuse_many
from t1.cli.shared_flags import add_learning, add_reading, fit_options, reading_options
from t1.errors import InputError

if TYPE_CHECKING:
    from t1.api import FilledTable
    from t1.options import FillOptions


def add_impute(p: argparse.ArgumentParser) -> None:
    p.description = "Fill the gaps of a CSV or Parquet file; everything else stays as it is, to the byte."
    p.set_defaults(run=_impute)
    p.add_argument(
        "input",
        nargs="+",
        help="a .csv, .csv.gz, .tsv or .parquet file, or - for a pipe; many: 'in/*.csv', or a folder",
    )
    p.add_argument("-o", "--output", required=True, help="where to write: a file, - for a pipe, or a folder")
    p.add_argument("--in-place", action="store_true", help="allow the output to be the input")
    add_reading(p)
    fill = p.add_argument_group("filling")
    fill.add_argument("--method", help="one for all: linear, seasonal, regression, t1, ... (t1 models)")
    fill.add_argument("--model", metavar="FOLDER", help="a folder that t1 train wrote: nothing is learned")
    add_learning(fill)
    fill.add_argument(
        "--engine",
        default="auto",
        help="what runs the pretrained T1: torch, or onnx (with --budget fast); auto takes the faster",
    )
    fill.add_argument("--add-missing-rows", action="store_true", help="insert rows for absent time stamps")
    fill.add_argument(
        "--intervals", type=float, metavar="LEVEL", help="add <col>_lo and <col>_hi: 0.9 for 90 %%"
    )
    fill.add_argument("--max-gap", type=int, metavar="N", help="leave longer gaps empty")
    fill.add_argument("--min", nargs="+", action="extend", default=[], metavar="COL=X", help="no fill below")
    fill.add_argument("--max", nargs="+", action="extend", default=[], metavar="COL=X", help="no fill above")
    fill.add_argument(
        "--integer", nargs="+", action="extend", default=[], metavar="COL", help="whole numbers only"
    )
    fill.add_argument(
        "--lock", nargs="+", action="extend", default=[], metavar="START..END", help="never fill there"
    )
    add_many(p)
    tell = p.add_argument_group("telling")
    tell.add_argument("--scorecard", metavar="FILE", help="write the scorecard as JSON")
    tell.add_argument("--provenance", metavar="FILE", help="where each fill came from: .csv or .parquet")
    tell.add_argument("--report", metavar="FILE", help="one HTML page to look at")
    tell.add_argument("-q", "--quiet", action="store_true", help="print only errors")


def add_train(p: argparse.ArgumentParser) -> None:
    p.description = "Fit to a file, judge the fit, and keep it in a folder."
    p.set_defaults(run=_train)
    p.add_argument(
        "input",
        nargs="+",
        help="a .csv, .csv.gz, .tsv or .parquet file, or - for a pipe; many: 'in/*.csv', or a folder",
    )
    p.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where to keep the model")
    add_reading(p)
    p.add_argument("--method", help="one for all: linear, seasonal, regression, t1, ... (t1 models)")
    add_learning(p)


def _fill_options(a: argparse.Namespace) -> "FillOptions":
    from t1.options import FillOptions

    return FillOptions(
        intervals=a.intervals,
        max_gap=a.max_gap,
        minimum=_bounds("--min", a.min),
        maximum=_bounds("--max", a.max),
        integer=a.integer,
        lock=a.lock,
    )


def _train(a: argparse.Namespace) -> int:
    fit = which_fit(a)
    with interruptible("keeping the best so far") as should_stop:
        from t1.progress import progress_line

        with progress_line("T1 learns") as on_progress:
            fitted = fit(
                reading=reading_options(a),
                options=fit_options(a),
                on_understood=_tell_understood(sys.stdout),
                on_progress=on_progress,
                should_stop=should_stop,
            )
    for note in fitted.judged.notes:
        print(f"note: {note}")
    print(fitted.scorecard.to_text())
    print(f"\nfitted in {fitted.judged.seconds:.0f} s: {a.output}")
    return 0


def _impute(a: argparse.Namespace) -> int:
    if means_many(a.input):
        return impute_many(a, reading_options(a), fit_options(a, "fast"), _fill_options(a))
    refuse_many(a)
    a.input = a.input[0]
    if a.output != "-" and a.input != "-" and not a.in_place and _same(a.input, a.output):
        raise InputError(
            "the output is the input, whose gaps would be lost.\nAdd --in-place if you want that."
        )
    _check_extras(a)
    if is_too_large(a):
        return impute_large(
            a, reading_options(a), fit_options(a), _fill_options(a), _tell_understood(sys.stdout)
        )
    with interruptible("filling with the best so far") as should_stop:  # imports take seconds: from now on
        from t1.api import impute_file
        from t1.progress import progress_line

        with progress_line("T1 learns") as on_progress:
            result = impute_file(
                a.input,
                a.output,
                reading=reading_options(a),
                fit_options=fit_options(a),
                fill_options=_fill_options(a),
                model=a.model,
                add_missing_rows=a.add_missing_rows,
                on_understood=None if a.quiet else _tell_understood(_screen(a)),
                on_progress=on_progress,
                should_stop=should_stop,
            )
    try:
        _write_extras(a, result)
    except (InputError, OSError) as error:
        where = "" if a.output == "-" else f" to {a.output}"
        raise InputError(f"the fill was written{where}, but not all that was asked for: {error}") from None
    if not a.quiet:
        _tell(a, result)
    return 0


def _check_extras(a: argparse.Namespace) -> None:
    """What is written beside the fill must be possible: told before time is spent."""
    from t1.data.atomic import check_target

    for option in ("scorecard", "provenance", "report"):
        if (target := getattr(a, option)) is not None:
            check_target(target, option)
    if a.report is not None:
        from t1.report import check_report

        check_report(a.report)


def _write_extras(a: argparse.Namespace, result: "FilledTable") -> None:
    from t1.data.atomic import open_target

    if a.scorecard:
        with open_target(a.scorecard, "scorecard") as stream:
            stream.write(json.dumps(result.to_dict(), indent=1, allow_nan=False).encode())
    if a.provenance:
        with open_target(a.provenance, "provenance") as stream:
            if str(a.provenance).endswith((".parquet", ".pq")):
                result.provenance.to_parquet(stream)
            else:
                result.provenance.to_csv(stream, index=False)
    if a.report:
        result.report(a.report)


def _screen(a: argparse.Namespace) -> TextIO:
    """Where words go: to stderr when the table itself goes to stdout."""
    return sys.stderr if a.output == "-" else sys.stdout


def _tell_understood(out: TextIO) -> Callable[[tuple[str, ...]], None]:
    return lambda lines: print(*map(in_flags, lines), sep="\n", file=out, flush=True)


def _tell(a: argparse.Namespace, result: "FilledTable") -> None:
    """The scorecard in words."""
    out = _screen(a)
    for problem in result.problems:
        print(f"note: {in_flags(problem)}", file=out)
    print(result.scorecard.to_text(), file=out)
    print(f"\nfilled {result.n_filled:,} cells in {result.seconds:.0f} s: {a.output}", file=out)
    if a.report:
        print(f"report: {Path(a.report).resolve()}", file=out)


def _bounds(option: str, given: Sequence[str]) -> dict[str, float]:
    bounds = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        try:
            bounds[name] = float(number)
        except ValueError:
            sign = ""
        if not sign or not name:
            raise InputError(f"{option} {text!r} is not COL=NUMBER.\nGive for example {option} speed=0.")
    return bounds


def _same(one: str, other: str) -> bool:
    return Path(other).exists() and Path(one).exists() and Path(one).samefile(other)
