"""Requests that are sent again: with the same key they give the same job, through a crowd and through a kill."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import t1
from serving import Served, csv_of, httpx, waves
from test_serve_api import problem
from test_serve_safety import stream

TABLE = csv_of(waves(60))
LINEAR = {"method": "linear", "budget": "fast"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("again") / "jobs", "--workers", "1", "--max-queued", "12")
    served.port = int(served.url.rsplit(":", 1)[1])  # it comes back at the same address
    yield served
    served.stop()


def create(server, key, raw=TABLE, client="me", **options):
    return server.http.post(
        "/v1/jobs",
        files={"file": ("table.csv", raw)},
        data={"options": json.dumps({**LINEAR, **options})},
        headers={"Idempotency-Key": key, "T1-Client": client},
    )


def jobs_of(server):
    return {path.name for path in (server.folder / "jobs").iterdir()}


def test_the_same_key_gives_the_same_job_and_another_request_is_refused(server):
    first = create(server, "a").json()
    done = server.wait(first["id"])
    again = create(server, "a")
    assert (
        again.status_code == 201
        and again.json()["id"] == first["id"]
        and again.json()["state"] == done["state"]
    )
    assert again.headers["location"] == f"/v1/jobs/{first['id']}"
    problem(create(server, "a", seed=7), 422, "Idempotency-Key")
    problem(create(server, "a", raw=csv_of(waves(61))), 422, "Idempotency-Key")
    problem(create(server, "k" * 256), 422, "idempotency-key")
    assert create(server, "a", client="you").json()["id"] != first["id"]  # a key is its client's own
    assert create(server, "b").json()["id"] != first["id"]
    server.http.delete(f"/v1/jobs/{first['id']}")
    assert create(server, "a", seed=7).json()["id"] != first["id"]  # forgotten with its job


def test_an_order_for_an_upload_is_known_again_after_the_upload_is_gone(server):
    file = server.upload(TABLE).json()["id"]
    order = {"json": {"file": file, "options": LINEAR}, "headers": {"Idempotency-Key": "order"}}
    first = server.http.post("/v1/jobs", **order).json()
    assert server.http.delete(f"/v1/files/{file}").status_code == 204
    assert server.http.post("/v1/jobs", **order).json()["id"] == first["id"]
    order["headers"] = {"Idempotency-Key": "another"}
    problem(server.http.post("/v1/jobs", **order), 404, "file")


def test_many_at_once_make_one_job(server):
    before = jobs_of(server)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: create(server, "crowd"), range(16)))
    (one,) = {answer.json()["id"] for answer in answers}
    assert jobs_of(server) - before == {one}
    assert server.wait(one)["attempt"] == 1


def test_a_key_is_known_after_a_kill(server):
    first = create(server, "kill").json()["id"]
    server.kill()
    server.start()
    assert create(server, "kill").json()["id"] == first
    assert server.wait(first)["state"] == "done"


def test_too_many_waiting_jobs_are_told_before_the_upload(server):
    long = server.job(csv_of(waves(300, 3)), budget="1h")
    server.wait(long["id"], until=("running",))
    waiting = [create(server, f"w{k}", client="crowd").json()["id"] for k in range(12)]
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nT1-Client: crowd\r\nContent-Length: 50000000\r\n"
    head += b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    answer, sent = stream(server, head, iter([]))
    assert answer.startswith(b"HTTP/1.1 429 ") and b"retry-after: 30" in answer and sent == 0
    assert create(server, "w3", client="crowd").json()["id"] == waiting[3]  # what is there is no new job
    problem(create(server, "w12", client="crowd"), 429)
    for id in (*waiting, long["id"]):
        server.http.delete(f"/v1/jobs/{id}")


def test_the_client_asks_again_where_the_answer_was_lost(server):
    """Between them stands a proxy that passes the order on and drops the first answer."""
    asked = []

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            answer = httpx.request(
                self.command, server.url + self.path, content=body, headers=headers, timeout=60
            )
            if self.command == "POST":
                asked.append((self.headers["Idempotency-Key"], answer.json()["id"]))
                if len(asked) == 1:
                    self.connection.close()
                    return
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["content-type"])
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = handle_any

        def log_message(self, *_):
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    before = jobs_of(server)
    with t1.Client(f"http://127.0.0.1:{proxy.server_port}") as client:
        result = client.impute(waves(60), method="linear", budget="fast")
    proxy.shutdown()
    assert result.n_filled > 0 and len(asked) == 2 and asked[0] == asked[1] and asked[0][0]
    assert jobs_of(server) - before == {asked[0][1]}
