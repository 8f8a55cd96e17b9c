"""How far a run came, in words: beside its figures and below the table."""

from collections.abc import Iterator, Mapping, Sequence

from t1.bench.sheet import MARK
from t1.bench.standard import SERIES
from t1.bench.store import Row
from t1.bench.study import MAX_EPOCHS, PATIENCE
from t1.bench.variants import SMALL, Variant
from t1.durations import duration
from t1.methods.catalog import MODELS


def count(number: int, thing: str) -> str:
    """ "1 epoch", "14 epochs"."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def place(scenario: str) -> str:
    """What the study's name leaves open: "0.1" of "point 0.1", "block" of "block"."""
    return scenario.partition(" ")[2] or scenario


def untrained(row: Row) -> bool:
    """A method without anything to train, such as interpolation."""
    return row.stopped == "nothing to train"


def how_far(seeds: int, full: int, epochs: int) -> str:
    """A few words on the runs behind one figure."""
    if seeds > 1:
        return f"{seeds} seeds, {'full' if full == seeds else f'{full} full'}"
    return "full" if full else count(epochs, "epoch")


def ending(row: Row) -> str:
    """What ended the run."""
    if untrained(row):
        return "nothing to train"
    if row.stopped == "seconds":
        if row.budget_seconds is None:
            return "budget"
        return f"budget of {duration(row.budget_seconds)}" + " of processor time" * (row.clock == "cpu")
    if row.stopped == "epochs":
        return f"limit of {count(row.epochs, 'epoch')}"
    return row.stopped


def run_notes(shown: Mapping[Variant, Sequence[Row]], datasets: Sequence[str]) -> Iterator[str]:
    """One note per run, in the table's order; runs that a budget ended carry the mark."""
    partial = False
    for dataset in datasets:
        for variant, rows in shown.items():
            here = [row for row in rows if row.dataset == dataset and not untrained(row)]
            for seed in sorted({row.seed for row in here}):
                yield from _run(
                    f"{dataset}, {variant.label}, seed {seed}", [r for r in here if r.seed == seed]
                )
            partial = partial or not all(row.full for row in here)
    methods = [variant.label for variant, rows in shown.items() if any(map(untrained, rows))]
    if methods:
        yield f"Nothing to train: {', '.join(methods)}."
    if partial:
        yield (
            f"{MARK} Less than the full protocol, which is {MAX_EPOCHS} epochs at a constant learning rate, "
            f"or {PATIENCE} without a better validation loss."
        )


def _run(name: str, rows: Sequence[Row]) -> Iterator[str]:
    states = sorted({row.steps for row in rows})
    for steps in states:
        same = [row for row in rows if row.steps == steps]
        where = f" ({', '.join(sorted(place(row.scenario) for row in same))})" * (len(states) > 1)
        yield f"{'' if same[0].full else MARK + ' '}{name}{where}: {_story(same[0])}."


def _story(row: Row) -> str:
    if row.model in SERIES:
        return f"a search of {duration(row.train_seconds)}, stopped by its {ending(row)}"
    schedule = [] if row.schedule == "constant" else [f"{row.schedule} learning rate"]
    if row.settings.get("size") == SMALL:
        reduced = ", ".join(f"{key}={value}" for key, value in MODELS[row.model].small.items())
        schedule.append(f"reduced configuration: {reduced}; {row.parameters:,} parameters")
    if row.score_every > 1:
        schedule.append(f"scored on 1 of {row.score_every} test windows, with the same masks")
    if row.full:
        parts = ["full protocol", count(row.epochs, "epoch"), f"best {row.best_epoch}"]
        end = [f"stopped by {row.stopped}"] if row.stopped == "patience" else []
        return ", ".join([*parts, *schedule, *end, duration(row.train_seconds)])
    first = (
        f"{count(row.epochs, 'epoch')} (best {row.best_epoch}) in {duration(row.train_seconds)} of training "
        f"on {count(row.threads, 'thread')}"
    )
    return ", ".join([first, *schedule, f"stopped by its {ending(row)}"])


def cell_notes(shown: Mapping[Variant, Sequence[Row]]) -> Iterator[str]:
    """What was scored on other cells than the rest: by its protocol, or because something is wrong."""
    scored: dict[tuple[str, str, int, str], dict[str, int]] = {}
    for variant, rows in shown.items():
        for row in rows:
            where = row.dataset, row.scenario, row.seed, row.split
            if row.score_every == 1 and row.model not in SERIES:  # the notes of their runs tell of those
                scored.setdefault(where, {})[variant.label] = row.cells
    for (dataset, scenario, seed, _), cells in sorted(scored.items()):
        if len(set(cells.values())) > 1:
            listed = "; ".join(f"{label}: {number:,}" for label, number in cells.items())
            yield (
                f"{dataset}, {scenario}, seed {seed}: scored on different cells ({listed}), "
                "so the figures cannot be compared."
            )
    series = [variant.label for variant, rows in shown.items() if rows and variant.model in SERIES]
    if series:
        yield (
            f"{', '.join(series)}: fills one series, so it is scored on the contiguous test part, each time "
            "stamp once, with a mask of its own."
        )
