"""Result tables: our rows beside the paper's figures, as exact text in every format."""

import csv
import io
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench_rows import row as any_row
from t1.bench.cost import cost_table
from t1.bench.notes import duration
from t1.bench.overview import status
from t1.bench.page import results_page
from t1.bench.paper import DATASETS, MODELS, published
from t1.bench.picture import _apart, cost_picture
from t1.bench.sheet import Cell, Head, Sheet, render
from t1.bench.standard import TITLES, standard
from t1.bench.study import STUDIES
from t1.bench.tables import table
from t1.bench.variants import line_up
from t1.data.catalog import names, spec, usual_scale
from t1.errors import InputError
from t1.methods.catalog import model_class

RATES = ("0.1", "0.3", "0.5", "0.7")
OWN = Path(__file__).parents[1] / "src" / "t1" / "bench" / "paper"
FULL = {"stopped": "patience", "epochs": 212, "best_epoch": 182, "schedule": "constant"}
FULL |= {"budget_seconds": None}
KEYS = ("dataset", "model", "seed", "settings", "split", "mask", "learning_rate", "scale")


def row(**changes):
    """A row of T1 on ETTh1 that a budget of half an hour ended."""
    dataset, model = changes.get("dataset", "ETTh1"), changes.get("model", "t1")
    known = dataset in names() and model in TITLES
    training = standard(spec(dataset if known else "ETTh1"), model if known else "t1")
    usual = {
        "id": "-".join(str(changes.get(key)) for key in KEYS),
        "dataset": dataset,
        "settings": dict(training.settings),
        "mask": dict(training.mask),
        "batch_size": training.batch_size,
        "learning_rate": training.learning_rate,
        "scale": usual_scale(spec(dataset), changes.get("split", "paper")) if known else "train",
        "scenario": "block",
        "mse": 0.0309,
        "mae": 0.107,
        "epochs": 14,
        "best_epoch": 13,
        "steps": 700,
        "best_valid": 0.04567,
        "stopped": "seconds",
        "budget_seconds": 1800.0,
        "schedule": "cosine",
        "train_seconds": 1795.0,
        "finished": "2026-01-02T03:04:05+00:00",
    }
    return any_row(**(usual | changes))


def points(errors, **changes):
    """Rows of the first ratios, one for each error."""
    pairs = zip(RATES, errors, strict=False)
    return [row(scenario=f"point {rate}", mse=error, mae=2 * error, **changes) for rate, error in pairs]


def texts(grid):
    return [[cell.text for cell in line] for line in grid.lines]


def bold(grid):
    return [[cell.text for cell in line if cell.bold] for line in grid.lines]


# the paper


def figures(study):
    """The published figures as {(dataset, kind, place, model): (mse, mae, mse_std, mae_std)}."""
    frame = published(STUDIES[study]).set_index(["dataset", "kind", "place", "variant", "metric"]).unstack()
    return {key: tuple(line) for key, line in zip(frame.index, frame.to_numpy(), strict=True)}


def test_every_published_figure_is_found():
    point, block, natural = (figures(study) for study in ("point", "block", "natural"))
    nine = list(DATASETS)[:9]
    twelve = [name for name in TITLES if name not in ("sssd", "t1-zero")][:12]
    assert {(d, "point", r, m) for d in nine for r in RATES for m in twelve} <= set(point)
    assert Counter(m for *_, m in point) == {**dict.fromkeys(twelve, 36), "sssd": 28}
    assert set(block) == {(d, "block", "block", m) for d in nine for m in twelve[:11]}
    places = [*(("PhysioNet2012-filled", "natural", r) for r in RATES), ("AQI36", "natural", "natural")]
    assert set(natural) == {(*where, m) for where in places for m in twelve[:9]}
    assert point["ETTh1", "point", "0.7", "t1"] == (0.193, 0.093, 0.002, 0.002)  # mae, mse, their deviations
    assert point["ETTh1", "point", "0.1", "sssd"][:2] == (0.115, 0.028)
    assert block["ETTh1", "block", "block", "csdi"][:2] == (0.127, 0.037)


def test_no_figure_is_lost_and_a_model_in_two_tables_has_the_same_in_both():
    for study in ("point", "block", "natural"):
        found, read = figures(study), set()
        for name in STUDIES[study].published:
            for line in csv.DictReader((OWN / f"{name}.csv").read_text().splitlines()):
                filled = "-filled" * (line["dataset"] == "PhysioNet2012")
                ratio = line.get("missing_ratio") or line.get("additional_ratio") or study
                key = line["dataset"] + filled, study, ratio, MODELS[line["model"]]
                assert found[key][:2] == (float(line["mae"]), float(line["mse"]))
                read.add(key)
        assert read == set(found)


