"""Judging: every method fills the hidden cells of a rehearsal, and from what they made of them a blend is learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from t1.arrays import BoolArray, FloatArray
from t1.data.kinds import Kind
from t1.errors import InputError
from t1.fill.blend import TRIFLE, Blend, learn_blend
from t1.fill.board import FOLDS
from t1.fill.ends import Ends
from t1.fill.gaps import NEVER, Gaps
from t1.fill.hear import NEARLY_ALL, Heard, hear, heard_of
from t1.fill.judged import Evidence, JudgedFill, fill_end, surest
from t1.fill.rehearsal import Rehearsal
from t1.fill.rules import Rules
from t1.methods.base import Fill, Fit, FittedMethod, Learning, LeftOut
from t1.methods.beside import BesideFill
from t1.methods.catalog import fit_of
from t1.methods.columns import Seasonal
from t1.methods.regression import RegressionFill
from t1.methods.related import RelatedFill
from t1.methods.rest import AnyT1, RestFill
from t1.methods.t1 import TUNED, T1Fill
from t1.methods.together import TogetherFill
from t1.methods.trees import TreesFill
from t1.methods.week import WeekFill
from t1.panel import Panel

# what is not trained, and so learns from all cells in the end
REGRESSIONS = ("regression", "together", "beside")
LEARN_AGAIN = (
    BesideFill,
    RegressionFill,
    RelatedFill,
    RestFill,
    Seasonal,
    T1Fill,
    TogetherFill,
    TreesFill,
    WeekFill,
)
COUNTED = 0.5  # of what a tuned T1 gained after it was judged: some of it is luck of the rows that told it


@dataclass
class Judging:
    """Methods heard so far: what they learned, and their errors on the hidden cells of each round."""

    rounds: list[Rehearsal]
    scale: FloatArray
    learning: Learning
    ends: Ends | None = None
    heard: list[list[Heard]] = field(default_factory=list)  # of each method, by round
    at_ends: list[list[Heard]] = field(default_factory=list)

    @property
    def methods(self) -> list[FittedMethod]:
        return [of_method[0].fitted for of_method in self.heard]

    def hear(self, fit: Fit, *, forced: bool = False, untuned: list[Heard] | None = None) -> None:
        """Hear a method in all rounds, one that is tuned in the first; one that cannot is noted."""
        try:
            quick = len(self.rounds) > 1
            first = hear(fit, self.rounds[0], self.learning, quick=quick)
            if untuned is None:
                later = [hear(fit, r, self.learning, quick=quick) for r in self.rounds[1:]]
            else:
                gain = self._gain(first, untuned[0])
                later = [heard.times(gain) for heard in untuned[1:]]
        except LeftOut as reason:
            if forced:
                raise InputError(str(reason), option="budget") from None
            self.learning.notes.append(str(reason))
            return
        self.heard.append([first, *later])
        if (e := self.ends) is not None:
            # rows as they arrive have no time for what takes as long as T1 again, and no other series beside them
            slow = isinstance(first.fitted, BesideFill | RestFill | TreesFill | WeekFill) and not forced
            nothing = Fill(np.full(e.panel.values.shape, np.inf))
            filled = nothing if slow else fill_end(first.fitted, e.panel, e.memory)
            self.at_ends.append([heard_of(first.fitted, filled, e)])

    def _gain(self, tuned: Heard, untuned: Heard) -> float:
        """The error of a tuned network in the first round relative to that of the same network untuned."""
        errors = np.stack([self._sizes(tuned), self._sizes(untuned)])
        both = errors[:, np.isfinite(errors).all(axis=0)].sum(axis=1)
        return float(both[0] / both[1]) if both.all() else 1.0

    def _sizes(self, first: Heard) -> FloatArray:
        """The absolute errors (cells,) of a method in the first round, in units of a column's spread."""
        return np.abs(first.errors) / self.scale[self.rounds[0].column]

    @property
    def tells(self) -> str:
        """The regression that fills the hidden cells best: of each series, of all together, or side by side."""
        lines = self._sizes(self.heard[0][0])
        heard = [h[0] for h in self.heard if h[0].fitted.name in REGRESSIONS]
        sizes = {h.fitted.name: self._sizes(h) for h in heard}
        errors = {name: float(np.nansum(np.where(np.isfinite(e), e, lines))) for name, e in sizes.items()}
        return min(errors, key=lambda name: errors[name]) if len(errors) > 1 else self.learning.tells

    @property
    def best_error(self) -> float | None:
        """The mean absolute error of the best method so far on hidden cells, in units of a column's spread."""
        found = [self._sizes(of_method[0]) for of_method in self.heard]
        known = [float(np.mean(e[np.isfinite(e)])) for e in found if np.isfinite(e).any()]
        return min(known, default=None)

    def tune(self) -> None:
        """Train T1 on the panel with what is left of the budget, as one more method."""
        heard = [h for h in self.heard if isinstance(h[0].fitted, T1Fill)]
        if not heard:
            return
        untuned = min(heard, key=lambda h: float(np.nan_to_num(self._sizes(h[0])).mean()))
        start = untuned[0].fitted
        assert isinstance(start, T1Fill)
        from t1.methods.tune import TunedFill  # brings torch, which the ONNX engine does without

        r = self.rounds[0]
        # every fill that is still to come takes about as long per row as that of the rehearsal
        rows = r.masked.n_rows / max(r.panel.n_rows, 1)
        if self.learning.budget is not None:
            seconds = [of_method[0].seconds for of_method in self.heard]
            self.learning.budget.ahead += sum(seconds) * rows + 2 * seconds[-1] * (1 + rows)
        # it learns from cells that later rounds hide: what it would do there is what T1 does without tuning, as much
        # better as it is in the first
        with self._told_as_tuning():
            self.hear(lambda panel, learning: TunedFill.tune(start, panel, learning), untuned=untuned)

    @contextmanager
    def _told_as_tuning(self) -> Iterator[None]:
        """Whoever follows the progress hears that T1 is tuned, and how good the best method is so far."""
        best, tell = self.best_error, self.learning.on_progress
        self.learning.tell("tuning T1 on the table", best)
        if tell is not None:
            self.learning.on_progress = lambda progress: tell(
                replace(progress, stage="tuning T1 on the table", best_error=best)
            )
        try:
            yield
        finally:
            self.learning.on_progress = tell

    def verdict(
        self,
        panel: Panel,
        method: str | None,
        coded: list[int],
        seconds: float,
        kinds: Mapping[str, Kind],
    ) -> JudgedFill:
        """Blend the methods, and put together what there is to keep."""

        def judged(
            rounds: Sequence[Rehearsal | Ends], heard: list[list[Heard]], tuned_error: float = 1.0
        ) -> tuple[Blend, Evidence]:
            blend, evidence = self._blended(_evidence(rounds, heard), method, coded, tuned_error)
            truth = np.concatenate([r.truth for r in rounds])
            return blend, replace(evidence, told=_told(evidence, truth, panel.columns, kinds))

        learned, evidence = judged(self.rounds, self.heard)
        end_blend = end_evidence = None
        if self.ends is not None:
            end_blend, end_evidence = judged([self.ends], self.at_ends)
        methods, tuned_error = self._with_all_cells(panel, [b for b in (learned, end_blend) if b is not None])
        if tuned_error < 1:  # T1 has got better since it was judged
            learned, evidence = judged(self.rounds, self.heard, tuned_error)
        gaps = Gaps.of(panel.observed, panel.starts)
        return JudgedFill(
            columns=panel.columns,
            methods=methods,
            blend=learned,
            evidence=evidence,
            end_blend=end_blend,
            end_evidence=end_evidence,
            memory=0 if self.ends is None else self.ends.memory,
            scale=self.scale,
            alive=panel.known,
            missing=gaps.count(panel, panel.known),
            forced=method,
            notes=tuple(dict.fromkeys(self.learning.notes)),
            seconds=seconds,
        )

    def _blended(
        self, e: Evidence, method: str | None, coded: list[int], tuned_error: float
    ) -> tuple[Blend, Evidence]:
        """The blend that all hidden cells give; its error at each is that of the blend that the other folds give.

        Weights take a tuned T1 for better than that, as it has gone on (`tuned_error`: relative to when it was judged).
        The errors that are told stay those that were measured.
        """
        expected_error = 1 - COUNTED * (1 - tuned_error)
        better = [expected_error if m.name == TUNED else 1.0 for m in self.methods]
        expected = replace(e, errors=e.errors * np.array(better)[:, None])
        error = np.full(len(e.fold), np.nan)
        for fold in FOLDS:
            mine = e.fold == fold
            blend = self._blend(expected, ~mine, method, coded)
            error[mine] = blend.mix(e.errors[:, mine], e.column[mine], e.code[mine].astype(np.int8))
        every = self._blend(expected, np.ones(len(e.fold), dtype=bool), method, coded)
        return every, replace(e, error=error)

    def _blend(self, e: Evidence, mine: BoolArray, method: str | None, coded: list[int]) -> Blend:
        """Weights from some of the hidden cells, or the one method that was asked for."""
        names = tuple(m.name for m in self.methods)
        learned = learn_blend(
            names,
            e.errors[:, mine],
            e.column[mine],
            e.code[mine].astype(np.int8),
            e.event[mine],
            self.scale,
            known=tuple(m.name for m in self.methods if isinstance(m, AnyT1)),
            trained=tuple(m.name for m in self.methods if isinstance(m, TreesFill) or m.name == TUNED),
        )
        untested = RegressionFill.name in names and not learned.tested[:, NEVER].any()
        if self.learning.every and untested and set(self.rounds[0].masked.ids) == {None}:
            # A fit to be kept: a later table may lack a column that this one has. One series, or several that are
            # learned from as one, have a regression that knows its level.
            learned.weights[:, NEVER] = np.eye(len(names))[names.index(RegressionFill.name)]
        if "nearest" in names:
            learned.weights[coded] = 0.0
            learned.weights[coded, :, names.index("nearest")] = 1.0
        for formulas in (m.formulas for m in self.methods if isinstance(m, RelatedFill)):
            # it holds in every row: what the others know is exact, and the blend fills where they know nothing
            for j in formulas:
                learned.weights[j] *= TRIFLE
                learned.weights[j, :, names.index("related")] = 1.0 - TRIFLE
        if method is not None:
            asked = TUNED if method == "t1" and TUNED in names else method
            learned = Blend.of_one(names, asked, len(self.scale), learned.tested)
        return learned

    def _with_all_cells(self, panel: Panel, blends: list[Blend]) -> tuple[tuple[FittedMethod, ...], float]:
        """The methods as they fill: what is not trained learns again, now also from the cells that were hidden.

        Their errors were measured without those cells, and so are not too good to be true. A tuned T1 goes on: the
        second is its error relative to when it was judged.
        """
        used = np.any([np.any(blend.weights > 0, axis=(0, 1)) for blend in blends], axis=0)
        methods = list(self.methods)
        for k, fitted in enumerate(self.methods):
            wanted = used[k] or type(fitted) in (T1Fill, WeekFill, RestFill)
            if isinstance(fitted, RegressionFill) and self.rounds[0].known > NEARLY_ALL:
                continue
            if wanted and type(fitted) in LEARN_AGAIN:
                with suppress(LeftOut):  # no time is left for it: what was judged fills
                    methods[k] = fit_of(fitted.name)(panel, self.learning)
        tuned_error = 1.0
        for k, fitted in enumerate(methods):  # what a tuned network was told of the table is better known now
            if isinstance(fitted, T1Fill) and fitted.name == TUNED:
                start = next(m for m in methods if isinstance(m, T1Fill) and m.periods == fitted.periods)
                methods[k] = fitted.knowing(start)
                if used[k]:
                    methods[k], tuned_error = self._tuned_on(methods[k], panel)
        return tuple(methods), tuned_error

    def _tuned_on(self, fitted: FittedMethod, panel: Panel) -> tuple[FittedMethod, float]:
        from t1.methods.tune import TunedFill

        assert isinstance(fitted, TunedFill)  # by its name
        with self._told_as_tuning():
            return fitted.go_on(panel, self.learning, self.rounds[0].masked)


