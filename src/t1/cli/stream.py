"""`t1 stream --model m/`: rows from a pipe, one line each, filled as they arrive."""

import argparse
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from t1.errors import InputError

if TYPE_CHECKING:
    from t1.live.fill import LiveFill


def add_stream(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Read rows from a pipe, as CSV with a line of names or as JSON objects, and write each one filled, "
        "and earlier ones again as later rows tell more."
    )
    p.set_defaults(run=_stream)
    p.add_argument("--model", required=True, metavar="FOLDER", help="a folder that t1 train wrote")
    p.add_argument("--lag", type=int, default=48, metavar="N", help="rows that are revised (default: 48)")
    p.add_argument(
        "--intervals", type=float, default=0.9, metavar="LEVEL", help="of each fill (default: 0.9)"
    )
    p.add_argument("--time", metavar="COL", help="of the time (else that of the fitted file)")
    p.add_argument(
        "--time-format", metavar="F", help="how it is written: %%d.%%m.%%Y %%H:%%M (else as in ISO 8601)"
    )
    p.add_argument("--step", metavar="TIME", help="between rows: 1h, 15m (else that of the fitted file)")
    p.add_argument("--id", metavar="COL", help="what tells several series apart")
    p.add_argument("--separator", default=",", metavar="C", help="between the cells of a CSV line")
    p.add_argument("--newest-only", action="store_true", help="write each row once, without revisions")
    p.add_argument("--state", metavar="FOLDER", help="go on from here, and keep the state here")
    p.add_argument("--save-every", type=int, default=1000, metavar="N", help="rows between two saves (1000)")
    p.add_argument("--engine", default="torch", help="torch, or onnx, which is faster for a row at a time")


def _stream(a: argparse.Namespace) -> int:
    from t1.api import load
    from t1.live.lines import Lines
    from t1.live.row import NEWEST

    fitted = load(a.model)
    live = fitted.live(lag=a.lag, intervals=a.intervals, step=a.step, engine=a.engine)
    if a.state is not None and (Path(a.state) / "config.json").exists():
        live.restore(a.state)
    time, identity = a.time or fitted.reading.get("time"), a.id or fitted.reading.get("id")
    lines = Lines(live.columns, time, identity, a.time_format, a.separator)
    refused = taken = 0
    headed = False
    with _Signals() as signals:
        for number, text in enumerate(signals.lines(), 1):
            try:
                row = lines.read(text)
                found = [] if row is None else live.push(row.values, row.time, row.id)
            except InputError:
                if not taken:  # the stream does not fit the model
                    raise
                refused += 1
                print(
                    f"t1: line {number} was left out: {sys.exc_info()[1]}".replace("\n", " "), file=sys.stderr
                )
                continue
            except ValueError as error:
                refused += 1
                print(f"t1: line {number} was left out: {error}", file=sys.stderr)
                continue
            if not headed and lines.kind is not None:
                headed = True
                _print(lines.head())
            taken += row is not None
            _print(lines.write(r) for r in found if r.status == NEWEST or not a.newest_only)
            if a.state is not None and row is not None and taken % max(a.save_every, 1) == 0:
                live.save(a.state)
    if a.state is not None:
        live.save(a.state)
    _tell(live, taken, refused)
    return 0


def _tell(live: "LiveFill", taken: int, refused: int) -> None:
    tracks = live.tracks.values()
    odd = {
        "left out": refused,
        "too late": sum(t.dropped for t in tracks),
        "repeated": sum(t.repeated for t in tracks),
        "jumps of the clock": sum(t.jumps for t in tracks),
    }
    said = ", ".join(f"{n:,} {what}" for what, n in odd.items() if n)
    print(f"t1: {taken:,} rows" + (f" ({said})" if said else ""), file=sys.stderr)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Signals:
    """SIGINT and SIGTERM end the stream after the row at hand, so that its state can be kept."""

    def __init__(self) -> None:
        self.ended = self.waiting = False

    def lines(self) -> Iterator[str]:
        """Lines of standard input until it ends, or until a signal."""
        while not self.ended:
            self.waiting = True
            try:
                line = sys.stdin.readline()
            except InterruptedError:
                return
            finally:
                self.waiting = False
            if not line:
                return
            yield line

    def _on_signal(self, signum: int, frame: Any) -> None:
        self.ended = True
        if self.waiting:
            raise InterruptedError  # leaves the wait for the next line

    def __enter__(self) -> Self:
        self.before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for s, handler in self.before.items():
            signal.signal(s, handler)