@pytest.mark.parametrize(
    "study", [name for name, study in STUDIES.items() if study.changes and study.published]
)
def test_what_a_study_compares_is_what_was_published(study):
    found, chosen = published(STUDIES[study]), STUDIES[study]
    assert set(found["variant"]) <= set(chosen.changes)
    assert set(found["dataset"]) == set(chosen.datasets)
    assert set(found["metric"]) == set(chosen.metrics)
    for label, change in chosen.changes.items():
        for setting in set(change) - {"mask"}:
            assert setting in {f.name for f in fields(model_class(chosen.models[0]).Config)}, label


def test_the_figures_are_the_published_ones(data_dir):
    source = data_dir.parent / "paper"
    if not source.is_dir():
        pytest.skip(f"{source} not found: the paper's tables lie beside T1_DATA_DIR")
    for name in sorted(p.name for p in OWN.iterdir()):
        assert (OWN / name).read_text() == (source / name).read_text(), name


def test_the_paper_and_the_catalogue_speak_of_the_same():
    assert set(DATASETS) == set(names())
    assert len(MODELS) == len(TITLES)
    for study in ("point", "block", "natural"):
        datasets = set(published(STUDIES[study])["dataset"])
        # the paper's PhysioNet2012 is the filled one, as far as can be told
        assert datasets == {name for name in names() if study in spec(name).scenarios} - {"PhysioNet2012"}


# layout


def test_one_model_as_markdown():
    rows = [
        row(dataset="Illness", mse=0.0359, train_seconds=2460.0, **FULL),
        row(mse=0.0309, mae=0.1001),
    ]
    assert (
        render(table("block", rows, data=["ETTh1", "ETTh2", "Illness"]), "md")
        == """\
## Block missing: T1

| dataset | missing |    MSE | paper |   diff |    MAE | paper |    diff | how far   |
| ------- | ------- | -----: | ----: | -----: | -----: | ----: | ------: | --------- |
| ETTh1   | block   | 0.031† | 0.030 | +3.0 % | 0.100† | 0.107 |  −6.4 % | 14 epochs |
| ETTh2   | block   |      – | 0.027 |      – |      – | 0.092 |       – | –         |
| Illness | block   |  0.036 | 0.037 | −3.0 % |  0.107 | 0.089 | +20.2 % | full      |

- † ETTh1, T1, seed 102: 14 epochs (best 13) in 30 min of training on 2 threads, cosine learning rate, \
stopped by its budget of 30 min.
- Illness, T1, seed 102: full protocol, 212 epochs, best 182, stopped by patience, 41 min.
- † Less than the full protocol, which is 300 epochs at a constant learning rate, or 30 without a better \
validation loss."""
    )


def test_all_datasets_appear_in_the_papers_order():
    grid = table("block", [])
    assert [line[0] for line in texts(grid)] == list(DATASETS)[:9]
    assert grid.notes == ()
    assert texts(grid)[0] == ["ETTh1", "block", "–", "0.030", "–", "–", "0.107", "–", "–"]
    assert len(table("point", []).lines) == 9 * 5
    assert [line[1] for line in texts(table("natural", []))] == [*RATES, "average", "natural"]


def test_several_models_as_markdown():
    rows = [
        row(),
        row(model="saits", mse=0.0284, **FULL),
        row(model="mean", mse=1.02, stopped="nothing to train"),
    ]
    assert (
        render(table("block", rows, data=["etth1", "ETTh2"]), "md")
        == """\
## Block missing: MSE

| dataset | missing | T1 MSE |  T1 paper | T1 diff | SAITS MSE | SAITS paper | SAITS diff | Mean MSE |
| ------- | ------- | -----: | --------: | ------: | --------: | ----------: | ---------: | -------: |
| ETTh1   | block   | 0.031† |     0.030 |  +3.0 % | **0.028** |   **0.028** |     +1.4 % |    1.020 |
| ETTh2   | block   |      – | **0.027** |       – |         – |       0.145 |          – |        – |

- Bold: the lowest of our runs on a line, and the lowest of the published figures shown.
- † ETTh1, T1, seed 102: 14 epochs (best 13) in 30 min of training on 2 threads, cosine learning rate, \
stopped by its budget of 30 min.
- ETTh1, SAITS, seed 102: full protocol, 212 epochs, best 182, stopped by patience, 30 min.
- Nothing to train: Mean.
- † Less than the full protocol, which is 300 epochs at a constant learning rate, or 30 without a better \
validation loss."""
    )


