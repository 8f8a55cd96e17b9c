"""Flags that several commands share, and the options that they become."""

import argparse
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from t1.cli.large import add_memory
from t1.errors import InputError

if TYPE_CHECKING:
    from t1.options import FitOptions


def add_reading(p: argparse.ArgumentParser) -> None:
    read = p.add_argument_group("reading")
    read.add_argument(
        "--time", nargs="+", action="extend", metavar="COL", help="the time column, or a date and a clock"
    )
    read.add_argument("--time-format", metavar="F", help="how it is written: %%d.%%m.%%Y %%H:%%M")
    read.add_argument("--dayfirst", action="store_true", default=None, help="01/02/2020 is 1 February")
    read.add_argument(
        "--id", nargs="+", action="extend", metavar="COL", help="what tells several series apart"
    )
    read.add_argument("--layout", choices=("table", "long", "wide"), help="else it is found")
    read.add_argument("--columns", nargs="+", action="extend", metavar="COL", help="fill only these")
    read.add_argument(
        "--exclude", nargs="+", action="extend", default=[], metavar="COL", help="leave these alone"
    )
    read.add_argument(
        "--missing-value",
        nargs="+",
        action="extend",
        default=[],
        metavar="X",
        help="also means missing: -999",
    )
    read.add_argument("--keep-sentinels", action="store_true", help="-9999 and the like are values")
    read.add_argument(
        "--kind",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL=KIND",
        help="what it is: wind_dir=angle",
    )
    read.add_argument("--separator", metavar="C", help="between cells (else it is found)")
    read.add_argument("--decimal", metavar="C", help=". or , (else it is found)")
    read.add_argument("--encoding", help="of the text (else it is found)")
    read.add_argument("--header-row", type=int, metavar="N", help="the line of the names; 0: there is none")
    read.add_argument("--skip-rows", type=int, default=0, metavar="N", help="leave the first lines alone")
    read.add_argument("--comment", metavar="C", help="what a comment line starts with")
    read.add_argument("--units-row", action="store_true", default=None, help="units are below the names")
    read.add_argument("--sheet", help="of an Excel file (else the first)")


def reading_options(a: argparse.Namespace) -> dict[str, Any]:
    from t1.data.reading import Reading

    names = [f.name for f in fields(Reading) if f.name not in ("missing_values", "kind")]
    kinds = dict(_pair(text) for text in a.kind)
    return {**{name: getattr(a, name) for name in names}, "missing_values": a.missing_value, "kind": kinds}


def _pair(text: str) -> tuple[str, str]:
    name, sign, kind = text.rpartition("=")
    if not sign or not name:
        raise InputError(f"{text!r} is not COL=KIND.", cure="Give for example wind_dir=angle.", option="kind")
    return name, kind


def add_learning(p: argparse._ActionsContainer) -> None:
    p.add_argument(
        "--budget",
        help="fast (nothing is trained), 30s, 5m, 1h or quality (default: 30s; fast for each of many files); "
        "what judging leaves of it goes into tuning T1 on the table",
    )
    p.add_argument(
        "--weights", metavar="PATH", help="pretrained weights: a folder, or none to train T1 from scratch"
    )
    p.add_argument("--seed", type=int, default=102)
    add_memory(p)


def fit_options(a: argparse.Namespace, budget: str = "30s") -> "FitOptions":
    from t1.options import FitOptions

    engine = getattr(a, "engine", "auto")
    return FitOptions(
        method=a.method, budget=a.budget or budget, weights=a.weights, engine=engine, seed=a.seed
    )
