"""Carry out one run: load, split, scale, train, evaluate in every scenario, append one row each."""

import datetime
import platform
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import torch

from t1.bench.evaluate import evaluate, network_fill
from t1.bench.methods import method_fill, score_series, series_fill
from t1.bench.scenarios import Scenario, scenarios, training_hide
from t1.bench.standard import METHODS, SERIES
from t1.bench.store import Row, Store, latest
from t1.bench.study import MAX_EPOCHS, PATIENCE, Run
from t1.data.catalog import Dataset, load, spec
from t1.device import own_randomness, resolve_device
from t1.methods.catalog import build
from t1.metrics import ErrorSum
from t1.models.base import Model
from t1.progress import OnProgress
from t1.run_state import FitResult
from t1.schedule import TrainConfig
from t1.train import fit

Outcome = Literal["done", "was done", "stopped", "busy elsewhere"]
Score = Callable[[Scenario], ErrorSum | None]  # None: told to stop


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far a run goes: the paper's protocol, or a budget in seconds and a part of the test windows."""

    max_epochs: int = MAX_EPOCHS
    patience: int = PATIENCE
    seconds: float | None = None
    score_every: int = 1  # of the test windows, for systems that take minutes to fill one
    afresh: bool = False  # with this very budget, though a longer training may be there

    def config(self, run: Run) -> TrainConfig:
        """The run's training; under a budget the rate decays to 0 where the budget ends."""
        return TrainConfig(
            seed=run.seed,
            batch_size=run.batch_size,
            learning_rate=run.learning_rate,
            schedule="constant" if self.seconds is None else "cosine",
            max_epochs=self.max_epochs,
            patience=self.patience,
            max_seconds=self.seconds,
        )

    def reached(self, rows: list[Row]) -> bool:
        """Whether rows of a run are of a training at least as long as this one, and scored as thoroughly."""
        return bool(rows) and all(
            row.score_every <= self.score_every and (self.afresh or self._far_enough(row)) for row in rows
        )

    def _far_enough(self, row: Row) -> bool:
        if row.full:
            return True
        if self.seconds is None:
            protocol = row.schedule.endswith("constant")
            return protocol and row.stopped == "epochs" and row.epochs >= self.max_epochs
        same_or_more = row.budget_seconds is not None and row.budget_seconds >= self.seconds
        return same_or_more or row.train_seconds >= 0.9 * self.seconds or row.epochs >= self.max_epochs


def is_done(run: Run, store: Store, limits: Limits) -> bool:
    """Whether the store has every scenario of the run, trained as long as asked."""
    rows = [row for row in store.rows() if row.id == run.id]
    if limits.afresh and run.model not in METHODS:
        rows = [row for row in rows if row.budget_seconds == limits.seconds]
    rows = latest(rows)
    missing = {scenario.name for scenario in scenarios(spec(run.dataset))} - {row.scenario for row in rows}
    return not missing and limits.reached(rows)


def execute(
    run: Run,
    store: Store,
    limits: Limits,
    *,
    device: str = "cpu",
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Outcome:
    """Do what is left of a run, and append its rows together when all are there."""
    stop = should_stop or (lambda: False)
    with store.claim(run) as ours:
        if not ours:
            return "busy elsewhere"
        if is_done(run, store, limits):
            return "was done"
        _forget_peak_memory()
        dataset = load(run.dataset, split=run.split)
        if run.model in METHODS:
            facts, score = _apply(run, dataset, limits, stop)
        else:
            place = resolve_device(device)
            model = _fresh_model(run, dataset, place)
            folder = store.checkpoint(run) / (f"afresh-{limits.seconds:g}s" if limits.afresh else "training")
            result = _train(run, model, dataset, folder, limits, place, on_progress, stop)
            if result.reason == "stopped":
                return "stopped"
            facts = _training_facts(run, model, result, limits)
            fill = network_fill(model, place, run.seed)
            score = partial(
                evaluate, fill, dataset, seed=run.seed, every=limits.score_every, should_stop=stop
            )
        rows = _rows(run, facts, score)
        if rows is None:
            return "stopped"
        store.append(rows)
        return "done"


def _fresh_model(run: Run, dataset: Dataset, device: torch.device) -> Model:
    with own_randomness(device) as seed_torch:
        seed_torch(run.seed)
        return build(run.model, n_vars=dataset.train.n_vars, window=dataset.train.window, **run.settings)


def _train(
    run: Run,
    model: Model,
    dataset: Dataset,
    folder: Path,
    limits: Limits,
    device: torch.device,
    on_progress: OnProgress | None,
    should_stop: Callable[[], bool],
) -> FitResult:
    return fit(
        model,
        dataset.train,
        dataset.valid,
        limits.config(run),
        hide=training_hide(run.mask, dataset.train.seen),
        device=device,
        folder=folder,
        resume=True,
        on_progress=on_progress,
        should_stop=should_stop,
    )


def _training_facts(run: Run, model: Model, result: FitResult, limits: Limits) -> dict[str, Any]:
    return {
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "steps": result.steps,
        "best_valid": result.best_loss,
        "stopped": result.reason,
        "budget_seconds": limits.seconds,
        "schedule": result.schedule,
        "train_seconds": round(result.seconds, 1),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "score_every": limits.score_every,
    }


def _apply(
    run: Run, dataset: Dataset, limits: Limits, should_stop: Callable[[], bool]
) -> tuple[dict[str, Any], Score]:
    """A method without training: what a row says of it, and how it is scored."""
    began = perf_counter()
    if run.model in SERIES:
        every = 1
        search = series_fill(run.model, run.dataset, limits.seconds, should_stop)
        score: Score = partial(score_series, search, dataset, seed=run.seed)
    else:
        every = limits.score_every
        fill = method_fill(run.model, dataset, run.seed)
        score = partial(evaluate, fill, dataset, seed=run.seed, every=every, should_stop=should_stop)
    nothing = {"epochs": 0, "best_epoch": 0, "steps": 0, "parameters": 0}
    facts = {
        **nothing,
        "best_valid": None,
        "stopped": "nothing to train",
        "budget_seconds": None,
        "schedule": "none",
        "train_seconds": round(perf_counter() - began, 1),
        "score_every": every,
    }
    return facts, score


def _rows(run: Run, facts: dict[str, Any], score: Score) -> list[Row] | None:
    rows = []
    for scenario in scenarios(spec(run.dataset)):
        began = perf_counter()
        errors = score(scenario)
        if errors is None:
            return None
        seconds = round(perf_counter() - began, 1)
        if run.model in SERIES:  # the search for a fill is its training, once for every scenario
            facts, seconds = {**facts, "train_seconds": seconds}, 0.0
        rows.append(
            Row(
                id=run.id,
                **asdict(run),
                **facts,
                scenario=scenario.name,
                mse=errors.mse,
                mae=errors.mae,
                cells=errors.count,
                eval_seconds=seconds,
                peak_memory_mb=0.0,
                threads=torch.get_num_threads(),
                versions={
                    "t1": version("t1-impute"),
                    "torch": torch.__version__,
                    "numpy": version("numpy"),
                    "python": platform.python_version(),
                },
                finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            )
        )
    peak = round(_peak_memory_mb())
    return [replace(row, peak_memory_mb=peak) for row in rows]


def _forget_peak_memory() -> None:
    """Linux can start the count anew, so that one run's peak is not another's."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def _peak_memory_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
