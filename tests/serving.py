"""A real server process for the tests: started, asked, killed, started again."""

import atexit
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

httpx = pytest.importorskip("httpx", reason="httpx is not installed: the server is not tested")


class Served:
    """`t1 serve` on a free port, with its folder."""

    def __init__(self, folder, *options, script=None, port=0, under=()):
        self.folder, self.options = Path(folder), options
        self.command = [*under, sys.executable, *(["-m", "t1.cli"] if script is None else [script])]
        self.port = port
        self.log = Path(tempfile.mkstemp(prefix="t1-serve-", suffix=".log")[1])
        atexit.register(lambda: self.process.poll() is None and self.process.kill())  # of a test that failed
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [
                *(*self.command, "serve", "--port", str(self.port)),
                *("--folder", self.folder, *self.options),
            ],
            stdout=subprocess.PIPE,
            stderr=self.log.open("a"),
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line!r}\n{self.log.read_text()}"
        self.url = found[0].rstrip("/")
        self.http = httpx.Client(base_url=self.url, timeout=120)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.http.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.http.close()
        assert self.process.wait(30) in (0, -signal.SIGTERM)

    def workers(self):
        """The ids of the processes that it started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        children += [c for t in threads for c in (t / "children").read_text().split()]
        spawned = []
        for child in set(children):
            try:
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    spawned.append(int(child))
            except OSError:
                continue
        return spawned

    def upload(self, raw, name="table.csv"):
        return self.http.post("/v1/files", files={"file": (name, raw)})

    def job(self, raw, name="table.csv", client=None, **options):
        """Create a job; its JSON."""
        import json

        answer = self.http.post(
            "/v1/jobs",
            files={"file": (name, raw)},
            data={"options": json.dumps(options)},
            headers={} if client is None else {"T1-Client": client},
        )
        assert answer.status_code == 201, answer.text
        return answer.json()

    def wait(self, id, until=("done", "failed", "cancelled"), seconds=180):
        """The job once it is in one of those states."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            job = self.http.get(f"/v1/jobs/{id}").json()
            if job["state"] in until:
                return job
            time.sleep(0.1)
        raise AssertionError(f"{job} after {seconds} s")


def waves(rows=120, columns=2, seed=0):
    """A small table with gaps, hourly."""
    rng = np.random.default_rng(seed)
    values = np.sin(np.arange(rows)[:, None] / rng.uniform(2, 6, columns)) + rng.normal(
        0, 0.1, (rows, columns)
    )
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def csv_of(values):
    """It as CSV with a time column."""
    out = io.StringIO()
    out.write("time," + ",".join(f"x{j}" for j in range(values.shape[1])) + "\n")
    for i, row in enumerate(values):
        stamp = np.datetime64("2024-01-01T00:00") + np.timedelta64(i, "h")
        out.write(
            f"{stamp}".replace("T", " ")
            + ","
            + ",".join("" if np.isnan(v) else f"{v:.4f}" for v in row)
            + "\n"
        )
    return out.getvalue().encode()
