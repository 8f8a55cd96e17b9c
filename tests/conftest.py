"""What tests share: the real files, a browser, and how hypothesis searches (repeatably, without a clock)."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

CHROMIUM = Path("/usr/bin/chromium")
SHARED = Path(__file__).resolve().parents[2] / "shared"

settings.register_profile("t1", deadline=None, derandomize=True)
settings.load_profile("t1")


def _folder(variable: str, default: Path) -> Path:
    folder = Path(os.environ.get(variable, default))
    if not folder.is_dir():
        pytest.skip(f"{folder} not found; set {variable}")
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real datasets."""
    return _folder("T1_DATA_DIR", SHARED / "data")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """The folder of the reference implementation's inputs and outputs."""
    return _folder("T1_GOLDEN_DIR", SHARED / "golden")


@pytest.fixture
def one_thread():
    """How sums are split among threads changes their last bits; killed runs use one thread as well."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def chromium():
    """A real browser."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no browser test"
    )
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} not found (apt-get install chromium): nothing is tested in a browser")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def put(tmp_path):
    """Write a file, and give its path."""

    def write(content: bytes | str, name: str = "in.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


WAVES = """
name = "Waves"
reader = "csv"
path = "waves.csv"
n_vars = 3
window = 24
split = { kind = "window_share", train = 0.7, valid = 0.1 }
scenarios = ["point", "block"]
"""


@pytest.fixture
def waves(tmp_path):
    """A dataset of the user's own: a TOML beside its CSV."""
    rng = np.random.default_rng(0)
    series = np.sin(np.arange(400)[:, None] / [3, 5, 7]) + 0.1 * rng.normal(size=(400, 3))
    lines = [f"{i},{a:.5f},{b:.5f},{c:.5f}" for i, (a, b, c) in enumerate(series)]
    (tmp_path / "waves.csv").write_text("date,a,b,c\n" + "\n".join(lines) + "\n")
    path = tmp_path / "waves.toml"
    path.write_text(WAVES)
    return str(path)
