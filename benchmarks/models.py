"""What a training step of every system costs, relative to T1's in the same run; parameters at 7 variables.

    python benchmarks/models.py            # print
    python benchmarks/models.py --write    # and keep the figures for `t1 models`

Steps go in turns with T1's, for this kind of machine is noisy; the ratio is of medians.
"""

import argparse
import datetime
import json
import statistics
from pathlib import Path
from time import perf_counter

import torch

from t1.memory import keep_freed_memory
from t1.methods.catalog import MODELS, build
from t1.models.base import Batch, Model

KEPT = Path(__file__).parents[1] / "src" / "t1" / "models" / "costs.json"


def step(model: Model, optimiser: torch.optim.Optimizer, batch: Batch) -> float:
    began = perf_counter()
    optimiser.zero_grad()
    model.loss(batch).backward()
    optimiser.step()
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    keep_freed_memory()
    torch.manual_seed(0)
    values = torch.randn(16, 96, 7)
    observed = torch.rand(values.shape) < 0.6
    batch = Batch(values, observed, ~observed)

    def ready(name: str, size: str) -> tuple[Model, torch.optim.Optimizer]:
        model = build(name, n_vars=7, window=96, size=size).train()
        return model, torch.optim.Adam([p for p in model.parameters() if p.requires_grad])

    reference = ready("t1", "paper")
    step(*reference, batch)
    systems: dict[str, dict[str, dict[str, float]]] = {}
    for name, entry in MODELS.items():
        if entry.absent:
            print(f"{name}: needs {', '.join(entry.absent)}")
            continue
        for size in ["paper", "small"] if entry.small else ["paper"]:
            chosen = ready(name, size)
            first = step(*chosen, batch)
            rounds = 1 if first > 20 else options.rounds
            times = [(step(*chosen, batch), step(*reference, batch)) for _ in range(rounds)]
            ours, t1 = (statistics.median(column) for column in zip(*times, strict=True))
            if name == "t1":
                ours = t1  # by definition; what else would come out is noise
            parameters = sum(p.numel() for p in chosen[0].parameters() if p.requires_grad)
            systems.setdefault(name, {})[size] = {
                "parameters": parameters,
                "relative_step": round(ours / t1, 3),
            }
            print(
                f"{name:<14}{size:<7}{parameters:>12,} parameters {ours * 1000:9.0f} ms  {ours / t1:.3g}x T1"
            )
    if options.write:
        kept = {"date": f"{datetime.date.today()}", "threads": torch.get_num_threads(), "systems": systems}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"written: {KEPT}")


if __name__ == "__main__":
    main()
