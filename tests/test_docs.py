"""Every command in docs/fill.md, files.md and protocol.md runs, on files such as they speak of."""

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from bench_rows import row
from t1.bench.store import Store
from t1.cli import main
from test_cli import plant

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "fill.md").read_text()
FILES = (ROOT / "docs" / "files.md").read_text()
COMMANDS = re.findall(r"^\$ t1 (.*)$", PAGE + FILES, re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plant.csv").write_bytes(plant())
    Path("plant.csv.gz").write_bytes(gzip.compress(plant()))
    table = pd.read_csv("plant.csv", sep=";", decimal=",", encoding="latin-1", parse_dates=["when"])
    table.to_parquet("plant.parquet", index=False)
    table[["when", "temp", "flow"]].to_excel("plant.xlsx", index=False)
    rows = "".join(f"{1 + i % 28:02}/{1 + i // 28:02}/2024,{i % 7}\n" for i in range(100))
    Path("units.csv").write_text("day,x\nd,m\n" + rows.replace(",3\n", ",\n"))
    pd.concat([table.assign(station=name) for name in "ab"]).to_csv("stations.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command, folder):
    if "<" in command:  # a real pipe
        python = f"{shlex.quote(sys.executable)} -m t1.cli"
        subprocess.run(
            f"{python} {command}".replace(" -o - ", " -o - --budget fast "), shell=True, check=True
        )
    else:
        for one in command.replace("30s", "3s").split(" && t1 "):  # the same, in less time
            arguments = shlex.split(one)
            given = "--budget" in arguments or arguments[0] == "look"
            assert main(arguments if given else [*arguments, "--budget", "fast"]) == 0
    for name in re.findall(
        r"(?:-o|>|--scorecard|--provenance|--report|--picture|--table) (\S+\.\w+)", command
    ):
        assert (folder / name).stat().st_size > 100


@pytest.mark.parametrize("command", ["impute", "explain"])
def test_every_option_has_an_example(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    options = set(re.findall(r"(--[a-z-]+)", capsys.readouterr().out)) - {"--help", "--output"}
    many = re.findall(
        r"^\$ t1 (.*)$", (ROOT / "docs" / "bulk.md").read_text(), re.MULTILINE
    )  # see test_bulk.py
    shown = {word for command in COMMANDS + many for word in shlex.split(command)}
    assert options - shown == set()


def test_the_snippet_of_the_page_runs(tmp_path):
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    quick = snippet.replace("t1.load_sample()", "t1.load_sample().iloc[:400]").replace("60s", "fast")
    assert quick.count("iloc[:400]") == 1 and "60s" not in quick
    check = "assert result.data.notna().all().all() and len(result.provenance)\n"
    check += "assert tomorrow.data.notna().all().all() and len(tomorrow.data) == 100"
    subprocess.run([sys.executable, "-c", f"{quick}\n{check}"], check=True, cwd=tmp_path)


PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
BENCH = [text.split("#")[0].strip() for text in re.findall(r"^    t1 (.*)$", PROTOCOL, re.MULTILINE)]


@pytest.mark.parametrize("command", BENCH)
def test_a_command_of_the_benchmark_page_runs(command, tmp_path, monkeypatch, data_dir):
    """Runs are only planned and timed; tables are made from a row."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T1_DATA_DIR", str(data_dir))
    Store("results").append([row(), row(scenario="block"), row(id="illness", dataset="Illness")])
    arguments = shlex.split(command)
    if arguments[:2] == ["bench", "run"] and "--dry-run" not in arguments:
        arguments.append("--dry-run")
    assert main(arguments) == 0


def test_every_command_of_the_benchmark_has_an_example():
    shown = {" ".join(command.split()[:2]) for command in BENCH}
    assert shown >= {"data list", "bench run", "bench table", "bench status", "bench cost"}
