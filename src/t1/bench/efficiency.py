"""What a training step takes: parameters, multiply-adds, peak memory and time of every system.

Each system sits in a process of its own, so that its memory can be told from the others'. Their steps go in
turns, so that whatever else the machine does falls on all of them alike.
"""

import datetime
import json
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import resources
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any

from t1.bench.machine import commit, forget_peak_memory, memory_mb, peak_memory_mb, versions
from t1.bench.scenarios import KINDS, Scenario
from t1.bench.store import Row, Store
from t1.bench.study import STUDIES, Run
from t1.data.catalog import spec
from t1.errors import T1Error
from t1.memory import give_back_memory, keep_freed_memory
from t1.methods.catalog import MODELS, build, model_class
from t1.models.t1 import T1Config

COST = Scenario("cost")
ROUNDS = 3  # timed steps of each system
SLOW = 4.0  # seconds of a step from which on two of them are enough, without one to warm up
START = 8.0  # seconds until a process has imported what it needs
HIDDEN = 0.4  # of the cells, which does not matter to the cost
SPAWN = get_context("spawn")


def cost_runs(**chosen: Any) -> list[Run]:
    """Every system on the datasets of the study, and T1 with grouped heads."""
    runs = STUDIES["efficiency"].runs(**chosen)
    if "t1" in (chosen.get("models") or ("t1",)):
        runs += STUDIES["grouped-heads"].runs(**{**chosen, "models": ()})
    return list({run.id: run for run in runs}.values())


def is_measured(run: Run, store: Store) -> bool:
    """Whether there is a row."""
    return any(row.id == run.id and row.scenario == COST.name for row in store.rows())


def about_seconds(run: Run, t1_step: float) -> float:
    """How long the measurement may take, from the time of a step of T1 with 7 variables."""
    costs = json.loads(resources.files("t1.models").joinpath("costs.json").read_text(encoding="utf-8"))
    relative: float = costs["systems"].get(run.model, {}).get("paper", {}).get("relative_step", 1.0)
    step = t1_step * relative * spec(run.dataset).n_vars / 7 * run.batch_size / 16
    return START + step * (2 + (2 if step > SLOW else 2 * ROUNDS))


def time_t1_step() -> float:
    """Seconds of a step of T1 with 7 variables, here and now."""
    step, _ = _prepare("t1", 7, 96, 16, {})
    step()
    return _timed(step)[1]


