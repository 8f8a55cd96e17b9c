"""Fill the gaps in multivariate time series, and say how sure you are."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from t1.errors import InputError, T1Error, TrainingDiverged

if TYPE_CHECKING:
    from t1.api import FilledTable as FilledTable
    from t1.api import impute as impute
    from t1.data.look import Look as Look
    from t1.data.look import look as look
    from t1.data.sample import load_sample as load_sample
    from t1.imputer import T1Imputer as T1Imputer
    from t1.models.t1 import T1 as T1
    from t1.models.t1 import T1Config as T1Config

__version__ = "0.1.0"

# imported on first use: `import t1` stays fast, torch is loaded only when a model is wanted
_LAZY = {
    "FilledTable": "t1.api",
    "impute": "t1.api",
    "T1": "t1.models.t1",
    "T1Config": "t1.models.t1",
    "T1Imputer": "t1.imputer",
    "Look": "t1.data.look",
    "load_sample": "t1.data.sample",
    "look": "t1.data.look",
}

__all__ = ["InputError", "T1Error", "TrainingDiverged", "__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 't1' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
