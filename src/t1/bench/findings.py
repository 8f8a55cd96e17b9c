"""Whether a conclusion of the paper holds in our runs: sentences with the numbers, from rows alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Protocol

from t1.bench.paper import published
from t1.bench.standard import TITLES
from t1.bench.store import Row
from t1.bench.study import STUDIES
from t1.durations import duration
from t1.registry import Registry

TIE = 1.0  # per cent: errors that differ by less are the same, the paper prints three decimals
FLAT = 10.0  # per cent within which an error is said not to depend on a setting


class Pair(Protocol):
    """Our mean error and the paper's; NaN where there is none."""

    @property
    def value(self) -> float: ...
    @property
    def paper(self) -> float: ...


Errors = Mapping[str, Pair]  # by label
Finder = Callable[[str, Errors, Sequence[Row]], Iterator[str]]
FINDERS: Registry[Finder] = Registry("finding")


def findings(study: str, means: Mapping[str, Errors], rows: Sequence[Row]) -> list[str]:
    """What can be said of a study; nothing where too little has run."""
    if study not in FINDERS:
        return []
    return [text for dataset, each in means.items() for text in FINDERS[study](dataset, each, rows)]


def _ours(each: Errors) -> dict[str, float]:
    return {label: pair.value for label, pair in each.items() if not math.isnan(pair.value)}


def _paper(each: Errors) -> dict[str, float]:
    return {label: pair.paper for label, pair in each.items() if not math.isnan(pair.paper)}


def _changes(errors: Mapping[str, float], base: str) -> dict[str, float]:
    """In per cent against one of them."""
    return {k: 100 * (v / errors[base] - 1) for k, v in errors.items() if k != base} if base in errors else {}


def _listed(changes: Mapping[str, float]) -> str:
    return ", ".join(f"{label} {change:+.1f} %" for label, change in changes.items()) or "none"


def _verdict(holds: bool) -> str:
    return f"the conclusion {'holds' if holds else 'does not hold'} in these runs"