def measure(
    runs: Sequence[Run],
    store: Store,
    *,
    threads: int = 1,
    tell: Callable[[Run, str | T1Error], None],
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Measure what has no row yet, dataset by dataset, and append a row for each system that is through."""
    open_runs = []
    for run in runs:
        if is_measured(run, store):
            tell(run, "was done")
        elif MODELS[run.model].absent:
            tell(run, T1Error(f"needs {', '.join(MODELS[run.model].absent)}, which is not installed"))
        else:
            open_runs.append(run)
    for dataset in dict.fromkeys(run.dataset for run in open_runs):
        _together([run for run in open_runs if run.dataset == dataset], store, threads, tell, should_stop)


def _together(
    runs: Sequence[Run],
    store: Store,
    threads: int,
    tell: Callable[[Run, str | T1Error], None],
    should_stop: Callable[[], bool],
) -> None:
    """Systems that are measured in turns; one whose process dies does not keep the others."""
    systems: list[_System] = []
    try:
        for run in runs:
            if should_stop():
                return
            systems.append(_System(run, threads))
            systems[-1].start()  # waits until it is ready: no two of them work at the same time
        for _ in range(ROUNDS):
            for system in systems:
                if should_stop():
                    return
                system.step()
    finally:
        for system in systems:
            system.end()
    for system in systems:
        if isinstance(found := system.row(), Row):
            store.append([found])
            tell(system.run, "done")
        else:
            tell(system.run, found)


class _System:
    """A system in a process of its own."""

    def __init__(self, run: Run, threads: int) -> None:
        self.run, self.threads = run, threads
        self.facts: dict[str, float] = {}
        self.times: list[tuple[float, float]] = []  # processor and wall seconds of each step
        self.problem: T1Error | None = None
        self.began = perf_counter()
        self.ours, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_serve, args=(theirs, run, threads), daemon=True)
        self.process.start()
        theirs.close()

    def start(self) -> None:
        """Wait for the facts that need no clock."""
        answer = self._hear()
        if isinstance(answer, dict):
            self.facts = answer

    def step(self) -> None:
        slow = [cpu for cpu, _ in self.times if cpu > SLOW]
        if self.problem is None and len(slow) < 2:
            with suppress(BrokenPipeError):
                self.ours.send("step")
            answer = self._hear()
            if isinstance(answer, tuple):
                self.times.append(answer)

    def _hear(self) -> Any:
        try:
            answer = self.ours.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            answer = T1Error(
                f"its process ended with code {self.process.exitcode}.\n"
                "The system may have run out of memory: measure fewer models at a time."
            )
        if isinstance(answer, T1Error):
            self.problem = answer
        return answer

    def end(self) -> None:
        with suppress(BrokenPipeError, OSError):
            self.ours.send("end")
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.terminate()

    def row(self) -> Row | T1Error:
        """What was measured, as a row of results."""
        if self.problem is not None or not self.times:
            return self.problem or T1Error("nothing was measured")
        cpu, wall = (statistics.median(column) for column in zip(*self.times, strict=True))
        metrics = self.facts | {"step_ms": 1000 * cpu, "step_wall_ms": 1000 * wall, "steps": len(self.times)}
        return Row(
            id=self.run.id,
            **asdict(self.run),
            scenario=COST.name,
            metrics=metrics,
            cells=0,
            eval_seconds=round(perf_counter() - self.began, 1),
            peak_memory_mb=round(self.facts["peak_mb"]),
            versions=versions(),
            finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            parameters=int(self.facts["parameters"]),
            threads=self.threads,
            scoring=KINDS["cost"].version,
            commit=commit(),
        )


def _serve(answer: Connection, run: Run, threads: int) -> None:
    """In the system's process: the facts first, then a step whenever one is asked for."""
    import torch

    torch.set_num_threads(threads)
    chosen = spec(run.dataset)
    try:
        model_class(run.model)  # imported now: what its library takes is not the system's
        step, facts = _prepare(
            run.model, chosen.n_vars, chosen.window, run.batch_size, dict(run.settings), measured=True
        )
        forget_peak_memory()
        step()  # the first one is slower, and has the optimiser's memory made
        answer.send(facts | {"peak_mb": peak_memory_mb() - facts.pop("before_mb")})
        while True:
            give_back_memory()  # while the others work
            if answer.recv() != "step":
                return
            answer.send(_timed_warm(step))
    except T1Error as error:
        answer.send(error)
    except (EOFError, KeyboardInterrupt):  # whoever asked has gone
        return


def _prepare(
    name: str, n_vars: int, window: int, batch_size: int, settings: dict[str, Any], measured: bool = False
) -> tuple[Callable[[], None], dict[str, float]]:
    """A function that takes a training step on random windows of that shape, and facts about the network."""
    import torch

    from t1.models.base import Batch

    keep_freed_memory()
    torch.manual_seed(0)
    values = torch.randn(batch_size, window, n_vars)
    observed = torch.rand(values.shape) >= HIDDEN
    batch = Batch(values, observed, ~observed)
    facts: dict[str, float] = {}
    before = memory_mb()
    model = build(name, n_vars=n_vars, window=window, **settings).train()
    learned = [p for p in model.parameters() if p.requires_grad]
    if measured:
        computed = _computed(model, Batch(values[:1], observed[:1], ~observed[:1]))
        facts = {
            "parameters": sum(p.numel() for p in learned),
            "multiply_adds": defined(model.config) if isinstance(model.config, T1Config) else computed,
            "computed_multiply_adds": computed,
            "before_mb": before,
        }
    optimiser = torch.optim.Adam(learned)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        model.loss(batch).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step, facts


def _timed_warm(step: Callable[[], None]) -> tuple[float, float]:
    """Processor and wall seconds of a step after another one, which has got its memory back from the system."""
    first = _timed(step)
    return first if first[0] > SLOW else _timed(step)


def _timed(step: Callable[[], None]) -> tuple[float, float]:
    """Processor and wall seconds."""
    began = process_time(), perf_counter()
    step()
    return process_time() - began[0], perf_counter() - began[1]


def _computed(model: Any, batch: Any) -> float:
    """Multiply-adds of the products and convolutions in a forward pass over one window, as torch sees them."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        model.loss(batch)
    flops: int = counter.get_total_flops()
    return flops / 2


def defined(config: T1Config) -> float:
    """Multiply-adds of T1 for one window as the paper defines it, a convolution counted as one.

    This package computes convolutions over time as products with Toeplitz matrices: more multiply-adds, and
    less time on a CPU.
    """
    c, m, ffn = config.n_channels, config.n_vars, config.n_ffn
    kernels = 3 if config.cross == "attention" else 1
    total = m * c * 2 * config.n_inputs * config.window  # embedding, kernel 2
    for depth, kernel, length in zip(config.depths, config.kernels, config.lengths, strict=True):
        over_time = m * kernels * c * (kernel + config.small_kernel) * length
        over_chans = m * (c * c + 2 * c * ffn) * length
        over_vars = {"attention": 2, "convolution": 1, "none": 0}[config.cross] * m * m * c * length
        total += depth * (over_time + over_chans + over_vars)
    total += sum(m * c * 2 * length for length in config.lengths[1:])  # stride 2
    ratio = 2 ** (len(config.depths) - 1) if config.upsample == "shuffle" else 1
    mixed = -(-c // ratio) * ratio
    project = mixed // ratio * config.window * max(1, len(config.quantiles))
    return total + m * (c * mixed * config.lengths[-1] + project)
