"""What a column is: a share, a count, an angle, a state. Found from values and names, with the evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t1.arrays import AnyArray, BoolArray, FloatArray, IntArray, TimeArray
from t1.data.relations import find_relations
from t1.errors import InputError
from t1.registry import did_you_mean

ENOUGH = 10  # observed values: with fewer nothing is claimed
SAMPLE = 50_000  # rows that are looked at


@dataclass(frozen=True)
class Kind:
    """What a column is, and what every fill of it must therefore respect."""

    name: str
    evidence: str = ""
    low: float | None = None
    high: float | None = None
    integer: bool = False
    circular: float | None = None  # the length of the circle: 360 for degrees
    monotone: bool = False  # fills never go down
    states: tuple[float, ...] = ()  # the only values there are
    fillable: bool = True  # False: row numbers and ids, for which a guess means nothing
    of: tuple[str, ...] = ()  # the columns that this one is a copy or the sum of
    given: bool = False  # the user said so


NUMBER = Kind("number")
KINDS = {
    "number": NUMBER,
    "non-negative": Kind("non-negative", low=0.0),
    "share": Kind("share", low=0.0, high=1.0),
    "percent": Kind("percent", low=0.0, high=100.0),
    "integer": Kind("integer", integer=True),
    "count": Kind("count", low=0.0, integer=True),
    "on/off": Kind("on/off", integer=True, states=(0.0, 1.0)),
    "category": Kind("category", integer=True),
    "angle": Kind("angle", low=0.0, high=360.0, circular=360.0),
    "counter": Kind("counter", monotone=True),
    "constant": Kind("constant"),
    "calendar": Kind("calendar", integer=True),
    "row number": Kind("row number", integer=True, fillable=False),
    "id": Kind("id", integer=True, fillable=False),
}
NAMES = {
    "angle": r"wdir|wd$|wind_?dir|(wind|wave|current|flow)[ _]?direction|heading|azimuth|bearing|^dir$",
    "percent": r"humid|^rh\b|_rh\b|percent|pct|%|cloud_?cover|soc\b|battery_?level|luftfeuchte",
    "share": r"frac|share|ratio|prob|albedo|soil_?moist|ndvi|efficiency",
    "category": r"code|status|state\b|mode|class|categor|flag|type|qc|phase|quality|cluster|label",
    "non-negative": r"rain|precip|speed|gust|flow|discharge|power|energy|load|irradi|radiation|ghi|dni|dhi"
    r"|pm_?\d|conc|count|volume|price|visib|depth|height|distance|weight|mass|pressure|humid|^(no|no2|nox|co|co2|o3|so2)$",
    # station, station_no and my_id, but not room_sensor: that may be what a sensor measures
    "id": r"^(station|site|sensor|device)$|(^|_|\b)(station|site|sensor|device)[ _]?(id|no|nr|number|code)$"
    r"|(^|_|\b)(id|stn|zip|plz|fips|usaf|wban)([ _]?(id|no|nr|number|code))?$",
    "calendar": r"^(year|month|day|hour|minute|second|weekday|day_?of_?week|dow|doy|jday|week|quarter)$",
}
_NAMED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in NAMES.items()}


@np.errstate(over="ignore", invalid="ignore")  # a step from -1e308 to 1e308 is infinite, and of no kind
def find_kinds(
    values: FloatArray,
    columns: Sequence[str],
    *,
    ids: AnyArray | None = None,
    times: TimeArray | None = None,
    given: Mapping[str, str] | None = None,
) -> dict[str, Kind]:
    """What each column of a table (rows, vars) is; `given` names kinds that the user decides."""
    given = given or {}
    first, every = _Order.of(times, ids, min(SAMPLE, len(values))), None
    found = {}
    for j, name in enumerate(columns):
        column = values[:, j]
        if name in given:
            found[name] = named_kind(given[name], column)
            continue
        found[name] = _kind(name, *first.steps(column))
        if len(values) > SAMPLE and not _holds(found[name], column):  # the first rows are not all
            every = every or _Order.of(times, ids, len(values))
            found[name] = _kind(name, *every.steps(column))
    part = slice(0, SAMPLE)
    for name, (evidence, of) in find_relations(values[part], columns).items():
        if not found[name].given and found[name].fillable and found[name].name != "constant":
            found[name] = replace(
                found[name], of=of, evidence=f"{found[name].evidence}; {evidence}".lstrip("; ")
            )
    return found


@dataclass(frozen=True)
class _Order:
    """The first rows of a table in time order, and where another series begins."""

    rows: IntArray
    breaks: BoolArray

    @classmethod
    def of(cls, times: TimeArray | None, ids: AnyArray | None, n: int) -> _Order:
        rows, breaks = np.arange(n), np.zeros(n, dtype=bool)
        codes = None if ids is None else np.unique(ids[:n].astype(str), return_inverse=True)[1]
        if times is not None:
            rows = np.lexsort((times[:n],) if codes is None else (times[:n], codes))
        if codes is not None:
            breaks[1:] = np.diff(codes[rows]) != 0
        return cls(rows, breaks)

    def steps(self, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The observed values of a column in time order, and the steps from each to the next one of its series."""
        column = column[self.rows]
        at = np.flatnonzero(~np.isnan(column))
        series = np.cumsum(self.breaks)[at]
        return column[at], np.diff(column[at])[series[1:] == series[:-1]]


