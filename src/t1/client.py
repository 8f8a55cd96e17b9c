"""`t1.Client`: `t1.impute` and `t1.fit` on a server that `t1 serve` runs.

The table goes there as Parquet and its fills come back; they are put into the container that the caller has, so
that observed values are never touched. Only httpx and pyarrow are needed here, no torch.
"""

from __future__ import annotations

import io
import json
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
import pandas as pd

from t1.arrays import FloatArray
from t1.data.atomic import write_bytes
from t1.data.frames import Frame
from t1.errors import InputError, T1Error

PAUSES = (1, 2, 4, 8)  # seconds before a request without an answer is sent again
PARQUET = "application/vnd.apache.parquet"


class ServerError(T1Error):
    """The server cannot be reached, is busy, or failed; the input is not to blame."""


class Unreached(ServerError):
    """No answer came; `sent` says whether the server may have had the request."""

    sent = False


@dataclass(frozen=True, eq=False)
class RemoteFill:
    """What `Client.impute` gives: as `t1.impute`, with the scorecard as the JSON that the server tells."""

    data: Any = field(repr=False)
    scorecard: Mapping[str, Any] = field(repr=False)
    provenance: pd.DataFrame = field(repr=False)
    problems: tuple[str, ...]
    n_filled: int
    job: str  # its address on the server
    _client: Client = field(repr=False)

    def report(self, path: str | Path) -> None:
        """Write the report: one self-contained HTML page."""
        write_bytes(Path(path), self._client._get(f"{self.job}/report").content)


@dataclass(frozen=True, eq=False)
class RemoteModel:
    """What `Client.fit` gives: a fitted fill that stays on the server."""

    id: str
    columns: tuple[str, ...]
    scorecard: Mapping[str, Any] = field(repr=False)
    _client: Client = field(repr=False)
    _time: str | None
    _id: str | Sequence[str] | None
    _keep_sentinels: bool

    def apply(self, data: Any, **rules: Any) -> Any:
        """Fill a table of the same columns, in its own container; `rules` as in `FittedFill.apply`."""
        frame = Frame.read(
            data,
            time=self._time,
            id=self._id,
            columns=_chosen(data, self.columns),
            keep_sentinels=self._keep_sentinels,
        )
        table = _parquet(frame)
        answer = self._client._send(
            "POST",
            f"/v1/models/{self.id}/fill",
            content=table.raw,
            params={"options": json.dumps(rules)},
            headers={"Content-Type": PARQUET},
        )
        filled = pd.read_parquet(io.BytesIO(answer.content))
        return _restored(frame, filled[list(frame.columns)].to_numpy(float))

    def delete(self) -> None:
        """Remove it from the server."""
        self._client._send("DELETE", f"/v1/models/{self.id}")


