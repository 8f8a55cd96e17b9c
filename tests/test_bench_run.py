"""Runs: the same masks for every model, resumed after kill -9 to the same figures, skipped when done."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from t1.bench import evaluate as evaluating
from t1.bench import run as running
from t1.bench.cost import costs
from t1.bench.estimate import estimate
from t1.bench.limits import Limits
from t1.bench.run import execute, is_done
from t1.bench.scenarios import (
    CHUNK,
    KINDS,
    MEANING,
    RATES,
    Scenario,
    chunks,
    hide_at_test,
    scenarios,
    training_hide,
)
from t1.bench.store import Store
from t1.bench.study import STUDIES
from t1.bench.variants import line_up
from t1.cli import main
from t1.data.catalog import load, spec
from t1.data.spec_file import SCENARIOS
from t1.data.window import covered
from t1.errors import InputError
from t1.methods.simple import linear
from t1.models.base import Batch
from t1.train import fit

SMALL = {"n_channels": 8, "residual_scale": 0.1}
ONE = Limits(max_epochs=1)


pytestmark = pytest.mark.usefixtures("one_thread")


def small_run(waves, **options):
    return STUDIES["point"].runs(data=[waves], settings=SMALL, **options)[0]


def figures(store):
    return {(r.id, r.scenario): (r.metrics, r.cells, r.epochs, r.best_epoch) for r in store.latest()}


def test_a_run_gives_one_row_per_scenario_and_is_skipped_when_done(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    assert not is_done(run, store, ONE)
    assert execute(run, store, ONE) == "done"
    rows = store.rows()
    assert [r.scenario for r in rows] == [*(f"point {rate}" for rate in RATES), "block", "block-heavy"]
    assert all(r.stopped == "epochs" and r.epochs == 1 and not r.full for r in rows)
    assert all(r.cells > 0 and 0 < r.mse < 10 and r.peak_memory_mb > 50 for r in rows)
    assert execute(run, store, ONE) == "was done"
    assert store.rows() == rows
    assert not is_done(run, store, Limits(max_epochs=2)), "more was asked for"
    assert execute(run, store, Limits(max_epochs=2)) == "done"
    assert {r.epochs for r in store.latest()} == {2}
    assert len(store.rows()) == 2 * len(rows), "what was measured before stays"


def test_epochs_taken_up_later_equal_epochs_at_once(waves, tmp_path):
    run = small_run(waves)
    stages, at_once = Store(tmp_path / "stages"), Store(tmp_path / "once")
    for epochs in (1, 2):
        execute(run, stages, Limits(max_epochs=epochs))
    execute(run, at_once, Limits(max_epochs=2))
    assert figures(stages) == figures(at_once)


def test_a_budgeted_run_goes_on_where_it_stopped(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, Limits(seconds=0.5))
    first = store.latest()[0]
    assert first.stopped == "seconds"
    assert first.schedule == "cosine"
    assert first.budget_seconds == 0.5
    assert is_done(run, store, Limits(seconds=0.5))
    assert not is_done(run, store, Limits()), "a budget is not the full protocol"
    epochs = first.epochs + 1
    execute(run, store, Limits(max_epochs=epochs))
    later = store.latest()[0]
    assert later.steps > first.steps
    assert (later.epochs, later.schedule, later.stopped) == (epochs, "cosine then constant", "epochs")


def test_a_part_of_the_test_windows_has_the_same_masks(waves, tmp_path):
    dataset, scenario = load(waves), Scenario("point", 0.3)
    scored = []

    def remember(values, observed):
        scored.append((values.copy(), observed.copy()))
        return values

    evaluating.evaluate(remember, dataset, scenario, seed=102)
    whole = [np.concatenate(part) for part in zip(*scored, strict=True)]
    scored.clear()
    errors = evaluating.evaluate(remember, dataset, scenario, seed=102, every=7)
    part = [np.concatenate(part) for part in zip(*scored, strict=True)]
    assert len(whole[0]) == len(dataset.test) > CHUNK
    for all_of_it, some in zip(whole, part, strict=True):
        np.testing.assert_array_equal(some, all_of_it[::7])
    assert errors.count == (dataset.test.batch(slice(None))[1] & ~whole[1])[::7].sum()


def test_more_windows_than_before_are_scored_without_training_again(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, Limits(max_epochs=1, score_every=9))
    few = store.latest()
    assert {row.score_every for row in few} == {9}
    assert is_done(run, store, Limits(max_epochs=1, score_every=20))
    assert not is_done(run, store, ONE)
    assert execute(run, store, ONE) == "done"
    all_of_them = store.latest()
    assert {row.score_every for row in all_of_them} == {1}
    assert {row.steps for row in all_of_them} == {row.steps for row in few}
    assert all(many.cells > some.cells for many, some in zip(all_of_them, few, strict=True))


def test_options_that_make_no_sense_are_refused(waves, tmp_path, capsys):
    assert main(["bench", "run", "point", "--data", waves, "--score-every", "0"]) == 2
    assert "--score-every must be at least 1" in capsys.readouterr().err
    assert main(["bench", "run", "point", "--data", waves, "--afresh"]) == 2
    assert "--afresh needs a --budget" in capsys.readouterr().err


def test_a_shorter_budget_can_be_run_beside_a_longer_one(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, Limits(seconds=1.0))
    longer = store.latest()
    short = Limits(seconds=0.3, afresh=True)
    assert is_done(run, store, Limits(seconds=0.3)) and not is_done(run, store, short)
    assert execute(run, store, short) == "done"
    assert execute(run, store, short) == "was done"
    assert {row.budget_seconds for row in store.rows()} == {1.0, 0.3}
    assert store.latest() == longer, "tables stay with the longer one"
    lines = costs(store.rows(), run.dataset)
    assert len(lines) == 2
    assert {line.variant for line in lines} == set(line_up(longer))


COMMAND = [sys.executable, "-m", "t1.cli", "bench", "run", "point", "--set", "n_channels=8"]
COMMAND += ["--set", "residual_scale=0.1", "--device", "cpu"]


def bench(waves, store, *more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*COMMAND, "--data", waves, "--store", str(store), *more],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_killed_run_resumes_to_the_same_figures(waves, tmp_path):
    run = small_run(waves)
    killed, whole = Store(tmp_path / "killed"), Store(tmp_path / "whole")
    process = bench(waves, killed.folder, "--epochs", "12")
    wait_for((killed.checkpoint(run) / "training" / "config.json").exists, process)
    time.sleep(0.4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not killed.rows(), "it was to be killed in the middle: give it more epochs"
    assert not killed.claimed(run.id), "a killed process holds nothing"
    for store in (killed, whole):
        assert execute(run, store, Limits(max_epochs=12)) == "done"
    assert figures(killed) == figures(whole)


def test_two_processes_share_the_runs_out(waves, tmp_path):
    store = Store(tmp_path / "store")
    processes = [bench(waves, store.folder, "--epochs", "2", "--seeds", "102,202") for _ in range(2)]
    texts = [process.communicate(timeout=120) for process in processes]
    assert all(process.returncode == 0 for process in processes), texts
    keys = [r.key for r in store.rows()]
    assert len(keys) == len(set(keys)) == 2 * 6


def test_an_interrupted_run_is_kept_and_taken_up(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    process = bench(waves, store.folder)
    wait_for((store.checkpoint(run) / "training" / "config.json").exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    ((run_id, title, hours),) = store.unfinished()
    assert (run_id, title) == (run.id, str(run))
    assert 0 <= hours < 1
    assert "stopped" in out
    assert "keeping each run for the next time" in err
    assert store.rows() == []
    assert execute(run, store, ONE) == "done"
    assert store.unfinished() == []


def test_a_run_that_another_process_is_at_is_left_to_it(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    with Store(tmp_path / "store").claim(run):
        assert execute(run, store, ONE) == "busy elsewhere"
    assert store.rows() == []


def test_a_run_that_a_power_cut_left_with_some_scenarios_is_not_done(waves, tmp_path):
    store, (run,) = Store(tmp_path / "store"), STUDIES["point"].runs(data=[waves], models=["linear"])
    assert execute(run, store, Limits()) == "done"
    whole = store.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    store.path.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    assert not is_done(run, store, Limits())
    assert execute(run, store, Limits()) == "done"
    assert {row.scenario for row in store.rows()} == {row["scenario"] for row in map(json.loads, lines)}


def test_what_cannot_run_does_not_keep_the_others(waves, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("t1.methods.catalog.find_spec", lambda module: None)
    command = ["bench", "run", "point", "--data", waves, "--models", "saits,linear"]
    assert main([*command, "--store", str(tmp_path / "store")]) == 2
    out, err = capsys.readouterr()
    assert "SAITS needs pypots, which is not installed.\nInstall it with: pip install" in err
    assert "linear · seed 102: done" in out
    assert {row.model for row in Store(tmp_path / "store").rows()} == {"linear"}
    assert main([*command, "--store", str(tmp_path / "other"), "--dry-run"]) == 2
    out, err = capsys.readouterr()
    assert "SAITS needs pypots" in err and "linear · seed 102: nothing to train" in out


def test_ctrl_c_ends_the_queue_of_jobs_too(waves, tmp_path):
    store = Store(tmp_path / "store")
    seeds = (102, 202, 302, 402)
    process = bench(waves, store.folder, "--seeds", ",".join(map(str, seeds)), "--jobs", "2")
    first = STUDIES["point"].runs(data=[waves], settings=SMALL, seeds=seeds)[0]
    wait_for((store.checkpoint(first) / "training" / "config.json").exists, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.count(": stopped") == 4
    assert store.rows() == []


def test_a_budget_that_patience_ended_is_not_the_full_protocol(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    assert execute(run, store, Limits(seconds=600.0, patience=1)) == "done"
    short = store.latest()[0]
    assert (short.stopped, short.schedule, short.full) == ("patience", "cosine", False)
    assert is_done(run, store, Limits(seconds=600.0)) and not is_done(run, store, Limits())
    assert execute(run, store, Limits(patience=1)) == "done"
    longer = store.latest()[0]
    assert longer.steps > short.steps, "it goes on at the constant rate"
    assert (longer.schedule, longer.full) == ("cosine then constant", True)


def test_a_spec_with_a_name_of_the_catalogue_is_still_the_users(waves, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(Path(waves).read_text().replace('name = "Waves"', 'name = "ETTh1"'))
    (run,) = STUDIES["point"].runs(data=[str(path)], models=["linear"])
    assert run.dataset == str(path)
    store = Store(tmp_path / "store")
    assert execute(run, store, Limits()) == "done"
    assert main(["bench", "cost", "--data", str(path), "--store", str(store.folder)]) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"settings": {"window": 48}}, "dlinear has no setting 'window'"),
        ({"settings": {"moving_average": "x"}}, "moving_average = 'x' cannot be used.\nGive such a value as"),
        ({"models": ["linear"], "settings": {"foo": 1}}, "linear has no settings"),
        ({"seeds": [-1]}, "a seed cannot be negative"),
    ],
)
def test_wrong_settings_are_told_before_anything_runs(wrong, message):
    with pytest.raises(InputError, match=re.escape(message)):
        STUDIES["point"].runs(**{"data": ["ETTh1"], "models": ["dlinear"], **wrong})


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def test_one_killed_worker_does_not_take_the_others_along(waves, tmp_path):
    store = Store(tmp_path / "store")
    seeds = (102, 202, 302)
    command = ("--epochs", "12", "--jobs", "2", "--seeds", ",".join(map(str, seeds)))
    process = bench(waves, store.folder, *command)
    first, *others = STUDIES["point"].runs(data=[waves], settings=SMALL, seeds=seeds)
    wait_for((store.checkpoint(first) / "training" / "config.json").exists, process)
    pid = json.loads((store.checkpoint(first) / "run.json").read_text())["pid"]
    assert pid in children(process.pid)
    os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "its process was killed (signal 9)" in err and str(first) in err
    assert {row.id for row in store.rows()} == {run.id for run in others}
    assert out.count(": done") == 2
    assert {r.threads for r in store.rows()} == {max(1, (os.cpu_count() or 1) // 2)}, "its share of them"
    assert execute(first, store, Limits(max_epochs=12)) == "done"


def test_other_data_is_trained_again(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    assert execute(run, store, ONE) == "done"
    table = Path(waves).with_name("waves.csv")
    before = {row.data for row in store.rows()}
    table.write_bytes(table.read_bytes().replace(b"\n", b"\r\n"))
    assert execute(run, store, ONE) == "was done", "other line ends are the same data"
    table.write_text(table.read_text().replace("0.1", "0.2"))
    assert not is_done(run, store, ONE)
    assert execute(run, store, ONE) == "done"
    assert execute(run, store, ONE) == "was done"
    assert len(store.rows()) == 12 and len(store.latest()) == 6
    assert before.isdisjoint(row.data for row in store.latest())


def test_another_training_protocol_is_trained_again_and_another_scenario_scored_again(
    waves, tmp_path, monkeypatch
):
    store, run = Store(tmp_path / "store"), small_run(waves)
    trained = []
    monkeypatch.setattr(running, "fit", lambda *a, **k: trained.append(1) or fit(*a, **k))
    losses = []

    def carry_out():
        assert execute(run, store, ONE) == "done"
        assert execute(run, store, ONE) == "was done"
        losses.append({row.best_valid for row in store.latest()})
        return store.rows()

    first = carry_out()
    assert all(row.data and row.training == row.scoring == 1 for row in first)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    assert all(commit.stdout.startswith(row.commit.rstrip("+")) for row in first)

    monkeypatch.setitem(KINDS, "block", KINDS["block"]._replace(version=2))
    state = store.checkpoint(run) / "training" / "config.json"
    weights = json.loads(state.read_text())["sha256"]
    second = carry_out()
    assert [row.scenario for row in second[len(first) :]] == ["block"]
    assert json.loads(state.read_text())["sha256"] == weights, "nothing was trained"

    monkeypatch.setattr(running, "TRAINING", 2)
    third = carry_out()
    assert len(third) == len(second) + 6
    assert (store.checkpoint(run) / "training-before-1" / "config.json").exists()
    assert {row.training for row in store.latest()} == {2}


def test_kept_weights_are_scored_again_without_training(waves, tmp_path, monkeypatch, capsys):
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, Limits(seconds=0.5))
    execute(run, store, Limits(seconds=0.2, afresh=True))
    whole = store.rows()
    store.path.write_text(
        "".join(
            line + "\n" for line in store.path.read_text().splitlines() if '"scenario": "block"' not in line
        )
    )
    monkeypatch.setattr(running, "fit", None)  # nothing may be trained
    command = ["bench", "score", "--store", str(store.folder), "--device", "cpu"]
    assert main(command) == 0
    assert f"{run.id}  {run}: done" in capsys.readouterr().out
    facts = ("scenario", "metrics", "steps", "budget_seconds", "stopped", "train_seconds", "threads", "data")
    told = [
        [tuple(str(getattr(row, name)) for name in facts) for row in rows] for rows in (whole, store.rows())
    ]
    assert sorted(told[0]) == sorted(told[1])
    assert main(command) == 0
    assert "was done" in capsys.readouterr().out
    assert main([*command, "--data", waves, "--models", "t1"]) == 0
    assert "was done" in capsys.readouterr().out
    assert main([*command, "--data", "ETTh1"]) == 2
    assert "no weights of ETTh1 are kept" in capsys.readouterr().err


def test_the_training_of_other_units_is_not_touched(waves, tmp_path):
    """Kept weights are of one unit; in another one the run is another, and has no weights yet."""
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, ONE)
    path = Path(waves)
    path.write_text(path.read_text() + 'scale = "series"\n')
    other = small_run(waves)
    assert other.scale == "series" and other.id != run.id
    assert execute(other, store, Limits(train=False)) == "no weights to score"
    assert execute(run, store, Limits(train=False)) == "was done"


def test_rows_from_before_the_data_was_recorded_still_count(waves, tmp_path):
    store, run = Store(tmp_path / "store"), small_run(waves)
    execute(run, store, ONE)
    old = [json.loads(line) for line in store.path.read_text().splitlines()]
    for line in old:
        for key in ("data", "training", "scoring", "commit"):
            del line[key]
        line |= line.pop("metrics")
        line["scenario"] = {"block": "another", "block-heavy": "block"}.get(
            line["scenario"], line["scenario"]
        )
    old = [line for line in old if line["scenario"] != "another"]
    store.path.write_text("".join(json.dumps(line) + "\n" for line in old))
    assert [row.scenario for row in store.rows()][-1] == "block-heavy", "what was called block then"
    assert execute(run, store, ONE) == "done"
    assert [row.scenario for row in store.rows()][len(old) :] == ["block"], "only what is new"


# ------------------------------------------------------------ masks and scores


def test_masks_depend_on_the_seed_and_the_scenario_alone(waves):
    dataset = load(waves)

    def masks(scenario, seed):
        return np.concatenate([chunk.target for chunk in chunks(dataset, scenario, seed)])

    point, again = Scenario("point", 0.3), Scenario("point", 0.3)
    assert (masks(point, 102) == masks(again, 102)).all()
    assert (masks(point, 102) != masks(point, 202)).any()
    assert (masks(point, 102) != masks(Scenario("natural", 0.3), 102)).any()
    zeros = masks(Scenario("natural-zeros", 0.3), 102)
    assert (zeros == masks(Scenario("natural", 0.3), 102)).all(), "everything is measured here"
    assert 0.25 < masks(point, 102).mean() < 0.35
    numbers = [s.number for s in scenarios(spec(waves))]
    assert len(set(numbers)) == len(numbers)


def test_no_batch_size_changes_the_score(waves):
    dataset = load(waves)
    torch.manual_seed(0)
    from t1.methods.catalog import build

    model = build("t1", n_vars=3, window=24, **SMALL)
    cpu = torch.device("cpu")
    scores = [
        evaluating.evaluate(
            evaluating.network_fill(model, cpu, 102, batch_size=size), dataset, Scenario("block"), 102
        )
        for size in (5, 64)
    ]
    assert scores[0].count == scores[1].count
    assert scores[0].mse == pytest.approx(scores[1].mse, rel=1e-5)


def test_the_score_is_over_hidden_cells_and_the_model_sees_none_of_them(waves):
    dataset = load(waves)

    def fill(values, observed):
        assert (values[~observed] == 0).all()
        return np.stack([linear(np.where(o, v, np.nan)) for v, o in zip(values, observed, strict=True)])

    errors = evaluating.evaluate(fill, dataset, Scenario("point", 0.1), 102)
    values, observed = dataset.test.batch(slice(None))
    hidden = np.concatenate([chunk.target for chunk in chunks(dataset, Scenario("point", 0.1), 102)])
    filled = fill(np.where(hidden, 0, values), observed & ~hidden)
    assert errors.count == hidden.sum()
    assert errors.mse == pytest.approx(np.square(filled - values)[hidden].mean())
    assert errors.mae == pytest.approx(np.abs(filled - values)[hidden].mean())


def test_evaluation_streams(waves):
    sizes = [len(chunk.values) for chunk in chunks(load(waves), Scenario("block"), 102)]
    assert max(sizes) <= CHUNK
    assert sum(sizes) == len(load(waves).test)


def test_aqi36_is_scored_on_its_own_entries(data_dir, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(data_dir))
    dataset = load("AQI36")
    (scenario,) = scenarios(spec("AQI36"))
    assert scenario.name == "natural"
    total = sum(int(chunk.target.sum()) for chunk in chunks(dataset, scenario, 102))
    rows = np.zeros(len(dataset.test.rows), dtype=np.int64)
    for start in dataset.test.starts:
        rows[start : start + dataset.test.window] += 1
    assert total == int((dataset.test_hidden * rows[:, None]).sum()) > 0


def test_physionet_is_scored_both_ways(data_dir, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(data_dir))
    dataset = load("PhysioNet2012")
    names = [s.name for s in scenarios(spec("PhysioNet2012"))]
    assert names == [f"{kind} {rate}" for kind in ("natural", "natural-zeros") for rate in RATES]
    both = [chunks(dataset, Scenario(kind, 0.5), 102) for kind in ("natural", "natural-zeros")]
    for measured, zeros in zip(*both, strict=True):
        assert (measured.visible == zeros.visible).all(), "the model sees the same"
        assert not (measured.target & measured.visible).any()
        observed = measured.target | measured.visible
        assert 0.4 < measured.target.sum() / observed.sum() < 0.6
        assert (zeros.target == ~zeros.visible).all()
        assert (zeros.values[~observed] == 0).all(), "the truth where nothing was ever measured"


def test_blocks_hold_the_share_of_cells_that_the_paper_says():
    observed = np.ones((6000, 96, 7), dtype=bool)
    values = np.zeros(observed.shape, np.float32)

    def hidden(kind):
        return hide_at_test(Scenario(kind), values, observed, None, np.random.default_rng(0)).target

    def in_runs(mask):
        """Cells that lie in 20 or more hidden steps one after the other."""
        inner = sliding_window_view(mask, 20, axis=1).all(axis=-1)
        long = np.zeros_like(mask)
        for i in range(20):
            long[:, i : i + inner.shape[1]] |= inner
        return long.mean()

    light, heavy = hidden("block"), hidden("block-heavy")
    assert light.mean() == pytest.approx(0.0515, abs=0.001)
    assert in_runs(light) == pytest.approx(0.0015, rel=0.2)
    assert in_runs(heavy) > 0.04, "a run begins at 0.15 % of the cells"


def test_training_masks(data_dir, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(data_dir))
    dataset = load("AQI36")
    observed = np.ones((64, 96, 36), dtype=bool)
    observed[:, :, 5] = False
    rng = np.random.default_rng(0)
    hidden = training_hide({"kind": "point", "rate": 0.2}, dataset)(None, observed, rng)
    assert hidden[..., :5].mean() == pytest.approx(0.2, abs=0.02)
    assert not hidden[..., 5].any()

    gaps = 1 - dataset.train.seen.mean()
    mixed = training_hide({"kind": "own+point", "rates": [0.2, 0.5, 0.8]}, dataset)
    shares = [mixed(None, observed, np.random.default_rng(i))[..., 6:].mean() for i in range(20)]
    assert all(min(abs(share - (r + (1 - r) * gaps)) for r in (0.2, 0.5, 0.8)) < 0.06 for share in shares)
    assert max(shares) - min(shares) > 0.3, "one ratio per batch"

    entries = training_hide({"kind": "entries"}, dataset)(None, observed, rng)
    train = dataset.train
    share = dataset.test_hidden[covered(train.starts, train.window, len(train.rows))].mean()
    assert entries[..., 6:].mean() == pytest.approx(share, rel=0.4), "stretches of the training months"
    with pytest.raises(InputError, match="unknown training mask 'pont'"):
        training_hide({"kind": "pont"}, dataset)


def test_the_authors_recipe_of_aqi36_trains_on_all_cells():
    (run,) = STUDIES["natural"].runs(data=["AQI36"], recipe="authors")
    assert (run.mask, run.loss, run.batch_size) == ({"kind": "entries"}, "absolute", 32)
    assert run.id != STUDIES["natural"].runs(data=["AQI36"])[0].id
    values = torch.tensor([[[1.0], [2.0], [4.0]]])
    observed = torch.tensor([[[True], [False], [False]]])
    batch = Batch(values, observed, torch.tensor([[[False], [True], [False]]]))
    assert running.absolute_loss(lambda values, observed: torch.zeros(1, 3, 1), batch) == 1.5
    with pytest.raises(InputError, match="ETTh1 has no recipe 'authors'"):
        STUDIES["point"].runs(data=["ETTh1"], recipe="authors")


def test_t1_plus_draws_the_share_and_averages_the_weights(waves, tmp_path, capsys):
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves], recipe="plus", settings=SMALL)
    assert execute(run, store, ONE) == "done"
    assert execute(run, store, ONE) == "was done"
    assert store.rows()[0].average == 0.999 and store.rows()[0].mask["rate"] == [0.05, 0.85]
    plain = STUDIES["point"].runs(data=[waves], recipe="plus")[0]
    assert execute(plain, store, Limits(max_epochs=1, score_every=9)) == "done"
    labels = [variant.label for variant in line_up(store.rows())]
    assert sorted(labels) == ["T1 (n_channels=8, residual_scale=0.1, plus)", "T1+"]


def test_a_recipe_can_be_run(waves, tmp_path):
    spec_file = Path(waves)
    spec_file.write_text(spec_file.read_text() + '[recipes.sizes]\nloss = "absolute"\n')
    (run,) = STUDIES["point"].runs(data=[waves], recipe="sizes", settings=SMALL)
    store = Store(tmp_path / "store")
    assert execute(run, store, ONE) == "done"
    assert execute(small_run(waves), store, ONE) == "done"
    assert {row.loss for row in store.rows()} == {"absolute", ""}
    assert len({row.best_valid for row in store.rows()}) == 2


def test_a_spec_can_declare_every_scenario_that_is_known():
    assert set(MEANING) == set(SCENARIOS)
    measured = {kind for study in STUDIES.values() for kind in study.measures}
    assert {kind for kinds in MEANING.values() for kind in kinds} == set(KINDS) - {"entries"} - measured
    for study in STUDIES.values():
        assert set(study.kinds) <= set(KINDS) and study.declared in MEANING


# ------------------------------------------------------------ the command line


def test_a_study_takes_the_paper_settings():
    runs = STUDIES["point"].runs(data=["ETTh1", "Weather"], seeds=[102, 202])
    assert [(r.dataset, r.seed) for r in runs] == [
        ("ETTh1", 102),
        ("ETTh1", 202),
        ("Weather", 102),
        ("Weather", 202),
    ]
    assert runs[0].learning_rate == 1e-3
    assert runs[2].learning_rate == 1e-4
    natural = {run.dataset: run for run in STUDIES["natural"].runs()}
    assert natural["PhysioNet2012"].mask == {"kind": "point", "rate": 0.2}
    assert natural["AQI36"].batch_size == 32
    assert list(natural) == ["AQI36", "PhysioNet2012", "PhysioNet2012-filled"]
    assert len(STUDIES["point"].runs()) == len(STUDIES["block"].runs()) == 9
    assert Limits().config(runs[0]).max_epochs == 300
    assert Limits().config(runs[0]).patience == 30
    assert Limits().config(runs[0]).schedule == "constant"


def test_ids_stay_what_they_were_where_the_training_does():
    ids = {name: STUDIES["point"].runs(data=[name])[0].id for name in ("ETTh1", "Illness")}
    assert ids["ETTh1"] == "584779ce9991", "its weights and rows of before units and losses were recorded"
    assert ids["Illness"] != "65a74cf3cec6", "it is trained in other units now"
    assert STUDIES["natural"].runs(data=["PhysioNet2012"])[0].id == "aba510a29de6"


def test_point_and_block_are_scored_from_one_training():
    assert STUDIES["point"].runs(data=["ETTh1"])[0].id == STUDIES["block"].runs(data=["ETTh1"])[0].id


def test_dry_run_trains_nothing(waves, tmp_path, capsys):
    store = tmp_path / "store"
    command = ["bench", "run", "point", "--data", waves, "--set", "n_channels=8", "--store", str(store)]
    assert main([*command, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "at most" in out
    assert "of scoring" in out
    assert not store.exists()


def test_an_estimate_follows_the_budget(waves):
    run = small_run(waves)
    full, short = estimate(run, Limits()), estimate(run, Limits(seconds=0.01))
    assert short.training == 0.01
    assert full.training > full.epoch > full.step > 0
    assert full.scoring > 0
    assert (
        str(estimate(STUDIES["point"].runs(data=[waves], models=["linear"])[0], Limits()))
        == "nothing to train"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "ETTh3"], "ETTh"),
        (["--models", "t2"], "Did you mean 't1'?"),
        (["--data", "AQI36"], "Run the study natural on it"),
        (["--set", "n_chanels=8"], "has no setting 'n_chanels'"),
        (["--set", "nothing"], "is not KEY=VALUE"),
        (["--budget", "soon"], "no length of time"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(arguments, message, tmp_path, capsys, waves):
    data = [] if "--data" in arguments else ["--data", waves]
    command = ["bench", "run", "point", "--store", str(tmp_path / "store"), *data, *arguments]
    assert main(command) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "store" / "rows.jsonl").exists()


def test_a_missing_file_names_its_path_and_the_cure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["bench", "run", "point", "--data", "ETTh1", "--store", str(tmp_path / "store")]) == 2
    message = capsys.readouterr().err
    assert str(tmp_path / "ETT-small" / "ETTh1.csv") in message
    assert "t1 data fetch ETTh1" in message


def test_the_table_and_the_status_come_from_the_rows(waves, tmp_path, capsys):
    store = Store(tmp_path / "store")
    execute(small_run(waves), store, ONE)
    execute(replace(small_run(waves), seed=202), store, ONE)
    capsys.readouterr()
    assert main(["bench", "status", "--store", str(store.folder)]) == 0
    assert small_run(waves).id in capsys.readouterr().out
    assert main(["bench", "table", "point", "--store", str(store.folder)]) == 0
    assert "ETTh1" in capsys.readouterr().out


# ------------------------------------------------------------ studies that compare settings of one model

COMPARING = {
    "ablation": None,
    "sensitivity": ["128 channels", "64 channels", "kernel 31", "FFN ratio 2"],
    "training-ratio": None,
    "heads": ["8 heads", "16 heads, model width fixed", "16 heads, head width fixed"],  # others are wide
}


@pytest.mark.parametrize("name", COMPARING)
def test_a_study_of_settings_from_the_estimate_to_the_table(name, waves, tmp_path, monkeypatch, capsys):
    study = STUDIES[name]
    labels = COMPARING[name] or list(study.changes)
    few = replace(study, changes={label: study.changes[label] for label in labels})
    monkeypatch.setitem(STUDIES._items, name, few)
    store = ["--store", str(tmp_path / "store")]
    command = [
        "bench",
        "run",
        name,
        "--data",
        waves,
        "--budget",
        "0.2s",
        "--score-every",
        "20",
        "--device",
        "cpu",
    ]
    assert main([*command, *store, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.count("of training") == len(labels) and "in all at most" in out
    assert main([*command, *store]) == 0
    assert capsys.readouterr().out.count(": done") == len(labels)
    assert main([*command, *store]) == 0
    assert capsys.readouterr().out.count(": was done") == len(labels)
    assert main(["bench", "table", name, "--data", waves, *store, "--format", "csv"]) == 0
    head, *lines = csv.reader(capsys.readouterr().out.splitlines())
    assert [line[1] for line in lines] == labels
    assert all(float(line[head.index("average MSE")]) > 0 for line in lines)
    ids = {row.id for row in Store(tmp_path / "store").rows()}
    assert len(ids) == len(labels), "every label is a training of its own"
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 't1-impute[bench]'")
    assert main(["bench", "figure", name, "--data", waves, *store, "-o", str(tmp_path / "study.svg")]) == 0
    drawn = (tmp_path / "study.svg").read_text()
    over_a_setting = name in ("sensitivity", "heads")  # the labels are on the axis, a line for ours
    assert all(f"<!-- {label} -->" in drawn for label in (["ours"] if over_a_setting else labels))


def test_a_study_of_settings_compares_equal_budgets(waves, tmp_path, capsys):
    store = tmp_path / "store"
    plain = ["bench", "run", "point", "--data", waves, "--budget", "0.5s", "--store", str(store)]
    few = ["--score-every", "20", "--device", "cpu"]
    assert main([*plain, *few]) == 0
    study = ["bench", "run", "training-ratio", "--data", waves, "--budget", "0.2s", "--store", str(store)]
    assert main([*study, *few]) == 0
    variants = line_up(Store(store).rows(), STUDIES["training-ratio"])
    assert {row.budget_seconds for rows in variants.values() for row in rows} == {0.2}
    assert all(variants.values())


def test_t1_plus_starts_from_the_pretrained_weights_where_they_fit():
    (run,) = STUDIES["point"].runs(data=["ETTh1"], recipe="plus")
    assert run.start == "pretrained"
    assert STUDIES["point"].runs(data=["ETTh1"])[0].start == ""
    assert STUDIES["point"].runs(data=["ETTh1"], recipe="plus", settings={"n_channels": 32})[0].start == ""
    assert STUDIES["point"].runs(data=["ETTh1"], models=["dlinear"], recipe="plus")[0].start == ""