def _evidence(rounds: Sequence[Rehearsal | Ends], heard: list[list[Heard]]) -> Evidence:
    """What every method made of the hidden cells of all rounds, whose events are different ones."""
    first = np.cumsum([0, *(int(r.event.max(initial=-1)) + 1 for r in rounds[:-1])])
    who = surest([of_method[0].fitted for of_method in heard])
    sure = [] if who is None else heard[who]
    down, up = [h.down for h in sure if h.down is not None], [h.up for h in sure if h.up is not None]
    errors = np.stack([np.concatenate([h.errors for h in of_method]) for of_method in heard])
    return Evidence(
        errors=errors,
        error=np.full(errors.shape[1], np.nan),
        column=np.concatenate([r.column for r in rounds]),
        code=np.concatenate([r.code for r in rounds]).astype(np.intp),
        event=np.concatenate([r.event + first[k] for k, r in enumerate(rounds)]),
        fold=np.concatenate([r.fold for r in rounds]).astype(np.intp),
        distance=np.concatenate([r.distance for r in rounds]),
        down=np.concatenate(down) if down else None,
        up=np.concatenate(up) if up else None,
    )


def _told(
    e: Evidence, truth: FloatArray, columns: tuple[str, ...], kinds: Mapping[str, Kind]
) -> FloatArray | None:
    """The errors (1 + methods, cells) of fills that keep to what their columns are, as those of the table will.

    A switch that is half on is wrong by a half, or not at all once it is put to a state; rain below 0 is none.
    """
    bound = {
        j: kind
        for j, name in enumerate(columns)
        if (kind := kinds.get(name)) is not None and kind.fillable and kind.circular is None
    }
    rules = Rules(kinds={columns[j]: kind for j, kind in bound.items()})
    told = np.vstack([e.error, e.errors])
    for j in bound:
        cells = np.flatnonzero(e.column == j)
        fills = told[:, cells] + truth[cells]
        free = np.zeros(len(cells), dtype=bool)
        for fill in fills:
            rules.touch(columns[j], [fill], np.ones(len(cells), dtype=np.int32), free)
        told[:, cells] = np.where(np.isfinite(told[:, cells]), fills - truth[cells], told[:, cells])
    return told if bound else None
