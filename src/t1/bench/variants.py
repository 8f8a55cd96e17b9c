"""What a table compares: plain models, and beside them whatever ran with other settings, data or masks."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from t1.bench.standard import PAPER, TITLES, Standard, recipes, standard
from t1.bench.store import Row, latest
from t1.bench.study import Study
from t1.data.catalog import Spec, spec, usual_scale
from t1.errors import InputError

SMALL = "small"  # the declared, reduced configuration of a system; it stands beside the paper's figures


@dataclass(frozen=True)
class Variant:
    """A model, and in words how it was run other than the protocol says; variants are never mixed."""

    model: str
    words: str = ""
    split: str = "paper"
    name: str = ""  # in a study that compares settings of one model
    place: int = 0  # in the study's order

    @property
    def label(self) -> str:
        """As shown: "T1", "T1 (n_channels=64)", "T1 (disjoint split)"."""
        title = TITLES.get(self.model, self.model)
        if self.words == "plus" and not self.name:
            return f"{title}+"
        return self.name or (f"{title} ({self.words})" if self.words else title)

    @property
    def plain(self) -> bool:
        """Whether the paper's figures belong beside it."""
        return self.words in ("", SMALL)

    @property
    def units(self) -> str:
        """In which its errors are, where they are not the usual ones: others cannot be compared with it."""
        return self.words.partition("in units of ")[2]

    @property
    def published(self) -> str:
        """What the paper's tables call it."""
        return self.name or self.model

    @property
    def order(self) -> tuple[int, int, str, str]:
        """The study's order, or the paper's order of models, the plain one before its variants."""
        known = list(TITLES)
        at = known.index(self.model) if self.model in TITLES else len(known)
        return self.place, at, self.model, self.words


def line_up(rows: Iterable[Row], study: Study | None = None) -> dict[Variant, list[Row]]:
    """The rows of each variant, in the order of the tables."""
    found: dict[Variant, list[Row]] = {}
    if study is not None and study.changes:
        return _compared(list(rows), study)
    for row in rows:
        words = [] if row.settings.get("size") != SMALL else [SMALL]
        variant = Variant(row.model, ", ".join([*words, *_differences(row)]), row.split)
        found.setdefault(variant, []).append(row)
    return {variant: found[variant] for variant in sorted(found, key=lambda variant: variant.order)}


def _compared(rows: list[Row], study: Study) -> dict[Variant, list[Row]]:
    """The variants that a study compares, all with the same budget: the one that most of them have had."""
    of_budget: dict[float | None, dict[Variant, list[Row]]] = {}
    order = list(study.changes)
    for row in rows:
        if _spec(row.dataset) is None:
            continue
        runs = study.variants(row.dataset, row.model, row.seed, row.split, {})  # type: ignore[arg-type]
        label = next((label for label, run in runs if run.id == row.id), None)
        if row.model in study.models and label is not None:
            variant = Variant(row.model, "", row.split, label, order.index(label))
            of_budget.setdefault(row.budget_seconds, {}).setdefault(variant, []).append(row)
    sizes = Counter({budget: len(found) for budget, found in of_budget.items()})
    best = max(sizes, key=lambda budget: (sizes[budget], budget is None, budget or 0), default=None)
    found = of_budget.get(best, {})
    every = [Variant(study.models[0], name=label, place=i) for i, label in enumerate(order)]
    for variant in every:
        found.setdefault(variant, [])
    return {variant: latest(found[variant]) for variant in sorted(found, key=lambda variant: variant.order)}


def changed_settings(row: Row) -> list[str]:
    """Settings of the model, as key=value, that are not the protocol's for its dataset."""
    usual = _standard(row)
    settings = usual.settings if usual else {}
    return [
        f"{key}={_plain(row.settings.get(key))}"
        for key in sorted({*settings, *row.settings} - {"size"})
        if _plain(row.settings.get(key)) != _plain(settings.get(key))
    ]


def recipe_of(row: Row) -> str | None:
    """The recipe that the row's training follows, if it is one."""
    chosen = _spec(row.dataset)
    if chosen is None or row.model not in TITLES:
        return None
    return next(
        (name for name in recipes(chosen) if not _training(row, standard(chosen, row.model, name))), None
    )


def _standard(row: Row) -> Standard | None:
    """What the protocol says; None for a spec file or a model that is not here: then everything is named."""
    known = row.model in TITLES
    chosen = _spec(row.dataset) if known else None
    return standard(chosen, row.model) if chosen else None


@cache
def _spec(dataset: str) -> Spec | None:
    try:
        return spec(dataset)
    except InputError:
        return None


def _differences(row: Row) -> list[str]:
    named = changed_settings(row) + [f"{row.split} split"] * (row.split != "paper")
    recipe = recipe_of(row)
    named += _training(row, _standard(row)) if recipe is None else [recipe] * (recipe != PAPER)
    chosen = _spec(row.dataset)
    if chosen is not None and row.scale != usual_scale(chosen, row.split):
        named.append(f"in units of the {'training rows' if row.scale == 'train' else 'whole series'}")
    return named


def _training(row: Row, usual: Standard | None) -> list[str]:
    """How the row was trained, where that is not the usual way."""
    mask = usual.mask if usual else {}
    named = [
        f"mask {key}={_plain(row.mask.get(key))}"
        for key in sorted({*mask, *row.mask})
        if _plain(row.mask.get(key)) != _plain(mask.get(key))
    ]
    for key in ("batch_size", "learning_rate", "loss"):
        ours = getattr(row, key)
        if (usual is None and ours) or (usual is not None and ours != getattr(usual, key)):
            named.append(f"{key}={ours}")
    return named


def _plain(value: Any) -> str:
    """The same text for the same value, whether it comes from a spec or from a row that was read back."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def shown(rows: Sequence[Row], study: Study, models: Sequence[str] | None) -> dict[Variant, list[Row]]:
    """The variants of a study's table with their rows; a chosen model without any has the paper's figures."""
    if study.changes:
        return line_up(rows, study)
    found = line_up(latest(rows))
    wanted = set(models) if models else {*study.models, *(row.model for row in rows)}
    for name in wanted - {variant.model for variant in found if variant.plain}:
        found[Variant(name)] = []
    kept = sorted(
        (variant for variant in found if variant.model in wanted), key=lambda variant: variant.order
    )
    return {variant: found[variant] for variant in kept}
