"""The way to pypots (BSD-3, the extra `bench`), whose modules seven of the other systems are built from."""

import dataclasses
import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any

from t1.errors import InputError

LOGGERS = ("PyPOTS running log", "TSDB running log", "BenchPOTS running log")


def pypots_module(path: str, *, needed_by: str) -> Any:
    """`pypots.<path>` without its banner and logs; call it late: the first import takes many seconds.

    That first import also writes ~/.pypots/config.ini, which pypots offers no way to prevent.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(_sink()), redirect_stderr(_sink()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(f"pypots.{path}")
    except (ImportError, OSError) as error:  # OSError: a home folder that cannot be written
        raise InputError(
            f"{needed_by} needs pypots, which cannot be imported: {error}.\n"
            "Install it with: pip install 't1-impute[bench]'"
        ) from None
    finally:
        logging.disable(before)
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def check_sizes(config: Any) -> None:
    """Refuse a config with a whole number below 1, or a dropout outside [0, 1)."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if type(value) is int and value < 1:
            raise InputError(f"{field.name} must be at least 1, got {value}")
        if field.name.endswith("dropout") and not 0 <= value < 1:
            raise InputError(f"{field.name} must be at least 0 and below 1, got {value}")


def _sink() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # pypots wants the buffer that StringIO lacks
