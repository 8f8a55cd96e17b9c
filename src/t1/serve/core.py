"""All that a running server has: its store, its queue, its processes."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Annotated, Any

from fastapi import Depends, Request
from filelock import FileLock, Timeout

from t1.errors import InputError
from t1.serve.executor import LocalExecutor, OutOfTime, WorkerLost
from t1.serve.measures import Measures
from t1.serve.problems import Refused
from t1.serve.scheduler import Scheduler, remove
from t1.serve.settings import Settings
from t1.serve.store import JobStore
from t1.serve.tickets import Tickets

WARM_SECONDS = 600.0  # to import and load everything on a busy machine


class Bell:
    """Wakes those who watch a job, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching: dict[str, set[asyncio.Event]] = defaultdict(set)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def ring(self, id: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, id)

    def _wake(self, id: str) -> None:
        for event in self._watching.get(id, ()):
            event.set()

    def watch(self, id: str) -> asyncio.Event:
        event = asyncio.Event()
        self._watching[id].add(event)
        return event

    def leave(self, id: str, event: asyncio.Event) -> None:
        self._watching[id].discard(event)
        if not self._watching[id]:
            del self._watching[id]


class Direct:
    """Processes that answer while the caller waits, their imports done and the weights loaded."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.executors = [LocalExecutor(settings.memory) for _ in range(settings.direct)]
        self._idle: SimpleQueue[LocalExecutor] = SimpleQueue()
        self._threads = ThreadPoolExecutor(settings.direct, thread_name_prefix="direct")
        self.waiting = 0
        for executor in self.executors:
            self._idle.put(executor)

    def warm(self) -> None:
        """Start the processes now, so that the first caller need not wait."""
        for _ in self.executors:
            self._threads.submit(self._ask, "warm", (), WARM_SECONDS)

    async def ask(self, kind: str, *arguments: Any) -> Any:
        if self.waiting >= self.settings.max_waiting:
            raise Refused(503, "too many requests are waiting", headers={"Retry-After": "5"})
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self._ask, kind, arguments, self.settings.max_direct_time
            )
        finally:
            self.waiting -= 1

    def _ask(self, kind: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        executor = self._idle.get()
        try:
            return executor.ask(kind, *arguments, seconds=seconds)
        except OutOfTime:
            raise Refused(
                504,
                f"it took longer than {seconds:.0f} s",
                cure="Create a job instead: POST /v1/jobs.",
            ) from None
        except WorkerLost as why:
            raise Refused(
                503, f"the process that did the work died: {why}", headers={"Retry-After": "5"}
            ) from None
        finally:
            self._idle.put(executor)

    def close(self) -> None:
        for executor in self.executors:
            executor.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


class Core:
    """The server's parts, put together."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        folder = settings.folder
        try:
            for name in ("jobs", "files", "models", "incoming"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / "server.lock", timeout=0)
            self._lock.acquire()
        except Timeout:
            raise InputError(
                f"another server uses the folder {str(folder)!r}",
                cure="Stop it, or give another folder.",
                option="folder",
            ) from None
        except OSError as error:
            raise InputError(
                f"the folder {str(folder)!r} cannot be written: {error.strerror}",
                cure="Give another folder.",
                option="folder",
            ) from None
        for left in (folder / "incoming").iterdir():
            left.unlink()
        tempfile.tempdir = str(folder / "incoming")  # where uploads are while they come in
        self.store = JobStore(folder / "jobs.sqlite")
        self.bell = Bell()
        self.tickets = Tickets(settings.token)
        self.direct = Direct(settings)
        self.workers = [LocalExecutor(settings.memory) for _ in range(settings.n_workers)]
        self.scheduler = Scheduler(self.store, settings, self.workers, self.bell.ring)
        self.measures = Measures(self.store, lambda: self.direct.waiting)

    def start(self) -> None:
        self.bell.attach(asyncio.get_running_loop())
        self.direct.warm()
        self.scheduler.start()

    def close(self) -> None:
        self.scheduler.close()
        for worker in self.workers:
            worker.close()
        self.direct.close()
        self.store.close()
        self._lock.release()

    def remove_file(self, id: str) -> None:
        self.store.delete_file(id)
        remove(self.settings.folder / "files" / id)

    def remove_model(self, id: str) -> None:
        self.store.delete_model(id)
        remove(self.settings.folder / "models" / id)


def core_of(request: Request) -> Core:
    core: Core = request.app.state.core
    return core


def client_of(request: Request) -> str:
    """Whose turn it is: the address, and the name that a program there gives itself."""
    host = request.client.host if request.client else "unknown"
    return f"{host} {request.headers.get('t1-client', '')[:100]}".strip()


TheCore = Annotated[Core, Depends(core_of)]
