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
from t1.bench.attention import LOOKS, look_inside
from t1.bench.curves import keep_curves
from t1.bench.evaluate import Fill, Measured, evaluate, measured, network_fill
from t1.bench.machine import commit, forget_peak_memory, peak_memory_mb, versions
from t1.bench.methods import SeriesSearch, method_fill, score_series
from t1.bench.scenarios import Scenario, scenarios, training_hide
from t1.bench.standard import PRETRAINED, SERIES, UNTRAINED
from t1.bench.store import Row, Store, latest
from t1.bench.study import MAX_EPOCHS, PATIENCE, Run
from t1.data.catalog import Dataset, load, spec
from t1.device import own_randomness, resolve_device
from t1.methods.catalog import build
from t1.metrics import ErrorSum
from t1.models.base import Batch, Model
from t1.progress import OnProgress
from t1.run_state import FitResult, identity
from t1.schedule import Clock, TrainConfig
from t1.source import fingerprint
from t1.train import fit
from t1.weights import load_pretrained

Outcome = Literal["done", "was done", "stopped", "busy elsewhere", "no weights to score"]
Facts = dict[str, Any]  # what a row says of a training
TRAINING = 1  # raised when the same run would train other weights than before: then it is trained again


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How far a run goes: the paper's protocol, or a budget in seconds and a part of the test windows."""

    max_epochs: int = MAX_EPOCHS
    patience: int = PATIENCE
    seconds: float | None = None
    clock: Clock = "wall"  # by which seconds are counted; cpu: processor time
    score_every: int = 1  # of the test windows, for systems that take minutes to fill one
    afresh: bool = False  # with this very budget, though a longer training may be there
    train: bool = True  # False: only score the weights of trainings that have ended
    measures: tuple[str, ...] = ()  # what a study asks for besides the scenarios of the dataset

    def config(self, run: Run) -> TrainConfig:
        """The run's training; under a budget the rate decays to 0 where the budget ends."""
        return TrainConfig(
            seed=run.seed,
            batch_size=run.batch_size,
            learning_rate=run.learning_rate,
            average=run.average,
            schedule="constant" if self.seconds is None else "cosine",
            max_epochs=self.max_epochs,
            patience=self.patience,
            max_seconds=self.seconds,
            clock=self.clock,
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
        if row.epochs >= self.max_epochs:
            return True
        if row.clock != self.clock:  # an hour of a busy machine is not an hour of a processor
            return False
        same_or_more = row.budget_seconds is not None and row.budget_seconds >= self.seconds
        return same_or_more or row.train_seconds >= 0.9 * self.seconds

    def has_budget_of(self, row: Row) -> bool:
        """Whether a row was trained with this very budget."""
        return row.budget_seconds == self.seconds and row.clock == self.clock


def left(run: Run, store: Store, limits: Limits, data: str) -> list[Scenario]:
    """The scenarios that have no row yet of this data and protocol, trained as long as asked."""
    rows = [row for row in store.rows() if row.id == run.id]
    if limits.afresh and run.model not in UNTRAINED:
        rows = [row for row in rows if limits.has_budget_of(row)]
    return _without_row(run, [row for row in latest(rows) if limits.reached(row)], data, limits)


def _without_row(run: Run, rows: Sequence[Row], data: str, limits: Limits) -> list[Scenario]:
    def has_row(scenario: Scenario) -> bool:
        here = [row for row in rows if row.scenario == scenario.name]
        return any(row.made_with(data, TRAINING, scenario.version) for row in here)

    wanted = scenarios(spec(run.dataset), limits.measures)
    return [scenario for scenario in wanted if not has_row(scenario)]


def is_done(run: Run, store: Store, limits: Limits) -> bool:
    """Whether nothing is left of the run; a run without rows is known to be open without its data."""
    begun = any(row.id == run.id for row in store.rows())
    return begun and not left(run, store, limits, _checksum(run, _load(run)))


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
    with store.claim(run) as ours:
        if not ours:
            return "busy elsewhere"
        work = _Work(run, store, limits, should_stop or (lambda: False))
        if run.model in UNTRAINED:
            return work.method()
        network = _Network(work, resolve_device(device))
        return network.train(on_progress) if limits.train else network.score_kept()


def _load(run: Run) -> Dataset:
    return load(run.dataset, split=run.split, scale=run.scale)


def _checksum(run: Run, dataset: Dataset) -> str:
    """Of what the figures are made from: the data, and the weights that are shipped where they fill."""
    if run.model != "t1-zero":
        return dataset.checksum
    from t1.weights import read_card

    return f"{dataset.checksum}+{read_card()['sha256'][:8]}"


class _Work:
    """A run that is ours to carry out."""

    def __init__(self, run: Run, store: Store, limits: Limits, stop: Callable[[], bool]) -> None:
        self.run, self.store, self.limits, self.stop = run, store, limits, stop
        self.dataset = _load(run)
        self.checksum = _checksum(run, self.dataset)
        self.todo = left(run, store, limits, self.checksum)
        forget_peak_memory()

    def method(self) -> Outcome:
        """Score a method that has nothing to train."""
        if not self.todo:
            return "was done"
        run, dataset, threads = self.run, self.dataset, {"threads": torch.get_num_threads()}
        if run.model in SERIES:
            search = SeriesSearch(run.model, run.dataset, self.limits.seconds, self.stop)
            return self.append(
                self.todo, threads, partial(score_series, search, dataset, seed=run.seed), search
            )
        began = perf_counter()
        fill = method_fill(run.model, dataset, run.seed)
        facts = {**threads, "train_seconds": round(perf_counter() - began, 1)}
        return self.append_filled(self.todo, facts, fill)

    def append_filled(self, todo: Sequence[Scenario], facts: Facts, fill: Fill) -> Outcome:
        """Score what fills windows."""
        run, every = self.run, self.limits.score_every
        score = partial(evaluate, fill, self.dataset, seed=run.seed, every=every, should_stop=self.stop)
        outcome = self.append(todo, {**facts, "score_every": every}, score)
        if outcome == "done" and any(scenario.kind == "variables" for scenario in todo):
            keep_curves(fill, self.dataset, run, self.store, facts.get("steps", 0))
        return outcome

    def append(
        self,
        todo: Sequence[Scenario],
        facts: Facts,
        score: Callable[[Scenario], ErrorSum | Measured | None],
        search: SeriesSearch | None = None,
    ) -> Outcome:
        """Score the scenarios and write their rows together."""
        rows = []
        for scenario in todo:
            began = perf_counter()
            found = score(scenario)
            if found is None:
                return "stopped"
            if isinstance(found, ErrorSum):
                found = measured(found, scenario, self.dataset)
            seconds, here = round(perf_counter() - began, 1), facts
            if search:  # the search for a fill is the method's training, once for every scenario
                here, seconds = {**facts, "train_seconds": seconds}, 0.0
                if search.cut_short:
                    here |= {"stopped": "seconds", "budget_seconds": search.seconds}
            row = Row(
                id=self.run.id,
                **asdict(self.run),
                **here,
                scenario=scenario.name,
                metrics=found.metrics,
                cells=found.cells,
                eval_seconds=seconds,
                peak_memory_mb=0.0,
                versions=versions(),
                finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                data=self.checksum,
                training=TRAINING,
                scoring=scenario.version,
                commit=commit(),
            )
            rows.append(row)
        peak = round(peak_memory_mb())
        self.store.append([replace(row, peak_memory_mb=peak) for row in rows])
        return "done"


class _Network:
    """The model of a run, to be trained, or with the weights of a kept training."""

    def __init__(self, work: _Work, device: torch.device) -> None:
        run, self.work, self.device = work.run, work, device
        train = work.dataset.train
        with own_randomness(device) as seed_torch:
            seed_torch(run.seed)
            if run.start == PRETRAINED:
                self.model: Model = load_pretrained().for_variables(train.n_vars, middle_only=True)
            else:
                self.model = build(run.model, n_vars=train.n_vars, window=train.window, **run.settings)
        if run.loss == "absolute":
            self.model.__dict__["loss"] = partial(absolute_loss, self.model)

    def train(self, on_progress: OnProgress | None) -> Outcome:
        """Train as long as asked, from where a training before was, and score what is left."""
        work, limits, dataset = self.work, self.work.limits, self.work.dataset
        if not work.todo:
            return "was done"
        kept = work.store.checkpoint(work.run)
        folder = kept / (_afresh(limits.seconds, limits.clock) if limits.afresh else "training")
        if checkpoint.exists(folder) and not self.is_of_this_training(folder):  # then start anew
            number = 1 + len(list(kept.glob(f"{folder.name}-before-*")))
            folder.rename(folder.with_name(f"{folder.name}-before-{number}"))
        _version_file(folder).write_text(str(TRAINING))
        result = fit(
            self.model,
            dataset.train,
            dataset.valid,
            limits.config(work.run),
            hide=training_hide(work.run.mask, dataset),
            device=self.device,
            folder=folder,
            resume=True,
            on_progress=on_progress,
            should_stop=work.stop,
        )
        if result.reason == "stopped":
            return "stopped"
        return self.score(work.todo, _facts(self.model, result, limits))

    def score_kept(self) -> Outcome:
        """Score the weights of trainings that have ended, in the scenarios that lack a row."""
        outcome: Outcome = "no weights to score"
        for folder, rows in self.ended_trainings():
            scored = [row for row in rows if row.score_every <= self.work.limits.score_every]
            todo = _without_row(self.work.run, scored, self.work.checksum, self.work.limits)
            if not todo:
                outcome = "done" if outcome == "done" else "was done"
                continue
            best = checkpoint.load(folder)[0].items()
            self.model.load_state_dict({k[5:]: v for k, v in best if k.startswith("best.")})
            self.model.to(self.device).train()  # drops what the model derived from other weights
            known = {name: getattr(rows[0], name) for name in FACTS}
            outcome = self.score(todo, known)
            if outcome == "stopped":
                break
        return outcome

    def score(self, todo: Sequence[Scenario], facts: Facts) -> Outcome:
        """Score the fills, and look into the network where a study asks for that."""
        work, run = self.work, self.work.run
        inside = [scenario for scenario in todo if scenario.kind in LOOKS]
        fills = [scenario for scenario in todo if scenario.kind not in LOOKS]
        fill = network_fill(self.model, self.device, run.seed)
        outcome = work.append_filled(fills, facts, fill) if fills else "done"
        if inside and outcome == "done":
            look = partial(
                look_inside,
                self.model,
                work.dataset,
                run=run,
                steps=facts["steps"],
                every=work.limits.score_every,
                store=work.store,
                stop=work.stop,
            )
            outcome = work.append(inside, {**facts, "score_every": work.limits.score_every}, look)
        return outcome

    def ended_trainings(self) -> Iterator[tuple[Path, list[Row]]]:
        """Kept trainings on this very data that have rows; one without any is still to be finished."""
        run, store = self.work.run, self.work.store
        rows = [row for row in store.rows() if row.id == run.id]
        for folder in sorted(store.checkpoint(run).glob("*")):
            if checkpoint.exists(folder) and self.is_of_this_training(folder):
                steps = checkpoint.load(folder)[1]["state"]["step"]
                here = [row for row in rows if row.steps == steps]
                if folder.name != "training":
                    here = [row for row in here if folder.name == _afresh(row.budget_seconds, row.clock)]
                if here:
                    yield folder, here

    def is_of_this_training(self, folder: Path) -> bool:
        """Whether the weights are of this data and this training protocol."""
        if "-before-" in folder.name:
            return False
        dataset, file = self.work.dataset, _version_file(folder)
        trained = int(file.read_text()) if file.exists() else 1
        train, valid = fingerprint(dataset.train), fingerprint(dataset.valid)
        now = identity(self.model, train, valid, self.work.limits.config(self.work.run))
        return trained == TRAINING and checkpoint.load(folder)[1].get("run", {}).get("data") == now["data"]


def _afresh(seconds: float | None, clock: str) -> str:
    """The folder of a training that began anew with a budget of its own."""
    return f"afresh-{seconds or 0:g}s" + "-cpu" * (clock == "cpu")


def _version_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.version")


def absolute_loss(model: Model, batch: Batch) -> Tensor:
    """Mean absolute error over hidden and observed cells."""
    known = batch.observed | batch.target
    errors: Tensor = (model(batch.values, batch.observed) - batch.values)[known]
    return errors.abs().mean()


def _facts(model: Model, result: FitResult, limits: Limits) -> Facts:
    return {
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "steps": result.steps,
        "best_valid": result.best_loss,
        "stopped": result.reason,
        "budget_seconds": limits.seconds,
        "clock": limits.clock,
        "schedule": result.schedule,
        "train_seconds": round(result.seconds, 1),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "threads": torch.get_num_threads(),
    }


FACTS = (
    *("epochs", "best_epoch", "steps", "best_valid", "stopped", "budget_seconds", "schedule"),
    *("train_seconds", "parameters", "threads", "clock"),
)
