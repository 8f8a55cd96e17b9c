"""Another library, or one clear message that it is not installed."""

from importlib import import_module
from typing import Any

from t1.errors import InputError


def library(name: str, install: str | None = None) -> Any:
    """The module of that name; `install` is what pip calls it."""
    try:
        return import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != name.split(".")[0]:
            raise  # it is there, but something that it needs is not
        raise InputError(
            f"this adapter needs {name}, which is not installed",
            cure=f"Install it: pip install {install or name}",
        ) from None
