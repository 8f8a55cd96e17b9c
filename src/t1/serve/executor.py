"""Who runs a job: here a process of this machine. Another place to run (Ray) is another `Executor`."""

from __future__ import annotations

import signal
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from threading import Lock
from time import monotonic
from typing import Any, Protocol

from t1.serve.problems import Refused, storage
from t1.serve.work import OnEvent, Task
from t1.serve.worker import serve_pipe

SPAWN = get_context("spawn")


class WorkerLost(Exception):
    """The process ended without an answer."""


class OutOfTime(Exception):
    """It took longer than it may, and was ended."""


class Executor(Protocol):
    """Runs one job at a time: (input, options) -> (output)."""

    def run(self, task: Task, tell: OnEvent, seconds: float) -> dict[str, Any]:
        """Run a job to its end; raises WorkerLost or OutOfTime."""
        ...

    def stop(self) -> None:
        """Ask the running job to fill with the best so far."""
        ...

    def kill(self) -> None:
        """End the running job at once."""
        ...


class LocalExecutor:
    """A worker process of this machine; it is started when it is needed and again after it died."""

    def __init__(self, memory: int, threads: int = 1) -> None:
        self.memory, self.threads = memory, threads
        self._starting, self._sending = Lock(), Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def run(self, task: Task, tell: OnEvent, seconds: float) -> dict[str, Any]:
        ended: dict[str, Any] = self.ask("job", task, tell=tell, seconds=seconds)
        return ended

    def ask(self, kind: str, *arguments: Any, tell: OnEvent | None = None, seconds: float) -> Any:
        """Let the process do something, and wait for its answer; one caller at a time."""
        pipe = self._alive()
        deadline = monotonic() + seconds
        try:
            with self._sending:
                pipe.send((kind, arguments))
            while True:
                if not pipe.poll(max(deadline - monotonic(), 0)):
                    self.close()  # and wait for its end, so that nobody talks to a dying process
                    raise OutOfTime
                what, value = pipe.recv()
                if what == "event":
                    if tell is not None:
                        tell(value)
                    continue
                break
        except (EOFError, ConnectionError, BrokenPipeError):
            raise WorkerLost(self._end()) from None
        if what == "refused":
            status, detail, cure, field, errors = value
            raise Refused(status, detail, cure=cure, field=field, errors=errors)
        if what == "storage":
            raise storage(value[1])
        if what == "broken":
            raise Refused(500, f"an unexpected {value} in the server", cure="Please report it.")
        return value

    def stop(self) -> None:
        """Ask the process to end its training early."""
        with self._sending, suppress(OSError, ValueError):  # if it has just died, its caller hears of it
            if self._pipe is not None:
                self._pipe.send(("stop", ()))

    def kill(self) -> None:
        """End the process now, whatever it does."""
        with self._starting:
            if self._process is not None and self._process.is_alive():
                self._process.kill()

    def close(self) -> None:
        self.kill()
        self._end()

    def _alive(self) -> Connection:
        with self._starting:
            if self._pipe is not None and self._process is not None and self._process.is_alive():
                return self._pipe
            if self._pipe is not None:
                self._pipe.close()
            ours, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=serve_pipe, args=(theirs, self.memory, self.threads), daemon=True)
            process.start()
            theirs.close()
            self._pipe, self._process = ours, process
            return ours

    def _end(self) -> str:
        """Why the process ended, in words."""
        process = self._process
        if process is None:
            return "it was not running"
        process.join(10)
        code = process.exitcode
        if code is None:
            return "it closed its pipe"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
