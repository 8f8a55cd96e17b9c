"""What a summary says about one fill, as JSON can hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from t1.api import FilledTable
from t1.fill.filled import Filled


def table_facts(table: FilledTable) -> dict[str, Any]:
    """About a whole table."""
    return {
        "rows": len(table.values),
        "filled": table.n_filled,
        "left_empty": int(np.isnan(table.values).sum()),
        "verdict": table.scorecard.verdict,
        "problems": list(table.problems),
        "columns": column_facts(table),
    }


def column_facts(filled: Filled) -> list[dict[str, Any]]:
    """About each column with gaps: how wrong its fill is, in its own units and in those of its spread."""
    missing = np.count_nonzero(~filled.observed, axis=0)
    return [_facts(filled, j, int(missing[j])) for j in np.flatnonzero(missing).tolist()]


def _facts(filled: Filled, j: int, missing: int) -> dict[str, Any]:
    seen = filled.values[filled.observed[:, j], j]
    spread = float(seen.std()) if len(seen) else 0.0
    scores = [score for score in filled.scorecard.scores if score.column == filled.columns[j]]
    errors = [(s.missing, s.mae, s.linear_mae) for s in scores if s.mae is not None]
    cells = sum(n for n, _, _ in errors)
    mae = sum(n * mae for n, mae, _ in errors) / cells if cells else None
    linear = sum(n * (line or 0.0) for n, _, line in errors) / cells if cells else None
    return {
        "column": filled.columns[j],
        "missing": missing,
        "share_missing": missing / len(filled.values),
        "mae": mae,
        "linear_mae": linear,
        "relative_error": mae / spread if mae is not None and spread > 0 else None,
        "methods": " + ".join(dict.fromkeys(m for s in scores for m in s.method.split(" + "))),
        "untested_cells": sum(s.missing for s in scores if not s.tested),
    }
