"""What a run may take: memory as a multiple of the table's size, and never worse for more time."""

import subprocess
import sys

import numpy as np
import pytest

from closed_form import fit_closed, holes, walks
from t1.fill import fit
from t1.imputer import T1Imputer
from t1.methods.base import Fill, Learning
from t1.methods.simple import linear
from t1.panel import Panel

NAN = np.nan

PEAK = """
import resource, sys
import numpy as np
import pandas as pd
import scipy.stats
import t1
from t1.fill import fit
from t1.methods.base import LeftOut

usual = fit.fit_of

def no_network(panel, learning):
    raise LeftOut("a network is not counted")

fit.fit_of = lambda name: no_network if name == "t1" else usual(name)
rng = np.random.default_rng(0)
rows, columns = 100_000, 50
now = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
x = rng.normal(size=(rows, columns))
x[rng.random(x.shape) < 0.05] = np.nan
frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(columns)])
del x
t1.impute(frame, budget="fast", METHOD)
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
    assert float(run.stdout) < 8.0  # 5.2 to 7.2; up to 7.7 on a busy machine


# More budget is never worse: what is used is the best that was validated.


def trained(max_steps: int) -> T1Imputer:
    imputer = T1Imputer(
        weights="none",
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
    x = walks(200, 3)
    x[::9] = NAN
    return imputer.fit(x)


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
    """Stands for a network after a training that went well or badly: the truth, with an error."""

    name = "t1"

    def __init__(self, truth: np.ndarray, error: float) -> None:
        self.by_value = dict(zip(range(len(truth)), truth, strict=True))
        self.truth, self.error = truth, error

    def fit(self, panel: Panel, learning: Learning) -> "Learner":
        return self

    def fill(self, panel: Panel) -> Fill:
        """Knows where a stretch was copied from by its place on the clock."""
        rng = np.random.default_rng(9)
        rows = np.concatenate(
            [phase + np.arange(s.stop - s.start) for phase, s in zip(panel.phase, panel.spans, strict=True)]
        )
        return Fill(self.truth[rows] + rng.normal(0, self.error, panel.values.shape))


@pytest.mark.parametrize(("error", "good"), [(0.1, True), (5.0, False)])
def test_a_network_that_got_worse_is_not_chosen(error, good, monkeypatch):
    truth = walks(1500, 3)
    panel = Panel.of(holes(truth, 0.08))
    usual = fit.fit_of
    learner = Learner(truth, error)
    monkeypatch.setattr(fit, "fit_of", lambda name: learner.fit if name == "t1" else usual(name))
    fitted = fit_closed(panel, names=("linear", "t1"))
    scores = [s for s in fitted.scorecard.scores if s.events > 20]
    assert scores and all(s.method.startswith("t1") == good for s in scores)


def test_a_fill_never_changes_the_panel_it_is_given():
    panel = Panel.of(holes(walks()))
    before = panel.values.copy()
    filled = fit_closed(panel).fill(panel, level=0.9)
    np.testing.assert_array_equal(panel.values, before)
    assert not np.shares_memory(filled.values, panel.values)
    np.testing.assert_array_equal(linear(panel.values), linear(before))
