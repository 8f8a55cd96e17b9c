"""Many jobs of many clients, and kill -9 in the middle: none lost, none run twice, fair, files whole.

A short version in `make test`; 1,000 jobs of 50 clients and 20 kills in `make nightly` (T1_LOAD=1).
"""

import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from serving import Served, csv_of, httpx, waves

NIGHTLY = bool(os.environ.get("T1_LOAD"))
CLIENTS, JOBS = (50, 1000) if NIGHTLY else (5, 25)
KILLS, KILLED_JOBS = (20, 150) if NIGHTLY else (3, 12)
LINEAR = '{"method": "linear", "budget": "fast"}'


def queue(url, client, raw):
    """Create a job; its id. Clients come back after a server that was killed."""
    for _ in range(300):
        try:
            with httpx.Client(base_url=url, timeout=60) as http:
                answer = http.post(
                    "/v1/jobs",
                    files={"file": ("t.csv", raw)},
                    data={"options": LINEAR},
                    headers={"T1-Client": client},
                )
            assert answer.status_code == 201, answer.text
            return answer.json()["id"]
        except httpx.TransportError:
            time.sleep(0.5)
    raise AssertionError("the server did not come back")


def rows_of(server):
    with sqlite3.connect(server.folder / "jobs.sqlite") as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM jobs ORDER BY seq")]


def wait_all(server, n, seconds):
    """Until all jobs are over: looked at in the store, not to load the server."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rows = rows_of(server)
        if len(rows) == n and all(row["state"] in ("done", "failed", "cancelled") for row in rows):
            return rows
        time.sleep(0.5)
    raise AssertionError(Counter(row["state"] for row in rows_of(server)))


def whole(server, row, table):
    """The result of a job: its own table, observed cells as they went, no gap."""
    folder = server.folder / "jobs" / row["id"] / f"attempt-{row['attempt']}"
    assert {"filled.csv", "provenance.parquet", "report.html", "result.json", "scorecard.json"} <= {
        path.name for path in folder.iterdir()
    }
    lines = (folder / "filled.csv").read_text().splitlines()[1:]
    values = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines])
    seen = ~np.isnan(table)
    assert np.array_equal(values[seen], table[seen].round(4)) and np.isfinite(values).all()


def test_many_jobs_of_many_clients_are_all_run_once_and_in_turn(tmp_path):
    server = Served(tmp_path / "jobs", "--workers", "2", "--max-queued", str(JOBS))
    table = waves(40, 2)
    raw = csv_of(table)
    # the first client queues half of all jobs before the others come
    each = JOBS // 2 // (CLIENTS - 1)
    greedy = JOBS - each * (CLIENTS - 1)
    asked = ["c0"] * greedy + [f"c{k}" for _ in range(each) for k in range(1, CLIENTS)]
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda client: queue(server.url, client, raw), asked))
    queued = time.monotonic() - began
    rows = wait_all(server, len(asked), 3600)
    took = time.monotonic() - began
    assert len(set(ids)) == len(asked) and {row["id"] for row in rows} == set(ids)  # none lost
    assert Counter(row["state"] for row in rows) == {"done": len(asked)}
    assert {row["attempt"] for row in rows} == {1}  # none twice
    assert all(len(list((server.folder / "jobs" / id).glob("attempt-*"))) == 1 for id in ids)
    for row in rows[:: max(len(rows) // 50, 1)]:
        whole(server, row, table)
    # fair: as soon as all had queued, nobody who waits falls behind by more than a turn for each worker
    started = sorted(rows, key=lambda row: row["started"])
    last = max(row["created"] for row in rows)
    turns, waiting = Counter(), Counter(row["client"] for row in rows if row["started"] > last)
    for row in (row for row in started if row["started"] > last):
        turns[row["client"]] += 1
        waiting[row["client"]] -= 1
        poorest = min((turns[client] for client, n in waiting.items() if n), default=turns[row["client"]])
        assert turns[row["client"]] <= poorest + 2, turns  # two workers take their turns at the same moment
    server.stop()
    tell(f"{len(asked)} jobs of {CLIENTS} clients: queued in {queued:.0f} s, all done after {took:.0f} s")


def test_kill_9_in_the_middle_loses_nothing(tmp_path):
    server = Served(tmp_path / "jobs", "--workers", "2")
    server.port = int(server.url.rsplit(":", 1)[1])  # it comes back at the same address
    table = waves(40, 2)
    raw = csv_of(table)
    rng, seen = random.Random(3), set()
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(queue, server.url, f"c{k % 5}", raw) for k in range(KILLED_JOBS)]
        for k in range(KILLS):
            end = time.monotonic() + rng.uniform(1, 4)
            while time.monotonic() < end and sum(r["state"] == "done" for r in rows_of(server)) < KILLED_JOBS:
                time.sleep(0.1)
            seen |= set(server.workers())
            if k % 2:
                server.kill()
                server.start()
            elif workers := server.workers():
                os.kill(rng.choice(workers), signal.SIGKILL)
        known = [future.result() for future in futures]
    rows = wait_all(server, len({*known, *(row["id"] for row in rows_of(server))}), 1800)
    # every job that was confirmed is there; a request that was cut off may have left one more, unconfirmed
    assert set(known) <= {row["id"] for row in rows}
    states = Counter(row["state"] for row in rows)
    assert set(states) <= {"done", "failed"}
    for row in rows:
        if row["state"] == "done":
            whole(server, row, table)
        else:
            assert "died" in row["problem"], row
    assert states["done"] >= 0.9 * len(rows)
    again = sum(row["attempt"] > 1 for row in rows)
    folders = {path.name for path in (server.folder / "jobs").iterdir()}
    assert folders == {row["id"] for row in rows}
    server.stop()
    end = time.monotonic() + 20  # a worker whose server was killed ends itself when it sees its pipe closed
    while (left := [pid for pid in seen if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left  # no worker outlives its server
    tell(f"{KILLS} kills: {dict(states)}, {again} taken up again, {time.monotonic() - began:.0f} s")


def tell(text):
    sys.stderr.write(f"\n{text}\n")  # shown by pytest -s


def alive(pid):
    """Whether it runs; a dead process that nobody has waited for (the init of a container may not) does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_a_queued_job_survives_a_restart_and_a_running_one_is_taken_up(tmp_path):
    server = Served(tmp_path / "jobs", "--workers", "1")
    long = server.job(csv_of(waves(300, 3)), budget="20m")
    server.wait(long["id"], until=("running",))
    queued = server.job(csv_of(waves(40)), method="linear", budget="fast")
    server.kill()
    server.start()
    taken = server.wait(long["id"], until=("running",), seconds=60)
    assert server.http.get(f"/v1/jobs/{queued['id']}").json()["state"] == "queued"
    assert taken["attempt"] == 2
    server.http.post(f"/v1/jobs/{long['id']}/cancel")
    done = server.wait(queued["id"])
    assert done["state"] == "done"
    server.stop()
    server.start()
    assert server.http.get(done["links"]["result"]).content.startswith(b"time,")  # a finished one stays
    assert server.http.get(f"/v1/jobs/{long['id']}").json()["state"] == "cancelled"
    server.stop()


