"""What is hidden, at test time by fixed scenarios whose masks only the seed decides, and in training."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import default_rng

from t1.arrays import BoolArray
from t1.data.catalog import Dataset, Spec
from t1.data.readers import BRINGS_ENTRIES
from t1.data.window import cut
from t1.errors import InputError
from t1.missing import block, point
from t1.missing import own as own_gaps
from t1.train import Hide

RATES = (0.1, 0.3, 0.5, 0.7)
CHUNK = 64  # windows that share a random stream; no model's batch size may change the masks
STREAM = 7  # keeps these numbers apart from those of training with the same seed


@dataclass(frozen=True)
class Scenario:
    """A pattern of missing cells; `number` makes its random stream its own."""

    kind: str  # point, block or natural
    rate: float | None = None
    version: int = 1  # raised when the scenario hides or scores other cells: then it is scored again

    @property
    def name(self) -> str:
        return self.kind if self.rate is None else f"{self.kind} {self.rate}"

    @property
    def number(self) -> int:
        return ("point", "block", "natural").index(self.kind) * 1000 + round((self.rate or 0) * 100)


def scenarios(spec: Spec) -> list[Scenario]:
    """Every scenario of a dataset: section 5 of the protocol."""
    found: list[Scenario] = []
    for kind in spec.scenarios:
        if kind == "block" or (kind == "natural" and spec.reader in BRINGS_ENTRIES):
            found.append(Scenario(kind))
        else:
            found += [Scenario(kind, rate) for rate in RATES]
    return found


def hidden_chunks(
    dataset: Dataset, scenario: Scenario, seed: int
) -> Iterator[tuple[npt.NDArray[np.float32], BoolArray, BoolArray]]:
    """Values, observed and hidden of the test windows, `CHUNK` at a time: the same for every model."""
    entries = None if dataset.test_hidden is None else cut(dataset.test_hidden, dataset.test.window)
    for i in range(-(-len(dataset.test) // CHUNK)):
        chosen = slice(i * CHUNK, (i + 1) * CHUNK)
        values, observed = dataset.test.batch(chosen)
        rng = default_rng([seed, STREAM, scenario.number, i])
        own = None if entries is None else entries[dataset.test.starts[chosen]]
        hidden = hide_at_test(scenario, observed, own, rng)
        yield values, observed, hidden


def hide_at_test(
    scenario: Scenario, observed: BoolArray, own: BoolArray | None, rng: np.random.Generator
) -> BoolArray:
    """The cells a scenario hides; `own` are the evaluation entries that a dataset brings along."""
    if scenario.kind == "block":
        return block(observed, rng=rng)
    if scenario.rate is not None:
        return point(observed, rate=scenario.rate, rng=rng)
    if own is None:
        raise InputError("the dataset has no evaluation entries of its own.\nUse a point scenario.")
    return own & observed


def training_hide(mask: Mapping[str, Any], donor_observed: BoolArray) -> Hide:
    """The `hide` of a training mask such as {"kind": "point", "rate": 0.4}."""
    kind, settings = mask["kind"], {k: v for k, v in mask.items() if k != "kind"}
    if kind == "point":
        rate = settings["rate"]
        return lambda values, observed, rng: point(observed, rate=rate, rng=rng)
    if kind == "own+point":
        rates = settings["rates"]

        def hide(values: Any, observed: BoolArray, rng: np.random.Generator) -> BoolArray:
            hidden = point(observed, rate=float(rng.choice(rates)), rng=rng)
            return hidden | own_gaps(observed, donor_observed=donor_observed, rng=rng)

        return hide
    raise InputError(f"unknown training mask {kind!r}.\nKnown: point, own+point.")
