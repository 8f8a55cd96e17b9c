"""Dates as Excel keeps them: days since the end of 1899, where they lost their format on the way out."""

from __future__ import annotations

import numpy as np

from t1.arrays import FloatArray, TimeArray
from t1.data.time_format import DAY, DAY_COUNTS

RANGE = (20_000, 80_000)  # 1954 to 2119
USUAL = 0.9  # of all steps


def are_excel_days(numbers: FloatArray) -> bool:
    """Whether numbers are plainly days and parts of days, not seconds or anything else that counts.

    Whole ones follow day by day, but for gaps and weekends. Parts are a 24th, a 96th and the like: a third is in
    all of them, which no count in decimals has (0.5, 0.25 or 0.1 may be anything).
    """
    if len(numbers) < 3 or not ((numbers >= RANGE[0]) & (numbers <= RANGE[1])).all():
        return False
    steps = np.diff(np.unique(numbers))
    if not len(steps):
        return False
    if (numbers == np.floor(numbers)).all():
        return bool(np.isin(steps, (1, 3)).mean() >= USUAL and (steps == 1).mean() > 0.5)
    usual = steps[steps < 1.5 * np.median(steps)].mean()  # each one is rounded to the decimals
    parts = round(float(1 / usual))
    if parts < 2 or parts % 3 or 86_400 % parts:
        return False
    whole = numbers * parts
    # six decimals of a day are a tenth of a second
    return bool((np.abs(whole - np.rint(whole)) < 2e-6 * parts + 1e-9).mean() >= USUAL)


def from_excel_days(numbers: FloatArray) -> TimeArray:
    """The times of such days, to the second: more is not in their decimals."""
    seconds = np.rint(numbers * 86_400).astype("i8")
    epoch = int(DAY_COUNTS["excel day"]) * 86_400
    return ((seconds - epoch) * (DAY // 86_400)).astype("M8[ns]")
