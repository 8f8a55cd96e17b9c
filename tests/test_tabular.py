"""scikit-learn's imputers: the same fills, whatever is empty, and in bulk."""

import numpy as np
import pytest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from t1.errors import InputError
from t1.methods import tabular
from t1.methods.tabular import iterative, knn

METHODS = {"knn": knn, "iterative": iterative}


def related(n_rows=300, n_vars=4, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_vars)) + 0.05 * rng.normal(
        size=(n_rows, n_vars)
    )
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, truth)


@pytest.mark.parametrize("fill", METHODS.values(), ids=METHODS)
def test_observed_values_are_untouched_and_the_fill_repeats(fill):
    truth, values = related()
    train, _ = related(seed=1)
    before = values.copy()
    for source in (None, train, values):
        filled = fill(values, train=source)
        assert np.array_equal(values, before, equal_nan=True)
        seen = ~np.isnan(values)
        assert np.array_equal(filled[seen], values[seen])
        assert np.isfinite(filled).all()
        assert np.array_equal(filled, fill(values, train=source))
    filled, hidden = fill(values), np.isnan(values)
    assert np.abs(filled - truth)[hidden].mean() < 0.6 * np.abs(truth - np.nanmean(values, 0))[hidden].mean()


@pytest.mark.parametrize("fill", METHODS.values(), ids=METHODS)
def test_a_row_is_filled_alike_alone_and_in_bulk(fill, monkeypatch):
    _, values = related()
    train, _ = related(seed=1)
    whole = fill(values, train=train)
    monkeypatch.setattr(tabular, "ROWS", 37)
    assert np.allclose(fill(values, train=train), whole)
    assert np.allclose(fill(values[5:6], train=train), whole[5:6])


@pytest.mark.parametrize("fill", METHODS.values(), ids=METHODS)
def test_columns_without_a_value_keep_their_place(fill):
    _, values = related()
    train, _ = related(seed=1)
    values[:, 1] = np.nan
    values[:, 2] = np.nan
    train[:, 2] = np.nan
    filled = fill(values, train=train)
    assert filled.shape == values.shape
    assert np.isfinite(filled[:, [0, 1, 3]]).all()  # 1 is empty here, but not in what was learned from
    assert np.isnan(filled[:, 2]).all()
    assert np.isnan(fill(values)[:, 1:3]).all()
    values[0, 2] = 5.0  # seen here, but nothing was learned of it
    filled = fill(values, train=train)
    assert filled[0, 2] == 5.0 and np.isnan(filled[1:, 2]).all()
    empty = np.full((3, 2), np.nan)
    assert np.array_equal(fill(empty), empty, equal_nan=True)


@pytest.mark.parametrize("fill", METHODS.values(), ids=METHODS)
def test_a_row_without_a_value_and_a_single_column(fill):
    _, values = related()
    values[7] = np.nan
    assert np.isfinite(fill(values)).all()
    assert np.isfinite(fill(values[:, :1])).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_they_are_scikit_learns():
    _, values = related()
    train, _ = related(seed=1)
    ours = knn(values, train=train, n_neighbours=3, max_train=None)
    assert np.allclose(ours, KNNImputer(n_neighbors=3).fit(train).transform(values))
    with_gaps = related(seed=1)[1]
    theirs = IterativeImputer(max_iter=10, tol=0.0, random_state=0).fit(with_gaps)
    assert np.allclose(iterative(values, train=with_gaps), theirs.transform(values))


def test_a_complete_table_teaches_more_than_one_round():
    truth, values = related(missing=0.5)
    hidden = np.isnan(values)
    one, all_rounds = (iterative(values, train=truth, max_iter=n) for n in (1, 10))
    assert np.abs(all_rounds - truth)[hidden].mean() < np.abs(one - truth)[hidden].mean()


def test_neighbours_come_from_evenly_spaced_rows():
    train = np.arange(1001.0)[:, None] * [1.0, 1.0]
    assert knn([[540.0, np.nan]], train=train, n_neighbours=1, max_train=11)[0, 1] == 500
    assert knn([[540.0, np.nan]], train=train, n_neighbours=1)[0, 1] == 540
    assert tabular._evenly(train, 11)[:, 0].tolist() == list(range(0, 1001, 100))
    rare = train.copy()
    rare[:, 1] = np.nan
    rare[3, 1] = 42.0  # outside the sample: its mean is all that is known
    assert knn([[500.2, np.nan]], train=rare, max_train=11)[0, 1] == 42.0


def test_what_cannot_be_used_is_refused():
    _, values = related()
    with pytest.raises(InputError, match="columns"):
        knn(values, train=values[:, :2])
    with pytest.raises(InputError, match="n_neighbours"):
        knn(values, n_neighbours=0)
    with pytest.raises(InputError, match="max_train"):
        knn(values, max_train=0)
    with pytest.raises(InputError, match="time, vars"):
        iterative(values[0])
