"""The command line: `t1 impute`, `t1 look`, `t1 train`, `t1 bench` ... A thin shell; only this room prints.

Heavy imports wait until they are needed, so that `t1 --help` answers at once.
"""

import argparse
import sys
from collections.abc import Sequence

from t1 import __version__
from t1.cli.bench import add_bench
from t1.cli.data import add_data
from t1.cli.explain import add_explain
from t1.cli.export import add_export
from t1.cli.fill import add_impute, add_train
from t1.cli.flags import shown
from t1.cli.look import add_look
from t1.cli.models import add_models
from t1.cli.parser import Parser, parse
from t1.cli.pretrain import add_pretrain
from t1.cli.sense import add_sense
from t1.cli.serve import add_serve
from t1.cli.stream import add_stream
from t1.errors import InputError, T1Error


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0: done, 2: the input cannot be used (one message says why), 130: interrupted."""
    arguments = parse(_parser(), argv)
    try:
        code: int = arguments.run(arguments)
        return code
    except T1Error as error:
        text = shown(error) if isinstance(error, InputError) else str(error)
        print(f"t1: {text}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except KeyboardInterrupt:
        print("t1: interrupted, no output file was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="t1", description="Fill the gaps in time series.")
    parser.add_argument("--version", action="version", version=f"t1 {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    add_impute(commands.add_parser("impute", help="fill the gaps of a CSV or Parquet file"))
    add_look(commands.add_parser("look", help="show how a file is understood, without filling it"))
    add_explain(commands.add_parser("explain", help="show from which columns and rows a fill was taken"))
    add_train(commands.add_parser("train", help="train T1 on a file, to be used by impute --model"))
    add_serve(commands.add_parser("serve", help="the same in a browser, and over HTTP"))
    add_stream(commands.add_parser("stream", help="fill rows from a pipe as they arrive"))
    add_sense(commands.add_parser("sense", help="where to measure next, which columns to keep"))
    add_export(commands.add_parser("export", help="write the pretrained network as an ONNX file"))
    add_pretrain(commands.add_parser("pretrain", help="make the weights that fill any table"))
    add_data(commands.add_parser("data", help="the benchmark's datasets: list, info, fetch"))
    add_bench(commands.add_parser("bench", help="the paper's experiments: run, table, status"))
    add_models(commands.add_parser("models", help="every system, who made it, what it costs"))
    return parser
