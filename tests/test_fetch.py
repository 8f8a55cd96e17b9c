"""Downloads against a server on this machine, and the commands `t1 data list | info | fetch`."""

import argparse
import hashlib
import io
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from t1 import cli
from t1.cli.data import add_data
from t1.data import catalog
from t1.data.fetch import fetch
from t1.errors import InputError

TABLE = "date,a,b\n" + "".join(f"2020-01-01 00:{m:02},{m},{m * m}\n" for m in range(60))
RIGHT = hashlib.sha256(TABLE.encode()).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 (shared by all requests on purpose)

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A folder, and the address under which its files can be downloaded."""
    folder = tmp_path / "served"
    folder.mkdir()
    Quiet.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.fixture
def t1(monkeypatch):
    """Run `t1 data ...` as the command line does."""

    def parser():
        p = argparse.ArgumentParser()
        add_data(p)
        return p

    monkeypatch.setattr(cli, "_parser", parser)
    return lambda *words: cli.main([str(word) for word in words])


def write_spec(tmp_path, url, sha256=RIGHT):
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(f"""
reader = "csv"
path = "data/table.csv"
url = "{url}/table.csv"
sha256 = {[sha256] if sha256 else []}
home = "https://example.org/tables"
n_vars = 2
window = 5
split = {{ kind = "disjoint", train = 0.6, valid = 0.2 }}
""")
    return path


def left_behind(tmp_path):
    return sorted(p.name for p in (tmp_path / "mine").rglob("*") if p.name != "mine.toml")


def test_a_good_file_comes_and_loads(t1, server, tmp_path, capsys):
    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    path = write_spec(tmp_path, url)
    assert t1("fetch", path) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "checksum right" in out and err == ""
    assert (tmp_path / "mine/data/table.csv").read_text() == TABLE
    assert left_behind(tmp_path) == ["data", "table.csv"]
    assert len(catalog.load(path).train) == 36 - 4

    assert t1("fetch", path) == 0  # again: nothing is downloaded
    assert "was there already" in capsys.readouterr().out
    assert Quiet.asked == ["/table.csv"]


def test_a_corrupted_download_is_refused_and_removed(t1, server, tmp_path, capsys):
    folder, url = server
    (folder / "table.csv").write_text(TABLE.replace("59", "58"))
    assert t1("fetch", write_spec(tmp_path, url)) == 2
    out, err = capsys.readouterr()
    got = hashlib.sha256((folder / "table.csv").read_bytes()).hexdigest()
    assert out == ""
    assert "not the right file" in err and got in err and RIGHT in err and "it was removed" in err
    assert left_behind(tmp_path) == []


def test_another_file_in_the_place_is_not_overwritten(t1, server, tmp_path, capsys):
    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    path = write_spec(tmp_path, url)
    (tmp_path / "mine/data").mkdir()
    (tmp_path / "mine/data/table.csv").write_text("my own notes")
    assert t1("fetch", path) == 2
    assert "Move it away" in capsys.readouterr().err
    assert (tmp_path / "mine/data/table.csv").read_text() == "my own notes"


def test_a_server_that_is_down_tells_the_way_by_hand(t1, tmp_path, capsys):
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as http:
        port = http.server_port  # free again after this block
    assert t1("fetch", write_spec(tmp_path, f"http://127.0.0.1:{port}")) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"t1: could not download http://127.0.0.1:{port}/table.csv: no connection.",
        "By hand: get table.csv from https://example.org/tables and put it at "
        f"{tmp_path}/mine/data/table.csv.",
    ]
    assert left_behind(tmp_path) == []


def test_an_address_that_is_gone_says_what_the_server_said(t1, server, tmp_path, capsys):
    assert t1("fetch", write_spec(tmp_path, server[1])) == 2
    assert "the server answered 404" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


def test_without_a_checksum_it_is_said(t1, server, tmp_path, capsys):
    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    assert t1("fetch", write_spec(tmp_path, url, sha256="")) == 0
    out = capsys.readouterr().out
    assert "NOT CHECKED" in out and RIGHT in out


def test_to_another_folder(t1, server, tmp_path, capsys):
    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    assert t1("fetch", write_spec(tmp_path, url), "--to", tmp_path / "there") == 0
    assert (tmp_path / "there/data/table.csv").is_file()
    assert left_behind(tmp_path) == []
    assert f"T1_DATA_DIR={tmp_path / 'there'}" in capsys.readouterr().err


def test_one_archive_serves_two_files(server, tmp_path):
    folder, url = server
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("Code/Sample/one.csv", TABLE)
        archive.writestr("moved/two.csv", TABLE)
    path = tmp_path / "two.toml"
    path.write_text("""
