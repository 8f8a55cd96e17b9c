"""The sample in the package: a year of hourly weather at New York's three airports, gaps and all."""

from importlib import resources

import pandas as pd


def load_sample() -> pd.DataFrame:
    """Hourly weather of 2013 at EWR, JFK and LGA: 8,730 hours (UTC) by 21 columns, with its genuine gaps.

    Per airport: `temp` and `dewp` (°F), `humid` (%), `pressure` (hPa), `wind_u` and `wind_v` (mph towards the
    east and the north) and `visib` (miles). Where it comes from: `samples/README.md` beside this file.
    """
    file = resources.files("t1.data") / "samples" / "airports.csv.gz"
    with file.open("rb") as stream:
        return pd.read_csv(
            stream, compression="gzip", index_col="time", parse_dates=["time"], dtype="float64"
        )