def test_many_models_stand_below_each_other():
    rows = [
        *points((0.02, 0.03, 0.05, 0.10)),
        *points((0.2, 0.3, 0.5, 1.0), model="saits"),
        *points((0.019, 0.4), model="linear", stopped="nothing to train"),
        *points((0.2, 0.3, 0.5, 1.0), model="saits", dataset="mine.toml"),
    ]
    grid = table("point", rows, models=["t1", "saits", "linear", "dlinear"], data=["ETTh1", "mine.toml"])
    assert [head.alone for head in grid.heads][:4] == ["dataset", "model", "0.1 MSE", "0.1 paper"]
    assert [head.alone for head in grid.heads][-3:] == ["average MSE", "average paper", "average diff"]
    found = texts(grid)
    assert [line[:4] for line in found[:4]] == [
        ["ETTh1", "T1", "0.020†", "0.024"],
        ["ETTh1", "DLinear", "–", "0.161"],  # published, and not run here
        ["ETTh1", "SAITS", "0.200†", "0.026"],
        ["ETTh1", "Linear interpolation", "0.019", "–"],
    ]
    assert found[0][-3:] == ["0.050†", "0.050", "+1.0 %"]
    assert [line[0] for line in found[4:]] == ["mine.toml"]  # only those that have a figure there
    assert grid.blocks == {0, 4}
    assert bold(grid)[0] == [
        "0.024",
        "0.030†",
        "0.033",
        "0.050†",
        "0.048",
        "0.100†",
        "0.093",
        "0.050†",
        "0.050",
    ]
    assert bold(grid)[3] == ["0.019"]


def test_a_reduced_configuration_stands_for_its_model():
    grid = table("block", [row(), row(model="brits", settings={"size": "small"})], data=["ETTh1"])
    labels = dict.fromkeys(head.group for head in grid.heads[2:])
    assert list(labels) == ["T1", "BRITS (small)"]  # and no second column with the paper's figures alone
    assert grid.heads[-1].alone == "BRITS (small) diff"


def test_the_metric_can_be_chosen():
    def heads(**choice):
        return [h.alone for h in table("block", [row()], **choice).heads[2:]]

    assert heads(metric="mae") == ["MAE", "paper", "diff", "how far"]
    assert heads(models=["t1", "knn"]) == ["T1 MSE", "T1 paper", "T1 diff", "kNN MSE"]
    both = ["T1 MSE", "T1 paper", "T1 diff", "T1 MAE", "T1 paper", "T1 diff", "kNN MSE", "kNN MAE"]
    assert heads(models=["knn", "t1"], metric="both") == both


def test_a_study_of_two_models_shows_those_two():
    rows = [*points((0.02, 0.03, 0.05, 0.10)), *points((0.2, 0.3, 0.5, 1.0), model="saits")]
    grid = table("sssd", rows, data=["ETTh1"])
    assert list(dict.fromkeys(head.group for head in grid.heads)) == ["", "T1", "SSSD"]
    assert texts(grid)[0] == ["ETTh1", "0.1", "0.020†", "0.024", "−16.7 %", "–", "0.028", "–"]
    assert "T1 beside SSSD" not in results_page(rows)


def test_models_are_those_that_ran_and_t1():
    groups = [h.group for h in table("block", [row(model="dlinear")]).heads]
    assert list(dict.fromkeys(groups)) == ["", "T1", "DLinear"]
    assert table("block", [row(model="dlinear")], models=["dlinear"]).title == "Block missing: DLinear"


def test_a_model_or_dataset_that_is_not_known_here_still_shows():
    grid = table("point", [row(dataset="mine.toml", model="brand_new", scenario="point 0.2", mse=0.5)])
    assert texts(grid)[-1][:2] == ["mine.toml", "0.2"]
    assert grid.heads[-1].group.startswith("brand_new (mask kind=point, mask rate=0.4")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"models": ["saitz"]}, "unknown model 'saitz'.\nDid you mean 'saits'"),
        ({"data": ["ETTh3"]}, "'ETTh3' is no dataset of the study 'block'.\nDid you mean 'ETT"),
        ({"data": ["AQI36"]}, "'AQI36' is no dataset of the study 'block'"),
    ],
)
def test_a_wrong_name_says_what_is_right(choice, message):
    with pytest.raises(InputError, match=re.escape(message)):
        table("block", [row()], **choice)
    with pytest.raises(InputError, match="unknown study 'blok'"):
        table("blok", [])


