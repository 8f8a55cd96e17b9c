"""What a job is, and what every executor does with many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from t1.errors import T1Error

Work = Callable[[Any, Any], Any]  # (shared, job) -> result: a function of a module, not a closure
Ended = tuple[Any, Any]  # a job, and its result or the T1Error that ended it


class JobRunner(Protocol):
    """Runs a function over many jobs, and yields each as it ends; a failure keeps no other from running."""

    def run(
        self,
        work: Work,
        shared: Any,
        jobs: Iterable[Any],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Ended]:
        """Take jobs from the iterable only as workers become free: a job may hold a whole file."""
        ...


NOTHING: Any = object()  # what `next` gives when there is no job left


def until(jobs: Iterable[Any], should_stop: Callable[[], bool]) -> Iterator[Any]:
    """The jobs, up to where the user asks to stop."""
    for job in jobs:
        if should_stop():
            return
        yield job


def attempt(work: Work, shared: Any, job: Any) -> Any:
    """The result of a job, or why there is none: an error is told for its job, the others go on."""
    try:
        return work(shared, job)
    except T1Error as error:
        return error
    except Exception as error:
        return T1Error(f"an error that should not happen: {type(error).__name__}: {error}")


@contextmanager
def one_thread() -> Iterator[None]:
    """Every job has one thread, whatever else runs: how sums are split changes their last bits."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be limited)
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
