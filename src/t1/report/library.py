"""What a report needs: plotly, and a name that a browser opens."""

import os
from importlib.util import find_spec
from pathlib import Path

from t1.errors import InputError


def plotly_js() -> str:
    """The library that the page brings with it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise _no_plotly() from None
    return str(get_plotlyjs())


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse at once what could only fail after the work."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"a report is a web page, and {str(path)!r} is not called like one",
            cure="Give a name that ends in .html; a browser prints it as PDF.",
            option="report",
        )
    if find_spec("plotly") is None:
        raise _no_plotly()


def _no_plotly() -> InputError:
    return InputError(
        "a report needs plotly, which is not installed",
        cure="Install it: pip install 't1-impute[report]'",
        option="report",
    )
