"""The studies that measure more than errors: each whole on a small table, planned, resumed, shown and drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench_rows import row as any_row
from conftest import WAVES
from plain_t1 import PlainT1
from t1.bench import attention
from t1.bench.efficiency import cost_runs, defined
from t1.bench.findings import findings
from t1.bench.limits import Limits
from t1.bench.page import results_page
from t1.bench.run import execute, is_done
from t1.bench.show import SPECIAL, draw, sheets
from t1.bench.standard import standard
from t1.bench.store import Store
from t1.bench.study import STUDIES
from t1.bench.tables import averages
from t1.bench.traces import PLACES, TOP
from t1.cli import main
from t1.data.catalog import load, spec
from t1.errors import InputError
from t1.models.t1 import T1, T1Config

pytestmark = pytest.mark.usefixtures("one_thread")
RATES = ("0.1", "0.3", "0.5", "0.7")


@pytest.fixture
def wards(waves, tmp_path):
    """The same table as one of natural gaps, a third of them in the last column."""
    lines = (tmp_path / "waves.csv").read_text().splitlines()
    lines = [line.rsplit(",", 1)[0] + "," if i % 3 == 1 else line for i, line in enumerate(lines)]
    (tmp_path / "wards.csv").write_text("\n".join(lines) + "\n")
    text = WAVES.replace("Waves", "Wards").replace("waves.csv", "wards.csv")
    path = tmp_path / "wards.toml"
    path.write_text(text.replace('["point", "block"]', '["natural"]'))
    return str(path)


def bench(*words):
    return main(["bench", *map(str, words)])


def pictures(study, store, tmp_path):
    """Both kinds of file, not empty, and the same again from the same rows."""
    files = [tmp_path / f"{study}.{kind}" for kind in ("svg", "png")]
    assert bench("figure", study, "--store", store, "-o", *files) == 0
    first = files[0].read_bytes()
    assert first.startswith(b"<?xml") and files[1].read_bytes().startswith(b"\x89PNG")
    assert bench("figure", study, "--store", store, "-o", files[0]) == 0
    assert files[0].read_bytes() == first
    return first.decode()


# ---------------------------------------------------------------- representation


def test_representation_from_one_command_to_a_picture(waves, tmp_path, capsys):
    store = tmp_path / "store"
    words = (
        "run",
        "representation",
        "--data",
        waves,
        "--set",
        "n_channels=8",
        "--epochs",
        1,
        "--store",
        store,
    )
    assert bench(*words, "--dry-run") == 0
    assert "in all at most" in capsys.readouterr().out
    assert bench(*words) == 0
    rows = {row.scenario: row for row in Store(store).rows()}
    assert {f"attention {rate}" for rate in RATES} | {"where", "point 0.1", "block"} <= set(rows)
    for rate in RATES:
        shares = rows[f"attention {rate}"].metrics
        assert all(0 < share < 1 for share in shares.values())
        by_target = [shares[f"{name} block 1"] for name in "abc"]
        assert min(by_target) <= shares["block 1"] <= max(by_target)
    capsys.readouterr()
    assert bench(*words) == 0
    assert "was done" in capsys.readouterr().out and len(Store(store).rows()) == len(rows)
    assert bench("table", "representation", "--store", store) == 0
    shown = capsys.readouterr().out
    assert "Equal weights would be 0.333" in shown and "| block 4 |" in shown
    assert shown.count("The paper: ") == 2 and "hold" in shown
    drawn = pictures("representation", store, tmp_path)
    assert drawn.count("<image") >= 10 * len(PLACES), "a map for each of ten heads and each place"
    (trace,) = (store / "traces").iterdir()
    kept = json.loads(trace.read_text())
    assert len(kept["top"]) == TOP and np.shape(kept["maps"]["clean"]) == (10, 3, 3)
    np.testing.assert_allclose(np.sum(kept["maps"]["peaks"], axis=-1), 1, atol=1e-3)


def test_kept_weights_are_looked_into_without_training_again(waves, tmp_path, capsys):
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves])
    small = replace(run, settings={"n_channels": 8})
    execute(small, store, Limits(max_epochs=1))
    before = len(store.rows())
    looks = Limits(max_epochs=1, train=False, measures=STUDIES["representation"].measures)
    assert execute(small, store, looks) == "done"
    more = store.rows()[before:]
    assert {row.kind for row in more} == {"attention", "where"}
    assert {row.steps for row in more} == {store.rows()[0].steps}
    assert is_done(small, store, looks) and is_done(small, store, Limits(max_epochs=1))
    assert bench("score", "--study", "representation", "--data", waves, "--store", store.folder) == 2
    assert "no weights" in capsys.readouterr().err, "only the study's own runs: these have other settings"


def test_only_attention_can_be_looked_at(waves, tmp_path, capsys):
    words = ("run", "representation", "--data", waves, "--models", "dlinear", "--epochs", 1)
    assert bench(*words, "--store", tmp_path / "store") == 2
    assert "no attention over variables" in capsys.readouterr().err


def test_attention_paid_to_the_target_leaves_out_what_it_pays_itself():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 2, 4))  # (windows, heads, vars, vars)
    target = np.array([0, 1, 2, 3, 1])
    paid = attention._paid(weights, target)
    for k, j in enumerate(target):
        for head in range(2):
            others = [weights[k, head, i, j] for i in range(4) if i != j]
            assert paid[k, head] == pytest.approx(np.mean(others))


@pytest.mark.parametrize("place", PLACES)
def test_a_place_hides_the_cells_it_says(place):
    rng = np.random.default_rng(1)
    x = np.concatenate([np.zeros(40), rng.normal(0, 3, 20), np.full(40, 0.5)])
    values = np.stack([x, x + 1], axis=1)[None].astype(np.float32)
    observed = np.ones(values.shape, dtype=bool)
    observed[0, ::10, 1] = False
    visible = attention._without(values, observed, np.array([1]), place)
    hidden = np.flatnonzero(observed[0, :, 1] & ~visible[0, :, 1])
    assert (visible[0, :, 0] == observed[0, :, 0]).all()
    assert len(hidden) == (0 if place == "clean" else round(0.3 * 90))
    far = np.abs(values[0, :, 1] - values[0, observed[0, :, 1], 1].mean())
    rest = np.setdiff1d(np.flatnonzero(observed[0, :, 1]), hidden)
    if place == "peaks":
        assert far[hidden].min() >= far[rest].max()
    if place == "off peaks":
        assert far[hidden].max() <= far[rest].min()
    if place == "high variance":
        assert set(range(42, 58)) & set(rest.tolist()) == set()
    if place == "low variance":
        assert set(range(42, 58)) & set(hidden.tolist()) == set()


# ---------------------------------------------------------------- the case study


def test_the_case_study_from_one_command_to_a_picture(wards, tmp_path, capsys):
    store = tmp_path / "store"
    words = ("run", "physionet", "--data", wards, "--epochs", 1, "--store", store, "--models")
    assert bench(*words, "dlinear,itransformer", "--dry-run") == 0
    assert "in all at most" in capsys.readouterr().out
    assert bench(*words, "dlinear,itransformer") == 0
    rows = [row for row in Store(store).rows() if row.model == "dlinear"]
    by_name = {row.scenario: row for row in rows}
    one, same = by_name["variables 0.5"], by_name["natural 0.5"]
    assert (one.mse, one.cells) == (same.mse, same.cells), "the very same cells"
    assert by_name["variables-zeros 0.5"].mse == by_name["natural-zeros 0.5"].mse
    assert one.metrics["c missing"] == pytest.approx(1 / 3, abs=0.05) and one.metrics["a missing"] == 0
    assert (
        min(one.metrics[f"{name} mse"] for name in "abc")
        <= one.mse
        <= max(one.metrics[f"{name} mse"] for name in "abc")
    )
    capsys.readouterr()
    assert bench(*words, "dlinear,itransformer") == 0
    assert capsys.readouterr().out.count("was done") == 2
    assert bench("table", "physionet", "--store", store) == 0
    shown = capsys.readouterr().out
    assert shown.count("| c ") == 2 and "DLinear" in shown and "0.33" in shown
    assert "measured, hidden" not in shown
    pictures("physionet", store, tmp_path)
    traces = sorted((store / "traces").iterdir())
    curves = [json.loads(path.read_text())["curves"] for path in traces]
    assert len(curves) == 2 and set(curves[0]) == {"a", "b", "c"}
    for name in "abc":
        assert curves[0][name]["truth"] == curves[1][name]["truth"], "all systems fill the same window"
        assert curves[0][name]["fill"] != curves[1][name]["fill"]
        shown_cells = [
            x for x, seen in zip(curves[0][name]["truth"], curves[0][name]["visible"], strict=True) if seen
        ]
        assert None not in shown_cells


def test_the_case_study_stands_beside_the_published_figures():
    variables = {
        f"{name} {metric}": 0.1 for name in STUDIES["physionet"].variables for metric in ("mse", "mae")
    }
    rows = []
    for model, error in (("t1", 0.2), ("saits", 0.1)):
        training = standard(spec("PhysioNet2012"), model)
        for kind in STUDIES["physionet"].kinds:
            metrics = {"mse": error, "mae": error} | dict.fromkeys(variables, error) | {"HR missing": 0.19}
            rows.append(
                any_row(
                    id=model,
                    dataset="PhysioNet2012",
                    model=model,
                    mask=dict(training.mask),
                    scenario=f"{kind} 0.5",
                    metrics=metrics,
                )
            )
    (sheet,) = SPECIAL["physionet"].tables(rows)
    hr = [[cell.text for cell in line] for line in sheet.lines if line[0].text == "HR"]
    assert ["HR", "T1", "0.19", "0.19", "0.200", "0.200", "0.200", "0.189", "0.200", "0.296"] in hr
    assert len(hr) == 6, "also the systems that have not run"
    finding = next(note for note in sheet.notes if note.startswith("The paper's T1"))
    assert "lowest MSE on 6 of 6 variables" in finding and finding.count("does not hold") == 2


# ---------------------------------------------------------------- efficiency


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cross": "none"},
        {"cross": "convolution"},
        {"n_channels": 6, "ffn_ratio": 2.0},
        {"upsample": "linear"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_vars", [3, 8])
def test_multiply_adds_are_those_of_the_textbook_network(settings, n_vars):
    config = T1Config(n_vars=n_vars, window=24, **{"n_channels": 8, **settings})
    values = torch.randn(1, 24, n_vars)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        PlainT1(config)(values, torch.ones(values.shape, dtype=torch.bool))
    channels = config.n_channels // (1 if config.upsample == "linear" else 2)
    projection = n_vars * channels * 24  # written as a product and a sum there, which the counter passes over
    assert defined(config) - projection == counter.get_total_flops() / 2


def test_efficiency_from_one_command_to_a_picture(waves, tmp_path, capsys):
    store = tmp_path / "store"
    words = ("run", "efficiency", "--data", waves, "--models", "dlinear,itransformer", "--store", store)
    assert bench(*words, "--dry-run") == 0
    assert "in all about" in capsys.readouterr().out and not store.exists()
    assert bench(*words) == 0
    rows = {row.model: row for row in Store(store).rows()}
    assert set(rows) == {"dlinear", "itransformer"}
    for row in rows.values():
        assert row.scenario == "cost" and row.metrics["parameters"] == row.parameters > 0
        assert row.metrics["step_ms"] > 0 and row.metrics["peak_mb"] > 0 and row.metrics["steps"] >= 2
    assert rows["dlinear"].parameters == 4 * (24 * 24 + 24) / 2
    assert rows["itransformer"].metrics["multiply_adds"] > rows["dlinear"].metrics["multiply_adds"]
    capsys.readouterr()
    assert bench(*words) == 0
    assert capsys.readouterr().out.count("was done") == 2
    assert bench("table", "efficiency", "--store", store) == 0
    shown = capsys.readouterr().out
    assert "processor time" in shown and "| Electricity | 128 heads" in shown
    pictures("efficiency", store, tmp_path)
    assert "What a training step takes" in results_page(Store(store).rows())


def test_a_system_that_cannot_be_measured_does_not_keep_the_others(waves, tmp_path, capsys, monkeypatch):
    from t1.bench import efficiency

    def without(run, store):
        return run.model == "dlinear"

    monkeypatch.setattr(efficiency, "is_measured", without)
    monkeypatch.setattr(efficiency, "_System", _Broken)
    words = (
        "run",
        "efficiency",
        "--data",
        waves,
        "--models",
        "dlinear,itransformer",
        "--store",
        tmp_path / "s",
    )
    assert bench(*words) == 1
    out, err = capsys.readouterr()
    assert "dlinear" in out and "was done" in out and "nothing was measured" in err


class _Broken:
    def __init__(self, run, threads):
        self.run = run

    def start(self): ...
    def step(self): ...
    def end(self): ...

    def row(self):
        from t1.errors import T1Error

        return T1Error("nothing was measured")


def test_t1_is_measured_with_fewer_heads_too():
    runs = cost_runs(data=["ETTh1"], models=["t1"])
    assert [run.settings.get("channels_per_head", 1) for run in runs] == [1, 32, 16, 8]
    assert all(run.model == "dlinear" for run in cost_runs(data=["ETTh1"], models=["dlinear"]))
    assert {run.dataset for run in cost_runs()} == {"ETTh1", "Weather", "Electricity"}


def test_costs_stand_beside_the_published_ones():
    def cost(run, **metrics):
        facts = {"parameters": 1e6, "multiply_adds": 1e9, "peak_mb": 100.0, "step_ms": 50.0}
        facts |= {"step_wall_ms": 200.0, "steps": 3, **metrics}
        about = {
            name: getattr(run, name) for name in ("id", "dataset", "model", "batch_size", "learning_rate")
        }
        return any_row(
            **about,
            settings=dict(run.settings),
            mask=dict(run.mask),
            scenario="cost",
            metrics=facts,
            threads=1,
        )

    runs = cost_runs(data=["ETTh1"], models=["t1", "dlinear"])
    rows = [cost(run, step_ms=5.0 if run.model == "dlinear" else 50.0) for run in runs]
    systems, heads = SPECIAL["efficiency"].tables(rows)
    lines = {line[1].text: [cell.text for cell in line] for line in systems.lines if line[0].text == "ETTh1"}
    assert lines["DLinear"][8:12] == ["5", "10", "0.10", "0.34"]
    assert lines["CSDI"][2:4] == ["–", "1.2"]
    assert any("up to 40.0 times as long" in note for note in systems.notes), "the machine was shared"
    assert any("ms a step 1 and 1" in note for note in systems.notes)
    assert any("ETTh1: a head for every channel takes +0.0 % memory" in note for note in heads.notes)


# ---------------------------------------------------------------- conclusions


def of(study, errors, **changes):
    """Rows of what a study compares on ETTh1, each with the same error at every ratio."""
    chosen = STUDIES[study]
    rows = []
    for label, run in chosen.variants("ETTh1", chosen.models[0], 102, "paper", {}):
        if label in errors:
            about = {name: getattr(run, name) for name in ("id", "model", "batch_size", "learning_rate")}
            about |= {"settings": dict(run.settings), "mask": dict(run.mask), **changes}
            rows += [any_row(**about, scenario=f"point {rate}", mse=errors[label], mae=0.1) for rate in RATES]
    return rows


def said(study, rows):
    found = findings(study, averages(study, rows, ["ETTh1"]), rows)
    assert [text for text in sheets_notes(study, rows) if text in found] == found, "and the table says it"
    return " ".join(found)


def sheets_notes(study, rows):
    from t1.bench.tables import table

    return table(study, rows, data=["ETTh1"]).notes


FULL, CONV, LINEAR = "T1: full model", "Cross-variable: Conv", "Reconstruction: Linear"


def test_a_conclusion_holds_or_not_with_the_numbers():
    worse = said("ablation", of("ablation", {FULL: 0.05, CONV: 0.06, LINEAR: 0.0525}))
    assert "Here 2 of 2 do: Cross-variable: Conv +20.0 %, Reconstruction: Linear +5.0 %; not: none" in worse
    assert "the conclusion holds" in worse
    better = said("ablation", of("ablation", {FULL: 0.05, CONV: 0.04}))
    assert "not: Cross-variable: Conv -20.0 %" in better and "the conclusion does not hold" in better
    assert findings("ablation", averages("ablation", [], ["ETTh1"]), []) == [], "nothing has run"
    assert findings("point", {}, []) == []


def test_conclusions_of_the_other_studies():
    flat = {"64 channels": 0.05, "128 channels": 0.051, "256 channels": 0.052}
    assert "(64, 128, 256): 0.0500, 0.0510, 0.0520, from lowest to highest 4.0 %" in said(
        "sensitivity", of("sensitivity", flat)
    )
    steep = said(
        "sensitivity", of("sensitivity", {"128 channels": 0.05, "kernel 31": 0.09, "kernel 51": 0.06})
    )
    assert "large kernel (31, 51, 71): 0.0900, 0.0600, 0.0500" in steep and "does not hold" in steep
    ratios = {"trained at 0.1": 0.08, "trained at 0.5": 0.04, "trained at 0.7": 0.06}
    assert "here trained at 0.5 (0.0400)" in said("training-ratio", of("training-ratio", ratios))
    ratios["trained at 0.1"] = 0.03
    assert "does not hold" in said("training-ratio", of("training-ratio", ratios))
    more = {"8 heads": 0.1, "64 heads, model width fixed": 0.12, "128 heads, head width fixed": 0.05}
    text = said("heads", of("heads", more))
    assert "model width fixed, MSE against 8 heads: here with 64 +20.0 %" in text
    assert "head width fixed, MSE against 8 heads: here with 128 -50.0 %" in text
    assert text.count("does not hold") == 1


def test_t1_and_sssd_are_compared_with_equal_budgets():
    def rows(model, error, seconds, **changes):
        training = standard(spec("ETTh1"), model)
        about = {"id": model, "model": model, "mask": dict(training.mask), "budget_seconds": seconds}
        about |= {"steps": int(seconds), "stopped": "seconds", "train_seconds": seconds, **changes}
        return [any_row(**about, scenario=f"point {rate}", mse=error, mae=0.1) for rate in RATES]

    long = rows("t1", 0.05, 1800.0)
    text = said("sssd", [*long, *rows("t1", 0.1, 480.0), *rows("sssd", 0.18, 480.0)])
    assert "with equal budgets: T1 0.100, SSSD 0.180" in text and "holds" in text
    assert "with different budgets: T1 0.050" in said("sssd", [*long, *rows("sssd", 0.18, 480.0)])


@pytest.mark.parametrize("study", ["ablation", "sensitivity", "training-ratio", "heads"])
def test_a_study_of_settings_is_drawn_from_rows(study, tmp_path):
    store = Store(tmp_path / "store")
    store.append(of(study, dict.fromkeys(STUDIES[study].changes, 0.05)))
    before = pictures(study, store.folder, tmp_path)
    store.append(of(study, dict.fromkeys(STUDIES[study].changes, 0.09), steps=400_000, finished="later"))
    assert pictures(study, store.folder, tmp_path) != before, "drawn from the rows"
    page = results_page(store.rows())
    assert f"]({study}.svg)" in page


def test_every_study_can_be_planned_shown_and_drawn(tmp_path, capsys):
    store = Store(tmp_path / "store")
    for name, study in STUDIES.items():
        if study.part_of and "cost" not in study.kinds:
            with pytest.raises(InputError, match="Run the study"):
                draw(name, store, tmp_path / "x.svg")
            continue
        usual = "AQI36" if name == "natural" else "ETTh1"
        one = [study.datasets[0] if study.datasets else usual]
        if study.published or "cost" in study.kinds:
            assert sheets(name, store, data=one)
            draw(name, store, tmp_path / f"{name}.svg", one)
        with pytest.raises(InputError, match="no picture file"):
            draw(name, store, tmp_path / "x.doc")


# ---------------------------------------------------------------- budgets in processor time


def test_a_budget_can_be_counted_in_processor_time(waves, tmp_path, capsys):
    store = Store(tmp_path / "store")
    run = replace(STUDIES["point"].runs(data=[waves])[0], model="dlinear")
    cpu = Limits(seconds=0.3, clock="cpu")
    assert execute(run, store, cpu) == "done"
    (clock,) = {row.clock for row in store.rows()}
    assert clock == "cpu" and is_done(run, store, cpu)
    assert not is_done(run, store, Limits(seconds=0.3)), "a second of the wall is another second"
    assert not is_done(run, store, replace(cpu, seconds=0.3, afresh=True, clock="wall"))
    assert "--budget 0.3s --clock cpu" in results_page(store.rows())
    assert bench("table", "point", "--models", "dlinear", "--store", store.folder) == 0
    assert "of processor time" in capsys.readouterr().out


def test_processor_time_does_not_pass_while_a_process_waits(monkeypatch):
    import time

    from t1 import train

    assert train.CLOCKS["cpu"] is time.process_time and train.CLOCKS["wall"] is time.perf_counter
    with pytest.raises(InputError, match="unknown clock"):
        train.TrainConfig(clock="sun")


def test_looking_inside_needs_no_gradients(waves):
    dataset = load(waves)
    model = T1(T1Config(n_vars=3, window=24, n_channels=8))
    values, observed = dataset.test.batch(slice(0, 4))
    weights = attention._weights(model, (values, observed))
    assert [block.shape for block in weights] == [(4, 8, 3, 3)] * 4
    np.testing.assert_allclose(weights[0].sum(-1), 1, atol=1e-5)