# figures


def test_the_mean_over_seeds_has_a_deviation_and_so_has_the_paper_beside_it():
    rows = [row(seed=s, mse=e, **FULL) for s, e in ((102, 0.030), (202, 0.032), (302, 0.037))]
    grid = table("block", [*rows, row(dataset="ETTh2", mse=0.03)], data=["ETTh1", "ETTh2"])
    first, second = texts(grid)
    assert first[2:5] == ["0.033 ± 0.004", "0.030 ± 0.004", "+10.0 %"]
    assert first[-1] == "3 seeds, full"
    assert grid.lines[0][2].std == pytest.approx(0.0036056, abs=1e-7)  # n - 1
    assert second[2:5] == ["0.030†", "0.027", "+11.1 %"]


def test_a_published_figure_without_deviation_stays_plain():
    rows = [row(model="csdi", seed=s) for s in (102, 202)]
    assert texts(table("block", rows, models=["csdi"]))[0][2:4] == ["0.031 ± 0.000†", "0.037"]


def test_some_seeds_of_the_full_protocol():
    rows = [row(seed=102, **FULL), row(seed=202)]
    assert texts(table("block", rows))[0][-1] == "2 seeds, 1 full"


def test_the_average_needs_every_ratio():
    rows = [*points((0.02, 0.03, 0.05, 0.10)), *points((0.02, 0.03, 0.05), dataset="ETTh2")]
    grid = table("point", rows, data=["ETTh1", "ETTh2"])
    whole, part = texts(grid)[4], texts(grid)[9]
    assert whole[:5] == ["ETTh1", "average", "0.050†", f"{(0.024 + 0.033 + 0.048 + 0.093) / 4:.3f}", "+1.0 %"]
    assert part[:5] == ["ETTh2", "average", "–", "0.036", "–"]
    assert grid.blocks == {0, 5}
    assert grid.notes[0].startswith("The paper's averages are those of its printed figures")


def test_the_average_is_over_seeds_that_have_every_ratio():
    seeds = [*points((0.02, 0.03, 0.05, 0.10)), *points((0.04, 0.05, 0.07, 0.12), seed=202)]
    (*_, average) = table("point", [*seeds, *points((0.9,), seed=302)], data=["ETTh1"]).lines
    assert average[2].text == "0.060 ± 0.014†"
    assert average[2].number == pytest.approx(0.06)
    assert average[3].std is None  # the paper does not say how its averages vary


def test_ties_as_printed_are_all_bold_and_a_single_run_is_not():
    rows = [row(mse=0.0301), row(model="saits", mse=0.0304), row(model="dlinear", mse=0.2)]
    rows += [row(dataset="ETTh2", model="saits", mse=0.5)]
    grid = table("block", rows, data=["ETTh1", "ETTh2"])
    assert bold(grid) == [["0.030†", "0.030†", "0.028"], ["0.027"]]
    assert bold(table("block", rows, models=["t1"])) == [[]] * 9


def test_no_difference_has_no_sign():
    assert texts(table("block", [row(mse=0.03 - 1e-9)]))[0][4] == "0.0 %"


# who is compared with whom


def test_settings_splits_and_masks_are_never_mixed():
    rows = [
        row(mse=0.031),
        row(settings={"n_channels": 64}, mse=0.02),
        row(settings={"anchor": "linear", "n_channels": 64}, mse=0.04),
        row(split="disjoint", mse=0.01),
        row(mask={"kind": "point", "rate": 0.2}, mse=0.05),
        row(learning_rate=1e-4, mse=0.06),
    ]
    grid = table("block", rows, data=["ETTh1"])
    assert texts(grid) == [
        ["ETTh1", "T1", "0.031†", "0.030", "+3.3 %"],
        ["ETTh1", "T1 (anchor=linear, n_channels=64)", "0.040†", "–", "–"],
        ["ETTh1", "T1 (disjoint split)", "0.010†", "–", "–"],
        ["ETTh1", "T1 (learning_rate=0.0001)", "0.060†", "–", "–"],
        ["ETTh1", "T1 (mask rate=0.2)", "0.050†", "–", "–"],
        ["ETTh1", "T1 (n_channels=64)", "0.020†", "–", "–"],
    ]
    assert [cell for line in bold(grid) for cell in line] == ["0.020†"]  # 0.010: on another test part
    assert grid.notes[0].endswith("Runs on different splits are not compared.")


