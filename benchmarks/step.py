"""Speed and memory of T1 against a plain transcription of its equations: always a ratio within one run.

    python benchmarks/step.py                 # M = 7, 21, 207: training step and forward pass
    python benchmarks/step.py --vars 7        # one size
    python benchmarks/step.py --memory        # M = 321: peak memory of a training step, one process each

Both networks have the same weights and run in one process, in turns of three; medians. The floor is the
time the matrix products alone would take at the rate this machine reaches on a large product.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from plain_t1 import PlainT1
from t1.memory import keep_freed_memory
from t1.models.t1 import T1, T1Config

BATCH = 16


def sample(n_vars: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(BATCH, 96, n_vars)
    return x, torch.rand(x.shape) < 0.6


def train_step(
    model: torch.nn.Module, optimiser: torch.optim.Optimizer, x: torch.Tensor, observed: torch.Tensor
):
    optimiser.zero_grad()
    (model(x, observed) - x)[~observed].square().mean().backward()
    optimiser.step()


def timed(action) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def machine_rate() -> float:
    """Multiply-adds per second of a large matrix product: the best of several."""
    a = torch.randn(1024, 1024)
    return 1024**3 / min(timed(lambda: a @ a) for _ in range(20))


def product_multiply_adds(config: T1Config) -> int:
    """Multiply-adds of the matrix products we run for one window, Toeplitz matrices counted in full."""
    c, m = config.n_channels, config.n_vars
    total = 2 * 2 * c * config.window * m + 2 * c * config.lengths[-1] * m
    for depth, length in zip(config.depths, config.lengths, strict=True):
        per_row = 3 * length * length * c + (c * c + 2 * c * config.n_ffn) * length + 2 * m * c * length
        total += depth * per_row * m
    return total


def compare(n_vars: int, rounds: int, turn: int) -> None:
    torch.manual_seed(0)
    fast = T1(T1Config(n_vars=n_vars))
    plain = PlainT1.from_fast(fast)
    x, observed = sample(n_vars)
    times: dict[str, list[float]] = {}
    adam = {m: torch.optim.Adam(m.parameters(), lr=1e-3, fused=True) for m in (fast, plain)}
    for round_ in range(rounds + 1):
        for name, model in (("fast", fast), ("plain", plain)):
            for _ in range(turn if round_ else 1):
                model.train()
                step = timed(lambda m=model: train_step(m, adam[m], x, observed))
                if round_:  # the first round warms up
                    times.setdefault(f"{name} step", []).append(step)
            model.eval()
            with torch.no_grad():
                model(x, observed)  # the first pass after a step builds the matrices: not the steady state
                for _ in range(turn if round_ else 0):
                    times.setdefault(f"{name} forward", []).append(timed(lambda m=model: m(x, observed)))
    rate, work = machine_rate(), BATCH * product_multiply_adds(fast.config)
    print(
        f"M = {n_vars}, batch {BATCH}, T = 96, {torch.get_num_threads()} threads, "
        f"medians of {rounds} turns of {turn}"
    )
    for kind, passes in (("step", 3), ("forward", 1)):
        ours, theirs = (statistics.median(times[f"{name} {kind}"]) for name in ("fast", "plain"))
        floor = passes * work / rate
        print(
            f"  {kind:<8} ours {ours * 1e3:8.1f} ms   plain {theirs * 1e3:8.1f} ms   {theirs / ours:5.2f}x"
            f" faster   products alone {floor * 1e3:7.1f} ms: we take {ours / floor:.2f} times the floor"
        )


def peak(kind: str, n_vars: int) -> float:
    """Peak memory in MB of one training step in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, "--vars", str(n_vars)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def one_step(kind: str, n_vars: int) -> None:
    model = T1(T1Config(n_vars=n_vars))
    chosen = model if kind == "fast" else PlainT1.from_fast(model)
    train_step(chosen, torch.optim.Adam(chosen.parameters(), fused=True), *sample(n_vars))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vars", type=int, nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--one", choices=["fast", "plain"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    keep_freed_memory()
    if options.one:
        one_step(options.one, options.vars[0])
    elif options.memory:
        for n_vars in options.vars or [321]:
            ours, theirs = peak("fast", n_vars), peak("plain", n_vars)
            print(
                f"M = {n_vars}: peak of a training step {ours:.0f} MB, plain {theirs:.0f} MB: "
                f"{ours / theirs:.2f} of it"
            )
    else:
        for n_vars in options.vars or [7, 21, 207]:
            many = n_vars > 100  # a step of the plain network takes a minute there
            compare(n_vars, 1 if many else options.rounds, 1 if many else 3)


if __name__ == "__main__":
    main()
