"""What a job is, and what every executor does with many of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from t1.errors import T1Error

Work = Callable[[Any, Any], Any]  # (shared, job) -> result: a function of a module, not a closure
Ended = tuple[Any, Any]  # a job, and its result or the T1Error that ended it
N_THREADS = "OMP_NUM_THREADS"  # torch and onnxruntime look at it when they start


class JobRunner(ABC):
    """Runs a function over many jobs, and yields each as it ends; a failure keeps no other from running."""

    def run(
        self,
        work: Work,
        shared: Any,
        jobs: Iterable[Any],
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Ended]:
        """Take jobs from the iterable only as workers become free: a job may hold a whole file.

        When the user asks to stop, no more are taken.
        """
        return self._run(work, shared, takewhile(lambda job: not should_stop(), jobs))

    @abstractmethod
    def _run(self, work: Work, shared: Any, queue: Iterator[Any]) -> Iterator[Ended]:
        """The same with the jobs that are left to be taken."""


NOTHING: Any = object()  # what `next` gives when there is no job left


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

    before, told = torch.get_num_threads(), os.environ.get(N_THREADS)
    torch.set_num_threads(1)
    os.environ[N_THREADS] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
        if told is None:
            del os.environ[N_THREADS]
        else:
            os.environ[N_THREADS] = told
