"""An adapter whose library is not installed says so in one message."""

import pytest

import t1
from t1.adapters.library import library


def test_a_library_that_is_not_installed():
    with pytest.raises(t1.InputError, match="needs nothing_like_it") as error:
        library("nothing_like_it", "like-it")
    assert error.value.cure == "Install it: pip install like-it"


def test_a_library_whose_own_needs_are_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import nothing_like_it")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="nothing_like_it"):
        library("half_there")
