"""The blend: weights that sum to one, linear where evidence is thin, the weighted mean of the fills."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from t1.fill.belief import FEWEST
from t1.fill.blend import Blend, _towards, learn_blend
from t1.fill.gaps import N_CLASSES, N_INNER

NAN = np.nan
NAMES = ("linear", "other", "third")


def learned(
    errors: np.ndarray,
    *,
    column: np.ndarray | None = None,
    code: np.ndarray | int = 0,
    event: np.ndarray | None = None,
    n_vars: int = 1,
    known: tuple[str, ...] = (),
    trained: tuple[str, ...] = (),
) -> Blend:
    """A blend from errors (methods, cells), each cell an event of its own unless told."""
    n = errors.shape[1]
    return learn_blend(
        NAMES[: len(errors)],
        errors,
        np.zeros(n, dtype=np.intp) if column is None else column,
        np.broadcast_to(np.int8(code), n).copy() if np.ndim(code) == 0 else np.asarray(code, np.int8),
        np.arange(n) if event is None else event,
        np.ones(n_vars),
        known,
        trained,
    )


def noise(n: int, *sizes: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.normal(0, size, n) for size in sizes])


@settings(max_examples=80)
@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 3), st.integers(0, 60)),
        elements=st.one_of(st.just(NAN), st.floats(-1e12, 1e12)),
    ),
    st.integers(0, 5),
)
def test_weights_are_never_negative_and_sum_to_one(errors, seed):
    rng = np.random.default_rng(seed)
    n = errors.shape[1]
    blend = learned(
        errors,
        column=rng.integers(0, 3, n),
        code=rng.integers(0, N_CLASSES, n).astype(np.int8),
        event=np.sort(rng.integers(0, n // 2 + 1, n)),
        n_vars=3,
    )
    assert (blend.weights >= 0).all()
    np.testing.assert_allclose(blend.weights.sum(axis=2), 1, atol=1e-12)


def test_a_method_that_is_clearly_better_takes_most():
    blend = learned(noise(200, 2.0, 0.2))
    assert blend.weights[0, 0, 1] > 0.9
    assert blend.label(0, 0).split(" + ")[0] == "other"


def test_methods_whose_errors_differ_are_mixed():
    one, two = noise(400, 1.0, 1.0)
    blend = learned(np.stack([np.abs(noise(400, 3.0, seed=1)[0]), one, two]))
    assert blend.weights[0, 0, 1] > 0.25 and blend.weights[0, 0, 2] > 0.25
    mixed = np.abs(blend.weights[0, 0] @ np.stack([one * 0, one, two])).mean()
    assert mixed < 0.85 * np.abs(one).mean()


@pytest.mark.parametrize("gain", [0.0, 0.002])
def test_ties_and_trifles_go_to_linear(gain):
    linear = noise(300, 1.0)[0]
    blend = learned(np.stack([linear, linear * (1 - gain)]))
    assert blend.weights[0, :, 0].min() == 1


def test_a_worse_method_fills_nothing():
    linear = noise(300, 1.0)[0]
    assert learned(np.stack([linear, 3 * linear + 1])).weights[..., 0].min() == 1


def test_few_events_do_not_count_however_many_cells_they_have():
    errors = noise(300, 2.0, 0.2)
    event = np.repeat(np.arange(FEWEST - 1), 100)
    assert learned(errors, event=event).weights[..., 0].min() == 1
    assert learned(errors, event=np.arange(300) // 10).weights[0, 0, 1] > 0.5


def test_few_events_must_be_further_ahead_than_many():
    """The same gain in units of its noise: enough for sixty events, not for five."""
    gain = np.tile([1.0, 1.0, 1.0, -1.0, -1.0], 12) + 0.3
    many = np.stack([10 + gain, np.full(60, 10.0)])
    assert learned(many).weights[0, 0, 1] > 0.5
    assert learned(many[:, :5]).weights[0, 0, 0] == 1


def test_nothing_to_go_by_is_linear_and_untested():
    blend = learned(np.zeros((2, 0)))
    assert (blend.weights[..., 0] == 1).all() and not blend.tested.any()


def test_pretrained_weights_fill_where_nothing_can_be_told_but_not_at_an_edge():
    blend = learned(np.zeros((2, 0)), known=("other",))
    assert (blend.weights[:, :N_INNER, 1] == 1).all() and (blend.weights[:, N_INNER:, 0] == 1).all()
    assert not blend.tested.any()


def test_pretrained_weights_lose_their_credit_where_cells_speak_against_them():
    linear = np.abs(noise(60, 1.0)[0]) + 0.5
    assert (learned(np.stack([linear, 1.5 * linear]), known=("other",)).weights[0, 0] == [1, 0]).all()
    assert learned(np.stack([linear, 0.9 * linear]), known=("other",)).weights[0, 0, 1] > 0.5


@pytest.mark.parametrize("seed", [0, 12])
def test_pretrained_weights_and_the_same_tuned_share_their_credit(seed):
    """Where gaps are few it is the credit that lets T1 fill; a twin of it must not take a part of it away."""
    rng = np.random.default_rng(seed)
    linear = rng.gamma(1, 1, 8) + 0.1
    t1 = linear * rng.uniform(0.6, 1.3, 8)
    assert learned(np.stack([linear, t1]), known=("other",)).weights[0, 0, 0] == 0
    twins = np.stack([linear, t1, 1.04 * t1])
    assert learned(twins, known=("other", "third")).weights[0, 0, 0] == 0
    assert learned(twins, known=("third",)).weights[0, 0, 0] == 1  # with less credit, linear


def test_what_was_trained_shares_half_of_the_weight_and_the_closer_ones_have_more_of_it():
    errors = np.abs(noise(400, 2.0)).repeat(3, axis=0) * [[1.0], [0.5], [0.55]]
    alone, shared, worse = (
        learned(errors * [[1.0], [1.0], [factor]], trained=trained).weights[0, 0]
        for factor, trained in ((1.0, ()), (1.0, ("other", "third")), (1.5, ("other", "third")))
    )
    assert alone[2] < 0.1  # it is worse in every cell
    assert 0.15 < shared[2] < 0.3 and shared[2] < shared[1]
    assert worse[2] < shared[2] / 2
    one = learned(errors, trained=("third",)).weights[0, 0]
    np.testing.assert_array_equal(one, alone)  # there is nothing to share


def test_what_was_trained_takes_nothing_from_what_is_far_ahead():
    """A regression that is exact, or nearly so."""
    rng = np.random.default_rng(0)
    linear = rng.normal(size=300)
    for best in (0.0, 0.05):
        errors = np.stack([linear, best * linear, 0.5 * rng.normal(size=300)])
        weights = learned(errors, trained=("linear", "third")).weights[0, 0]
        assert weights[1] == pytest.approx(1.0)


def test_a_copy_of_a_column_is_found_with_few_gaps():
    """Seven gaps and an exact copy beside the column; "nothing beat linear" would be false."""
    linear = np.random.default_rng(3).gamma(2, 1, 7)
    blend = learned(np.stack([linear, np.zeros(7)]))
    assert blend.weights[0, 0].tolist() == [0, 1]


def test_a_thin_class_asks_its_neighbours_but_an_edge_never_asks_the_inside():
    errors = noise(300, 2.0, 0.2)
    blend = learned(errors, code=np.repeat(np.int8(1), 300))
    assert blend.weights[0, 2, 1] > 0.9 and not blend.tested[0, 2]
    assert (blend.weights[0, N_INNER:, 0] == 1).all()  # nothing is known about edges
    edges = learned(errors, code=np.repeat(np.int8(N_INNER), 300))
    assert edges.weights[0, N_INNER + 1, 1] > 0.9
    assert (edges.weights[0, :N_INNER, 0] == 1).all()


@pytest.mark.parametrize("code", [3, 4])
def test_a_few_long_gaps_are_not_drowned_by_many_short_ones(code):
    """A straight line is good enough for single cells, and useless in an outage: six rehearsed ones say so."""
    short, long = np.repeat(noise(600, 0.5), 2, axis=0), noise(6 * 40, 2.0, 0.4, seed=1)
    blend = learned(
        np.hstack([short, long]),
        code=np.repeat(np.int8([0, code]), [600, 240]),
        event=np.append(np.arange(600), 600 + np.arange(240) // 40),
    )
    assert blend.weights[0, 0, 0] == 1
    assert (blend.weights[0, 3:N_INNER, 1] > 0.5).all()  # also the class that was not rehearsed
    assert blend.tested[0, :N_INNER].tolist() == [c in (0, code) for c in range(N_INNER)]


def test_a_column_that_disagrees_is_heard():
    """Nine columns are for the other method, one is against it."""
    errors = noise(1000, 2.0, 0.2)
    column = np.repeat(np.arange(10), 100)
    errors[:, column == 9] = errors[::-1, column == 9]
    blend = learned(errors, column=column, n_vars=10)
    assert (blend.weights[:9, 0, 1] > 0.9).all()
    assert blend.weights[9, 0, 0] == 1


@pytest.mark.parametrize("long", [False, True])
def test_a_smooth_column_among_rough_ones_keeps_its_line(long):
    """A population beside prices: linear is nearly exact there; two dozen gaps say so, of one length or of two."""
    errors = noise(1000, 2.0, 0.5)
    column = np.repeat(np.arange(10), 100)
    few = (column < 9) | (np.arange(1000) % 4 == 0)
    errors, column = errors[:, few], column[few]
    errors[:, column == 9] *= [[0.002], [0.04]]  # in units of the column's spread: .004 and .02
    code = np.where(np.arange(len(column)) % 2, 0, 1 if long else 0).astype(np.int8)
    blend = learned(errors, column=column, code=code, n_vars=10, known=("other",))
    assert (blend.weights[:9, 0, 1] > 0.9).all()
    assert blend.weights[9, 0, 0] == 1


@pytest.mark.parametrize("seed", range(8))
def test_two_methods_that_are_alike_do_not_beat_linear_by_chance(seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=60)
    errors = np.stack([base, base + rng.normal(0, 0.5, 60), base + rng.normal(0, 0.5, 60)])
    weights = learned(errors).weights[0, 0]
    fresh = rng.normal(size=4000)
    later = np.stack([fresh, fresh + rng.normal(0, 0.5, 4000), fresh + rng.normal(0, 0.5, 4000)])
    assert np.abs(weights @ later).mean() < 1.03 * np.abs(fresh).mean()


def test_a_method_without_an_answer_is_judged_by_linears():
    errors = noise(300, 2.0, 0.2)
    errors[1, ::2] = NAN  # half of its answers are missing: there it is no better than linear
    weights = learned(errors).weights[0, 0]
    assert weights[1] > 0.9
    errors[1] = NAN
    assert learned(errors).weights[0, 0, 0] == 1


# The mix.


def one_blend(*weights: float) -> Blend:
    return Blend(
        NAMES[: len(weights)],
        np.broadcast_to(np.array(weights), (1, N_CLASSES, len(weights))).copy(),
        np.ones((1, N_CLASSES), dtype=bool),
    )


def mix(blend: Blend, fills: list[list[float]]) -> list[float]:
    n = len(fills[0])
    return blend.mix(np.array(fills), np.zeros(n, np.intp), np.zeros(n, np.int8)).tolist()


def test_the_fill_is_the_weighted_mean():
    assert mix(one_blend(0.25, 0.75), [[4, 0], [8, 4]]) == [7, 3]


def test_a_method_without_an_answer_is_left_out_of_the_mix():
    blend = one_blend(0.2, 0.6, 0.2)
    assert mix(blend, [[1, 1, NAN], [NAN, NAN, NAN], [3, np.inf, 5]]) == [2, 1, 5]


def test_where_no_method_with_a_weight_has_an_answer_linear_stands_then_any_other():
    blend = one_blend(0, 1, 0)
    filled = mix(blend, [[1, NAN, NAN], [NAN, NAN, NAN], [3, 3, NAN]])
    assert filled[:2] == [1, 3] and np.isnan(filled[2])


def test_labels_go_by_weight():
    assert one_blend(0.2, 0.5, 0.3).label(0, 0) == "other + third + linear"
    assert one_blend(0, 1, 0).label(0, 0) == "other"


def test_one_method_for_all():
    blend = Blend.of_one(NAMES, "third", 2, np.zeros((2, N_CLASSES), dtype=bool))
    assert (blend.weights == [0, 0, 1]).all()


def test_what_is_clear_beyond_all_measure_is_believed():
    """Errors of 1e250 that are all alike."""
    errors = np.stack([np.full(16, 1e250), np.zeros(16)])
    every = np.arange(16)
    with np.errstate(over="ignore"):
        weights = _towards(np.array([1.0, 0.0]), np.array([0.0, 1.0]), errors, every, every, half=50.0)
    np.testing.assert_allclose(weights, [0, 1])
