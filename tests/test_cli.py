"""The command line, as a user meets it: real files, real processes, real signals."""

import gzip
import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from t1.cli import main
from t1.cli.interrupt import interruptible

HEADER = "when;temp;note;flow\r\n"


def plant(rows: int = 300) -> bytes:
    """Semicolons, decimal commas, CRLF, Latin-1, a text column: somebody's real export."""
    lines = [HEADER]
    for i in range(rows):
        temp = "" if i % 11 == 5 else f"{20 + 5 * np.sin(i / 4):.2f}".replace(".", ",")
        flow = "NA" if 100 <= i < 110 else str(1000 + i)
        stamp = pd.Timestamp("2024-01-01") + pd.Timedelta(hours=i)
        lines.append(f"{stamp:%Y-%m-%d %H:%M};{temp};Kühlung;{flow}\r\n")
    return "".join(lines).encode("latin-1")


def run(*arguments: object) -> int:
    return main(["impute", *map(str, arguments), "--budget", "fast"])


def test_only_gaps_change_in_the_file(tmp_path, capsys):
    (tmp_path / "plant.csv").write_bytes(plant())
    assert run(tmp_path / "plant.csv", "-o", tmp_path / "filled.csv") == 0
    before, after = plant().split(b"\r\n"), (tmp_path / "filled.csv").read_bytes().split(b"\r\n")
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        for x, y in zip(old.split(b";"), new.split(b";"), strict=True):
            assert x == y or x in (b"", b"NA")
            assert y != b"NA"
    temp, _, flow = after[106].split(b";")[1:]
    assert temp.decode().count(",") == 1 and len(temp.decode().split(",")[1]) == 2  # two decimals, as always
    assert flow == b"1105"  # a straight line of whole numbers
    out = capsys.readouterr().out
    assert "filled" in out and "linear" in out


def test_everything_it_can_tell(tmp_path, capsys):
    source = tmp_path / "plant.csv.gz"
    source.write_bytes(gzip.compress(plant()))
    extras = {name: tmp_path / name for name in ("s.json", "p.parquet")}
    code = run(
        *(source, "-o", tmp_path / "out.csv", "--intervals", "0.9", "--method", "linear", "-q"),
        *("--scorecard", extras["s.json"], "--provenance", extras["p.parquet"]),
        *("--min", "temp=0", "--max", "temp=24", "--integer", "flow", "--max-gap", "9"),
    )
    assert code == 0 and capsys.readouterr().out == ""
    header = (tmp_path / "out.csv").read_bytes().split(b"\r\n")[0]
    assert header == b"when;temp;note;flow;temp_lo;temp_hi;flow_lo;flow_hi"
    card = json.loads(extras["s.json"].read_text())
    assert card["verdict"] and card["understood"][0].startswith("time: column 'when', every")
    assert card["filled"] == 27 and "Latin-1" in card["problems"][0]
    where = pd.read_parquet(extras["p.parquet"])
    assert {"row", "column", "method", "gap_length", "lo", "hi", "rule"} <= set(where)
    assert where.loc[where["column"] == "flow", "value"].isna().all()  # ten in a row: longer than --max-gap


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("impute in.csv -o out.csv --budgett 3", "Did you mean '--budget'?"),
        ("imput in.csv", "Did you mean 'impute'?"),
        ("bench run point --datta ETTh1", "Did you mean '--data'?"),
        ("bench table point --page x.md", "--page belongs to another command of t1 bench"),
        ("impute --min temp=0 in.csv -o out.csv", "It comes first"),
        ("look in.csv more.csv", "'more.csv' belongs to no option"),
    ],
)
def test_a_wrong_argument_says_what_was_meant(arguments, says, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments.split())
    told = capsys.readouterr().err
    assert end.value.code == 2 and says in told and "usage" not in told