reader = "aqi36"
n_vars = 2
window = 5
split = { kind = "disjoint" }
""")
    for name in ("one", "two"):
        with path.open("a") as stream:
            stream.write(f"""
[[files]]
path = "{name}.csv"
url = "{url}/all.zip"
member = "Code/Sample/{name}.csv"
sha256 = "{RIGHT}"
""")
    done = fetch(catalog.spec(path))
    assert [file.path for file in done] == [tmp_path / "one.csv", tmp_path / "two.csv"]
    assert all(file.checked and file.downloaded for file in done)
    assert Quiet.asked == ["/all.zip"]

    (tmp_path / "one.csv").unlink()
    (folder / "all.zip").write_bytes(b"<html>moved</html>")
    with pytest.raises(InputError, match="gave no zip archive"):
        fetch(catalog.spec(path))
    assert not (tmp_path / "one.csv").exists()


def test_a_dataset_without_an_address_tells_where_people_find_it(t1, tmp_path, capsys):
    assert t1("fetch", "pems03", "--to", tmp_path) == 2
    err = capsys.readouterr().err
    assert "no address is known" in err and "SCINet" in err and str(tmp_path / "PEMS/PEMS03.npz") in err


def test_a_bar_on_a_terminal(t1, server, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert t1("fetch", write_spec(tmp_path, url)) == 0
    assert "mine" in terminal.getvalue() and "bytes" in terminal.getvalue()


def test_list_tells_what_is_here(t1, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache")
    (tmp_path / "PEMS").mkdir()
    (tmp_path / "PEMS/PEMS03.npz").write_bytes(b"")
    assert t1("list") == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines}
    assert lines[0].split() == ["name", "variables", "window", "scenarios", "files"]
    assert set(rows) == {"name", *catalog.names()}
    assert rows["PEMS03"].split() == ["PEMS03", "358", "96", "point,", "block", "on", "disk"]
    assert rows["PhysioNet2012"].split() == ["PhysioNet2012", "37", "48", "natural", "not", "here"]


def test_info_counts_windows_of_files_that_are_here(t1, data_dir, monkeypatch, capsys):
    monkeypatch.setenv("T1_DATA_DIR", str(data_dir))
    assert t1("info", "illness") == 0
    out = capsys.readouterr().out
    assert "609 train / 87 valid / 175 test" in out
    assert "checksum right" in out and "CDC" in out and "share up to 95 rows" in out


def test_info_without_files_says_how_to_get_them(t1, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("T1_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache")
    assert t1("info", "Electricity") == 0
    out = capsys.readouterr().out
    assert "not here" in out and "t1 data fetch Electricity" in out and "321" in out
    assert t1("info", "Electrcity") == 2
    assert "Did you mean 'Electricity'?" in capsys.readouterr().err


@pytest.mark.parametrize("escape", ["../../away.csv", "{absolute}", "link/away.csv"])
def test_nothing_is_written_outside_the_data_folder(server, tmp_path, escape):
    folder, url = server
    (folder / "table.csv").write_text(TABLE)
    away = tmp_path / "elsewhere"
    away.mkdir()
    path = write_spec(tmp_path, url)
    (path.parent / "link").symlink_to(away)
    place = escape.format(absolute=away / "away.csv")
    path.write_text(path.read_text().replace("data/table.csv", place))
    with pytest.raises(InputError, match="is not inside"):
        fetch(catalog.spec(path))
    assert not list(tmp_path.rglob("away.csv"))
    assert Quiet.asked == []
