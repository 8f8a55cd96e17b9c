"""What a table compares: plain models, and beside them whatever ran with other settings, data or masks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        if self.words == "plus":
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
        at = known.index(self.model) if self.model in known else len(known)
        return self.place, at, self.model, self.words


def line_up(rows: Iterable[Row], study: Study | None = None) -> dict[Variant, list[Row]]:
    """The rows of each variant, in the order of the tables."""
    if study is not None and study.changes:
        return _compared(rows, study)
    found: dict[Variant, list[Row]] = {}
    for row in rows:
        found.setdefault(Variant(row.model, ", ".join(_differences(row)), row.split), []).append(row)
    return {variant: found[variant] for variant in sorted(found, key=lambda variant: variant.order)}


def _compared(rows: Iterable[Row], study: Study) -> dict[Variant, list[Row]]:
    """The variants that a study compares, all with the same budget: the one that most of them have had."""
    order = list(study.changes)
    of_budget: dict[tuple[float | None, str], dict[Variant, list[Row]]] = {}
    for row in rows:
        if _spec(row.dataset) is None or row.model not in study.models:
            continue
        for label, run in study.variants(row.dataset, row.model, row.seed, row.split, {}):  # type: ignore[arg-type]
            if run.id == row.id:
                variant = Variant(row.model, "", row.split, label, order.index(label))
                of_budget.setdefault(row.budget, {}).setdefault(variant, []).append(row)
    found: dict[Variant, list[Row]] = {
        Variant(study.models[0], name=label, place=i): [] for i, label in enumerate(order)
    }
    most = max(
        of_budget, key=lambda b: (len(of_budget[b]), b[0] is None, b[0] or 0, b[1]), default=(None, "wall")
    )
    found |= {variant: latest(each) for variant, each in of_budget.get(most, {}).items()}
    return {variant: found[variant] for variant in sorted(found, key=lambda variant: variant.order)}


def shown(rows: Sequence[Row], study: Study, models: Sequence[str] | None) -> dict[Variant, list[Row]]:
    """The variants of a study's table with their rows; a chosen model without any has the paper's figures."""
    if study.changes:
        return line_up(rows, study)
    found = line_up(latest(rows))
    ran = () if study.only else (row.model for row in rows)
    wanted = set(models) if models else {*study.models, *ran}
    plain = {variant.model for variant in found if variant.plain}
    found |= {Variant(name): [] for name in wanted - plain}
    kept = sorted((v for v in found if v.model in wanted), key=lambda variant: variant.order)
    return {variant: found[variant] for variant in kept}


@cache
def _spec(dataset: str) -> Spec | None:
    try:
        return spec(dataset)
    except InputError:
        return None


def _standard(row: Row, recipe: str = PAPER) -> Standard | None:
    """What the protocol says; None for a spec file or a model that is not here: then everything is named."""
    chosen = _spec(row.dataset)
    if not chosen or row.model not in TITLES:
        return None
    usual = standard(chosen, row.model, recipe)
    return replace(usual, start="") if row.settings else usual  # other settings cannot start from the weights


def changed_settings(row: Row) -> list[str]:
    """Settings of the model, as key=value, that are not the protocol's for its dataset."""
    usual = _standard(row)
    return _changes({**row.settings, "size": None}, {**(usual.settings if usual else {}), "size": None})


def recipe_of(row: Row) -> str | None:
    """The recipe that the row's training follows, if it is one."""
    chosen = _spec(row.dataset)
    return next(
        (r for r in (recipes(chosen) if chosen else ()) if not _trained(row, _standard(row, r))), None
    )


def _trained(row: Row, usual: Standard | None) -> list[str]:
    """How the row was trained, where that is not the usual way."""
    return _changes(_training(row), _training(usual) if usual else {"loss": "", "average": None, "start": ""})


def _training(of: Row | Standard) -> dict[str, Any]:
    mask = {f"mask {key}": value for key, value in sorted(of.mask.items())}
    return mask | {
        key: getattr(of, key) for key in ("batch_size", "learning_rate", "loss", "average", "start")
    }


def _changes(ours: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    plain = [{key: _plain(value) for key, value in each.items()} for each in (ours, usual)]
    keys = sorted({*ours, *usual}, key=lambda key: (not key.startswith("mask "), key))
    return [f"{k}={plain[0].get(k, 'null')}" for k in keys if plain[0].get(k) != plain[1].get(k)]


def _differences(row: Row) -> list[str]:
    """In words, how a row was run other than the protocol says."""
    named = [SMALL] * (row.settings.get("size") == SMALL) + changed_settings(row)
    named += [f"{row.split} split"] * (row.split != "paper")
    recipe = recipe_of(row)
    named += _trained(row, _standard(row)) if recipe is None else [recipe] * (recipe != PAPER)
    chosen = _spec(row.dataset)
    if chosen is not None and row.scale != usual_scale(chosen, row.split):
        named.append(f"in units of the {'training rows' if row.scale == 'train' else 'whole series'}")
    return named


def _plain(value: Any) -> str:
    """The same text for the same value, whether it comes from a spec or from a row that was read back."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
