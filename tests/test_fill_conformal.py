"""Intervals: coverage on fresh cells, borrowing, the rule for what was never rehearsed."""

import math

import numpy as np
import pytest

from t1.errors import InputError
from t1.fill.conformal import HARDER, Calibration, Spread, calibrate, guess_spread, narrowest
from t1.fill.gaps import N_CLASSES, N_INNER, NEVER, TYPICAL


def ones(n: int) -> Spread:
    return Spread(np.ones(n), np.ones(n))


def calibrated(
    error: np.ndarray,
    *,
    level: float = 0.9,
    spread: Spread | None = None,
    column: np.ndarray | None = None,
    code: np.ndarray | None = None,
    event: np.ndarray | None = None,
    distance: np.ndarray | None = None,
    n_vars: int = 1,
    guess: str = "constant",
) -> Calibration:
    n = len(error)
    return calibrate(
        level,
        guess,
        error,
        ones(n) if spread is None else spread,
        np.zeros(n, np.intp) if column is None else column,
        np.zeros(n, np.int8) if code is None else code,
        np.arange(n) if event is None else event,
        np.ones(n, np.int32) if distance is None else distance,
        n_vars,
    )


def test_the_factor_is_the_right_order_statistic():
    error = np.random.default_rng(0).permutation(np.arange(1.0, 100.0))  # 99 of them
    # a little less than the 90th and 50th of 99, since a rehearsal is harder than the fill
    harder = 99 * HARDER
    assert calibrated(error).factor[0, 0] == pytest.approx(90 - harder * 0.1 * np.log(10))
    assert calibrated(-error, level=0.5).factor[0, 0] == pytest.approx(50 - harder * 0.5 * np.log(2))
    assert calibrated(error[:3], level=0.99).factor[0, 0] == pytest.approx(error[:3].max())


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_coverage_of_fresh_cells_is_as_promised_where_spreads_differ(level):
    """Heteroscedastic errors with skewed guesses, in three columns: within 0.03 in the mean, as promised."""
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)

        def draw(n: int, rng: np.random.Generator = rng) -> tuple[np.ndarray, Spread, np.ndarray]:
            size = np.exp(rng.normal(0, 1, n))
            column = rng.integers(0, 3, n)
            guess = Spread(size * rng.uniform(0.8, 1.2, n), 2 * size * rng.uniform(0.8, 1.2, n))
            return rng.standard_t(4, n) * size * (1 + column), guess, column

        error, spread, column = draw(300)
        fitted = calibrated(error, level=level, spread=spread, column=column, n_vars=3)
        error, spread, column = draw(3000)
        low, high = fitted.bands(
            np.zeros(3000), spread, column, np.zeros(3000, np.int8), np.ones(3000, np.int32)
        )
        inside.append(((low <= -error) & (-error <= high)).mean())  # error is fill less truth
    assert np.mean(inside) == pytest.approx(level, abs=0.03)


def test_coverage_of_fresh_events_whose_cells_are_alike():
    """Forty cells of an event share most of their error: ten such events still hold for an eleventh."""
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)

        def draw(n: int, rng: np.random.Generator = rng) -> np.ndarray:
            return np.repeat(rng.normal(0, 1, n), 40) + rng.normal(0, 0.3, 40 * n)

        factor = calibrated(draw(10), event=np.repeat(np.arange(10), 40)).factor[0, 0]
        inside.append((np.abs(draw(200)) <= factor).mean())
    assert 0.86 < np.mean(inside) < 0.94


def test_an_error_counts_on_the_side_it_lies_on():
    spread = Spread(down=np.array([1.0, 1.0]), up=np.array([4.0, 4.0]))
    assert spread.score(np.array([2.0, -2.0])).tolist() == [2, 0.5]  # fill above truth: below counts


def test_a_thin_column_is_drawn_towards_all_columns():
    rng = np.random.default_rng(1)
    column = np.repeat([0, 1], [600, 3])
    error = np.abs(rng.normal(size=603)) * np.where(column == 0, 1, 5)
    factor = calibrated(error, column=column, n_vars=3).factor
    assert factor[0, 0] == pytest.approx(1.64, abs=0.2)
    assert factor[2, 0] == pytest.approx(factor[0, 0], rel=0.1)  # nothing of its own
    own = calibrated(error[-3:]).factor[0, 0]
    assert factor[0, 0] < factor[1, 0] < 0.5 * (factor[0, 0] + own)


def test_a_class_that_was_never_rehearsed_is_wider_by_the_stated_rule_and_marked():
    """The square root of how much longer its gaps are; an edge is as far as a gap four times as long."""
    error = np.tile([1.0], 300)
    fitted = calibrated(error, code=np.full(300, 2, np.int8))
    factor = fitted.factor[0]
    assert fitted.tested[0].tolist() == [c == 2 for c in range(N_CLASSES)]
    assert factor[2] == pytest.approx(1)
    assert factor[0] == factor[1] == pytest.approx(1)  # never narrower than what was seen
    assert factor[3] == pytest.approx(math.sqrt(TYPICAL[3] / TYPICAL[2]))
    assert factor[4] == pytest.approx(math.sqrt(TYPICAL[4] / TYPICAL[2]))
    assert factor[N_INNER] == pytest.approx(2)
    assert factor[N_INNER + 1] == pytest.approx(math.sqrt(4 * TYPICAL[6] / TYPICAL[2]))
    own = calibrated(error, code=np.full(300, 2, np.int8), guess="distance").factor[0]
    assert 1 < own[4] < factor[4]  # this guess grows with the distance by itself


