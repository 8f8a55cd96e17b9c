"""The training loop: repeatable to the bit, resumable after kill -9, and it ends when and as it should."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from t1 import checkpoint
from t1.data.window import WindowSet
from t1.errors import InputError, TrainingDiverged
from t1.memory import keep_freed_memory
from t1.missing import hide
from t1.models.base import Batch, Model
from t1.models.t1 import T1, T1Config
from t1.progress import Progress
from t1.train import FitResult, TrainConfig, fit, resolve_device

CONFIG = TrainConfig(batch_size=4, max_epochs=None, max_steps=25, learning_rate=1e-2, eval_batch_size=4)
N_TRAIN = 30  # 8 steps an epoch, the last one short


pytestmark = pytest.mark.usefixtures("one_thread")


def point(values, observed, rng):
    return hide("point", observed, rng=rng, rate=0.4)


def parts() -> tuple[WindowSet, WindowSet]:
    rng = np.random.default_rng(0)
    series = np.sin(np.arange(70)[:, None] / [3, 5, 7]) + 0.1 * rng.normal(size=(70, 3))
    series[rng.random(series.shape) < 0.1] = np.nan
    windows = WindowSet.from_series(series, 24)
    return windows.subset(slice(0, N_TRAIN)), windows.subset(slice(30, 41))


def tiny_t1(seed: int = 0, **changes: int) -> T1:
    torch.manual_seed(seed)
    return T1(T1Config(**{"n_vars": 3, "window": 24, "n_channels": 8} | changes))


def train_t1(config: TrainConfig = CONFIG, **options) -> tuple[T1, FitResult]:
    model = tiny_t1()
    train, valid = parts()
    return model, fit(model, train, valid, config, hide=point, **options)


@cache
def uninterrupted() -> tuple[T1, FitResult]:
    return train_t1()


def assert_same_weights(one: Model, other: Model) -> None:
    first, second = one.state_dict(), other.state_dict()
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def without_seconds(result: FitResult) -> FitResult:
    return replace(result, seconds=0.0, history=tuple(replace(r, seconds=0.0) for r in result.history))


@dataclass(frozen=True)
class DriftConfig:
    minimum: float = 0.05
    nan_above: float = math.inf  # the loss is no number once the weight is larger
    spoil_above: float = math.inf  # the gradient is no number, but the loss is


class Drift(Model):
    """One weight that Adam moves up by the learning rate at every step; the validation loss has a minimum."""

    name = "drift"

    def __init__(self, **settings: float) -> None:
        super().__init__()
        self.config = DriftConfig(**settings)
        self.w = torch.nn.Parameter(torch.zeros(()))

    def forward(self, values, observed):
        return torch.zeros_like(values) + self.w - self.config.minimum

    def loss(self, batch: Batch):
        if self.w > self.config.nan_above:
            return self.w * math.nan
        if self.w > self.config.spoil_above:
            return (self.w * 0).sqrt()
        return -self.w


def one_window_each(samples):
    """Samples (n, window, vars) as windows that share no row."""
    n, window, n_vars = samples.shape
    return WindowSet.from_series(samples.reshape(n * window, n_vars), window, stride=window)


ZEROS = one_window_each(np.zeros((6, 8, 2)))
DRIFT = TrainConfig(
    batch_size=2, learning_rate=0.01, validate_every=1, max_epochs=None, max_steps=20, patience=3
)


def drift(
    config: TrainConfig = DRIFT, valid: WindowSet | None = ZEROS, model: Model | None = None, **options
):
    model = Drift() if model is None else model
    return model, fit(model, ZEROS, valid, config, hide=point, **options)


# ---------------------------------------------------------------- learning, repeatably


def test_training_helps():
    _, result = train_t1(replace(CONFIG, max_steps=80))
    assert result.best_loss < 0.7 * result.history[0].valid_loss
    assert result.history[-1].train_loss < result.history[0].train_loss


def test_a_seed_gives_the_same_bits_and_another_seed_others():
    model, result = uninterrupted()
    again, result_again = train_t1()
    assert_same_weights(model, again)
    assert without_seconds(result) == without_seconds(result_again)
    other, _ = train_t1(replace(CONFIG, seed=202))
    assert not torch.equal(model.head.weight, other.head.weight)


def test_the_state_of_others_does_not_matter_and_is_left_alone():
    model, _ = uninterrupted()
    torch.manual_seed(99)
    np.random.seed(99)  # noqa: NPY002
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    train, valid = parts()
    again = Drift()
    fit(again, ZEROS, ZEROS, DRIFT, hide=point)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(TrainingDiverged):
        drift(model=Drift(nan_above=0.015))
    assert torch.equal(torch.get_rng_state(), before)
    assert (np.random.get_state()[1] == numpy_before).all()  # noqa: NPY002
    state = {name: t.clone() for name, t in tiny_t1().state_dict().items()}
    torch.manual_seed(1234)
    other = T1(T1Config(n_vars=3, window=24, n_channels=8))
    other.load_state_dict(state)
    fit(other, train, valid, CONFIG, hide=point)
    assert_same_weights(model, other)


def test_every_window_is_seen_once_an_epoch_in_another_order():
    n = 7
    samples = one_window_each(np.arange(n, dtype=float)[:, None, None] * np.ones((1, 8, 2)))
    seen = []

    def spy(values, observed, rng):
        seen.extend(values[:, 0, 0].astype(int))
        return observed

    config = TrainConfig(batch_size=3, max_epochs=3)
    result = fit(Drift(), samples, None, config, hide=spy)
    epochs = [tuple(seen[i * n : (i + 1) * n]) for i in range(3)]
    assert all(sorted(epoch) == list(range(n)) for epoch in epochs)
    assert len(set(epochs)) == 3
    assert (result.steps, result.epochs, result.reason) == (9, 3, "epochs")


def test_only_hidden_observed_cells_are_a_target():
    train, _ = parts()
    batches = []

    class Spy(Drift):
        def loss(self, batch):
            batches.append(batch)
            return super().loss(batch)

    fit(Spy(), train, None, replace(CONFIG, max_steps=3), hide=lambda values, observed, rng: values > 0)
    assert len(batches) == 3
    for batch in batches:
        assert not (batch.observed & batch.target).any()
        assert (batch.target <= (batch.values > 0)).all()
        assert (
            batch.target | batch.observed
        ).sum() < batch.values.numel()  # some were missing from the start


def test_a_batch_with_nothing_hidden_teaches_nothing_and_breaks_nothing():
    def sometimes(values, observed, rng):
        return observed & (rng.random() < 0.5)

    class Mean(Drift):
        def loss(self, batch):
            return (self.w - 1).square() * batch.target.sum() / batch.target.sum()

    model, result = Mean(), None
    result = fit(model, ZEROS, None, DRIFT, hide=sometimes)
    assert result.steps == 20
    assert torch.isfinite(model.w)
    still = Mean()
    result = fit(still, ZEROS, None, DRIFT, hide=lambda values, observed, rng: np.zeros_like(observed))
    assert still.w == 0
    assert result.history[-1].train_loss is None


# ---------------------------------------------------------------- validation and the best weights


def test_the_validation_loss_is_over_all_hidden_cells_of_fixed_masks():
    _, valid = parts()
    drawn = []

    def spy(values, observed, rng):
        hidden = hide("point", observed, rng=rng, rate=(0.0, 1.0))
        drawn.append((values, hidden))
        return hidden

    config = replace(CONFIG, max_steps=2, validate_every=1, learning_rate=1e-9)
    result = fit(Drift(), parts()[0], valid, config, hide=point, valid_hide=spy)
    assert [len(values) for values, _ in drawn] == [4, 4, 3], "the masks are drawn once for all validations"
    squares = np.concatenate([(values[hidden].astype(float) + 0.05) ** 2 for values, hidden in drawn])
    assert len(result.history) == 2
    for record in result.history:
        assert record.valid_loss == pytest.approx(squares.mean(), rel=1e-5)
    means = [((values[hidden] + 0.05) ** 2).mean() for values, hidden in drawn]
    assert abs(np.mean(means) - squares.mean()) > 1e-4  # a mean of batch means would have been seen


def test_validation_does_not_show_the_hidden_values():
    class Cheat(Drift):
        def forward(self, values, observed):
            return values

    _, valid = parts()
    result = fit(Cheat(), parts()[0], valid, replace(CONFIG, max_steps=1), hide=point)
    assert result.best_loss > 0.1


def test_early_stopping_keeps_the_best_weights():
    model, result = drift()
    assert (result.best_step, result.steps, result.reason) == (5, 8, "patience")
    assert (result.best_epoch, result.epochs) == (2, 3)
    assert float(model.w.detach()) == pytest.approx(0.05, abs=1e-6)
    assert not model.training
    losses = [record.valid_loss for record in result.history]
    assert losses == pytest.approx([(0.01 * k - 0.05) ** 2 for k in range(1, 9)], abs=1e-7)
    assert result.best_loss == min(losses)
    assert [record.step for record in result.history] == list(range(1, 9))


def test_without_patience_the_budget_ends_it_and_the_best_is_kept_all_the_same():
    model, result = drift(replace(DRIFT, patience=None))
    assert (result.best_step, result.steps, result.reason) == (5, 20, "steps")
    assert float(model.w.detach()) == pytest.approx(0.05, abs=1e-6)


def test_with_slack_later_weights_are_kept_while_their_loss_is_near_the_lowest():
    model, result = drift(replace(DRIFT, slack=20.0), model=Drift(minimum=0.052))
    losses = [record.valid_loss for record in result.history]
    assert losses[5] < 21 * losses[4] < losses[6]
    assert (result.best_step, result.best_loss, result.reason) == (6, losses[4], "patience")
    assert float(model.w.detach()) == pytest.approx(0.06, abs=1e-6)


def test_without_validation_the_best_is_the_last():
    model, result = drift(valid=None)
    assert (result.best_loss, result.best_step, result.steps) == (None, 20, 20)
    assert float(model.w.detach()) == pytest.approx(0.2, abs=1e-6)


def test_evaluation_does_not_disturb_training():
    """T1 keeps matrices in evaluation: none may be left over when training goes on, or at the end."""
    train, valid = parts()
    quiet, often = tiny_t1(), tiny_t1()
    last = []  # the weights in training after the last validation
    config = replace(CONFIG, max_steps=6)
    fit(quiet, train, None, config, hide=point)
    fit(
        often,
        train,
        valid,
        replace(config, validate_every=1),
        hide=point,
        on_progress=lambda progress: last.append({k: v.clone() for k, v in often.state_dict().items()}),
    )
    assert all(torch.equal(last[-1][name], t) for name, t in quiet.state_dict().items())
    values, observed = (torch.from_numpy(x) for x in valid.batch(slice(None)))
    fresh = tiny_t1(seed=5)
    fresh.load_state_dict(often.state_dict())
    assert torch.equal(often.impute(values, observed), fresh.eval().impute(values, observed))


def test_a_validation_part_without_hidden_cells_is_explained():
    with pytest.raises(InputError, match=r"no cell of the validation part was hidden.*\n"):
        drift(valid_hide=lambda values, observed, rng: np.zeros_like(observed))


@pytest.mark.parametrize("empty", [ZEROS.subset([]), one_window_each(np.full((2, 8, 2), np.nan))])
def test_nothing_to_learn_from_is_explained(empty):
    with pytest.raises(InputError, match=r"training part has . windows with .* observed values"):
        fit(Drift(), empty, None, DRIFT, hide=point)


# ---------------------------------------------------------------- budgets and the learning rate


@pytest.mark.parametrize(
    ("limits", "steps", "reason"),
    [
        ({"max_steps": 5}, 5, "steps"),
        ({"max_epochs": 2}, 6, "epochs"),
        ({"max_epochs": 2, "max_steps": 4}, 4, "steps"),
        ({"max_epochs": 1, "max_steps": 4}, 3, "epochs"),
        ({"max_epochs": 1, "max_seconds": 1e6}, 3, "epochs"),
    ],
)
def test_the_budget_that_ends_first_ends_the_run(limits, steps, reason):
    _, result = drift(TrainConfig(batch_size=2, patience=None, **{"max_epochs": None} | limits))
    assert (result.steps, result.reason) == (steps, reason)
    assert result.history[-1].step == steps  # also in the middle of an epoch, the end is validated


def test_the_clock_ends_a_run_and_earlier_sessions_count(tmp_path):
    config = replace(DRIFT, max_steps=None, max_seconds=0.3, patience=None, validate_every=1000)
    _, result = drift(config, folder=tmp_path)
    assert result.reason == "seconds"
    assert result.seconds >= 0.2
    assert result.steps >= 1
    _, again = drift(config, folder=tmp_path, resume=True)
    assert again == result
    _, longer = drift(replace(config, max_seconds=result.seconds + 0.5), folder=tmp_path, resume=True)
    assert longer.steps > result.steps
    assert longer.seconds > result.seconds


def test_the_cosine_rises_then_falls_to_nothing():
    config = replace(DRIFT, schedule="cosine", warmup=0.1, max_steps=100, patience=None)
    _, result = drift(config)
    rates = [record.learning_rate for record in result.history]
    top = int(np.argmax(rates))
    assert top == 10
    assert rates[top] == config.learning_rate
    assert (np.diff(rates[: top + 1]) > 0).all()
    assert (np.diff(rates[top:]) < 0).all()
    assert 0 < rates[-1] < 0.001 * config.learning_rate
    assert 0 < rates[0] < 0.1 * config.learning_rate
    assert rates[55] == pytest.approx(config.learning_rate / 2)


def test_the_cosine_follows_the_budget_that_ends_first():
    config = TrainConfig(schedule="cosine", max_epochs=10, max_seconds=100, learning_rate=1.0)
    assert config.spent(50, 10, 10.0) == 0.5
    assert config.spent(50, 10, 80.0) == 0.8
    assert config.spent(0, 10, 45.0, reserve=10.0) == 0.5
    assert config.spent(50, 10, 1e9) == 1.0
    assert config.rate(1.0) == pytest.approx(0.0, abs=1e-12)
    assert config.rate(0.51) == pytest.approx(0.5)
    assert replace(config, schedule="constant").rate(0.99) == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": 1.5},
        {"batch_size": 0},
        {"eval_batch_size": True},
        {"learning_rate": 0},
        {"learning_rate": math.nan},
        {"learning_rate": "fast"},
        {"schedule": "linear"},
        {"warmup_steps": -1},
        {"cooldown": 1.0},
        {"optimiser": "sgd"},
        {"weight_decay": 0.1},  # of adam
        {"weight_decay": -0.1, "optimiser": "adamw"},
        {"clip": 0},
        {"average": 1.0},
        {"warmup": 1.0},
        {"warmup": -0.1},
        {"max_epochs": 0},
        {"max_steps": 2.5},
        {"max_seconds": 0},
        {"max_seconds": math.inf},
        {"patience": 0},
        {"slack": -0.1},
        {"validate_every": 0},
        {"checkpoint_seconds": -1},
        {"max_epochs": None},
    ],
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(InputError, match=r"\n(Give|Use|Set) "):
        TrainConfig(**wrong)


def test_the_trapezoid_rises_in_steps_stays_and_falls_over_the_last_share():
    config = replace(
        DRIFT, schedule="trapezoid", warmup_steps=10, cooldown=0.25, max_steps=100, patience=None
    )
    _, result = drift(config)
    rates = [record.learning_rate for record in result.history]
    assert rates[:10] == pytest.approx([config.learning_rate * k / 10 for k in range(1, 11)])
    assert rates[9:76] == [config.learning_rate] * 67
    assert (np.diff(rates[75:]) < 0).all()
    assert 0 < rates[-1] < 0.05 * config.learning_rate
    longer = replace(config, max_steps=1000)
    assert [longer.rate(k / 1000, k) for k in range(60)] == pytest.approx(
        [config.rate(k / 100, k) for k in range(60)]
    ), "until it falls, the rate knows nothing of the budget"


# ---------------------------------------------------------------- optimisers, clipping, averaged weights


def test_adamw_decays_the_weights_that_nothing_pulls():
    class Still(Drift):
        def loss(self, batch):
            return self.w * 0

    still = Still()
    with torch.no_grad():
        still.w.fill_(1.0)
    fit(still, ZEROS, None, replace(DRIFT, optimiser="adamw", weight_decay=0.5), hide=point)
    assert float(still.w.detach()) == pytest.approx((1 - 0.01 * 0.5) ** 20, rel=1e-5)


def test_gradients_are_cut_to_a_norm():
    class Steep(Drift):
        steepness = 1.0

        def loss(self, batch):
            type(self).steepness *= -3  # Adam divides by the size of the gradient: let it change
            return self.w * self.steepness

    moved = []
    for clip in (None, 0.1):
        Steep.steepness = 1.0
        model = Steep()
        fit(model, ZEROS, None, replace(DRIFT, clip=clip, max_steps=6), hide=point)
        moved.append(float(model.w.detach()))
    assert moved[0] != pytest.approx(moved[1], abs=1e-4)
    first, second, w = 0.0, 0.0, 0.0  # what Adam does with gradients of -0.1 and 0.1 in turn
    for step in range(1, 7):
        g = 0.1 * (-1) ** step
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
        w -= 0.01 * (first / (1 - 0.9**step)) / math.sqrt(second / (1 - 0.999**step))
    assert moved[1] == pytest.approx(w, rel=1e-4)


def test_averaged_weights_are_validated_and_kept_and_do_not_disturb_training():
    config = replace(DRIFT, average=0.9, patience=None, max_steps=40)
    last = []
    model = Drift()
    result = fit(
        model, ZEROS, ZEROS, config, hide=point, on_progress=lambda _: last.append(float(model.w.detach()))
    )
    assert last[-1] == pytest.approx(0.4, abs=1e-6)  # trained as without an average
    average, losses = 0.0, []
    for step in range(40):
        average += (1 - min(0.9, (1 + step) / (10 + step))) * (0.01 * (step + 1) - average)
        losses.append((average - 0.05) ** 2)
    assert [record.valid_loss for record in result.history] == pytest.approx(losses, abs=1e-7)
    assert result.best_step == 1 + int(np.argmin(losses))
    kept, result = drift(config, valid=None)
    assert float(kept.w.detach()) == pytest.approx(average, abs=1e-6)  # without validation the last average


# ---------------------------------------------------------------- when it goes wrong


def test_a_loss_that_is_no_number_brings_the_best_weights_back(tmp_path):
    model = Drift(minimum=0.02, nan_above=0.035)
    with pytest.raises(
        TrainingDiverged, match=r"loss became nan at step 5 \(epoch 2, learning rate 0.01\)\.\nUse a sm"
    ):
        drift(model=model, folder=tmp_path)
    assert float(model.w.detach()) == pytest.approx(0.02, abs=1e-6)
    tensors, info = checkpoint.load(tmp_path)
    assert info["state"]["step"] == 4
    assert all(torch.isfinite(t).all() for t in tensors.values())


@pytest.mark.parametrize("how", ["nan_above", "spoil_above"])
@pytest.mark.parametrize("valid", [ZEROS, None])
def test_bad_weights_never_reach_the_disk(tmp_path, how, valid):
    model = Drift(**{how: 0.035})
    config = replace(DRIFT, checkpoint_seconds=0, validate_every=100)
    with pytest.raises(TrainingDiverged, match=r"became nan at step 5"):
        drift(config, valid, model=model, folder=tmp_path)
    assert float(model.w.detach()) == pytest.approx(0.04, abs=1e-6)  # the last that was checked
    tensors, info = checkpoint.load(tmp_path)
    assert info["state"]["step"] == 4
    assert all(torch.isfinite(t).all() for t in tensors.values())


def test_a_validation_loss_that_is_no_number():
    class Late(Drift):
        def forward(self, values, observed):
            return super().forward(values, observed) * (math.inf if self.w > 0.025 else 1)

    model = Late(minimum=0.01)
    with pytest.raises(TrainingDiverged, match=r"validation loss became inf at step 3"):
        drift(model=model)
    assert float(model.w.detach()) == pytest.approx(0.01, abs=1e-6)


def test_a_learning_rate_far_too_high_is_noticed():
    with pytest.raises(TrainingDiverged, match="smaller learning rate"):
        train_t1(replace(CONFIG, learning_rate=1e30))


# ---------------------------------------------------------------- stopping, killing, resuming


@pytest.mark.parametrize("steps", [1, 8, 11, 24])
def test_a_stopped_run_goes_on_as_if_nothing_had_been(tmp_path, steps):
    whole, expected = uninterrupted()
    asked = []

    def after_some_steps() -> bool:
        return bool(asked) and asked[-1].step >= steps

    _, result = train_t1(folder=tmp_path, on_progress=asked.append, should_stop=after_some_steps)
    assert (result.reason, result.steps) == ("stopped", steps)
    model, resumed = train_t1(folder=tmp_path, resume=True)
    assert_same_weights(model, whole)
    assert without_seconds(resumed) == without_seconds(expected)


def test_a_run_stopped_before_any_validation_keeps_its_last_weights():
    calls = iter(range(100))
    model, result = drift(replace(DRIFT, validate_every=50), should_stop=lambda: next(calls) >= 7)
    assert (result.reason, result.steps, result.best_step, result.best_loss) == ("stopped", 7, 7, None)
    assert float(model.w.detach()) == pytest.approx(0.07, abs=1e-6)


def test_a_raised_budget_goes_on_and_a_finished_run_returns_at_once(tmp_path):
    config = replace(CONFIG, max_epochs=3, max_steps=None)
    whole, expected = train_t1(config)
    train_t1(replace(config, max_epochs=1), folder=tmp_path)
    model, result = train_t1(config, folder=tmp_path, resume=True)
    assert_same_weights(model, whole)
    assert without_seconds(result) == without_seconds(expected)

    def never(values, observed, rng):
        raise AssertionError("a finished run must not train")

    again = tiny_t1(seed=3)
    train, valid = parts()
    assert fit(again, train, valid, config, hide=never, folder=tmp_path, resume=True) == result
    assert_same_weights(again, whole)


def test_raised_patience_goes_on(tmp_path):
    drift(folder=tmp_path)
    _, result = drift(replace(DRIFT, patience=6), folder=tmp_path, resume=True)
    assert (result.best_step, result.steps, result.reason) == (5, 11, "patience")


LONG = replace(
    CONFIG,
    schedule="trapezoid",
    warmup_steps=4,
    cooldown=0.4,
    optimiser="adamw",
    weight_decay=0.01,
    clip=1.0,
    average=0.9,
    checkpoint_seconds=0.0,
)


@pytest.mark.parametrize("ended_at", [20, 17, 13])  # 20 is its end, 13 the first step of its fall, 12 before
def test_a_larger_budget_goes_on_from_before_the_rate_fell(tmp_path, ended_at):
    whole, expected = train_t1(replace(LONG, max_steps=40))
    asked = []
    _, first = train_t1(
        replace(LONG, max_steps=20),
        folder=tmp_path,
        on_progress=asked.append,
        should_stop=lambda: bool(asked) and asked[-1].step >= ended_at,
    )
    assert first.steps == ended_at
    steps = []
    model, result = train_t1(
        replace(LONG, max_steps=40), folder=tmp_path, resume=True, on_progress=lambda p: steps.append(p.step)
    )
    assert steps[0] == 13
    assert_same_weights(model, whole)
    assert without_seconds(result) == without_seconds(expected)


@pytest.mark.parametrize("ended_at", [11, 12, 13, 17, 20])
def test_the_same_budget_goes_on_within_the_fall(tmp_path, ended_at):
    config = replace(LONG, max_steps=20)
    whole, expected = train_t1(config)
    asked = []
    train_t1(
        config,
        folder=tmp_path,
        on_progress=asked.append,
        should_stop=lambda: bool(asked) and asked[-1].step >= ended_at,
    )
    steps = []
    model, result = train_t1(config, folder=tmp_path, resume=True, on_progress=lambda p: steps.append(p.step))
    assert steps[0] == min(ended_at + 1, 20)  # stopped at its end, it is validated now
    assert_same_weights(model, whole)
    assert without_seconds(result) == without_seconds(expected)


def test_a_run_saved_before_a_setting_existed_goes_on_with_its_default(tmp_path):
    train_t1(replace(CONFIG, max_steps=2), folder=tmp_path)
    tensors, info = checkpoint.load(tmp_path)
    del info["run"]["training"]["optimiser"], info["run"]["model"]["encoding"]
    checkpoint.save(tmp_path, tensors, info)
    assert train_t1(replace(CONFIG, max_steps=4), folder=tmp_path, resume=True)[1].steps == 4
    with pytest.raises(InputError, match="optimiser is 'adamw', was 'adam'"):
        train_t1(replace(CONFIG, max_steps=4, optimiser="adamw"), folder=tmp_path, resume=True)


def test_resume_without_a_checkpoint_starts_and_without_resume_starts_anew(tmp_path):
    _, first = drift(folder=tmp_path / "new" / "deep", resume=True)
    assert first.steps == 8
    (tmp_path / "empty").mkdir()
    assert drift(folder=tmp_path / "empty", resume=True)[1].steps == 8
    other = replace(DRIFT, learning_rate=0.02)
    _, anew = drift(other, folder=tmp_path / "empty")
    assert anew.history[0].step == 1
    assert anew.steps < 8
    stopped = drift(DRIFT, folder=tmp_path / "empty", should_stop=lambda: True)[1]
    assert stopped.steps == 0
    assert checkpoint.load(tmp_path / "empty")[1]["state"]["step"] == 0  # the old run is gone from the start


def test_a_run_is_not_taken_up_with_other_settings(tmp_path):
    train_t1(replace(CONFIG, max_steps=2), folder=tmp_path)
    train, valid = parts()

    def resume(model=None, config=CONFIG, train=train, valid=valid):
        return fit(model or tiny_t1(), train, valid, config, hide=point, folder=tmp_path, resume=True)

    with pytest.raises(
        InputError, match=r"training setting: learning_rate is 0\.5, was 0\.01.*\n.*resume=False"
    ):
        resume(config=replace(CONFIG, learning_rate=0.5))
    with pytest.raises(InputError, match="model setting: n_channels is 16, was 8"):
        resume(model=tiny_t1(n_channels=16))
    with pytest.raises(InputError, match=r"model setting: .*name is 'drift', was 't1'"):
        resume(model=Drift())
    with pytest.raises(InputError, match="data setting: training is '29 windows"):
        resume(train=train.subset(slice(1, None)))
    with pytest.raises(InputError, match="data setting: validation is None"):
        resume(valid=None)
    widened = tiny_t1()
    widened.extra = torch.nn.Parameter(torch.zeros(1))
    with pytest.raises(InputError, match="other names or shapes"):
        resume(model=widened)
    checkpoint.save(tmp_path, {}, {"kind": "something else"})
    with pytest.raises(InputError, match="not a training run"):
        resume()


def test_a_damaged_checkpoint_is_not_taken_up(tmp_path):
    drift(folder=tmp_path)
    (file,) = tmp_path.glob("weights-*")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match="cut short or was altered"):
        drift(folder=tmp_path, resume=True)


KILL_TRAINERS = """
import os, random, signal, sys, time
import torch

