"""`t1.fit`, `t1.impute`, `t1.load`: tables in, tables out, and how wrong the fill is; the same for files.

`impute` is `fit`, then `apply`. The command line is a thin shell over `fit_file` and `impute_file`.
"""

from t1.api.files import OnUnderstood, fit_file, impute_file, sense_file
from t1.api.filled_table import FilledTable
from t1.api.fitted import FittedFill, load
from t1.api.tables import fit, impute

__all__ = [
    "FilledTable",
    "FittedFill",
    "OnUnderstood",
    "fit",
    "fit_file",
    "impute",
    "impute_file",
    "load",
    "sense_file",
]