def _holds(kind: Kind, column: FloatArray) -> bool:
    """Whether a kind that was found in the first rows holds for all of them."""
    if kind.monotone or kind.name in ("constant", "row number", "id"):
        return False  # to be looked at again
    return fits(kind, column)


def fits(kind: Kind, column: FloatArray) -> bool:
    """Whether all observed values of a column lie within the bounds, or are among the states, of a kind.

    >>> fits(KINDS["non-negative"], np.array([0.0, 2.5, np.nan])), fits(KINDS["count"], np.array([1.0, 2.5]))
    (True, False)
    """
    seen = column[~np.isnan(column)]
    if kind.states:
        return bool(np.isin(seen, kind.states).all())
    low = -np.inf if kind.low is None else kind.low
    high = np.inf if kind.high is None else kind.high
    inside = bool((seen >= low).all() and (seen <= high).all())
    return inside and (not kind.integer or _is_whole(seen))


def named_kind(name: str, column: FloatArray) -> Kind:
    """The kind that the user names for a column."""
    if name not in KINDS:
        raise InputError(f"there is no kind {name!r}.", cure=did_you_mean(name, KINDS), option="kind")
    kind = replace(KINDS[name], given=True, evidence="as you said")
    seen = np.unique(column[~np.isnan(column)])
    if name in ("category", "on/off"):
        return replace(kind, states=tuple(seen.tolist()), integer=bool((seen == np.rint(seen)).all()))
    return kind


def _kind(name: str, seen: FloatArray, steps: FloatArray) -> Kind:
    if len(seen) < ENOUGH:
        return NUMBER
    first = seen[0]
    if (seen == first).all():
        return replace(KINDS["constant"], evidence=f"always {first:g}")
    for test in (_row_number, _id, _calendar, _on_off, _counter, _angle, _category, _share, _count):
        if (kind := test(name, seen, steps)) is not None:
            return kind
    low = float(seen.min())
    zeros = float((seen == 0).mean())
    if low >= 0 and (zeros >= 0.01 or _NAMED["non-negative"].search(name)):
        why = f"no value below 0, {zeros:.0%} are 0" if zeros >= 0.01 else "no value below 0, and its name"
        return replace(KINDS["non-negative"], evidence=why)
    return NUMBER


def _is_whole(seen: FloatArray) -> bool:
    return bool((seen == np.rint(seen)).all())


