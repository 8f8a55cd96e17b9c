"""T1 where a PyPOTS imputer could stand: the same calls, the same shapes, scored by PyPOTS."""

import numpy as np
import pytest

import t1
from t1.adapters.pypots import T1ForPyPOTS


def sets() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 6, (40, 1, 1))
    truth = np.sin(np.arange(48)[:, None] / 4 + phase) * [1.0, 2.0, -1.0] + 0.05 * rng.normal(
        size=(40, 48, 3)
    )
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth).astype(np.float32)
    return {"X": X[:20]}, {"X": X[20:], "X_ori": truth[20:]}


def test_the_same_calls_as_for_an_imputer_of_pypots():
    pytest.importorskip("pypots", reason="pypots is not installed: pip install 't1-impute[bench]'")
    from pypots.imputation import Lerp
    from pypots.nn.functional import calc_mae

    train, test = sets()
    hidden = np.isnan(test["X"])
    errors = {}
    for imputer in (Lerp(), T1ForPyPOTS(max_seconds=0, progress=False)):
        imputer.fit(train)
        filled = imputer.predict(test)["imputation"]
        assert filled.shape == test["X"].shape and not np.isnan(filled).any()
        assert (filled[~hidden] == test["X"][~hidden]).all()
        errors[type(imputer).__name__] = calc_mae(filled, test["X_ori"], hidden)
    assert errors["T1ForPyPOTS"] < errors["Lerp"]


def test_what_is_no_set():
    imputer = T1ForPyPOTS(max_seconds=0, progress=False)
    with pytest.raises(t1.InputError, match="dictionary"):
        imputer.fit("train.h5")
    with pytest.raises(t1.InputError, match="shape"):
        imputer.fit({"X": np.ones((4, 3))})
