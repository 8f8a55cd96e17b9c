"""How to read a file: what the user may decide instead of having it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from t1.data.kinds import KINDS
from t1.errors import InputError
from t1.registry import did_you_mean

LAYOUTS = ("table", "long", "wide")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options of `read_file`; None means: find out."""

    time: str | Sequence[str] | None = None  # the time column, or several: a date and a clock
    id: str | Sequence[str] | None = None  # what tells several series apart
    columns: Sequence[str] | None = None  # to fill
    exclude: Sequence[str] = ()  # to leave alone
    missing_values: Sequence[str] = ()  # that also mean missing
    keep_sentinels: bool = False  # -9999 and the like are values
    kind: Mapping[str, str] = field(default_factory=dict)  # what a column is: {"wind_dir": "angle"}
    time_format: str | None = None  # a strptime pattern
    dayfirst: bool | None = None  # 01/02/2020 is 1 February
    layout: str | None = None  # table, long (station, variable, value) or wide (a column per date)
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header_row: int | None = None  # the line of the names, the first is 1; 0: there is none
    skip_rows: int = 0  # lines at the top to leave alone
    comment: str | None = None  # what a comment line starts with
    units_row: bool | None = None  # the line below the names holds units
    sheet: str | None = None  # of an Excel file

    def __post_init__(self) -> None:
        if self.layout is not None and self.layout not in LAYOUTS:
            raise InputError(
                f"the layout {self.layout!r} is unknown.", cure="Give table, long or wide.", option="layout"
            )
        for kind in self.kind.values():
            if kind not in KINDS:
                hint = did_you_mean(kind, KINDS)
                raise InputError(f"there is no kind {kind!r}.", cure=hint, option="kind")
        for name in ("header_row", "skip_rows"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise InputError(f"{name} is {number}.", cure="Lines are counted from 1.", option=name)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Reading:
        """Options by name; a wrong name is told."""
        known = [f.name for f in fields(cls)]
        for name in options:
            if name not in known:
                raise InputError(f"reading has no option {name!r}.", cure=did_you_mean(name, known))
        return cls(**options)

    @property
    def time_names(self) -> tuple[str, ...]:
        """The columns that are named as the time."""
        return _names(self.time)

    @property
    def id_names(self) -> tuple[str, ...]:
        """The columns that are named as what tells series apart."""
        return _names(self.id)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
