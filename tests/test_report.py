"""The report: self-contained, safe with any name, and in a real browser."""

import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from closed_form import fit_closed
from t1.errors import InputError
from t1.fill.rules import Rules
from t1.panel import Panel
from t1.report import write_report
from t1.report.figures import View, payload, series, unique_labels
from t1.report.thin import thin

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "=1+1",
    "two\nlines",
    "a & b </script><img src=x onerror=alert(1)>",
]
PLOTLY = (resources.files("t1.report") / "plotly-basic.min.js").read_text(encoding="utf-8")


def table(n_rows=600, n_vars=4, seed=1):
    rng = np.random.default_rng(seed)
    t = np.arange(n_rows)[:, None]
    values = np.sin(2 * np.pi * t / 24 + np.arange(n_vars)) + 0.1 * rng.normal(size=(n_rows, n_vars)) + 5
    values[rng.random(values.shape) < 0.05] = np.nan
    values[100:130, 0] = np.nan
    return values


def hourly(n):
    return np.datetime64("2024-01-01") + np.arange(n) * np.timedelta64(1, "h")


def fill(values, columns, *, names=("linear", "nearest", "regression"), **more):
    panel = Panel.of(values, columns)
    return fit_closed(panel, names=names).fill(panel, **{"level": 0.9, **more})


@pytest.fixture(scope="module")
def filled():
    return fill(table(), HOSTILE, rules=Rules(max_gap=20))


@pytest.fixture(scope="module")
def report(filled, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "r.html"
    write_report(
        path, filled, times=hourly(600), original_name="<b>plant</b>.csv", problems=["<i>3 rows</i> doubled"]
    )
    return path


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.data = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, text):
        if self.tags and self.tags[-1][1].get("id") == "data" and self.data is None:
            self.data = json.loads(text)


def test_the_page_asks_for_nothing_and_escapes_every_name(report, filled):
    text = report.read_text(encoding="utf-8")
    assert text.count(PLOTLY) == 1
    text = text.replace(PLOTLY, "")
    tags = Tags(text)
    assert not [attrs for _, attrs in tags.tags if {"src", "href"} & set(attrs)]
    assert sum(tag == "script" for tag, _ in tags.tags) == 3  # data, plotly, ours
    assert not {"img", "b", "i", "link", "iframe"} & {tag for tag, _ in tags.tags}
    assert "@import" not in text and "url(" not in text and "http://" not in text and "https://" not in text
    assert [label[:6] for label in tags.data["labels"]] == ["<scrip", "=1+1", "two␤li", "a & b "]
    assert "&lt;b&gt;plant&lt;/b&gt;.csv" in text and "&lt;i&gt;3 rows&lt;/i&gt; doubled" in text
    made, left = int((filled.method >= 0).sum()), int(np.isnan(filled.values).sum())
    assert left == 30 and f"{made:,} cells were filled, 30 cells were left empty." in text
    assert filled.scorecard.verdict.split(":")[0] in text


def test_the_scorecard_shows_every_column_and_class(report, filled):
    rows = re.findall(r"<tr><th scope=\"row\" class.*?</tr>", report.read_text(encoding="utf-8"))
    assert len(rows) == len(filled.scorecard.scores)
    assert f"<td>{filled.scorecard.scores[0].mae:,.4g}</td>" in rows[0]


def test_it_says_what_was_not_tested_and_what_the_intervals_reached(report, filled, tmp_path):
    text = report.read_text(encoding="utf-8")
    reached = filled.scorecard.coverage
    assert f"asked 90%, reached {reached:.0%} of the held-out cells" in text
    assert "about 90" not in text
    values = np.random.default_rng(3).normal(size=(1000, 2)).cumsum(axis=0)
    values[400:600, 0] = values[50:80, 0] = values[850:880, 0] = values[-40:, 1] = np.nan
    made = fill(values, ["a", "b"])
    write_report(tmp_path / "r.html", made, times=None, original_name="x")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", text)
    assert [("not tested" in row) for row in rows[: len(made.scorecard.scores)]] == [
        not s.tested for s in made.scorecard.scores
    ]
    assert any("96+" in row and "not tested" in row for row in rows)
    assert any("edge 24+" in row for row in rows)
    assert "Their intervals follow a rule" in text


def test_every_methods_error_is_shown_not_only_the_winners(report, filled):
    text = report.read_text(encoding="utf-8")
    table_of_all = re.search(r'<table class="every">.*?</table>', text)[0]
    for name, error in filled.scorecard.by_method.items():
        assert f'<th scope="row">{name}</th><td>{error:,.4g}</td>' in table_of_all
    assert f"<td>{filled.scorecard.scaled_mae:,.4g}</td>" in table_of_all
    assert len(filled.scorecard.by_method) == 3


