"""Jobs as tasks of a Ray cluster; Ray gives those of a node that was lost to another one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from t1.errors import InputError, T1Error
from t1.jobs.base import NOTHING, Ended, JobRunner, Work, attempt, one_thread

TRIES = 10  # nodes that may be lost under one and the same job
AHEAD = 2  # jobs that wait for every core, so that none is idle
PATIENCE = 5.0  # seconds for a cluster to answer at all


@dataclass(frozen=True)
class OnRay(JobRunner):
    """A cluster at an address ray://HOST:PORT; None: that of this machine, or one made for this run."""

    address: str | None = None

    def _run(self, work: Work, shared: Any, queue: Iterator[Any]) -> Iterator[Ended]:
        """Every job's result is taken once, also where Ray had to start it again elsewhere."""
        ray = _need_ray()
        pending, more = dict[Any, Any](), True
        first = next(queue, NOTHING)
        if first is NOTHING:
            return  # no cluster is needed for no jobs
        queue = chain([first], queue)
        with _connected(ray, self.address):
            task = ray.remote(num_cpus=1, max_retries=TRIES)(_task)
            everywhere = ray.put(shared)
            while more or pending:
                while more and len(pending) < AHEAD * _cores(ray):
                    job = next(queue, NOTHING)
                    more = job is not NOTHING
                    if more:
                        pending[task.remote(work, everywhere, job)] = job
                done, _ = ray.wait(list(pending), num_returns=1, timeout=1.0) if pending else ([], [])
                for reference in done:
                    yield pending.pop(reference), _result(ray, reference)


def _task(work: Work, shared: Any, job: Any) -> Any:
    """In a worker of the cluster."""
    with one_thread():
        return attempt(work, shared, job)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        if "No module named 't1" in str(error):
            from t1 import __version__

            raise InputError(
                "the nodes of the Ray cluster lack this package",
                cure=f"Install t1-impute=={__version__} on every one of them.",
                option="on",
            ) from None
        lines = str(error).strip().splitlines()
        return T1Error(f"Ray gave it up: {lines[0] if lines else type(error).__name__}")


def _need_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError(
            "Ray is not installed", cure="Try: pip install 't1-impute[ray]'", option="on"
        ) from None
    return ray


def _cores(ray: Any) -> int:
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """A connection to the cluster, ended afterwards if it was not there before."""
    if ray.is_initialized():
        yield
        return
    where = address or os.environ.get("RAY_ADDRESS", "")
    if ":" in where:
        _knock(where)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray warns of does not concern us
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        _init(ray, address, quiet)
    except (ConnectionError, TimeoutError, RuntimeError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        # the first line says what failed, the last one of several the cause
        told = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1].strip()}"
        raise _silent(where or "this machine", told) from None
    try:
        yield
    finally:
        ray.shutdown()


def _init(ray: Any, address: str | None, options: dict[str, Any], tries: int = 3) -> None:
    """`ray.init`, again where the cluster answers but the server that it starts for each client dies at birth.

    Ray forks that server from a process with threads, and now and then the child does not survive it.
    """
    try:
        ray.init(address, **options)
    except ConnectionAbortedError:
        if tries == 1:
            raise
        _init(ray, address, options, tries - 1)


def _knock(address: str) -> None:
    """Ray would wait for half a minute and tell at length; whether anybody listens is known at once."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port or 10001
    except ValueError as error:
        raise InputError(
            f"{address!r} is no address: {error}", cure="Give ray://HOST:PORT.", option="on"
        ) from None
    try:
        socket.create_connection((host or "127.0.0.1", port), timeout=PATIENCE).close()
    except OSError as error:
        raise _silent(address, error.strerror or str(error)) from None


def _silent(where: str, why: str) -> InputError:
    return InputError(
        f"no Ray cluster answers at {where}: {why}",
        cure="Start one with `ray start --head --ray-client-server-port 10001`, or check the address.",
        option="on",
    )
