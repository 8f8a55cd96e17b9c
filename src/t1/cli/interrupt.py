"""Ctrl-C, once to stop training and twice to leave."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible(consequence: str) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks training to stop, with that consequence; the second ends the program."""
    asked = False

    def on_interrupt(signum: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print(f"t1: stopping the training, {consequence} (Ctrl-C again to quit)", file=sys.stderr)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