def test_it_is_written_at_once_or_not_at_all(filled, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(InputError, match="No space left"):
            write_report(path, filled, times=None, original_name="x")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="does not exist"):
        write_report(tmp_path / "absent" / "r.html", filled, times=None, original_name="x")
    write_report(path, filled, times=None, original_name="x")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>") and list(tmp_path.iterdir()) == [
        path
    ]


def test_a_small_table_has_a_small_page_that_says_how_it_was_read(filled, tmp_path):
    path = tmp_path / "r.html"
    lines = ["time: column 'when', every hour; 4 columns to fill."]
    write_report(path, filled, times=hourly(600), original_name="x", understood=lines)
    assert path.stat().st_size < 1_500_000
    text = path.read_text(encoding="utf-8")
    assert "How the table was read" in text and "column &#x27;when&#x27;, every hour" in text


def test_wrong_times_are_refused(filled, tmp_path):
    for times in (hourly(3), np.arange(600)):
        with pytest.raises(InputError, match="one datetime64 per row"):
            write_report(tmp_path / "r.html", filled, times=times, original_name="x")


@pytest.mark.parametrize("shape", [(60_000, 3), (400, 600)])
def test_long_and_wide_tables_stay_small(shape, tmp_path):
    names = [f"c{j}" for j in range(shape[1])]
    path = tmp_path / "r.html"
    made = fill(table(*shape), names, names=("linear",))
    write_report(path, made, times=hourly(shape[0]), original_name="x")
    assert path.stat().st_size - len(PLOTLY) < 10_000_000


@pytest.mark.parametrize(
    "values", [np.full((1, 1), 3.0), np.array([[1.0, np.nan], [np.nan, 2.0]]), np.full((30, 1), 2.0)]
)
def test_tables_with_next_to_nothing(values, tmp_path):
    made = fill(values, [f"c{j}" for j in range(values.shape[1])])
    write_report(tmp_path / "r.html", made, times=hourly(len(values)), original_name="x")
    assert (tmp_path / "r.html").exists()


def test_enormous_and_infinite_values_are_left_out_of_the_figures():
    values = table()
    values[3, 1], values[5, 1], values[7, 1] = 1e308, -1e308, np.inf
    drawn = payload(View.of(fill(values, list("abcd")), None))
    json.dumps(drawn, allow_nan=False)
    assert max(float(v) for v in drawn["series"][1]["v"].split(",")) < 1e300


