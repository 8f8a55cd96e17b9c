"""Keeping a fitted fill: the same fill to the bit, in a folder or in another process; damage is told."""

import json
import multiprocessing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from closed_form import driven, fit_closed, holes
from t1.api.fitted import KIND, FittedFill, load
from t1.errors import InputError
from t1.fill.judged import JudgedFill
from t1.fill.keep import CLASSES, load_kept, save_kept
from t1.methods import catalog
from t1.panel import Panel


def seasonal_panel(ids=("north", "south")) -> Panel:
    rows = np.arange(600)
    table = driven(600, 3) + 5 * np.sin(2 * np.pi * rows / 24)[:, None]
    return Panel.of(holes(table), list("abc"), starts=[0, 300], ids=ids, phase=[0, 5])


@pytest.fixture(scope="module")
def fitted() -> JudgedFill:
    return fit_closed(seasonal_panel(), every=True)


def assert_same_fill(one: JudgedFill, two: JudgedFill) -> None:
    panel = seasonal_panel()
    for level in (None, 0.8, 0.95):
        a, b = one.fill(panel, level=level), two.fill(panel, level=level)
        assert a.values.tobytes() == b.values.tobytes()
        assert a.scorecard == b.scorecard and a.method_names == b.method_names
        if level:
            assert a.missing.lo.tobytes() == b.missing.lo.tobytes()
            assert a.missing.hi.tobytes() == b.missing.hi.tobytes()


def test_a_fill_read_back_is_the_same_to_the_bit(fitted, tmp_path):
    FittedFill(fitted, {"time": "when", "id": None}).save(tmp_path / "kept")
    again = load(tmp_path / "kept")
    assert again.reading == {"time": "when", "id": None}
    assert_same_fill(fitted, again.judged)
    assert sorted(p.suffix for p in (tmp_path / "kept").iterdir()) == [".json", ".safetensors"]


def filled_elsewhere(fitted: JudgedFill) -> bytes:
    return fitted.fill(seasonal_panel(), level=0.9).values.tobytes()


def test_it_survives_a_trip_to_another_process(fitted):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        elsewhere = pool.apply(filled_elsewhere, (fitted,))
    assert elsewhere == filled_elsewhere(fitted)


@pytest.mark.parametrize(
    "name", [n for n in ("mean", "locf", "knn", "iterative") if not catalog.METHODS[n].absent]
)
def test_every_closed_form_method_can_be_kept(name, tmp_path):
    panel = seasonal_panel()
    fitted = fit_closed(panel, method=name)
    save_kept(tmp_path, KIND, {"fill": fitted})
    again = load_kept(tmp_path, KIND, "")["fill"]
    assert again.fill(panel).values.tobytes() == fitted.fill(panel).values.tobytes()


@pytest.mark.parametrize("ids", [(1, 2), (np.int64(1), np.int64(2)), (1.5, 2.5), ("1", "2"), (True, False)])
def test_ids_of_series_are_known_again(ids, tmp_path):
    panel = seasonal_panel(ids)
    fitted = fit_closed(panel, method="seasonal")
    save_kept(tmp_path, KIND, {"fill": fitted})
    again = load_kept(tmp_path, KIND, "")["fill"]
    assert again.fill(panel).values.tobytes() == fitted.fill(panel).values.tobytes()
    assert (
        fitted.fill(panel).values.tobytes() != fit_closed(panel, method="linear").fill(panel).values.tobytes()
    )


def damaged(folder: Path, how: str) -> None:
    info, weights = folder / "config.json", next(folder.glob("*.safetensors"))
    if how == "truncated weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif how == "truncated header":
        weights.write_bytes(weights.read_bytes()[:20])
    elif how == "no weights":
        weights.unlink()
    elif how == "truncated json":
        info.write_text(info.read_text()[:-50])
    elif how == "another json":
        info.write_text('{"a": 1}')
    elif how == "a list":
        info.write_text("[]")
    else:
        told = json.loads(info.read_text())
        kept = told["info"]["kept"]["fill"]
        if how == "another version":
            told["info"]["version"] = 99
        elif how == "another kind":
            told["info"]["kind"] = "T1Imputer"
        elif how == "nothing kept":
            told["info"]["kept"] = {}
        elif how == "another thing kept":
            told["info"]["kept"]["fill"] = 5
        elif how == "an unknown class":
            kept["class"] = "Popen"
        elif how == "another field":
            kept["fields"]["colour"] = 1
        elif how == "a field less":
            del kept["fields"]["blend"]
        elif how == "an array that is not there":
            kept["fields"]["scale"] = {"array": "array-999"}
        elif how == "no fields":
            del kept["fields"]
        info.write_text(json.dumps(told))


@pytest.mark.parametrize(
    "how",
    [
        "truncated weights",
        "truncated header",
        "no weights",
        "truncated json",
        "another json",
        "a list",
        "another version",
        "another kind",
        "nothing kept",
        "another thing kept",
        "an unknown class",
        "another field",
        "a field less",
        "an array that is not there",
        "no fields",
    ],
)
def test_a_damaged_or_foreign_folder_is_told(how, fitted, tmp_path):
    FittedFill(fitted, {}).save(tmp_path / "kept")
    damaged(tmp_path / "kept", how)
    with pytest.raises(InputError) as told:
        load(tmp_path / "kept")
    assert "\n" in str(told.value)  # what is wrong, and what to do about it


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError):
        load(tmp_path / "file")
    with pytest.raises(InputError):
        load(tmp_path)


@dataclass
class Stranger:
    x: int = 1


def test_what_is_not_on_the_list_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="Stranger cannot be kept"):
        save_kept(tmp_path / "kept", KIND, {"fill": Stranger()})
    assert not (tmp_path / "kept").exists()
    assert "Stranger" not in CLASSES


def test_odd_numbers_and_arrays_come_back(tmp_path):
    things = {
        "numbers": [0.1, float("inf"), float("-inf"), 1, True, None, "x"],
        "tuple": (1, (2.5,)),
        "array": np.array([[1.5, np.nan], [-0.0, 5e-324]]),
        "empty": np.zeros((0, 3)),
        "strided": np.arange(12)[::3],
        "pairs": {None: 1, 2: "two", "x": None},
        "np": [np.float64(2.5), np.int64(3)],
    }
    save_kept(tmp_path / "kept", "things", things)
    again = load_kept(tmp_path / "kept", "things", "")
    assert again["numbers"] == things["numbers"] and again["tuple"] == (1, (2.5,))
    assert again["array"].tobytes() == things["array"].tobytes()
    assert again["empty"].shape == (0, 3) and again["strided"].tolist() == [0, 3, 6, 9]
    assert again["pairs"] == things["pairs"] and again["np"] == [2.5, 3]
