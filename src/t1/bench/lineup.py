"""Who stands in a table: plain models, and beside them whatever ran with other settings, data or masks."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from t1.bench.paper import TITLES
from t1.bench.store import Row
from t1.data.catalog import Spec, spec
from t1.errors import InputError


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
    def order(self) -> tuple[int, str, str]:
        """The paper's order of models, other models by name, the plain one before its variants."""
        known = list(TITLES)
        return known.index(self.model) if self.model in TITLES else len(known), self.model, self.variant


def line_up(rows: Iterable[Row]) -> dict[Entry, list[Row]]:
    """The rows of each entry, the entries in the order of the tables."""
    specs: dict[str, Spec | None] = {}
    found: dict[Entry, list[Row]] = {}
    for row in rows:
        if row.dataset not in specs:
            specs[row.dataset] = _spec(row.dataset)
        entry = Entry(row.model, ", ".join(_differences(row, specs[row.dataset])), row.split)
        found.setdefault(entry, []).append(row)
    return {entry: found[entry] for entry in sorted(found, key=lambda entry: entry.order)}


def _spec(dataset: str) -> Spec | None:
    try:
        return spec(dataset)
    except InputError:
        return None  # a spec file that is not here: then every setting is named


def _differences(row: Row, chosen: Spec | None) -> list[str]:
    usual: Mapping[str, Any] = {}
    mask: Mapping[str, Any] = {}
    if chosen is not None:
        training = chosen.training
        usual = {"batch_size": training.batch_size, "learning_rate": training.learning_rate}
        mask = training.mask
    named = [f"{key}={_plain(value)}" for key, value in sorted(row.settings.items())]
    named += [f"{row.split} split"] * (row.split != "paper")
    for key in sorted({*mask, *row.mask}):
        ours = _plain(row.mask.get(key))
        if ours != _plain(mask.get(key)):
            named.append(f"mask {key}={ours}")
    for key, value in {"batch_size": row.batch_size, "learning_rate": row.learning_rate}.items():
        if value != usual.get(key):
            named.append(f"{key}={_plain(value)}")
    return named


def _plain(value: Any) -> str:
    """The same text for the same value, whether it comes from a spec or from a row that was read back."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
