"""Jobs on this machine: one after the other, or in processes that stay alive from one job to the next."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from t1.errors import T1Error
from t1.jobs.base import NOTHING, Ended, JobRunner, Work, attempt, one_thread

SPAWN = get_context("spawn")


@dataclass(frozen=True)
class Here(JobRunner):
    """So many jobs at a time, or one for every core; one at a time needs no other process."""

    processes: int | None = None

    def _run(self, work: Work, shared: Any, queue: Iterator[Any]) -> Iterator[Ended]:
        """A process that dies takes only its own job with it; another one is started."""
        n = self.processes or os.cpu_count() or 1
        if n == 1:
            with one_thread():
                for job in queue:
                    yield job, attempt(work, shared, job)
            return
        workers: dict[Any, _Worker] = {}  # by their pipe

        def give(job: Any, worker: _Worker | None = None) -> None:
            worker = worker or _Worker(work, shared)
            workers[worker.pipe] = worker
            worker.give(job)

        try:
            for job in islice(queue, n):
                give(job)
            while workers:
                for pipe in wait(list(workers)):
                    worker = workers.pop(pipe)
                    job, result = worker.job, worker.result()
                    lost = isinstance(result, _Lost)
                    following = next(queue, NOTHING)
                    if lost or following is NOTHING:
                        worker.end()
                    if following is not NOTHING:
                        give(following, None if lost else worker)
                    yield job, result.why if lost else result
        finally:
            for worker in workers.values():
                worker.end(now=True)


@dataclass(frozen=True)
class _Lost:
    """A process that ended without an answer."""

    why: T1Error


class _Worker:
    """A process, and the pipe to it."""

    def __init__(self, work: Work, shared: Any) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.send((work, shared))
        self.job: Any = None

    def give(self, job: Any) -> None:
        self.job = job
        with suppress(BrokenPipeError):  # it died: `result` tells
            self.pipe.send(job)

    def result(self) -> Any:
        """The answer to the job, which is waited for."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            code = self.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            return _Lost(
                T1Error(
                    f"its process was killed ({how}); the system may have run out of memory: use fewer jobs"
                )
            )

    def end(self, now: bool = False) -> None:
        self.pipe.close()  # the process sees the end of its pipe, and ends
        if now:
            self.process.terminate()
        self.process.join()


def _serve(pipe: Connection) -> None:
    """In a process of its own: jobs come, answers go, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which asks for no more jobs
    try:
        work, shared = pipe.recv()
        with one_thread():
            while True:
                pipe.send(attempt(work, shared, pipe.recv()))
    except (EOFError, BrokenPipeError):
        return