def test_bad_input_is_told_before_torch_is_loaded(tmp_path):
    """Which takes a second on an idle core: a wrong name should not cost it."""
    (tmp_path / "in.csv").write_bytes(plant())
    for arguments in (
        ["nofile.csv", "-o", "out.csv"],
        ["in.csv", "-o", "nowhere/out.csv"],
        ["in.csv", "-o", "out.csv", "--min", "tmep=0"],
        ["in.csv", "-o", "out.csv", "--method", "liner"],
    ):
        code = f"import sys; from t1.cli import main; print(main({['impute', *arguments]!r}), 'torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.split() == ["2", "False"], done.stderr


def test_options_take_several_values_or_are_repeated(tmp_path):
    (tmp_path / "in.csv").write_bytes(plant())
    common = (tmp_path / "in.csv", "--method", "linear", "-q")
    assert run(*common, "-o", tmp_path / "a.csv", "--max", "temp=5", "flow=1000") == 0
    assert run(*common, "-o", tmp_path / "b.csv", "--max", "temp=5", "--max", "flow=1000") == 0
    assert run(*common, "-o", tmp_path / "c.csv") == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_how_the_file_was_understood_is_told_before_anything_is_learned(tmp_path, capsys, monkeypatch):
    import t1.fill.fit as fit

    told = []
    learn = fit.fit_panel
    monkeypatch.setattr(
        fit, "fit_panel", lambda *a, **k: told.append(capsys.readouterr().out) or learn(*a, **k)
    )
    (tmp_path / "in.csv").write_bytes(plant())
    assert run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--method", "linear") == 0
    assert told[0].startswith("time: column 'when'")
    assert "time: column" not in capsys.readouterr().out  # said once


def test_absent_rows_are_added_on_request(tmp_path):
    lines = plant().split(b"\r\n")
    (tmp_path / "in.csv").write_bytes(b"\r\n".join(lines[:50] + lines[60:]))
    assert run(tmp_path / "in.csv", "-o", tmp_path / "same.csv", "--method", "linear") == 0
    assert (
        run(tmp_path / "in.csv", "-o", tmp_path / "more.csv", "--method", "linear", "--add-missing-rows") == 0
    )
    same, more = ((tmp_path / name).read_bytes().split(b"\r\n") for name in ("same.csv", "more.csv"))
    assert len(more) == len(same) + 10
    assert [row.split(b";")[0] for row in more] == [row.split(b";")[0] for row in lines]
    assert more[50].split(b";")[3] == b"1049"


