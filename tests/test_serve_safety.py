"""Promises of `t1 serve` to whoever runs it: limits, uploads that lie, who may ask, what survives."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from serving import Served, csv_of, httpx, waves
from t1.errors import InputError
from t1.serve.settings import bytes_of, read_token
from t1.serve.uploads import shown_name
from t1.serve.work import Task, carry_out
from test_serve_api import problem

NIGHTLY = bool(os.environ.get("T1_LOAD"))
TABLE = csv_of(waves(60))
LINEAR = {"method": "linear", "budget": "fast"}
LIMITS = ("--max-upload", "2MB", "--max-unpacked", "20MB", "--max-cells", "50000", "--memory", "3GB")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """With small limits, so that going over them is quick."""
    served = Served(tmp_path_factory.mktemp("safe") / "jobs", "--workers", "1", *LIMITS)
    yield served
    served.stop()


def alive(server):
    job = server.wait(server.job(TABLE, **LINEAR)["id"])
    assert job["state"] == "done" and server.process.poll() is None


def stream(server, head, chunks, seconds=30):
    """Send raw bytes; the answer, and how many chunks went out before it came."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as line:
        line.sendall(head)
        sent = 0
        line.setblocking(False)
        answer = b""
        end = time.monotonic() + seconds
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest and time.monotonic() < end:
                try:
                    rest = rest[line.send(rest) :]
                except BlockingIOError:
                    time.sleep(0.005)
                except OSError:
                    rest = memoryview(b"")
                try:
                    answer += line.recv(65536)
                    break
                except BlockingIOError:
                    continue
                except OSError:
                    break
            if answer:
                break
            sent += 1
        line.setblocking(True)
        line.settimeout(max(end - time.monotonic(), 0.1))
        try:
            while part := line.recv(65536):
                answer += part
        except OSError:
            pass
    return answer, sent


# --- uploads that lie


def test_a_gzip_bomb_is_refused_while_it_is_unpacked(server):
    bomb = gzip.compress(b"a,b\n" + b"0,0\n" * 15_000_000)  # 60 MB in 60 kB
    assert len(bomb) < 200_000
    body = problem(server.upload(bomb, "bomb.csv.gz"), 422, "file")
    assert "20 MB" in body["detail"]
    sheet = io.BytesIO()
    with zipfile.ZipFile(sheet, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 30_000_000)
    problem(server.upload(sheet.getvalue(), "bomb.xlsx"), 422, "file")
    assert not list((server.folder / "incoming").iterdir())


def test_too_many_cells_are_refused(server):
    raw = b"a,b,c\n" + b"1,2,\n" * 40_000
    file = server.upload(raw).json()
    body = problem(server.http.post(f"/v1/files/{file['id']}/look"), 422, "file")
    assert "40,000 x 3" in body["detail"]
    job = server.wait(server.job(raw, **LINEAR)["id"])
    assert job["state"] == "failed" and "40,000 x 3" in job["problem"]["detail"]


def test_an_announced_length_over_the_limit_is_refused_before_a_byte_of_it_is_read(server):
    head = "POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000000\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    answer, _ = stream(server, head.encode(), [])
    assert answer.startswith(b"HTTP/1.1 413") and b"2 MB" in answer and b"application/problem+json" in answer


def test_a_stream_of_2_gb_is_cut_off_at_the_limit(server):
    head = "POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    piece = b"0," * 50_000
    chunks = (b"%x\r\n%s\r\n" % (len(data), data) for data in (part, *[piece] * 20_000))  # 2 GB
    answer, sent = stream(server, head.encode(), chunks)
    assert answer.startswith(b"HTTP/1.1 413")
    assert sent < 200  # of 20,000
    assert not list((server.folder / "incoming").iterdir())


