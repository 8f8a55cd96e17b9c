"""Cut series into windows, gather them in batches, and stitch windows back into a series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from t1.arrays import BoolArray, FloatArray
from t1.errors import InputError

Scalar = TypeVar("Scalar", bound=np.generic)
Starts = npt.NDArray[np.int64]
Indices = slice | Sequence[int] | npt.NDArray[Any]


def cut(x: npt.NDArray[Scalar], window: int, stride: int = 1) -> npt.NDArray[Scalar]:
    """A view (n, window, ...) on x (time, ...), one window every `stride` rows."""
    _check_length(len(x), window, stride)
    view = np.lib.stride_tricks.sliding_window_view(x, window, axis=0)  # (n, ..., window)
    return np.moveaxis(view, -1, 1)[::stride]


def starts(length: int, window: int, stride: int = 1) -> Starts:
    """Window starts that together cover every row: the last window ends at the end, none leaves a hole."""
    _check_length(length, window, stride)
    last = length - window
    regular = np.arange(0, last + 1, min(stride, window), dtype=np.int64)
    return regular if regular[-1] == last else np.append(regular, last)


def covered(starts: Starts, window: int, n_rows: int) -> BoolArray:
    """True for the rows that lie in a window (n_rows,)."""
    change = np.zeros(n_rows + 1, dtype=np.int64)
    np.add.at(change, starts, 1)
    np.add.at(change, starts + window, -1)
    return np.cumsum(change[:-1]) > 0


class Stitcher:
    """A running weighted mean of overlapping windows, which trusts the middle of a window most."""

    def __init__(self, length: int, n_vars: int, window: int) -> None:
        _check_length(length, window, stride=1)
        steps = np.arange(window)
        self._trust = np.minimum(steps + 1, window - steps).astype(np.float64)[:, None]  # a triangle, never 0
        self._mean = np.zeros((length, n_vars))
        self._weight = np.zeros((length, 1))

    def add(self, starts: Iterable[int], windows: npt.NDArray[Any]) -> None:
        """Blend in windows (n, window, vars) that begin at rows `starts`."""
        window, last = len(self._trust), len(self._mean) - len(self._trust)
        for start, values in zip(starts, windows, strict=True):
            if not 0 <= start <= last:
                raise InputError(
                    f"a window starts at row {start}, the series allows 0 to {last}.\n"
                    "Take the starts from starts(length, window, stride)."
                )
            rows = slice(start, start + window)
            self._weight[rows] += self._trust
            # A step towards the new value, no sum divided at the end: where windows agree, it is exact.
            self._mean[rows] += (values - self._mean[rows]) * (self._trust / self._weight[rows])

    def result(self) -> FloatArray:
        """The series so far (length, vars), NaN in rows that no window covered."""
        return np.where(self._weight > 0, self._mean, np.nan)


@dataclass(frozen=True, eq=False)
class WindowSet:
    """Windows over shared rows, held once however much they overlap.

    `rows` (row, vars) is float32 and 0 where missing, `seen` (row, vars) is True where observed;
    window `i` is made of `window` rows from `starts[i]` on.
    """

    rows: npt.NDArray[np.float32]
    seen: BoolArray
    starts: Starts
    window: int

    @classmethod
    def from_series(
        cls, values: npt.NDArray[Any], window: int, stride: int = 1, starts: npt.ArrayLike | None = None
    ) -> WindowSet:
        """Windows of a series (time, vars), NaN where missing: every `stride` rows, or at `starts`."""
        _check_length(len(values), window, stride)
        last = len(values) - window
        if starts is None:
            starts = np.arange(0, last + 1, stride)
        begin = np.asarray(starts, dtype=np.int64)
        if len(begin) and not (begin.min() >= 0 and begin.max() <= last):
            raise InputError(
                f"window starts are {begin.min()} to {begin.max()}, {len(values)} rows allow 0 to {last}.\n"
                "Make the split for this series and this window."
            )
        seen = ~np.isnan(values)
        return cls(rows=_float32(values, seen), seen=seen, starts=begin, window=window)

    @classmethod
    def concat(cls, parts: Sequence[WindowSet]) -> WindowSet:
        """One set of the windows of several, in order; no window crosses from one series into the next."""
        if len({(part.window, part.n_vars) for part in parts}) != 1:
            raise InputError(
                "only windows of the same length and the same variables can be joined, got (window, vars) "
                f"{[(part.window, part.n_vars) for part in parts]}.\nCut all series with one window length."
            )
        offsets = np.cumsum([0] + [len(part.rows) for part in parts[:-1]])
        return cls(
            rows=np.concatenate([part.rows for part in parts]),
            seen=np.concatenate([part.seen for part in parts]),
            starts=np.concatenate(
                [part.starts + offset for part, offset in zip(parts, offsets, strict=True)]
            ),
            window=parts[0].window,
        )

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def n_vars(self) -> int:
        """How many variables every window has."""
        return int(self.rows.shape[1])

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """All windows (n, window, vars), 0 where missing: a view when they are evenly spaced."""
        return self._chosen(self._every[0])

    @property
    def observed(self) -> BoolArray:
        """True where a value was given (n, window, vars): a view when the windows are evenly spaced."""
        return self._chosen(self._every[1])

    def batch(self, indices: Indices) -> tuple[npt.NDArray[np.float32], BoolArray]:
        """Copies of the chosen windows: values and observed, each (batch, window, vars)."""
        begin = self.starts[indices]
        values, observed = self._every
        return values[begin], observed[begin]

    def subset(self, indices: Indices) -> WindowSet:
        """The chosen windows over the same rows; nothing is copied."""
        return WindowSet(rows=self.rows, seen=self.seen, starts=self.starts[indices], window=self.window)

    @cached_property
    def _every(self) -> tuple[npt.NDArray[np.float32], BoolArray]:
        """Views on every window of the rows, also on those that cross from one series into the next."""
        return cut(self.rows, self.window), cut(self.seen, self.window)

    def _chosen(self, every: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        steps = np.unique(np.diff(self.starts))
        if len(self) == 0 or len(steps) > 1 or (steps <= 0).any():
            return every[self.starts]
        return every[self.starts[0] : self.starts[-1] + 1 : int(steps[0]) if len(steps) else 1]


def _float32(values: npt.NDArray[Any], seen: BoolArray) -> npt.NDArray[np.float32]:
    known = np.where(seen, values, 0)
    largest = max(float(known.max(initial=0)), -float(known.min(initial=0)))
    if largest > float(np.finfo(np.float32).max):
        raise InputError(
            f"a value of size {largest:.3g} is too large for the model's 32-bit numbers.\n"
            "Scale the values first, with Scaler.from_observed(values).scale(values)."
        )
    return known.astype(np.float32)


def _check_length(length: int, window: int, stride: int) -> None:
    if window < 1 or stride < 1:
        raise InputError(
            f"window and stride must be at least 1, got {window} and {stride}.\nGive whole numbers above 0."
        )
    if length < window:
        raise InputError(
            f"a series of {length} rows is shorter than a window of {window}.\n"
            f"Use a window of at most {length}, or a longer series."
        )
