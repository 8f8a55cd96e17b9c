"""Systems without a network: the classical methods, and PSW-I, which fills one series at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt
from numpy.random import default_rng

from t1.arrays import BoolArray, FloatArray
from t1.bench.evaluate import Fill
from t1.bench.scenarios import Scenario, hide_at_test
from t1.data.catalog import Dataset
from t1.data.window import covered
from t1.methods import simple
from t1.methods.seasons import find_period
from t1.methods.tabular import RowImputer, learn_iterative, learn_knn
from t1.metrics import ErrorSum
from t1.registry import Registry

Windows = Callable[[FloatArray], FloatArray]  # (windows, time, vars), NaN where missing -> the same, filled

FITTED: Registry[Callable[[Dataset, int], Windows]] = Registry("method")  # what it may learn from, and a seed


def method_fill(name: str, dataset: Dataset, seed: int) -> Fill:
    """The method of that name, ready to fill windows."""
    method = FITTED[name](dataset, seed)

    def fill(values: npt.NDArray[np.float32], observed: BoolArray) -> npt.NDArray[np.float32]:
        return _known(method(np.where(observed, values, np.nan).astype(np.float64)))

    return fill


def _column_by_column(name: str) -> None:
    """A method that looks at one column of one window at a time: all windows are one wide table to it."""

    def fill(shown: FloatArray) -> FloatArray:
        n, time, n_vars = shown.shape
        wide = shown.transpose(1, 0, 2).reshape(time, n * n_vars)
        return simple.CLASSIC[name](wide).reshape(time, n, n_vars).transpose(1, 0, 2)

    FITTED.add(name)(lambda dataset, seed: fill)


for _name in ("mean", "locf", "nearest", "linear"):
    _column_by_column(_name)


@FITTED.add("seasonal")
def seasonal(dataset: Dataset, seed: int) -> Windows:
    """The period is found in the training part; a window shorter than two periods has no season to show."""
    period, window = find_period(training_rows(dataset)), dataset.test.window
    if period is None or 2 * period > window:
        return FITTED["linear"](dataset, seed)
    return lambda shown: np.stack([simple.seasonal(one, period=period) for one in shown])


@FITTED.add("t1-zero")
def t1_zero(dataset: Dataset, seed: int) -> Windows:
    """The pretrained T1, untrained here: the training rows only tell the period and how columns relate."""
    from t1.data.context import explained
    from t1.methods.regression import learn_regression
    from t1.methods.windows import Relation, fill_windows
    from t1.weights import load_pretrained

    rows = training_rows(dataset)
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), 8192)).astype(np.intp)]
    period, network = find_period(rows), load_pretrained()
    # a window does not say where in a season it begins, so the regression has none
    regression = learn_regression(rows, None, every=True)
    trust = explained(rows, regression.told(rows)).astype(np.float32)
    relation = Relation.of(sample.astype(np.float32))._replace(trust=trust)

    def fill(shown: FloatArray) -> FloatArray:
        said = np.stack([regression.told(one) for one in shown]).astype(np.float32)
        filled = fill_windows(network, shown.astype(np.float32), period, relation, said).fill
        return np.where(np.isnan(shown), filled, shown)

    return fill


def _row_by_row(rows: RowImputer) -> Windows:
    """A time step is a sample, whatever its window."""
    rows.learn()
    return lambda shown: rows.fill(shown.reshape(-1, shown.shape[-1])).reshape(shown.shape)


@FITTED.add("knn")
def knn(dataset: Dataset, seed: int) -> Windows:
    """scikit-learn's KNNImputer on the training rows."""
    return _row_by_row(learn_knn(training_rows(dataset)))


@FITTED.add("iterative")
def iterative(dataset: Dataset, seed: int) -> Windows:
    """scikit-learn's IterativeImputer on the training rows."""
    return _row_by_row(learn_iterative(training_rows(dataset), seed=seed))


class Stopped(Exception):
    """The user wants to stop."""


@dataclass
class SeriesSearch:
    """A method that searches the fill of one whole series, set up for a dataset; `seconds` ends it early."""

    name: str
    dataset: str
    seconds: float | None
    should_stop: Callable[[], bool]
    cut_short: bool = False  # whether the clock ended the last search

    def __call__(self, values: FloatArray, seed: int) -> FloatArray:
        assert self.name == "pswi"
        from t1.methods.pswi import Step, pswi, settings_for

        def on_step(step: Step) -> None:
            if self.should_stop():
                raise Stopped

        began = perf_counter()
        settings = settings_for(self.dataset)
        filled = pswi(values, rng=seed, seconds=self.seconds, on_step=on_step, **settings)
        self.cut_short = self.seconds is not None and perf_counter() - began >= self.seconds
        return filled


def training_rows(dataset: Dataset) -> FloatArray:
    """The rows that training windows cover, NaN where missing."""
    rows = covered(dataset.train.starts, dataset.train.window, len(dataset.train.rows))
    return np.where(dataset.train.seen[rows], dataset.train.rows[rows], np.nan).astype(np.float64)


def score_series(
    fill: Callable[[FloatArray, int], FloatArray], dataset: Dataset, scenario: Scenario, seed: int
) -> ErrorSum | None:
    """Score a method that fills a series, on the rows of the test part, with one mask per time stamp.

    The rows of several patients or months follow each other; None: the user wants to stop.
    """
    test = dataset.test
    rows = covered(test.starts, test.window, len(test.rows))
    values, observed = test.rows[rows], test.seen[rows]
    own = None if dataset.test_hidden is None else dataset.test_hidden[rows]
    rng = default_rng([seed, scenario.number])
    _, visible, target = hide_at_test(scenario, values, observed, own, rng)
    shown = np.where(visible, values, np.nan).astype(np.float64)
    try:
        filled = fill(shown, seed)
    except Stopped:
        return None
    errors = ErrorSum(test.n_vars)
    errors.add(values, _known(filled), target)
    return errors


def _known(filled: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """The training mean, 0, where a method had nothing to go by."""
    known: npt.NDArray[np.float32] = np.nan_to_num(filled, nan=0.0).astype(np.float32)
    return known