def test_a_wrong_suffix_is_seen_through(server):
    import pandas as pd

    raw = io.BytesIO()
    pd.read_csv(io.BytesIO(TABLE), parse_dates=["time"]).to_parquet(raw)
    job = server.wait(server.job(raw.getvalue(), "plant.csv", **LINEAR)["id"])
    answer = server.http.get(job["links"]["result"])
    assert 'filename="plant-filled.parquet"' in answer.headers["content-disposition"]
    assert answer.content.startswith(b"PAR1")
    for name, raw in (("a.parquet", TABLE), ("a.xlsx", TABLE), ("a.exe", TABLE), ("a.csv.gz", TABLE)):
        assert server.wait(server.job(raw, name, **LINEAR)["id"])["state"] == "done", name
    pdf = server.wait(server.job(b"%PDF-1.7 ...", "a.csv", **LINEAR)["id"])
    assert pdf["state"] == "failed" and "PDF" in pdf["problem"]["detail"]


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd.csv",
        "..\\..\\boot.csv",
        "/etc/cron.d/x.csv",
        "a\0b.csv",
        "\r\nSet-Cookie: x.csv",
        "." * 300,
    ],
)
def test_no_name_becomes_a_path_or_a_header(server, name):
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + name.encode().replace(
        b"\r\n", b"%0d%0a"
    )
    body = part + b'"\r\n\r\n' + TABLE + b'\r\n--x\r\nContent-Disposition: form-data; name="options"\r\n\r\n'
    body += json.dumps(LINEAR).encode() + b"\r\n--x--\r\n"
    answer = server.http.post(
        "/v1/jobs", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert answer.status_code == 201, answer.text
    job = server.wait(answer.json()["id"])
    assert job["state"] == "done" and not re.search(r"[/\\]", job["name"]) and len(job["name"]) <= 200
    result = server.http.get(job["links"]["result"])
    assert "set-cookie" not in result.headers and result.content.startswith(b"time,")
    names = {path.name for path in server.folder.rglob("*")}
    assert not any("passwd" in one or "boot" in one or one.startswith("x.csv") for one in names)


def test_names_are_shown_in_one_line_without_folders():
    assert shown_name("C:\\data\\plant.csv") == "plant.csv" and shown_name("a\nb.csv") == "a b.csv"
    assert shown_name(None) == shown_name("///") == "table.csv"


def test_formula_cells_come_back_as_they_went_and_only_as_a_download(server):
    raw = b"time,x,note\n" + b"".join(
        b"2024-01-01 %02d:00,%s,\"=cmd|'/c calc'!A0\"\n" % (i, b"" if i == 5 else b"%d" % i)
        for i in range(24)
    )
    job = server.wait(server.job(raw, **LINEAR)["id"])
    answer = server.http.get(job["links"]["result"])
    assert answer.content == raw.replace(b"05:00,,", b"05:00,5,")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_truncated_form_is_told_and_leaves_nothing(server):
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na,b\n1,2\n'
    for end in (b"", b"\r\n--", b"\r\n--x"):
        answer = server.http.post(
            "/v1/jobs", content=body + end, headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
        assert answer.status_code in (400, 422) and answer.json()["field"] in ("file", "body"), answer.text
    for kind in ("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=y"):
        answer = server.http.post("/v1/files", content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 422), (kind, answer.text)
    head = b"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"
    head += b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + body
    stream(server, head, [], seconds=0.3)  # and hangs up
    alive(server)
    assert not list((server.folder / "incoming").iterdir())


def test_who_sends_byte_by_byte_is_cut_off_and_keeps_nobody_waiting(tmp_path):
    """Slow-loris, in the head and in the body, with the two waits shortened to 2 s."""
    code = "import t1.serve.run as r, t1.serve.settings as s, sys; r.HEADER_SECONDS = 2.0\n"
    code += "s.Settings.__init__.__kwdefaults__['patience'] = 2.0\n"
    code += "from t1.cli import main\nif __name__ == '__main__': sys.exit(main(sys.argv[1:]))"
    (tmp_path / "quick.py").write_text(code)
    served = Served(tmp_path / "jobs", "--workers", "1", script=tmp_path / "quick.py")
    host, port = served.url.removeprefix("http://").split(":")
    lines = [socket.create_connection((host, int(port))) for _ in range(60)]
    for line in lines[:40]:
        line.sendall(b"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    for line in lines[40:]:
        line.sendall(
            b"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x"
        )
    assert served.http.get("/health").status_code == 200
    answers = []
    for line in lines:
        line.settimeout(30)
        answers.append(line.recv(65536))  # b"": cut off
        line.close()
    assert answers[:40] == [b""] * 40
    assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers[40:])
    served.stop()


# --- who may ask


def test_every_answer_has_strict_headers_and_no_cookie(server):
    for path in ("/", "/static/page.js", "/v1/about", "/v1/nothing", "/health"):
        headers = server.http.get(path).headers
        policy = headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        )
        assert headers["x-content-type-options"] == "nosniff" and "set-cookie" not in headers
        assert "access-control-allow-origin" not in headers and "server" not in headers


def test_other_hosts_and_other_sites_are_refused(server):
    problem(server.http.get("/health", headers={"Host": "evil.example"}), 400, "Host")
    problem(server.http.get("/health", headers={"Host": "127.0.0.1@evil.example"}), 400, "Host")
    answer = server.http.post("/v1/files/sample", headers={"Origin": "https://evil.example"})
    problem(answer, 403, "Origin")
    assert server.http.post("/v1/files/sample", headers={"Origin": server.url}).status_code == 201


def run_serve(*options, under=()):
    command = [*under, sys.executable, "-m", "t1.cli", "serve", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_another_address_needs_a_token(tmp_path):
    folder = ["--folder", str(tmp_path / "jobs"), "--port", "0"]
    refused = run_serve("--host", "0.0.0.0", *folder)
    assert refused.returncode == 2 and "needs a token" in refused.stderr and "--token-file" in refused.stderr
    (tmp_path / "short").write_text("1234")
    short = run_serve("--host", "0.0.0.0", "--token-file", str(tmp_path / "short"), *folder)
    assert short.returncode == 2 and "at least 16" in short.stderr


def test_with_a_token_nothing_is_told_without_it(tmp_path):
    token = "0123456789abcdef-secret"
    (tmp_path / "token").write_text(token + "\n")
    options = ("--host", "0.0.0.0", "--token-file", str(tmp_path / "token"), "--workers", "1")
    served = Served(tmp_path / "jobs", *options, "--allow-origin", "https://lab.example")
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    with httpx.Client(base_url=url, timeout=60) as http:
        assert http.get("/health").status_code == 200 and http.get("/").status_code == 200
        for path in ("/v1/about", "/metrics", "/v1/openapi.json", f"/v1/jobs/{'0' * 32}"):
            answer = http.get(path)
            problem(answer, 401, "Authorization")
            assert answer.headers["www-authenticate"] == "Bearer"
        problem(http.get("/v1/about", headers={"Authorization": f"Bearer {token}x"}), 401, "Authorization")
        mine = {"Authorization": f"Bearer {token}"}
        job = http.post(
            "/v1/jobs", files={"file": ("a.csv", TABLE)}, data={"options": json.dumps(LINEAR)}, headers=mine
        ).json()
        while job["state"] not in ("done", "failed"):
            time.sleep(0.1)
            job = http.get(f"/v1/jobs/{job['id']}", headers=mine).json()
        # a browser downloads without headers: by a ticket, good for this address alone
        assert "ticket=" in job["links"]["result"]
        assert http.get(job["links"]["result"]).content.startswith(b"time,")
        problem(http.get(job["links"]["result"].partition("?")[0]), 401, "Authorization")
        other = job["links"]["result"].replace("/result", "/provenance")
        problem(http.get(other), 401, "Authorization")
        problem(http.delete(job["links"]["result"]), 401, "Authorization")
        allowed = http.get("/v1/about", headers={**mine, "Origin": "https://lab.example"})
        assert allowed.headers["access-control-allow-origin"] == "https://lab.example"
    assert token not in served.log.read_text() and "ticket" not in served.log.read_text()
    served.stop()


def test_sizes_and_tokens_are_read_as_they_are_written(tmp_path):
    assert [bytes_of(text, "x") for text in ("200MB", "1.5gb", "10k", "7")] == [
        200_000_000,
        1_500_000_000,
        10_000,
        7,
    ]
    for text in ("", "much", "-1MB", "0"):
        with pytest.raises(InputError):
            bytes_of(text, "max_upload")
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_wrong_ways_to_start_are_told_in_one_message(server, tmp_path):
    taken = run_serve("--port", server.url.rsplit(":", 1)[1], "--folder", str(tmp_path / "a"))
    assert taken.returncode == 2 and "--port" in taken.stderr and "Traceback" not in taken.stderr
    shared = run_serve("--port", "0", "--folder", str(server.folder))
    assert shared.returncode == 2 and "another server" in shared.stderr
    size = run_serve("--port", "0", "--folder", str(tmp_path / "a"), "--max-upload", "big")
    assert size.returncode == 2 and "--max-upload" in size.stderr


# --- what survives


def test_a_job_whose_worker_dies_again_and_again_fails_with_a_reason(server):
    job = server.job(csv_of(waves(300, 3)), budget="30m")
    for attempt in (1, 2, 3):
        end = time.monotonic() + 120
        while (now := server.http.get(f"/v1/jobs/{job['id']}").json())["progress"] is None or now[
            "attempt"
        ] < attempt:
            assert now["state"] in ("queued", "running") and time.monotonic() < end, now
            time.sleep(0.1)
        busiest = max(server.workers(), key=lambda pid: started(pid))
        os.kill(busiest, signal.SIGKILL)
    ended = server.wait(job["id"])
    assert ended["state"] == "failed" and "died 3 times" in ended["problem"]["detail"]
    assert "SIGKILL" in ended["problem"]["detail"]
    alive(server)


def started(pid):
    """When a process was started: the worker that runs a job is the youngest one."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


@pytest.mark.skipif(not NIGHTLY, reason="takes a minute: set T1_LOAD=1 (make nightly)")
def test_a_table_that_needs_more_memory_than_a_worker_has_fails_with_that_reason(tmp_path):
    served = Served(tmp_path / "jobs", "--workers", "1", "--memory", "500MB")
    job = served.wait(served.job(csv_of(waves(20_000, 40)), budget="fast")["id"])
    assert job["state"] == "failed" and "memory" in job["problem"]["detail"] + str(job["problem"].get("cure"))
    assert served.wait(served.job(TABLE, **LINEAR)["id"])["state"] == "done"
    served.stop()


@pytest.mark.skipif(not NIGHTLY, reason="takes a minute: set T1_LOAD=1 (make nightly)")
def test_a_job_over_its_time_is_ended_with_that_reason(tmp_path):
    served = Served(tmp_path / "jobs", "--workers", "1", "--max-time", "5s")
    problem(
        served.http.post("/v1/jobs", files={"file": TABLE}, data={"options": '{"budget": "1m"}'}),
        422,
        "budget",
    )
    slow = served.wait(served.job(csv_of(waves(40_000, 40)), budget="fast")["id"])
    assert slow["state"] == "failed" and "5 s" in slow["problem"]["detail"]
    served.stop()


def test_old_jobs_are_forgotten_and_swept(tmp_path):
    from t1.serve.scheduler import Scheduler
    from t1.serve.settings import Settings
    from t1.serve.store import JobStore, StoredFile, new_id

    settings = Settings(folder=tmp_path, keep=0.0)
    for name in ("jobs", "files", "models"):
        (tmp_path / name).mkdir()
    store = JobStore(tmp_path / "jobs.sqlite")
    scheduler = Scheduler(store, settings, [])
    ids = [new_id() for _ in range(3)]
    file = StoredFile(id="f", name="a.csv", source="input.csv", bytes=10, created=time.time())
    for id in ids:
        scheduler.folder(id).mkdir()
        store.add(id, "me", file, {})
    (tmp_path / "jobs" / "orphan").mkdir()
    first = store.claim()
    assert store.finish(first, "done", summary={}) and not store.finish(first, "failed")
    time.sleep(0.01)
    assert store.expire(0.0, 3600) == 1
    scheduler.sweep()
    assert {path.name for path in (tmp_path / "jobs").iterdir()} == set(ids) - {first.id}


# --- disk


def full_task(tmp_path, place):
    """A job whose output goes to the full disk, but for the few bytes that say how it ended."""
    (tmp_path / "input.csv").write_bytes(TABLE)
    target = tmp_path / "out"
    target.mkdir()
    (target / "filled.csv").symlink_to(place / "filled.csv")
    return Task(
        source=tmp_path / "input.csv",
        target=target,
        options=LINEAR,
        name="t",
        max_unpacked=10**9,
        max_cells=10**9,
    )


def test_a_full_disk_is_told_and_the_server_lives(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be made here: {mounted.stderr.strip()}")
    try:
        served = Served(place / "jobs", "--workers", "1")
        served_log = served.log
        first = served.wait(served.job(TABLE, **LINEAR)["id"])
        (place / "ballast").write_bytes(bytes(15_000_000))
        body = problem(served.upload(TABLE), 507)
        assert "full" in body["detail"]
        problem(served.http.post("/v1/files/sample"), 507)
        # full to the last byte while a job runs: it fails with the reason, or ends well once there is room
        (place / "ballast").unlink()
        job = served.job(csv_of(waves(3000, 3)), **LINEAR)
        with suppress(OSError), (place / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        ended = carry_out(full_task(tmp_path, place), lambda event: None, lambda: False)
        assert ended["state"] == "failed" and "No space left" in ended["problem"]["detail"]
        assert str(place) not in json.dumps(ended)
        time.sleep(3)
        assert served.http.get("/health").status_code == 200
        (place / "ballast").unlink()
        now = served.wait(job["id"])
        assert now["state"] == "done" or now["problem"]["detail"], now
        assert served.wait(served.job(TABLE, **LINEAR)["id"])["state"] == "done"
        assert served.http.get(first["links"]["result"]).content.startswith(b"time,")
        served.stop()
        assert "Traceback" not in served_log.read_text()
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_read_only_folder_is_told(tmp_path):
    """Before the start, and when it becomes so while the server runs."""
    under = []
    if os.geteuid() == 0:  # permissions do not bind root, unless it gives up the right to override them
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv here, and permissions do not bind root")
        under = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"]
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    refused = run_serve("--port", "0", "--folder", str(closed / "jobs"), under=under)
    assert refused.returncode == 2 and "--folder" in refused.stderr and "ermission" in refused.stderr
    served = Served(tmp_path / "jobs", "--workers", "1", under=under)
    done = served.wait(served.job(TABLE, **LINEAR)["id"])
    for name in ("files", "jobs", "incoming"):
        (served.folder / name).chmod(0o555)
    problem(served.upload(TABLE), 507)
    problem(served.http.post("/v1/files/sample"), 507)
    assert served.http.get("/health").status_code == 200
    assert served.http.get(done["links"]["result"]).content.startswith(b"time,")
    for name in ("files", "jobs", "incoming"):
        (served.folder / name).chmod(0o755)
    assert served.wait(served.job(TABLE, **LINEAR)["id"])["state"] == "done"
    served.stop()


# --- many at once


def test_a_flood_of_direct_requests_is_told_to_come_back(server):
    body = {"table": {"a": [1.0, None] * 10, "b": [None, 2.0] * 10}, "options": {"method": "linear"}}
    codes = []

    def ask():
        with httpx.Client(timeout=300) as http:
            answer = http.post(f"{server.url}/v1/fill", json=body)
            codes.append((answer.status_code, answer.headers.get("retry-after")))

    threads = [threading.Thread(target=ask) for _ in range(90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(codes) == 90 and {code for code, _ in codes} <= {200, 503}
    assert all(wait == "5" for code, wait in codes if code == 503) and codes.count((200, None)) >= 64
    alive(server)
