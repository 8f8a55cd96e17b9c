"""Every example of docs/serve.md runs: the shell's, Python's and JavaScript's, against a real server."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from serving import Served, csv_of, waves
from t1.cli import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "serve.md").read_text()
COMMANDS = re.findall(r"^\$ t1 (.*)$", PAGE, re.MULTILINE)


def examples(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("docs") / "jobs", "--workers", "1")
    yield served
    served.stop()


def test_the_commands_for_curl_run(server, tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed (apt-get install curl)")
    (tmp_path / "plant.csv").write_bytes(csv_of(waves(100)))
    script = "\n".join(examples("bash")).replace("python -c", f"{shlex.quote(sys.executable)} -c")
    subprocess.run(
        ["bash", "-euc", script], check=True, cwd=tmp_path, env={"T1": server.url, "PATH": "/usr/bin:/bin"}
    )
    assert (tmp_path / "events.txt").read_text().count("event: job") >= 1
    filled = pd.read_csv(tmp_path / "filled.csv")
    assert filled[["x0", "x1"]].notna().all().all() and "x0_lo" in filled.columns
    assert json.loads((tmp_path / "scorecard.json").read_text())["filled"] > 0
    assert (tmp_path / "provenance.csv").read_text().startswith("row,time,column")
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    first, again = (json.loads((tmp_path / name).read_text()) for name in ("first.json", "again.json"))
    assert first["id"] == again["id"]
    (shown,) = examples("json")
    assert json.loads((tmp_path / "problem.json").read_text()) == json.loads(shown)
    direct = json.loads((tmp_path / "direct.json").read_text())
    assert direct["filled"] == 1 and None not in direct["table"]["x"]


def test_the_snippet_for_python_runs(server, tmp_path):
    (snippet,) = examples("python")
    check = "assert result.data.notna().all().all() and len(result.provenance) == result.n_filled\n"
    check += "assert tomorrow.notna().all().all() and len(tomorrow) == 100"
    code = f"url = {server.url!r}\n{snippet}\n{check}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_the_snippet_for_javascript_runs(server, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (apt-get install nodejs)")
    (snippet,) = examples("javascript")
    values = csv_of(waves(100)).decode()
    given = f"const url = {json.dumps(server.url)}, csv = {json.dumps(values)};"
    code = f"{given}\n{snippet}\nprocess.stdout.write(filled);"
    (tmp_path / "run.mjs").write_text(code)
    ran = subprocess.run([node, "run.mjs"], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert (
        ran.stdout.startswith("time,x0,x1\n")
        and ",," not in ran.stdout
        and len(ran.stdout.splitlines()) == 101
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_starts_a_server(command, tmp_path, monkeypatch):
    """With a port and a folder of its own; that it listens and answers is shown by the other tests."""
    started = []
    monkeypatch.setattr("t1.serve.run.run", lambda settings, *more, **how: started.append(settings))
    monkeypatch.chdir(tmp_path)
    Path("token.txt").write_text("0123456789abcdef0123456789abcdef")
    arguments = shlex.split(command)
    assert main([*arguments, "--port", "0"]) == 0 and started


def test_every_option_has_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    options = set(re.findall(r"(--[a-z-]+)", capsys.readouterr().out)) - {"--help"}
    shown = {word for command in COMMANDS for word in shlex.split(command)}
    assert options - shown == set()
