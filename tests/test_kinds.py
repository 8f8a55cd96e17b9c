"""What a column is, and which numbers mean missing: said with evidence, and never without."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import t1
from t1.api.files import impute_file
from t1.data.kinds import KINDS, find_kinds
from t1.data.sentinels import drop_sentinels, find_sentinels
from t1.data.suspicions import own_rate, stuck_stretch, suspicions
from t1.errors import InputError
from t1.fill.gaps import Counted
from t1.fill.rules import Rules
from t1.options import FillOptions, FitOptions

N = 200
rng = np.random.default_rng(0)
t = np.arange(N)
wave = 10 + 5 * np.sin(t / 8) + rng.normal(0, 0.1, N)

COLUMNS = {
    "number": ("temp", wave - 12),
    "non-negative": ("rain", np.maximum(0, rng.normal(-0.5, 1, N))),
    "share": ("fraction_open", rng.random(N) * 0.9),
    "percent": ("humidity", 60 + 30 * np.sin(t / 9) + rng.random(N)),
    "count": ("bikes", rng.poisson(5, N).astype(float)),
    "integer": ("steps_left", rng.integers(-5, 5, N).astype(float)),
    "on/off": ("pump", (rng.random(N) > 0.5).astype(float)),
    "category": ("status_code", rng.choice([0.0, 3.0, 7.0], N)),
    "angle": ("wind_dir", (t * 37.5) % 360),
    "counter": ("energy_total", np.cumsum(rng.random(N))),
    "constant": ("version", np.full(N, 3.0)),
    "calendar": ("month", t % 12 + 1.0),
    "row number": ("n", t + 1.0),
    "id": ("station_id", np.repeat([101.0, 102.0], N // 2)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_kind_is_found_with_its_evidence_also_with_gaps(kind):
    name, column = COLUMNS[kind]
    column = column.copy()
    if kind != "row number":
        column[rng.random(N) < 0.1] = np.nan
    found = find_kinds(column[:, None], [name])[name]
    assert found.name == kind
    assert found.evidence or kind == "number"
    assert not found.given


@pytest.mark.parametrize("name", ["room_sensor", "north_site", "Temp Station", "sensor"])
def test_whole_degrees_are_no_id_whatever_measures_them(name):
    degrees = np.rint(15 + 6 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, N))
    assert find_kinds(degrees[:, None], [name])[name].fillable


@pytest.mark.parametrize("name", ["sensor", "site_id", "station no", "WBAN"])
def test_numbers_that_jump_or_stay_are_an_id(name):
    for column in (
        np.repeat([101.0, 104.0, 108.0], N // 3 + 1)[:N],
        t % 6 + 1.0,
        rng.choice(np.arange(1.0, 11), N),
    ):
        assert find_kinds(column[:, None], [name])[name].name == "id"


def test_the_gaps_of_an_id_are_told_and_are_in_no_scorecard(put, tmp_path):
    station = np.repeat([101.0, 104.0], N // 2)
    table = pd.DataFrame(
        {"time": pd.date_range("2024-01-01", periods=N, freq="h"), "station": station, "x": wave}
    )
    table.loc[10:12, "station"] = np.nan
    table.loc[20:22, "x"] = np.nan
    table.to_csv(tmp_path / "in.csv", index=False)
    options = {"fit_options": FitOptions(budget="fast", method="seasonal"), "fill_options": FillOptions()}
    result = impute_file(tmp_path / "in.csv", tmp_path / "out.csv", reading={}, **options)
    assert "1 column to fill" in result.understood[0]
    assert "'station' is taken for an id" in result.understood[1]
    assert {score.column for score in result.scorecard.scores} == {"x"} and result.n_filled == 3
    result = t1.impute(table, budget="fast", method="seasonal")
    assert any("'station' is taken for an id" in text for text in result.problems)
    reading = {"kind": {"station": "category"}}
    assert impute_file(tmp_path / "in.csv", tmp_path / "out.csv", reading=reading, **options).n_filled == 6


def test_an_angle_is_found_without_its_name():
    column = np.mod(350 + np.cumsum(rng.normal(0, 15, 2000)), 360)
    assert find_kinds(column[:, None], ["x"])["x"].name == "angle"


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("temp", 15 + 5 * np.sin(t / 8) + rng.random(N)),  # above 0 here, but nothing says it stays there
        ("x", np.array([1.0, 2.0, 3.0])),  # too few to tell
        ("x", np.sort(rng.normal(size=12))),  # rises, but for how long
        ("level", 1000 + rng.normal(0, 5, N)),
    ],
)
def test_nothing_is_claimed_without_evidence(name, column):
    assert find_kinds(column[:, None], [name])[name].name == "number"


def test_the_user_decides():
    values = np.column_stack([wave, rng.choice([1.0, 2.0, 5.0], N)])
    kinds = find_kinds(values, ["a", "b"], given={"a": "angle", "b": "category"})
    assert kinds["a"].circular == 360 and kinds["a"].given
    assert kinds["b"].states == (1.0, 2.0, 5.0)
    with pytest.raises(InputError, match=r"angel.*\n.*angle") as caught:
        find_kinds(values, ["a", "b"], given={"a": "angel"})
    assert caught.value.option == "kind"


def test_what_the_first_rows_say_must_hold_for_all():
    n = 120_000
    column = np.abs(rng.normal(size=n))
    column[rng.random(n) < 0.1] = 0
    whole = rng.poisson(5, n).astype(float)
    switch = (rng.random(n) < 0.5).astype(float)
    count = np.cumsum(rng.random(n))
    table = np.column_stack([column, whole, switch, count])
    names = ["rain", "bikes", "pump", "total"]
    kinds = [kind.name for kind in find_kinds(table, names).values()]
    assert kinds == ["non-negative", "count", "on/off", "counter"]
    table[-10:, :3] = -0.5
    table[-10:, 3] -= 5 * np.arange(10)
    assert {kind.name for kind in find_kinds(table, names).values()} == {"number"}


def test_what_lies_lower_after_a_gap_is_no_counter():
    """Employment that rose in every month on record, and fell in the months that are missing."""
    rising = np.concatenate([np.linspace(100, 140, 60), np.full(12, np.nan), np.linspace(130, 160, 60)])
    assert find_kinds(rising[:, None], ["x"])["x"].name == "number"
    reset = np.concatenate([np.linspace(0, 140, 160), np.full(12, np.nan), np.linspace(10, 120, 60)])
    assert find_kinds(reset[:, None], ["x"])["x"].name == "counter"
    ids = np.repeat(["a", "b"], [66, 66])  # another series begins inside the gap
    assert find_kinds(rising[:, None], ["x"], ids=ids)["x"].name == "counter"


def test_counters_may_start_again_and_are_found_per_series():
    reset = np.concatenate([np.cumsum(rng.random(300)), np.cumsum(rng.random(300))])
    assert find_kinds(reset[:, None], ["x"])["x"].name == "counter"
    ids = np.repeat(["a", "b"], 300).astype(object)
    times = np.tile(np.arange(300), 2).astype("M8[h]").astype("M8[ns]")
    shuffled = rng.permutation(600)
    found = find_kinds(reset[shuffled, None], ["x"], ids=ids[shuffled], times=times[shuffled])
    assert found["x"].name == "counter" and "resets" not in found["x"].evidence


def test_copies_and_sums_are_found():
    a, b = rng.normal(size=N), rng.normal(size=N)
    table = np.column_stack([a, b, a, 3.2 * b + 1, a + b])
    table[rng.random(table.shape) < 0.05] = np.nan
    kinds = find_kinds(table, ["a", "b", "c", "d", "e"])
    assert kinds["c"].of == ("a",) and "exact copy" in kinds["c"].evidence
    assert kinds["d"].of == ("b",) and "rescaled copy" in kinds["d"].evidence
    assert set(kinds["e"].of) in ({"a", "b"}, {"b", "c"})
    noisy = find_kinds(np.column_stack([a, a + rng.normal(0, 0.1, N)]), ["a", "b"])
    assert noisy["a"].of == noisy["b"].of == ()


def fill_of(name, fills, around=None):
    """The fills of one gap as the rules about a kind leave them."""
    out = np.array(fills, dtype=float)
    lengths, locked = np.full(len(out), len(out)), np.zeros(len(out), dtype=bool)
    Rules(kinds={"x": KINDS[name]}).touch("x", [out], lengths, locked, around)
    return out


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.sampled_from(sorted(KINDS)))
def test_a_fill_is_within_its_kind(fills, name):
    kind, out = KINDS[name], fill_of(name, fills)
    if not kind.fillable:
        assert np.isnan(out).all()
        return
    assert np.isfinite(out).all() and np.isnan(fill_of(name, [np.nan])).all()
    assert kind.low is None or (out >= kind.low).all()
    assert kind.high is None or (out <= kind.high).all()
    assert not kind.integer or (out == np.rint(out)).all()
    assert not kind.states or set(out) <= set(kind.states)


def test_a_counter_stays_between_its_neighbours_and_never_goes_down():
    between = Counted(np.full(3, 6.0), np.full(3, 10.0), pace=1.0)
    np.testing.assert_array_equal(fill_of("counter", [5.0, 12.0, 7.0], between), [6, 10, 10])


# sentinels


@pytest.mark.parametrize(
    "code",
    [-9999.0, -999.0, 9999.0, 999.9, -200.0, -99.9, 99999.0, -8888.0, -6999.0, -7999.0, 7999.0, 1e31, -1e34],
)
def test_a_code_far_outside_that_recurs_is_missing(code):
    values = wave.copy()
    values[[5, 50, 51, 120, 121]] = code
    (found,) = find_sentinels(values[:, None], ["x"])
    assert (found.value, found.count, found.sure) == (code, 5, True)
    table = values[:, None].copy()
    drop_sentinels(table, ["x"], [found])
    assert np.isnan(table).sum() == 5


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (np.where(t == 5, 80.3, wave), "an outlier is no code"),
        (np.where(t % 40 == 5, 99.0, rng.random(N) * 100), "99 among percentages"),
        (np.where(t % 40 == 5, 999.0, 990 + rng.random(N) * 40), "999 hPa"),
        (np.where(t % 40 == 5, -9.0, wave - 10), "one digit"),
        (np.where(t % 40 == 5, 9999.0, rng.random(N) * 20000), "9999 within the range"),
        (rng.choice([1.0, 2.0, 3.0, 99.0], N), "99 among categories"),
        (rng.choice([-999.0, 999.0], N), "nothing else to compare with"),
        (np.where(t % 40 == 5, 4999.0, wave), "4999 may be measured"),
    ],
)
def test_a_value_is_no_code(column, why):
    assert not [one for one in find_sentinels(column[:, None], ["x"]) if one.sure], why


def test_a_single_code_is_told_not_taken_unless_another_column_has_it_too():
    once = np.where(t == 5, -9999.0, wave)
    (found,) = find_sentinels(once[:, None], ["x"])
    assert not found.sure
    often = np.where(t % 20 == 5, -9999.0, wave)
    found = find_sentinels(np.column_stack([once, often]), ["x", "y"])
    assert all(one.sure for one in found) and len(found) == 2


def test_two_codes_in_one_column():
    column = np.where(t % 20 == 5, -9999.0, np.where(t % 20 == 7, -999.0, wave))
    assert {one.value for one in find_sentinels(column[:, None], ["x"]) if one.sure} == {-9999.0, -999.0}


# what a person should look at


def test_a_stuck_sensor_a_slow_one_and_a_dry_week():
    stuck = wave.copy()
    stuck[60:90] = stuck[60]
    assert stuck_stretch(stuck)[:2] == (60, 30)
    dry = np.where(t % 50 < 40, 0.0, rng.random(N))
    assert stuck_stretch(dry) is None and stuck_stretch(wave) is None
    slow = np.where(t % 3 == 1, wave, np.nan)
    assert own_rate(slow) == 3 and own_rate(wave) == 1
    assert own_rate(np.where(rng.random(N) < 0.3, wave, np.nan)) == 1
    table = np.column_stack([stuck, slow])
    told = suspicions(table, ["a", "b"], find_kinds(table, ["a", "b"]))
    assert any("stands still" in text for text in told) and any("every 3 rows" in text for text in told)
