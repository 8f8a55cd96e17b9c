"""Pretraining: only training tables, batches that depend on seed and step alone, runs that survive a kill."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from t1 import checkpoint
from t1.cli import main
from t1.errors import InputError
from t1.models.base import Batch
from t1.pretrain import PretrainSettings, export, pretrain
from t1.pretrain import window as window_module
from t1.pretrain.corpus import CorpusTable, fingerprint, read_corpus
from t1.pretrain.masks import draw_gaps
from t1.pretrain.sampler import WIDTHS, Sampler
from t1.pretrain.told import draw_stretch
from t1.pretrain.window import draw_window
from t1.weights import load_pretrained, read_card, save_pretrained
from t1.workers import Workers

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = {"channels": 6, "rows": 12, "inputs": ("distance", "season", "relation"), "window": 24}


def write_corpus(folder: Path, seed: int = 0) -> Path:
    """Two tables to train on, one of them of two series, and one that is held out and cannot even be read."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    time_ = np.arange(400)[:, None]
    day = np.sin(2 * np.pi * time_ / 24 + np.arange(5)) + 0.3 * rng.normal(size=(400, 5))
    day[rng.random(day.shape) < 0.1] = np.nan
    walk = np.cumsum(rng.normal(size=(300, 3)), 0)
    walk[:, 1] = 7.0  # does not vary
    np.savez(folder / "day.npz", values=np.float32(day), series_starts=np.array([0]))
    np.savez(folder / "walk.npz", values=np.float32(walk), series_starts=np.array([0, 100, 110]))
    (folder / "secret.npz").write_bytes(b"must not be opened")
    rows = [("day", "train", "sun"), ("secret", "held-out", "sun"), ("walk", "train", "noise")]
    with (folder / "CATALOG.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "part", "domain"), *rows])
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


# ---------------------------------------------------------------- the corpus


def test_only_training_tables_are_read_standardised_and_cut_into_series(corpus):
    day, walk = read_corpus(corpus)
    assert (day.name, walk.name, walk.domain) == ("day", "walk", "noise")
    assert day.period == 24 and walk.period is None
    assert walk.spans == ((0, 100), (110, 300))  # ten rows are too short a series
    assert walk.n_vars == 2
    for table in (day, walk):
        assert np.nanmean(table.values, 0) == pytest.approx(np.zeros(table.n_vars), abs=1e-4)
        assert np.nanstd(table.values, 0) == pytest.approx(np.ones(table.n_vars), abs=1e-3)
    assert np.isnan(day.values).any()


def test_the_real_corpus_gives_none_of_its_held_out_tables(data_dir, monkeypatch):
    monkeypatch.setattr("t1.pretrain.corpus.find_period", lambda values: None)  # which takes most of the time
    folder = data_dir.parent / "corpus"
    if not (folder / "CATALOG.csv").exists():
        pytest.skip(f"{folder} not found")
    with (folder / "CATALOG.csv").open(newline="") as file:
        held_out = {row["name"] for row in csv.DictReader(file) if row["part"] != "train"}
    names = {table.name for table in read_corpus(folder)}
    assert len(held_out) >= 24 and len(names) > 100
    assert not names & held_out


def test_the_fingerprint_knows_values_and_spans(corpus, tmp_path):
    tables = read_corpus(corpus)
    assert fingerprint(tables) == fingerprint(read_corpus(corpus))
    assert fingerprint(tables) != fingerprint(tables[:1])
    assert fingerprint(tables) != fingerprint(read_corpus(write_corpus(tmp_path, seed=1)))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "CATALOG.csv").unlink(), "cannot read .*CATALOG.csv"),
        (lambda f: (f / "CATALOG.csv").write_text("name,domain\nday,sun\n"), "no column part"),
        (
            lambda f: (f / "CATALOG.csv").write_text("name,part,domain\nday,test,sun\n"),
            "no table of the part",
        ),
        (lambda f: (f / "day.npz").unlink(), "cannot use .*day.npz"),
        (lambda f: (f / "day.npz").write_bytes(b"PK\x03\x04 cut short"), "cannot use .*day.npz"),
        (lambda f: np.savez(f / "day.npz", values=np.zeros((9, 2))), "series_starts"),
        (lambda f: np.savez(f / "day.npz", values=np.zeros(9), series_starts=[0]), "cannot use"),
        (lambda f: np.savez(f / "day.npz", values=np.zeros((9, 2)), series_starts=[3]), "begin with 0"),
    ],
)
def test_a_folder_that_is_no_corpus_is_explained(tmp_path, spoil, says):
    spoil(write_corpus(tmp_path))
    with pytest.raises(InputError, match=says) as error:
        read_corpus(tmp_path)
    assert error.value.cure


