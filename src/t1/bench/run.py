"""Carry out one run: load, split, scale, train, evaluate in every scenario, append one row each."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import torch
from torch import Tensor

from t1 import checkpoint
from t1.bench.evaluate import evaluate, network_fill
from t1.bench.machine import commit, forget_peak_memory, peak_memory_mb, versions
from t1.bench.methods import SeriesSearch, method_fill, score_series
from t1.bench.scenarios import Scenario, scenarios, training_hide
from t1.bench.standard import METHODS, SERIES
from t1.bench.store import Row, Store, latest
from t1.bench.study import MAX_EPOCHS, PATIENCE, Run
from t1.data.catalog import Dataset, load, spec
from t1.device import own_randomness, resolve_device
from t1.metrics import ErrorSum
from t1.models.base import Batch, Model
from t1.models.catalog import build
from t1.progress import OnProgress
from t1.run_state import FitResult, identity
from t1.schedule import TrainConfig
from t1.train import fit

Outcome = Literal["done", "was done", "stopped", "busy elsewhere", "no weights to score"]
Score = Callable[[Scenario], ErrorSum | None]  # None: the user wants to stop
Stop = Callable[[], bool]
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

    @property
    def folder(self) -> str:
        """Where the training is kept, inside the run's folder."""
        return f"afresh-{self.seconds:g}s" if self.afresh else "training"

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
    return _without_row(run, [row for row in latest(rows) if limits.reached(row)], data)


def _without_row(run: Run, rows: Sequence[Row], data: str) -> list[Scenario]:
    def is_scored(scenario: Scenario) -> bool:
        here = [row for row in rows if row.scenario == scenario.name]
        return any(row.made_with(data, TRAINING, scenario.version) for row in here)

    return [scenario for scenario in scenarios(spec(run.dataset)) if not is_scored(scenario)]


def is_done(run: Run, store: Store, limits: Limits) -> bool:
    """Whether nothing is left of the run; a run without rows is known to be open without its data."""
    return any(row.id == run.id for row in store.rows()) and not left(run, store, limits, _load(run).checksum)


def execute(
    run: Run,
    store: Store,
    limits: Limits,
    *,
    device: str = "cpu",
    on_progress: OnProgress | None = None,
    should_stop: Stop | None = None,
) -> Outcome:
    """Do what is left of a run, and append its rows together when all are there."""
    stop = should_stop or (lambda: False)
    with store.claim(run) as ours:
        if not ours:
            return "busy elsewhere"
        dataset = _load(run)
        todo = left(run, store, limits, dataset.checksum)
        if not todo:
            return "was done"
        forget_peak_memory()
        if run.model in METHODS:
            facts, score = _apply(run, dataset, limits, stop)
        else:
            place = resolve_device(device)
            model = _fresh_model(run, dataset, place)
            folder = store.checkpoint(run) / limits.folder
            if checkpoint.exists(folder) and not _is_same_training(folder, run, model, dataset):
                _set_aside(folder)
            result = _train(run, model, dataset, folder, limits, place, on_progress, stop)
            if result.reason == "stopped":
                return "stopped"
            facts = _training_facts(model, result, limits)
            score = _score_network(run, model, dataset, place, limits.score_every, stop)
        return _append(run, store, dataset, todo, facts, score)


def score_kept(
    run: Run,
    store: Store,
    *,
    every: int = 1,
    device: str = "cpu",
    on_progress: OnProgress | None = None,
    should_stop: Stop | None = None,
) -> Outcome:
    """Score the kept weights of trainings that have ended, in scenarios that lack a row; train nothing."""
    limits = Limits(score_every=every)
    if run.model in METHODS:
        return execute(run, store, limits, should_stop=should_stop)
    stop = should_stop or (lambda: False)
    outcome: Outcome = "no weights to score"
    with store.claim(run) as ours:
        if not ours:
            return "busy elsewhere"
        dataset, place = _load(run), resolve_device(device)
        model = _fresh_model(run, dataset, place)
        for folder, rows in _ended_trainings(run, store, model, dataset):
            scored = [row for row in rows if row.score_every <= every]
            todo = _without_row(run, scored, dataset.checksum)
            if not todo:
                outcome = "was done" if outcome != "done" else outcome
                continue
            best = checkpoint.load(folder)[0].items()
            model.load_state_dict({k.removeprefix("best."): v for k, v in best if k.startswith("best.")})
            model.to(place).train()  # drops what the model derived from other weights
            known = rows[0]
            facts = {name: getattr(known, name) for name in TRAINING_FACTS} | {"score_every": every}
            score = _score_network(run, model, dataset, place, every, stop)
            outcome = _append(run, store, dataset, todo, facts, score)
            if outcome == "stopped":
                break
    return outcome