def test_with_one_width_for_all_cells_longer_gaps_never_get_a_narrower_interval():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(N_CLASSES, dtype=np.int8), 100)
    size = np.array([3.0, 1.0, 2.0, 1.0, 5.0, 2.0, 1.0, 1.0])[code]
    factor = calibrated(rng.normal(0, size), code=code).factor[0]
    assert (np.diff(factor[:N_INNER]) >= 0).all() and factor[N_INNER + 1] >= factor[N_INNER]
    assert factor[N_INNER] >= factor[2] and factor[N_INNER + 1] >= factor[3]  # an edge is no easier
    free = calibrated(rng.normal(0, size), code=code, guess="distance").factor[0]
    assert (np.diff(free[:N_INNER]) < 0).any()  # where the guess itself grows, its factor may fall


def test_classes_that_came_out_the_wrong_way_round_get_their_mean_and_not_the_wider_of_both():
    """Gaps of all lengths are as hard as another: by chance each longer one may seem the easier."""
    code = np.repeat(np.arange(N_INNER, dtype=np.int8), 60)
    width = []
    for seed in range(100):
        error = np.random.default_rng(seed).normal(size=len(code))
        width.append(calibrated(error, code=code).factor[0, :N_INNER].mean())
    assert np.mean(width) == pytest.approx(1.645, rel=0.03)  # as wide as the 90 % of a normal distribution


def test_an_edge_that_is_longer_than_what_was_rehearsed_is_wider_further_out():
    code = np.repeat(np.array([0, N_INNER + 1], np.int8), 100)
    fitted = calibrated(np.ones(200), code=code, distance=np.tile(np.arange(1, 51, dtype=np.int32), 4))
    at = np.array([10, 50, 200], np.int32)
    here = {"column": np.zeros(3, np.intp), "spread": ones(3), "distance": at}
    _, edge = fitted.bands(np.zeros(3), code=np.full(3, N_INNER + 1, np.int8), **here)
    assert edge.tolist() == pytest.approx([1, 1, 2])  # four times as far
    _, inner = fitted.bands(np.zeros(3), code=np.zeros(3, np.int8), **here)
    assert inner.tolist() == pytest.approx([1, 1, 1])


def test_fewer_events_give_wider_intervals():
    error = np.random.default_rng(5).normal(size=400)
    factors = [calibrated(error, event=np.arange(400) // size).factor[0, 0] for size in (1, 20, 100)]
    assert factors == sorted(factors) and factors[2] > 1.04 * factors[0]


def test_a_series_without_the_column_gets_the_spread_of_all_where_nothing_of_the_kind_was_rehearsed():
    fitted = calibrated(np.random.default_rng(0).normal(0, 9, 300))
    assert fitted.factor[0, NEVER] == pytest.approx(1.645, abs=1e-3) and not fitted.tested[0, NEVER]
    error = np.random.default_rng(0).normal(0, 9, 300)
    code = np.repeat(np.array([0, NEVER], np.int8), 150)
    fitted = calibrated(error, code=code)
    assert fitted.factor[0, NEVER] > 9 and fitted.tested[0, NEVER]


def test_no_evidence_gives_no_interval():
    fitted = calibrated(np.zeros(0))
    assert np.isnan(fitted.factor).all() and not fitted.tested.any()
    nothing = calibrated(np.full(5, np.nan))
    assert np.isnan(nothing.factor).all()


@pytest.mark.parametrize("level", [0, 1, 90, -0.1])
def test_a_wrong_level_is_refused(level):
    with pytest.raises(InputError, match=r"Give 0\.9 for 90 %"):
        calibrated(np.ones(3), level=level)


def test_a_guess_of_t1_has_a_floor_and_where_it_has_none_the_distance_speaks():
    scale, column = np.array([2.0]), np.zeros(3, np.intp)
    down = np.array([0.0, 1.0, np.nan])
    code = np.zeros(3, np.int8)
    spread = guess_spread("t1", column, code, np.array([1, 4, 16], np.int32), scale, down, down)
    assert spread.down.tolist() == pytest.approx([0.04, 1.0, 2.0 * 4 / 4])
    same = guess_spread("constant", column, code, np.array([1, 4, 16], np.int32), scale, down, down)
    assert same.up.tolist() == [2, 2, 2]
    never = np.full(3, NEVER, np.int8)  # no distance either: series are as far apart as the column is wide
    spread = guess_spread("distance", column, never, np.array([1, 4, 16], np.int32), scale, None, None)
    assert spread.up.tolist() == [2, 2, 2]


def test_the_guess_that_follows_the_errors_is_chosen():
    rng = np.random.default_rng(0)
    column, size = np.zeros(500, np.intp), np.exp(rng.normal(0, 1, 500))
    error = rng.normal(0, size)
    guesses = {"t1": Spread(size, size), "constant": ones(500)}
    assert narrowest(0.9, guesses, error, column, np.ones(1)) == "t1"
    guesses["t1"] = Spread(rng.permutation(size), rng.permutation(size))
    assert narrowest(0.9, guesses, error, column, np.ones(1)) == "constant"
    assert narrowest(0.9, guesses, np.full(500, np.nan), column, np.ones(1)) == "constant"
