"""How a file was understood, in one or two lines: what the user should check before anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from t1.arrays import AnyArray, FloatArray, TimeArray
from t1.data.sentinels import Sentinel

if TYPE_CHECKING:
    from t1.data.data_file import DataFile
    from t1.data.kinds import Kind

STEPS = ((86400, "day"), (3600, "h"), (60, "min"), (1, "s"))
SPOKEN = {"1 day": "day", "1 h": "hour", "1 min": "minute", "1 s": "second", "7 day": "week"}


def understood(file: DataFile) -> tuple[str, ...]:
    """What was understood: time and columns on the first line, the file's own shape on the second."""
    parts = [_time(file), _columns(file)]
    if file.ids is not None:
        parts.insert(1, f"{len(set(file.ids.tolist())):,} series, told apart by {_quoted(file.id_columns)}")
    parts += spoken_sentinels(file.sentinels)
    first = "; ".join(part for part in parts if part) + "."
    said = (*file.said, *spoken_ids(file.values, file.columns, file.kinds))
    return (first, "; ".join(said) + ".") if said else (first,)


def spoken_ids(values: FloatArray, columns: Sequence[str], kinds: Mapping[str, Kind]) -> list[str]:
    """The columns of values (rows, vars) whose gaps stay empty, because a guess would mean nothing."""
    return [
        f"{name!r} is taken for {_article(kinds[name].name)} ({kinds[name].evidence}), so its gaps stay empty (kind)"
        for j, name in enumerate(columns)
        if name in kinds and not kinds[name].fillable and np.isnan(values[:, j]).any()
    ]


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def spoken_sentinels(found: Sequence[Sentinel]) -> list[str]:
    """The codes that count as missing, with how many cells hold them."""
    counts: Counter[float] = Counter()
    for one in found:
        if one.sure:
            counts[one.value] += one.count
    return [f"{value:g} counts as missing ({n:,} cells)" for value, n in counts.most_common()]


def spoken_time(names: Sequence[str], times: TimeArray | None) -> str:
    """When the rows of a dataframe are; `names` are the columns that say so, none for its index."""
    if times is None:
        return "no time column: rows are taken in their order"
    where = f"column{'s' * (len(names) > 1)} {_quoted(names)}" if names else "the index"
    return ", ".join(part for part in (f"time: {where}", usual_step(times, None)) if part)


def usual_step(times: TimeArray, ids: AnyArray | None) -> str:
    """How far rows are apart, in words: "every 10 min"; "" if no step is usual."""
    stamps = np.unique(times)
    if ids is not None:
        one = times[ids == ids[0]]
        stamps = np.unique(one) if len(one) > 2 else stamps
    if len(stamps) < 3:
        return ""
    steps = np.diff(stamps).astype("m8[ns]").astype("i8")
    if steps.min() >= 27 * 86400 * 10**9:
        months = np.diff(stamps.astype("M8[M]").astype("i8"))
        sizes, counts = np.unique(months, return_counts=True)
        n = int(sizes[counts.argmax()])
        return {1: "every month", 3: "every quarter", 12: "every year"}.get(n, f"every {n} months")
    sizes, counts = np.unique(steps, return_counts=True)
    if counts.max() * 2 <= len(steps):
        return "no regular step"
    seconds = int(sizes[counts.argmax()]) / 1e9
    for size, name in STEPS:
        if seconds >= size and seconds % size == 0:
            text = f"{seconds / size:g} {name}"
            return f"every {SPOKEN.get(text, text + 's' * (name == 'day'))}"
    return f"every {seconds:g} s"


def _time(file: DataFile) -> str:
    if file.time is None:
        return "no time column: rows are taken in their order"
    plural = "s" * (len(file.time_columns) > 1)
    names = file.time_columns
    shown = _quoted(names) if len(names) < 4 else f"'{names[0]}' to '{names[-1]}'"
    parts = [f"time: column{plural} {shown}", usual_step(file.time, file.ids)]
    form = file.time_format
    if form is not None and form.unit == "step":
        parts[1] = "numbers that count"
    elif form is not None and form.day_first is not None and not form.pattern.startswith(("%Y", "%y")):
        parts.append("day first" if form.day_first else "month first")
    if form is not None and form.suffix:
        parts.append("UTC" if not form.offset else f"zone {form.suffix.strip()}")
    return ", ".join(part for part in parts if part)


def _columns(file: DataFile) -> str:
    n = sum(kind.fillable for kind in file.kinds.values())
    parts = [f"{n} column{'s' * (n != 1)} to fill"]
    texts = sum("text" in why for why in file.passed_through.values())
    others = sum("text" not in why and "no name" not in why for why in file.passed_through.values())
    if texts:
        parts.append(f"{texts} text column{'s' * (texts != 1)} left alone")
    if others:
        parts.append(f"{others} other column{'s' * (others != 1)} left alone")
    return ", ".join(parts)


def _quoted(names: Sequence[str]) -> str:
    return " + ".join(f"'{name}'" for name in names)
