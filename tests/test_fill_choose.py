"""The choice: the simple one wins ties and thin evidence, the better one wins where it clearly is."""

import numpy as np
import pandas as pd
import pytest
from t1.fill.choose import choose
from t1.fill.engine import classic_candidates, fill_table


def evidence(n_events: int, gains: list[float], *, n_vars: int = 1, code: int = 0, seed: int = 0):
    """Errors of a base method and of challengers that are `gains` better, in single-cell events."""
    rng = np.random.default_rng(seed)
    n_cells = n_events * n_vars
    base = np.abs(rng.normal(size=n_cells)) + 3
    errors = np.stack([base, *(base - gain + 0.1 * rng.normal(size=n_cells) for gain in gains)])
    column = np.repeat(np.arange(n_vars), n_events)
    return errors, column, np.full(n_cells, code, dtype=np.int8), np.arange(n_cells), np.ones(n_vars)


def test_a_clear_win_is_taken_and_the_best_of_two_wins():
    assert choose(*evidence(40, [0.5]))[0, 0] == 1
    assert choose(*evidence(40, [0.5, 1.0]))[0, 0] == 2
    assert choose(*evidence(40, [1.0, 0.5]))[0, 0] == 1


@pytest.mark.parametrize("gain", [0.0, -0.5, 0.02])
def test_ties_and_trifles_go_to_the_simpler_one(gain):
    assert (choose(*evidence(200, [gain])) == 0).all()


def test_equal_errors_are_a_tie():
    errors, *rest = evidence(50, [0.5])
    assert (choose(np.stack([errors[0], errors[0]]), *rest) == 0).all()


def test_few_events_do_not_count_however_many_cells_they_have():
    errors, column, code, _, scale = evidence(60, [0.5])
    assert (choose(errors, column, code, np.arange(60) // 20, scale) == 0).all()  # three events


def test_few_events_must_be_ahead_by_more_standard_errors():
    """Gains of 0.1, 0.2, ... 0.5: 4.2 standard errors ahead, sure enough for 20 such events and not for 5."""
    gains = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    for times, wins in ((1, 0), (4, 1)):
        gain = np.tile(gains, times)
        errors = np.stack([np.full(len(gain), 3.0), 3.0 - gain])
        zeros = np.zeros(len(gain), dtype=np.intp)
        chosen = choose(errors, zeros, zeros.astype(np.int8), np.arange(len(gain)), np.ones(1))
        assert chosen[0, 0] == wins


def test_a_thin_class_borrows_from_its_column_and_a_thin_column_from_its_class():
    errors, column, code, event, scale = evidence(40, [0.5])
    assert (choose(errors, column, code, event, scale) == 1).all()  # all classes of the only column
    chosen = choose(*evidence(3, [0.5], n_vars=10, code=2))
    assert (chosen[:, 2] == 1).all()
    assert (chosen[:, [0, 1, 3, 4]] == 0).all()


def test_own_thin_evidence_against_it_is_heard():
    errors, column, code, event, scale = evidence(40, [0.5])
    code[:5] = 3
    errors[1, :5] = errors[0, :5] + 1
    chosen = choose(errors, column, code, event, scale)
    assert chosen[0, 0] == 1 and chosen[0, 3] == 0


def test_nothing_to_go_by_is_linear():
    none = np.zeros(0, dtype=np.intp)
    assert (choose(np.zeros((3, 0)), none, none.astype(np.int8), none, np.ones(2)) == 0).all()


def test_a_method_that_fails_never_wins():
    errors, *rest = evidence(40, [0.5])
    errors[1, ::3] = np.nan
    assert (choose(errors, *rest) == 0).all()


def single_points(shape: tuple[int, ...], seed: int, rate: float = 0.05) -> np.ndarray:
    hidden = np.random.default_rng(seed).random(shape) < rate
    hidden[1:] &= ~hidden[:-1]
    hidden[[0, -1]] = False
    return hidden


@pytest.mark.parametrize("seed", range(6))
def test_on_random_walks_nothing_beats_a_straight_line(seed):
    walks = np.random.default_rng(seed).normal(size=(4000, 5)).cumsum(axis=0)
    table = np.where(single_points(walks.shape, seed), np.nan, walks)
    filled = fill_table(table, list("abcde"), classic_candidates(), seed=seed)
    assert {s.method for s in filled.scorecard.scores} == {"linear"}
    assert "Linear interpolation everywhere (nothing beat it)" in filled.scorecard.verdict
    straight = fill_table(table, list("abcde"), [], seed=seed)
    np.testing.assert_array_equal(filled.values, straight.values)


def test_exchange_rates_with_single_points(data_dir):
    rates = pd.read_csv(data_dir / "exchange_rate/exchange_rate.csv").select_dtypes("number").to_numpy()
    hidden = single_points(rates.shape, 0)
    table = np.where(hidden, np.nan, rates)
    names = [f"rate {j}" for j in range(rates.shape[1])]
    for j in range(rates.shape[1]):  # a rate on its own is a walk
        alone = fill_table(table[:, [j]], [names[j]], classic_candidates())
        assert {s.method for s in alone.scorecard.scores} == {"linear"}, names[j]
    # Together they tell about each other (a third less error for the first): that is taken where it is real.
    together, straight = (fill_table(table, names, c) for c in (classic_candidates(), []))
    for j, name in enumerate(names):
        ours, linears = (np.abs(f.values - rates)[hidden[:, j], j].mean() for f in (together, straight))
        assert ours <= 1.02 * linears, name