def test_thinning_keeps_extremes_gaps_and_the_bound():
    rng = np.random.default_rng(0)
    values, filled = rng.normal(size=100_000), np.zeros(100_000, dtype=bool)
    filled[[5_000, 70_000]] = filled[30_000:30_200] = True
    rows, step = thin(values, filled, 2_000)
    assert step > 0 and len(rows) <= 2_000
    assert {int(values.argmin()), int(values.argmax())} <= set(rows.tolist())
    assert set(np.flatnonzero(filled).tolist()) <= set(rows.tolist())
    assert {4_999, 5_001, 29_999, 30_200} <= set(rows.tolist())
    many = rng.random(100_000) < 0.4
    rows, step = thin(values, many, 2_000)
    assert len(rows) <= 2_000
    bins = -(-100_000 // step)
    assert len(np.unique(np.flatnonzero(many) // step)) == len(np.unique(rows[many[rows]] // step)) == bins
    assert thin(values[:50], many[:50], 2_000)[1] == 0


def test_points_are_joined_to_their_neighbours_but_not_across_gaps():
    values = table(40, 1)
    values[:] = 1.0
    values[[0, 10, 11, 20], 0] = np.nan
    made = fill(values, ["a"], rules=Rules(max_gap=1))  # rows 10 and 11 stay empty
    one = series(View.of(made, None), 0, 1000)
    assert one["s"] == "4" + "2" + "1" * 8 + "0" + "1" * 7 + "5" + "2" + "1" * 18
    panel = series(View.of(made, None, [np.arange(25), np.arange(25, 40)]), 0, 1000)
    assert panel["s"][23] == "0" and panel["s"][22] == panel["s"][24] == "1"


def test_times_that_run_back_are_sorted_or_replaced_by_row_numbers(filled):
    backwards = View.of(filled, hourly(600)[::-1])
    assert backwards.dated and backwards.rows[0] == 599 and (np.diff(backwards.tick) == 1).all()
    assert not View.of(filled, np.tile(hourly(300), 2)).dated
    unknown = hourly(600)
    unknown[5] = np.datetime64("NaT")
    assert not View.of(filled, unknown).dated


def test_labels_differ():
    labels = unique_labels(["a", "a", "a (2)", "", "x" * 50, "x" * 50, "\t"])
    assert len(set(labels)) == 7 and all(0 < len(label) <= 24 for label in labels)


# --- in a real browser


@pytest.fixture
def look(chromium):
    """Open a page offline; at the end nothing may have gone wrong or out."""
    troubles, contexts = [], []

    def open_page(path, **options):
        context = chromium.new_context(**{"viewport": {"width": 1366, "height": 800}, **options})
        contexts.append(context)
        context.set_offline(True)
        tab = context.new_page()
        tab.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: troubles.append(dialog.message))
        tab.on(
            "request", lambda r: troubles.append(r.url) if r.url.startswith(("http", "ws", "ftp")) else None
        )
        tab.goto(path.as_uri())
        tab.wait_for_selector("body[data-ready]", timeout=120_000)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


def traces(tab, which=0):
    """Of a series' figure: the names of its traces and how large each is drawn."""
    return tab.evaluate(
        """k => {
            const figure = document.querySelectorAll(".figure.series")[k], found = {};
            figure.data.forEach((t, i) => {
                const group = figure.querySelectorAll(".cartesianlayer .scatterlayer .trace")[i];
                const box = group.getBoundingClientRect();
                found[t.name] = [box.width, box.height];
            });
            return found;
        }""",
        which,
    )


def test_series_fills_and_bands_are_visible(report, look):
    tab = look(report)
    assert tab.locator(".figure.series").count() == 4
    drawn = traces(tab, 1)
    assert {"interval", "observed", "filled"} <= set(drawn)
    for name in ("interval", "observed", "filled"):
        width, height = drawn[name]
        assert width > 500 and height > 50, name
    band = tab.locator(".figure.series").nth(1).locator(".cartesianlayer .js-fill").first
    assert "rgb(213, 94, 0)" in band.evaluate("e => getComputedStyle(e).fill")
    assert tab.locator("#map .imagelayer image").count() == 1
    assert tab.locator("#bars .bars .point").count() >= 4
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("h3.title").first.inner_text().startswith("<script>")


def test_dragging_zooms_and_a_double_click_zooms_out(report, look):
    tab = look(report)
    figure = tab.locator(".figure.series").nth(1)
    figure.scroll_into_view_if_needed()
    date = "v => typeof v === 'number' ? v : Date.parse(v + 'Z')"
    get = f"e => [e.layout.xaxis.range.map({date}), e.layout.yaxis.range]"
    (start, end), before = figure.evaluate(get)
    box = figure.locator(".nsewdrag").first.bounding_box()
    y = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] * 0.40, y)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.42, y, steps=8)
    tab.mouse.up()
    tab.wait_for_function(
        "([e, y]) => e.layout.yaxis.range[0] !== y", arg=[figure.element_handle(), before[0]]
    )
    (left, right), after = figure.evaluate(get)
    assert (right - left) / (end - start) == pytest.approx(0.02, rel=0.2)
    assert after[1] - after[0] < before[1] - before[0]  # the y axis follows
    tab.mouse.dblclick(box["x"] + box["width"] / 2, y)
    tab.wait_for_function(
        "([e, y]) => e.layout.yaxis.range[0] === y", arg=[figure.element_handle(), before[0]]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_does_not_scroll_sideways(report, look, scheme):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    tab = look(report, color_scheme=scheme, **phone)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    drawn = traces(tab, 1)
    assert all(drawn[name][0] > 200 for name in ("interval", "observed", "filled"))


def test_many_columns_are_chosen_from_a_list(look, tmp_path):
    values = table(300, 40)
    values[:, 7] = 1.0  # complete: comes last
    made = fill(values, [f"c{j}" for j in range(40)], names=("linear",), level=None)
    write_report(tmp_path / "r.html", made, times=None, original_name="x")
    tab = look(tmp_path / "r.html")
    assert tab.locator("#first .figure").count() == 12 and tab.locator("#pick option").count() == 28
    assert "c7 " not in tab.locator("#first").inner_text()
    tab.select_option("#pick", index=27)
    assert tab.locator("#picked h3").inner_text() == "c7 complete"
    tab.select_option("#pick", index=3)
    assert {"observed", "filled"} <= set(traces(tab, 12))
    assert tab.locator("#picked .figure").count() == 1
