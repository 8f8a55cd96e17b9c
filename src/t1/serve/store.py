"""Jobs, files and models in SQLite (WAL): what was accepted stays known through any kill."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from time import time
from typing import Any

from t1.errors import InputError

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, name TEXT NOT NULL,
  source TEXT NOT NULL, options TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL, started REAL,
  ended REAL, attempt INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL, problem TEXT, summary TEXT, model TEXT);
CREATE INDEX IF NOT EXISTS jobs_state ON jobs (state, seq);
CREATE TABLE IF NOT EXISTS turns (client TEXT PRIMARY KEY, turn INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
  client TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (client, key));
CREATE TABLE IF NOT EXISTS files (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, source TEXT NOT NULL, bytes INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS models (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL, created REAL NOT NULL, about TEXT NOT NULL);
"""
ENDED = ("done", "failed", "cancelled")


def new_id() -> str:
    """An id that cannot be guessed, and is safe as the name of a folder."""
    return secrets.token_hex(16)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A row of the table of jobs."""

    seq: int
    id: str
    client: str
    name: str  # as the user calls the file; never a path
    source: str  # the file's name in the job's folder
    options: Mapping[str, Any]
    state: str  # queued, running, done, failed or cancelled
    created: float
    started: float | None
    ended: float | None
    attempt: int  # how often it was begun
    crashes: int  # how often its worker died
    bytes: int
    problem: Mapping[str, Any] | None
    summary: Mapping[str, Any] | None
    model: str | None

    @property
    def over(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """An upload."""

    id: str
    name: str
    source: str
    bytes: int
    created: float


@dataclass(frozen=True, kw_only=True)
class KeyedRequest:
    """A request that may be sent again: the key that its client gave it, and a digest of what it asks for."""

    key: str
    request: str


class JobStore:
    """The tables; every method is one transaction and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = RLock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # a job that was accepted survives a power cut
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    # ------------------------------------------------------------ jobs

    def add(
        self,
        id: str,
        client: str,
        file: StoredFile,
        options: Mapping[str, Any],
        sent: KeyedRequest | None = None,
    ) -> Job:
        """A new job at the end of its client's queue, or the one that the same request has made before."""
        with self._change() as db:
            if sent is not None:
                if (before := self.made_by(client, sent)) is not None:
                    return before
                db.execute(
                    "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", (client, sent.key, sent.request, id)
                )
            db.execute(
                "INSERT INTO jobs (id, client, name, source, options, state, created, bytes) "
                "VALUES (?, ?, ?, ?, ?, 'queued', ?, ?)",
                (id, client, file.name, file.source, json.dumps(dict(options)), time(), file.bytes),
            )
        job = self.job(id)
        assert job is not None
        return job

    def made_by(self, client: str, sent: KeyedRequest) -> Job | None:
        """The job that a request with this key has made; refused if that one asked for something else."""
        found = self._rows(
            "SELECT keys.request, jobs.id FROM keys JOIN jobs ON jobs.id = keys.job WHERE keys.client = ? AND key = ?",
            client,
            sent.key,
        )
        if not found:
            return None
        if found[0]["request"] != sent.request:
            raise InputError(
                "this key came with another request before",
                cure="Give every request a key of its own, and the same one only when it is sent again.",
                option="Idempotency-Key",
            )
        return self.job(found[0]["id"])

    def job(self, id: str) -> Job | None:
        found = self._rows("SELECT * FROM jobs WHERE id = ?", id)
        return _job(found[0]) if found else None

    def ahead(self, job: Job) -> int:
        """How many jobs are queued in all, this one not counted."""
        (row,) = self._rows("SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND id != ?", job.id)
        return int(row[0])

    def queued(self, client: str) -> int:
        (row,) = self._rows("SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND client = ?", client)
        return int(row[0])

    def counts(self) -> dict[str, int]:
        """How many jobs are in each state."""
        found = {row[0]: row[1] for row in self._rows("SELECT state, COUNT(*) FROM jobs GROUP BY state")}
        return {state: found.get(state, 0) for state in ("queued", "running", *ENDED)}

    def claim(self) -> Job | None:
        """Begin a job of the client whose last turn is longest ago: clients take turns, whoever queued more."""
        with self._change() as db:
            row = db.execute(
                "SELECT jobs.* FROM jobs LEFT JOIN turns ON turns.client = jobs.client "
                "WHERE state = 'queued' ORDER BY COALESCE(turn, 0), seq LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            db.execute(
                "UPDATE jobs SET state = 'running', attempt = attempt + 1, started = ? WHERE seq = ?",
                (time(), row["seq"]),
            )
            db.execute(
                "INSERT INTO turns VALUES (?, (SELECT COALESCE(MAX(turn), 0) + 1 FROM turns)) "
                "ON CONFLICT (client) DO UPDATE SET turn = excluded.turn",
                (row["client"],),
            )
        return self.job(row["id"])

    def finish(
        self,
        job: Job,
        state: str,
        *,
        problem: Mapping[str, Any] | None = None,
        summary: Mapping[str, Any] | None = None,
        model: str | None = None,
        bytes: int | None = None,
    ) -> bool:
        """End this attempt of a job; False if it is no longer the running one, as after a cancellation."""
        with self._change() as db:
            if model is not None and summary is not None:
                about = json.dumps(summary["model"])
                values = (model, job.name, summary["model"]["bytes"], time(), about)
                db.execute("INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?)", values)
            changed = db.execute(
                "UPDATE jobs SET state = ?, ended = ?, problem = ?, summary = ?, model = ?, bytes = ? "
                "WHERE id = ? AND state = 'running' AND attempt = ?",
                (
                    state,
                    time(),
                    None if problem is None else json.dumps(dict(problem)),
                    None if summary is None else json.dumps(dict(summary)),
                    model,
                    job.bytes if bytes is None else bytes,
                    job.id,
                    job.attempt,
                ),
            )
            return changed.rowcount == 1

    def requeue(self, job: Job, *, crashed: bool) -> bool:
        """Put a running job back to its place in the queue."""
        with self._change() as db:
            changed = db.execute(
                "UPDATE jobs SET state = 'queued', crashes = crashes + ? "
                "WHERE id = ? AND state = 'running' AND attempt = ?",
                (int(crashed), job.id, job.attempt),
            )
            return changed.rowcount == 1

    def cancel(self, id: str) -> bool:
        """End a job that is not over; False if it is."""
        with self._change() as db:
            changed = db.execute(
                "UPDATE jobs SET state = 'cancelled', ended = ? WHERE id = ? AND state IN ('queued', 'running')",
                (time(), id),
            )
            return changed.rowcount == 1

    def delete(self, id: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM jobs WHERE id = ?", (id,))
            db.execute("DELETE FROM keys WHERE job = ?", (id,))

    def running(self) -> list[Job]:
        return [_job(row) for row in self._rows("SELECT * FROM jobs WHERE state = 'running'")]

    # ------------------------------------------------------------ files and models

    def add_file(self, file: StoredFile) -> None:
        with self._change() as db:
            values = (file.id, file.name, file.source, file.bytes, file.created)
            db.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?)", values)

    def file(self, id: str) -> StoredFile | None:
        found = self._rows("SELECT * FROM files WHERE id = ?", id)
        return StoredFile(**dict(found[0])) if found else None

    def delete_file(self, id: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM files WHERE id = ?", (id,))

    def model(self, id: str) -> dict[str, Any] | None:
        found = self._rows("SELECT * FROM models WHERE id = ?", id)
        return {**dict(found[0]), "about": json.loads(found[0]["about"])} if found else None

    def delete_model(self, id: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM models WHERE id = ?", (id,))

    # ------------------------------------------------------------ keeping house

    def bytes(self) -> int:
        """What all of them take on the disk."""
        parts = ("SELECT COALESCE(SUM(bytes), 0) FROM " + name for name in ("jobs", "files", "models"))
        return sum(int(self._rows(part)[0][0]) for part in parts)

    def ids(self, table: str) -> set[str]:
        assert table in ("jobs", "files", "models")
        return {row[0] for row in self._rows(f"SELECT id FROM {table}")}

    def expire(self, keep: float, keep_files: float) -> int:
        """Forget what is older than that; its folders are swept afterwards."""
        now = time()
        with self._change() as db:
            gone = [
                db.execute("DELETE FROM jobs WHERE ended < ?", (now - keep,)).rowcount,
                db.execute("DELETE FROM models WHERE created < ?", (now - keep,)).rowcount,
                db.execute("DELETE FROM files WHERE created < ?", (now - keep_files,)).rowcount,
            ]
            db.execute("DELETE FROM keys WHERE job NOT IN (SELECT id FROM jobs)")
            db.execute("DELETE FROM turns WHERE client NOT IN (SELECT client FROM jobs)")
        return sum(gone)


def _job(row: sqlite3.Row) -> Job:
    values = dict(row)
    for name in ("options", "problem", "summary"):
        values[name] = None if values[name] is None else json.loads(values[name])
    return Job(**values)
