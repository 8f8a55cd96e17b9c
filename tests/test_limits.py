"""What a run may take: memory as a multiple of the table's size, and time as a plan that adds up."""

import subprocess
import sys

import numpy as np
import pytest
from t1.fill.learned import LEAST_SHARE, T1Candidate
from t1.fill.plan import SLACK, LeftOut, Pace, Plan

from t1.data.series import n_gappy_windows
from t1.fill import classic_candidates, fill_table
from t1.imputer import T1Imputer

NAN = np.nan

PEAK = """
import resource, sys
import numpy as np
import pandas as pd
import scipy.stats
import t1
from t1 import api
from t1.fill.plan import LeftOut

def no_network(self, masked, hold):
    raise LeftOut("a network is not counted")

api.T1Candidate.prepare = no_network
rng = np.random.default_rng(0)
rows, columns = 100_000, 50
now = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
x = rng.normal(size=(rows, columns))
x[rng.random(x.shape) < 0.05] = np.nan
frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(columns)])
del x
t1.impute(frame, budget="1h", METHOD)
status = open("/proc/self/status").read()  # ru_maxrss would begin with what the parent process had
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
print((peak - now) / (rows * columns * 8))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("how", ["method='linear', intervals=0.9", "method='nearest'", "intervals=0.9"])
def test_filling_needs_a_few_times_the_memory_of_the_table(how):
    """The frame, the fill and the filled frame are three; T1's network is not counted."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK.replace("METHOD", how)], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 5


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def plan(seconds: float = 100.0, **more) -> tuple[Plan, Clock]:
    clock = Clock()
    return Plan(seconds, 0.0, clock=clock, **more), clock


def test_what_is_spent_and_what_is_to_come_is_not_left():
    budget, clock = plan(output=2.0)
    clock.now = 10.0
    assert budget.left() == pytest.approx(100 * (1 - SLACK) - 10 - 2)
    budget.fills.update(linear=1.0, regression=4.0)
    assert budget.left(ahead=20) == pytest.approx(100 * (1 - SLACK) - 10 - 2 - 5 - 20)


def test_a_method_that_would_take_too_long_is_stopped_at_once():
    budget, clock = plan()
    pace = Pace(budget, "regression", fills=4)
    clock.now = 2.0
    pace(0.0)  # 2 s to set up
    clock.now = 2.5
    pace(0.001)  # too early to say
    clock.now = 12.0
    pace(0.5)  # 22 s each: 88 s of 97
    with pytest.raises(LeftOut, match="regression was left out: it would take about 408 s"):
        pace(0.1)


class Slow:
    """A candidate that gives up, as one does that has no time."""

    name = "slow"

    def prepare(self, masked, hold):
        raise LeftOut("slow was left out.")


def test_what_was_left_out_is_said_and_linear_fills():
    x = np.random.default_rng(0).normal(size=(300, 2)).cumsum(axis=0)
    x[::9] = NAN
    filled = fill_table(x, ["a", "b"], [Slow()])
    assert filled.notes == ("slow was left out.",)
    np.testing.assert_array_equal(filled.values, fill_table(x, ["a", "b"], []).values)


def walks(n_rows: int = 400, n_vars: int = 4, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n_rows, n_vars)).cumsum(axis=0)
    x[::9] = NAN
    return x


def test_a_regression_that_does_not_fit_the_budget_is_left_out():
    budget, clock = plan(seconds=20.0)

    def tick() -> float:
        clock.now += 0.6  # so long does it take from one look at the clock to the next
        return clock.now

    budget.clock = tick
    filled = fill_table(walks(), list("abcd"), classic_candidates(budget))
    assert any(note.startswith("regression was left out") for note in filled.notes)
    assert np.isfinite(filled.values).all()


def test_t1_trains_with_what_its_own_fills_leave():
    budget, clock = plan(seconds=100.0)
    clock.now = 7.0
    assert T1Candidate(plan=budget)._seconds_left(30.0) == pytest.approx(60.0)
    assert T1Candidate(seconds=12.0)._seconds_left(30.0) == 12.0
    clock.now = 95.0
    candidate = T1Candidate(plan=budget)
    with pytest.raises(LeftOut, match="T1 was left out"):
        candidate._check_budget(candidate._seconds_left(0.0), 4, 1)
    asked_for = T1Candidate(plan=budget, forced=True)
    asked_for._check_budget(asked_for._seconds_left(0.0), 4, 1)
    assert asked_for._seconds_left(0.0) == pytest.approx(LEAST_SHARE * 100)


def test_the_windows_that_a_fill_computes_are_counted():
    x = np.zeros((1000, 3))
    assert n_gappy_windows(x, 96) == 0
    x[500, 1] = NAN
    assert n_gappy_windows(x, 96) == 2  # windows overlap by half
    x[0] = NAN
    assert n_gappy_windows(x, 96) == 3
    assert n_gappy_windows(np.full((10, 3), NAN), 96) == 1


# More budget is never worse: what is used is the best that was validated.


def trained(max_steps: int) -> T1Imputer:
    imputer = T1Imputer(
        n_channels=4,
        window=24,
        schedule="constant",  # so that a longer run passes through the states of a shorter one
        learning_rate=0.02,
        max_steps=max_steps,
        max_seconds=None,
        max_epochs=None,
        patience=None,
        progress=False,
    )
    return imputer.fit(walks(200, 3))


def test_the_weights_used_are_the_best_validated_ones():
    short, long = trained(20), trained(80)
    for imputer in (short, long):
        result = imputer.result_
        assert result.best_loss == min(record.valid_loss for record in result.history)
    assert long.result_.best_loss <= short.result_.best_loss
    assert long.result_.best_step < 80  # else the test would show nothing
    there = trained(long.result_.best_step)
    for name, weight in there.model_.state_dict().items():
        assert bool((weight == long.model_.state_dict()[name]).all()), name


class Learner:
    """Stands for T1 after a training that went well or badly: the truth, with an error."""

    name = "t1"

    def __init__(self, truth: np.ndarray, error: float) -> None:
        self.fill = truth + np.random.default_rng(9).normal(0, error, truth.shape)

    def prepare(self, masked, hold):
        return lambda values: iter([(np.arange(values.shape[1]), self.fill)])


@pytest.mark.parametrize(("error", "method"), [(0.1, "t1"), (5.0, "linear")])
def test_a_network_that_got_worse_is_not_chosen(error, method):
    truth = np.random.default_rng(0).normal(size=(1500, 3)).cumsum(axis=0)
    x = np.where(np.random.default_rng(1).random(truth.shape) < 0.08, NAN, truth)
    filled = fill_table(x, list("abc"), [Learner(truth, error)])
    assert {s.method for s in filled.scorecard.scores} == {method}


def test_a_table_is_filled_in_place_only_on_request():
    x = walks()
    before = x.copy()
    filled = fill_table(x, list("abcd"), [])
    np.testing.assert_array_equal(x, before)
    again = fill_table(x, list("abcd"), [], in_place=True)
    assert again.values is x
    np.testing.assert_array_equal(x, filled.values)
