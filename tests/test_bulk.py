"""Many files with one command: real folders, real processes."""

import hashlib
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from t1.bulk.plan import find_files, means_many
from t1.bulk.record import PAGE, RECORD, SUMMARY
from t1.cli import main
from t1.errors import InputError

ROOT = Path(__file__).parents[1]


def table(seed: int, rows: int = 120) -> pd.DataFrame:
    """Two columns that go together, with gaps, every hour."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(rows) / 4 + seed)[:, None] * [1, 20] + rng.normal(size=(rows, 2)) * [0.1, 2]
    wave[rng.random(wave.shape) < 0.1] = np.nan
    frame = pd.DataFrame(wave.round(3), columns=["temp", "flow"])
    frame.insert(0, "when", pd.date_range("2024-01-01", periods=rows, freq="h"))
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """in/ with five files, two of them further down, and one that cannot be used."""
    monkeypatch.chdir(tmp_path)
    for k, name in enumerate(("a.csv", "b.csv", "north/c.csv", "north/d.csv")):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table(k).to_csv(path, index=False)
    (tmp_path / "in" / "words.csv").write_text("when,what\n2024-01-01,yes\n2024-01-02,no\n")
    return tmp_path


def run(*arguments: str) -> int:
    return main(["impute", *arguments, "--method", "linear"])


def content(folder: Path) -> dict[str, str]:
    """The checksum of every fill."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name[0] != "_")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


# ---------------------------------------------------------------- what is meant


def test_patterns_folders_and_names(folder):
    names = lambda *inputs: [one.name for one in find_files(inputs)]  # noqa: E731
    assert names("in") == ["a.csv", "b.csv", "north/c.csv", "north/d.csv", "words.csv"]
    assert names("in/*.csv") == ["a.csv", "b.csv", "words.csv"]
    assert names("in/**/[cd].csv") == ["c.csv", "d.csv"]
    assert names("in/a.csv", "in/north/c.csv") == ["a.csv", "north/c.csv"]
    assert names(str(folder / "in" / "?.csv")) == ["a.csv", "b.csv"]
    assert means_many(["in"]) and means_many(["in/*"]) and means_many(["x", "y"])
    assert not means_many(["in/a.csv"]) and not means_many(["-"])
    (folder / "odd[1].csv").write_text("x\n1\n")
    assert not means_many(["odd[1].csv"])  # a file of that very name


@pytest.mark.parametrize("given", ["none/*.csv", "in/*.parquet", "empty"])
def test_nothing_to_fill_is_told(folder, given):
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match="table to fill"):
        find_files([given])


def test_fills_are_no_input(folder):
    (folder / "in" / "out").mkdir()
    (folder / "in" / "out" / "a.csv").write_text("x\n1\n")
    (folder / "in" / "_SUCCESS").touch()
    assert len(find_files(["in"], without=folder / "in" / "out")) == 5
    with pytest.raises(InputError, match="lie in the output folder"):
        find_files(["in"], without=folder / "in")


# ---------------------------------------------------------------- filling


def test_a_file_that_fails_is_listed_and_keeps_no_other_from_being_filled(folder, capsys):
    assert run("in", "-o", "out", "--jobs", "1") == 2
    told = capsys.readouterr()
    assert "4 of 5 files filled, 1 failed" in told.out
    assert "words.csv: no column holds numbers" in told.err and "(--separator)" in told.err
    for name in ("a.csv", "north/d.csv"):
        before, after = pd.read_csv(folder / "in" / name), pd.read_csv(folder / "out" / name)
        assert after.notna().all().all()
        seen = before.notna().to_numpy()
        assert (after.to_numpy()[seen] == before.to_numpy()[seen]).all()
    assert not (folder / "out" / "words.csv").exists()
    summary = json.loads((folder / "out" / SUMMARY).read_text())
    assert {key: summary[key] for key in ("files", "filled", "skipped", "failed")} == {
        "files": 5,
        "filled": 4,
        "skipped": 0,
        "failed": 1,
    }
    assert "no column holds numbers" in summary["failures"]["words.csv"]
    errors = [column["relative_error"] for column in summary["columns"]]
    assert len(errors) == 8 and errors == sorted(errors, reverse=True) and errors[0] > errors[-1] > 0
    gaps = sum(int(table(k).isna().sum().sum()) for k in range(4))
    assert summary["cells_filled"] == gaps == sum(c["missing"] for c in summary["columns"])
    page = (folder / "out" / PAGE).read_text()
    rows = re.findall(r"<tr><td>([^<]*)</td><td>(?:<pre>)?([^<]*)<", page)
    worst = [(c["file"], c["column"]) for c in summary["columns"]]
    assert rows[0][0] == "words.csv" and rows[1:] == worst