def _ended_trainings(
    run: Run, store: Store, model: Model, dataset: Dataset
) -> Iterator[tuple[Path, list[Row]]]:
    """Kept trainings on this very data that have rows; one without any is still to be finished."""
    rows = [row for row in store.rows() if row.id == run.id]
    for folder in sorted(store.checkpoint(run).glob("*")):
        if not checkpoint.exists(folder) or not _is_same_training(folder, run, model, dataset):
            continue
        state = checkpoint.load(folder)[1]["state"]
        budget = folder.name.removeprefix("afresh-").removesuffix("s")
        here = [
            row
            for row in rows
            if row.steps == state["step"]
            and (folder.name == "training" or f"{row.budget_seconds:g}" == budget)
        ]
        if here:
            yield folder, here


def _load(run: Run) -> Dataset:
    return load(run.dataset, split=run.split, scale=run.scale)


def _is_same_training(folder: Path, run: Run, model: Model, dataset: Dataset) -> bool:
    """Whether the weights are of this data and this training protocol."""
    if "-before-" in folder.name:
        return False
    version_file = folder.with_name(f"{folder.name}.version")
    trained = int(version_file.read_text()) if version_file.exists() else 1
    now = identity(model, dataset.train, dataset.valid, Limits().config(run))
    return trained == TRAINING and checkpoint.load(folder)[1].get("run", {}).get("data") == now["data"]


def _set_aside(folder: Path) -> None:
    number = 1 + len(list(folder.parent.glob(f"{folder.name}-before-*")))
    folder.rename(folder.with_name(f"{folder.name}-before-{number}"))


def _fresh_model(run: Run, dataset: Dataset, device: torch.device) -> Model:
    with own_randomness(device) as seed_torch:
        seed_torch(run.seed)
        model = build(run.model, n_vars=dataset.train.n_vars, window=dataset.train.window, **run.settings)
    if run.loss == "absolute":
        model.__dict__["loss"] = partial(absolute_loss, model)
    return model


def absolute_loss(model: Model, batch: Batch) -> Tensor:
    """Mean absolute error over hidden and observed cells."""
    known = batch.observed | batch.target
    errors: Tensor = (model(batch.values, batch.observed) - batch.values)[known]
    return errors.abs().mean()


def _train(
    run: Run,
    model: Model,
    dataset: Dataset,
    folder: Path,
    limits: Limits,
    device: torch.device,
    on_progress: OnProgress | None,
    should_stop: Stop,
) -> FitResult:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.with_name(f"{folder.name}.version").write_text(str(TRAINING))
    return fit(
        model,
        dataset.train,
        dataset.valid,
        limits.config(run),
        hide=training_hide(run.mask, dataset),
        device=device,
        folder=folder,
        resume=True,
        on_progress=on_progress,
        should_stop=should_stop,
    )


def _score_network(
    run: Run, model: Model, dataset: Dataset, device: torch.device, every: int, should_stop: Stop
) -> Score:
    fill = network_fill(model, device, run.seed)
    return partial(evaluate, fill, dataset, seed=run.seed, every=every, should_stop=should_stop)


TRAINING_FACTS: tuple[str, ...] = (
    "epochs",
    "best_epoch",
    "steps",
    "best_valid",
    "stopped",
    "budget_seconds",
    "schedule",
)
TRAINING_FACTS += ("train_seconds", "parameters", "threads")


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
        "threads": torch.get_num_threads(),
        "score_every": limits.score_every,
    }


def _apply(run: Run, dataset: Dataset, limits: Limits, should_stop: Stop) -> tuple[dict[str, Any], Score]:
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
        "threads": torch.get_num_threads(),
        "score_every": every,
    }
    return facts, score


def _append(
    run: Run, store: Store, dataset: Dataset, todo: Sequence[Scenario], facts: dict[str, Any], score: Score
) -> Outcome:
    """Score the scenarios and write their rows together."""
    rows = []
    for scenario in todo:
        began = perf_counter()
        errors = score(scenario)
        if errors is None:
            return "stopped"
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
                metrics={"mse": errors.mse, "mae": errors.mae},
                cells=errors.count,
                eval_seconds=seconds,
                peak_memory_mb=0.0,
                versions=versions(),
                finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                data=dataset.checksum,
                training=TRAINING,
                scoring=scenario.version,
                commit=commit(),
            )
        )
    peak = round(peak_memory_mb())
    store.append([replace(row, peak_memory_mb=peak) for row in rows])
    return "done"
