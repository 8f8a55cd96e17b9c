"""The interface of `t1 serve` for programs: a real server process, real requests."""

import gzip
import io
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import t1
from serving import Served, csv_of, httpx, waves
from t1.client import ServerError
from t1.errors import InputError

ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("serve") / "jobs", "--workers", "1")
    yield served
    served.stop()


@pytest.fixture(scope="module")
def done(server):
    """A finished job: a table of 200 rows, with intervals and a model."""
    raw = csv_of(waves(200))
    job = server.job(raw, "plant.csv", budget="fast", intervals=0.9, keep_model=True)
    return server.wait(job["id"]), raw


def problem(answer, status, field=None):
    """A problem document (RFC 9457) with that status and field."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert answer.status_code == body["status"] == status, body
    assert body["type"] and body["title"] and body["detail"]
    assert body["field"] == field, body
    return body


# --- jobs


def test_a_job_fills_the_file_as_the_command_line_does(server, done, tmp_path):
    job, raw = done
    assert job["state"] == "done" and job["summary"]["filled"] == job["summary"]["missing"] > 0
    filled = server.http.get(job["links"]["result"])
    assert 'filename="plant-filled.csv"' in filled.headers["content-disposition"]
    (tmp_path / "plant.csv").write_bytes(raw)
    from t1.cli import main

    where = ["--scorecard", str(tmp_path / "s.json"), "--provenance", str(tmp_path / "p.csv")]
    model = ["train", str(tmp_path / "plant.csv"), "-o", str(tmp_path / "model"), "--budget", "fast"]
    assert main(model) == 0
    fill = [
        "impute",
        str(tmp_path / "plant.csv"),
        "-o",
        str(tmp_path / "out.csv"),
        "--intervals",
        "0.9",
        *where,
    ]
    assert main([*fill, "--model", str(tmp_path / "model")]) == 0
    assert filled.content == (tmp_path / "out.csv").read_bytes()
    card, here = (
        server.http.get(job["links"]["scorecard"]).json(),
        json.loads((tmp_path / "s.json").read_text()),
    )
    assert card | {"seconds": 0} == here | {"seconds": 0} and card["understood"]
    assert server.http.get(job["links"]["provenance"]).text == (tmp_path / "p.csv").read_text()


def test_the_report_runs_in_a_sandbox(server, done):
    report = server.http.get(done[0]["links"]["report"])
    assert report.text.startswith("<!DOCTYPE html>") and "plant.csv" in report.text
    policy = report.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy


def test_events_tell_the_stages_and_end_with_the_job(server):
    job = server.job(csv_of(waves(300, 3)), budget="fast")
    with server.http.stream("GET", job["links"]["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        seen = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert seen[-1]["state"] == "done" and seen[-1]["progress"] is None
    told = [one["progress"] for one in seen if one["progress"]]
    stages = [one["stage"] for one in told]
    assert "judging t1" in stages and "writing the report" in stages
    errors = [one["best_error"] for one in told if one["best_error"] is not None]
    assert errors and errors == sorted(errors, reverse=True)  # best so far never gets worse


def test_the_time_left_is_that_of_the_budget(server):
    job = server.job(csv_of(waves(300, 3)), budget="1h")
    running = server.wait(job["id"], until=("running",))
    while running["progress"] is None or "tuning" not in running["progress"]["stage"]:
        running = server.http.get(f"/v1/jobs/{job['id']}").json()
        assert running["state"] == "running"
    assert 3000 < running["progress"]["seconds_left"] < 3600
    stopped = server.http.post(f"/v1/jobs/{job['id']}/stop")
    assert stopped.status_code == 200
    ended = server.wait(job["id"])
    assert ended["state"] == "done" and any("stopped early" in text for text in ended["summary"]["problems"])


@pytest.mark.parametrize("when", ["at once", "judging"])
def test_stopped_before_it_trains_a_job_judges_to_the_end_and_trains_nothing(server, when):
    job = server.job(csv_of(waves(12_000, 6)), budget="1h")  # judged for seconds: the stop comes in time
    now = server.wait(job["id"], until=("running",))
    while when == "judging" and "judging" not in (now["progress"] or {"stage": ""})["stage"]:
        now = server.http.get(f"/v1/jobs/{job['id']}").json()
    assert server.http.post(f"/v1/jobs/{job['id']}/stop").status_code == 200
    told = []
    with server.http.stream("GET", f"/v1/jobs/{job['id']}/events") as events:
        for line in events.iter_lines():
            told += [json.loads(line[6:])] if line.startswith("data: ") else []
    assert all(one["progress"]["stopping"] for one in told if one["progress"])
    assert not any(
        "tuning" in one["progress"]["stage"] for one in told if one["progress"] and one["progress"]["step"]
    )
    assert told[-1]["state"] == "done" and told[-1]["summary"]["filled"] == told[-1]["summary"]["missing"]
    assert any("while methods were judged" in text for text in told[-1]["summary"]["problems"])
    assert "t1 tuned" not in told[-1]["summary"]["verdict"]


def test_a_running_job_is_cancelled_at_once_and_the_next_one_runs(server):
    long = server.job(csv_of(waves(300, 3)), budget="1h")
    server.wait(long["id"], until=("running",))
    queued = server.job(csv_of(waves(60)), method="linear", budget="fast")
    assert queued["state"] == "queued"
    assert server.http.post(f"/v1/jobs/{long['id']}/cancel").json()["state"] == "cancelled"
    assert server.wait(queued["id"])["state"] == "done"
    assert server.http.get(f"/v1/jobs/{long['id']}").json()["state"] == "cancelled"
    problem(server.http.post(f"/v1/jobs/{long['id']}/cancel"), 409)
    problem(server.http.get(f"/v1/jobs/{long['id']}/result"), 409)


def test_a_deleted_job_leaves_nothing(server):
    job = server.wait(server.job(csv_of(waves(60)), method="linear", budget="fast")["id"])
    assert (server.folder / "jobs" / job["id"]).is_dir()
    assert server.http.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert not (server.folder / "jobs" / job["id"]).exists()
    problem(server.http.get(f"/v1/jobs/{job['id']}"), 404, "id")


def test_the_cells_of_a_gap_are_told(server, done):
    job, _ = done
    origin = pd.read_csv(io.StringIO(server.http.get(job["links"]["provenance"]).text))
    one = origin.iloc[3]
    for where in ({"row": int(one["row"])}, {"time": one["time"]}, {"place": int(one["row"])}):
        found = server.http.get(
            f"/v1/jobs/{job['id']}/cells", params={"column": one["column"], **where}
        ).json()
        mine = [cell for cell in found["cells"] if cell["row"] == one["row"]]
        assert len(found["cells"]) == one["gap_length"]
        assert mine[0]["value"] == pytest.approx(one["value"]) and mine[0]["method"] == one["method"]
        assert mine[0]["lo"] <= mine[0]["value"] <= mine[0]["hi"]
    problem(server.http.get(f"/v1/jobs/{job['id']}/cells", params={"column": "no", "row": 1}), 404, "column")


def test_a_fill_is_explained_by_the_model_that_was_kept(server, done):
    job, _ = done
    origin = pd.read_csv(io.StringIO(server.http.get(job["links"]["provenance"]).text))
    one = origin.iloc[0]
    where = {"column": one["column"], "row": int(one["row"])}
    found = server.http.get(f"/v1/jobs/{job['id']}/explain", params=where).json()
    assert found["column"] == one["column"] and found["method"] == one["method"]
    assert found["value"] == pytest.approx(one["value"], abs=0.02 * found["spread"])
    assert {line["column"] for line in found["columns"]} == {"x0", "x1"}
    problem(server.http.get(f"/v1/jobs/{job['id']}/explain", params={**where, "row": 10**6}), 422, "row")
    bare = server.wait(server.job(csv_of(waves(60)), method="linear", budget="fast")["id"])
    problem(server.http.get(f"/v1/jobs/{bare['id']}/explain", params=where), 409, "keep_model")


# --- what was understood


def test_a_look_tells_what_was_understood_and_takes_corrections(server):
    raw = b"day;temp;code\n" + b"".join(b"%02d.01.2024;%d,5;-9999\n" % (1 + i % 28, i % 7) for i in range(28))
    file = server.upload(raw, "plant.csv").json()
    look = server.http.post(f"/v1/files/{file['id']}/look").json()
    assert look["time"] == ["day"] and look["rows"] == 28 and look["all_columns"] == ["day", "temp", "code"]
    assert look["columns"][0]["name"] == "temp"
    assert look["found"] == {"separator": ";", "decimal": ",", "encoding": "utf-8"}
    assert look["preview"][1][:2] == ["0,5", "1,5"]
    wrong = server.http.post(f"/v1/files/{file['id']}/look", json={"time": "dya"})
    body = problem(wrong, 422, "time")
    assert body["cure"] == "Did you mean 'day'?" and str(server.folder) not in wrong.text
    problem(server.http.post(f"/v1/files/{file['id']}/look", json={"minimum": {"tmp": 0}}), 422, "minimum")
    excluded = server.http.post(f"/v1/files/{file['id']}/look", json={"exclude": ["code"]}).json()
    assert [column["name"] for column in excluded["columns"]] == ["temp"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"bugdet": "fast"}, "bugdet"),
        ({"budget": "soon"}, "budget"),
        ({"budget": "2h"}, "budget"),
        ({"method": "liner"}, "method"),
        ({"intervals": 2}, "intervals"),
        ({"max_gap": "long"}, "max_gap"),
        ({"weights": "/etc/passwd"}, "weights"),
        (["fast"], "options"),
    ],
)
def test_a_wrong_option_is_named_before_anything_is_queued(server, options, field):
    before = server.http.get("/health").json()["jobs"]
    answer = server.http.post("/v1/jobs", files={"file": b"a\n1\n"}, data={"options": json.dumps(options)})
    problem(answer, 422, field)
    assert server.http.get("/health").json()["jobs"] == before


def test_what_only_the_file_shows_fails_the_job_with_the_field(server):
    job = server.wait(server.job(csv_of(waves(60)), method="linear", columns=["x9"])["id"])
    assert job["state"] == "failed" and job["problem"]["field"] == "columns"
    assert "'x9'" in job["problem"]["detail"] and str(server.folder) not in job["problem"]["detail"]


# --- small tables, models


def test_a_small_table_is_filled_directly(server):
    values = waves(150, 3)
    table = pd.DataFrame(values, columns=list("abc"))
    cells = {name: [None if v != v else v for v in table[name]] for name in table}
    answer = server.http.post(
        "/v1/fill", json={"table": cells, "options": {"method": "linear", "intervals": 0.9}}
    )
    body = answer.json()
    here = t1.impute(table, method="linear", budget="fast", intervals=0.9)
    assert body["table"]["a"] == here.data["a"].tolist() and body["filled"] == here.n_filled
    assert body["scorecard"] == json.loads(json.dumps(here.scorecard.to_dict()))
    lo = body["table"]["a_lo"]
    assert [v is None for v in lo] == [v == v for v in values[:, 0]]


@pytest.mark.parametrize("media", [ARROW, "application/vnd.apache.parquet"])
def test_arrow_and_parquet_come_back_as_they_went(server, media):
    table = pa.table({"n": pa.array([1, None, 3, 4, 5, 6] * 8, pa.int32()), "text": ["a", None] * 24})
    out = io.BytesIO()
    if media == ARROW:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, out)
    options = {"options": json.dumps({"method": "linear"})}
    headers = {"Content-Type": media, "Accept": f"text/html, {media}"}
    answer = server.http.post("/v1/fill", content=out.getvalue(), params=options, headers=headers)
    assert answer.status_code == 200 and answer.headers["content-type"] == media
    read = pa.ipc.open_stream if media == ARROW else None
    back = read(answer.content).read_all() if read else pq.read_table(io.BytesIO(answer.content))
    assert back.schema.names == ["n", "text"] and back["n"].null_count == 0
    assert back["text"].to_pylist() == table["text"].to_pylist()
    assert json.loads(back.schema.metadata[b"t1"])["filled"] == 8


def test_a_kept_model_fills_new_rows(server, done):
    job, _ = done
    about = server.http.get(f"/v1/models/{job['model']}").json()
    assert about["columns"] == ["x0", "x1"] and about["scorecard"]["scores"]
    times = [f"2024-02-01 {h:02}:00" for h in range(24)]
    table = {"time": times, "x0": [0.5, None] * 12, "x1": [None, 0.25] * 12}
    answer = server.http.post(f"/v1/models/{job['model']}/fill", json={"table": table}).json()
    assert None not in answer["table"]["x0"] and answer["table"]["x0"][::2] == [0.5] * 12
    assert answer["table"]["time"] == times and answer["filled"] == 24
    wrong = server.http.post(f"/v1/models/{job['model']}/fill", json={"table": {"x0": [1, None]}})
    problem(wrong, 422, None if wrong.json()["field"] is None else wrong.json()["field"])
    chosen = {"table": table, "options": {"method": "linear"}}
    problem(server.http.post(f"/v1/models/{job['model']}/fill", json=chosen), 422, "method")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"[" * 100_000, "body"),
        (b"[]", "table"),
        (b'{"table": {}}', "table"),
        (b'{"table": {"a": [1, "x"]}}', "table"),
        (b'{"table": {"a": [1, {}]}}', "table"),
        (b'{"table": {"a": [1, 2], "b": [1]}}', "table"),
        (b'{"table": {"a": [1, null]}, "option": {}}', "option"),
        (b'{"table": {"a": [1, null]}, "options": 3}', "options"),
        (b'{"table": {"a": [1, null, 3]}, "options": {"budget": "1h"}}', "budget"),
    ],
)
def test_a_wrong_table_is_told_with_its_field(server, body, field):
    problem(
        server.http.post("/v1/fill", content=body, headers={"Content-Type": "application/json"}), 422, field
    )


def test_other_media_are_refused(server):
    problem(
        server.http.post("/v1/fill", content=b"a,b\n", headers={"Content-Type": "text/csv"}),
        415,
        "Content-Type",
    )
    problem(
        server.http.post("/v1/jobs", content=b"a,b\n", headers={"Content-Type": "text/csv"}),
        415,
        "Content-Type",
    )


# --- t1.Client


def test_the_client_mirrors_impute_to_the_bit(server):
    index = pd.date_range("2024-01-01", periods=200, freq="h")
    table = pd.DataFrame(waves(200, 3), columns=list("abc"), index=index)
    table["note"] = "text"
    told = []
    with t1.Client(server.url) as client:
        there = client.impute(
            table, budget="fast", intervals=0.9, minimum={"a": -0.5}, on_progress=told.append
        )
        here = t1.impute(table, budget="fast", intervals=0.9, minimum={"a": -0.5})
        pd.testing.assert_frame_equal(there.data, here.data)
        assert there.scorecard["scores"] == json.loads(json.dumps(here.scorecard.to_dict()["scores"]))
        assert there.n_filled == here.n_filled and told and told[-1]["seconds"] > 0
        array = client.impute(waves(100), method="linear", budget="fast")
        np.testing.assert_array_equal(array.data, t1.impute(waves(100), method="linear", budget="fast").data)


def test_the_client_keeps_a_model_and_says_what_is_wrong(server, tmp_path):
    table = pd.DataFrame(waves(200, 3), columns=list("abc"))
    with t1.Client(server.url, name="me") as client:
        model = client.fit(table, budget="fast")
        here = t1.fit(table, budget="fast")
        pd.testing.assert_frame_equal(model.apply(table.head(60)), here.apply(table.head(60)).data)
        assert model.columns == ("a", "b", "c")
        model.delete()
        with pytest.raises(ServerError, match="no such model"):
            model.apply(table)
        with pytest.raises(InputError, match="no method 'liner'") as wrong:
            client.impute(table, method="liner")
        assert wrong.value.option == "method" and "linear" in wrong.value.cure
        with pytest.raises(InputError) as wrong:
            client.impute(table, minimum={"d": 1})
        assert wrong.value.option == "minimum"
        result = client.impute(table, method="linear", budget="fast")
        result.report(tmp_path / "r.html")
        assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(ServerError, match="t1 serve"):
        t1.Client("http://127.0.0.1:9").impute(table)


# --- health, metrics, the description


def test_health_and_metrics(server, done):
    health = server.http.get("/health").json()
    assert health["status"] == "ok" and health["workers"] == 1 and health["jobs"]["done"] >= 1
    text = server.http.get("/metrics").text
    assert re.search(r't1_jobs\{state="done"\} [1-9]', text)
    assert re.search(r't1_requests_total\{method="POST",path="/v1/jobs",status="201"\} [1-9]', text)


def test_the_description_is_versioned_and_names_problems(server):
    described = server.http.get("/v1/openapi.json").json()
    ours = [path for path in described["paths"] if not path.startswith("/v1")]
    assert sorted(ours) == ["/health", "/metrics"]
    answers = described["paths"]["/v1/jobs"]["post"]["responses"]
    assert {"201", "413", "422", "507"} <= set(answers)
    assert list(answers["413"]["content"]) == ["application/problem+json"]


def test_an_unknown_path_and_a_wrong_verb_are_problems_too(server):
    problem(server.http.get("/v1/nothing"), 404)
    problem(server.http.put("/v1/jobs"), 405)
    problem(server.http.get(f"/v1/jobs/{'0' * 32}"), 404, "id")


def test_gzip_and_excel_come_back_as_they_went(server):
    raw = csv_of(waves(60))
    packed = server.wait(server.job(gzip.compress(raw), "plant.csv.gz", method="linear", budget="fast")["id"])
    back = server.http.get(packed["links"]["result"])
    assert gzip.decompress(back.content).startswith(b"time,x0,x1\n")
    sheet = io.BytesIO()
    pd.read_csv(io.BytesIO(raw), parse_dates=["time"]).to_excel(sheet, index=False)
    job = server.wait(server.job(sheet.getvalue(), "plant.xlsx", method="linear", budget="fast")["id"])
    filled = pd.read_excel(io.BytesIO(server.http.get(job["links"]["result"]).content))
    assert filled.notna().all().all()


def test_the_log_holds_no_content_and_no_whole_id(server, done):
    job, _ = done
    server.wait(server.job(b"secret_column\n1\n\n3\n4\n", "secret_name.csv", columns=["nothing"])["id"])
    httpx.post(f"{server.url}/v1/fill", json={"table": {"secret_cell": [1, "secret"]}})
    log = server.log.read_text()
    assert "/v1/jobs/" in log and job["id"] not in log and "secret" not in log
