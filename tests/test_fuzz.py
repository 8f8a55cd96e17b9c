"""Files that nobody would write: each is filled correctly, or refused with one message and exit code 2.

200 generated files in `make test`, 2,000 in `make nightly` (T1_FUZZ).
"""

import csv
import io
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from t1.cli import main
from t1.data.csv.cells import MARKERS
from t1.data.files import read_file
from t1.errors import InputError

MISSING = {marker.lower() for marker in MARKERS} | {""}
EXAMPLES = int(os.environ.get("T1_FUZZ", "200"))
FUZZ = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.sampled_from(["1e308", "-1e308", "9007199254740993", "0", "-0.0", "1E5", "+3", ".5", "5."]),
)
dates = st.one_of(
    st.datetimes().map(lambda d: d.isoformat(sep=" ", timespec="seconds")),
    st.dates().map(lambda d: d.strftime("%d.%m.%Y")),
    st.dates().map(lambda d: d.strftime("%m/%d/%Y")),
)
oddities = st.one_of(
    st.sampled_from(
        ["", "NA", "NaN", "null", "inf", "-Infinity", "1,5", "=1+1", 'say "so"', "a\nb", "12:30", "%"]
    ),
    st.text(max_size=6),
)
names = st.one_of(
    st.sampled_from(["a", "b", "time", "date", "=1+1", "two\nlines", 'quote"d', "ü", "id", "", "a_lo"]),
    st.text(min_size=1, max_size=8),
)


@st.composite
def tables(draw) -> bytes:
    """A CSV file: mostly columns of one kind with holes, sometimes anything at all."""
    n_columns, n_rows = draw(st.integers(1, 4)), draw(st.integers(0, 14))
    kinds = [draw(st.sampled_from([numbers, numbers, numbers, dates, oddities])) for _ in range(n_columns)]
    cells = [
        st.one_of(kind, kind, kind, st.just(""), oddities if draw(st.booleans()) else kind) for kind in kinds
    ]
    rows = [[draw(names) for _ in range(n_columns)]] + [[draw(c) for c in cells] for _ in range(n_rows)]
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        delimiter=draw(st.sampled_from([",", ";", "\t", "|"])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerows(rows)
    return buffer.getvalue().encode(draw(st.sampled_from(["utf-8", "utf-8-sig"])), errors="surrogatepass")


def cells_of(raw: bytes) -> list[list[str]]:
    """The cells as a plain reader sees them, for whichever separator makes the most of them."""
    text = raw.decode("utf-8-sig", errors="replace")
    parsed = [list(csv.reader(io.StringIO(text, newline=""), delimiter=d)) for d in ",;\t|"]
    return max(parsed, key=lambda rows: sum(map(len, rows)))


def check(raw: bytes, method: str = "linear", intervals: bool = False) -> None:
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.csv", Path(folder) / "out.csv"
        source.write_bytes(raw)
        options = ["--method", method, "-q", *(["--intervals", "0.9"] if intervals else [])]
        code = main(["impute", str(source), "-o", str(target), *options])
        assert source.read_bytes() == raw
        if code != 0:
            assert code == 2
            assert [p.name for p in Path(folder).iterdir()] == ["in.csv"]
            return
        before, after = cells_of(raw), cells_of(target.read_bytes())
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert len(old) <= len(new) if intervals else len(old) == len(new)
            for x, y in zip(old, new, strict=False):
                # 1e308 in three columns is no measurement: it counts as missing, which is told
                assert x == y or x.strip().lower() in MISSING | {"1e308", "-1e308"}


@FUZZ
@given(tables(), st.sampled_from(["linear", "nearest", "seasonal", "regression"]), st.booleans())
def test_a_table_is_filled_or_refused(raw, method, intervals):
    check(raw, method, intervals)


@FUZZ
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda t: t.encode("utf-8", "replace"))))
def test_any_bytes_are_filled_or_refused(raw):
    check(raw)