# ---------------------------------------------------------------- windows and gaps


@given(seed=st.integers(0, 10**6), window=st.sampled_from([8, 24, 96]), n_vars=st.integers(1, 9))
def test_gaps_are_repeatable_and_within_bounds(seed, window, n_vars):
    gaps = draw_gaps(np.random.default_rng(seed), window, n_vars)
    again = draw_gaps(np.random.default_rng(seed), window, n_vars)
    assert gaps.hidden.shape == (window, n_vars) and gaps.around.shape == (n_vars,)
    assert np.array_equal(gaps.hidden, again.hidden)
    assert ((gaps.around >= 0) & (gaps.around <= 1)).all()


def test_every_kind_of_gap_is_drawn():
    drawn = [draw_gaps(np.random.default_rng(seed), 96, 5).hidden for seed in range(600)]
    whole = [h.all(0).any() for h in drawn]
    blackout = [h.any() and (h.all(1) == h.any(1)).all() for h in drawn]
    runs = [
        (np.diff(h.astype(int), axis=0) != 0).sum() < 25 and not w for h, w in zip(drawn, whole, strict=True)
    ]
    assert 0.05 < np.mean(whole) < 0.15
    assert 0.07 < np.mean(blackout) < 0.2
    assert 0.25 < np.mean(runs) < 0.7
    assert 0.1 < np.mean([h.mean() for h in drawn]) < 0.4
    longest = max(int(h.sum(0).max()) for h in drawn if not h.all(0).any())
    assert 60 <= longest < 96


def counting(n_rows: int = 900, n_vars: int = 4, period: int | None = 17) -> CorpusTable:
    """Every cell has a value of its own, which tells its row and its column."""
    values = np.arange(n_rows)[:, None] + 10_000.0 * (1 + np.arange(n_vars))
    return CorpusTable(values.astype(np.float32), ((0, n_rows),), period)


def test_what_is_hidden_is_nowhere_else(monkeypatch):
    """Neither in the neighbouring periods nor in the surroundings, at any sampling rate."""
    monkeypatch.setattr(window_module, "_change", lambda rng, n: np.eye(n, dtype=np.float32))
    checked = seen_around = seen_related = 0
    for seed in range(400):
        w = draw_window(np.random.default_rng(seed), counting(), 24, 3)
        for j in range(3):
            hidden = w.values[w.hidden[:, j], j]
            checked += len(hidden)
            assert not np.isin(hidden, w.around[:, :, j]).any()
            assert not np.isin(hidden, w.surroundings[:, j]).any()
            known = w.values[~w.hidden[:, j], j]
            seen_related += np.isin(known, w.surroundings[:, j]).sum()
        seen_around += np.isfinite(w.around).sum()
    assert checked > 3000 and seen_around > 10_000 and seen_related > 3000


def test_neighbouring_periods_are_the_right_rows(monkeypatch):
    monkeypatch.setattr(window_module, "_change", lambda rng, n: np.eye(n, dtype=np.float32))
    reversed_windows = with_period = 0
    for seed in range(300):
        w = draw_window(np.random.default_rng(seed), counting(), 24, 2)
        step = w.values[1, 0] - w.values[0, 0]
        sign = np.sign(step)
        shifts = sign * (w.around - w.values)  # rows that lie between a cell and its neighbours
        found = [{round(float(x)) for x in shift[np.isfinite(shift)]} for shift in shifts]
        assert all(len(f) <= 1 for f in found)
        reversed_windows += sign < 0
        given_ = [f.pop() for f in found if f]
        if len(given_) == 4:
            near = -given_[0]
            assert given_ == [-near, -2 * near, near, 2 * near] and near % 17 == 0
            with_period += 1
    assert 50 < reversed_windows < 130
    assert with_period > 100


