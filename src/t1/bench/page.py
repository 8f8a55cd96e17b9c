"""The page of results: all tables, what they mean, and the commands that give them again."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from t1.bench.cost import compared, cost_table
from t1.bench.paper import DATASETS
from t1.bench.sheet import Sheet, render
from t1.bench.show import SPECIAL
from t1.bench.standard import PAPER
from t1.bench.store import Row, latest
from t1.bench.study import MAX_EPOCHS, STUDIES
from t1.bench.tables import headline, table
from t1.bench.variants import SMALL, Variant, changed_settings, line_up, recipe_of
from t1.data.catalog import names, spec

GROUPED = "grouped-heads"  # shown with the study of efficiency
MEASURED = {kind for study in STUDIES.values() if study.part_of for kind in study.kinds}


def results_page(rows: Sequence[Row]) -> str:
    """The Markdown page of all studies: what the figures are, how to get them again, the tables.

    `rows` may have several states of a run: tables are of the latest, costs of every budget.
    """
    rows_of_all = rows
    special = list[str]()
    for name in measured_studies(rows):
        special += [render(sheet, "md") for sheet in SPECIAL[name].tables(rows)]
        special.append(f"![{STUDIES[name].title}]({name}.svg)")
    known = _not_superseded([row for row in rows if row.kind not in MEASURED])
    settings = {name: _compared(name, known) for name in compared_studies(rows)}
    plain = {row.id for variant, each in line_up(known).items() if variant.plain for row in each}
    varied = {row.id for each in settings.values() for rows in each.values() for row in rows} - plain
    every = [row for row in known if row.id not in varied]  # the others stand in the table of their study
    rows = latest(every)
    first = [render(headline(rows), "md")] if rows else []
    with_study = {(row.id, row.steps) for row in rows_of_all if row.kind in MEASURED - {"cost"}}
    others = [row for row in every if (row.id, row.steps) not in with_study]
    commands = [*_commands(others), *(_study_command(name, each) for name, each in settings.items())]
    commands += _measure_commands(rows_of_all)
    parts = ["# Results", *_what(rows), *first, "## How to reproduce", *_how(commands)]
    for name in _main():
        if STUDIES[name].published or any(row.kind in STUDIES[name].kinds for row in rows):
            parts += [render(sheet, "md") for sheet in _own_tables(name, every)]
    for name in settings:
        parts += [render(table(name, known), "md"), f"![{STUDIES[name].title}]({name}.svg)"]
    parts += special
    several = compared(rows)
    for dataset in sorted({row.dataset for row in rows}, key=_place):
        if len({row.model for row in rows if row.dataset == dataset}) > 1:
            cost = cost_table(every, dataset)
            parts.append(render(replace(cost, notes=cost.notes[:1]), "md"))
        if dataset in several:
            parts += _comparison(dataset, rows)
    return "\n\n".join(parts) + "\n"


def measured_studies(rows: Sequence[Row]) -> list[str]:
    """The studies that measure something of their own, as far as they have run."""
    kinds = {row.kind for row in rows}
    return [
        name
        for name, study in STUDIES.items()
        if study.part_of and name != GROUPED and kinds & {*study.kinds}
    ]


def compared_studies(rows: Sequence[Row]) -> list[str]:
    """The studies of settings of which at least two have run."""
    known = _not_superseded([row for row in rows if row.kind not in MEASURED])
    return [name for name in STUDIES if len(_compared(name, known)) > 1]


def _measure_commands(rows: Sequence[Row]) -> list[str]:
    """How to get the rows of those studies again."""
    lines = []
    for name in measured_studies(rows):
        here = [row for row in rows if row.kind in STUDIES[name].kinds]
        data = ",".join(sorted({row.dataset for row in here}, key=_place))
        options = dict.fromkeys("" if "cost" in STUDIES[name].kinds else _options(row) for row in here)
        for each in options:
            models = dict.fromkeys(
                row.model for row in here if "cost" in STUDIES[name].kinds or _options(row) == each
            )
            chosen = "" if len(models) == len(STUDIES[name].models) else f" --models {','.join(models)}"
            lines.append(f"t1 bench run {name} --data {shlex.quote(data)}{chosen}{each}")
    return lines


def _not_superseded(rows: Sequence[Row]) -> list[Row]:
    """Without the rows in units of before that have been measured again in the units of now."""
    sorted_out = line_up(rows)

    def what(row: Row) -> tuple[object, ...]:
        return row.dataset, row.scenario, row.model, str(row.settings), row.seed, row.split

    now = {what(row) for variant, each in sorted_out.items() if not variant.units for row in each}
    old = {
        id(row) for variant, each in sorted_out.items() if variant.units for row in each if what(row) in now
    }
    return [row for row in rows if id(row) not in old]


def _what(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "Our runs beside the figures that the paper prints. This page is rendered from the rows in "
        "`rows.jsonl`; nothing on it is typed by hand."
    )
    seeds = sorted({row.seed for row in rows})
    splits = sorted({row.split for row in rows}, reverse=True)
    if rows:
        in_series = [name for name in DATASETS if name in names() and spec(name).scale == "series"]
        several = "Seeds: " if len(seeds) > 1 else "Seed: "
        yield (
            "MSE and MAE are over the hidden cells of the whole test part, on standardised values: by the "
            f"whole series for {', '.join(in_series)} (as the authors' loader does), else by the training "
            "rows. Rows of before that was known are marked by their units. "
            f"{several}{', '.join(map(str, seeds))}. "
            f"Split: {' and '.join(splits)}. Versions: {_versions(rows)}."
        )
    ours = [name for name in DATASETS if name in names()]
    shared = [name for name in ours if spec(name).split["kind"] == "window_share"]
    yield (
        f"The paper's split shares out windows, not rows, for {', '.join(shared[:-1])} and {shared[-1]}: "
        "neighbouring parts have rows in common, here as there. It is a leak, kept so that the figures mean "
        "the same; a run with `--split disjoint` has none, and stands in columns of its own."
    )
    yield (
        "The paper prints three decimals, so a difference from a small figure is rough: 0.002 may be "
        "anything from 0.0015 to 0.0025. A dash stands for what has not run or was not published; † for a "
        "run that ended before the full protocol did, with the details below its table."
    )


def _versions(rows: Sequence[Row]) -> str:
    return ", ".join(sorted({f"{name} {version}" for row in rows for name, version in row.versions.items()}))


def _how(commands: Sequence[str]) -> Iterator[str]:
    yield "One training serves all scenarios of a dataset. What is done is skipped, so these can be repeated:"
    commands = commands or ["t1 bench run point --data ETTh1 --models t1 --seeds 102"]
    yield "\n".join(["```", *commands, "```"])
    listed = ["t1 bench status", *(f"t1 bench table {study}" for study in _main())]
    yield f"Then: {', '.join(f'`{command}`' for command in listed)}."


def _main() -> list[str]:
    """The studies that compare models; a run of one serves them all where a dataset has their scenarios."""
    return [name for name, study in STUDIES.items() if not (study.changes or study.only or study.part_of)]


def _compared(study: str, rows: Sequence[Row]) -> dict[Variant, list[Row]]:
    """What a study of settings compares, as far as it has run."""
    if not STUDIES[study].changes or STUDIES[study].part_of:
        return {}
    return {variant: each for variant, each in line_up(rows, STUDIES[study]).items() if each}


def _study_command(study: str, compared: dict[Variant, list[Row]]) -> str:
    rows = [row for each in compared.values() for row in each]
    data = ",".join(sorted({row.dataset for row in rows}, key=_place))
    seeds = ",".join(sorted({str(row.seed) for row in rows}))
    words = _budget(rows[0])
    return f"t1 bench run {study} --data {shlex.quote(data)} --seeds {seeds}{words}"


def _commands(rows: Sequence[Row]) -> list[str]:
    """Few commands that give these runs again, and no others; rows in units of before have none."""
    import pandas as pd

    rows = [row for variant, each in line_up(rows).items() for row in each if not variant.units]
    final = {row.key for row in latest(rows)}
    lines = set()
    for row in rows:
        if row.key in final or row.budget_seconds is not None:  # others are on the way of a run that went on
            kinds = {other.kind for other in rows if other.id == row.id}
            study = next(i for i, name in enumerate(_main()) if kinds & {*STUDIES[name].kinds})
            options = _options(row) + " --afresh" * (row.key not in final)
            lines.add((study, row.model, options, row.dataset, row.seed))
    columns = ["study", "model", "options", "data", "seeds"]
    found = pd.DataFrame(sorted(lines), columns=columns)
    # Seeds go together, then datasets that have the same ones, then models on the same datasets.
    joined = {
        "seeds": lambda seeds: ",".join(map(str, sorted(seeds))),
        "data": lambda data: shlex.quote(",".join(sorted(data, key=_place))),
        "model": lambda models: ",".join(sorted(models, key=lambda name: Variant(name).order)),
    }
    for column, join in joined.items():
        others = [name for name in found.columns if name != column]
        found = found.groupby(others)[column].agg(join).reset_index() if len(found) else found
    found = found.sort_values(["study", "data", "seeds", "options"])
    return [
        f"t1 bench run {_main()[study]} --data {data} --models {model} --seeds {seeds}{options}"
        for study, model, options, data, seeds in found[columns].to_numpy()
    ]


def _budget(row: Row) -> str:
    if row.budget_seconds is None:
        return ""
    return f" --budget {row.budget_seconds:g}s" + " --clock cpu" * (row.clock == "cpu")


def _options(row: Row) -> str:
    words = [f" --split {row.split}"] * (row.split != "paper")
    words += [" --size small"] * (row.settings.get("size") == SMALL)
    recipe = recipe_of(row)
    words += [f" --recipe {recipe}"] * (recipe not in (None, PAPER))
    words += [f" --set {shlex.quote(text)}" for text in changed_settings(row)]
    words.append(_budget(row))
    words += [f" --epochs {row.epochs}"] * (row.stopped == "epochs" and row.epochs < MAX_EPOCHS)
    words += [f" --score-every {row.score_every}"] * (row.score_every > 1)
    return "".join(words)


def _own_tables(study: str, rows: Sequence[Row]) -> list[Sheet]:
    """T1 on every dataset: one table, or for several variants one for each metric."""
    sheet = table(study, rows, models=["t1"])
    if sheet.title.endswith("T1"):
        return [sheet]
    mse, mae = (table(study, rows, models=["t1"], metric=metric, below=True) for metric in ("mse", "mae"))
    return [replace(mse, notes=()), mae]


def picture_name(dataset: str) -> str:
    """The file beside the page with the picture of a dataset's errors over their cost."""
    return f"cost-{re.sub('[^A-Za-z0-9]+', '-', dataset)}.svg"


def _comparison(dataset: str, rows: Sequence[Row]) -> Iterator[str]:
    """All systems on one dataset: what an error cost as a picture, and every figure beside the paper's."""
    yield f"![{dataset}: accuracy over cost]({picture_name(dataset)})"
    here = [row for row in rows if row.dataset == dataset]
    sheets = [
        table(study, rows, data=[dataset], models=sorted({row.model for row in here}), metric=metric)
        for study in _main()
        if any(row.kind in STUDIES[study].kinds for row in here)
        for metric in ("mse", "mae")
    ]
    for sheet in sheets:
        last = sheet is sheets[-1]
        yield render(replace(sheet, title=f"{dataset}. {sheet.title}", notes=sheet.notes * last), "md")


def _place(dataset: str) -> tuple[int, str]:
    """The paper's order, then others by name."""
    order = list(DATASETS)
    return (order.index(dataset) if dataset in order else len(order)), dataset
