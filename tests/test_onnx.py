"""The ONNX file and engine give what torch gives, for any width and batch, and run where torch is not installed."""

import dataclasses
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import t1
from t1.cli import main
from t1.models.base import Context
from t1.models.t1 import T1, T1Config
from t1.onnx.engine import OnnxT1
from t1.onnx.network import INPUTS
from t1.weights import load_pretrained, save_pretrained

NO_TORCH = "import sys; sys.modules['torch'] = None\n"  # importing it fails, as where it is not installed


def windows(batch: int, n_vars: int, time: int = 96) -> list[np.ndarray]:
    """Inputs of the network, with a variable without any observation and one with a single one."""
    rng = np.random.default_rng([batch, n_vars])
    observed = rng.random((batch, time, n_vars)) < 0.6
    observed[0, :, 0] = False
    observed[-1, :, -1] = np.arange(time) == time // 3
    wide = [rng.normal(size=observed.shape) for _ in range(3)]
    weight = [rng.choice([0.0, 0.5, 1.0], observed.shape) for _ in range(2)]
    relation = rng.normal(size=(batch, n_vars, n_vars)) / n_vars
    trust = rng.choice([0.0, 0.7], (batch, n_vars))
    said = np.where(rng.random((batch, 1, n_vars)) < 0.5, np.nan, rng.normal(size=observed.shape))
    parts = [
        wide[0],
        observed,
        wide[1],
        weight[0],
        wide[2],
        weight[1],
        relation,
        rng.normal(size=trust.shape),
        trust,
        said,
    ]
    return [x if x.dtype == bool else x.astype(np.float32) for x in parts]


def torch_levels(network: T1, parts: list[np.ndarray]) -> np.ndarray:
    values, observed, *context = map(torch.tensor, parts)
    with torch.no_grad():
        return network.levels(values, observed, Context(*context)).numpy()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    target = tmp_path_factory.mktemp("onnx") / "t1.onnx"
    assert main(["export", "-o", str(target)]) == 0
    return target


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (5, 1), (4, 21), (2, 70)])
def test_the_file_gives_what_torch_gives(file, size):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    parts = windows(*size)
    (found,) = session.run(None, dict(zip(INPUTS, parts, strict=True)))
    assert found.shape == (7, size[0], 96, size[1])
    assert np.abs(found - torch_levels(load_pretrained(), parts)).max() < 1e-4


def test_the_file_is_small_and_says_what_it_takes(file):
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == list(INPUTS)
    sizes = [d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == ["batch", 96, "vars"]
    assert file.stat().st_size < 2_000_000


def test_other_weights_with_an_odd_length_of_other_settings(tmp_path):
    config = T1Config(
        n_vars=0,
        window=22,  # 22 -> 11 -> 6: an odd length on the way
        n_channels=8,
        depths=(1, 1, 1),
        large_kernels=(9, 41, 5),  # the second is wider than its stage
        kernel_window=22,
        encoding="shared",
        lines=True,
        inputs=("relation", "distance"),
        quantiles=(0.1, 0.5, 0.9),
    )
    network = T1(config).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
    save_pretrained(tmp_path, network, trained={}, figures={})
    parts = windows(3, 4, 22)
    found = OnnxT1.pretrained(tmp_path).levels(parts[0], parts[1], parts[2:])
    assert np.abs(found - torch_levels(network, parts)).max() < 1e-4


def test_the_engine_fills_as_torch_does():
    table = t1.load_sample().iloc[:300, :7]
    ours = t1.impute(table, budget="fast", engine="onnx", intervals=0.9)
    torchs = t1.impute(table, budget="fast", engine="torch", intervals=0.9)
    spread = np.nanstd(table.to_numpy(), axis=0)
    for name in ("values", "lo", "hi"):
        away = np.abs(getattr(ours, name) - getattr(torchs, name)) / spread
        assert np.nanmax(away) < 1e-4, name


def test_the_engine_runs_where_torch_is_not_installed(tmp_path):
    t1.load_sample().iloc[:200, :4].to_csv(tmp_path / "in.csv")
    code = NO_TORCH + "from t1.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "impute", "in.csv", "-o", "out.csv", "--budget", "fast"]
    run = subprocess.run([*command, "--engine", "onnx"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 201 and not any(",," in line or line.endswith(",") for line in lines)
    torchs = subprocess.run([*command, "--engine", "torch"], cwd=tmp_path, capture_output=True, text=True)
    assert torchs.returncode != 0  # the check above would not see torch being used


@pytest.mark.parametrize(
    ("options", "gpu", "n_columns", "torch_too"),
    [
        ({"budget": "fast"}, False, 3, False),
        ({"budget": "fast"}, True, 3, True),
        ({"budget": "fast"}, False, 70, True),  # so wide that torch is faster
        ({"budget": "fast", "weights": "weights"}, False, 3, True),  # of any form
        ({"budget": "5s"}, False, 3, True),
    ],
)
def test_the_faster_engine_is_taken(tmp_path, options, gpu, n_columns, torch_too):
    save_pretrained(tmp_path / "weights", load_pretrained(), trained={}, figures={})
    table = np.random.default_rng(0).normal(size=(200, n_columns))
    table[50:55] = np.nan
    np.save(tmp_path / "table.npy", table)
    code = (
        "import sys, numpy, t1, t1.onnx.engine as e\n"
        f"e.which = lambda tool: {'tool' if gpu else None!r}\n"
        f"t1.impute(numpy.load('table.npy'), **{options})\n"
        "print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(torch_too)


def test_a_fit_that_is_kept_is_torchs(tmp_path):
    fitted = t1.fit(t1.load_sample().iloc[:150, :3], budget="fast")
    fitted.save(tmp_path / "model")
    assert t1.load(tmp_path / "model").scorecard.to_dict() == fitted.scorecard.to_dict()


def test_the_file_is_written_where_torch_is_not_installed(tmp_path, file):
    code = NO_TORCH + "from t1.onnx.engine import export_onnx; export_onnx('again.onnx')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "again.onnx").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "onnx"}, "cannot train"),
        ({"engine": "onnx", "budget": "fast", "weights": "none"}, "cannot train"),
        ({"engine": "tvm", "budget": "fast"}, "no engine 'tvm'"),
    ],
)
def test_what_the_engine_cannot_do(options, says):
    with pytest.raises(t1.InputError, match=says) as error:
        t1.impute(np.ones((50, 2)), **options)
    assert error.value.option == "engine"


def test_a_model_brings_its_own_engine(tmp_path, capsys):
    table = t1.load_sample().iloc[:120, :3]
    t1.fit(table, budget="fast", method="linear").save(tmp_path / "model")
    table.to_csv(tmp_path / "in.csv")
    command = ["impute", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), "--budget", "fast"]
    assert main([*command, "--engine", "onnx", "--model", str(tmp_path / "model")]) == 2
    assert "--engine" in capsys.readouterr().err


def test_a_missing_library_is_told(monkeypatch):
    monkeypatch.setattr("t1.onnx.engine.find_spec", lambda name: None)
    with pytest.raises(t1.InputError, match="onnxruntime and onnx"):
        t1.impute(np.ones((50, 2)), budget="fast", engine="onnx")


def test_the_networks_of_the_paper_cannot_be_exported(tmp_path):
    settings = dataclasses.asdict(T1Config(n_vars=3))
    with pytest.raises(t1.InputError, match="cannot be exported"):
        OnnxT1(settings, {}).levels(*windows(1, 3)[:2], windows(1, 3)[2:])
