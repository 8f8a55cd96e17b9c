"""Fill a file of several series with a fit for each of them, instead of one for all."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from t1.api.fitted import judge
from t1.bulk.facts import column_facts
from t1.data.files import read_file
from t1.data.place import Placed
from t1.errors import InputError
from t1.fill.bands import ENDS, band_names
from t1.fill.filled import Filled
from t1.options import FillOptions, FitOptions


def impute_each_series(
    source: Path, target: Path, *, reading: Any, fit_options: FitOptions, fill_options: FillOptions
) -> dict[str, Any]:
    """Fill a file, each series from itself alone; what there is to say about it.

    A series of which nothing can be learned stays as it is, and keeps no other from being filled.
    """
    file = read_file(source, **reading)
    rules = fill_options.rules(file.time, file.time_format, file.kinds)
    rules.check(file.columns)
    gappy = np.flatnonzero(np.isnan(file.values).any(axis=0)).tolist()
    names = band_names([file.columns[j] for j in gappy], fill_options.intervals)
    file.check(target, extra=names)
    placed = Placed.of(file.values, file.columns, file.time, file.ids)
    panel = placed.panel
    if rules.locked and panel.times is None:
        raise InputError(
            "row numbers are of the whole file, and its series are filled one by one",
            cure="Leave the lock out.",
            option="lock",
        )
    values = panel.values.copy()
    bands = {end: np.full(values.shape, np.nan) for end in (ENDS if names else ())}
    columns: list[dict[str, Any]] = []
    problems = [*file.problems, *placed.timeline.problems(file.time_format)]
    for s, (key, span) in enumerate(zip(panel.ids, panel.spans, strict=True)):
        one = panel.take([(s, span.start, span.stop)])
        if one.observed.all():
            continue
        try:
            judged = judge(one, fit_options.learning(perf_counter()), fit_options, file.kinds)
        except InputError as error:
            problems.append(f"series {key!r} was left as it is: {error.message}")
            continue
        filled: Filled = judged.fill(one, rules=rules, level=fill_options.intervals)
        values[span] = filled.values
        for end, band in bands.items():
            band[span] = getattr(filled, end)
        columns += [{"series": str(key), **facts} for facts in column_facts(filled)]
    own = ~np.isnan(file.values)
    out = np.where(own, file.values, values[placed.at])
    cells = [band[placed.at, j] for j in gappy for band in bands.values()]
    extra = dict(zip(names, cells, strict=True))
    file.write(target, out, observed=own, extra=extra)
    return {
        "rows": len(out),
        "filled": int(np.count_nonzero(~own & ~np.isnan(out))),
        "left_empty": int(np.isnan(out).sum()),
        "verdict": f"{len(panel.ids):,} series, each filled by a fit of its own.",
        "problems": problems,
        "columns": columns,
    }
