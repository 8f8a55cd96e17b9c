"""A filled table, and where each filled cell came from."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from t1.fill.gaps import BoolArray, Codes, Lengths
from t1.fill.rules import LEFT_EMPTY, rule_name
from t1.fill.scorecard import Scorecard

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Filled:
    """All arrays are (time, vars)."""

    values: FloatArray  # NaN where left empty
    observed: BoolArray
    method: Codes  # which of method_names filled the cell; -1: observed, or left empty
    method_names: tuple[str, ...]
    lo: FloatArray | None  # NaN where nothing was filled
    hi: FloatArray | None
    gap: Lengths  # length of the run the cell lies in, 0 where observed
    rule: Codes  # sums of the codes in rules.py
    scorecard: Scorecard
    columns: tuple[str, ...]

    def provenance(self) -> pd.DataFrame:
        """One row per cell that was filled or left empty on purpose, sorted by row and column."""
        row, column = np.nonzero((self.method >= 0) | (self.rule & LEFT_EMPTY > 0))
        rules, which_rule = np.unique(self.rule[row, column], return_inverse=True)
        names = list(dict.fromkeys(self.columns))
        place = {name: i for i, name in enumerate(names)}
        of_column = np.array([place[name] for name in self.columns], dtype=np.intp)
        nothing = np.full(len(row), np.nan)
        return pd.DataFrame(
            {
                "row": row,
                "column": pd.Categorical.from_codes(of_column[column], categories=pd.Index(names)),
                "method": pd.Categorical.from_codes(
                    self.method[row, column], categories=pd.Index(self.method_names, dtype=object)
                ),
                "gap_length": self.gap[row, column],
                "value": self.values[row, column],
                "lo": nothing if self.lo is None else self.lo[row, column],
                "hi": nothing if self.hi is None else self.hi[row, column],
                "rule": pd.Categorical.from_codes(
                    which_rule.reshape(-1),
                    categories=pd.Index([rule_name(int(r)) for r in rules], dtype=object),
                ),
            }
        )
