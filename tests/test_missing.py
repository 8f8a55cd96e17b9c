"""Which cells to hide. The contract tests pick up every pattern in the registry by themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from t1.errors import InputError
from t1.missing import PATTERNS, blackout, block, hide, mnar, outage, own, point

SEEDS = st.integers(0, 2**32 - 1)
MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=4, max_side=9))


def rng(seed=0):
    return np.random.default_rng(seed)


def everything(*shape):
    return np.ones(shape, dtype=bool)


def context(observed, seed=0):
    """What any pattern might need beside the mask: values, and a donor with gaps."""
    values = np.where(observed, rng(seed).normal(size=observed.shape), np.nan)
    donor = rng(seed + 1).random((40, observed.shape[-1])) < 0.8
    donor[5, 0] = False
    return {"values": values, "donor_observed": donor}


def runs(column):
    """The (start, length) of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], column.astype(int), [0]])))
    return [(start, end - start) for start, end in zip(edges[::2], edges[1::2], strict=True)]


# The contract.


@pytest.mark.parametrize("name", PATTERNS)
@given(observed=MASKS, seed=SEEDS)
def test_a_pattern_hides_only_what_was_seen_and_repeats_itself(name, observed, seed):
    given_before = observed.copy()
    beside = context(observed, seed)
    beside_before = {key: array.copy() for key, array in beside.items()}
    hidden = hide(name, observed, rng=rng(seed), **beside)
    again = hide(name, observed, rng=rng(seed), **beside)
    assert hidden.dtype == np.bool_
    assert hidden.shape == observed.shape
    assert not (hidden & ~observed).any()
    assert not np.shares_memory(hidden, observed)
    np.testing.assert_array_equal(hidden, again)
    np.testing.assert_array_equal(observed, given_before)
    for key, array in beside.items():
        np.testing.assert_array_equal(array, beside_before[key])


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_hides_something_differs_by_seed_and_leaves_something(name):
    observed = everything(16, 96, 7)
    hidden = hide(name, observed, rng=rng(1), **context(observed))
    other = hide(name, observed, rng=rng(2), **context(observed))
    assert 0 < hidden.mean() < 0.6
    assert (hidden != other).any()
    assert len({window.tobytes() for window in hidden}) > 3  # windows are drawn on their own


def test_a_wrong_name_setting_or_mask_is_refused():
    with pytest.raises(InputError, match=r"unknown missing pattern 'blok'\.\nDid you mean 'block'"):
        hide("blok", everything(4, 2), rng=rng())
    with pytest.raises(InputError, match=r"'point' has no setting 'ratio'\.\nIt knows: rate\."):
        hide("point", everything(4, 2), rng=rng(), ratio=0.3)
    with pytest.raises(InputError, match="bool mask"):
        hide("point", np.ones((4, 2)), rng=rng())


# Each pattern.


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_point_hides_the_asked_share(rate):
    observed = rng(3).random((64, 96, 7)) < 0.8
    hidden = point(observed, rate=rate, rng=rng())
    assert hidden[observed].mean() == pytest.approx(rate, abs=0.01 if 0 < rate < 1 else 0)


def test_point_draws_a_rate_for_every_window():
    hidden = point(everything(400, 96, 7), rate=(0.2, 0.6), rng=rng())
    rates = hidden.mean(axis=(1, 2))
    assert rates.mean() == pytest.approx(0.4, abs=0.02)
    assert rates.std() == pytest.approx(0.4 / np.sqrt(12), abs=0.02)  # uniform, not one rate for all
    assert 0.12 < rates.min() < 0.24
    assert 0.56 < rates.max() < 0.68


@pytest.mark.parametrize("rate", [-0.1, 1.1, (0.2, 1.5), (0.6, 0.2)])
def test_point_refuses_an_impossible_rate(rate):
    with pytest.raises(InputError, match="rate"):
        point(everything(4, 2), rate=rate, rng=rng())


