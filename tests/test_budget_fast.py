"""The budget "fast" trains nothing, whatever else is asked for."""

import numpy as np
import pytest

import t1

TABLE = np.cumsum(np.random.default_rng(0).normal(size=(120, 2)), axis=0)
TABLE[40:44, 0] = np.nan


@pytest.mark.parametrize(
    "options",
    [{"method": "dlinear"}, {"method": "t1", "weights": "none"}, {"method": "t1-zero", "weights": "none"}],
)
def test_what_has_to_be_trained_is_refused_before_time_is_spent(options):
    with pytest.raises(t1.InputError, match="has to be trained") as error:
        t1.impute(TABLE, budget="fast", **options)
    assert error.value.option == "budget" and "30s" in error.value.cure


def test_without_pretrained_weights_t1_takes_no_part_and_says_so():
    result = t1.impute(TABLE, budget="fast", weights="none")
    assert not any(name.startswith("t1") for name in result.scorecard.by_method)
    assert any("T1 was left out" in note for note in result.notes)
