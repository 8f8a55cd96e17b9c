"""Files larger than memory: pieces of a few rows must give what the whole file gives."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import t1.data.pieces
from t1.api import fit_file, impute_file
from t1.bulk.stretches import impute_stretches
from t1.cli import main
from t1.data.pieces import memory_free, memory_needed, open_pieces
from t1.errors import InputError
from t1.methods.base import Learning
from t1.methods.t1 import T1Fill
from t1.options import FillOptions, FitOptions
from t1.panel import Panel

ROWS = 40_000
FAST = FitOptions(budget="fast", method="linear")


def big(rows: int = ROWS, *, seed: int = 0) -> pd.DataFrame:
    """A day's cycle in minutes, three columns, points and runs of cells missing, one run of 400 rows."""
    rng = np.random.default_rng(seed)
    minutes = np.arange(rows)
    values = np.sin(2 * np.pi * minutes[:, None] / 144 + [0, 1, 2]) * [1, 5, 20]
    values += rng.normal(size=values.shape) * [0.05, 0.2, 1]
    values[rng.random(values.shape) < 0.03] = np.nan
    for start in rng.integers(0, rows, rows // 500):
        values[start : start + 20, start % 3] = np.nan
    values[rows // 2 : rows // 2 + 400, 1] = np.nan
    frame = pd.DataFrame(values.round(3), columns=["a", "b", "c"])
    frame.insert(0, "when", pd.Timestamp("2020-01-01") + pd.to_timedelta(minutes, unit="min"))
    return frame


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of 2^14 rows instead of some hundred thousand; a sample of 8 x 512 rows."""
    monkeypatch.setattr(t1.data.pieces, "ROWS", (1 << 14, 1 << 14))
    for module in ("csv.pieces", "parquet_pieces"):
        monkeypatch.setattr(f"t1.data.{module}.STRETCH_ROWS", 512)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return big()


def both(folder: Path, source: str, *, fit: FitOptions = FAST, model: Path | None = None, **fill):
    """A file filled stretch by stretch and as a whole."""
    suffix = "".join(Path(source).suffixes)
    targets = folder / f"stretches{suffix}", folder / f"whole{suffix}"
    options = {"reading": {}, "fit_options": fit, "fill_options": FillOptions(**fill), "model": model}
    results = [
        f(folder / source, t, **options)
        for f, t in zip((impute_stretches, impute_file), targets, strict=True)
    ]
    assert results[0].n_filled == results[1].n_filled > 1000
    return targets


# ---------------------------------------------------------------- the same as the whole


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz", "in.parquet"])
def test_stretches_are_those_of_the_whole(tmp_path, small_pieces, table, name):
    if name.endswith("parquet"):
        table.to_parquet(tmp_path / name, index=False, row_group_size=7000)
    else:
        table.to_csv(tmp_path / name, index=False)
    one, other = both(tmp_path, name)
    if name.endswith("parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(other), check_exact=True)
    else:
        unpack = gzip.decompress if name.endswith("gz") else bytes
        assert unpack(one.read_bytes()) == unpack(other.read_bytes())


def test_a_judged_fill_with_t1_and_intervals_is_the_same(tmp_path, small_pieces, table, one_thread):
    """Gaps in a few places only, of all kinds: T1 is slow; absent rows, and a piece that begins inside a gap."""
    full = table.interpolate(limit_direction="both").round(dict.fromkeys("abc", 3))
    rows = np.r_[3000:3100, 16200:16500, 20000:20400, 32700:32800]
    mixed = full.copy()
    mixed.iloc[rows, 1:] = table.iloc[rows, 1:]
    mixed.iloc[16380:16390, 1] = np.nan
    mixed = mixed.drop(index=range(9000, 9007)).reset_index(drop=True)
    mixed.to_csv(tmp_path / "in.csv", index=False)
    table.iloc[:3000].to_csv(tmp_path / "first.csv", index=False)
    fit_file(tmp_path / "first.csv", tmp_path / "model", reading={}, options=FitOptions(budget="fast"))
    one, other = (pd.read_csv(path) for path in _filled_both(tmp_path))
    used = json.loads((tmp_path / "card.json").read_text())
    assert any("t1" in score["method"] for score in used["scores"])
    assert list(one) == list(other)
    np.testing.assert_allclose(one.iloc[:, 1:], other.iloc[:, 1:], rtol=0, atol=0.0011)  # the last decimal


def _filled_both(folder: Path) -> list[Path]:
    options = {
        "reading": {},
        "fit_options": FitOptions(budget="fast"),
        "fill_options": FillOptions(intervals=0.9),
        "model": folder / "model",
    }
    result = impute_stretches(folder / "in.csv", folder / "s.csv", **options)
    impute_file(folder / "in.csv", folder / "w.csv", **options)
    (folder / "card.json").write_text(json.dumps(result.scorecard.to_dict()))
    return [folder / "s.csv", folder / "w.csv"]


def test_a_file_without_times_and_one_of_several_series(tmp_path, small_pieces, table):
    table.drop(columns="when").to_csv(tmp_path / "plain.csv", index=False)
    one, other = both(tmp_path, "plain.csv", lock=["16380..16400"])
    assert one.read_bytes() == other.read_bytes()
    two = pd.concat([table[:20_000].assign(station=s) for s in "xy"]).sort_values("when", kind="stable")
    two.to_csv(tmp_path / "series.csv", index=False)
    one, other = both(tmp_path, "series.csv")
    assert one.read_bytes() == other.read_bytes()


def test_odd_text_survives(tmp_path, small_pieces):
    """Semicolons, decimal commas, CRLF, quoted line breaks, -9999, a text column, rows without any value."""
    table = big(30_000).round(dict.fromkeys("abc", 2))
    table.loc[table.index % 400 == 7, "c"] = -9999
    table.loc[16384:16390, ["a", "b", "c"]] = np.nan
    table["note"] = np.where(table.index % 50 == 3, 'pump "2"\nstopped', "ok")
    text = table.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    (tmp_path / "in.csv").write_bytes(text.encode("utf-8-sig"))
    one, other = both(tmp_path, "in.csv")
    assert one.read_bytes() == other.read_bytes()
    assert b"-9999" not in one.read_bytes()


# ---------------------------------------------------------------- how it decides, what it refuses


def test_pieces_are_a_few_rows_each_and_agree(tmp_path, small_pieces, table):
    table.to_csv(tmp_path / "in.csv", index=False)
    pieces = open_pieces(tmp_path / "in.csv", {})
    sizes = [len(piece.values) for piece in pieces.tables()]
    assert sum(sizes) == ROWS == pieces.n_rows and sizes[0] == 1 << 14 and len(sizes) == 3
    assert len(pieces.sample.rows) == 8 and 8 * 512 - 20 < sum(pieces.sample.rows) <= 8 * 512
    first = np.array(pieces.sample.first)
    assert first[0] == 0 and (np.diff(first) > 512).all() and abs(first[-1] + 512 - ROWS) < 20
    at = np.cumsum((0, *pieces.sample.rows))[:-1]
    minutes = (pieces.sample.file.time[at] - np.datetime64("2020-01-01")) // np.timedelta64(1, "m")
    assert minutes.tolist() == first.tolist()  # where a stretch stands is known, also without times


def test_the_command_decides_by_the_size_of_the_file(tmp_path, small_pieces, table, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.to_csv("in.csv", index=False)
    table.to_parquet("in.parquet", index=False)
    assert memory_needed("in.csv") == 12 * Path("in.csv").stat().st_size
    assert memory_needed("in.parquet") == 8 * 8 * ROWS * 4
    assert 1 << 26 < memory_free() < 1 << 50
    linear = ["--method", "linear"]
    assert main(["impute", "in.csv", "-o", "whole.csv", *linear]) == 0
    assert "stretch by stretch" not in capsys.readouterr().out
    assert (
        main(["impute", "in.csv", "-o", "pieces.csv", *linear, "--memory", "1MB", "--scorecard", "c.json"])
        == 0
    )
    told = capsys.readouterr().out
    assert re.search(r"filled stretch by stretch; learned and judged on 4,0\d\d of 40,000 rows", told)
    assert Path("pieces.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert json.loads(Path("c.json").read_text())["scores"]
    monkeypatch.setattr("t1.data.pieces.memory_free", lambda: 1 << 20)
    assert main(["impute", "in.csv", "-o", "pieces2.csv", *linear]) == 0
    assert "stretch by stretch" in capsys.readouterr().out
    assert main(["train", "in.csv", "-o", "model", *linear]) == 0
    assert main(["impute", "in.csv", "-o", "pieces3.csv", "--model", "model"]) == 0
    assert Path("pieces3.csv").read_bytes() == Path("whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.csv", "-o", "out.csv", "--report", "r.html"], "--report needs the whole table in memory"),
        (["in.csv", "-o", "out.csv", "--add-missing-rows"], "--add-missing-rows needs the whole table"),
        (["in.csv", "-o", "out.parquet"], "is written as what it is"),
        (["in.csv", "-o", "-"], "is written to a file"),
        (["in.csv", "-o", "out.csv", "--min", "z=0"], "column 'z'"),
        (["wide.csv", "-o", "out.csv"], "turned upright as a whole"),
        (["utf16.csv", "-o", "out.csv"], "the text is UTF-16 or no text at all"),
        (["mac.csv", "-o", "out.csv"], "carriage returns"),
        (["late.csv", "-o", "out.csv"], "rows are not in time order"),
        (["typo.csv", "-o", "out.csv"], "'oops' on line 35002"),
        (["in.csv", "-o", "out.csv", "--model", "in.csv"], "in.csv"),
    ],
)
def test_what_cannot_be_done_in_pieces_is_told(
    tmp_path, small_pieces, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    table = big(36_000 if "late" in arguments[0] or "typo" in arguments[0] else 3_000)
    text = table.to_csv(index=False)
    Path("in.csv").write_text(text)
    Path("utf16.csv").write_text(text, encoding="utf-16")
    Path("mac.csv").write_text(text.replace("\n", "\r"), newline="")
    Path("late.csv").write_text(pd.concat([table[18_000:], table[:18_000]]).to_csv(index=False))
    lines = text.splitlines(keepends=True)
    if len(lines) > 35_001:
        lines[35_001] = lines[35_001].replace(lines[35_001].split(",")[1], "oops", 1)
    Path("typo.csv").write_text("".join(lines))
    days = pd.date_range("2020-01-01", periods=20).strftime("%Y-%m-%d")
    wide = pd.DataFrame(np.ones((9, 20)), columns=days, index=[f"station {k}" for k in range(9)])
    wide.to_csv("wide.csv", index_label="name")
    chosen = [] if "--model" in arguments else ["--method", "linear"]
    assert main(["impute", *arguments, *chosen, "--memory", "0"]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.err.count("t1: ") == 1
    assert not list(tmp_path.glob("out.*")) and not list(tmp_path.glob(".*.part"))


def test_an_excel_file_is_read_as_a_whole(tmp_path):
    (tmp_path / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    assert memory_needed(tmp_path / "sheet.xlsx") == 0
    with pytest.raises(InputError, match="Excel file, which is only read as a whole"):
        open_pieces(tmp_path / "sheet.xlsx", {})


def test_a_size_that_is_none(capsys):
    with pytest.raises((SystemExit, InputError)) as ended:
        main(["impute", "in.csv", "-o", "out.csv", "--memory", "much"])
    assert getattr(ended.value, "code", 2) == 2


def test_rows_that_are_asked_for_are_filled_as_in_the_whole(one_thread):
    """Also inside a gap so long that its level comes from coarser rates, and beside it."""
    values = big(6000, seed=3).to_numpy()[:, 1:].astype(float)
    values[2000:3500, 0] = np.nan
    panel = Panel.of(values, ("a", "b", "c"))
    fitted = T1Fill.fit(panel, Learning(periods={None: 144}))
    whole = fitted.fill(panel)
    for begin, end in ((2600, 2700), (1900, 2100), (5000, 6000)):
        asked = np.zeros(len(values), dtype=bool)
        asked[begin:end] = True
        part = fitted.fill(panel, asked=asked)
        for name in ("values", "down", "up"):
            np.testing.assert_array_equal(getattr(part, name)[begin:end], getattr(whole, name)[begin:end])
        assert not np.array_equal(part.values, whole.values)  # the rest was not filled by the network


DAMAGED = {
    "a start": b"\x1f\x8b",
    "noise that claims gigabytes": b"\x1f\x8b\x08\x00abcdefghijklmnop",
    "a Parquet file cut off": b"PAR1abc",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_told_whatever_size_it_claims(tmp_path, capsys, name):
    (tmp_path / "in.csv").write_bytes(DAMAGED[name])
    assert main(["impute", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")]) == 2
    told = capsys.readouterr().err
    assert "damaged" in told or "not a readable Parquet file" in told
    assert not (tmp_path / "out.csv").exists()


def test_a_gzip_file_that_is_cut_off_is_told_stretch_by_stretch(tmp_path, capsys):
    text = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(5000))
    packed = gzip.compress(text.encode())
    (tmp_path / "in.csv.gz").write_bytes(packed[: len(packed) // 2])
    options = ["--memory", "0", "-o", str(tmp_path / "out.csv.gz")]
    assert main(["impute", str(tmp_path / "in.csv.gz"), *options]) == 2
    assert "the gzip file is damaged" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv.gz"]
