"""A function over many jobs: here in several processes, or on a Ray cluster.

A job is (shared, job) -> result. The function, what all jobs share, the jobs and the results are plain values
that can be sent to another process, so the same call runs anywhere and gives the same results.
"""

from t1.errors import InputError
from t1.jobs.base import JobRunner
from t1.jobs.here import Here
from t1.jobs.on_ray import OnRay

__all__ = ["Here", "JobRunner", "OnRay", "executor_of"]


def executor_of(on: str | None, processes: int | None = None) -> JobRunner:
    """Where jobs run: `on` is None for processes of this machine, "ray", or "ray://HOST:PORT"."""
    if processes is not None and processes < 1:
        raise InputError(f"{processes} processes do no work", cure="Give 1 or more.", option="jobs")
    if on is None:
        return Here(processes)
    if processes is not None:
        raise InputError(
            "a Ray cluster runs as many jobs at a time as it has cores",
            cure="Leave the number of processes out.",
            option="jobs",
        )
    if on != "ray" and not on.startswith("ray://"):
        raise InputError(
            f"{on!r} is no place to run",
            cure="Give ray for the cluster of this machine, or ray://HOST:PORT for another one.",
            option="on",
        )
    return OnRay(None if on == "ray" else on)
