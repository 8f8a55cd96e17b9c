"""A whole ETTh1 epoch with its validation: against the plain network, and what the data path costs of it.

    python benchmarks/epoch.py                # a twentieth of it, three times in turns: about 4 minutes
    python benchmarks/epoch.py --share 1 --rounds 1      # all of it: about 15 minutes

Both networks have the same weights and go through `t1.train.fit`. The data path is what the loop does besides
the network: choosing and gathering windows, drawing masks, making tensors, adding errors in validation.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
os.environ.setdefault("T1_DATA_DIR", str(Path(__file__).parents[2] / "shared" / "data"))
from plain_t1 import PlainT1
from t1.bench.scenarios import training_hide
from t1.bench.study import STUDIES
from t1.data.catalog import load
from t1.models.base import Model
from t1.models.t1 import T1, T1Config
from t1.schedule import TrainConfig
from t1.train import fit


class Plain(Model):
    """The plain transcription under the contract that the loop asks for."""

    name = "plain"
    Config = T1Config

    def __init__(self, network: PlainT1, config: T1Config) -> None:
        super().__init__()
        self.network, self.config = network, config

    def forward(self, values: torch.Tensor, observed: torch.Tensor) -> torch.Tensor:
        return self.network(values, observed)


class Nothing(Model):
    """A network that costs nothing: what an epoch with it takes is the data path."""

    name = "nothing"
    Config = T1Config

    def __init__(self, config: T1Config) -> None:
        super().__init__()
        self.config = config
        self.zero = torch.nn.Parameter(torch.zeros(()))

    def forward(self, values: torch.Tensor, observed: torch.Tensor) -> torch.Tensor:
        return self.zero.expand(values.shape)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=0.05, help="of the windows of an epoch")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    (run,) = STUDIES["point"].runs(data=["ETTh1"])
    dataset = load(run.dataset)
    train, valid = (
        part.subset(np.arange(round(len(part) * options.share))) for part in (dataset.train, dataset.valid)
    )
    hide = training_hide(run.mask, dataset)
    config = TrainConfig(seed=run.seed, batch_size=run.batch_size, max_epochs=1)

    def epoch(model: Model) -> float:
        began = perf_counter()
        fit(model, train, valid, config, hide=hide)
        return perf_counter() - began

    torch.manual_seed(0)
    fast = T1(T1Config(n_vars=7))
    models = {
        "ours": fast,
        "plain": Plain(PlainT1.from_fast(fast), fast.config),
        "data": Nothing(fast.config),
    }
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(options.rounds):
        for name, model in models.items():
            times[name].append(epoch(model))
    ours, plain, data = (statistics.median(times[name]) for name in models)
    print(
        f"ETTh1, {len(train):,} training and {len(valid):,} validation windows, "
        f"{torch.get_num_threads()} threads, medians of {options.rounds} rounds in turns"
    )
    print(f"  an epoch with validation: ours {ours:.1f} s, plain {plain:.1f} s: {plain / ours:.2f}x faster")
    print(f"  the data path: {data:.2f} s, {100 * data / ours:.1f} % of our epoch")


if __name__ == "__main__":
    main()
