"""Runs one after the other here, or several at the same time in processes of their own."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from t1.bench.run import Limits, Outcome, execute
from t1.bench.store import Store
from t1.bench.study import Run
from t1.errors import T1Error
from t1.progress import progress_line

Tell = Callable[[Run, Outcome | T1Error], None]  # how a run ended, or why it could not


def run_all(
    runs: Sequence[Run],
    store: Store,
    limits: Limits,
    *,
    jobs: int = 1,
    device: str = "cpu",
    tell: Tell,
    should_stop: Callable[[], bool],
) -> None:
    """Carry out every run; `tell` hears of each as it ends. One that fails does not keep the others."""
    if jobs <= 1 or len(runs) <= 1:
        for run in runs:
            if should_stop():
                return
            try:
                with progress_line(str(run)) as on_progress:
                    outcome = execute(
                        run, store, limits, device=device, on_progress=on_progress, should_stop=should_stop
                    )
            except T1Error as error:
                tell(run, error)
            else:
                tell(run, outcome)
        return
    context = get_context("spawn")
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting = list(runs)
    running: dict[int, tuple[Run, SpawnProcess, Connection]] = {}  # by the handle that signals their end
    while True:
        while waiting and len(running) < jobs and not should_stop():
            run = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            task = (theirs, run, str(store.folder), limits, device, threads)
            process = context.Process(target=_work, args=task)
            process.start()
            theirs.close()
            running[process.sentinel] = run, process, ours
        if not running:
            break
        for sentinel in wait(list(running)):
            assert isinstance(sentinel, int)
            run, process, ours = running.pop(sentinel)
            process.join()
            try:
                tell(run, ours.recv())
            except EOFError:  # it ended without a word
                tell(run, _lost(process.exitcode))
            ours.close()
    for run in waiting:
        tell(run, "stopped")


def _lost(code: int | None) -> T1Error:
    """Why a worker ended without an answer; the others go on."""
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return T1Error(
        f"its process was killed ({how}).\n"
        "The system may have run out of memory: use fewer --jobs. The same command goes on where it was."
    )


_asked = False


def _work(answer: Connection, run: Run, folder: str, limits: Limits, device: str, threads: int) -> None:
    """In a process of its own, with its share of the threads; Ctrl-C asks it to stop, twice ends it."""
    import torch

    torch.set_num_threads(threads)

    def on_interrupt(signum: int, frame: object) -> None:
        global _asked
        if _asked:
            sys.exit(130)
        _asked = True

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        answer.send(execute(run, Store(folder), limits, device=device, should_stop=lambda: _asked))
    except T1Error as error:
        answer.send(error)