class Client:
    """A server that `t1 serve` runs.

    `token` is what the server's token file holds; `name` tells programs at one address apart, which take turns.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8750", *, token: str | None = None, name: str = ""
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise InputError(
                "t1.Client needs httpx, which is not installed",
                cure="Install it: pip install 't1-impute[serve]'",
            ) from None
        headers = {"T1-Client": name} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        timeout = httpx.Timeout(120.0, connect=10.0)
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections; jobs go on."""
        self._http.close()

    def impute(
        self,
        data: Any,
        *,
        time: str | None = None,
        id: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        keep_sentinels: bool = False,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        **options: Any,
    ) -> RemoteFill:
        """Fill the gaps of a table; the options are those of `t1.impute`."""
        frame = Frame.read(
            data, time=time, id=id, columns=columns, exclude=exclude, keep_sentinels=keep_sentinels
        )
        job = self._run(frame, options, on_progress)
        here = job["links"]["self"]
        origin = pd.read_parquet(io.BytesIO(self._get(f"{here}/provenance", format="parquet").content))
        values = frame.values.copy()
        at = {name: j for j, name in enumerate(frame.columns)}
        column = origin["column"].astype(str).map(at).to_numpy(int)
        values[origin["row"].to_numpy(int), column] = origin["value"].to_numpy(float)
        return RemoteFill(
            data=_restored(frame, values),
            scorecard=self._get(f"{here}/scorecard").json(),
            provenance=origin,
            problems=tuple(job["summary"]["problems"]),
            n_filled=job["summary"]["filled"],
            job=here,
            _client=self,
        )

    def fit(
        self,
        data: Any,
        *,
        time: str | None = None,
        id: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        keep_sentinels: bool = False,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        **options: Any,
    ) -> RemoteModel:
        """Learn to fill a table; the server keeps what was learned. The options are those of `t1.fit`."""
        frame = Frame.read(
            data, time=time, id=id, columns=columns, exclude=exclude, keep_sentinels=keep_sentinels
        )
        job = self._run(frame, {**options, "keep_model": True}, on_progress)
        about = self._get(f"/v1/models/{job['model']}").json()
        columns = tuple(about["columns"])
        return RemoteModel(about["id"], columns, about["scorecard"], self, time, id, keep_sentinels)

    # ------------------------------------------------------------ the way there and back

    def _run(
        self,
        frame: Frame,
        options: Mapping[str, Any],
        on_progress: Callable[[Mapping[str, Any]], None] | None,
    ) -> dict[str, Any]:
        """Create a job and wait for its end."""
        table = _parquet(frame)
        # what means missing was found here already
        given = {**options, "time": table.time, "id": table.id, "keep_sentinels": True}
        files = {"file": ("table.parquet", table.raw)}
        job = self._create(files, {"options": json.dumps(given)})
        for now in self._watch(job):
            job = now
            if on_progress is not None and job["progress"] is not None:
                on_progress(job["progress"])
        if job["state"] == "done":
            return dict(job)
        problem = job["problem"] or {"detail": f"the job was {job['state']}"}
        raise InputError(problem["detail"], cure=problem.get("cure"), option=problem.get("field"))

    def _create(self, files: Mapping[str, Any], data: Mapping[str, str]) -> dict[str, Any]:
        """Create a job; where no answer came it is asked for again under the same key, which gives the same job."""
        headers, sent = {"Idempotency-Key": uuid4().hex}, False
        for pause in (*PAUSES, None):
            try:
                answer = self._send("POST", "/v1/jobs", files=files, data=data, headers=headers)
                break
            except Unreached as error:
                sent = sent or error.sent
                if pause is None or not sent:
                    raise
                clock.sleep(pause)
        return dict(answer.json())

    def _watch(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The job whenever it changes, through restarts of the server."""
        import httpx

        misses = 0
        while True:
            try:
                with self._http.stream("GET", job["links"]["events"]) as stream:
                    if stream.status_code != 200:
                        stream.read()
                        _refuse(stream)
                    for line in stream.iter_lines():
                        if line.startswith("data: "):
                            misses = 0
                            job = json.loads(line.removeprefix("data: "))
                            if not job:
                                raise ServerError("the job was deleted")
                            yield job
                            if job["state"] in ("done", "failed", "cancelled"):
                                return
            except httpx.TransportError as error:
                misses += 1
                if misses > 20:
                    raise ServerError(f"the server cannot be reached: {error}") from None
                clock.sleep(1)

    def _get(self, path: str, **params: str) -> Any:
        return self._send("GET", path, params=params)

    def _send(self, method: str, path: str, **more: Any) -> Any:
        with _reached():
            answer = self._http.request(method, path, **more)
        if answer.is_success:
            return answer
        return _refuse(answer)


@contextmanager
def _reached() -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.TransportError as error:
        unreached = Unreached(f"the server cannot be reached: {error}\nStart it: t1 serve")
        unreached.sent = not isinstance(error, httpx.ConnectError)
        raise unreached from None


def _refuse(answer: Any) -> Any:
    """The server's problem document as the error that the same call would raise here."""
    try:
        problem = answer.json()
    except ValueError:
        problem = {"detail": f"HTTP {answer.status_code}"}
    if answer.status_code in (400, 413, 415, 422):
        raise InputError(problem["detail"], cure=problem.get("cure"), option=problem.get("field"))
    cure = f"\n{problem['cure']}" if problem.get("cure") else ""
    raise ServerError(f"{problem['detail']}{cure}")


@dataclass(frozen=True)
class _ParquetTable:
    raw: bytes
    time: str | None
    id: str | None


def _parquet(frame: Frame) -> _ParquetTable:
    """The numbers of a table with its times and ids, as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(set(frame.columns)) < len(frame.columns):
        raise InputError("two columns have the same name", cure="Rename one of them.", option="columns")
    columns: dict[str, Any] = {}
    names: dict[str, str | None] = {"time": None, "id": None}
    for part, cells in (("time", frame.time), ("id", frame.ids)):
        if cells is not None:
            name = part
            while name in frame.columns:
                name = f"{name}_"
            names[part] = name
            texts = cells if part == "time" else [str(cell) for cell in cells]
            columns[name] = pa.array(texts)
    for j, name in enumerate(frame.columns):
        columns[name] = pa.array(frame.values[:, j], from_pandas=True)
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return _ParquetTable(out.getvalue(), names["time"], names["id"])


def _restored(frame: Frame, values: FloatArray) -> Any:
    """The container of a table with the server's values in its missing cells."""
    observed = ~np.isnan(frame.values)
    return frame.restore(np.where(observed, frame.values, values), observed)


def _chosen(data: Any, columns: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if isinstance(data, np.ndarray | list | tuple) else columns
