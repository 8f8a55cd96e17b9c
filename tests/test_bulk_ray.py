"""Many files on a real Ray cluster: one small node here, four of which one is killed in `make nightly`."""

import json
import os
import re
import shlex
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from t1.bulk.record import RECORD, SUMMARY
from t1.cli import main
from test_bulk import content, table

pytest.importorskip("ray")
ROOT = Path(__file__).parents[1]
# small nodes; their workers are as important as the tests that wait for them
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (so Ray calls it)
QUIET = {"include_dashboard": False, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def cluster():
    """One node with one core, and a door for ray://."""
    from ray.cluster_utils import Cluster

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "ray_client_server_port": port, **QUIET}
    )
    made.door = f"ray://127.0.0.1:{port}"
    yield made
    made.shutdown()


@pytest.fixture
def folder(tmp_path, monkeypatch, cluster) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    for k in range(3):
        path = tmp_path / "stations" / "abc"[k : k + 1]
        path.mkdir(parents=True)
        table(k).to_csv(path / "s.csv", index=False)
    return tmp_path


def test_the_same_bytes_as_here(folder, capsys):
    (folder / "stations" / "words.csv").write_text("when,what\n2024-01-01,yes\n2024-01-02,no\n")
    assert main(["impute", "stations", "-o", "here", "--jobs", "1", "--intervals", "0.9"]) == 2
    assert main(["impute", "stations", "-o", "ray", "--on", "ray", "--intervals", "0.9"]) == 2
    assert "words.csv: no column holds numbers" in capsys.readouterr().err.split("t1: ")[2]
    assert content(folder / "here") == content(folder / "ray") and len(content(folder / "ray")) == 3
    assert main(["impute", "stations", "-o", "ray", "--on", "ray", "--intervals", "0.9"]) == 2
    assert json.loads((folder / "ray" / SUMMARY).read_text())["skipped"] == 3


def test_the_commands_of_the_page_run_on_a_cluster(folder, cluster, waves, capsys):
    page = (ROOT / "docs" / "bulk.md").read_text()
    commands = [one for one in re.findall(r"^\$ t1 (.*)$", page, re.MULTILINE) if "ray" in one]
    assert len(commands) == 3
    for command in commands:
        command = command.replace("ray://127.0.0.1:10001", cluster.door).replace("waves.toml", waves)
        assert main(shlex.split(command)) == 0, capsys.readouterr().err
    assert len(content(folder / "filled-ray2")) == 3
    assert (folder / "rows" / "rows.jsonl").read_text().count("\n") >= 2


@pytest.mark.parametrize("deaths", [2, 3])
def test_a_client_server_that_dies_at_birth_is_started_again(folder, cluster, monkeypatch, capsys, deaths):
    import ray

    init, left = ray.init, iter(range(deaths))

    def mortal(address, **options):
        for _ in left:
            raise ConnectionAbortedError(
                "Initialization failure from server:\nTraceback:\n  it died, as 23000.err says"
            )
        return init(address, **options)

    monkeypatch.setattr(ray, "init", mortal)
    code = main(["impute", "stations", "-o", "out", "--on", "ray", "--method", "linear"])
    assert code == (0 if deaths == 2 else 2)
    if deaths == 3:
        assert "Initialization failure from server: it died, as 23000.err says" in capsys.readouterr().err


def test_an_address_where_no_cluster_is(folder, monkeypatch, capsys):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    assert main(["impute", "stations", "-o", "out", "--on", "ray"]) == 2
    told = capsys.readouterr().err
    assert "no Ray cluster answers at 127.0.0.1:9" in told and "(--on)" in told


@pytest.mark.skipif("T1_RAY" not in os.environ, reason="make nightly: four nodes, 400 files, one node killed")
def test_a_node_that_is_killed_in_the_middle_costs_nothing(tmp_path, monkeypatch):
    import ray
    from ray.cluster_utils import Cluster

    n_files = int(os.environ["T1_RAY"])
    (tmp_path / "in").mkdir()
    for k in range(n_files):
        table(k, 60).to_csv(tmp_path / "in" / f"{k:04}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    began = time.perf_counter()
    command = ["impute", "in", "--method", "linear", "-o"]
    assert main([*command, "here", "--jobs", "1"]) == 0
    here = time.perf_counter() - began
    four = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **QUIET})
    nodes = [four.add_node(num_cpus=1, **QUIET) for _ in range(3)]
    four.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", four.address)
    record = tmp_path / "ray" / RECORD
    lost: list[int] = []

    def kill_one_in_the_middle() -> None:
        while not record.exists() or record.read_text().count("\n") < n_files // 2:
            time.sleep(0.05)
        lost.append(record.read_text().count("\n") - 1)
        four.remove_node(nodes[1], allow_graceful=False)

    killer = threading.Thread(target=kill_one_in_the_middle)
    killer.start()
    began = time.perf_counter()
    assert main([*command, "ray", "--on", "ray"]) == 0
    on_ray = time.perf_counter() - began
    killer.join()
    four.shutdown()
    assert n_files // 2 - 1 <= lost[0] < n_files
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    names = [line["name"] for line in lines if "name" in line]
    assert len(names) == len(set(names)) == n_files  # all of them, none twice
    assert content(tmp_path / "here") == content(tmp_path / "ray")
    work = sum(line["facts"]["seconds"] for line in lines if "facts" in line)
    assert not ray.is_initialized()
    with (Path(os.environ.get("T1_RAY_FIGURES", os.devnull))).open("a") as stream:
        stream.write(
            f"{n_files} files: here {here:.1f} s, four nodes {on_ray:.1f} s of which in tasks {work:.1f} s; "
            f"node killed after {lost[0]}\n"
        )
    shutil.rmtree(tmp_path / "in")
