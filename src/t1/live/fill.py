"""`fitted.live()`: fill each row as it arrives, and the last few again as later rows tell more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.errors import InputError
from t1.fill.blend import mixed
from t1.fill.circle import unwind
from t1.fill.conformal import guess_spread
from t1.fill.ends import LAG, end_class, last_rows
from t1.fill.gaps import N_INNER, Gaps
from t1.fill.judged import JudgedFill, fill_end, surest
from t1.fill.rules import Rules
from t1.live.adapt import EVERY, SAME, Trial, draw_trial, kind_of
from t1.live.row import FINAL, NEWEST, REVISED, LiveRow, nanoseconds, row_values
from t1.live.track import Track
from t1.methods.base import FittedMethod
from t1.methods.regression import RegressionFill
from t1.methods.rest import RestFill
from t1.methods.t1 import TUNED, T1Fill
from t1.methods.together import TogetherFill
from t1.onnx.engine import OnnxT1
from t1.panel import Panel

REVISE = 8  # rows after which gaps in the lag are filled again, if nothing else asks for it
ALONE = 0.99  # weight of a method in a blend: it was asked for, or knows codes or formulas, and does not lean
CLOSE = 0.01  # of a column's spread: a fill that moves by less is not told again


@dataclass(frozen=True, eq=False)
class _Said:
    """What the methods say of the missing cells of some tables: arrays (cells,)."""

    table: IntArray  # the number of the table that a cell is of
    row: IntArray  # in this table
    gaps: Gaps  # as they are in all tables, one below the other
    is_open: BoolArray
    fills: FloatArray  # (methods, cells)
    down: FloatArray | None  # how far off T1 thinks it may be
    up: FloatArray | None

    def of_table(self, table: int) -> _Said:
        """What was said of the cells of one table."""
        mine = self.table == table
        sure = (None if side is None else side[mine] for side in (self.down, self.up))
        parts = self.table[mine], self.row[mine], self.gaps.take(mine), self.is_open[mine]
        return _Said(*parts, self.fills[:, mine], *sure)


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
        names = at_end.method_names
        networks = [k for k, name in enumerate(names) if name in (T1Fill.name, TUNED)]
        # whose word on how sure it is shapes the intervals
        self._sure = surest(at_end.methods) if self.calibration.guess == "t1" else None
        # the methods that fills may lean to: straight lines, the network, the regressions
        regressions = [k for k, name in enumerate(names) if name in (RegressionFill.name, TogetherFill.name)]
        self._leaders = [0, *networks[-1:], *regressions]
        weights = at_end.blend.weights
        # what was asked for, or knows codes or formulas, fills alone
        alone = np.delete(weights, self._leaders, axis=2).max(axis=2, initial=0.0) > ALONE
        self._leans = ~alone & (at_end.forced is None)  # (vars, classes)
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
        values = row_values(row, self.columns)
        when = None if time is None else nanoseconds(time, self.step)
        track = self.tracks.get(id)
        if track is None:
            track = self.tracks[id] = self._empty()
            if when is None:
                track.end = self.first_row - 1  # rows that are only counted go on after the fitted table
        before, jumps = track.end, track.jumps
        fresh = track.put(track.row_of(when), values)
        return track, fresh, before if track.jumps == jumps else None

    def _empty(self) -> Track:
        return Track.empty(self.judged.memory, self.lag, len(self.columns), len(self._leaders), self.step)

    # ------------------------------------------------------------ fills

    def _told(self, id: Any, track: Track, fresh: list[int], before: int | None) -> list[LiveRow]:
        """The rows that are new, those whose fills have moved, and those that will not be told again."""
        assert track.end is not None
        first = track.end - track.memory + 1  # the clock's number of the first remembered row
        oldest = track.end - self.lag
        leaving = oldest if before is None else max(first, min(before - self.lag + 1, oldest))
        known = ~np.isnan(track.values[leaving - first :])
        filled, lo, hi = self._filled(id, track, fresh, before, leaving - first)
        number = np.arange(leaving, track.end + 1)
        gone = oldest - leaving  # rows that left the lag all at once, because rows were absent
        last = np.concatenate([filled[:gone], track.shown])
        told = ~np.isnan(last).all(axis=1)
        moved = ~(np.abs(filled - last) <= CLOSE * self.judged.scale) & ~np.isnan(filled)
        final = (number <= oldest) & (self.lag > 0)
        again = told & ~known.all(axis=1) & (final | moved.any(axis=1))
        chosen = again | np.isin(number, fresh)
        track.shown[chosen[gone:]] = filled[gone:][chosen[gone:]]
        return [
            self._row(id, track, number[k], (filled[k], known[k], lo[k], hi[k]), status)
            for k in np.flatnonzero(chosen).tolist()
            for status in [FINAL if final[k] else REVISED if told[k] else NEWEST]
        ]

    def _filled(
        self, id: Any, track: Track, fresh: list[int], before: int | None, since: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The remembered rows from `since` on, filled, with the ends of intervals, each (rows, vars).

        They are filled again when the newest row has a gap, ends one, or came out of order, and every REVISE rows
        while there are gaps in the lag; else what was known of them still stands.
        """
        assert track.end is not None
        n = self.lag + 1
        gaps = np.isnan(track.values[-max(n, 2) :])
        in_order = before is not None and fresh == [before + 1]
        turn = track.end % REVISE == 0 and gaps[-n:].any()
        if in_order and not (gaps[-1].any() or gaps[-2].any() or turn):
            track.fills[-1, 0] = track.values[-1]
            return track.fills[:, 0].copy(), track.fills[:, 1].copy(), track.fills[:, 2].copy()
        is_newest = before is None or track.end > before
        due = track.filled_at is None or track.end // EVERY > track.filled_at // EVERY
        trial = draw_trial(track.values, track.end, self.lag) if is_newest and due else None
        filled, lo, hi = self._fill(id, track, since, trial)
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

    def _fill(self, id: Any, track: Track, since: int, trial: Trial | None) -> tuple[FloatArray, ...]:
        """The remembered rows from `since` on, filled, with the ends of intervals, after what a trial has taught."""
        tables, begin = [track.values], [since]
        if trial is not None:
            tables, begin = [*tables, trial.rows], [*begin, int(trial.counts.any(axis=1).argmax())]
        rows = track.values[since:]
        out = rows.copy(), np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
        if np.isnan(track.values).all():
            return out
        with np.errstate(over="ignore", invalid="ignore"):
            panel, said = self._ask(id, track, tables, np.array(begin))
            if trial is not None:
                self._learn(track, trial, said.of_table(1))
            said = said.of_table(0)
            gaps = said.gaps
            fill, low, high = self._bands(track, said)
        self._rule(panel, gaps, fill, low, high)
        here = said.row >= since
        for part, found in zip(out, (fill, low, high), strict=True):
            part[said.row[here] - since, gaps.column[here]] = found[here]
        return out

    def _ask(self, id: Any, track: Track, tables: list[FloatArray], since: IntArray) -> tuple[Panel, _Said]:
        """What the methods say of missing cells of some tables: of gaps that reach row `since` (tables,) or later."""
        assert track.end is not None
        judged, memory, n = self.judged, track.memory, len(tables)
        whole = Panel.of(
            np.concatenate(tables),
            self.columns,
            starts=np.arange(n) * memory,
            ids=[id] * n,
            phase=[track.end - memory + 1] * n,
        )
        panel = unwind(whole, judged.circles, judged.centres)
        gaps = Gaps.of(panel.observed, panel.starts)
        last = last_rows(gaps, panel.n_rows, memory)
        table, row = np.divmod(gaps.row, memory)
        late = last >= since[table]  # whole gaps: a rule may want to see where they begin
        gaps, is_open, table, row = gaps.take(late), last[late] == memory - 1, table[late], row[late]
        gaps = replace(gaps, code=end_class(gaps.length, is_open))
        used = self._weights(track, gaps, is_open) > 0
        fills = np.full((len(judged.methods), len(gaps)), np.nan)
        down = up = None
        for k, method in enumerate(judged.methods):
            wanted = np.bincount(table[used[:, k]], minlength=n) > 0
            wanted |= k in (0, self._sure)  # lines: for cells without another answer
            wanted[1:] |= k in self._leaders and bool(self._leans.any())
            if not wanted.any():
                continue
            which = np.flatnonzero(wanted)
            spans = [(t, t * memory, (t + 1) * memory) for t in which.tolist()]
            asked = panel if wanted.all() else panel.take(spans)
            # gaps of a trial are short: what is long in it does not count, and needs no coarser rate
            filled = fill_end(method, asked, memory, which == 0, since[which])
            mine = wanted[table]
            at = (np.cumsum(wanted) - 1)[table[mine]] * memory + row[mine], gaps.column[mine]
            fills[k, mine] = filled.values[at]
            if k == self._sure and filled.down is not None and filled.up is not None:
                down, up = np.full((2, len(gaps)), np.nan)
                down[mine], up[mine] = filled.down[at], filled.up[at]
        return panel, _Said(table, row, gaps, is_open, fills, down, up)

    def _weights(self, track: Track, gaps: Gaps, is_open: BoolArray) -> FloatArray:
        """The weight of each method in each cell (cells, methods): those of the fit, leaning as the stream has it."""
        weights: FloatArray = self.judged.blend.weights[gaps.column, gaps.code]
        lean = track.lean.shares[is_open.astype(np.intp), gaps.column]  # (cells, leaders)
        lean = np.where(self._leans[gaps.column, gaps.code, None], lean, 0.0)
        weights = weights * (1 - lean.sum(axis=1, keepdims=True))
        weights[:, self._leaders] += lean
        return weights

    def _bands(self, track: Track, said: _Said) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The fills of some cells, and the ends of their intervals."""
        gaps, is_open, scale = said.gaps, said.is_open, self.judged.scale
        fill = mixed(said.fills, self._weights(track, gaps, is_open))
        spread = guess_spread(
            self.calibration.guess, gaps.column, gaps.code, gaps.distance, scale, said.down, said.up
        )
        low, high = self.calibration.bands(fill, spread, gaps.column, gaps.code, gaps.distance)
        wider = np.sqrt(self._beyond(gaps.code, gaps.distance, is_open))
        wider *= track.widths.factor(kind_of(is_open, gaps.length), gaps.column)
        return fill, fill - (fill - low) * wider, fill + (high - fill) * wider

    def _learn(self, track: Track, trial: Trial, said: _Said) -> None:
        """Make intervals wider or narrower, and lean to other methods, by what became of hidden cells."""
        gaps = said.gaps
        counts = trial.counts[said.row, gaps.column] & ~np.isin(gaps.column, list(self.judged.circles))
        column, scale = gaps.column[counts], self.judged.scale[gaps.column[counts]]
        is_open, kind = said.is_open[counts], kind_of(said.is_open, gaps.length)[counts]
        truth = track.values[said.row[counts], column]
        fill, lo, hi = (part[counts] for part in self._bands(track, said))
        side = np.where(truth < fill, fill - lo, hi - fill)
        side /= track.widths.factor(kind, column)
        miss = np.abs(truth - fill) / np.fmax(side, SAME * scale)
        fine = np.isfinite(miss)
        if fine.any():
            track.widths.learn(kind[fine], column[fine], miss[fine], self.calibration.level)
        blend = self.judged.blend.mix(said.fills[:, counts], column, gaps.code[counts])
        fills = said.fills[self._leaders][:, counts]
        blend, leaders = (blend - truth) / scale, (np.where(np.isnan(fills), blend, fills) - truth) / scale
        fine = np.isfinite(blend) & np.isfinite(leaders).all(axis=0)
        if fine.any():
            track.lean.learn(is_open[fine], column[fine], blend[fine], leaders[:, fine])

    def _beyond(self, code: Any, distance: Any, is_open: BoolArray) -> FloatArray:
        """How many times longer a column has been silent than in any rehearsed gap of its class; 1 or more."""
        reach = self.calibration.reach[code]
        return np.where(is_open & (code < N_INNER), np.fmax(distance / reach, 1.0), 1.0)

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

        self.tracks = load_tracks(Path(folder), self.columns, self._empty())
