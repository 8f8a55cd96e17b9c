"""What a worker does when a file is looked at, or a fill of it: how it is understood, where a fill came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from t1.data.look import gap_lengths
from t1.errors import InputError
from t1.serve.options import JobOptions, parse
from t1.serve.settings import size
from t1.serve.sizes import check_cells, check_table
from t1.serve.work import told

MAP_BINS = 240
PREVIEW_ROWS = 8
PREVIEW_COLUMNS = 40
MOST_TOLD = 500  # columns of a wide table that are described one by one


def look_at(source: Path, options: Mapping[str, Any], max_unpacked: int, max_cells: int) -> dict[str, Any]:
    """How a file is understood, its gap map and its first rows, as JSON; what is wrong is an InputError."""
    from t1.data.files import read_file
    from t1.data.suspicions import suspicions

    chosen: JobOptions = parse(JobOptions, dict(options))
    chosen.check()
    try:
        check_table(source, {}, max_unpacked, max_cells)
        file = read_file(source, **chosen.reading())
        check_cells(file.values.shape, max_cells)
        rules = chosen.fill_options().rules(file.time, getattr(file, "time_format", None), file.kinds)
        rules.check(file.columns)
    except InputError as error:
        raise InputError(told(error, source), cure=error.cure, option=error.option) from None
    missing = np.isnan(file.values)
    sure = [f"{one}: counts as missing (keep_sentinels)." for one in file.sentinels if one.sure]
    doubts = suspicions(file.values, file.columns, file.kinds)
    names = list(file.all_columns)
    return {
        "understood": list(file.understood),
        "problems": list(dict.fromkeys([*sure, *file.problems, *doubts])),
        "rows": len(file.values),
        "bytes": size(source.stat().st_size),
        "missing": int(missing.sum()),
        "time": list(_names(file.time_column)),
        "id": list(_names(file.id_column)),
        "found": _written(file),
        "all_columns": names[:MOST_TOLD],
        "left_alone": dict(list(file.passed_through.items())[:MOST_TOLD]),
        "columns": [_column(file, j) for j in range(min(len(file.columns), MOST_TOLD))],
        "more_columns": max(len(file.columns) - MOST_TOLD, 0),
        "preview": [_start(file.texts(name)) for name in names[:PREVIEW_COLUMNS]],
    }


def explain_at(
    source: Path, column: str, row: int, options: Mapping[str, Any], model: Path
) -> dict[str, Any]:
    """From which columns and which stretch the fill of a cell was taken, by the model that filled it."""
    from t1.explaining import explain_file

    chosen: JobOptions = parse(JobOptions, dict(options))
    try:
        found = explain_file(
            source, column, row, reading=chosen.reading(), options=chosen.fit_options(), model=model
        )
    except InputError as error:
        option = "row" if error.option == "at" else error.option
        raise InputError(told(error, source, model), cure=error.cure, option=option) from None
    plain: dict[str, Any] = json.loads(json.dumps(found.to_dict(), default=str))
    return plain


def _written(file: Any) -> dict[str, str]:
    """How a text file is written, by the names of the options that say so."""
    from t1.data.csv.dialect import BLANKS
    from t1.data.csv.file import CsvFile
    from t1.data.reshape import Reshaped

    if isinstance(file, Reshaped):
        file = file.file
    if not isinstance(file, CsvFile):
        return {}
    separator = file.layout.separator
    return {
        "separator": "blanks" if separator == BLANKS else separator.decode("latin-1"),
        "decimal": file.decimal.decode("latin-1"),
        "encoding": file.wide or file.encoding,
    }


def _names(given: Any) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _column(file: Any, j: int) -> dict[str, Any]:
    values = file.values[:, j]
    kind = file.kinds[file.columns[j]]
    lengths = gap_lengths(values)
    seen = values[~np.isnan(values)]
    edges = np.linspace(0, len(values), min(MAP_BINS, len(values)) + 1).astype(int)
    shares = [float(np.isnan(values[a:b]).mean()) for a, b in pairwise(edges)] if lengths else []
    return {
        "name": file.columns[j],
        "kind": kind.name,
        "why": kind.evidence,
        "missing": int(sum(lengths)),
        "gaps": len(lengths),
        "longest": max(lengths, default=0),
        "low": float(seen.min()) if len(seen) else None,
        "high": float(seen.max()) if len(seen) else None,
        "map": [round(share, 3) for share in shares],
    }


def _start(cells: list[str]) -> list[str]:
    return [str(cell)[:200] for cell in cells[:PREVIEW_ROWS]]
