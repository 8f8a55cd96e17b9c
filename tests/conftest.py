"""Where the real files are, and how hypothesis searches: repeatably, and without a clock."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
