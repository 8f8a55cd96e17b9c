"""The errors of trained runs in two units: the training part's standard deviation, and the whole series'.

    python benchmarks/units.py --data ETTh1,Illness --models t1,dlinear --every 8

Nothing is trained: the weights are those of `t1 bench run`, the masks those of the benchmark. The protocol
standardises with the training part; docs/protocol.md says why the other unit is of interest.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from t1 import checkpoint
from t1.bench.evaluate import evaluate, network_fill
from t1.bench.paper import published
from t1.bench.scenarios import scenarios
from t1.bench.store import Row, Store
from t1.data.catalog import Dataset, load, spec
from t1.methods.catalog import build
from t1.models.base import Model


def trained(row: Row, dataset: Dataset, folder: Path) -> Model:
    """The model with the best weights of the run."""
    tensors, _ = checkpoint.load(folder)
    model = build(row.model, n_vars=dataset.train.n_vars, window=dataset.train.window, **row.settings)
    best = {name.removeprefix("best."): t for name, t in tensors.items() if name.startswith("best.")}
    model.load_state_dict(best)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="ETTh1")
    parser.add_argument("--models", default="t1")
    parser.add_argument("--every", type=int, default=1, help="score every N-th test window")
    parser.add_argument("--store", default="results")
    options = parser.parse_args()
    store = Store(options.store)
    print(f"{'dataset':<10}{'model':<14}{'scenario':<12}{'training':>10}{'whole':>10}{'paper':>10}")
    for name in options.data.split(","):
        dataset = load(name)
        rows, seen = dataset.test.rows, dataset.test.seen
        whole = np.array([column[here].std() for column, here in zip(rows.T, seen.T, strict=True)])
        for model in options.models.split(","):
            row = next((r for r in store.latest() if (r.dataset, r.model) == (name, model)), None)
            folder = store.folder / "runs" / row.id / "training" if row else Path()
            if row is None or not checkpoint.exists(folder):
                print(f"{name:<10}{model:<14}no checkpoint here: run it with t1 bench run first")
                continue
            fill = network_fill(trained(row, dataset, folder), torch.device("cpu"), row.seed)
            for scenario in scenarios(spec(name)):
                errors = evaluate(fill, dataset, scenario, row.seed, every=options.every)
                assert errors is not None
                squares = np.nan_to_num(errors.mse_by_var) * errors.count_by_var / whole**2
                other = squares.sum() / errors.count
                figure = published(scenario.kind).get((name, scenario.name, model))
                paper = "–" if figure is None else f"{figure.mse:.3f}"
                print(f"{name:<10}{model:<14}{scenario.name:<12}{errors.mse:>10.4f}{other:>10.4f}{paper:>10}")


if __name__ == "__main__":
    main()