def test_block_has_the_protocol_share_at_every_step():
    """A cell is free if no run begun k steps before is longer than k; lengths are uniform over 24..96."""
    hidden = block(everything(4000, 96, 7), rng=rng())
    longer = np.array([np.mean(np.arange(24, 97) > k) for k in range(96)])
    expected = 1 - 0.95 * np.cumprod(1 - 0.0015 * longer)
    assert expected[0] == pytest.approx(0.0514, abs=1e-4)
    np.testing.assert_allclose(hidden.mean(axis=(0, 2)), expected, atol=0.012)
    assert hidden.mean() == pytest.approx(expected.mean(), abs=0.003)


def test_block_runs_are_uniform_and_cut_only_at_the_end():
    time = 2000
    hidden = block(everything(300, time, 4), point_rate=0, start_rate=2e-5, rng=rng(5))
    found = [run for window in hidden for column in window.T for run in runs(column)]
    whole = np.array([length for start, length in found if start + length < time])
    assert len(whole) > 30
    assert whole.min() >= 24
    assert whole.max() <= 2 * 96  # two runs may touch
    assert np.median(whole) == pytest.approx(60, abs=12)
    short = block(everything(200, 10, 4), point_rate=0, start_rate=0.02, rng=rng(6))
    assert all(
        start + length == 10 for window in short for column in window.T for start, length in runs(column)
    )
    assert short.any()


def test_block_lengths_include_both_ends():
    hidden = block(
        everything(20000, 30, 1), point_rate=0, start_rate=0.002, min_length=2, max_length=4, rng=rng(7)
    )
    some = hidden[hidden.any(axis=(1, 2))]
    lengths = [length for window in some for start, length in runs(window[:, 0]) if start + length < 30]
    counted = np.bincount(lengths, minlength=5)[2:5]
    assert counted.min() > 0.7 * counted.max()
    assert np.bincount(lengths)[1:2].sum() == 0
    with pytest.raises(InputError, match="1 <= min_length <= max_length"):
        block(everything(4, 2), min_length=9, max_length=3, rng=rng())


def test_outage_takes_whole_variables_and_never_the_last():
    observed = everything(200, 12, 5)
    observed[:, :, 2] = False  # a silent variable is no candidate
    observed[:, 3] = False
    hidden = outage(observed, n_vars=2, rng=rng())
    out = hidden.any(axis=1)
    np.testing.assert_array_equal(out.sum(axis=1), 2)
    np.testing.assert_array_equal(hidden, observed & out[:, None, :])
    assert set(np.flatnonzero(out.any(axis=0))) == {0, 1, 3, 4}
    np.testing.assert_array_equal(outage(observed, n_vars=99, rng=rng()).any(axis=1).sum(axis=1), 3)
    np.testing.assert_array_equal(outage(observed, share=0.5, rng=rng()).any(axis=1).sum(axis=1), 2)
    np.testing.assert_array_equal(outage(observed, share=0.01, rng=rng()).any(axis=1).sum(axis=1), 1)
    assert outage(everything(6, 1), rng=rng()).all()  # the only one there is
    with pytest.raises(InputError, match="at least one variable"):
        outage(observed, n_vars=0, rng=rng())


def test_blackout_is_one_stretch_in_all_variables():
    observed = everything(300, 20, 3)
    hidden = blackout(observed, length=6, rng=rng())
    assert (hidden.any(axis=2) == hidden.all(axis=2)).all()
    found = [runs(window[:, 0]) for window in hidden]
    assert all(len(stretches) == 1 and stretches[0][1] == 6 for stretches in found)
    assert {stretches[0][0] for stretches in found} == set(range(15))  # every place, both ends too
    np.testing.assert_array_equal(blackout(observed, share=0.5, rng=rng()).sum(axis=(1, 2)), 30)
    assert blackout(observed, length=99, rng=rng()).all()
    with pytest.raises(InputError, match="at least one step"):
        blackout(observed, length=0, rng=rng())


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("side", ["high", "low"])
def test_mnar_prefers_one_side_at_the_asked_rate(rate, side):
    values = rng(8).normal(size=(60, 96, 7)) * 10.0 ** np.arange(7)
    observed = rng(9).random(values.shape) < 0.7
    values[~observed] = np.nan
    hidden = mnar(observed, values=values, rate=rate, side=side, rng=rng())
    assert hidden[observed].mean() == pytest.approx(rate, abs=0.02)
    middle = np.nanmedian(values, axis=1, keepdims=True)
    upper = hidden[observed & (values > middle)].mean()
    lower = hidden[observed & (values < middle)].mean()
    assert (upper > 1.3 * lower) if side == "high" else (lower > 1.3 * upper)