def _row_number(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    counts = len(steps) > 0 and (steps == 1).all() and seen[0] in (0, 1) and len(steps) == len(seen) - 1
    return replace(KINDS["row number"], evidence="counts the rows") if counts else None


def _id(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    few = len(np.unique(seen)) <= max(2, len(seen) // 10)
    if _NAMED["id"].search(name.strip()) and _is_whole(seen) and few and not _drifts(seen, steps):
        return replace(KINDS["id"], evidence="named like an id, and its numbers repeat")
    return None


def _drifts(seen: FloatArray, steps: FloatArray) -> bool:
    """Whether values go up and down in small steps, as measurements do; numbers of an id jump, or stay for long."""
    moves = steps[steps != 0]
    small = moves[np.abs(moves) <= max(1.0, 0.25 * np.ptp(seen))]
    up, down = (small > 0).sum(), (small < 0).sum()
    return bool(
        min(up, down) >= max(0.02 * len(steps), 3) and len(small) >= 0.8 * len(moves) and np.ptp(seen) > 1
    )


def _calendar(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    if _NAMED["calendar"].search(name.strip()) and _is_whole(seen) and seen.min() >= 0 and seen.max() <= 2500:
        return replace(KINDS["calendar"], evidence="named like a part of a date", low=0.0)
    return None


def _on_off(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    states = np.unique(seen)
    if len(states) == 2 and _is_whole(states):
        return replace(
            KINDS["on/off"],
            states=tuple(states.tolist()),
            evidence=f"only {states[0]:g} and {states[1]:g}",
        )
    return None


def _counter(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    if len(steps) < 2 * ENOUGH or (steps > 0).sum() < ENOUGH:
        return None
    down = steps[steps < 0]
    resets = len(down) and len(down) <= 0.005 * len(steps) and (-down >= 0.5 * np.ptp(seen)).all()
    if len(down) and not resets:
        return None
    again = f", with {len(down)} resets" if len(down) else ""
    low = 0.0 if seen.min() >= 0 else None
    return replace(KINDS["counter"], evidence=f"never goes down{again}", integer=_is_whole(seen), low=low)


def _angle(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    if seen.min() < 0 or seen.max() > 360 or seen.max() <= 90:
        return None
    wraps = float((np.abs(steps) > 270).mean()) if len(steps) else 0.0
    if _NAMED["angle"].search(name):
        return replace(KINDS["angle"], evidence="named like a direction, 0 to 360", integer=_is_whole(seen))
    if seen.max() > 350 and seen.min() < 10 and wraps >= 0.005:
        return replace(
            KINDS["angle"],
            evidence=f"0 to 360, and {wraps:.1%} of its steps go round",
            integer=_is_whole(seen),
        )
    return None


def _category(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    states = np.unique(seen)
    if not _is_whole(states) or len(states) > 12 or len(seen) < 4 * len(states):
        return None
    if _NAMED["category"].search(name):
        why = f"named like a code, {len(states)} different values"
        return replace(KINDS["category"], evidence=why, states=tuple(states.tolist()))
    return None


def _share(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    low, high = float(seen.min()), float(seen.max())
    if low < 0:
        return None
    for kind, top in (("share", 1.0), ("percent", 100.0)):
        touches = (seen == top).sum() >= 3 and high == top
        spans = low <= 0.3 * top and high > 0.5 * top
        if high <= top and (touches or (_NAMED[kind].search(name) and high > 0.2 * top)):
            if kind == "share" and _is_whole(seen):
                continue
            if not touches and not spans and not _NAMED[kind].search(name):
                continue
            why = (
                f"{int((seen == top).sum())} values are exactly {top:g}, none above"
                if touches
                else "its name"
            )
            return replace(KINDS[kind], evidence=f"{low:g} to {high:g}, {why}", integer=_is_whole(seen))
    return None


def _count(name: str, seen: FloatArray, steps: FloatArray) -> Kind | None:
    if not _is_whole(seen) or np.abs(seen).max() > 2**53:
        return None
    kind = "count" if seen.min() >= 0 else "integer"
    return replace(KINDS[kind], evidence="whole numbers only" + (", none below 0" if kind == "count" else ""))
