"""Runs one after the other here, or several at the same time in processes of their own."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context

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
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(threads,), max_tasks_per_child=1
    ) as pool:
        waiting = list(runs)
        running: dict[Future[Outcome | T1Error], Run] = {}
        while True:
            while waiting and len(running) < jobs and not should_stop():
                run = waiting.pop(0)
                running[pool.submit(_execute, run, str(store.folder), limits, device)] = run
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                tell(running.pop(future), future.result())
    for run in waiting:
        tell(run, "stopped")


_asked = False


def _start(threads: int) -> None:
    """In a worker: its share of the threads, and Ctrl-C as a wish to stop."""
    import torch

    torch.set_num_threads(threads)

    def on_interrupt(signum: int, frame: object) -> None:
        global _asked
        if _asked:
            sys.exit(130)
        _asked = True

    signal.signal(signal.SIGINT, on_interrupt)


def _execute(run: Run, folder: str, limits: Limits, device: str) -> Outcome | T1Error:
    if _asked:
        return "stopped"
    try:
        return execute(run, Store(folder), limits, device=device, should_stop=lambda: _asked)
    except T1Error as error:
        return error
