"""Carry out one run: load, split, scale, train, evaluate in every scenario, append one row each."""

import datetime
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import torch

from t1 import checkpoint
from t1.bench.evaluate import evaluate, network_fill
from t1.bench.methods import SeriesSearch, method_fill, score_series
from t1.bench.scenarios import Scenario, scenarios, training_hide
from t1.bench.standard import METHODS, SERIES
from t1.bench.store import Row, Store, latest
from t1.bench.study import MAX_EPOCHS, PATIENCE, Run
from t1.data.catalog import Dataset, load, spec
from t1.device import own_randomness, resolve_device
from t1.metrics import ErrorSum
from t1.models.base import Model
from t1.models.catalog import build
from t1.progress import OnProgress
from t1.run_state import FitResult, identity
from t1.schedule import TrainConfig
from t1.train import fit

Outcome = Literal["done", "was done", "stopped", "busy elsewhere"]
Score = Callable[[Scenario], ErrorSum | None]  # None: the user wants to stop
TRAINING = 1  # raised when the same run would train other weights than before: then it is trained again


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

    def reached(self, row: Row) -> bool:
        """Whether a row is of a training at least as long as this one, and scored as thoroughly."""
        return row.score_every <= self.score_every and (self.afresh or self._far_enough(row))

    def _far_enough(self, row: Row) -> bool:
        if row.full:
            return True
        if self.seconds is None:
            protocol = row.schedule.endswith("constant")
            return protocol and row.stopped == "epochs" and row.epochs >= self.max_epochs
        same_or_more = row.budget_seconds is not None and row.budget_seconds >= self.seconds
        return same_or_more or row.train_seconds >= 0.9 * self.seconds or row.epochs >= self.max_epochs


def left(run: Run, store: Store, limits: Limits, data: str) -> list[Scenario]:
    """The scenarios that have no row yet of this data and protocol, trained as long as asked."""
    rows = [row for row in store.rows() if row.id == run.id]
    if limits.afresh and run.model not in METHODS:
        rows = [row for row in rows if row.budget_seconds == limits.seconds]
    found = {row.scenario: row for row in latest(rows)}

    def is_done(scenario: Scenario) -> bool:
        row = found.get(scenario.name)
        return row is not None and row.made_with(data, TRAINING, scenario.version) and limits.reached(row)

    return [scenario for scenario in scenarios(spec(run.dataset)) if not is_done(scenario)]


def is_done(run: Run, store: Store, limits: Limits) -> bool:
    """Whether nothing is left of the run; a run without rows is known to be open without its data."""
    if not any(row.id == run.id for row in store.rows()):
        return False
    return not left(run, store, limits, load(run.dataset, split=run.split).checksum)


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
        dataset = load(run.dataset, split=run.split)
        todo = left(run, store, limits, dataset.checksum)
        if not todo:
            return "was done"
        _forget_peak_memory()
        if run.model in METHODS:
            facts, score = _apply(run, dataset, limits, stop)
        else:
            place = resolve_device(device)
            model = _fresh_model(run, dataset, place)
            folder = store.checkpoint(run) / (f"afresh-{limits.seconds:g}s" if limits.afresh else "training")
            _set_aside_if_changed(folder, model, dataset, limits.config(run))
            result = _train(run, model, dataset, folder, limits, place, on_progress, stop)
            if result.reason == "stopped":
                return "stopped"
            facts = _training_facts(model, result, limits)
            fill = network_fill(model, place, run.seed)
            score = partial(
                evaluate, fill, dataset, seed=run.seed, every=limits.score_every, should_stop=stop
            )
        rows = _rows(run, dataset, todo, facts, score)
        if rows is None:
            return "stopped"
        store.append(rows)
        return "done"


def _set_aside_if_changed(folder: Path, model: Model, dataset: Dataset, config: TrainConfig) -> None:
    """Weights of other data or of another training protocol are kept under another name, not taken up."""
    if not checkpoint.exists(folder):
        return
    version_file = folder.with_name(f"{folder.name}.version")
    trained = int(version_file.read_text()) if version_file.exists() else 1
    now = identity(model, dataset.train, dataset.valid, config)
    if trained == TRAINING and checkpoint.load(folder)[1].get("run", {}).get("data") == now["data"]:
        return
    number = 1 + len(list(folder.parent.glob(f"{folder.name}-before-*")))
    folder.rename(folder.with_name(f"{folder.name}-before-{number}"))


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
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.with_name(f"{folder.name}.version").write_text(str(TRAINING))
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


def _training_facts(model: Model, result: FitResult, limits: Limits) -> dict[str, Any]:
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
        search = SeriesSearch(run.model, run.dataset, limits.seconds, should_stop)
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


def _rows(
    run: Run, dataset: Dataset, todo: Sequence[Scenario], facts: dict[str, Any], score: Score
) -> list[Row] | None:
    rows = []
    for scenario in todo:
        began = perf_counter()
        errors = score(scenario)
        if errors is None:
            return None
        seconds, here = round(perf_counter() - began, 1), facts
        if isinstance(search := getattr(score, "args", (None,))[0], SeriesSearch):
            # The search for a fill is the method's training, once for every scenario.
            here, seconds = {**facts, "train_seconds": seconds}, 0.0
            if search.cut_short:
                here |= {"stopped": "seconds", "budget_seconds": search.seconds}
        rows.append(
            Row(
                id=run.id,
                **asdict(run),
                **here,
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
                data=dataset.checksum,
                training=TRAINING,
                scoring=scenario.version,
                commit=_commit(),
            )
        )
    peak = round(_peak_memory_mb())
    return [replace(row, peak_memory_mb=peak) for row in rows]


@cache
def _commit() -> str:
    """The commit of this package if it runs from a git clone, and a plus sign if files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True).stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        return commit + "+" * bool(git("status", "--porcelain", "--", "..")) if commit else ""
    except OSError:  # no git here
        return ""


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
    try:
        import resource
    except ImportError:  # Windows: not known there
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # macOS counts bytes, Linux kilobytes