sys.path.insert(0, sys.argv[1])
torch.set_num_threads(1)
from test_train import CONFIG, LONG, replace, train_t1

folder, config = sys.argv[2], replace(LONG if sys.argv[3] == "long" else CONFIG, checkpoint_seconds=0.0)
train_t1(config, should_stop=lambda: True)  # import what torch imports late, once for all children
rng, kills = random.Random(4), 0
while True:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        train_t1(config, folder=folder, resume=True, on_progress=lambda progress: os.write(write, b"."))
        os._exit(0)
    os.close(write)
    for _ in range(rng.randrange(1, 6)):
        os.read(read, 1)
    time.sleep(rng.uniform(0, 0.02))  # into a step, a save or a validation
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(read)
    if not os.WIFSIGNALED(status):
        sys.exit(os.waitstatus_to_exitcode(status) or kills < 3)
    kills += 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", ["plain", "long"])
def test_a_run_killed_again_and_again_ends_with_the_same_bits(tmp_path, name):
    config = LONG if name == "long" else CONFIG
    whole, expected = uninterrupted() if name == "plain" else train_t1(config)
    tests = str(Path(__file__).parent)
    run = subprocess.run(
        [sys.executable, "-c", KILL_TRAINERS, tests, str(tmp_path), name],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    model, result = train_t1(config, folder=tmp_path, resume=True)
    assert_same_weights(model, whole)
    assert without_seconds(result) == without_seconds(expected)
    assert sorted(p.name.split("-")[0] for p in tmp_path.iterdir()) == ["config.json", "weights"]


# ---------------------------------------------------------------- what it tells, and where it runs


def test_progress_is_told():
    told: list[Progress] = []
    drift(replace(DRIFT, validate_every=3, patience=None), on_progress=told.append)
    assert [p.step for p in told if p.train_loss is not None] == list(range(1, 21))
    assert {p.total_steps for p in told} == {20}
    assert told[0].valid_loss is None
    assert told[-1].valid_loss is not None
    assert told[-1].best_loss == min(p.valid_loss for p in told if p.valid_loss is not None)
    assert told[-1].seconds_left == 0
    assert told[0].seconds_left == pytest.approx(told[0].seconds * 19)
    assert all(p.steps_per_second > 0 for p in told)
    assert [p.epoch for p in told if p.train_loss is not None][:7] == [1, 1, 1, 2, 2, 2, 3]
    told.clear()
    drift(replace(DRIFT, max_seconds=50.0), on_progress=told.append)
    assert told[0].total_steps is None


def test_it_never_prints(capfd):
    drift()
    assert capfd.readouterr() == ("", "")


def test_devices():
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device(torch.device("cpu")) == torch.device("cpu")
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")
    for absent in ("cuda:99", "gpu", "meta", "", None):
        with pytest.raises(InputError, match=r"\n?Use auto"):
            resolve_device(absent)
    with pytest.raises(InputError, match="does not find it"):
        drift(device="cuda:99")


def test_freed_memory_is_kept_where_there_is_glibc():
    assert keep_freed_memory() == (
        sys.platform.startswith("linux") and "glibc" in os.confstr("CS_GNU_LIBC_VERSION")
    )
