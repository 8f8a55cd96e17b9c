"""`fitted.live()`: fill each row as it arrives, and the last few again as later rows tell more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.errors import InputError
from t1.fill.circle import unwind
from t1.fill.conformal import guess_spread
from t1.fill.ends import LAG, end_class, open_gaps
from t1.fill.gaps import N_INNER, Gaps
from t1.fill.judged import JudgedFill, fill_end
from t1.fill.rules import Rules
from t1.live.adapt import EVERY, SAME, Trial, draw_trial, kind_of
from t1.live.track import Track
from t1.methods.base import FittedMethod
from t1.methods.rest import RestFill
from t1.methods.t1 import T1Fill
from t1.onnx.engine import OnnxT1
from t1.panel import Panel
from t1.registry import did_you_mean

REVISE = 8  # rows after which gaps in the lag are filled again, if nothing else asks for it
ALONE = 0.99  # weight of a method in a blend: it was asked for, or knows codes or formulas, and does not lean
CLOSE = 0.01  # of a column's spread: a fill that moves by less is not told again
NEWEST, REVISED, FINAL = "newest", "revised", "final"


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveRow:
    """One row as it is known now."""

    time: np.datetime64 | int  # when it is; where rows have no time, its number
    id: Any  # the series it belongs to
    values: FloatArray  # (vars,): observed or filled; NaN where nothing can be said
    observed: BoolArray  # (vars,)
    lo: FloatArray  # (vars,), NaN where observed
    hi: FloatArray
    status: str  # newest: first told; revised: told again; final: not told again


class _FilledRows(NamedTuple):
    """The remembered rows (memory, vars), filled, and the ends of their intervals."""

    values: FloatArray
    lo: FloatArray
    hi: FloatArray
    blend: FloatArray  # what the blend says, before it leans
    lines: FloatArray  # what straight lines say


def with_engine(judged: JudgedFill, engine: str) -> JudgedFill:
    """The fill with its T1 in another engine: onnx is faster for a row at a time."""
    if engine != "onnx":
        raise InputError(f"there is no engine {engine!r}", cure="Give torch or onnx.", option="engine")

    def in_onnx(method: FittedMethod) -> FittedMethod:
        if isinstance(method, RestFill):
            t1 = in_onnx(method.t1)
            assert isinstance(t1, T1Fill)
            return replace(method, t1=t1)
        if not isinstance(method, T1Fill) or isinstance(method.network, OnnxT1):
            return method
        weights = {name: t.detach().cpu().numpy() for name, t in method.network.state_dict().items()}
        return replace(method, network=OnnxT1(asdict(method.network.config), weights))

    return replace(judged, methods=tuple(map(in_onnx, judged.methods)))


class LiveFill:
    """Fills rows as they arrive, with bounded memory: `push` a row, and get what is now known.

    `lag` is for how many rows back fills are revised, and how late a row may come. Several series are told
    apart by the `id` of each row.
    """

    def __init__(
        self,
        judged: JudgedFill,
        rules: Rules,
        *,
        lag: int = LAG,
        intervals: float = 0.9,
        step: int | None = None,
        first_row: int = 0,
    ) -> None:
        at_end = judged.at_end
        if at_end is None:
            raise InputError(
                "this fill was not judged for rows that arrive one by one", cure="Fit it again with t1.fit."
            )
        if not isinstance(lag, int) or not 0 <= lag <= LAG:
            raise InputError(
                f"a lag is a whole number of rows from 0 to {LAG}, got {lag!r}",
                cure="48 is usual.",
                option="lag",
            )
        rules.check(judged.columns)
        self.judged, self.rules, self.lag, self.step = at_end, rules, lag, step
        self.first_row = first_row
        self.calibration = at_end.calibration(intervals)
        self._needs_spread = self.calibration.guess == "t1"
        self.tracks: dict[Any, Track] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row."""
        return self.judged.columns

    # ------------------------------------------------------------ rows

    def push(
        self, row: Mapping[str, Any] | Sequence[Any] | FloatArray, time: Any = None, id: Any = None
    ) -> list[LiveRow]:
        """Take a row in, and give it back filled, after the earlier rows whose fills it has changed.

        The row is a mapping by column, in which what is absent is missing, or a number for each column. Rows
        may come late or out of order by up to the lag; absent rows are filled as well. Without a time, a row
        is the one after the last. Nothing comes back for a row that is too late or of a time far away; three
        such rows that follow each other are believed, and the series starts anew with them.
        """
        track, fresh, before = self._take(row, time, id)
        return self._told(id, track, fresh, before) if fresh else []

    def warm(self, rows: Any, times: Any = None, id: Any = None) -> None:
        """Remember the last rows of a table (rows, vars) without filling them: what came before the stream."""
        table = np.asarray(rows, dtype=np.float64)
        for i in range(max(0, len(table) - self.judged.memory), len(table)):
            self._take(table[i], None if times is None else times[i], id)

    def _take(self, row: Any, time: Any, id: Any) -> tuple[Track, list[int], int | None]:
        """The series of a row that was taken in, the rows of the clock that are new, the last one before."""
        values = self._values(row)
        when = None if time is None else self._nanoseconds(time)
        track = self.tracks.get(id)
        if track is None:
            track = Track.empty(self.judged.memory, self.lag, len(self.columns), self.step)
            self.tracks[id] = track
            if when is None:
                track.end = self.first_row - 1  # rows that are only counted go on after the fitted table
        before, jumps = track.end, track.jumps
        fresh = track.put(track.row_of(when), values)
        return track, fresh, before if track.jumps == jumps else None

    def _values(self, row: Any) -> FloatArray:
        if isinstance(row, Mapping):
            unknown = [name for name in row if name not in self.columns]
            if unknown:
                hint = did_you_mean(
                    str(unknown[0]), self.columns, f"The columns are: {', '.join(self.columns)}."
                )
                raise InputError(f"a row has the column {unknown[0]!r}, which was not fitted", cure=hint)
            row = [row.get(name) for name in self.columns]
        try:
            values = np.array([np.nan if x is None else x for x in row], dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"a row holds something that is no number: {row!r}", cure="Leave it out."
            ) from None
        if values.shape != (len(self.columns),):
            raise InputError(
                f"a row has {values.size} values, the fit has {len(self.columns)} columns: {', '.join(self.columns)}",
                cure="Give one value for each column, None where it is missing.",
            )
        if np.isinf(values).any():
            raise InputError("a row holds an infinite value", cure="Leave it out to have it filled.")
        return values

    def _nanoseconds(self, time: Any) -> int:
        if self.step is None:
            raise InputError(
                "the fill was fitted to rows without regular times, so rows are only counted",
                cure="Leave the time out, or give the step between rows.",
                option="step",
            )
        try:
            stamp = pd.Timestamp(time)
        except (TypeError, ValueError):
            raise InputError(f"{time!r} is no time", cure="Give for example 2024-01-31 12:00.") from None
        if pd.isna(stamp):
            raise InputError("a row has no time", cure="Give every row one, or none.")
        stamp = stamp if stamp.tzinfo is None else stamp.tz_convert("UTC").tz_localize(None)
        return int(stamp.as_unit("ns").value)

    # ------------------------------------------------------------ fills

    def _told(self, id: Any, track: Track, fresh: list[int], before: int | None) -> list[LiveRow]:
        """The rows that are new, those whose fills have moved, and those that will not be told again."""
        assert track.end is not None
        known = ~np.isnan(track.values)
        filled, lo, hi = self._filled(id, track, fresh, before)
        first = track.end - track.memory + 1  # the clock's number of the first remembered row
        oldest = track.end - self.lag
        leaving = oldest if before is None else max(first, min(before - self.lag + 1, oldest))
        at = np.arange(leaving - first, track.memory)
        gone = oldest - leaving  # rows that left the lag all at once, because rows were absent
        last = np.concatenate([filled[at[:gone]], track.shown])
        told = ~np.isnan(last).all(axis=1)
        moved = ~(np.abs(filled[at] - last) <= CLOSE * self.judged.scale) & ~np.isnan(filled[at])
        final = (at + first <= oldest) & (self.lag > 0)
        again = told & ~known[at].all(axis=1) & (final | moved.any(axis=1))
        chosen = again | np.isin(at + first, fresh)
        track.shown[chosen[gone:]] = filled[at[gone:]][chosen[gone:]]
        return [
            self._row(id, track, at[k] + first, (filled[at[k]], known[at[k]], lo[at[k]], hi[at[k]]), status)
            for k in np.flatnonzero(chosen).tolist()
            for status in [FINAL if final[k] else REVISED if told[k] else NEWEST]
        ]

    def _filled(
        self, id: Any, track: Track, fresh: list[int], before: int | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The remembered rows, filled, with the ends of intervals, each (memory, vars).

        They are filled again when the newest row has a gap, ends one, or came out of order, and every REVISE rows
        while there are gaps in the lag; else what was known of them still stands.
        """
        assert track.end is not None
        n = self.lag + 1
        gaps = np.isnan(track.values)
        in_order = before is not None and fresh == [before + 1]
        turn = track.end % REVISE == 0 and gaps[-n:].any()
        if in_order and not (gaps[-1].any() or gaps[-2].any() or turn):
            track.fills[-1, 0] = track.values[-1]
            found = np.full((3, *track.values.shape), np.nan)
            found[0] = track.values
            found[:, -n:] = track.fills.transpose(1, 0, 2)
            return found[0], found[1], found[2]
        is_newest = before is None or track.end > before
        due = track.filled_at is None or track.end // EVERY > track.filled_at // EVERY
        trial = draw_trial(track.values, track.end, self.lag) if is_newest and due else None
        tables = self._fill(id, track, [track.values, *([] if trial is None else [trial.rows])])
        if trial is not None:
            self._learn(track, trial, tables[1])
        filled, lo, hi = tables[0][:3]
        track.fills[:] = np.stack([filled[-n:], lo[-n:], hi[-n:]], axis=1)
        track.filled_at = track.end
        return filled, lo, hi

    def _row(self, id: Any, track: Track, row: int, cells: tuple[Any, ...], status: str) -> LiveRow:
        values, observed, lo, hi = cells
        time = track.time_of(int(row))
        return LiveRow(
            time=int(row) if time is None else np.datetime64(time, "ns"),
            id=id,
            values=values,
            observed=observed,
            lo=np.where(observed, np.nan, lo),
            hi=np.where(observed, np.nan, hi),
            status=status,
        )

    def _learn(self, track: Track, trial: Trial, found: _FilledRows) -> None:
        """Make intervals wider or narrower, and fills more or less straight, by what became of hidden cells."""
        row, column = np.nonzero(trial.counts)
        straight = ~np.isin(column, list(self.judged.circles))
        row, column = row[straight], column[straight]
        truth, scale = track.values[row, column], self.judged.scale[column]
        fill, lo, hi = (part[row, column] for part in (found.values, found.lo, found.hi))
        side = np.where(truth < fill, fill - lo, hi - fill)
        kind = kind_of(np.full(len(column), trial.is_open), trial.length[column])
        side /= track.widths.factor(kind, column)
        miss = np.abs(truth - fill) / np.fmax(side, SAME * scale)
        fine = np.isfinite(miss)
        if fine.any():
            track.widths.learn(kind[fine], column[fine], miss[fine], self.calibration.level)
        blend, lines = ((part[row, column] - truth) / scale for part in (found.blend, found.lines))
        fine = np.isfinite(blend) & np.isfinite(lines)
        if fine.any():
            track.lean.learn(trial.is_open, column[fine], blend[fine], lines[fine])

    def _fill(self, id: Any, track: Track, tables: list[FloatArray]) -> list[_FilledRows]:
        """The remembered rows as they are, then with cells hidden, filled: all in one run of the network."""
        assert track.end is not None
        judged, memory = self.judged, track.memory
        out = [_FilledRows(t.copy(), *(np.full_like(t, np.nan) for _ in range(4))) for t in tables]
        gappy = [t for t in out if np.isnan(t.values[-self.lag - 1 :]).any() and not np.isnan(t.values).all()]
        if not gappy:
            return out
        whole = Panel.of(
            np.concatenate([t.values for t in gappy]),
            self.columns,
            starts=np.arange(len(gappy)) * memory,
            ids=[id] * len(gappy),
            phase=[track.end - memory + 1] * len(gappy),
        )
        panel = unwind(whole, judged.circles, judged.centres)
        gaps = Gaps.of(panel.observed, panel.starts)
        is_open = open_gaps(gaps, panel.n_rows, memory)
        gaps = replace(gaps, code=end_class(gaps.length, is_open))
        with np.errstate(over="ignore", invalid="ignore"):
            # gaps of a trial are short: what is long in it does not count, and needs no coarser rate
            is_real = np.array([t is out[0] for t in gappy])
            blend, lines, down, up = self._blended(panel, gaps, memory, is_real)
            alone = judged.blend.weights[gaps.column, gaps.code].max(axis=-1) > ALONE
            lean = np.where(alone, 0.0, track.lean.share(is_open, gaps.column))
            fill = np.where(lean > 0, blend + lean * (lines - blend), blend)
            spread = guess_spread(self.calibration.guess, gaps.column, gaps.distance, judged.scale, down, up)
            low, high = self.calibration.bands(fill, spread, gaps.column, gaps.code, gaps.distance)
        wider = np.sqrt(self._beyond(gaps.code, gaps.distance, is_open))
        wider *= track.widths.factor(kind_of(is_open, gaps.length), gaps.column)
        low, high = fill - (fill - low) * wider, fill + (high - fill) * wider
        self._rule(panel, gaps, fill, low, high)
        for k, table in enumerate(gappy):
            mine = gaps.row // memory == k
            at = gaps.row[mine] - k * memory, gaps.column[mine]
            for part, found in zip(table, (fill, low, high, blend, lines), strict=True):
                part[at] = found[mine]
        return out

    def _beyond(self, code: Any, distance: Any, is_open: BoolArray) -> FloatArray:
        """How many times longer a column has been silent than in any rehearsed gap of its class; 1 or more."""
        reach = self.calibration.reach[code]
        return np.where(is_open & (code < N_INNER), np.fmax(distance / reach, 1.0), 1.0)

    def _blended(
        self, panel: Panel, gaps: Gaps, memory: int, coarse_of: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
        """What the blend and what straight lines say of each gap cell, and how far off T1 thinks it may be."""
        judged = self.judged
        late = gaps.row % memory >= memory - self.lag - 1
        used = np.any(judged.blend.weights[gaps.column[late], gaps.code[late]] > 0, axis=0)
        used[0] = True
        if self._needs_spread:
            used |= np.array([name in ("t1", "t1 tuned") for name in judged.method_names])
        fills = np.full((len(judged.methods), len(gaps)), np.nan)
        down = up = None
        for k in np.flatnonzero(used).tolist():
            filled = fill_end(judged.methods[k], panel, memory, coarse_of)
            fills[k] = filled.values[gaps.row, gaps.column]
            if filled.down is not None and filled.up is not None:
                down, up = filled.down[gaps.row, gaps.column], filled.up[gaps.row, gaps.column]
        return judged.blend.mix(fills, gaps.column, gaps.code), fills[0], down, up

    def _rule(self, panel: Panel, gaps: Gaps, fill: FloatArray, low: FloatArray, high: FloatArray) -> None:
        """What a column is and the user's bounds, as in a fill of a whole table."""
        rules = self.rules.that_hold(panel.columns, panel.values)
        bounds: IntArray = np.searchsorted(gaps.column, np.arange(panel.n_vars + 1))
        for j, name in enumerate(panel.columns):
            part = slice(bounds[j], bounds[j + 1])
            around = gaps.around(panel.values, panel.starts, part) if rules.rises(name) else None
            unlocked = np.zeros(part.stop - part.start, dtype=bool)
            rules.touch(name, [fill[part], low[part], high[part]], gaps.length[part], unlocked, around)

    # ------------------------------------------------------------ keeping

    def save(self, folder: str | Path) -> None:
        """Keep the state of all series in a folder, to `restore` it and go on with the same results."""
        from t1.live.keep import save_tracks

        save_tracks(Path(folder), self.columns, self.lag, self.tracks)

    def restore(self, folder: str | Path) -> None:
        """Go on from a state that `save` wrote, with the same columns and lag."""
        from t1.live.keep import load_tracks

        self.tracks = load_tracks(Path(folder), self.columns, self.lag, self.judged.memory)
