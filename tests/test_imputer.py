"""T1Imputer: real containers in, the same containers out, observed cells untouched; scikit-learn's checks."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import t1
from t1.errors import InputError

QUICK = {
    "weights": "none",
    "n_channels": 4,
    "window": 24,
    "max_epochs": 1,
    "max_steps": 3,
    "max_seconds": None,
    "progress": False,
}


def quick(**kwargs) -> t1.T1Imputer:
    return t1.T1Imputer(**{**QUICK, **kwargs})


def waves(rows: int = 120, n_vars: int = 3, missing: float = 0.2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.arange(rows)[:, None]
    x = 10 * np.sin(2 * np.pi * t / 24 + np.arange(n_vars)) + 100 * np.arange(1, n_vars + 1)
    x[rng.random(x.shape) < missing] = np.nan
    return x


def assert_filled(before: np.ndarray, after: np.ndarray) -> None:
    seen = ~np.isnan(before)
    assert np.array_equal(before[seen], after[seen])
    assert np.isfinite(after).all()


# ---------------------------------------------------------------- containers


def test_array():
    x = waves()
    kept = x.copy()
    out = quick().fit(x).transform(x)
    assert_filled(x, out)
    assert np.array_equal(x, kept, equal_nan=True)  # the input is not touched


def test_float32_stays_float32():
    x = waves().astype(np.float32)
    out = quick().fit(x).transform(x)
    assert out.dtype == np.float32
    assert_filled(x, out)


def test_pandas_keeps_names_index_and_dtypes():
    index = pd.date_range("2024-03-01", periods=120, freq="h", name="when")
    frame = pd.DataFrame(waves(), columns=["a", "b b", "=1+1"], index=index)
    frame["count"] = pd.array([None if i % 7 == 0 else i for i in range(120)], dtype="Int64")
    out = quick().fit_transform(frame)
    assert isinstance(out, pd.DataFrame)
    pd.testing.assert_index_equal(out.index, frame.index)
    assert list(out.columns) == list(frame.columns)
    assert list(out.dtypes) == list(frame.dtypes)
    assert not out.isna().any().any()
    for name in frame:
        seen = frame[name].notna()
        assert (out[name][seen] == frame[name][seen]).all()


def test_polars_and_pyarrow():
    x = waves()
    frame = pl.DataFrame(x, schema=["a", "b", "c"])
    out = quick().fit_transform(frame)
    assert isinstance(out, pl.DataFrame) and out.columns == frame.columns
    assert_filled(x, out.to_numpy())
    arrow = pa.table({name: x[:, j] for j, name in enumerate("abc")})
    out = quick().fit_transform(arrow)
    assert isinstance(out, pa.Table) and out.column_names == ["a", "b", "c"]
    assert_filled(x, np.column_stack([out[name].to_numpy() for name in "abc"]))


def test_samples():
    x = np.stack([waves(30, seed=i) for i in range(12)])
    model = quick().fit(x)
    out = model.transform(x)
    assert out.shape == x.shape
    assert_filled(x, out)
    assert_filled(x[0], model.transform(x[0]))  # a model of samples fills a table too


def test_samples_longer_than_the_window_are_cut():
    x = np.stack([waves(60, seed=i) for i in range(4)])
    assert_filled(x, quick().fit(x).transform(x))


# ---------------------------------------------------------------- awkward data


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 23, 24, 25, 95])
def test_series_shorter_than_the_window(rows):
    x = waves(rows, missing=0.3)
    x[0] = [100, 200, 300]
    model = t1.T1Imputer(**{**QUICK, "window": 96}).fit(x)
    assert_filled(x, model.transform(x))


def test_one_variable():
    x = waves(n_vars=1)
    assert_filled(x, quick().fit(x).transform(x))


def test_a_constant_column_is_filled_with_about_its_value():
    x = waves(400)
    x[:, 1] = np.where(np.isnan(x[:, 1]), np.nan, 7.0)
    out = quick(max_steps=60, max_epochs=9).fit(x).transform(x)
    assert_filled(x, out)
    assert np.abs(out[:, 1] - 7).max() < 0.5


def test_an_empty_column_stays_empty_and_is_said():
    frame = pd.DataFrame(waves(), columns=["a", "b", "c"])
    frame["b"] = np.nan
    with pytest.warns(UserWarning, match="no observed value in column b"):
        model = quick().fit(frame)
    with pytest.warns(UserWarning, match="kept empty"):
        out = model.transform(frame)
    assert out["b"].isna().all()
    assert out[["a", "c"]].notna().all().all()


def test_a_column_that_is_empty_only_at_transform_is_filled_from_the_others():
    x = waves()
    model = quick().fit(x)
    x[:, 2] = np.nan
    assert_filled(x, model.transform(x))


def test_windows_with_nothing_observed():
    x = waves(300)
    x[40:200] = np.nan
    assert_filled(x, quick().fit(x).transform(x))


def test_a_table_without_gaps_comes_back_as_it_is():
    x = waves(missing=0)
    assert np.array_equal(quick().fit(x).transform(x), x)


def test_huge_and_tiny_values():
    x = waves() * np.array([1e300, 1e-300, 1.0])
    assert_filled(x, quick().fit(x).transform(x))


@settings(max_examples=15)
@given(rows=st.integers(1, 70), n_vars=st.integers(1, 4), missing=st.floats(0, 0.95), seed=st.integers(0, 99))
def test_any_table_is_filled_and_never_changed(rows, n_vars, missing, seed):
    x = waves(rows, n_vars, missing, seed)
    x[rows // 2] = np.arange(n_vars)  # something is observed in every column
    assert_filled(x, quick(max_steps=1).fit(x).transform(x))


# ---------------------------------------------------------------- learning


def test_it_learns_more_than_linear_interpolation_knows():
    """Day-long holes in daily waves: the other variables and the period tell, a straight line does not."""
    truth = waves(1500, missing=0)
    x = truth.copy()
    for begin in range(100, 1400, 200):
        x[begin : begin + 20, begin // 200 % 3] = np.nan
    out = quick(window=48, n_channels=16, max_steps=400, max_epochs=50).fit(x).transform(x)
    hidden = np.isnan(x)
    linear = pd.DataFrame(x).interpolate().to_numpy()
    assert np.abs(out - truth)[hidden].mean() < 0.3 * np.abs(linear - truth)[hidden].mean()


def test_same_seed_same_fill_and_the_global_state_is_left_alone():
    import torch

    x = waves()
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002  # the global state is what is tested
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = quick().fit(x).transform(x)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert np.array_equal(first, quick().fit(x).transform(x))
    assert not np.array_equal(first, quick(seed=7).fit(x).transform(x))


@pytest.mark.parametrize("pattern", ["point", "block", "outage", "blackout", "mnar", "mixed", "own"])
def test_every_pattern_trains(pattern):
    x = waves()
    assert_filled(x, quick(pattern=pattern).fit(x).transform(x))


# ---------------------------------------------------------------- save and load


def test_save_and_load_without_retyping_anything(tmp_path):
    frame = pd.DataFrame(waves(), columns=["a", "b", "c"])
    model = quick(rate=(0.1, 0.5), seed=3).fit(frame)
    model.save(tmp_path / "model")
    again = t1.T1Imputer.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    pd.testing.assert_frame_equal(again.transform(frame), model.transform(frame))
    assert again.result_ == model.result_
    with pytest.raises(InputError, match="'c'"):
        again.transform(frame[["a", "b"]].assign(d=1.0))


def test_an_unfitted_imputer_cannot_be_saved_or_used(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        quick().save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        quick().transform(waves())
    assert not (tmp_path / "model").exists()


# ---------------------------------------------------------------- bad input


def frame_with(**columns) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(30.0), **columns})


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (frame_with(b=["x"] + ["1"] * 29), "'b'"),
        (frame_with(b=[1.0] * 5 + [np.inf] + [2.0] * 24), "'b'"),
        (frame_with(b=[1.0] * 5 + [np.inf] + [2.0] * 24), "row 5"),
        (pd.DataFrame({"a": [], "b": []}), "row"),
        (pd.DataFrame(index=range(5)), "column"),
        (pd.DataFrame({"a": ["x", "y"]}), "'a'"),
        (np.full((30, 2), np.nan), "every value"),
        (np.zeros(30), "dimension"),
        (np.zeros((2, 3, 4, 5)), "dimension"),
    ],
    ids=[
        "text",
        "infinity",
        "infinity row",
        "no rows",
        "no columns",
        "no numbers",
        "all missing",
        "1-D",
        "4-D",
    ],
)
def test_bad_input_names_the_place_and_the_cure(x, says):
    with pytest.raises(InputError, match=says) as caught:
        quick().fit(x)
    assert "\n" in str(caught.value)  # the cure stands on a line of its own


def test_wrong_number_of_columns_at_transform():
    with pytest.raises(InputError, match="X has 2 features, but T1Imputer is expecting 3"):
        quick().fit(waves()).transform(waves(n_vars=2))


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"window": 0}, "window"),
        ({"n_channels": 0}, "n_channels"),
        ({"pattern": "pont"}, "Did you mean 'point'"),
        ({"valid_share": 1.5}, "valid_share"),
        ({"batch_size": 0}, "batch_size"),
        ({"device": "abacus"}, "abacus"),
        ({"schedule": "sometimes"}, "schedule"),
    ],
)
def test_a_wrong_setting_is_named(kwargs, says):
    with pytest.raises(InputError, match=says):
        quick(**kwargs).fit(waves())


# ---------------------------------------------------------------- scikit-learn

# Every check of scikit-learn runs. The ones about the order and the subset of rows pass because their
# data has no gaps; with gaps a fill depends on the rows around it, as it must in a time series.
CANNOT_APPLY = {
    "check_dtype_object": "a dict in a cell is an InputError that names the column, which is no TypeError",
}


@parametrize_with_checks([quick()], expected_failed_checks=lambda _: CANNOT_APPLY)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_clone_pipeline_and_set_output():
    x = waves()
    copy = clone(quick(seed=9))
    assert copy.get_params() == quick(seed=9).get_params()
    out = make_pipeline(quick(), StandardScaler()).fit_transform(x)
    assert np.isfinite(out).all() and np.abs(out.mean(0)).max() < 1e-9
    wanted = quick().set_output(transform="pandas").fit_transform(x)
    assert isinstance(wanted, pd.DataFrame)
    assert_filled(x, wanted.to_numpy())
    wanted = quick().set_output(transform="polars").fit_transform(pd.DataFrame(x, columns=["a", "b", "c"]))
    assert isinstance(wanted, pl.DataFrame) and wanted.columns == ["a", "b", "c"]