def test_a_finished_attempt_is_not_run_again(tmp_path):
    """The server dies after the worker has written everything and before it was noted."""
    server = Served(tmp_path / "jobs", "--workers", "1")
    job = server.wait(server.job(csv_of(waves(40)), method="linear", budget="fast")["id"])
    server.stop()
    with sqlite3.connect(server.folder / "jobs.sqlite") as db:
        db.execute(
            "UPDATE jobs SET state = 'running', ended = NULL, summary = NULL WHERE id = ?", (job["id"],)
        )
    server.start()
    now = server.http.get(f"/v1/jobs/{job['id']}").json()
    assert now["state"] == "done" and now["attempt"] == 1 and now["summary"] == job["summary"]
    server.stop()


@pytest.mark.parametrize("clients", [1, 3])
def test_turns_go_round_in_the_store(tmp_path, clients):
    from t1.serve.store import JobStore, StoredFile, new_id

    store = JobStore(tmp_path / "jobs.sqlite")
    file = StoredFile(id="f", name="a.csv", source="input.csv", bytes=1, created=0.0)
    for client in range(clients):
        for _ in range(4):
            store.add(new_id(), f"c{client}", file, {})
    order = [store.claim().client for _ in range(4 * clients)]
    assert order == [f"c{k}" for k in range(clients)] * 4 and store.claim() is None
