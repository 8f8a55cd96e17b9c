"""`t1 look FILE`: how a file is understood, without filling it."""

import argparse

from t1.cli.fill import _add_reading, _reading
from t1.cli.flags import in_flags


def add_look(p: argparse.ArgumentParser) -> None:
    p.description = "Show how a file is understood: its columns, its gaps, what looks odd. Nothing is filled."
    p.set_defaults(run=_look)
    p.add_argument("input", help="a .csv, .csv.gz, .tsv, .txt, .xlsx or .parquet file, or - for a pipe")
    _add_reading(p)


def _look(a: argparse.Namespace) -> int:
    from t1.data.look import look

    print(in_flags(str(look(a.input, **_reading(a)))))
    return 0
