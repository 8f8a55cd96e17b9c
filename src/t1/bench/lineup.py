"""Who stands in a table: plain models, and beside them whatever ran with other settings, data or masks."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from t1.bench.paper import TITLES
from t1.bench.standard import METHODS, Standard, standard
from t1.bench.store import Row
from t1.data.catalog import Spec, spec
from t1.errors import InputError
from t1.methods.catalog import MODELS

SMALL = "small"  # the declared, reduced configuration of a system; it stands beside the paper's figures


@dataclass(frozen=True)
class Entry:
    """A model, and in words how it was run other than the protocol says; entries are never mixed."""

    model: str
    variant: str = ""
    split: str = "paper"

    @property
    def label(self) -> str:
        """As shown: "T1", "T1 (n_channels=64)", "T1 (disjoint split)"."""
        title = TITLES.get(self.model, self.model)
        return f"{title} ({self.variant})" if self.variant else title

    @property
    def plain(self) -> bool:
        """Whether the paper's figures belong beside it."""
        return self.variant in ("", SMALL)

    @property
    def order(self) -> tuple[int, str, str]:
        """The paper's order of models, other models by name, the plain one before its variants."""
        known = list(TITLES)
        return known.index(self.model) if self.model in TITLES else len(known), self.model, self.variant


def line_up(rows: Iterable[Row]) -> dict[Entry, list[Row]]:
    """The rows of each entry, the entries in the order of the tables."""
    found: dict[Entry, list[Row]] = {}
    for row in rows:
        entry = Entry(row.model, ", ".join(_differences(row)), row.split)
        found.setdefault(entry, []).append(row)
    return {entry: found[entry] for entry in sorted(found, key=lambda entry: entry.order)}


def changed_settings(row: Row) -> list[str]:
    """Settings of the model, as key=value, that are not the protocol's for its dataset."""
    usual = _standard(row)
    settings = usual.settings if usual else {}
    return [
        f"{key}={_plain(row.settings.get(key))}"
        for key in sorted({*settings, *row.settings} - {"size"})
        if _plain(row.settings.get(key)) != _plain(settings.get(key))
    ]


def _standard(row: Row) -> Standard | None:
    """What the protocol says; None for a spec file or a model that is not here: then everything is named."""
    known = row.model in METHODS or row.model in MODELS
    chosen = _spec(row.dataset) if known else None
    return standard(chosen, row.model) if chosen else None


@cache
def _spec(dataset: str) -> Spec | None:
    try:
        return spec(dataset)
    except InputError:
        return None


def _differences(row: Row) -> list[str]:
    usual = _standard(row)
    mask = usual.mask if usual else {}
    named = [SMALL] * (row.settings.get("size") == SMALL) + changed_settings(row)
    named += [f"{row.split} split"] * (row.split != "paper")
    for key in sorted({*mask, *row.mask}):
        ours = _plain(row.mask.get(key))
        if ours != _plain(mask.get(key)):
            named.append(f"mask {key}={ours}")
    if usual is None or row.batch_size != usual.batch_size:
        named.append(f"batch_size={row.batch_size}")
    if usual is None or row.learning_rate != usual.learning_rate:
        named.append(f"learning_rate={row.learning_rate}")
    return named


def _plain(value: Any) -> str:
    """The same text for the same value, whether it comes from a spec or from a row that was read back."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
