"""The prior over tables: every kind is what it says, and a seed gives the same numbers."""

import doctest
import importlib.util
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t1.errors import InputError
from t1.methods.seasons import find_period
from t1.synthetic import FACTORS, SENSORS, draw_table, table
from t1.synthetic.factors import smooth

ROOT = Path(__file__).parents[1]


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", FACTORS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([1, 2, 25, 400]), period=st.floats(3, 300))
def test_a_factor_is_finite_repeatable_and_of_about_unit_deviation(name, seed, n, period):
    kind = FACTORS[name]
    x = kind.draw(n, rng(seed), period)
    assert x.shape == (n,) and x.dtype == np.float64
    assert np.isfinite(x).all()
    assert np.array_equal(x, kind.draw(n, rng(seed), period))
    assert x.std() < 3  # a stretch of a slow one may vary little


@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_varies_and_every_draw_is_another(name):
    drawn = [FACTORS[name].draw(600, rng(seed), 24.0) for seed in range(20)]
    spreads = [x.std() for x in drawn]
    assert 0.8 < np.mean(spreads) < 1.2
    assert len({x.tobytes() for x in drawn}) >= 18  # a level may happen never to change


@pytest.mark.parametrize("name", [name for name, kind in FACTORS.items() if kind.seasonal])
def test_a_seasonal_factor_repeats_itself_with_the_period(name):
    found = 0
    for seed in range(20):
        x = FACTORS[name].draw(24 * 60, rng(seed), 24.0)
        period = find_period(x[:, None])
        found += period is not None and (24 % period == 0 or period % 24 == 0)
    assert found >= 15
    assert not any(kind.seasonal for kind in FACTORS.values() if kind.draw.__name__ == "oscillation")


@pytest.mark.parametrize("name", SENSORS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([1, 2, 25, 400]))
def test_a_sensor_is_finite_and_repeatable_and_leaves_its_input_alone(name, seed, n):
    x = smooth(n, rng(seed), 0.0)
    before = x.copy()
    y = SENSORS[name].draw(x, rng(seed, 1))
    assert y.shape == (n,)
    assert np.isfinite(y).all()
    assert np.array_equal(y, SENSORS[name].draw(x, rng(seed, 1)))
    assert np.array_equal(x, before)


def recorded(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x = smooth(500, rng(seed), 0.0) + 0.1 * rng(seed, 2).normal(size=500)
    return x, SENSORS[name].draw(x, rng(seed, 1))


def test_sensors_do_what_their_names_say():
    for seed in range(20):
        x, y = recorded("from_zero", seed)
        assert y.min() >= 0
        _, y = recorded("counts", seed)
        assert (y == y.round()).all() and y.min() >= 0
        _, y = recorded("counter", seed)
        assert (np.diff(y) >= 0).mean() > 0.97  # but for the turnovers
        _, y = recorded("rounded", seed)
        assert len(np.unique(y)) < 300
        x, y = recorded("held", seed)
        assert (np.diff(y) == 0).mean() > 0.1 and np.isin(y, x).all()
        x, y = recorded("pegged", seed)
        assert (y == y.max()).sum() >= 2 and y.min() >= x.min()
        x, y = recorded("spikes", seed)
        assert 0 <= (x != y).sum() < 50
        for name in ("exponential", "saturating"):
            x, y = recorded(name, seed)
            order = np.argsort(x)
            assert (np.diff(y[order]) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_rows=st.integers(1, 200), n_columns=st.integers(1, 9))
def test_a_table_is_standardised_finite_and_repeatable(seed, n_rows, n_columns):
    drawn = draw_table(rng(seed), n_rows, n_columns)
    assert drawn.values.shape == (n_rows, n_columns) and drawn.values.dtype == np.float32
    assert np.isfinite(drawn.values).all()
    assert np.abs(drawn.values.mean(0)).max() < 1e-4
    spread = drawn.values.std(0)
    assert ((np.abs(spread - 1) < 1e-3) | (spread == 0)).all()
    again = draw_table(rng(seed), n_rows, n_columns)
    assert again.period == drawn.period and np.array_equal(again.values, drawn.values)
    assert drawn.period is None or 5 <= drawn.period <= 288


def test_the_period_of_a_table_is_in_its_columns():
    told = found = 0
    for seed in range(40):
        drawn = draw_table(rng(seed), 4000, 6)
        if drawn.period is not None:
            told += 1
            period = find_period(drawn.values.astype(np.float64))
            if period is not None:  # or a multiple or a part of it
                ratio = max(period, drawn.period) / min(period, drawn.period)
                found += abs(ratio - round(ratio)) < 0.05
    assert 15 < told < 33
    assert found > 0.5 * told


def test_columns_of_a_table_tell_about_each_other():
    strongest = []
    for seed in range(30):
        values = draw_table(rng(seed), 500, 6).values
        with np.errstate(invalid="ignore"):
            correlation = np.abs(np.nan_to_num(np.corrcoef(values.T)))
        strongest.append((correlation - np.eye(6)).max())
    assert np.median(strongest) > 0.6


def test_a_chain_follows_late():
    columns = [np.random.default_rng(i).normal(size=2000).cumsum() for i in range(2)]
    for seed in range(5):
        own = [c.copy() for c in columns]
        generator = rng(seed)
        table._chain(generator, own)
        above, below = (0, 1) if np.array_equal(own[0], columns[0]) else (1, 0)
        assert not np.array_equal(own[below], columns[below])
        mine, theirs = np.diff(own[below]), np.diff(own[above])
        lags = [np.corrcoef(theirs[: len(theirs) - k], mine[k:])[0, 1] for k in range(12)]
        assert 1 <= int(np.argmax(lags)) <= 9


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (-1, 1)])
def test_an_empty_table_is_refused(sizes):
    with pytest.raises(InputError, match="at least 1"):
        draw_table(rng(0), *sizes)


def test_drawing_is_fast():
    draw_table(rng(0))
    began = process_time()
    for seed in range(50):
        draw_table(rng(seed), 1024, 16)
    assert (process_time() - began) / 50 < 0.012  # 2 ms on a free core, 4 is the aim


def test_examples_in_the_docstrings_run():
    assert doctest.testmod(table).failed == 0
    assert doctest.testmod(table).attempted > 0


def test_page_and_pictures_are_those_of_the_registries():
    spec = importlib.util.spec_from_file_location("draw_synthetic", ROOT / "scripts" / "draw_synthetic.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    pages = script.pages()
    assert {p.stem for p in pages} >= {*FACTORS, *SENSORS}
    kept = {*(ROOT / "docs" / "synthetic").iterdir(), ROOT / "docs" / "synthetic.md"}
    assert kept == set(pages), "run scripts/draw_synthetic.py"
    page = ROOT / "docs" / "synthetic.md"
    assert page.read_text() == pages[page], "run scripts/draw_synthetic.py"
    assert all(p.stat().st_size < 30_000 for p in kept)
    assert all(kind.title for kind in (*FACTORS.values(), *SENSORS.values()))
