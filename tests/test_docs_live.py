"""Every command and snippet in docs/live.md, sense.md and adapters.md runs."""

import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from t1.cli import main
from t1.weights import SHIPPED
from test_cli import plant

ROOT = Path(__file__).parents[1]
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("live", "sense", "adapters")}
COMMANDS = [c for page in PAGES.values() for c in re.findall(r"^\$ t1 (.*)$", page, re.MULTILINE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    (folder / "plant.csv").write_bytes(plant())
    table = pd.read_csv(folder / "plant.csv", sep=";", decimal=",", encoding="latin-1", parse_dates=["when"])
    rows = table.tail(12).copy()
    rows["when"] += table["when"].max() - table["when"].min()
    rows.to_csv(folder / "rows.csv", index=False, date_format="%Y-%m-%d %H:%M")
    rows.to_json(folder / "rows.ndjson", orient="records", lines=True, date_format="iso")
    pd.concat([table.assign(station=name) for name in "ab"]).to_csv(folder / "stations.csv", index=False)
    shutil.copytree(SHIPPED, folder / "weights", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for source, model, *more in (("plant.csv", "model"), ("stations.csv", "stations", "--id", "station")):
        command = ["train", str(folder / source), "-o", str(folder / model), "--budget", "fast", *more]
        assert main([*command, "--method", "linear"]) == 0
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for one in command.split(" && t1 "):
        one, _, source = one.partition(" < ")
        if source:
            lines = Path(source).read_text().splitlines(keepends=True)[:15]
            monkeypatch.setattr("sys.stdin", io.StringIO("".join(lines)))
        assert main(shlex.split(one)) == 0
        if one.startswith("stream"):
            assert len(capsys.readouterr().out.splitlines()) >= 12
    for name in re.findall(r"(?:-o|--columns-output) (\S+\.\w+)", command):
        assert (folder / name).stat().st_size > 100


@pytest.mark.parametrize("name", ["stream", "sense", "export"])
def test_every_option_has_an_example(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    options = set(re.findall(r"(--[a-z-]+)", capsys.readouterr().out)) - {"--help", "--output"}
    with pytest.raises(SystemExit):
        main(["look", "--help"])
    reading = set(re.findall(r"(--[a-z-]+)", capsys.readouterr().out))  # docs/files.md has these
    mine = [shlex.split(c) for c in " && t1 ".join(COMMANDS).split(" && t1 ") if c.startswith(name)]
    shown = {word for command in mine for word in command}
    assert options - shown - (reading if name == "sense" else set()) == set()


@pytest.mark.parametrize("name", PAGES)
def test_the_snippet_of_a_page_runs(name, tmp_path):
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGES[name], re.DOTALL)
    subprocess.run([sys.executable, "-c", snippet], check=True, cwd=tmp_path)