def test_windows_of_short_series_and_missing_columns_are_possible():
    short = CorpusTable(np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32), ((0, 30),), None)
    w = draw_window(np.random.default_rng(0), short, 96, 2)
    assert np.isfinite(w.values).any() and np.isnan(w.values).any()
    assert not (w.hidden & np.isnan(w.values)).any()


def test_mixing_spreads_a_missing_cell_only_where_it_takes_part():
    cells = np.float32([[1, np.nan, 3]])
    change = np.float32([[1, 0, 2], [0, 1, 0], [0, 0, 1]])
    mixed = window_module._apply(change, cells)
    assert mixed[0, 0] == 1 and np.isnan(mixed[0, 1]) and mixed[0, 2] == 5


# ---------------------------------------------------------------- batches


def sampler(corpus: Path, **changes) -> Sampler:
    return Sampler(read_corpus(corpus), **{"window": 24, "seed": 3, "rows": 24} | changes)


def tensors(batch: Batch) -> list[torch.Tensor]:
    known = vars(batch.context) | {"said": batch.context.said.nan_to_num(0.0)}  # NaN: nothing is said
    return [batch.values, batch.observed, batch.target, *known.values()]


def test_a_batch_depends_on_seed_and_step_alone(corpus):
    one, other = sampler(corpus), sampler(corpus)
    forward = {step: one.batch(step) for step in (0, 1, 63, 64, 200)}
    for step in (200, 64, 0, 63, 1):
        assert all(map(torch.equal, tensors(forward[step]), tensors(other.batch(step))))
    changed = sampler(corpus, seed=4).batch(0)
    assert changed.values.shape != forward[0].values.shape or not torch.equal(
        changed.values, forward[0].values
    )


