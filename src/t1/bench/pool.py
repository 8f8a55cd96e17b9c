"""Runs one after the other here, or several at the same time in processes of their own."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from t1.bench.limits import Limits
from t1.bench.run import Outcome, execute
from t1.bench.store import Store
from t1.bench.study import Run
from t1.errors import T1Error
from t1.jobs import JobRunner
from t1.progress import progress_line

SPAWN = get_context("spawn")
Tell = Callable[[Run, Outcome | T1Error], None]  # how a run ended, or why it could not


def run_all(
    runs: Sequence[Run],
    store: Store,
    limits: Limits,
    *,
    jobs: int = 1,
    device: str = "cpu",
    on: JobRunner | None = None,
    tell: Tell,
    should_stop: Callable[[], bool],
) -> None:
    """Carry out every run; `tell` hears of each as it ends. One that fails does not keep the others.

    `on` another executor, such as a Ray cluster, every run is a task; all nodes must see the store's folder.
    """
    if on is not None:
        where = Where(str(store.folder.resolve()), limits, device)
        for run, outcome in on.run(run_task, where, runs, should_stop):
            tell(run, outcome)
        return
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

    def in_a_process(run: Run) -> Outcome | T1Error:
        if should_stop():
            return "stopped"
        ours, theirs = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(target=_work, args=(theirs, run, str(store.folder), limits, device, threads))
        process.start()
        theirs.close()
        try:
            answer: Outcome | T1Error = ours.recv()
        except EOFError:  # the process ended without an answer
            process.join()
            return _lost(process.exitcode)
        process.join()
        return answer

    with ThreadPoolExecutor(jobs) as pool:  # a thread waits for each process
        futures = {pool.submit(in_a_process, run): run for run in runs}
        for future in as_completed(futures):
            tell(futures[future], future.result())


@dataclass(frozen=True)
class Where:
    """What all runs of a study share."""

    folder: str
    limits: Limits
    device: str


def run_task(where: Where, run: Run) -> Outcome:
    """One run, as a job of an executor."""
    return execute(run, Store(where.folder), where.limits, device=where.device)


def _lost(code: int | None) -> T1Error:
    """Why a worker ended without an answer; the others go on."""
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return T1Error(
        f"its process was killed ({how}).\n"
        "The system may have run out of memory: run fewer jobs at a time. The same command goes on where it was."
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
