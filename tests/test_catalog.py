"""The benchmark datasets: counts of the paper's protocol on the real files, and specs of the user's own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from t1.data import catalog, split
from t1.data.fetch import checksum
from t1.data.readers import READERS, read_physionet2012
from t1.errors import InputError

# name: variables, window, windows of train / valid / test (PROTOCOL section 4)
PROTOCOL = {
    "ETTh1": (7, 96, 8_545, 2_785, 2_785),
    "ETTh2": (7, 96, 8_545, 2_785, 2_785),
    "ETTm1": (7, 96, 34_465, 11_425, 11_425),
    "ETTm2": (7, 96, 34_465, 11_425, 11_425),
    "Weather": (21, 96, 36_820, 5_260, 10_521),
    "Exchange": (8, 96, 5_245, 749, 1_499),
    "Illness": (7, 96, 609, 87, 175),
    "Electricity": (321, 96, 18_346, 2_620, 5_243),
    "PEMS03": (358, 96, 18_279, 2_611, 5_223),
    "PhysioNet2012": (37, 48, 2_557, 640, 800),
    "PhysioNet2012-filled": (37, 48, 2_557, 640, 800),
    "AQI36": (36, 96, 4_422, 649, 2_548),
}
NOT_HERE = {"Electricity": 26_304, "PEMS03": 26_208}  # and their numbers of rows
REAL = [name for name in PROTOCOL if name not in NOT_HERE]


@pytest.fixture(scope="module")
def load(data_dir):
    """Load a real dataset, once."""
    known = {}

    def get(name, split="paper"):
        if (name, split) not in known:
            known[name, split] = catalog.load(name, split=split)
        return known[name, split]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T1_DATA_DIR", str(data_dir))
        yield get


def rows_of(part):
    return np.unique(part.starts[:, None] + np.arange(part.window))


def write_spec(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text)
    return path


def write_csv(folder, n_rows, n_vars=2, name="mine.csv", start="2020-01-01", freq="h"):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(5, 3, (n_rows, n_vars)), columns=[f"v{j}" for j in range(n_vars)])
    table.insert(0, "date", pd.date_range(start, periods=n_rows, freq=freq))
    table.to_csv(folder / name, index=False)
    return table


OWN = """
reader = "csv"
path = "mine.csv"
n_vars = 2
window = 10
"""


def test_the_catalog_is_the_papers():
    assert set(catalog.names()) == set(PROTOCOL)
    for name, (n_vars, window, *_) in PROTOCOL.items():
        spec = catalog.spec(name)
        assert (spec.name, spec.n_vars, spec.window) == (name, n_vars, window)
        natural = name.startswith(("PhysioNet2012", "AQI36"))
        assert spec.scenarios == (("natural",) if natural else ("point", "block"))
        assert spec.about and spec.home and spec.licence


def test_training_is_the_papers():
    for name in PROTOCOL:
        training = catalog.spec(name).training
        assert training.learning_rate == (1e-4 if name == "Weather" else 1e-3)
        assert training.batch_size == (32 if name == "AQI36" else 16)
        rate = 0.2 if name.startswith("PhysioNet2012") else 0.4
        own = {"kind": "own+point", "rates": [0.2, 0.5, 0.8]}
        assert training.mask == (own if name == "AQI36" else {"kind": "point", "rate": rate})


@pytest.mark.parametrize("name", REAL)
def test_counts_and_scale_of_the_real_files(load, name):
    data = load(name)
    n_vars, window, *counts = PROTOCOL[name]
    assert [len(data.train), len(data.valid), len(data.test)] == counts
    assert data.train.n_vars == len(data.columns) == n_vars
    for part in (data.train, data.valid, data.test):
        assert part.window == window
        assert part.rows is data.train.rows and part.seen is data.train.seen  # held once
        part.batch([0, len(part) - 1])
    assert not np.isnan(data.train.rows).any()
    assert (data.train.rows[~data.train.seen] == 0).all()
    if catalog.spec(name).unmeasured:  # at the mean, in the units of what was measured
        assert data.train.seen.all()
        np.testing.assert_array_equal(data.train.rows, load("PhysioNet2012").train.rows)
        return

    # the authors' loader: the datasets whose windows are shared out are standardised as a whole
    shared = catalog.spec(name).split["kind"] == "window_share"
    rows = np.arange(len(data.train.rows)) if shared else rows_of(data.train)
    values = np.where(data.train.seen[rows], data.train.rows[rows].astype(float), np.nan)
    spread = np.nanstd(values, axis=0)
    constant = np.nanmax(values, axis=0) == np.nanmin(values, axis=0)
    assert np.abs(np.nanmean(values, axis=0)).max() < 1e-4
    assert np.abs(spread[~constant] - 1).max() < 1e-3
    assert [c for c, flat in zip(data.columns, constant, strict=True) if flat] == (
        ["MechVent"] if name == "PhysioNet2012" else []  # always 1 when it is written
    )


@pytest.mark.parametrize("name", REAL)
def test_disjoint_shares_no_row_and_the_papers_split_may(load, name):
    data = load(name, split="disjoint")
    train, valid, test = (set(rows_of(part).tolist()) for part in (data.train, data.valid, data.test))
    assert not (train & valid or valid & test or train & test)
    paper = load(name)
    overlap = len(np.intersect1d(rows_of(paper.train), rows_of(paper.valid)))
    assert overlap == (95 if catalog.spec(name).split["kind"] == "window_share" else 0)
    if overlap == 0:
        assert np.array_equal(paper.test.starts, data.test.starts)


@pytest.mark.parametrize("name", REAL)
def test_files_on_disk_have_a_known_checksum(data_dir, name):
    for file in catalog.spec(name).files:
        assert checksum(data_dir / file.path) in file.sha256


@pytest.mark.parametrize("name", NOT_HERE)
def test_counts_by_arithmetic_where_the_file_is_not_here(name):
    _, window, *counts = PROTOCOL[name]
    parts = split.by_window_share(NOT_HERE[name], window)
    assert [len(parts.train), len(parts.valid), len(parts.test)] == counts
    spec = catalog.spec(name)
    assert dict(spec.split) == {"kind": "window_share", "train": 0.7, "valid": 0.1}


@pytest.mark.parametrize("name", ["Illness", "Exchange", "ETTh1"])
def test_units_of_the_series_are_for_the_papers_split_alone(load, name):
    disjoint = load(name, split="disjoint")
    rows = rows_of(disjoint.train)
    assert np.abs(disjoint.train.rows[rows].mean(axis=0)).max() < 1e-4, "it must not know of the test part"
    trained = catalog.load(name, scale="train")
    assert np.abs(trained.train.rows[rows_of(trained.train)].mean(axis=0)).max() < 1e-4
    same = np.allclose(trained.train.rows, load(name).train.rows)
    assert same == (name == "ETTh1")
    assert trained.checksum == load(name).checksum, "the data are the same in other units"
    with pytest.raises(InputError, match=r"unknown scale 'test'\.\nUse train or series"):
        catalog.load(name, scale="test")


def test_electricity_and_pems_read_files_of_their_format(tmp_path, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path))
    (tmp_path / "electricity").mkdir()
    (tmp_path / "PEMS").mkdir()
    table = write_csv(tmp_path / "electricity", 400, n_vars=321, name="electricity.csv")
    flow = np.random.default_rng(1).poisson(50, (400, 358, 1)).astype(float)
    np.savez_compressed(tmp_path / "PEMS" / "PEMS03.npz", data=flow)
    truth = {"Electricity": table.iloc[:, 1:].to_numpy(), "PEMS03": flow[:, :, 0]}
    for name, values in truth.items():
        data = catalog.load(name)  # 400 - 96 + 1 = 305 windows: 213 / 30 / 62
        assert [len(data.train), len(data.valid), len(data.test)] == [213, 30, 62]
        assert np.allclose(data.scaler.unscale(data.train.rows), values, atol=1e-3)
        assert np.allclose(data.scaler.mean, values.mean(axis=0))
        batch, observed = data.test.batch([0])
        assert np.allclose(data.scaler.unscale(batch[0]), values[243 : 243 + 96], atol=1e-3)
        assert observed.all()


def test_aqi36_hides_what_its_second_file_lacks(load, data_dir):
    data = load("AQI36")
    ground, missing = (
        pd.read_csv(data_dir / "pm25" / f"pm25_{which}.txt", index_col=0, parse_dates=True)
        for which in ("ground", "missing")
    )
    assert 1 - data.test.seen.mean() == pytest.approx(0.1325, abs=5e-5)
    assert np.array_equal(data.test.seen, ground.notna().to_numpy())
    assert np.array_equal(data.test_hidden, ground.notna().to_numpy() & missing.isna().to_numpy())
    assert 1 - (data.test.seen & ~data.test_hidden).mean() == pytest.approx(0.2458, abs=5e-5)

    months = ground.index.month.to_numpy()
    for part, expected in (
        (data.train, {2, 4, 5, 7, 8, 10, 11}),
        (data.valid, {1}),
        (data.test, {3, 6, 9, 12}),
    ):
        assert set(months[rows_of(part)].tolist()) == expected
        assert (months[part.starts] == months[part.starts + 95]).all()  # none crosses into another month
    assert load("ETTh1").test_hidden is None


def test_physionet_patients_hours_and_values(load, data_dir):
    data = load("PhysioNet2012")
    assert data.columns == tuple(sorted(data.columns)) and "Weight" in data.columns
    assert not {"Age", "Gender", "Height", "ICUType", "RecordID"} & set(data.columns)
    assert 0.78 < 1 - data.train.seen.mean() < 0.82
    assert len(data.train.rows) == 3_997 * 48
    assert data.train.seen.reshape(3_997, -1).any(axis=1).all()
    starts = np.concatenate([data.train.starts, data.valid.starts, data.test.starts])
    assert np.array_equal(np.sort(starts), np.arange(3_997) * 48)  # each patient in one part
    again = catalog.load("PhysioNet2012")
    assert np.array_equal(again.test.starts, data.test.starts)

    # record 132539, the first: in its first hour HR was 73, then 77; its weight is -1, not recorded
    hr, weight = data.columns.index("HR"), data.columns.index("Weight")
    assert data.scaler.unscale(data.train.rows[:1])[0, hr] == pytest.approx(75, abs=1e-3)
    assert not data.train.seen[:48, weight].any()
    last = read_physionet2012([data_dir / "physionet2012" / "set-a.tar.gz"], bin="last")
    assert last.values[0, hr] == 77
    assert np.nanmin(last.values[:, weight]) >= 0
    assert np.array_equal(~np.isnan(last.values), data.train.seen)


def test_weather_reads_in_both_encodings(load, tmp_path, data_dir, monkeypatch):
    usual = load("Weather")
    assert "SWDR (W/m\ufffd)" in usual.columns  # the usual file: UTF-8, its units lost
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path))
    (tmp_path / "weather").mkdir()
    head = (data_dir / "weather/weather.csv").read_bytes().splitlines(keepends=True)[:1_500]
    head[0] = head[0].decode().replace("W/m\ufffd", "W/m²").replace("\ufffd", "µ").encode("latin-1")
    (tmp_path / "weather/weather.csv").write_bytes(b"".join(head))
    other = catalog.load("Weather")
    assert "SWDR (W/m²)" in other.columns
    before, after = (data.scaler.unscale(data.train.rows[:1_499]) for data in (usual, other))
    assert np.allclose(before, after, atol=0.05)


# names and specs


@pytest.mark.parametrize("name", ["etth1", "ETTH1", "ETTh1"])
def test_names_in_any_case(name):
    assert catalog.spec(name).name == "ETTh1"


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(InputError, match=r"unknown dataset 'Wether'\.\nDid you mean 'Weather'\?"):
        catalog.spec("Wether")
    with pytest.raises(InputError, match=r"Known: AQI36, .*\.toml"):
        catalog.load("qqqqqqqqqqq")
    with pytest.raises(InputError, match="unknown split 'leaky'"):
        catalog.load("ETTh1", split="leaky")


BAD = {
    'scale = "serie"\nsplit = { kind = "disjoint" }': r"unknown scale serie\.\nDid you mean 'series'\?",
    'split = { kind = "disjoint" }\n[recipes.mine]\nlos = "absolute"': r"unknown key recipes\.mine\.los",
    'split = { kind = "disjoint" }\n[recipes.mine]\nloss = "absolut"': r"training\.loss absolut\.",
    'windw = 3\nsplit = { kind = "disjoint" }': r"unknown key windw\.\nDid you mean 'window'\?",
    'split = { kind = "disjoint" }\n[training]\nmask = { kind = "point", rat = 0.4 }': (
        r"unknown key training\.mask\.rat\.\nDid you mean 'rate'\?"
    ),
    'split = { kind = "disjoint" }\n[training]\nmask = { rate = 0.4 }': r"unknown training\.mask\.kind",
    'split = { kind = "disjoint" }\n[[files]]\npath = "b.csv"': r"the reader csv takes 1 file, 2 are named",
    'split = { kind = "disjoint", trian = 0.5 }': r"unknown key split\.trian\.\nDid you mean 'train'\?",
    'split = { kind = "row", train = 1 }': r"unknown split\.kind row\.\nDid you mean 'rows'\?",
    "split = { train = 1 }": r"unknown split\.kind",
    'split = { kind = "rows", train = 50, valid = 20 }': "'test' is missing",
    'split = { kind = "rows", train = 0.7, valid = 20, test = 20 }': r"split\.train = 0\.7 should be .* int",
    'split = { kind = "samples", test = "x", valid = 0.2, seed = 1 }': r"split\.test = 'x'",
    "": "the key 'split' is missing",
    'split = { kind = "disjoint" }\noptions = { encodign = "" }': r"options\.encodign\.\nDid .* 'encoding'",
    'split = { kind = "disjoint" }\noptions = { encoding = 3 }': r"options\.encoding = 3 should be .* str",
    'split = { kind = "disjoint" }\nscenarios = ["blok"]': r"unknown scenario blok\.\nDid you mean 'block'\?",
    'split = { kind = "disjoint" }\nabout = 3': "about = 3 should be of type str",
    'split = { kind = "disjoint" }\n[training]\nbatchsize = 3': r"training\.batchsize\.\n.*batch_size",
    'split = { kind = "disjoint" }\n[[files]]\nurl = "http://x"': r"'files\.path' is missing",
    "split = {": "is no TOML",
}


@pytest.mark.parametrize("text", BAD)
def test_a_wrong_spec_names_the_key_and_the_file(tmp_path, text):
    path = write_spec(tmp_path, OWN + text)
    with pytest.raises(InputError, match=BAD[text]) as caught:
        catalog.spec(path)
    assert str(path) in str(caught.value)
    assert "\n" in str(caught.value)  # the cure


def test_a_wrong_reader_and_a_missing_file_say_so(tmp_path):
    path = write_spec(tmp_path, OWN.replace('"csv"', '"cvs"') + 'split = { kind = "disjoint" }')
    with pytest.raises(InputError, match=r"unknown reader cvs\.\nDid you mean 'csv'"):
        catalog.spec(path)
    with pytest.raises(InputError, match="cannot read"):
        catalog.spec(tmp_path / "absent.toml")


def test_missing_files_name_every_place_and_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError) as caught:
        catalog.load("AQI36")
    text = str(caught.value)
    for folder in catalog.folders(catalog.spec("AQI36")):
        for file in ("pm25_ground.txt", "pm25_missing.txt"):
            assert str(folder / "pm25" / file) in text
    assert "t1 data fetch AQI36" in text


def test_the_cache_is_the_second_place(tmp_path, monkeypatch):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / project)
    (tmp_path / "t1-impute" / "illness").mkdir(parents=True)
    write_csv(tmp_path / "t1-impute" / "illness", 400, n_vars=7, name="national_illness.csv", freq="D")
    assert catalog.find(catalog.spec("Illness")) == [tmp_path / "t1-impute/illness/national_illness.csv"]
    assert len(catalog.load("Illness").train) == 213


# a table of the user's own


@pytest.mark.parametrize(
    ("how", "counts"),
    [
        ('{ kind = "rows", train = 60, valid = 20, test = 15 }', (51, 11, 6)),
        ('{ kind = "window_share", train = 0.5, valid = 0.25 }', (45, 22, 24)),
        ('{ kind = "disjoint" }', (61, 1, 11)),
        ('{ kind = "samples", test = 0.25, valid = 0.2, seed = 3 }', (5, 2, 3)),
    ],
)
def test_a_spec_of_ones_own_beside_its_data(tmp_path, how, counts):
    table = write_csv(tmp_path, 100)
    path = write_spec(tmp_path, OWN + f"split = {how}")
    data = catalog.load(path)
    assert data.name == "mine" and data.columns == ("v0", "v1")
    assert (len(data.train), len(data.valid), len(data.test)) == counts
    assert np.allclose(data.scaler.unscale(data.train.rows), table.iloc[:, 1:], atol=1e-5)
    absolute = write_spec(
        tmp_path, OWN.replace("mine.csv", str(tmp_path / "mine.csv")) + f"split = {how}", "b.toml"
    )
    assert np.array_equal(catalog.load(str(absolute)).test.starts, data.test.starts)


def test_months_keep_years_and_holes_apart(tmp_path):
    table = write_csv(tmp_path, 800, freq="D", start="2019-01-01")  # 2019-01-01 to 2021-03-10
    table = table[table["date"] != "2020-05-15"]  # a hole inside a month
    table = table[~table["date"].between("2019-04-01", "2020-03-31")]  # March 2019 is followed by April 2020
    table.to_csv(tmp_path / "mine.csv", index=False)
    path = write_spec(tmp_path, OWN + 'split = { kind = "months", test = [3, 5], valid = [1] }')
    data = catalog.load(path)
    dates = table["date"].to_numpy()
    months = table["date"].dt.to_period("M").astype(str).to_numpy()
    for part in (data.train, data.valid, data.test):
        span = dates[part.starts + 9] - dates[part.starts]
        assert (span == np.timedelta64(9, "D")).all()
        assert (months[part.starts] == months[part.starts + 9]).all()
    assert set(months[data.valid.starts]) == {"2019-01", "2021-01"}
    # March 2019: 31 days, 22 windows; May 2020: 14 and 16 days, 5 + 7; March 2021: 10 days, 1
    assert len(data.test) == 22 + 5 + 7 + 1
    assert len(data.train) == 2 * 19 + sum(days - 9 for days in (30, 30, 31, 31, 30, 31, 30, 31))


def test_a_file_that_does_not_fit_its_spec(tmp_path):
    write_csv(tmp_path, 100, n_vars=3)
    path = write_spec(tmp_path, OWN + 'split = { kind = "disjoint" }')
    with pytest.raises(InputError, match="should have 2 variables, its file has 3"):
        catalog.load(path)
    write_csv(tmp_path, 101)
    path = write_spec(tmp_path, OWN + 'split = { kind = "samples", test = 0.2, valid = 0.2, seed = 1 }')
    with pytest.raises(InputError, match="no whole number of samples"):
        catalog.load(path)
    (tmp_path / "mine.csv").write_text("date,v0,v1\n2020-01-01,1,two\n")
    with pytest.raises(InputError, match="column 'v1' does not hold numbers"):
        catalog.load(path)
    (tmp_path / "mine.csv").write_bytes("date,v0,m²\n2020-01-01,1,2\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"not encoded as utf-8\.\n.*latin-1"):
        READERS["csv"]([tmp_path / "mine.csv"], encoding="utf-8")
    (tmp_path / "mine.csv").write_text("when,v0,v1\n2020-01-01,1,2\n")
    with pytest.raises(InputError, match="has no column 'date'"):
        catalog.load(path)


@pytest.mark.parametrize("reader", ["npz", "physionet2012"])
def test_a_damaged_archive_is_the_users_to_fix(tmp_path, reader):
    (tmp_path / "broken").write_bytes(b"not at all")
    with pytest.raises(InputError, match=r"Download it again"):
        READERS[reader]([tmp_path / "broken"])


def test_the_catalog_needs_no_heavy_import():
    code = (
        "import sys; from t1.data import catalog; import t1.data.fetch; catalog.spec('ETTh1');"
        "print(*{'torch', 'pandas', 'pooch', 'requests', 'rich'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == ""


def test_specs_are_named_after_their_dataset():
    for path in (Path(catalog.__file__).parent / "specs").iterdir():
        assert path.suffix == ".toml"
        assert catalog.spec(path.stem).name.lower() == path.stem