def test_batches_are_what_a_model_expects(corpus):
    drawn = [sampler(corpus).batch(step) for step in range(60)]
    widths = {batch.values.shape[2] for batch in drawn}
    assert widths <= set(WIDTHS) and len(widths) > 6
    for batch in drawn:
        n, window, n_vars = batch.values.shape
        assert (n, window) == (max(1, 24 // n_vars), 24)
        assert not (batch.observed & batch.target).any() and batch.target.any()
        assert all(t.isfinite().all() for t in tensors(batch))
        assert batch.context.relation.shape == (n, n_vars, n_vars)
    assert any(batch.context.before_weight.any() for batch in drawn)
    assert any(batch.context.trust.any() for batch in drawn)
    told = [bool(batch.context.said.isfinite().all()) for batch in drawn]
    assert 15 < sum(told) < 45 and all(
        t or b.context.said.isnan().all() for t, b in zip(told, drawn, strict=True)
    )
    missing = [(~batch.observed & ~batch.target).any() for batch in drawn]
    assert 5 < sum(missing) < 55  # real tables have gaps of their own, synthetic ones have none
    assert sampler(corpus, relation=False).batch(0).context.relation is None
    assert not any(
        (~b.observed & ~b.target).any() for b in map(sampler(corpus, real_share=0.0).batch, range(30))
    )


@pytest.mark.parametrize("n_workers", [2, 3])
def test_workers_share_the_windows_of_a_step(corpus, n_workers):
    whole = sampler(corpus)
    parts = [sampler(corpus, workers=Workers(rank, n_workers)) for rank in range(n_workers)]
    for step in range(12):
        batch, shares = whole.batch(step), [part.batch(step) for part in parts]
        assert batch.target.sum() == sum(int(share.target.sum()) for share in shares if share is not None)
        if len(batch.values) >= n_workers and shares[1] is not None:
            assert torch.equal(shares[1].values, batch.values[1::n_workers])
            assert torch.equal(shares[1].context.before, batch.context.before[1::n_workers])
    assert {part.fingerprint for part in parts} == {whole.fingerprint}


def test_what_is_hidden_in_a_told_stretch_is_nowhere_else():
    rng = np.random.default_rng(3)
    values = np.float32(np.cumsum(rng.normal(size=(400, 4)), 0))
    table = CorpusTable(values, ((0, 400),), 24)
    for seed in range(12):
        one = draw_stretch(np.random.default_rng(seed), table, 48, 3)
        assert one.hidden.any() and np.isfinite(one.said).all()
        # the same stretch of a table in which only what is hidden there is another number
        cells = np.isin(table.values, np.abs(one.values[one.hidden])) | np.isin(
            -table.values, np.abs(one.values[one.hidden])
        )
        other = CorpusTable(np.where(cells, np.float32(99), values), ((0, 400),), 24)
        two = draw_stretch(np.random.default_rng(seed), other, 48, 3)
        if (two.values != one.values)[~one.hidden].any():
            continue  # a mean or a mixture: cells that are seen have changed too
        assert (two.values != one.values).any()
        for a, b in zip(
            (one.season, one.said, *one.relation), (two.season, two.said, *two.relation), strict=True
        ):
            np.testing.assert_array_equal(a, b)
        break
    else:
        raise AssertionError("no stretch without mixtures")


def test_windows_of_a_told_stretch_have_something_hidden():
    table = CorpusTable(np.float32(np.random.default_rng(0).normal(size=(900, 2))), ((0, 900),), None)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        stretch = draw_stretch(rng, table, 96, 2)
        assert stretch.hidden[stretch.window(rng, 96)].any() or stretch.hidden.mean() < 0.05


def test_tables_of_a_large_domain_are_drawn_less_often_each():
    tables = [
        CorpusTable(np.zeros((n, 1), np.float32), ((0, n),), None, domain=d)
        for n, d in ((100, "a"), (100, "a"), (100, "a"), (100, "a"), (100, "b"), (90_000, "c"), (5_000, "c"))
    ]
    chances = Sampler(tables, window=24, seed=0)._chances
    assert chances[:4].sum() == pytest.approx(2 * chances[4])
    assert chances[5] == chances[6]


# ---------------------------------------------------------------- runs


def weights(folder: Path, group: str = "best") -> dict[str, torch.Tensor]:
    return {n: t for n, t in checkpoint.load(folder)[0].items() if n.startswith(f"{group}.")}


def assert_same(one: Path, other: Path) -> None:
    for group in ("best", "model", "average", "adam"):
        first, second = weights(one, group), weights(other, group)
        assert first and first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first), group


def test_a_run_learns_and_its_weights_can_be_exported_and_loaded(corpus, tmp_path):
    settings = TINY | {"learning_rate": 0.01, "warmup_steps": 5, "average": 0.9}
    result = pretrain(corpus, tmp_path / "run", settings, steps=120)
    assert (result.steps, result.reason) == (120, "steps")
    start = PretrainSettings(**settings).new_network()
    source = PretrainSettings(**settings).source(corpus)
    card = export(tmp_path / "run", tmp_path / "out", {"held-out": 0.5})
    network = load_pretrained(tmp_path / "out")
    with torch.no_grad():
        losses = [
            [float(model.loss(source.batch(step))) for step in range(1000, 1040)]
            for model in (start, network)
        ]
    assert np.mean(losses[1]) < 0.97 * np.mean(losses[0])  # on batches that it has not seen
    told = json.loads(card.read_text())
    assert told["trained"]["steps"] == 120
    assert told["trained"]["settings"]["rows"] == 12
    assert told["figures"] == {"held-out": 0.5}
    best = weights(tmp_path / "run")
    assert all(torch.equal(best[f"best.{name}"], t) for name, t in network.state_dict().items())


def test_a_stopped_run_goes_on_and_a_larger_budget_takes_it_up_before_the_fall(corpus, tmp_path):
    for steps in (12, 24):
        pretrain(corpus, tmp_path / str(steps), TINY, steps=steps)
    asked = []
    stop = {"on_progress": asked.append, "should_stop": lambda: bool(asked) and asked[-1].step >= 5}
    assert pretrain(corpus, tmp_path / "run", TINY, steps=12, **stop).reason == "stopped"
    pretrain(corpus, tmp_path / "run", steps=12, resume=True)  # knows its settings
    assert_same(tmp_path / "run", tmp_path / "12")
    pretrain(corpus, tmp_path / "run", steps=24, resume=True)
    assert_same(tmp_path / "run", tmp_path / "24")


KILLED = """
import dataclasses, sys, torch
torch.set_num_threads(1)
from t1.pretrain.run import PretrainSettings, pretrain
training = PretrainSettings.training
PretrainSettings.training = lambda self, **b: dataclasses.replace(training(self, **b), checkpoint_seconds=0)
print("go", flush=True)
pretrain(sys.argv[1], sys.argv[2], resume=True, steps=400, on_progress=lambda p: print(p.step, flush=True))
"""


def test_a_run_starts_from_exported_weights_of_the_same_network(corpus, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    pretrain(corpus, first, TINY, steps=2)
    export(first, tmp_path / "weights")
    pretrain(corpus, second, {**TINY, "learning_rate": 1e-9}, steps=1, start=tmp_path / "weights")
    export(second, tmp_path / "again")
    weights = [load_pretrained(tmp_path / name).state_dict() for name in ("weights", "again")]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], atol=1e-6, rtol=0)
    trained = read_card(tmp_path / "again")["trained"]
    assert trained["settings"]["started_from"]["steps"] == 2
    with pytest.raises(InputError, match="other settings"):
        pretrain(corpus, tmp_path / "third", {**TINY, "channels": 8}, steps=1, start=tmp_path / "weights")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_run_killed_in_the_middle_ends_with_the_same_bits(corpus, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "pretrain.json").write_text(json.dumps(TINY))
    for wanted in (7, 11):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(corpus), str(tmp_path / "run")],
            stdout=subprocess.PIPE,
            text=True,
        )
        while (line := child.stdout.readline()) and (line.strip() == "go" or int(line) < wanted):
            pass
        time.sleep(0.01)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    reached = checkpoint.load(tmp_path / "run")[1]["state"]["step"]
    assert 10 <= reached < 390
    steps = reached + 5
    pretrain(corpus, tmp_path / "whole", TINY, steps=steps)
    pretrain(corpus, tmp_path / "run", resume=True, steps=steps)
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_two_processes_of_torchrun_are_one(corpus, tmp_path):
    """Ten steps with half of each batch in either process, over gloo."""
    settings = TINY | {"warmup_steps": 1, "learning_rate": 1e-3}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pretrain.json").write_text(json.dumps(settings))
    pretrain(corpus, tmp_path / "one", steps=10, resume=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [
        "-m",
        "t1.cli",
        "pretrain",
        str(corpus),
        "-o",
        str(tmp_path / "two"),
        "--steps",
        "10",
        "--resume",
    ]
    source = str(Path(__file__).parents[1] / "src")
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [*torchrun, *command],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("10 steps") == 1  # one of them tells
    start = PretrainSettings(**settings).new_network().state_dict()
    one, two = weights(tmp_path / "one", "model"), weights(tmp_path / "two", "model")
    moved = max(float((one[f"model.{n}"] - t).abs().max()) for n, t in start.items())
    apart = max(float((one[name] - two[name]).abs().max()) for name in one)
    assert moved > 5e-3
    assert apart < 1e-5
    histories = [
        checkpoint.load(tmp_path / n)[1]["state"]["history"][-1]["train_loss"] for n in ("one", "two")
    ]
    assert histories[0] == pytest.approx(histories[1], rel=1e-5)


def test_a_run_is_neither_overwritten_nor_taken_up_with_other_data_or_settings(corpus, tmp_path):
    pretrain(corpus, tmp_path / "run", TINY, steps=2)
    with pytest.raises(InputError, match="holds a run already"):
        pretrain(corpus, tmp_path / "run", TINY, steps=2)
    with pytest.raises(InputError, match="data setting: training is '2 tables"):
        pretrain(write_corpus(tmp_path / "other", seed=1), tmp_path / "run", steps=4, resume=True)
    with pytest.raises(InputError, match="n_channels is 7, was 6"):
        pretrain(corpus, tmp_path / "run", {"channels": 7}, steps=4, resume=True)
    (tmp_path / "run" / "pretrain.json").write_text('{"chanels": 7}')
    with pytest.raises(InputError, match="not what t1 pretrain writes"):
        pretrain(corpus, tmp_path / "run", steps=4, resume=True)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"real_share": 1.5}, {"inputs": ("magic",)}, {"channels": 0}])
