"""The sktime transformer passes sktime's own checks and works in its pipelines."""

import numpy as np
import pandas as pd
import pytest

import t1

pytest.importorskip("sktime", reason="sktime is not installed: make adapters has it")


@pytest.fixture
def table():
    return t1.load_sample().iloc[:300, :4]


def test_sktime_accepts_it():
    from sktime.utils.estimator_checks import check_estimator

    from t1.adapters.sktime import T1Transformer

    results = check_estimator(T1Transformer, raise_exceptions=False, verbose=False)
    wrong = {name: result for name, result in results.items() if result != "PASSED"}
    assert not wrong and len(results) > 200


def test_it_fills_and_keeps_what_was_observed(table):
    from t1.adapters.sktime import T1Transformer

    filled = T1Transformer(budget="fast").fit_transform(table)
    assert filled.notna().all().all() and filled.index.equals(table.index)
    seen = table.notna().to_numpy()
    assert (filled.to_numpy()[seen] == table.to_numpy()[seen]).all()


def test_a_pipeline_forecasts_from_a_series_with_gaps(table):
    from sktime.forecasting.naive import NaiveForecaster

    from t1.adapters.sktime import T1Transformer

    y = table.iloc[:, [0]].copy()
    y.iloc[-1] = np.nan
    y.index = pd.RangeIndex(len(y))
    pipeline = T1Transformer(method="linear") * NaiveForecaster("last")
    assert pipeline.fit(y, fh=[1, 2]).predict().notna().all().all()