@FINDERS.add("ablation")
def ablation(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """Every part helps: without it the error is higher."""
    base = "T1: full model"
    here, there = _changes(_ours(each), base), _changes(_paper(each), base)
    if not here:
        return
    worse = {label: change for label, change in here.items() if change > TIE}
    rest = {label: change for label, change in here.items() if change <= TIE}
    claimed = {label for label, change in there.items() if change > TIE}
    checked = claimed & set(here)
    yield (
        f"{dataset}: in the paper {len(claimed)} of {len(there)} changes raise the error of the full model by more "
        f"than {TIE:g} % ({_listed(there)}). Here {len(worse)} of {len(here)} do: {_listed(worse)}; not: "
        f"{_listed(rest)}. Of the {len(checked)} of them that ran, "
        f"{len(checked & set(worse))} are worse here too: {_verdict(checked <= set(worse))}."
    )


GROUPS = {
    "channels": ("64 channels", "128 channels", "256 channels"),
    "large kernel": ("kernel 31", "kernel 51", "128 channels"),  # the protocol's own is 71
    "FFN ratio": ("128 channels", "FFN ratio 2", "FFN ratio 4"),
}


@FINDERS.add("sensitivity")
def sensitivity(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """The error hardly depends on the sizes."""
    for group, labels in GROUPS.items():
        here = {label: each[label].value for label in labels if label in _ours(each)}
        there = {label: each[label].paper for label in labels if label in _paper(each)}
        if len(here) < len(labels):
            continue
        paper = f"the paper {_spread(there):.1f} %; " if len(there) == len(labels) else ""
        listed = ", ".join(f"{value:.4f}" for value in here.values())
        yield (
            f"{dataset}, {group} ({_sizes(group, labels)}): {listed}, from lowest to highest {_spread(here):.1f} % "
            f"({paper}that it stays within {FLAT:g} % {'holds' if _spread(here) <= FLAT else 'does not hold'} here)."
        )


def _sizes(group: str, labels: Sequence[str]) -> str:
    own = {"channels": "128", "large kernel": "71", "FFN ratio": "1"}[group]
    numbers = ["".join(c for c in label if c.isdigit()) for label in labels]
    return ", ".join(
        own if label == "128 channels" else number for label, number in zip(labels, numbers, strict=True)
    )


def _spread(errors: Mapping[str, float]) -> float:
    return 100 * (max(errors.values()) / min(errors.values()) - 1)


@FINDERS.add("training-ratio")
def training_ratio(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """A middle share serves all test shares best."""
    here, there = _ours(each), _paper(each)
    if len(here) < 2 or not there:
        return
    best, paper = min(here, key=here.__getitem__), min(there, key=there.__getitem__)
    holds = best == paper or 100 * (here.get(paper, math.inf) / here[best] - 1) <= TIE
    worst = max(here, key=here.__getitem__), max(there, key=there.__getitem__)
    yield (
        f"{dataset}: the lowest mean over all test shares has in the paper what was {paper} ({there[paper]:.4f}), the "
        f"highest what was {worst[1]} ({there[worst[1]]:.4f}); here {best} ({here[best]:.4f}) and {worst[0]} "
        f"({here[worst[0]]:.4f}), of {len(here)} that ran: {_verdict(holds)}."
    )


@FINDERS.add("heads")
def heads(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """More heads do not help a transformer over variables, and widening it hurts."""
    base = "8 heads"
    for width in ("model", "head"):
        here, there = (
            {k: v for k, v in _changes(errors, base).items() if f"{width} width" in k}
            for errors in (_ours(each), _paper(each))
        )
        if not here:
            continue
        gain = {label: change for label, change in here.items() if change < -TIE}
        gain_there = {label for label, change in there.items() if change < -TIE}
        short = {label.partition(" heads")[0]: change for label, change in here.items()}
        paper = {label.partition(" heads")[0]: change for label, change in there.items()}
        yield (
            f"{dataset}, {width} width fixed, MSE against 8 heads: here with {_listed(short)}; in the paper with "
            f"{_listed(paper)}. That more heads do not help "
            f"({'no' if not gain_there else len(gain_there)} gain above {TIE:g} % there) "
            f"{'holds' if bool(gain) == bool(gain_there) else 'does not hold'} in these runs."
        )


@FINDERS.add("block")
def block(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """How much worse blocks are than 10 % points: what tells the readings of the paper's text apart."""
    printed = {(study, kind): _printed(study, dataset, at) for study, kind, at in PRINTED}
    parts, close = [], []
    for model in TITLES:
        pairs = _pairs([row for row in rows if row.dataset == dataset and row.model == model])
        if not pairs:
            continue
        _, blocks, points = max(pairs)
        paper = [printed[study, kind].get(model, math.nan) for study, kind, _ in PRINTED]
        ratio, published = blocks / points, paper[0] / paper[1]
        known = not math.isnan(published)
        parts.append(f"{TITLES[model]} {ratio:.2f}" + f" (paper {published:.2f})" * known)
        close += [abs(ratio / published - 1)] if known else []
    if close:
        yield (
            f"{dataset}, MSE on blocks relative to that on 10 % points: {', '.join(parts)}. With runs begun at every "
            f"cell it would be several times as high (block-heavy). That blocks are read as the paper meant them "
            f"{'holds' if max(close) <= 0.35 else 'does not hold'} for {len(close)} system{'s' * (len(close) != 1)}: "
            f"at most {100 * max(close):.0f} % from its ratios."
        )


PRINTED = (("block", "block", "block"), ("point", "point", "0.1"))


def _printed(study: str, dataset: str, at: str) -> dict[str, float]:
    found = published(STUDIES[study])
    found = found[(found["dataset"] == dataset) & (found["place"] == at) & (found["metric"] == "mse")]
    return dict(zip(found["variant"], found["value"], strict=True))


def _pairs(rows: Sequence[Row]) -> list[tuple[int, float, float]]:
    """Steps, and the errors on blocks and on 10 % points, of every run that was scored on both alike."""
    runs: dict[tuple[str, int], dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: row.steps):
        if row.scenario in ("block", "point 0.1"):
            runs.setdefault((row.id, row.score_every), {})[row.scenario] = row
    both = [(f["block"], f["point 0.1"]) for f in runs.values() if len(f) == 2]
    return [(blocks.steps, blocks.mse, points.mse) for blocks, points in both]


@FINDERS.add("sssd")
def sssd(dataset: str, each: Errors, rows: Sequence[Row]) -> Iterator[str]:
    """T1 has smaller errors than SSSD at a fraction of its cost; with equal budgets, where both had one."""
    there = _paper(each)
    paper = f" (paper {there['T1']:.3f} and {there['SSSD']:.3f})" if {"T1", "SSSD"} <= set(there) else ""
    here = [row for row in rows if row.dataset == dataset and row.kind == "point"]
    other = _longest([row for row in here if row.model == "sssd"])
    own = [
        row
        for row in here
        if row.model == "t1" and not row.settings and other and row.scale == other[0].scale
    ]
    equal = _longest([row for row in own if other and row.budget == other[0].budget])
    mine = equal or _longest(own)
    if not mine or not other or {row.scenario for row in mine} != {row.scenario for row in other}:
        return
    errors = [fmean(row.mse for row in part) for part in (mine, other)]
    small = " (reduced)" * ("size" in other[0].settings)
    budget = "with equal budgets" if equal else "with different budgets"
    yield (
        f"{dataset}, {budget}: T1 {errors[0]:.3f}, SSSD{small} {errors[1]:.3f}{paper}: that T1 is ahead "
        f"{'holds' if errors[0] < errors[1] else 'does not hold'} in these runs. Cost: {_cost('T1', mine)}; "
        f"{_cost('SSSD' + small, other)}."
    )


def _longest(rows: Sequence[Row]) -> list[Row]:
    """The rows of the longest training, one for each scenario."""
    if not rows:
        return []
    last = max(rows, key=lambda row: row.steps)
    return list({row.scenario: row for row in rows if row.id == last.id and row.steps == last.steps}.values())


def _cost(name: str, rows: Sequence[Row]) -> str:
    """Training and scoring, as far as rows tell."""
    million = fmean(row.eval_seconds / max(row.cells, 1) for row in rows) * 1e6
    return (
        f"{name} {duration(rows[0].train_seconds)} of training, {rows[0].parameters:,} parameters, "
        f"{duration(million)} to fill a million cells"
    )
