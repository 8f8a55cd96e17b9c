"""Several series in one table: which columns tell them apart where time stamps repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, islice

import numpy as np
import pandas as pd

from t1.arrays import AnyArray, FloatArray, IntArray, TimeArray
from t1.data.restarts import EACH, Columns, Known, is_thing, named_by_restarts

REPEATED = (
    0.1  # of all rows share their time stamp with an earlier one: more than the repeated hour of autumn
)
IN_TURNS = 0.1  # of the rows are of another series than the row before, where steps are irregular
STRICTLY = 0.8  # the same where they are regular
MOST_COLUMNS = 6  # that are tried
USUAL = (
    "id",
    "station",
    "site",
    "symbol",
    "ticker",
    "sensor",
    "name",
    "device",
    "location",
    "region",
    "code",
)
NUMBERED = (
    "meter",
    "turbine",
    "well",
    "unit",
    "plant",
    "store",
    "patient",
    "household",
)  # things with numbers
SAME = 0.9  # of the values that rows with one time stamp both have: from there on they are one row, written twice

# names of a column that says which variable a value is of
VARIABLES = re.compile(
    r"variables?|param(eter)?s?|sensor|element|indicator|measure(ment)?|metric|tag|channel|quantity|pollutant"
    r"|attribute|item([ _]?id)?|observation|signal|feature|datatype|kind|property|variable[ _]name|series|_field",
    re.IGNORECASE,
)


# subject_id, RecordID, itemid; not so humid
ID = re.compile(
    r"(^|[^a-zA-Z])(?i:id)$|[a-z](ID|Id)$"
    r"|(item|record|subject|patient|device|sensor|station|site|meter|user|stay|visit|admission|encounter)id$"
)


COORDINATE = re.compile(r"(lat|latitude|lon|long|longitude)([ _(\[].*)?", re.IGNORECASE)


def is_id_name(name: str) -> bool:
    """Whether a column of numbers is called station, device_id and the like."""
    words = re.split(r"[^a-z]+", name.lower())
    return any(word in words for word in (*USUAL, *NUMBERED)) or ID.search(name.strip()) is not None


def may_name_series(name: str, column: Callable[[], FloatArray | None], again: int) -> bool:
    """Whether a column of whole numbers may name series: called an id, or station or store where stamps repeat."""
    if not (is_id_name(name) or is_thing(name) if again else ID.search(name.strip())):
        return False
    numbers = column()
    return numbers is not None and bool((numbers == np.rint(numbers)).all())  # and none is missing


def repeated(times: TimeArray) -> int:
    """How many rows have the time stamp of an earlier one, if these are more than a slip; else 0."""
    if len(times) < 3 or (np.diff(times) > np.timedelta64(0)).all():
        return 0
    return _more_than_a_slip(len(times) - len(np.unique(times)), len(times))


def _more_than_a_slip(n: int, n_rows: int) -> int:
    return n if n >= max(REPEATED * n_rows, 2) else 0


def contradicting(times: TimeArray, ids: AnyArray | None, values: FloatArray) -> int:
    """How many rows have the time stamp of an earlier row of their series, if these are many and say otherwise.

    0 where they are few, or where rows with one time stamp agree in what they both have: a table that was
    loaded twice, or whose sensors each write a row of their own. Only such rows may be taken for one.
    """
    if not repeated(times):
        return 0
    key = pd.factorize(times)[0].astype(np.int64)
    if ids is not None:
        key = key + (key.max() + 1) * pd.factorize(ids, use_na_sentinel=False)[0]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    later = np.flatnonzero(first[inverse] != np.arange(len(key)))
    if not _more_than_a_slip(len(later), len(key)):
        return 0
    one, other = values[first[inverse[later]]], values[later]
    both = ~np.isnan(one) & ~np.isnan(other)
    return len(later) if (one == other)[both].sum() < SAME * both.sum() else 0


def find_series(times: TimeArray | None, columns: Columns, numbers: Known) -> tuple[int, ...]:
    """The columns that tell series apart, of those with texts (or numbers that are named so), then of `numbers`."""
    at = tell_apart(times, columns)
    if at or (times is not None and not repeated(times)):
        return at
    if times is None:
        return named_by_restarts(columns, numbers)
    known = {j: (name, column) for j, (name, of) in numbers.items() if (column := of()) is not None}
    return numbers_that_tell(times, known)


def tell_apart(times: TimeArray | None, columns: Columns) -> tuple[int, ...]:
    """The one or two columns without which time stamps repeat and with which they do not; () if none do.

    Without a time, one whose values stand in blocks of rows.

    Where none repeats, a column that is named so, if series take turns in it as sensors in a log of events do. A
    column whose values hardly repeat tells rows apart, not series, so each must come up several times.
    """
    if times is None:
        return _in_blocks(columns)
    n_rows = len(times)
    if not repeated(times):
        return _in_turns(times, columns)
    stamps = pd.factorize(times)[0].astype(np.int64)
    codes: dict[int, IntArray] = {}
    order = sorted(columns, key=lambda j: not any(word in columns[j][0].lower() for word in USUAL))
    for j in order[: 2 * MOST_COLUMNS]:
        code = pd.factorize(np.array(columns[j][1](j), dtype=object))[0].astype(np.int64)
        if len(codes) < MOST_COLUMNS and code.max() > 0 and 3 * (code.max() + 1) <= n_rows:
            codes[j] = code
    for n in (1, 2):
        for some in combinations(codes, n):
            key = np.zeros(n_rows, dtype=np.int64)
            for j in some:
                key = key * (codes[j].max() + 1) + codes[j]
            pairs = key * (stamps.max() + 1) + stamps
            if len(np.unique(pairs)) >= 0.999 * n_rows and 3 * len(np.unique(key)) <= n_rows:
                return some if n > 1 else (*some, *_taking_turns_in(times, columns, codes, some[0]))
    return ()


def _taking_turns_in(
    times: TimeArray,
    columns: Columns,
    codes: Mapping[int, IntArray],
    first: int,
) -> tuple[int, ...]:
    """An id that takes turns in the rows of one variable: patients whose heart rates are never of the same minute."""
    own = np.flatnonzero(codes[first] == np.bincount(codes[first]).argmax())
    others = {
        j: (columns[j][0], lambda j: [str(code) for code in codes[j][own]])
        for j in codes
        if j != first and ID.search(columns[j][0].strip())
    }
    return _in_turns(times[own], others)


def _in_turns(times: TimeArray, columns: Columns) -> tuple[int, ...]:
    """The first column that is called an id or a variable and of which few values take turns, each of them often."""
    order = np.argsort(times, kind="stable")
    steps = np.diff(times[order]).astype("i8")
    if len(steps) < 2 * EACH:
        return ()
    regular = np.unique(steps, return_counts=True)[1].max() * 2 > len(steps)
    for j, (name, texts) in columns.items():
        if not (is_id_name(name) or VARIABLES.fullmatch(name.strip())):
            continue
        code = pd.factorize(np.array(texts(j), dtype=object)[order])[0]
        counts = np.bincount(code)
        turns = float((np.diff(code) != 0).mean())
        if len(counts) > 1 and counts.min() >= EACH and turns >= (STRICTLY if regular else IN_TURNS):
            return (j,)
    return ()


def numbers_that_tell(times: TimeArray, columns: Mapping[int, tuple[str, FloatArray]]) -> tuple[int, ...]:
    """The columns of numbers, with their names, that tell the rows of each time stamp apart; () if none do."""
    numbers = {j: column for j, (_, column) in columns.items()}
    return _places_that_tell(times, columns) or number_that_tells(times, numbers)


def _places_that_tell(times: TimeArray, columns: Mapping[int, tuple[str, FloatArray]]) -> tuple[int, ...]:
    """Latitude and longitude, if they tell the rows of each time stamp apart: the points of a grid; () if not."""
    at = {kind: j for j, (name, _) in columns.items() if (kind := _coordinate(name)) is not None}
    if len(at) < 2 or any(np.isnan(columns[j][1]).any() for j in at.values()):
        return ()
    place = pd.factorize(pd.MultiIndex.from_arrays([columns[j][1] for j in at.values()]))[0].astype(np.int64)
    stamps = pd.factorize(times)[0].astype(np.int64)
    pairs = place * (stamps.max() + 1) + stamps
    told = place.max() > 0 and 3 * (place.max() + 1) <= len(place) and len(np.unique(pairs)) == len(pairs)
    return tuple(sorted(at.values())) if told else ()


def _coordinate(name: str) -> str | None:
    match = COORDINATE.fullmatch(name.strip())
    return None if match is None else match[1][:3].lower()


def number_that_tells(times: TimeArray, columns: Mapping[int, FloatArray]) -> tuple[int, ...]:
    """The one or two columns of whole numbers that tell the rows of each time stamp apart exactly; () if none do.

    Measurements may do so by chance, so numbers that name series must come in one block for each, or nearly
    all of them at every time stamp.
    """
    stamps = pd.factorize(times)[0].astype(np.int64)
    codes: dict[int, IntArray] = {}
    for j, column in columns.items():
        if np.isnan(column).any() or column.min() < 0 or (column != np.rint(column)).any():
            continue
        code = pd.factorize(column)[0].astype(np.int64)
        if code.max() > 0 and 3 * (code.max() + 1) <= len(code):
            codes[j] = code
    for n in (1, 2):
        for some in combinations(dict(islice(codes.items(), MOST_COLUMNS if n > 1 else None)), n):
            if len(columns) > n and _tell(
                stamps, [codes[j] for j in some]
            ):  # else nothing would be left to fill
                return some
    return ()


def _tell(stamps: IntArray, codes: list[IntArray]) -> bool:
    """Whether codes together name series: no two rows of a time stamp, in blocks, or nearly all of them at each."""
    every = codes[0] if len(codes) == 1 else pd.factorize(codes[0] * (codes[1].max() + 1) + codes[1])[0]
    code = every.astype(np.int64)
    n_series = int(code.max()) + 1
    if 3 * n_series > len(code) or len(np.unique(code * (stamps.max() + 1) + stamps)) < len(code):
        return False
    in_blocks = np.count_nonzero(np.diff(code)) + 1 == n_series
    return bool(in_blocks or 2 * np.median(np.bincount(stamps)) > n_series)


def _in_blocks(columns: Columns) -> tuple[int, ...]:
    """The first column that is called an id, and of which each value has several rows in one block; () if none is.

    For tables without a time: the rows of one patient follow each other, and another one's are no part of them.
    """
    for j, (name, texts) in columns.items():
        if not is_id_name(name):
            continue
        code = pd.factorize(np.array(texts(j), dtype=object))[0]
        begins = np.flatnonzero(np.diff(code, prepend=-1))
        lengths = np.diff(np.append(begins, len(code)))
        if len(begins) > 1 and len(begins) == code.max() + 1 and lengths.min() >= EACH:
            return (j,)
    return ()


def join_ids(texts: Iterable[Iterable[str]]) -> AnyArray:
    """The id of each row (rows,), of the columns that tell series apart."""
    return np.array([" / ".join(parts) for parts in zip(*texts, strict=True)], dtype=object)


def told_in_order(n: int, n_rows: int, time: str) -> str:
    """What is said where rows cannot be told apart by their time."""
    return (
        f"{n:,} of {n_rows:,} rows have the time stamp of an earlier row and other values ({time!r} does not tell "
        "them apart), so the rows are taken in their order, evenly spaced. If another column has the hour, name "
        "it with the date (time); if they are several series, name what tells them apart (id)."
    )


def told_series(names: Iterable[str], times: TimeArray | None) -> str:
    """What is said where columns were found that tell series apart."""
    if times is None:
        return f"each block of rows with one {' and '.join(map(repr, names))} is taken as a series of its own"
    why = "time stamps repeat" if repeated(times) else "rows take turns"
    return f"{why}, so each {' and '.join(map(repr, names))} is taken as a series of its own"
