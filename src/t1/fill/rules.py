"""What a fill may never be: too long a guess, out of bounds, not a whole number, or in a locked stretch.

Rules touch fills only, never an observed cell. Codes are sums of the rules that touched a cell.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, Codes, FloatArray, Lengths
from t1.data.kinds import KINDS, NUMBER, Kind, fits
from t1.data.place import Placed
from t1.errors import InputError
from t1.fill.gaps import Counted
from t1.registry import did_you_mean

CLIPPED, ROUNDED, TOO_LONG, LOCKED, STATE, RISING, NO_GUESS = 1, 2, 4, 8, 16, 32, 64
RULE_NAMES = {
    CLIPPED: "clipped",
    ROUNDED: "rounded",
    TOO_LONG: "max gap",
    LOCKED: "locked",
    STATE: "nearest state",
    RISING: "never falls",
    NO_GUESS: "not a measurement",
}
LEFT_EMPTY = TOO_LONG | LOCKED | NO_GUESS


def rule_name(code: int) -> str:
    """What a code means in words: "clipped + rounded"; "" for no rule."""
    return " + ".join(name for bit, name in RULE_NAMES.items() if code & bit)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """`minimum`, `maximum` and `integer` by column name; `locked` are row masks or (start, end), inclusive.

    A (start, end) is in the table's times, or in row numbers where it has none; None is an open end.
    """

    max_gap: int | None = None
    minimum: Mapping[str, float] = field(default_factory=dict)
    maximum: Mapping[str, float] = field(default_factory=dict)
    integer: Collection[str] = ()
    locked: Sequence[Any] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # what the columns are; bounds above go before

    def __post_init__(self) -> None:
        if self.max_gap is not None and self.max_gap < 0:
            raise InputError(
                f"a longest gap counts rows, got {self.max_gap}",
                cure="Give 0 or more; 0 fills nothing.",
                option="max_gap",
            )
        for name, bound in [*self.minimum.items(), *self.maximum.items()]:
            if np.isnan(bound):
                raise InputError(f"the bound of column {name!r} is not a number.\nGive a number.")
        for name in self.minimum:
            low, high = self.bounds(name)
            if low > high:
                what = "no whole number lies" if self.whole(name) else "nothing lies"
                raise InputError(
                    f"column {name!r}: {what} between the minimum {self.minimum[name]} and the maximum "
                    f"{self.maximum[name]}.\nSwap them, or leave one out."
                )

    def bounds(self, name: str) -> tuple[float, float]:
        """The least and the greatest value a fill of this column may have."""
        kind = self.kinds.get(name, NUMBER)
        low = self.minimum.get(name, -np.inf if kind.low is None else kind.low)
        high = self.maximum.get(name, np.inf if kind.high is None else kind.high)
        if self.whole(name):
            low, high = np.ceil(low), np.floor(high)
        return float(low), float(high)

    def whole(self, name: str) -> bool:
        """Whether fills of this column are whole numbers."""
        return name in self.integer or self.kinds.get(name, NUMBER).integer

    def states(self, name: str) -> tuple[float, ...]:
        """The only values that a column of states has; none for a column of numbers."""
        return self.kinds.get(name, NUMBER).states

    def rises(self, name: str) -> bool:
        """Whether the column is a counter, whose fills depend on the observations around their gap."""
        return self.kinds.get(name, NUMBER).monotone

    def check(self, columns: Sequence[str]) -> None:
        """Refuse a rule about a column that the table does not have."""
        rules = (("minimum", self.minimum), ("maximum", self.maximum), ("integer", self.integer))
        for option, name in [(option, name) for option, names in rules for name in names]:
            if name not in columns:
                some = ", ".join(str(c) for c in columns[:10]) + (", ..." if len(columns) > 10 else "")
                hint = did_you_mean(name, columns, f"The table has: {some}.")
                raise InputError(
                    f"a rule is about column {name!r}, which the table does not have.",
                    cure=hint,
                    option=option,
                )

    def that_hold(self, columns: Sequence[str], values: FloatArray) -> "Rules":
        """Rules without what the fit took a column for, if values (rows, vars) that are observed now say otherwise.

        A column that was never negative when the fill was fitted may be tomorrow. What the user said stays.
        """
        refuted = {}
        for j, name in enumerate(columns):
            kind = self.kinds.get(name, NUMBER)
            if kind.given or kind.circular or kind.monotone or not kind.fillable or fits(kind, values[:, j]):
                continue
            whole = kind.integer and fits(KINDS["integer"], values[:, j])
            refuted[name] = KINDS["integer"] if whole else NUMBER
        return replace(self, kinds={**self.kinds, **refuted}) if refuted else self

    def in_panel(self, placed: Placed) -> "Rules":
        """Rules whose locked row numbers, which are the table's, are rows of the panel."""
        if placed.panel.times is not None or placed.as_they_are or not self.locked:
            return self
        locked = np.zeros(placed.panel.n_rows, dtype=bool)
        locked[placed.at] = self.locked_rows(len(placed.at), None)
        return replace(self, locked=[locked])

    def touch(
        self,
        name: str,
        cells: Sequence[FloatArray],
        lengths: Lengths,
        locked: BoolArray,
        around: Counted | None = None,
    ) -> Codes:
        """Change the fills of one column, and their lower and upper bands if given, in place; the codes.

        All arrays are (cells,), of the missing cells of the column from first to last. `around` is what a
        counter observed around the gap of each cell.
        """
        fill, *bands = cells
        kind = self.kinds.get(name, NUMBER)
        low, high = self.bounds(name)
        code = np.zeros(len(fill), dtype=np.int8)
        if kind.monotone and around is not None:
            self._never_down(fill, bands, lengths, around, code)
        if kind.circular is not None:
            wound = np.mod(fill, kind.circular)
            for band in bands:
                band += wound - fill  # a band lies around its fill, also across the end of the circle
            fill[:] = wound
        elif kind.states:
            self._to_states(kind, fill, bands, code)
        elif np.isfinite(low) or np.isfinite(high) or self.whole(name):
            filled = ~np.isnan(fill)
            whole = np.rint(fill) if self.whole(name) else fill.copy()
            inside = np.clip(whole, low, high)
            code |= filled * (ROUNDED * (whole != fill) + CLIPPED * (inside != whole))
            fill[:] = inside
            for band, outer in zip(bands, (np.minimum, np.maximum), strict=False):
                band[:] = np.where(filled, outer(np.clip(band, low, high), inside), band)
        code[locked] = LOCKED
        empty = locked
        if self.max_gap is not None:
            long = lengths > self.max_gap
            code[long] = np.where(locked[long], LOCKED | TOO_LONG, TOO_LONG)
            empty = locked | long
        if not kind.fillable:
            code[:] = NO_GUESS
            empty = np.ones(len(fill), dtype=bool)
        for array in cells:
            array[empty] = np.nan
        return code

    def _to_states(self, kind: Kind, fill: FloatArray, bands: Sequence[FloatArray], code: Codes) -> None:
        """A column of states has no value between them."""
        states = np.asarray(kind.states)

        def nearest(x: FloatArray) -> FloatArray:
            near = np.abs(np.where(np.isnan(x), 0.0, x)[:, None] - states).argmin(axis=1)
            return np.where(np.isnan(x), np.nan, states[near])

        state = nearest(fill)
        code[:] = STATE * (~np.isnan(fill) & (state != fill))
        fill[:] = state
        for band, outer in zip(bands, (np.minimum, np.maximum), strict=False):
            band[:] = outer(nearest(band), state)

    def _never_down(
        self,
        fill: FloatArray,
        bands: Sequence[FloatArray],
        lengths: Lengths,
        around: Counted,
        code: Codes,
    ) -> None:
        """A counter rises from the observation before its gap to the one after it, unless it was set back between."""
        before, after, pace = around
        begin = 0
        while begin < len(fill):
            gap = slice(begin, begin + int(lengths[begin]))
            low = -np.inf if np.isnan(before[begin]) else before[begin]
            high = np.inf if np.isnan(after[begin]) else after[begin]
            if low > high:
                self._set_back(gap, [fill, *bands], low, high, pace)
                code[gap] |= RISING * ~np.isnan(fill[gap])
            else:
                rising = np.maximum.accumulate(np.clip(fill[gap], low, high))
                code[gap] |= RISING * (~np.isnan(fill[gap]) & (rising != fill[gap]))
                fill[gap] = rising
                for band in bands:
                    band[gap] = np.clip(band[gap], low, high)
            begin = gap.stop
        for band, outer in zip(bands, (np.minimum, np.maximum), strict=False):
            band[:] = np.where(np.isnan(fill), band, outer(band, fill))

    def _set_back(
        self, gap: slice, cells: Sequence[FloatArray], before: float, after: float, pace: float
    ) -> None:
        """A counter that was set back to 0 inside its gap goes on at its pace, before as after: a line would fall.

        When that was follows from the observation after the gap. It is not known well: bands hold both.
        """
        fill, *bands = cells
        row, known = np.arange(gap.stop - gap.start), ~np.isnan(fill[gap])
        still, again = before + pace * (row + 1), after - pace * (len(row) - row)
        least = min(after, 0.0)
        fill[gap] = np.where(known, np.where(again >= least, again, still), np.nan)
        for band, edge in zip(bands, (np.full(len(row), least), still), strict=False):
            band[gap] = np.where(known, edge, band[gap])

    def locked_rows(self, n_rows: int, times: npt.ArrayLike | None) -> BoolArray:
        """The locked rows (time,)."""
        locked = np.zeros(n_rows, dtype=bool)
        when = np.arange(n_rows) if times is None else np.asarray(times)
        for lock in self.locked:
            if isinstance(lock, np.ndarray) and lock.dtype == np.bool_:
                if lock.shape != (n_rows,):
                    raise InputError(
                        f"a locked row mask has shape {lock.shape}, the table has {n_rows} rows.\n"
                        "Give one True or False per row."
                    )
                locked |= lock
                continue
            if not isinstance(lock, Sequence) or isinstance(lock, str) or len(lock) != 2:
                raise InputError(f"a lock is (start, end) or a bool row mask, got {lock!r}.")
            start, end = (None if edge is None else _as_time(edge, when) for edge in lock)
            if start is not None and end is not None and start > end:
                raise InputError(f"a lock ends before it starts: {lock!r}.\nSwap the two.")
            inside = np.ones(n_rows, dtype=bool)
            if start is not None:
                inside &= when >= start
            if end is not None:
                inside &= when <= end
            locked |= inside
        return locked


def _as_time(edge: Any, when: npt.NDArray[Any]) -> Any:
    """An edge of a lock in the type of the table's times."""
    try:
        return np.datetime64(edge) if when.dtype.kind == "M" else float(edge)
    except (TypeError, ValueError):
        kind = "a date like 2016-07-01" if when.dtype.kind == "M" else "a number (a row, or a time)"
        raise InputError(f"a lock starts or ends at {edge!r}, expected {kind}.") from None
