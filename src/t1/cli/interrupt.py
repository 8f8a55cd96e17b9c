"""Ctrl-C, once to stop training and twice to leave."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible(consequence: str) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks training to stop, with that consequence; the second ends the program."""
    asked = leaving = False

    def on_interrupt(signum: int, frame: Any) -> None:
        nonlocal asked, leaving
        if asked:
            leaving = True
            raise KeyboardInterrupt
        asked = True
        print(f"t1: stopping the training, {consequence} (Ctrl-C again to quit)", file=sys.stderr)

    def should_stop() -> bool:
        if leaving:  # what is raised in a callback of a library, or while memory is freed, is lost
            raise KeyboardInterrupt
        return asked

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield should_stop
    finally:
        signal.signal(signal.SIGINT, before)
