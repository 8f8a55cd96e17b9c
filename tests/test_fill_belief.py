"""The belief that a blend is better than linear: what hidden cells say of it, and how they change it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t1.fill.belief import FEWEST, LEAST, MOST, Belief, Seen

PRIOR = Belief(math.log(0.65), 0.23)


def seen(ratio: float, n: int = 40, size: float = 1.0, seed: int = 0) -> Seen:
    rng = np.random.default_rng(seed)
    linear = size * rng.gamma(2, 1, n)
    return Seen.of(linear * ratio * rng.uniform(0.8, 1.2, n), linear, np.arange(n))


def test_a_ratio_is_the_same_in_any_unit():
    small, large = seen(2.0, size=1e-6), seen(2.0, size=1e6)
    assert small.ratio == pytest.approx(large.ratio) == pytest.approx(math.log(2), abs=0.1)
    assert small.noise == pytest.approx(large.noise)


def test_events_count_not_cells():
    errors = np.repeat(np.random.default_rng(1).gamma(2, 1, (2, 12)), 50, axis=1)
    many = Seen.of(errors[0], errors[1], np.repeat(np.arange(12), 50))
    one_each = Seen.of(errors[0, ::50], errors[1, ::50], np.arange(12))
    np.testing.assert_allclose(many, one_each)


def test_few_events_say_nothing_and_more_say_it_more_surely():
    assert seen(3.0, FEWEST - 1).noise == math.inf
    assert PRIOR.learn([(seen(3.0, FEWEST - 1), 0.0)]) == PRIOR
    spreads = [PRIOR.learn([(seen(0.65, n), 0.0)]).spread for n in (8, 50, 500)]
    assert spreads == sorted(spreads, reverse=True)


def test_where_linear_is_exact_everything_can_be_lost():
    none, some = np.zeros(10), np.ones(10)
    assert Seen.of(some, none, np.arange(10)) == (math.log(MOST), 0.0)
    assert Seen.of(none, none, np.arange(10)) == (0.0, 0.0)
    assert Seen.of(none, some, np.arange(10)).ratio == pytest.approx(math.log(LEAST))


def test_what_is_unlike_all_others_is_believed_soon():
    """A belief with a narrow spread gives way to a few events that are far from it and agree with each other."""
    narrow = Belief(math.log(0.65), 0.1)
    assert narrow.learn([(seen(1.1, 6), 0.0)]).mean < 0.0
    assert narrow.learn([(seen(30.0, 6), 0.0)]).mean > 1.0


def test_doubt_takes_weight_away():
    near, far = (PRIOR.learn([(seen(1.2, 100), doubt)]).mean for doubt in (0.0, 0.4))
    assert PRIOR.mean < far < near


@given(st.floats(-3, 3), st.floats(0.05, 1), st.floats(0.01, 20), st.integers(4, 200))
def test_a_belief_lies_between_what_was_believed_and_what_was_seen(mean, spread, ratio, n):
    before, heard = Belief(mean, spread), seen(ratio, n)
    after = before.learn([(heard, 0.0)])
    assert min(mean, heard.ratio) - 1e-9 <= after.mean <= max(mean, heard.ratio) + 1e-9
    assert math.isfinite(after.spread) and after.spread > 0


def test_ahead_asks_for_more_than_a_trifle():
    assert Belief(math.log(0.9), 0.05).ahead(1.0) and not Belief(math.log(0.9), 0.2).ahead(1.0)
    assert not Belief(-1e-3, 0.0).ahead(0.0)
