"""What Prometheus may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from t1.serve.store import JobStore


class Measures:
    """Requests by path, method and status; jobs by state."""

    def __init__(self, store: JobStore, waiting: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        labels = ["method", "path", "status"]
        self.requests = Counter("t1_requests", "requests that were answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "t1_request_seconds", "until the answer began", ["path"], registry=self.registry
        )
        self.registry.register(_Jobs(store, waiting))

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        self.requests.labels(method, path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def page(self) -> bytes:
        return generate_latest(self.registry)


class _Jobs(Collector):
    """Counted when they are asked for."""

    def __init__(self, store: JobStore, waiting: Callable[[], int]) -> None:
        self.store, self.waiting = store, waiting

    def collect(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("t1_jobs", "jobs in the store by state", labels=["state"])
        for state, n in self.store.counts().items():
            jobs.add_metric([state], n)
        yield jobs
        yield GaugeMetricFamily("t1_stored_bytes", "of files, jobs and models", value=self.store.bytes())
        yield GaugeMetricFamily("t1_direct_requests", "in work or waiting", value=self.waiting())