def test_rows_in_units_of_before_are_not_beside_the_published_figures():
    old = points((0.02, 0.03, 0.05, 0.10), dataset="Illness", scale="train", **FULL)
    grid = table("point", old, data=["Illness"], below=True)
    assert [line[:4] for line in texts(grid)] == [
        ["Illness", "T1", "–", "0.016"],
        ["Illness", "T1 (in units of the training rows)", "0.020", "–"],
    ]
    new = points((0.03, 0.04, 0.06, 0.20), dataset="Illness", **FULL)
    both = table("point", [*old, *new], data=["Illness"], below=True)
    assert not any(cell.bold for line in both.lines for cell in line if cell.number in (0.02, 0.03)), (
        "no race"
    )
    page = results_page([*old, *new])
    assert "| Illness | 0.038 | 0.083 |" in re.sub(" +", " ", page), "the headline is in the paper's units"
    assert page.count("--data Illness") == 1, "the old rows cannot be made again"


def test_physionet_stands_there_in_every_way():
    kinds = {"natural": 0.3, "natural-zeros": 0.4}
    rows = [
        row(dataset="PhysioNet2012", scenario=f"{kind} {rate}", mse=error)
        for kind, error in kinds.items()
        for rate in RATES
    ]
    rows += [row(dataset="PhysioNet2012-filled", scenario=f"natural {rate}", mse=0.06) for rate in RATES]
    grid = table("natural", rows, data=["PhysioNet2012", "PhysioNet2012-filled"])
    averages = [line[:5] for line in texts(grid) if line[1] == "average"]
    assert averages == [
        ["PhysioNet2012-filled", "average", "0.060†", "0.075", "−20.0 %"],
        ["PhysioNet2012", "average", "0.300†", "–", "–"],
        ["PhysioNet2012, never measured = 0", "average", "0.400†", "–", "–"],
    ]


def test_every_datasets_own_protocol_is_the_plain_model():
    rows = [row(dataset=name) for name in names()]
    assert [variant.label for variant in line_up(rows)] == ["T1"]


def test_a_part_of_the_windows_and_a_series_are_told_as_such():
    rows = [row(), row(model="csdi", cells=50, score_every=20), row(model="pswi", cells=60)]
    notes = table("block", rows, data=["ETTh1"]).notes
    assert not any("different cells" in note for note in notes)
    assert any(
        "CSDI" in note and "scored on 1 of 20 test windows, with the same masks" in note for note in notes
    )
    assert notes[-1].startswith("PSW-I: fills one series, so it is scored on the contiguous test part")


def test_different_cells_are_told():
    rows = [row(), row(model="saits", cells=999), row(split="disjoint", cells=5), row(seed=202, cells=7)]
    told = "ETTh1, block, seed 102: scored on different cells (T1: 1,000; SAITS: 999), "
    notes = [note for note in table("block", rows).notes if "different cells" in note]
    assert notes == [told + "so the figures cannot be compared."]


def test_a_run_that_went_on_is_told_for_each_state():
    early, *later = points((0.02, 0.03, 0.05, 0.10))
    rows = [early, *(any_row(**{**vars(r), "steps": 900, "epochs": 18}) for r in later)]
    notes = table("point", rows, data=["ETTh1"]).notes
    assert notes[1].startswith("† ETTh1, T1, seed 102 (0.1): 14 epochs")
    assert notes[2].startswith("† ETTh1, T1, seed 102 (0.3, 0.5, 0.7): 18 epochs")


def test_a_limit_of_epochs_is_no_full_protocol():
    one = row(stopped="epochs", epochs=1, schedule="constant", budget_seconds=None)
    note, *_ = table("block", [one]).notes
    assert note.startswith("† ETTh1, T1, seed 102: 1 epoch (best 13) in 30 min")
    assert note.endswith("on 2 threads, stopped by its limit of 1 epoch.")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3570, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


# formats

GRID = Sheet(
    title="A_b & <c>",
    heads=(Head("x", words=True), Head("MSE", "T|1", "T|1 MSE"), Head("paper", "T|1", "T|1 MSE paper")),
    lines=(
        (Cell("[a]"), Cell("0.024 ± 0.001†", 0.0241234, 0.001, "14 epochs", bold=True), Cell("–")),
        (Cell('*b, "c"'), Cell("−3.1 %", -3.1), Cell("50%_#{}\\^~$", 0.5)),
    ),
    blocks=frozenset({0, 1}),
    notes=("† see <x>",),
)


