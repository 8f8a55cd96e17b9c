"""The page of `t1 serve` in a real browser: the whole way, wide and narrow, by mouse and by keyboard."""

import gzip
from pathlib import Path

import pytest

from serving import Served, csv_of, waves

PATIENCE = 240_000
HOSTILE = '<img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Served(tmp_path_factory.mktemp("browser") / "jobs", "--workers", "1")
    yield served
    served.stop()


@pytest.fixture
def visit(chromium, server):
    """Open the page; at the end nothing may have gone wrong, or to another host."""
    troubles, contexts = [], []

    def open_page(width, scheme="light", expected=()):
        narrow = width < 600
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, is_mobile=narrow, has_touch=narrow
        )
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE)

        def on_console(message):
            if message.type in ("error", "warning") and not any(text in message.text for text in expected):
                troubles.append(message.text)

        tab.on("console", on_console)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: troubles.append(dialog.message))
        context.on(
            "request",
            lambda r: (
                troubles.append(r.url) if not r.url.startswith((server.url, "data:", "blob:")) else None
            ),
        )
        tab.goto(server.url)
        tab.wait_for_selector("body[data-ready]")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


def accessible(tab):
    """axe-core finds no serious problem."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(tab).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
    assert not serious


def fits(tab, width):
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def click_on_a_fill(tab, figure):
    """A click on the first filled stretch of a series in the report; again if the picture was still moving."""
    for _ in range(20):
        figure.scroll_into_view_if_needed()
        x, y = figure.evaluate(
            """f => {
                const k = f.data.findIndex(t => t.name === "filled"), trace = f.data[k], x = f._fullLayout.xaxis;
                const i = trace.text.findIndex(text => text), y = f._fullLayout.yaxis;
                return [x._offset + x.d2p(trace.x[i]), y._offset + y.d2p(trace.y[i])];
            }"""
        )
        box = figure.bounding_box()
        tab.mouse.move(box["x"] + x - 2, box["y"] + y)
        tab.mouse.move(box["x"] + x, box["y"] + y, steps=4)
        tab.mouse.click(box["x"] + x, box["y"] + y)
        tab.wait_for_timeout(1000)
        if tab.locator("#cells tbody tr").count():
            return
    raise AssertionError("a click on a fill shows no cells")


@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (390, "dark")])
def test_the_whole_way_with_the_sample(visit, width, scheme, tmp_path):
    tab = visit(width, scheme)
    fits(tab, width)
    accessible(tab)
    tab.click("#sample")
    tab.wait_for_selector("#looked:not([hidden])")
    assert "every hour" in tab.inner_text("#understood") and "4,179 values are missing" in tab.inner_text(
        "#understood"
    )
    assert tab.locator("#columns tbody tr").count() == 21
    strip = "c => new Set(c.getContext('2d').getImageData(0, 5, c.width, 1).data).size"
    assert tab.locator("#columns canvas").nth(3).evaluate(strip) > 4  # gaps are drawn in other colours
    tab.click("#preview-part summary")
    assert "2013-01-01" in tab.inner_text("#preview tbody tr:first-child")
    tab.click("#options > summary")
    tab.check("#b-fast")
    tab.select_option("#o-method", "linear")
    tab.click("#add-bound")
    tab.locator("#bounds input").nth(1).fill("100")
    fits(tab, width)
    accessible(tab)
    tab.click("#fill")
    tab.wait_for_selector("#result:not([hidden])")
    assert tab.url.split("#job=")[1] and "4,179 cells filled" in tab.inner_text("#result-title")
    report = tab.frame_locator("#report")
    report.locator("body[data-ready]").wait_for()
    assert report.locator(".figure.series").count() >= 12
    fits(tab, width)
    accessible(tab)
    with tab.expect_download() as download:
        tab.click("#get-result")
    assert download.value.suggested_filename == "airports-filled.csv.gz"
    lines = gzip.decompress(Path(download.value.path()).read_bytes()).decode().splitlines()
    assert len(lines) == 8731 and "EWR_temp_lo" in lines[0]
    click_on_a_fill(tab, report.locator(".figure.series").first)
    cells = tab.locator("#cells tbody tr")
    cells.first.wait_for()
    assert "a gap of" in tab.inner_text("#cells") and "linear" in cells.first.inner_text()
    # its address shows it again
    again = tab.context.new_page()
    again.goto(tab.url)
    again.wait_for_selector("#result:not([hidden])", timeout=PATIENCE)
    assert again.inner_text("#verdict") == tab.inner_text("#verdict")
    again.close()


@pytest.mark.parametrize("width", [1300, 390])
def test_the_whole_way_with_a_broken_file(visit, width, tmp_path):
    tab = visit(width, expected=("status of 422",))  # the browser logs every refusal by itself
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(gzip.compress(csv_of(waves(300)))[:900])
    tab.set_input_files("#file", broken)
    tab.wait_for_selector("#alert:not([hidden])")
    assert "damaged" in tab.inner_text("#alert") and "again" in tab.inner_text("#alert")
    assert str(tmp_path) not in tab.inner_text("main") and tab.locator("#fill").is_disabled()
    assert not tab.locator("#columns").is_visible() and not tab.locator("#options").is_visible()
    fits(tab, width)
    accessible(tab)
    torn = tmp_path / "torn.csv"
    torn.write_bytes(csv_of(waves(60)) + b"1,2,3,4,5,6,7\n")
    tab.click("#other-file")
    tab.set_input_files("#file", torn)
    tab.locator("#alert", has_text="Between cells").wait_for()  # the option by its label
    # a wrong correction is told beside its field, with the same words as on the command line
    tab.click("#other-file")
    odd = tmp_path / "odd.csv"
    head, rows = csv_of(waves(60)).split(b"\n", 1)
    odd.write_bytes(head.replace(b"x0", b'"<img src=x onerror=""window.hacked=1"">"') + b"\n" + rows)
    tab.set_input_files("#file", odd)
    tab.locator("#file-name", has_text="odd.csv").wait_for()
    assert HOSTILE in tab.inner_text("#columns tbody tr:first-child th")  # shown as text
    tab.click("#reading > summary")
    tab.fill("#r-header", "99")
    tab.locator("#r-header").press("Tab")
    tab.wait_for_selector("#alert:not([hidden])")
    assert tab.locator("#r-header").evaluate("e => e.classList.contains('wrong')")
    tab.fill("#r-header", "")
    tab.locator("#r-header").press("Tab")
    tab.wait_for_selector("#alert", state="hidden")
    assert tab.inner_text("#r-separator option:first-child") == "found: comma"
    tab.uncheck("#columns tbody tr:nth-child(2) input")
    tab.locator("#columns tr.out").wait_for()
    tab.click("#options > summary")
    tab.check("#b-fast")
    tab.select_option("#o-method", "linear")
    tab.click("#fill")
    tab.wait_for_selector("#result:not([hidden])")
    tab.frame_locator("#report").locator("body[data-ready]").wait_for()
    assert tab.evaluate("window.hacked") is None
    tab.click("#delete")
    tab.wait_for_selector("#start:not([hidden])")


@pytest.mark.parametrize(("width", "scheme"), [(1300, "dark"), (360, "light")])
def test_a_click_on_a_fill_of_t1_shows_its_cells_and_where_it_came_from(visit, server, width, scheme):
    options = {"method": "t1", "budget": "fast", "intervals": 0.9, "keep_model": True}
    job = server.wait(server.job(csv_of(waves(300, 3)), "plant.csv", **options)["id"])
    tab = visit(width, scheme)
    tab.goto(f"{server.url}/#job={job['id']}")
    report = tab.frame_locator("#report")
    report.locator("body[data-ready]").wait_for()
    click_on_a_fill(tab, report.locator(".figure.series").nth(1))
    cells = tab.locator("#cells tbody tr")
    cells.first.wait_for()
    assert "x1: a gap of" in tab.inner_text("#cells") and "t1" in cells.first.inner_text().split("\t")
    row = int(cells.nth(cells.count() // 2).locator("th").inner_text())
    tab.click(".origin button")
    shown = tab.locator(".origin tbody tr")
    shown.first.wait_for()
    told = server.http.get(f"/v1/jobs/{job['id']}/explain", params={"column": "x1", "row": row}).json()
    assert f"Row {row} was filled with" in tab.inner_text(".origin")
    assert "T1 looked" in tab.inner_text(".origin thead")
    assert [line.split("\t")[0] for line in shown.all_inner_texts()] == [
        one["column"] for one in told["columns"]
    ]
    looked = [line.split("\t")[-1] for line in shown.all_inner_texts()]
    assert looked == [f"{round(100 * one['attention'])} %" for one in told["columns"]]
    assert "x1" in [one["column"] for one in told["columns"]] and any(one["moved"] for one in told["columns"])
    assert tab.locator(".origin button").count() == 0
    fits(tab, width)
    accessible(tab)


def test_a_job_is_stopped_cancelled_and_found_again_by_keyboard(visit, server, tmp_path):
    tab = visit(390)
    table = tmp_path / "plant.csv"
    table.write_bytes(csv_of(waves(300, 3)))
    tab.set_input_files("#file", table)
    tab.locator("#file-name", has_text="plant.csv").wait_for()
    assert tab.evaluate("document.activeElement.id") == "file-name"
    tab.locator("#options > summary").focus()
    tab.keyboard.press("Enter")
    tab.locator("#b-30").focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert tab.locator("#b-quality").is_checked()
    tab.locator("#fill").focus()
    tab.keyboard.press("Enter")
    tab.locator("#stop").wait_for()
    tab.locator("#stage", has_text="Tuning").wait_for()
    assert "at most" in tab.inner_text("#time-left")
    assert float(tab.inner_text("#best")) > 0
    accessible(tab)
    tab.locator("#stop").focus()
    tab.keyboard.press("Enter")
    tab.locator("#stop:disabled").or_(tab.locator("#result")).first.wait_for()
    tab.wait_for_selector("#result:not([hidden])")
    tab.locator("#cells-where").fill("12")
    tab.keyboard.press("Enter")
    tab.locator("#cells tbody tr").first.wait_for()
    tab.goto(server.url)
    tab.wait_for_selector("#recent:not([hidden])")
    assert tab.inner_text("#recent-list a") == "plant.csv"
    tab.click("#recent-list a")
    tab.wait_for_selector("#result:not([hidden])")


def test_a_server_with_a_token_asks_for_it(chromium, tmp_path):
    (tmp_path / "token").write_text("0123456789abcdef-secret")
    token = ("--token-file", str(tmp_path / "token"))
    served = Served(tmp_path / "jobs", "--workers", "1", *token)
    context = chromium.new_context(viewport={"width": 390, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE)
    tab.goto(served.url)
    tab.wait_for_selector("#token:not([hidden])")
    assert not tab.locator("#start").is_visible()
    tab.fill("#token-text", "a guess")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#token-wrong:not([hidden])")
    accessible(tab)
    tab.fill("#token-text", "0123456789abcdef-secret")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#token", state="hidden")
    tab.set_input_files("#file", {"name": "a.csv", "mimeType": "text/csv", "buffer": csv_of(waves(60))})
    tab.locator("#file-name", has_text="a.csv").wait_for()
    tab.click("#options > summary")
    tab.check("#b-fast")
    tab.select_option("#o-method", "linear")
    tab.click("#fill")
    tab.wait_for_selector("#result:not([hidden])")
    with tab.expect_download() as download:  # without a header: the link carries a ticket
        tab.click("#get-result")
    assert download.value.suggested_filename == "a-filled.csv"
    context.close()
    served.stop()
