"""Fitting: a rehearsal of the panel's own gaps says which methods fill what, and how wrong they are.

Which methods there are, which cells are hidden, and what comes of a table without gaps; judging.py hears the methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np

from t1.arrays import FloatArray
from t1.data.blocks import column_blocks
from t1.data.kinds import Kind
from t1.data.suspicions import own_rate
from t1.errors import InputError
from t1.fill.blend import Blend
from t1.fill.circle import centres, unwind
from t1.fill.ends import Ends, memory_for, rehearse_ends
from t1.fill.gaps import N_CLASSES
from t1.fill.judged import Evidence, JudgedFill
from t1.fill.judging import Judging
from t1.fill.rehearsal import Rehearsal, rehearse, rehearse_until_clear
from t1.methods.base import Fit, Learning
from t1.methods.beside import stand_side_by_side
from t1.methods.catalog import METHODS, fit_of
from t1.methods.columns import Linear
from t1.methods.seasons import find_periods, find_weeks, moments
from t1.panel import Panel

SHORT = 200  # rows of a series that tell little of how its columns relate: all series are asked first


def fit_panel(
    panel: Panel,
    learning: Learning,
    *,
    method: str | None = None,
    tune: bool = True,
    kinds: Mapping[str, Kind] | None = None,
) -> JudgedFill:
    """Judge methods on a rehearsal of the panel's gaps; `method` names the one to use, whatever it is worth.

    `tune` lets what is left of the budget train T1 on the panel. `kinds` say what columns are: angles are
    filled on their circle, and codes of categories are taken from the nearest row, for they have no mean.
    """
    began = perf_counter()
    if not panel.observed.any():
        raise InputError(
            "every value of the table is missing, so nothing can be learned from it",
            cure="Check how the file was read: the missing-value code or the decimal sign may be wrong.",
        )
    if method is not None:
        METHODS[method]  # an unknown name is told now
    if method == "t1-zero":
        method, tune = "t1", False
    if not learning.every and panel.is_whole:
        return _nothing_to_fill(panel, method)
    kinds = kinds or {}
    turns = {j: kinds[c].circular for j, c in enumerate(panel.columns) if c in kinds}
    circles = {j: turn for j, turn in turns.items() if turn is not None}
    coded = [j for j, c in enumerate(panel.columns) if c in kinds and kinds[c].name == "category"]
    panel = unwind(panel, circles)
    learning.notes += _slow_columns(panel)
    learning.follows = _follows(panel.columns, kinds)
    with np.errstate(over="ignore", invalid="ignore"):
        learning.tell("hiding cells to judge by")
        # of all cells: with a quarter of a sparse panel hidden, seasons are missed or seen where there are none
        learning.periods = find_periods(panel)
        learning.weeks = {} if learning.is_large(panel) else find_weeks(panel, learning.periods)
        names = _to_judge(method, learning, panel, tune=tune)
        rounds, ends = _rehearsals(panel, names, learning)
        judged = Judging(rounds, _scale(panel.values), learning, ends)
        short = panel.n_rows < SHORT * (len(set(panel.ids)) - 1)
        learning.tells = "together" if short else "regression"
        for name in names:
            learning.tell(f"judging {name}", judged.best_error)
            judged.hear(_fit_of(name, learning), forced=name == method)
            learning.tells = judged.tells
        if tune and method in (None, "t1") and learning.weights != "none":
            judged.tune()
        learning.tell("learning from all cells and filling", judged.best_error)
        fitted = judged.verdict(panel, method, coded, perf_counter() - began, kinds)
    guessed = np.array([c not in kinds or kinds[c].fillable for c in panel.columns])  # not so an id
    return replace(
        fitted,
        circles=circles,
        centres=centres(panel, circles),
        alive=fitted.alive & guessed,
        missing=np.where(guessed[:, None], fitted.missing, 0),
    )


def _to_judge(method: str | None, learning: Learning, panel: Panel, *, tune: bool = True) -> list[str]:
    """The names of the methods: the one that was asked for beside linear, or all that serve every table."""
    if method == "related" and not learning.follows:
        raise InputError("no column is a copy or a sum of others", cure="Choose another.", option="method")
    if method is not None:
        return list(dict.fromkeys(["linear", method]))
    defaults = [name for name, entry in METHODS.items() if entry.default]
    left_out = {"related"} if not learning.follows else set()
    # trees have to be grown, which is training as well
    left_out |= {"trees"} if not tune or learning.is_large(panel) else set()
    # without pretrained weights T1 is trained, and once only; a large table would take twice as long
    left_out |= {"t1-rest", "t1-week"} if learning.weights == "none" or learning.is_large(panel) else set()
    if learning.weights == "none" and not tune:
        left_out.add("t1")
        learning.notes.append(
            "T1 was left out: without pretrained weights it has to be trained, which takes time"
        )
    left_out |= {"t1-week"} if not learning.weeks else set()
    left_out |= {"together"} if len(set(panel.ids)) < 2 else set()
    left_out |= {"beside"} if not stand_side_by_side(panel) else set()
    return [name for name in defaults if name not in left_out]


def _rehearsals(panel: Panel, names: list[str], learning: Learning) -> tuple[list[Rehearsal], Ends | None]:
    """One round for methods that are trained, else as many as it takes; ends of series for a fit to be kept."""
    rng = np.random.default_rng(learning.seed)
    trained = not all(METHODS[name].default for name in names)
    rounds = [rehearse(panel, rng)] if trained else rehearse_until_clear(panel, rng)
    if not learning.every:
        return rounds, None
    memory = memory_for([*learning.periods.values(), *learning.weeks.values()])
    ends = rehearse_ends(panel, np.random.default_rng([learning.seed, 1]), memory)
    return rounds if ends is None else [r.without(ends.hidden) for r in rounds], ends


def _nothing_to_fill(panel: Panel, method: str | None) -> JudgedFill:
    """The judged fill of a panel without gaps, for which nothing has to be learned."""
    none = np.zeros(0, dtype=np.intp)
    untested = np.zeros((panel.n_vars, N_CLASSES), dtype=bool)
    return JudgedFill(
        columns=panel.columns,
        methods=(Linear(),),
        blend=Blend.of_one(("linear",), "linear", panel.n_vars, untested),
        evidence=Evidence(
            errors=np.zeros((1, 0)),
            error=np.zeros(0),
            column=none,
            code=none,
            event=none,
            fold=none,
            distance=none.astype(np.int32),
            down=None,
            up=None,
        ),
        scale=np.ones(panel.n_vars),
        alive=panel.known,
        missing=np.zeros((panel.n_vars, N_CLASSES), dtype=np.intp),
        forced=method,
    )


def _follows(columns: tuple[str, ...], kinds: Mapping[str, Kind]) -> dict[int, tuple[int, ...]]:
    """The columns that are copies or sums of others, by position."""
    at = {name: j for j, name in enumerate(columns)}
    return {
        at[name]: tuple(at[other] for other in kind.of)
        for name, kind in kinds.items()
        if kind.of and name in at and all(other in at for other in kind.of)
    }


def _slow_columns(panel: Panel) -> list[str]:
    """Says which columns have values on every third row, say: the rehearsal hides whole samples of these."""
    longest = max(panel.spans, key=lambda span: span.stop - span.start)
    every = {name: own_rate(panel.values[longest, j]) for j, name in enumerate(panel.columns)}
    return [
        f"{name!r} has a value on every {n} rows: lost samples were rehearsed at that rate, and the rows "
        "between samples are filled as well"
        for name, n in every.items()
        if n > 1
    ]


def _fit_of(name: str, learning: Learning) -> Fit:
    """T1 without pretrained weights is a network like any other."""
    if name == "t1" and learning.weights == "none":
        from t1.methods.network import network_fit

        return network_fit(name)
    return fit_of(name)


def _scale(values: FloatArray) -> FloatArray:
    """The spread of each column's observed cells (vars,), 1 where there is none."""
    spread = np.empty(values.shape[1])
    for block in column_blocks(values.shape):
        _, spread[block] = moments(values[:, block], ~np.isnan(values[:, block]))
    return np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