def test_markdown_is_escaped():
    assert (
        render(GRID, "md")
        == r"""## A\_b \& \<c>

| x        |           T\|1 MSE |      T\|1 paper |
| -------- | -----------------: | --------------: |
| \[a\]    | **0.024 ± 0.001†** |               – |
| \*b, "c" |             −3.1 % | 50%\_#{}\\^\~\$ |

- † see \<x>"""
    )


def test_csv_has_numbers_in_full_and_no_dashes():
    assert (
        render(GRID, "csv")
        == '''\
x,T|1 MSE,T|1 MSE std,T|1 MSE how far,T|1 MSE paper
[a],0.0241234,0.001,14 epochs,
"*b, ""c""",-3.1,,,0.5'''
    )


def test_csv_of_one_model_has_one_column_of_how_far():
    lines = list(csv.reader(io.StringIO(render(table("block", [row()], data=["ETTh1"]), "csv"))))
    assert lines[0] == [
        *("dataset", "missing", "MSE", "MSE paper", "MSE diff", "MAE", "MAE paper", "MAE diff", "how far")
    ]
    assert lines[1][:4] == ["ETTh1", "block", "0.0309", "0.03"]
    assert lines[1][-1] == "14 epochs"


def test_latex_is_escaped():
    assert (
        render(GRID, "latex")
        == r"""% in the preamble: \usepackage{booktabs}
\begin{table}
\centering
\small
\setlength{\tabcolsep}{4pt}
\caption{A\_b \& \textless{}c\textgreater{}}
\begin{tabular}{lrr}
\toprule
 & \multicolumn{2}{c}{T\textbar{}1} \\
x & MSE & paper \\
\midrule
{[}a] & \textbf{0.024 $\pm$ 0.001$^{\dagger}$} & -- \\
\addlinespace
{*}b, ''c'' & $-$3.1 \% & 50\%\_\#\{\}\textbackslash{}\textasciicircum{}\textasciitilde{}\$ \\
\bottomrule
\end{tabular}

\medskip
\begin{minipage}{\linewidth}\footnotesize\raggedright
$^{\dagger}$ see \textless{}x\textgreater{}\par
\end{minipage}
\end{table}"""
    )


def test_latex_is_well_formed():
    rows = [row(seed=s) for s in (102, 202)] + [row(model="saits"), row(settings={"n_channels": 64})]
    text = render(table("block", rows), "latex")
    bare = re.sub(r"\\[\\&%$#_{}]", "", text.replace(r" \\", ""))
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert text.isascii()
    opened = re.findall(r"\\begin\{(\w+)\}", text)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\w+)\}", text))
    columns = len(re.search(r"tabular\}\{(\w+)\}", text)[1])
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert {len(re.split(r"(?<!\\)&", line)) for line in body if line != r"\addlinespace"} == {columns}