def test_mnar_of_equal_values_does_not_depend_on_time():
    hidden = mnar(everything(500, 20, 2), values=np.zeros((500, 20, 2)), rate=0.3, rng=rng())
    many = np.stack(
        [mnar(everything(20, 2), values=np.zeros((20, 2)), rate=0.3, rng=rng(seed)) for seed in range(2000)]
    )
    assert hidden.mean() == pytest.approx(0.3, abs=0.02)
    np.testing.assert_allclose(many.mean(axis=0), 0.3, atol=0.05)


def test_mnar_needs_values_of_the_same_shape():
    for values in (None, np.zeros((3, 2))):
        with pytest.raises(InputError, match=r"by their values.*\nPass values=") as error:
            hide("mnar", everything(4, 2), values=values, rng=rng())
        assert ("got none" in str(error.value)) == (values is None)
    with pytest.raises(InputError, match="'high' or 'low'"):
        hide("mnar", everything(4, 2), values=np.zeros((4, 2)), side="up", rng=rng())


def donor_table(rows=60, n_vars=4):
    """A donor with runs of missing steps; columns 0 and 1 always go missing together, the last never does."""
    missing = np.zeros((rows, n_vars), dtype=bool)
    missing[10:17, :2] = True
    missing[30:33, 2] = True
    missing[50:51, :2] = True
    return ~missing


def test_own_overlays_stretches_of_the_donor_column_by_column():
    donor = donor_table()
    hidden = own(everything(100, 12, 4), donor_observed=donor, rng=rng())
    stretches = {(~donor)[begin : begin + 12].tobytes() for begin in range(60 - 12 + 1)}
    assert {window.tobytes() for window in hidden} <= stretches
    assert hidden.any(axis=(1, 2)).all()  # no window goes without a gap
    assert len({window.tobytes() for window in hidden}) > 20


def test_own_from_samples_never_mixes_two_of_them():
    samples = np.stack([donor_table(), ~np.roll(~donor_table(), 7, axis=0)])
    hidden = own(everything(200, 50, 4), donor_observed=samples, rng=rng())
    stretches = {(~sample)[begin : begin + 50].tobytes() for sample in samples for begin in range(11)}
    assert {window.tobytes() for window in hidden} <= stretches
    assert len({window.tobytes() for window in hidden}) > 11  # both samples give


@pytest.mark.parametrize("n_vars", [2, 3, 6, 9])
def test_own_of_another_width_keeps_columns_missing_together(n_vars):
    donor = donor_table()
    columns = {column.tobytes() for column in (~donor).T}
    hidden = own(everything(50, 60, n_vars), donor_observed=donor, rng=rng())
    assert {column.tobytes() for window in hidden for column in window.T} == columns
    if n_vars <= 4:  # no column twice, so the pair is the only one that can be equal
        twins = [(window[:, 0] == window[:, 1]).all() and window[:, 0].any() for window in hidden]
        assert 0 < sum(twins) < 50


def test_own_of_a_short_donor_goes_round():
    donor = donor_table()[8:20]
    hidden = own(everything(50, 96, 4), donor_observed=donor, rng=rng())
    endless = np.tile(~donor, (10, 1))
    assert {window.tobytes() for window in hidden} == {endless[k : k + 96].tobytes() for k in range(12)}


@pytest.mark.parametrize("donor", [None, np.ones((9, 2), dtype=bool), np.zeros((0, 2), dtype=bool)])
def test_own_needs_a_donor_with_gaps(donor):
    with pytest.raises(InputError, match=r"got none to copy\.\nPass donor_observed="):
        hide("own", everything(4, 2), donor_observed=donor, rng=rng())
