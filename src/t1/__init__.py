"""Fill the gaps in multivariate time series, and say how sure you are."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from t1.errors import InputError, T1Error, TrainingDiverged

if TYPE_CHECKING:
    from t1 import missing as missing
    from t1 import synthetic as synthetic
    from t1.api import FilledTable as FilledTable
    from t1.api import FittedFill as FittedFill
    from t1.api import fit as fit
    from t1.api import impute as impute
    from t1.api import load as load
    from t1.client import Client as Client
    from t1.data.look import Look as Look
    from t1.data.look import look as look
    from t1.data.sample import load_sample as load_sample
    from t1.explaining import explain as explain
    from t1.fill.explanation import Explanation as Explanation
    from t1.fill.filled import Filled as Filled
    from t1.fill.scorecard import Scorecard as Scorecard
    from t1.imputer import T1Imputer as T1Imputer
    from t1.models.t1 import T1 as T1
    from t1.models.t1 import T1Config as T1Config

__version__ = "0.1.0"

# imported on first use: `import t1` stays fast, torch is loaded only when a model is wanted
_LAZY = {
    "Client": "t1.client",
    "Explanation": "t1.fill.explanation",
    "Filled": "t1.fill.filled",
    "FilledTable": "t1.api",
    "FittedFill": "t1.api",
    "Scorecard": "t1.fill.scorecard",
    "T1": "t1.models.t1",
    "T1Config": "t1.models.t1",
    "T1Imputer": "t1.imputer",
    "explain": "t1.explaining",
    "fit": "t1.api",
    "impute": "t1.api",
    "load": "t1.api",
    "load_sample": "t1.data.sample",
    "missing": "",
    "Look": "t1.data.look",
    "look": "t1.data.look",
    "synthetic": "",
}

__all__ = ["InputError", "T1Error", "TrainingDiverged", "__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 't1' has no attribute {name!r}")
    place = _LAZY[name]
    return getattr(import_module(place), name) if place else import_module(f"t1.{name}")


def __dir__() -> list[str]:
    return __all__
