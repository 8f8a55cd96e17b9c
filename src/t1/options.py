"""How to fill: the options of `t1.impute`, by the same names as on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.errors import InputError
from t1.fill import Rules
from t1.schedule import seconds_of

QUALITY = 1800.0  # seconds that --budget quality trains at most; it stops when nothing gets better


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to fill; the same names as on the command line."""

    method: str | None = None  # None: the hold-out chooses per column and gap length
    intervals: float | None = None
    max_gap: int | None = None
    minimum: Mapping[str, float] = field(default_factory=dict)
    maximum: Mapping[str, float] = field(default_factory=dict)
    integer: Sequence[str] = ()
    lock: Sequence[str] = ()  # "START..END" in the table's times, or row numbers
    budget: str | float = "2m"
    seed: int = 102

    def __post_init__(self) -> None:
        _seconds(self.budget)
        if self.intervals is not None and not 0 < self.intervals < 1:
            raise InputError(f"intervals must be between 0 and 1, got {self.intervals}.\nGive 0.9 for 90 %.")

    @property
    def seconds(self) -> float:
        """How long the whole run may take."""
        return _seconds(self.budget)

    def rules(self, times: npt.NDArray[Any] | None) -> Rules:
        """The rules about fills, with the locks as pairs of times or row numbers."""
        return Rules(
            max_gap=self.max_gap,
            minimum=self.minimum,
            maximum=self.maximum,
            integer=self.integer,
            locked=[_lock(text, dated=times is not None) for text in self.lock],
        )


def options_of(given: dict[str, Any]) -> Options:
    """Options by name; a wrong name is told."""
    known = {f.name for f in fields(Options)}
    for name in given:
        if name not in known:
            raise InputError(f"impute has no option {name!r}.\nIt knows: {', '.join(sorted(known))}.")
    return Options(**given)


def _seconds(budget: str | float) -> float:
    if isinstance(budget, int | float) and budget > 0:
        return float(budget)
    return QUALITY if budget == "quality" else seconds_of(str(budget))


def _lock(text: str, *, dated: bool) -> tuple[Any, Any]:
    start, dots, end = text.partition("..")
    if not dots:
        raise InputError(f"--lock {text!r} is no range.\nGive START..END; one of them may be left out.")

    def bound(part: str) -> Any:
        part = part.strip()
        if not part:
            return None
        try:
            return np.datetime64(pd.Timestamp(part)) if dated else int(part)
        except ValueError:
            what = "a time" if dated else "a row number (the table has no time column)"
            raise InputError(f"--lock {text!r}: {part!r} is not {what}.\nGive START..END.") from None

    return bound(start), bound(end)
