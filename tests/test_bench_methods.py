"""Systems without a network in the benchmark, and every system by its name in `t1 impute --method`."""

import numpy as np
import pytest
import torch

import t1
from t1 import weights
from t1.bench.limits import Limits
from t1.bench.methods import FITTED, method_fill, score_series, training_rows
from t1.bench.run import execute, is_done
from t1.bench.scenarios import Scenario
from t1.bench.standard import SERIES, UNTRAINED, standard
from t1.bench.store import Store
from t1.bench.study import STUDIES
from t1.cli import main
from t1.data.catalog import load, names, spec
from t1.errors import InputError
from t1.methods.catalog import MODELS, model_class
from t1.methods.simple import linear


def test_every_method_of_the_protocol_can_run():
    assert set(UNTRAINED) <= set(FITTED) | set(SERIES)
    assert not set(UNTRAINED) & set(MODELS)


@pytest.mark.parametrize("name", [name for name in UNTRAINED if name not in SERIES])
def test_a_method_gives_rows_without_training(name, waves, tmp_path):
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves], models=[name])
    assert execute(run, store, Limits(seconds=1.0)) == "done"
    rows = store.rows()
    assert len(rows) == 6
    assert all(np.isfinite(row.mse) and row.cells > 0 for row in rows)
    assert {(row.stopped, row.steps, row.parameters) for row in rows} == {("nothing to train", 0, 0)}
    assert is_done(run, store, Limits())


@pytest.mark.parametrize("name", list(FITTED))
def test_a_method_sees_nothing_hidden_and_fills_everything(name, waves):
    dataset = load(waves)
    values, observed = dataset.test.batch(slice(0, 8))
    observed = observed & (np.random.default_rng(1).random(observed.shape) < 0.7)
    observed[0, :, 1] = False  # a variable of which a window has nothing
    fill = method_fill(name, dataset, 102)
    shown = np.where(observed, values, 0)
    filled = fill(shown, observed)
    assert np.isfinite(filled).all()
    assert (filled[observed] == values[observed]).all()
    assert (fill(np.where(observed, values, 1e6).astype(np.float32), observed) == filled).all()


def test_other_pretrained_weights_are_scored_again(waves, tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves], models=["t1-zero"])
    assert execute(run, store, Limits()) == "done"
    assert execute(run, store, Limits()) == "was done"
    card = weights.read_card()
    monkeypatch.setattr(weights, "read_card", lambda path=None: {**card, "sha256": "0" * 64})
    assert not is_done(run, store, Limits())


def test_the_same_masks_for_methods_and_networks(waves, tmp_path):
    store = Store(tmp_path / "store")
    small = {"n_channels": 8}
    for run in [
        *STUDIES["point"].runs(data=[waves], models=["linear"]),
        *STUDIES["point"].runs(data=[waves], settings=small),
    ]:
        execute(run, store, Limits(max_epochs=1))
    cells = {}
    for row in store.rows():
        cells.setdefault(row.scenario, set()).add(row.cells)
    assert all(len(counts) == 1 for counts in cells.values())


def test_linear_equals_linear_window_by_window(waves):
    dataset = load(waves)
    values, observed = dataset.test.batch(slice(0, 8))
    observed = observed & (np.random.default_rng(1).random(observed.shape) < 0.5)
    filled = method_fill("linear", dataset, 102)(values, observed)
    for window, seen, fill in zip(values, observed, filled, strict=True):
        expected = linear(np.where(seen, window, np.nan).astype(float))
        assert fill == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_series_method_is_scored_on_the_test_rows_with_one_mask(waves):
    dataset = load(waves)
    seen = []

    def fill(values, seed):
        seen.append(values)
        return np.nan_to_num(values)

    errors = score_series(fill, dataset, Scenario("point", 0.3), seed=102)
    (values,) = seen
    first, last = dataset.test.starts[0], dataset.test.starts[-1] + dataset.test.window
    truth = dataset.test.rows[first:last]
    hidden = np.isnan(values)
    assert values.shape == truth.shape
    assert errors.count == hidden.sum()
    assert errors.mse == pytest.approx(np.square(truth[hidden]).mean(), rel=1e-5)


def test_psw_i_runs_in_the_benchmark(waves, tmp_path, monkeypatch):
    pytest.importorskip("ot", reason="PSW-I needs POT: pip install 't1-impute[bench]'")
    quick = {"learning_rate": 0.01, "batch": 16, "patch": 12, "rolling": 5, "steps": 3}
    monkeypatch.setattr("t1.methods.pswi.settings_for", lambda name: quick)
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves], models=["pswi"])
    assert execute(run, store, Limits()) == "done"
    assert {row.scenario for row in store.rows()} >= {"point 0.1", "block"}


