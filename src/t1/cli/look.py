"""`t1 look FILE`: how a file is understood, without filling it."""

import argparse
import shlex
from dataclasses import replace
from typing import Any

from t1.cli.flags import flag, in_flags
from t1.cli.shared_flags import add_reading, reading_options


def add_look(p: argparse.ArgumentParser) -> None:
    p.description = "Show how a file is understood: its columns, its gaps, what looks odd. Nothing is filled."
    p.set_defaults(run=_look)
    p.add_argument("input", help="a .csv, .csv.gz, .tsv, .txt, .xlsx or .parquet file, or - for a pipe")
    add_reading(p)


def _look(a: argparse.Namespace) -> int:
    from t1.data.look import look

    reading = reading_options(a)
    found = look(a.input, **reading)
    words = [word for name, value in reading.items() for word in _words(name, value)]
    print(in_flags(str(replace(found, command=f"{found.command} {shlex.join(words)}".strip()))))
    return 0


def _words(name: str, value: Any) -> list[str]:
    """An option as it was given, for the command that fills the file."""
    if (not value and value != 0) or value is False or (name == "skip_rows" and not value):
        return []
    if value is True:
        return [flag(name)]
    if isinstance(value, dict):
        return [flag(name), *(f"{column}={kind}" for column, kind in value.items())]
    if name == "missing_values":
        return [word for text in value for word in (flag(name), text)]
    return [flag(name), *(value if isinstance(value, list) else [str(value)])]
