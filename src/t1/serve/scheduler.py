"""Hands queued jobs to executors, clients in turn; takes up after a restart what was running before."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import time
from typing import Any

from t1.serve.executor import Executor, OutOfTime, WorkerLost
from t1.serve.problems import Refused, of_error
from t1.serve.settings import Settings
from t1.serve.store import Job, JobStore, new_id
from t1.serve.work import RESULT, Task

LOG = logging.getLogger("t1.serve")
HOUSE = 60.0  # seconds between two looks for what has expired
HOUR = 3600.0


class Scheduler:
    """One thread per executor; each runs one job after the other."""

    def __init__(
        self,
        store: JobStore,
        settings: Settings,
        executors: Sequence[Executor],
        changed: Callable[[str], None] = lambda id: None,
    ) -> None:
        self.store, self.settings, self.executors, self.changed = store, settings, executors, changed
        self.progress: dict[str, dict[str, Any]] = {}
        self._current: dict[str, Executor] = {}  # who runs which job
        self._stopping: set[str] = set()  # jobs that are to fill with the best so far
        self._lock = threading.Lock()
        self._wake = threading.Condition()
        self._calls = 0  # of `wake`
        self._over = threading.Event()
        self._unfinished: list[Job] = []  # whose end could not be stored
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for job in self.store.running():
            self._take_up(job)
        self.sweep()
        targets = [lambda e=executor: self._serve(e) for executor in self.executors]
        self._threads = [threading.Thread(target=t, daemon=True) for t in (*targets, self._keep_house)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop taking jobs; those that run are taken up by the next start."""
        self._over.set()
        self.wake()
        for executor in self.executors:
            executor.kill()
        for thread in self._threads:
            thread.join(5)

    def wake(self) -> None:
        """A job was queued."""
        with self._wake:
            self._calls += 1
            self._wake.notify_all()

    def folder(self, id: str) -> Path:
        return self.settings.folder / "jobs" / id

    def attempt(self, job: Job) -> Path:
        """Where this attempt of a job puts its files: an earlier one never gets in its way."""
        return self.folder(job.id) / f"attempt-{job.attempt}"

    # ------------------------------------------------------------ what users ask for

    def cancel(self, id: str) -> bool:
        """End a job now; False if it was over."""
        with self._lock:  # a worker that has gone on to another job must not be killed
            cancelled = self.store.cancel(id)
            if cancelled and id in self._current:
                self._current[id].kill()
            self._stopping.discard(id)
        self.changed(id)
        return cancelled

    def stop(self, id: str) -> bool:
        """Let a running job fill with the best so far; False if it does not run."""
        with self._lock:
            executor = self._current.get(id)
            if executor is None:
                return False
            self._stopping.add(id)
            executor.stop()
        self.changed(id)
        return True

    def where(self, id: str) -> dict[str, Any] | None:
        """What a running job told last, and whether it was asked to stop."""
        told = self.progress.get(id)
        return None if told is None else {**told, "stopping": id in self._stopping}

    def delete(self, id: str) -> None:
        self.cancel(id)
        self.store.delete(id)
        remove(self.folder(id))
        self.changed(id)

    # ------------------------------------------------------------ running

    def _serve(self, executor: Executor) -> None:
        while not self._over.is_set():
            job = None
            try:
                while self._unfinished:
                    self._take_up(self._unfinished[-1])
                    self._unfinished.pop()
                with self._wake:
                    calls = self._calls
                job = self.store.claim()
                if job is not None:
                    self._run(executor, job)
                    continue
                self._wait(calls)
            except Exception as error:  # the disk may be full: this thread must live on
                LOG.error("the queue cannot be served now: %s", type(error).__name__)
                if job is not None:
                    self._unfinished.append(job)
                self._over.wait(2)

    def _wait(self, calls: int) -> None:
        """Until a job was queued since so many calls."""
        with self._wake:
            self._wake.wait_for(lambda: self._calls != calls, HOUSE)

    def _run(self, executor: Executor, job: Job) -> None:
        self.changed(job.id)
        with self._lock:
            self._current[job.id] = executor
        try:
            ended = self._outcome(executor, job)
        finally:
            with self._lock:
                del self._current[job.id]
            self.progress.pop(job.id, None)
        if ended is not None:
            self._stopping.discard(job.id)
            self._finish(job, ended)
        self.changed(job.id)

    def _outcome(self, executor: Executor, job: Job) -> dict[str, Any] | None:
        """How the job ended; None if it did not, and is to be run again."""

        def tell(event: dict[str, Any]) -> None:
            begins = job.id not in self.progress
            self.progress[job.id] = event
            if begins and job.id in self._stopping:  # asked before its worker could hear it
                executor.stop()
            self.changed(job.id)

        folder = self.folder(job.id)
        task = Task(
            source=folder / job.source,
            target=self.attempt(job),
            options=job.options,
            name=job.name,
            max_unpacked=self.settings.max_unpacked,
            max_cells=self.settings.max_cells,
        )
        seconds = self.settings.max_time
        try:
            return executor.run(task, tell, seconds)
        except OutOfTime:
            detail = f"the job took longer than the {seconds:.0f} s that this server allows"
            return failed(detail, cure="Give a smaller budget or a smaller table.", field="budget")
        except WorkerLost as error:
            return self._lost(job, str(error))
        except Refused as error:
            return {"state": "failed", "problem": error.problem.model_dump()}
        except OSError as error:
            known = of_error(error)
            return failed("the server's folder cannot be written" if known is None else str(known))

    def _lost(self, job: Job, why: str) -> dict[str, Any] | None:
        if self._over.is_set():
            self.store.requeue(job, crashed=False)
            return None
        if job.crashes + 1 < self.settings.crashes:
            if self.store.requeue(job, crashed=True):
                LOG.warning("job %s: its worker died (%s), it is queued again", job.id[:6], why)
                self.wake()
            return None
        return failed(
            f"its worker process died {job.crashes + 1} times (the last time: {why})",
            cure="The table may need more memory than there is: split it, or fill fewer columns.",
        )

    def _finish(self, job: Job, ended: dict[str, Any]) -> None:
        folder, model = self.attempt(job), None
        summary = ended.get("summary")
        if summary is not None and "model" in summary:
            model = new_id()
            place = self.settings.folder / "models" / model
            (folder / "model").rename(place)
        whole = sum(path.stat().st_size for path in self.folder(job.id).rglob("*") if path.is_file())
        kept = self.store.finish(
            job, ended["state"], problem=ended.get("problem"), summary=summary, model=model, bytes=whole
        )
        if not kept and model is not None:
            self.store.delete_model(model)
            remove(self.settings.folder / "models" / model)

    def _take_up(self, job: Job) -> None:
        """A job that ran when the server ended: finished if its files are whole, else queued again."""
        try:
            ended = json.loads((self.attempt(job) / RESULT).read_bytes())
            self._finish(job, ended)
        except (OSError, ValueError):
            self.store.requeue(job, crashed=False)

    # ------------------------------------------------------------ keeping house

    def _keep_house(self) -> None:
        while not self._over.wait(HOUSE):
            try:
                self.store.expire(self.settings.keep, self.settings.keep_files)
                self.sweep(HOUR)
            except Exception as error:
                LOG.error("old jobs cannot be removed now: %s", type(error).__name__)

    def sweep(self, age: float = 0.0) -> None:
        """Remove the folders that belong to nothing: of expired jobs, and of requests that were killed.

        Younger ones than `age` may be of a request that is still coming in.
        """
        for table in ("jobs", "files", "models"):
            folders = list((self.settings.folder / table).iterdir())
            known = self.store.ids(table)
            for folder in folders:
                if folder.name not in known and time() - folder.stat().st_mtime >= age:
                    remove(folder)


def failed(detail: str, **more: str) -> dict[str, Any]:
    return {"state": "failed", "problem": {"detail": detail, **more}}


def remove(folder: Path) -> None:
    """Remove a folder and all in it; what cannot be removed now is swept at the next start."""
    shutil.rmtree(folder, ignore_errors=True)