class Reader(HTMLParser):
    """The cells of a table, and whether every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.lines, self.strong, self.notes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.lines[-1][-1] += data
        if "strong" in self.open:
            self.strong.append(data)
        if "li" in self.open:
            self.notes.append(data)


def test_html_is_a_page_with_the_same_cells():
    page = render(GRID, "html")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.lines == [["", "T|1"], ["x", "MSE", "paper"], *texts(GRID)]
    assert reader.strong == ["0.024 ± 0.001†"]
    assert reader.notes == ["† see <x>"]
    assert "<title>A_b &amp; &lt;c&gt;</title>" in page
    assert 'name="viewport"' in page
    assert "color-scheme: light dark" in page
    assert "overflow-x: auto" in page
    assert not re.search(r"https?:|src=|href=", page)  # needs nothing else


def test_an_unknown_format_offers_the_nearest():
    with pytest.raises(InputError, match=r"unknown format 'htm'\.\nDid you mean 'html'"):
        render(GRID, "htm")


def test_a_line_of_another_length_is_a_mistake():
    with pytest.raises(ValueError, match="another length"):
        Sheet(title="x", heads=(Head("a"),), lines=((),))


# status and page


def test_a_search_that_its_budget_ended_is_not_the_full_protocol():
    short = {"stopped": "seconds", "budget_seconds": 60.0, "schedule": "none", "epochs": 0, "best_epoch": 0}
    grid = table("block", [row(model="pswi", train_seconds=60.0, **short)], models=["pswi"], data=["ETTh1"])
    assert texts(grid)[0][2] == "0.031†"
    assert grid.notes[0] == "† ETTh1, PSW-I, seed 102: a search of 1 min, stopped by its budget of 1 min."


def test_status_has_a_line_per_run():
    rows = [
        *points((0.02, 0.03)),
        row(),
        row(model="mean", stopped="nothing to train", steps=0, parameters=0, epochs=0, best_valid=None),
    ]
    rows = [any_row(**{**vars(r), "id": f"run-{r.model}"}) for r in rows]
    rows += [row(id="run-ill", dataset="Illness", seed=202, **FULL)]
    assert texts(status(rows, lambda run: run == "run-ill")) == [
        [
            *("run-t1", "ETTh1", "T1", "102", "block, point 0.1, point 0.3", "14", "0.0457"),
            *("budget of 30 min", "30 min", "2026-01-02T03:04:05+00:00"),
        ],
        [
            *("run-mean", "ETTh1", "Mean", "102", "block", "0", "–"),
            *("nothing to train", "30 min", "2026-01-02T03:04:05+00:00"),
        ],
        [
            *("run-ill", "Illness", "T1", "202", "block", "212", "0.0457"),
            *("running now", "30 min", "2026-01-02T03:04:05+00:00"),
        ],
    ]
    assert status([], lambda run: False).notes == ("Nothing has run yet.",)
    assert render(status([], lambda run: False), "md").endswith("- Nothing has run yet.")


def test_the_page_has_the_three_tables_and_the_commands_behind_them():
    rows = [
        *points((0.02, 0.03, 0.05, 0.10)),
        row(),
        *(row(dataset=d, seed=s, **FULL) for s in (102, 202) for d in ("Illness", "ETTh2")),
        row(dataset="AQI36", scenario="natural", settings={"anchor": "a b"}, split="disjoint", **FULL),
    ]
    page = results_page(rows)
    assert page.startswith("# Results\n\nOur runs beside")
    assert (
        "Seeds: 102, 202. Split: paper and disjoint. Versions: numpy 2.4.0, python 3.11.7, t1 0.1.0, torch"
        in page
    )
    assert "for Weather, PEMS03, Exchange, Illness and Electricity: neighbouring" in page
    commands = page.split("```\n")[1].splitlines()
    assert commands == [
        "t1 bench run point --data ETTh1 --models t1 --seeds 102 --budget 1800s",
        "t1 bench run block --data ETTh2,Illness --models t1 --seeds 102,202",
        "t1 bench run natural --data AQI36 --models t1 --seeds 102 --split disjoint --set 'anchor=a b'",
    ]
    assert re.findall("^## .*", page, flags=re.M) == [
        "## T1 beside the paper",
        "## How to reproduce",
        "## Point missing: T1",
        "## Block missing: T1",
        "## Natural missing: MSE",
        "## Natural missing: MAE",
    ]
    assert page.count("- Bold:") == 1
    assert "cost-" not in page
    assert page.endswith(".\n")
    assert results_page(rows[::-1]) == page


def test_the_page_compares_where_several_were_trained():
    rows = [*points((0.02, 0.03, 0.05, 0.10)), row(), *points((0.2, 0.3, 0.5, 1.0), model="saits")]
    linear = row(dataset="ETTh2", model="linear", stopped="nothing to train")
    page = results_page([*rows, row(dataset="ETTh2"), linear])
    assert "cost-ETTh2" not in page
    assert re.findall("^## .*", page, flags=re.M)[5:] == [
        "## ETTh1: accuracy and cost",
        "## ETTh1. Point missing: MSE",
        "## ETTh1. Point missing: MAE",
        "## ETTh1. Block missing: MSE",
        "## ETTh1. Block missing: MAE",
        "## ETTh2: accuracy and cost",
    ]
    assert "![ETTh1: accuracy over cost](cost-ETTh1.svg)" in page


def test_the_variants_of_a_study_stand_in_its_own_table():
    runs = dict(STUDIES["ablation"].variants("ETTh1", "t1", 102, "paper", {}))
    chosen = {
        label: runs[label] for label in ("T1: full model", "Cross-variable: w/o", "Embedding: w/o mask")
    }
    short = {"budget_seconds": 480.0, "train_seconds": 480.0, "steps": 200}
    rows = [
        again
        for error, run in zip((0.06, 0.12, 0.07), chosen.values(), strict=True)
        for again in points((error,) * 4, id=run.id, settings=dict(run.settings), **short)
    ]
    longer = points((0.05,) * 4, id=runs["T1: full model"].id)
    page = re.sub(" +", " ", results_page([*longer, *rows]))
    assert page.count("## Ablation: MSE") == 1
    assert "## Point missing: T1\n" in page, "no variant beside it"
    assert "| ETTh1 | T1: full model | **0.060†** |" in page, "with the budget of the others"
    assert "| ETTh1 | 0.1 | 0.050† | 0.024 |" in page, "with the longest training"
    assert "| ETTh1 | Cross-variable: w/o | 0.120† |" in page
    assert "t1 bench run ablation --data ETTh1 --seeds 102 --budget 480s\n" in page
    assert "cross=" not in page


def test_the_page_without_rows_is_the_papers():
    page = results_page([])
    assert "t1 bench run point --data ETTh1 --models t1 --seeds 102\n" in page
    assert "†" not in page.split("## Point")[1]


def test_tables_need_no_torch():
    code = "import sys, t1.bench.page; print(*{'torch', 'sklearn'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == ""


# ------------------------------------------------------------ accuracy over cost


def test_cost_puts_errors_beside_seconds():
    rows = points((0.02, 0.04, 0.06, 0.08))
    quick = {"stopped": "nothing to train", "parameters": 0, "train_seconds": 0.0}
    rows += points((0.2, 0.2, 0.2, 0.2), model="linear", **quick)
    rows += [row(mse=0.03), row(dataset="ETTh2", mse=9.0)]
    grid = cost_table(rows, "ETTh1")
    assert [line[:5] for line in texts(grid)] == [
        ["T1", "0.050", "0.030", "30 min", "50 s"],
        ["Linear interpolation", "0.200", "–", "–", "40 s"],
    ]
    assert grid.lines[0][1].bold and not grid.lines[1][1].bold
    with pytest.raises(InputError, match="nothing has run on Weather"):
        cost_table(rows, "Weather")


def test_the_best_of_the_cost_table_is_the_lowest_number():
    rows = points((10.2,) * 4) + points((9.1,) * 4, model="saits")
    grid = cost_table(rows, "ETTh1")
    assert [cell.text for line in grid.lines for cell in line if cell.bold] == ["9.100"]


def test_what_was_scored_in_part_is_not_the_best():
    rows = points((0.2,) * 4)
    rows += points((0.1,) * 4, model="csdi", score_every=20)  # few windows
    rows += points((0.1,) * 4, model="pswi")  # other cells
    rows += points((0.1, 0.1), model="saits")  # the easier ratios only
    grid = cost_table(rows, "ETTh1")
    assert [line[0].text for line in grid.lines if line[1].bold] == ["T1"]


def test_the_picture_names_every_system(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 't1-impute[bench]'")
    rows = points((0.02, 0.04)) + points((0.2, 0.3), model="linear", stopped="nothing to train")
    cost_picture(rows, "ETTh1", tmp_path / "cost.svg")
    first = (tmp_path / "cost.svg").read_text()
    assert "<!-- T1 -->" in first and "<!-- Linear interpolation -->" in first
    cost_picture(rows, "ETTh1", tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == first, "the same rows, the same file"
    with pytest.raises(InputError, match=r"is no picture file.\nGive a name that ends with .svg"):
        cost_picture(rows, "ETTh1", tmp_path / "cost.txt")
    with pytest.raises(InputError, match="does not exist"):
        cost_picture(rows, "ETTh1", tmp_path / "nowhere" / "cost.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.svg", "cost.svg"]


def test_the_picture_has_one_unit(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 't1-impute[bench]'")
    old = {"dataset": "Illness", "scale": "train"}
    rows = [*points((0.02, 0.04), **old), *points((0.2, 0.3), model="saits", **old)]
    rows += points((0.3, 0.3), model="linear", dataset="Illness", stopped="nothing to train")
    cost_picture(rows, "Illness", tmp_path / "cost.svg")
    drawn = (tmp_path / "cost.svg").read_text()
    assert "in units of the training rows" in drawn
    assert "<!-- Linear interpolation -->" not in drawn


def test_names_in_the_picture_do_not_lie_on_each_other():
    placed = _apart([0.5, 0.1, 0.51, 0.505], gap=0.1)
    assert placed[1] == 0.1
    assert [placed[0], placed[3], placed[2]] == pytest.approx([0.5, 0.6, 0.7])