def test_settings_that_make_no_sense(corpus, tmp_path, wrong):
    with pytest.raises(InputError):
        pretrain(corpus, tmp_path / "run", TINY | wrong, steps=2)


# ---------------------------------------------------------------- the command


def test_the_command_trains_resumes_and_exports(corpus, tmp_path, capsys):
    run, out = str(tmp_path / "run"), str(tmp_path / "out")
    new = ["pretrain", str(corpus), "-o", run, "--channels", "4", "--rows", "8", "--seed", "5"]
    assert main([*new, "--inputs", "distance", "--steps", "3"]) == 0
    assert "3 steps" in capsys.readouterr().out
    assert main([*new, "--steps", "3"]) == 2
    assert "Resume it" in capsys.readouterr().err
    assert main(["pretrain", str(corpus), "-o", run, "--resume", "--steps", "5"]) == 0
    assert "5 steps" in capsys.readouterr().out
    (tmp_path / "figures.json").write_text('{"points": 0.7}')
    assert main(["pretrain", "--export", run, "-o", out, "--figures", str(tmp_path / "figures.json")]) == 0
    assert load_pretrained(out).config.n_channels == 4
    assert load_pretrained(out).config.inputs == ("distance",)


def test_a_budget_of_time_ends_a_run(corpus, tmp_path, capsys):
    run = str(tmp_path / "run")
    assert main(["pretrain", str(corpus), "-o", run, "--channels", "4", "--rows", "8", "--budget", "1s"]) == 0
    assert "ended by: seconds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "x"], "no corpus"),
        (["corpus", "-o", "x"], "never end"),
        (["nowhere", "-o", "x", "--steps", "3"], "CATALOG.csv"),
        (["--export", "nowhere", "-o", "x"], "does not exist"),
        (["--export", "nowhere", "-o", "x", "--figures", "absent.json"], "absent.json"),
    ],
)
def test_what_the_command_cannot_use_is_explained(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["pretrain", *arguments]) == 2
    assert says in capsys.readouterr().err