def test_psw_i_under_a_budget_is_no_full_run(waves, tmp_path, monkeypatch):
    pytest.importorskip("ot", reason="PSW-I needs POT: pip install 't1-impute[bench]'")
    slow = {
        "learning_rate": 0.01,
        "batch": 16,
        "patch": 12,
        "rolling": 5,
        "steps": 100_000,
        "patience": 10**6,
    }
    monkeypatch.setattr("t1.methods.pswi.settings_for", lambda name: slow)
    store = Store(tmp_path / "store")
    (run,) = STUDIES["point"].runs(data=[waves], models=["pswi"])
    assert execute(run, store, Limits(seconds=0.2)) == "done"
    assert {(row.stopped, row.budget_seconds, row.full) for row in store.rows()} == {("seconds", 0.2, False)}
    assert is_done(run, store, Limits(seconds=0.2)) and not is_done(run, store, Limits())
    monkeypatch.setattr("t1.methods.pswi.settings_for", lambda name: slow | {"steps": 3})
    assert execute(run, store, Limits()) == "done"
    assert all(row.full for row in store.latest()), "the whole search replaces the one cut short"
    assert execute(run, store, Limits(seconds=60.0)) == "was done"


def test_training_rows_are_those_of_training_windows(waves):
    dataset = load(waves)
    assert len(training_rows(dataset)) == len(dataset.train.starts) + dataset.train.window - 1


def test_small_is_taken_where_it_is_declared():
    runs = STUDIES["point"].runs(data=["ETTh1"], models=["csdi", "dlinear"], size="small")
    assert [run.settings.get("size") for run in runs] == ["small", None]
    assert standard(spec("ETTh2"), "timesnet").settings == {"d_model": 32, "d_ffn": 32}
    assert STUDIES["point"].runs(data=["ETTh2"], models=["timesnet"])[0].settings["d_model"] == 32
    assert STUDIES["point"].runs(data=["ETTh1"], models=["saits"])[0].mask == {"kind": "point", "rate": 0.2}


@pytest.mark.parametrize("name", [name for name in MODELS if not MODELS[name].absent])
def test_the_protocol_s_settings_are_settings_of_the_model(name):
    config = model_class(name).Config
    for dataset in names():
        chosen = spec(dataset)
        usual = standard(chosen, name)
        config(n_vars=chosen.n_vars, window=chosen.window, **usual.settings)
        config(n_vars=chosen.n_vars, window=chosen.window, **{**usual.settings, **MODELS[name].small})
        assert usual.mask["kind"] in ("point", "own+point")


def test_t1_models_lists_every_system(capsys):
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    for name in (*MODELS, *UNTRAINED):
        assert name in out
    assert "Are Transformers Effective for Time Series Forecasting?" in out


# ------------------------------------------------------------ t1 impute --method


def table():
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(400)[:, None] / [3.0, 5.0, 7.0]) + 0.05 * rng.normal(size=(400, 3))
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


@pytest.mark.parametrize(
    "name", ["itransformer", "dlinear", "saits", *(n for n in UNTRAINED if n != "t1-zero")]
)
def test_a_system_fills_a_table_by_its_name(name, one_thread):
    if name in MODELS and MODELS[name].absent:
        pytest.skip(f"{name} needs {MODELS[name].absent}: pip install 't1-impute[bench]'")
    given = table()
    result = t1.impute(given.copy(), method=name, budget="2s")
    seen = ~np.isnan(given)
    assert (result.data[seen] == given[seen]).all()
    assert np.isfinite(result.data).all()
    assert {result.method_names[k] for k in np.unique(result.method[~seen])} == {
        "t1" if name == "t1-zero" else name  # the same method, which is never tuned
    }


def test_a_fill_by_draws_follows_the_seed(one_thread):
    if MODELS["sssd"].absent:
        pytest.skip(f"SSSD needs {MODELS['sssd'].absent}")
    given = table()[:120]
    imputer = t1.T1Imputer(network="sssd", window=24, max_steps=2, progress=False).fit(given)
    torch.manual_seed(1)
    first = imputer.transform(given)
    after = torch.random.get_rng_state()
    torch.manual_seed(1)
    assert torch.equal(torch.random.get_rng_state(), after), "the caller's own draws are his"
    np.testing.assert_array_equal(imputer.transform(given), first)


def test_an_unknown_method_gets_a_hint():
    with pytest.raises(InputError, match="Did you mean 'itransformer'"):
        t1.impute(table(), method="itransformr")