def test_pipes():
    command = [sys.executable, "-m", "t1.cli", "impute", "-", "-o", "-", "--method", "linear"]
    done = subprocess.run(command, input=plant(), capture_output=True, check=True)
    assert done.stdout.startswith(HEADER.encode()) and b"NA" not in done.stdout
    assert b"filled" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nope.csv", "-o", "out.csv"], "there is no file"),
        (["plant.csv", "-o", "plant.csv"], "--in-place"),
        (["plant.csv", "-o", "nowhere/out.csv"], "mkdir"),
        (["plant.csv", "-o", "out.csv", "--columns", "tmp"], "Did you mean 'temp'"),
        (["plant.csv", "-o", "out.csv", "--min", "temp"], "COL=NUMBER"),
        (["plant.csv", "-o", "out.csv", "--min", "tmp=0"], "tmp"),
        (["plant.csv", "-o", "out.csv", "--budget", "long"], "60s"),
        (["plant.csv", "-o", "out.csv", "--method", "magic"], "Known"),
        (["plant.csv", "-o", "out.csv", "--lock", "now"], "START..END"),
        (["empty.csv", "-o", "out.csv"], "empty"),
        ([".", "-o", "out.csv"], "folder"),
        (["holes.csv", "-o", "out.csv"], "every value"),
    ],
)
def test_bad_input_is_one_message_exit_2_and_no_file(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("plant.csv").write_bytes(plant())
    Path("empty.csv").touch()
    Path("holes.csv").write_text("a,b\n,\nNA,\n")
    before = sorted(Path().iterdir())
    assert main(["impute", "--budget", "2s", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error and "Traceback" not in error
    assert sorted(Path().iterdir()) == before
    assert Path("plant.csv").read_bytes() == plant()


def test_in_place(tmp_path):
    (tmp_path / "plant.csv").write_bytes(plant())
    assert run(tmp_path / "plant.csv", "-o", tmp_path / "plant.csv", "--in-place", "--method", "linear") == 0
    assert b"NA" not in (tmp_path / "plant.csv").read_bytes()


def test_a_model_is_trained_once_and_used_again(tmp_path, capsys):
    (tmp_path / "plant.csv").write_bytes(plant())
    model, source = tmp_path / "model", tmp_path / "plant.csv"
    assert main(["train", str(source), "-o", str(model), "--budget", "fast"]) == 0
    told = capsys.readouterr().out
    assert "held-out cells" in told and str(model) in told  # it prints its scorecard
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for out in outs:
        assert run(source, "-o", out, "--model", model, "--intervals", "0.9") == 0
    assert outs[0].read_bytes() == outs[1].read_bytes() != plant()
    verdict = told[told.index("held-out cells") :].split(":")[0]
    assert verdict in capsys.readouterr().out  # the errors that it was saved with
    assert run(source, "-o", tmp_path / "c.csv", "--model", model, "--method", "linear") == 2
    assert "--method" in capsys.readouterr().err
    capsys.readouterr()
    assert run(source, "-o", tmp_path / "c.csv", "--model", model, "--exclude", "flow") == 2
    assert "'flow'" in capsys.readouterr().err
    assert run(source, "-o", tmp_path / "c.csv", "--model", tmp_path) == 2
    assert not (tmp_path / "c.csv").exists()


def interrupted(tmp_path: Path, times: int) -> subprocess.CompletedProcess[str]:
    """Start a long fill and press Ctrl-C so many times when it trains."""
    (tmp_path / "plant.csv").write_bytes(plant(4000 * times**2))  # so that a second one comes before its end
    command = [sys.executable, "-m", "t1.cli", "impute", "plant.csv", "-o", "out.csv", "--budget", "1h"]
    with tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=err, text=True)
        maps = Path(f"/proc/{process.pid}/maps")
        while "libtorch" not in maps.read_text():  # T1 is about to learn
            time.sleep(0.1)
        time.sleep(5)
        for k in range(times):  # the next one once the last was heard: two within one operation count as one
            process.send_signal(signal.SIGINT)
            until = time.monotonic() + 60
            while k + 1 < times and process.poll() is None and time.monotonic() < until:
                if "Ctrl-C again" in Path(f"/proc/self/fd/{err.fileno()}").read_text():
                    break
                time.sleep(0.02)
        out, _ = process.communicate(timeout=120)
        err.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, out, err.read())


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see when training begins")
def test_the_first_interrupt_fills_with_the_best_so_far(tmp_path):
    done = interrupted(tmp_path, times=1)
    assert done.returncode == 0, done.stderr
    assert "best so far" in done.stderr and "stopped early" in done.stdout
    assert b"NA" not in (tmp_path / "out.csv").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see when training begins")
def test_the_second_interrupt_leaves_nothing_half_written(tmp_path):
    done = interrupted(tmp_path, times=2)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plant.csv"]


def test_a_second_interrupt_that_was_lost_is_raised_when_training_asks_again(capsys):
    with interruptible("filling") as should_stop:
        signal.raise_signal(signal.SIGINT)
        assert should_stop()
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            should_stop()
    assert capsys.readouterr().err.count("Ctrl-C again") == 1


def test_help_does_not_import_torch():
    code = "import sys; from t1.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*{'torch', 'pandas', 'numpy', 'sklearn', 'rich'} & set(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "impute" in done.stdout and done.stderr.strip() == ""