PAGE = (Path(__file__).parents[1] / "docs" / "pretrained.md").read_text()
COMMANDS = [
    line.split("t1.cli ")[-1].split(" t1 ")[-1]
    for line in re.findall(r"^    (t1 .*|torchrun .*)$", PAGE, re.M)
]


def test_the_commands_of_the_page_run(corpus, tmp_path, monkeypatch, capsys):
    """In less time, one after the other as they stand there; torchrun's as if it were alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "figures.json").write_text("{}")
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        command = (
            command.removeprefix("t1 ")
            .replace("CORPUS", str(corpus))
            .replace("-o RUN --steps", "-o RUN2 --steps")
        )
        for long, short in (("10h", "1s"), ("20h", "2s"), ("200000", "2"), ("18000", "2")):
            command = command.replace(long, short)
        small = [] if "--export" in command or "--resume" in command else ["--channels", "4", "--rows", "8"]
        assert main([*shlex.split(command), *small]) == 0, capsys.readouterr().err
    assert load_pretrained("WEIGHTS").config.n_channels == 4


def test_the_snippet_of_the_page_runs(tmp_path, monkeypatch):
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    network = PretrainSettings(channels=4).new_network()
    save_pretrained(tmp_path, network, trained={}, figures={})
    monkeypatch.setattr("t1.weights.SHIPPED", tmp_path)
    values = torch.randn(2, 96, 7)
    names = {"values": values, "observed": torch.rand(values.shape) < 0.5}
    exec(snippet, names)
    assert names["levels"].shape == (7, 2, 96, 7)
    assert names["own"].config.quantiles == ()
