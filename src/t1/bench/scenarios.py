"""What is hidden, at test time by fixed scenarios whose masks only the seed decides, and in training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import default_rng

from t1.arrays import BoolArray
from t1.data.catalog import Dataset, Spec
from t1.data.readers import BRINGS_ENTRIES
from t1.data.window import covered, cut
from t1.errors import InputError
from t1.missing import block, point
from t1.missing import own as own_gaps

if TYPE_CHECKING:
    from t1.train import Hide  # which imports torch; tables do without

RATES = (0.1, 0.3, 0.5, 0.7)
CHUNK = 64  # windows that share a random stream; no model's batch size may change the masks
STREAM = 7  # keeps these numbers apart from those of training with the same seed
RUNS = 24, 96  # steps of a block
RUN_SHARE = 0.0015  # of all cells lie in the runs of a block scenario


class MaskKind(NamedTuple):
    """Scenarios that differ in their rate alone."""

    stream: int  # where the random numbers begin: two kinds with one number hide the same cells
    rates: tuple[float | None, ...] = (None,)
    version: int = 1  # raised when other cells are hidden or scored: then it is scored again


KINDS = {
    "point": MaskKind(0, RATES),
    "block": MaskKind(3000),  # the reading of the paper's text that fits its figures: see docs/protocol.md
    "block-heavy": MaskKind(1000),  # the other one, in which half of the hidden cells lie in runs
    "natural": MaskKind(2000, RATES),
    "natural-zeros": MaskKind(2000, RATES),  # what was never measured counts as a hidden zero
    "entries": MaskKind(2000),  # those that the dataset itself sets apart
    # What only a study asks for:
    "variables": MaskKind(2000, (0.5,)),  # the masks of natural 0.5, scored variable by variable
    "variables-zeros": MaskKind(2000, (0.5,)),
    "attention": MaskKind(4000, RATES),  # where T1 looks as one variable's cells go missing
    "where": MaskKind(
        5000
    ),  # the same, as a third of its cells goes missing in some places and not in others
    "cost": MaskKind(6000),  # what a training step takes
}
# What a spec may say of its dataset, and what it is scored on then.
MEANING = {"point": ("point",), "block": ("block", "block-heavy"), "natural": ("natural", "natural-zeros")}


@dataclass(frozen=True)
class Scenario:
    """A pattern of missing cells."""

    kind: str
    rate: float | None = None

    @property
    def name(self) -> str:
        """As rows call it: "point 0.1", "block"; AQI36's own entries are its "natural"."""
        kind = "natural" if self.kind == "entries" else self.kind
        return kind if self.rate is None else f"{kind} {self.rate}"

    @property
    def number(self) -> int:
        """What makes its random numbers its own."""
        return KINDS[self.kind].stream + round((self.rate or 0) * 100)

    @property
    def version(self) -> int:
        return KINDS[self.kind].version


def scenarios(spec: Spec, measures: Sequence[str] = ()) -> list[Scenario]:
    """Every scenario of a dataset, and what a study measures besides."""
    kinds = [kind for declared in spec.scenarios for kind in MEANING[declared]]
    if spec.reader in BRINGS_ENTRIES:
        kinds = [*(kind for kind in kinds if not kind.startswith("natural")), "entries"]
    if spec.unmeasured:  # nothing is left that was never measured
        kinds = [kind for kind in kinds if not kind.endswith("-zeros")]
    return [Scenario(kind, rate) for kind in (*kinds, *measures) for rate in KINDS[kind].rates]


class Chunk(NamedTuple):
    """Some test windows (n, time, vars)."""

    values: npt.NDArray[np.float32]  # 0 where missing
    visible: BoolArray  # the model may look
    target: BoolArray  # scored


def chunks(dataset: Dataset, scenario: Scenario, seed: int) -> Iterator[Chunk]:
    """The test windows with their masks, `CHUNK` at a time: the same for every model."""
    entries = None if dataset.test_hidden is None else cut(dataset.test_hidden, dataset.test.window)
    for i in range(-(-len(dataset.test) // CHUNK)):
        chosen = slice(i * CHUNK, (i + 1) * CHUNK)
        values, observed = dataset.test.batch(chosen)
        rng = default_rng([seed, STREAM, scenario.number, i])
        own = None if entries is None else entries[dataset.test.starts[chosen]]
        yield hide_at_test(scenario, values, observed, own, rng)


def hide_at_test(
    scenario: Scenario,
    values: npt.NDArray[np.float32],
    observed: BoolArray,
    own: BoolArray | None,
    rng: np.random.Generator,
) -> Chunk:
    """The cells a scenario hides and scores; `own` are the evaluation entries that a dataset brings along."""
    if scenario.kind == "block":
        # Shares, not chances to begin: a run is 24 to 96 steps long if the window does not end before.
        begin = RUN_SHARE / _mean_run(observed.shape[-2])
        hidden = block(observed, start_rate=begin, min_length=RUNS[0], max_length=RUNS[1], rng=rng)
    elif scenario.kind == "block-heavy":
        hidden = block(observed, start_rate=RUN_SHARE, min_length=RUNS[0], max_length=RUNS[1], rng=rng)
    elif scenario.rate is not None:
        hidden = point(observed, rate=scenario.rate, rng=rng)
    elif own is not None:
        hidden = own & observed
    else:
        raise InputError("the dataset has no evaluation entries of its own.\nUse a point scenario.")
    visible = observed & ~hidden
    return Chunk(values, visible, ~visible if scenario.kind.endswith("-zeros") else hidden)


def _mean_run(window: int) -> float:
    """The mean length of runs that begin anywhere in a window and end with it."""
    lengths = np.arange(RUNS[0], RUNS[1] + 1)
    return float(np.minimum(lengths, np.arange(1, window + 1)[:, None]).mean())


def training_hide(mask: Mapping[str, Any], dataset: Dataset) -> Hide:
    """The `hide` of a training mask such as {"kind": "point", "rate": 0.4}."""
    kind, settings = mask["kind"], {k: v for k, v in mask.items() if k != "kind"}
    if kind == "point":
        rate = settings["rate"]
        return lambda values, observed, rng: point(observed, rate=rate, rng=rng)
    if kind == "entries":
        if dataset.test_hidden is None:
            raise InputError(f"{dataset.name} sets no entries apart.\nUse a mask of kind point.")
        train = dataset.train
        pattern = ~dataset.test_hidden[covered(train.starts, train.window, len(train.rows))]
        return lambda values, observed, rng: own_gaps(observed, donor_observed=pattern, rng=rng)
    if kind == "own+point":
        rates = settings["rates"]

        def hide(values: Any, observed: BoolArray, rng: np.random.Generator) -> BoolArray:
            hidden = point(observed, rate=float(rng.choice(rates)), rng=rng)
            return hidden | own_gaps(observed, donor_observed=dataset.train.seen, rng=rng)

        return hide
    raise InputError(f"unknown training mask {kind!r}.\nKnown: point, own+point, entries.")
