"""Training, validation and test windows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from t1.data.scale import Scaler
from t1.data.split import Split, by_rows, by_window_share, disjoint
from t1.data.window import WindowSet
from t1.errors import InputError


def counts(split: Split) -> tuple[int, int, int]:
    return len(split.train), len(split.valid), len(split.test)


def rows_of(starts, window):
    return set((starts[:, None] + np.arange(window)).ravel().tolist())


@pytest.mark.parametrize(
    ("n_rows", "rows", "windows"),
    [
        (17420, (8640, 2880, 2880), (8545, 2785, 2785)),  # ETTh1, ETTh2
        (69680, (34560, 11520, 11520), (34465, 11425, 11425)),  # ETTm1, ETTm2
    ],
)
def test_the_protocol_counts_by_rows(n_rows, rows, windows):
    assert counts(by_rows(n_rows, 96, *rows)) == windows


@pytest.mark.parametrize(
    ("n_rows", "windows"),
    [
        (52696, (36820, 5260, 10521)),  # Weather
        (7588, (5245, 749, 1499)),  # Exchange
        (966, (609, 87, 175)),  # Illness
        (26304, (18346, 2620, 5243)),  # Electricity
        (26208, (18279, 2611, 5223)),  # PEMS03
    ],
)
def test_the_protocol_counts_by_window_share(n_rows, windows):
    assert counts(by_window_share(n_rows, 96)) == windows


def test_etth1_on_disk(data_dir):
    table = pd.read_csv(data_dir / "ETT-small" / "ETTh1.csv").drop(columns="date").to_numpy()
    split = by_rows(len(table), 96, 8640, 2880, 2880)
    assert (split.valid[0], split.test[0], split.test[-1] + 96) == (8640, 11520, 14400)
    scaled = Scaler.from_observed(table[:8640]).scale(table)
    np.testing.assert_allclose(scaled[:8640].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled[:8640].std(axis=0), 1, rtol=1e-12)
    windows = WindowSet.from_series(scaled, 96, starts=split.test)
    assert windows.values.shape == (2785, 96, 7)
    np.testing.assert_array_equal(windows.batch([0, -1])[0][1], scaled[14304:14400].astype(np.float32))


SIZES = {"n_rows": st.integers(1, 300), "window": st.integers(1, 20)}
SHARES = st.integers(0, 100).map(lambda percent: percent / 100)


@given(**SIZES, train=SHARES, valid=SHARES)
def test_disjoint_parts_share_no_row(n_rows, window, train, valid):
    try:
        split = disjoint(n_rows, window, train, valid)
    except InputError:
        assume(False)
    train_rows, valid_rows, test_rows = (
        rows_of(part, window) for part in (split.train, split.valid, split.test)
    )
    assert max(train_rows) < min(valid_rows) <= max(valid_rows) < min(test_rows)
    assert train_rows | valid_rows | test_rows == set(range(n_rows))  # and none is left out


@given(window=st.integers(1, 20), sizes=st.tuples(*[st.integers(0, 60)] * 3), spare=st.integers(0, 9))
def test_windows_by_rows_stay_inside_their_part(window, sizes, spare):
    assume(min(sizes) >= window)
    split = by_rows(sum(sizes) + spare, window, *sizes)
    ends = np.cumsum(sizes)
    for part, end, size in zip((split.train, split.valid, split.test), ends, sizes, strict=True):
        assert rows_of(part, window) == set(range(end - size, end))


@example(n_rows=100, window=1, train=29, valid=57)  # 0.29 * 100 is 28.999..., 0.57 * 100 56.999... in floats
@given(**SIZES, train=st.integers(0, 100), valid=st.integers(0, 100))
def test_window_shares_are_exact_floors_and_cover_all_windows(n_rows, window, train, valid):
    try:
        split = by_window_share(n_rows, window, train / 100, valid / 100)
    except InputError:
        assume(False)
    n_windows = n_rows - window + 1
    assert len(split.train) == Fraction(train, 100) * n_windows // 1
    assert len(split.valid) == Fraction(valid, 100) * n_windows // 1
    everything = np.concatenate([split.train, split.valid, split.test])
    np.testing.assert_array_equal(everything, np.arange(n_windows))


@pytest.mark.parametrize("split", [by_window_share, disjoint])
def test_a_part_without_a_window_says_which_and_what_to_do(split):
    with pytest.raises(InputError, match="the valid part of 100 rows has no window of 96 rows") as error:
        split(100, 96, train=0.97, valid=0.0) if split is by_window_share else split(100, 96, 0.96, 0.01)
    assert "\nUse a shorter window" in str(error.value)
    with pytest.raises(InputError, match="the train part of 5 rows has no window of 96 rows"):
        split(5, 96)


def test_impossible_shares_and_rows_are_refused():
    with pytest.raises(InputError, match="nor more than 1 together"):
        by_window_share(1000, 96, train=0.9, valid=0.2)
    with pytest.raises(InputError, match="must not be negative"):
        disjoint(1000, 96, train=-0.1, valid=0.2)
    with pytest.raises(InputError, match="asks for 8640 \\+ 2880 \\+ 2880 rows, the table has 14399"):
        by_rows(14399, 96, 8640, 2880, 2880)
    with pytest.raises(InputError, match="the test part"):
        by_rows(1000, 96, 500, 405, 95)
