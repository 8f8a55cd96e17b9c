"""The progress line: visible on a real terminal, silent everywhere else."""

import os
import re
import subprocess
import sys

import pytest

from t1.progress import Progress, describe

pty = pytest.importorskip("pty")

SCRIPT = """
import sys
from t1.progress import Progress, progress_line

with progress_line("training") as on_progress:
    for step in (1, 2, 3):
        on_progress(Progress(
            step=step, total_steps=4, epoch=1, train_loss=0.5 / step, valid_loss=0.25, best_loss=0.125,
            learning_rate=1e-3, steps_per_second=3.5, seconds=2.0 * step, seconds_left=61.0 * (4 - step),
        ))
print("rich" in sys.modules)
"""


def run(stderr: int, **environment: str) -> str:
    """What the script writes to stdout: whether it needed rich."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=60,
        env=os.environ | {"COLUMNS": "100", "TERM": "xterm"} | environment,
    )
    assert done.returncode == 0
    return done.stdout + (done.stderr or "")


def read_all(terminal: int) -> str:
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            part = b""
        if not part:
            return seen.decode()
        seen += part


def on_terminal(**environment: str) -> str:
    terminal, end = pty.openpty()
    try:
        run(end, **environment)
        os.close(end)
        return read_all(terminal)
    finally:
        os.close(terminal)


def test_it_shows_on_a_terminal():
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", on_terminal())
    assert "training" in shown
    assert "epoch 1  1 min left  loss 0.1667  valid 0.2500  best 0.1250  3.5 steps/s" in shown


def test_it_is_silent_and_cheap_without_a_terminal():
    assert run(subprocess.PIPE) == "False\n"


def test_colour_settings_do_not_make_a_file_a_terminal():
    assert run(subprocess.PIPE, FORCE_COLOR="1", TTY_COMPATIBLE="1") == "False\n"


def test_it_is_silent_on_a_terminal_that_cannot_move_its_cursor():
    assert on_terminal(TERM="dumb") == ""


def test_what_is_not_known_is_left_out():
    nothing = Progress(
        step=0,
        total_steps=None,
        epoch=1,
        train_loss=None,
        valid_loss=None,
        best_loss=None,
        learning_rate=1e-3,
        steps_per_second=None,
        seconds=0.0,
        seconds_left=None,
    )
    assert describe(nothing) == "epoch 1"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59.6, "1 min"), (3599, "1 h 00 min"), (7322, "2 h 02 min")]
)
def test_the_time_left(seconds, shown):
    progress = Progress(
        step=1,
        total_steps=2,
        epoch=1,
        train_loss=None,
        valid_loss=None,
        best_loss=None,
        learning_rate=1e-3,
        steps_per_second=None,
        seconds=1.0,
        seconds_left=seconds,
    )
    assert describe(progress) == f"epoch 1  {shown} left"