@st.composite
def dressed(draw) -> tuple[bytes, list[list[float | None]], list[str]]:
    """A plain table in clothes: preamble, comments, units, totals, remarks, odd separators."""
    n_columns, n_rows = draw(st.integers(2, 5)), draw(st.integers(8, 20))
    separator = draw(st.sampled_from([",", ";", "\t", "|", "  "]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    blank = "NA" if separator == "  " else draw(st.sampled_from(["", "NA", "nan"]))
    names = [f"{draw(st.sampled_from(['temp', 'flow', 'x', 'Wind']))}{j}" for j in range(n_columns)]
    # never all missing, and rows of their own: a column without numbers is another story
    cells = st.one_of(st.integers(-500, 500).map(lambda n: n / 10), st.just(None))
    table = [[draw(cells) if (i + j) % 3 else (i - j) / 10 for j in range(n_columns)] for i in range(n_rows)]
    lines = ["# made by nobody"] * draw(st.integers(0, 2))
    lines += draw(st.lists(st.sampled_from(["Report", "", "Station: here"]), max_size=2)) if not lines else []
    lines.append(separator.join(["time", *names]))
    if draw(st.booleans()):
        lines.append(separator.join(["UTC", *["m/s"] * n_columns]))
    for i, row in enumerate(table):
        texts = [blank if x is None else f"{x:.1f}" for x in row]
        lines.append(separator.join([f"2020-01-{i + 1:02}", *texts]))
    if separator != "  " and draw(st.booleans()):
        lines.append(separator.join(["Total", *["1.0"] * n_columns]))
    if draw(st.booleans()):
        lines.append("# the end" if lines[0].startswith("#") else "the end")
    if separator not in ("  ", "\t") and draw(st.booleans()):
        lines += [separator * n_columns] * draw(st.integers(1, 3))
    return (newline.join(lines) + newline).encode(), table, names


@FUZZ
@given(dressed())
def test_a_table_is_found_inside_its_clothes(made):
    raw, table, names = made
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.csv", Path(folder) / "out.csv"
        source.write_bytes(raw)
        file = read_file(source, keep_sentinels=True)
        file.write(target, file.values)
        assert target.read_bytes() == raw
        assert file.columns == tuple(names) and file.time_column == "time"
        np.testing.assert_array_equal(file.values, np.array(table, dtype=float))
        file.write(target, np.nan_to_num(file.values, nan=77.7))
        after = read_file(target, keep_sentinels=True)
        np.testing.assert_array_equal(after.values, np.nan_to_num(file.values, nan=77.7))


SHAPES = sorted((Path(__file__).parent / "shapes").iterdir())
edits = st.lists(
    st.tuples(
        st.sampled_from(["cut", "twice", "swap", "byte", "insert"]), st.floats(0, 0.999), st.floats(0, 0.999)
    ),
    min_size=1,
    max_size=4,
)


def damage(raw: bytes, how: str, where: float, what: float) -> bytes:
    lines = raw.split(b"\n")
    i, k = int(where * len(lines)), int(what * len(lines))
    if how == "cut":
        return b"\n".join(lines[:i] + lines[i + 1 :])
    if how == "twice":
        return b"\n".join([*lines[:i], lines[i], *lines[i:]])
    if how == "swap":
        lines[i], lines[k] = lines[k], lines[i]
        return b"\n".join(lines)
    at = int(where * len(raw))
    new = b'",;|#\t .-+x0"\x00\xff\r'[int(what * 15) : int(what * 15) + 1]
    return raw[:at] + new + raw[at + (how == "byte") :]


@FUZZ
@given(st.sampled_from(SHAPES), edits)
def test_a_damaged_shape_is_refused_or_given_back(path, how):
    raw = path.read_bytes()
    for one in how:
        raw = damage(raw, *one)
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / path.name, Path(folder) / f"out{path.suffix}"
        source.write_bytes(raw)
        try:
            file = read_file(source)
        except InputError as error:
            assert error.cure
            return
        file.write(target, file.values)
        assert target.read_bytes() == raw or path.suffix == ".xlsx"
        file.write(target, np.nan_to_num(file.values, nan=1.0))
        assert file.understood and file.kinds is not None