def test_what_is_filled_is_skipped_until_the_file_or_an_option_changes(folder, capsys):
    def told(*arguments: str) -> str:
        assert run("in/*.csv", "in/north", "-o", "out", "--jobs", "1", *arguments) == 2
        return capsys.readouterr().out.splitlines()[0].split(";")[0]

    assert told() == "4 of 5 files filled, 1 failed"
    before = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*.csv")}
    assert told() == "0 of 5 files filled, 4 were filled already, 1 failed"
    assert {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*.csv")} == before
    table(9).to_csv(folder / "in" / "a.csv", index=False)
    (folder / "out" / "b.csv").unlink()
    assert told() == "2 of 5 files filled, 2 were filled already, 1 failed"
    assert told("--max-gap", "1") == "4 of 5 files filled, 1 failed"


def test_the_same_bytes_with_one_process_and_with_several(folder):
    for name, jobs in (("one", "1"), ("two", "2")):  # in this process, and in two others
        arguments = ["in/*.csv", "-o", name, "--jobs", jobs, "--intervals", "0.9"]
        assert main(["impute", *arguments]) == 2  # nothing is trained by default
    assert content(folder / "one") == content(folder / "two") and len(content(folder / "one")) == 2


def test_one_fitted_fill_for_all(folder, capsys):
    (folder / "in" / "words.csv").unlink()
    assert main(["train", "in/*.csv", "-o", "model", "--budget", "fast"]) == 0
    assert "learned from 240 rows of 2 of 2 files" in capsys.readouterr().out
    assert main(["impute", "in", "-o", "out", "--model", "model", "--jobs", "1"]) == 0
    assert len(content(folder / "out")) == 4
    summary = json.loads((folder / "out" / SUMMARY).read_text())
    assert {column["untested_cells"] for column in summary["columns"]} != {None}
    used = {name for column in summary["columns"] for name in column["methods"].split(" + ")}
    assert used & {"regression", "t1"}  # also in files that it has not learned from
    assert main(["impute", "in", "-o", "out2", "--model", "model", "--method", "linear"]) == 2
    assert "brings its own methods" in capsys.readouterr().err
    (folder / "in" / "b.csv").write_text("when,other\n2024-01-01,1\n2024-01-02,\n2024-01-03,3\n")
    assert main(["impute", "in", "-o", "out", "--model", "model", "--jobs", "1"]) == 2
    assert "b.csv" in capsys.readouterr().err
    assert main(["train", "in/?.csv", "-o", "model2", "--budget", "fast"]) == 2
    assert "has other columns than" in capsys.readouterr().err


def test_a_fit_for_each_series(folder):
    both = pd.concat(
        [table(1).assign(meter="x"), (table(2).set_index("when") * 37.31).reset_index().assign(meter="y")]
    )
    nothing = table(3, 20).assign(meter="z", temp=np.nan, flow=np.nan)
    (folder / "many").mkdir()
    pd.concat([both, nothing]).to_csv(folder / "many" / "meters.csv", index=False, float_format="%.3f")
    arguments = ["many", "-o", "out", "--per", "series", "--id", "meter", "--jobs", "1", "--intervals", "0.8"]
    assert run(*arguments) == 0
    after = pd.read_csv(folder / "out" / "meters.csv")
    assert after.loc[after["meter"] != "z", ["temp", "flow"]].notna().all().all()
    assert after.loc[after["meter"] == "z", "temp"].isna().all()
    summary = json.loads((folder / "out" / SUMMARY).read_text())
    assert {(c["series"], c["column"]) for c in summary["columns"]} == {
        (s, c) for s in "xy" for c in ("temp", "flow")
    }
    assert any(
        "series 'z' was left as it is" in text for text in summary["by_file"]["meters.csv"]["problems"]
    )
    # each as if it were alone
    for name in "xy":
        alone = folder / f"alone-{name}"
        alone.mkdir()
        both[both["meter"] == name].to_csv(alone / "meters.csv", index=False, float_format="%.3f")
        assert run(str(alone), "-o", f"out-{name}", "--jobs", "1", "--intervals", "0.8") == 0
        one = pd.read_csv(folder / f"out-{name}" / "meters.csv")
        part = after[after["meter"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(one[part.columns], part)


def test_a_partitioned_parquet_dataset_stays_one(folder):
    import pyarrow.dataset as dataset

    frame = pd.concat([table(k).assign(meter=name) for k, name in enumerate("xy")])
    frame.to_parquet("meters", partition_cols=["meter"])
    assert run("meters", "-o", "filled", "--jobs", "1") == 0
    assert {str(p.parent.name) for p in (folder / "filled").rglob("*.parquet")} == {"meter=x", "meter=y"}
    after = dataset.dataset("filled", format="parquet", partitioning="hive").to_table().to_pandas()
    assert len(after) == len(frame) and after.notna().all().all()  # the summary is not in the way


# ---------------------------------------------------------------- what can go wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in/*.xls", "-o", "out"], "the pattern fits no table to fill"),
        (["in", "-o", "full"], "holds other files, such as 'notes.txt'"),
        (["in", "-o", "in"], "lie in the output folder"),
        (["in", "-o", "out.csv"], "many files are filled into a folder"),
        (["in", "-o", "full/notes.txt"], "many files are filled into a folder"),
        (["in", "-o", "out", "--report", "r.html"], "--report is for one file"),
        (["in", "-o", "out", "--jobs", "0"], "0 processes do no work"),
        (["in", "-o", "out", "--on", "slurm"], "is no place to run"),
        (["in", "-o", "out", "--on", "ray://127.0.0.1:9"], "no Ray cluster answers at ray://127.0.0.1:9"),
        (["in", "-o", "out", "--on", "ray", "--jobs", "2"], "as many jobs at a time as it has cores"),
        (["in", "-o", "out", "--per", "series", "--add-missing-rows"], "a fit per series goes neither"),
        (["in", "-o", "out", "--weights", "nowhere"], "nowhere"),
        (["in/a.csv", "-o", "a.csv", "--jobs", "2"], "--jobs is for many files, and 'in/a.csv' is one"),
        (["in/a.csv", "-o", "a.csv", "--per", "series"], "--per is for many files"),
        (["in/a.csv", "nothing.csv", "-o", "out"], "there is no file 'nothing.csv'"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(folder, capsys, arguments, message):
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("mine")
    assert run(*arguments) == 2
    told = capsys.readouterr()
    assert message in told.err and told.out == "" and told.err.count("t1: ") == 1
    assert not (folder / "out" / "a.csv").exists()
    assert (folder / "full" / "notes.txt").read_text() == "mine"


def test_a_file_of_somebody_else_among_ours_is_told(folder, capsys):
    assert run("in/a.csv", "in/b.csv", "-o", "out", "--jobs", "1") == 0
    (folder / "out" / "mine.csv").write_text("x\n1\n")
    assert run("in/*.csv", "-o", "out", "--jobs", "1") == 2
    assert "holds other files, such as 'mine.csv'" in capsys.readouterr().err
    (folder / "out" / "mine.csv").unlink()
    (folder / "out" / RECORD).write_text("not json\n")
    assert run("in/*.csv", "-o", "out", "--jobs", "1") == 2
    assert "is not what this command writes" in capsys.readouterr().err


def test_after_a_kill_what_is_done_stays_done(folder):
    for k in range(60):
        shutil.copy(folder / "in" / "a.csv", folder / "in" / f"x{k:02}.csv")
    command = [sys.executable, "-m", "t1.cli", "impute", "in/x*.csv", "-o", "out", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=folder, start_new_session=True)
    record = folder / "out" / RECORD
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not record.exists() or record.read_text().count("\n") < 4):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = record.read_text().count("\n") - 1
    assert 3 <= done < 60
    with record.open("a") as stream:
        stream.write('{"name": "x59.csv", "si')  # as if it had been cut off
    times = {path: path.stat().st_mtime_ns for path in (folder / "out").glob("x*.csv")}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    filled, skipped = map(int, re.match(r"(\d+) of 60 files filled, (\d+) were", ended.stdout).groups())
    assert filled + skipped == 60 and skipped >= done
    again = [path for path, when in times.items() if path.stat().st_mtime_ns != when]
    assert len(again) <= 1  # the one whose record the kill cut off, at most
    assert len(set(content(folder / "out").values())) == 1


# ---------------------------------------------------------------- the page


def test_the_commands_of_the_page_run(folder):
    page = (ROOT / "docs" / "bulk.md").read_text()
    commands = re.findall(r"^\$ t1 (.*)$", page, re.MULTILINE)
    (folder / "in" / "words.csv").unlink()
    shutil.copytree(folder / "in", folder / "stations")
    table(0).to_csv("big.csv", index=False)
    table(0).to_parquet("big.parquet", index=False)
    pd.concat([table(k).assign(meter=n) for k, n in enumerate("xy")]).to_parquet(
        "meters", partition_cols=["meter"]
    )
    (folder / "long").mkdir()
    pd.concat([table(k).assign(meter=n) for k, n in enumerate("xy")]).to_csv("long/m.csv", index=False)
    assert len(commands) >= 12
    for command in commands:
        if "ray" in command:  # test_bulk_ray.py has a cluster
            continue
        arguments = shlex.split(command)
        fast = [] if {"--budget", "--method", "--model"} & set(arguments) else ["--budget", "fast"]
        one = ["--jobs", "1"] if arguments[0] == "impute" and "big" not in command else []
        assert main([*arguments, *fast, *one]) == 0, command  # one process: the others have their own test
