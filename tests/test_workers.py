"""Training that the processes of torchrun share: half the batch each is the whole batch."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

SCRIPT = """
import sys
import numpy as np
import torch
from safetensors.torch import save_file

from t1.data.window import WindowSet
from t1.models.t1 import T1, T1Config
from t1.train import TrainConfig, fit
from t1.workers import join_workers

rng = np.random.default_rng(0)
series = np.sin(np.arange(300)[:, None] / [3, 5, 7]) + 0.1 * rng.normal(size=(300, 3))
windows = WindowSet.from_series(series.astype(np.float32), 24, stride=3)
torch.manual_seed(0)
model = T1(T1Config(n_vars=3, window=24, n_channels=8, attention_dropout=0.0, drop_path=0.0))
start = {name: p.clone() for name, p in model.named_parameters()}
config = TrainConfig(seed=1, batch_size=8, learning_rate=1e-3, max_epochs=None, max_steps=10)
hide = lambda values, observed, rng: rng.random(values.shape) < 0.3
with join_workers() as workers:
    result = fit(model, windows, windows.subset(slice(0, 16)), config, hide=hide, workers=workers)
    moved = max(float((p.detach() - start[n]).abs().max()) for n, p in model.named_parameters())
    assert result.steps == 10 and moved > 1e-3
    if workers.first:
        save_file(model.state_dict(), sys.argv[1])
        print(f"{workers.n} processes, validation {result.best_loss:.7f}")
"""


def test_ten_steps_with_half_the_batch_in_either_of_two_processes_are_those_of_one(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    source = str(Path(__file__).parents[1] / "src")
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    told = {}
    for name, launcher in (("one", []), ("two", torchrun)):
        ran = subprocess.run(
            [sys.executable, *launcher, str(tmp_path / "script.py"), str(tmp_path / name)],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        told[name] = ran.stdout
    assert told["one"].startswith("1 processes") and told["two"].startswith("2 processes")
    one, two = (load_file(tmp_path / name) for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-5
    assert torch.cuda.is_available() or told["one"].split()[-1][:6] == told["two"].split()[-1][:6]
