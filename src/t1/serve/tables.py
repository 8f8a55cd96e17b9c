"""Small tables in and out of /v1/fill: JSON, Arrow or Parquet."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from t1.errors import InputError
from t1.serve.options import MOST_DIRECT_SECONDS, DirectOptions, parse
from t1.serve.sizes import check_cells, check_parquet

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
EXAMPLE = 'Give for example {"table": {"time": ["2024-01-01", ...], "x": [1.5, null, ...]}}.'


def fill_table(
    body: bytes, media: str, answer: str, query: dict[str, Any], most_cells: int, model: Any = None
) -> bytes:
    """Fill a table that came as `media` and give it back as `answer`; `model` is a fitted fill."""
    if media == JSON:
        table, given = _from_json(body)
        query = {**query, **given}
    else:
        table = _from_arrow(body, media, most_cells)
    check_cells(table.shape, most_cells)
    options: DirectOptions = parse(DirectOptions, query)
    options.check(MOST_DIRECT_SECONDS)
    rules = {
        name: getattr(options, name)
        for name in ("intervals", "max_gap", "minimum", "maximum", "integer", "lock")
    }
    if model is None:
        import t1

        fit = {
            name: getattr(options, name)
            for name in (
                "time",
                "id",
                "columns",
                "exclude",
                "kind",
                "keep_sentinels",
                "method",
                "budget",
                "seed",
            )
        }
        result = t1.impute(table, **fit, **rules)
    else:
        _only(query, rules)
        result = model.apply(table, **rules)
    about = {
        "filled": result.n_filled,
        "problems": list(result.problems),
        "scorecard": result.scorecard.to_dict(),
        "seconds": result.seconds,
    }
    bands = _bands(result)
    if answer == JSON:
        return _to_json(result.data, bands, about)
    return _to_arrow(result.data, bands, about, answer)


def _only(query: dict[str, Any], rules: dict[str, Any]) -> None:
    for name in query:
        if name in DirectOptions.model_fields and name not in rules:
            raise InputError(
                "a fitted model brings its own methods and columns", cure="Leave it out.", option=name
            )


def _from_json(body: bytes) -> tuple[Any, dict[str, Any]]:
    """A dataframe, and the options beside it."""
    import pyarrow as pa

    try:
        whole = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("the body is not JSON", cure=EXAMPLE, option="body") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("table"), dict) or not whole["table"]:
        raise InputError("the body has no table of columns", cure=EXAMPLE, option="table")
    if more := set(whole) - {"table", "options"}:
        raise InputError(f"the body has no part {min(more)!r}", cure=EXAMPLE, option=min(more))
    given = whole.get("options", {})
    if not isinstance(given, dict):
        raise InputError("the options are not a JSON object", cure=EXAMPLE, option="options")
    columns = {}
    for name, cells in whole["table"].items():
        if not isinstance(cells, list) or any(isinstance(cell, dict | list) for cell in cells):
            raise InputError(f"column {name!r} is not a list of cells", cure=EXAMPLE, option="table")
        try:
            columns[name] = pa.array(cells, from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            try:  # numbers of several kinds
                columns[name] = pa.array([None if c is None else float(c) for c in cells], from_pandas=True)
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"column {name!r} mixes numbers and texts",
                    cure="Give null where missing.",
                    option="table",
                ) from None
        if pa.types.is_null(columns[name].type):
            columns[name] = columns[name].cast(pa.float64())
    if len({len(cells) for cells in columns.values()}) != 1:
        raise InputError("the columns are not equally long", cure=EXAMPLE, option="table")
    return _pandas(pa.table(columns)), given


def _from_arrow(body: bytes, media: str, most_cells: int) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if media == PARQUET:
            check_parquet(io.BytesIO(body), most_cells)
            table = pq.read_table(io.BytesIO(body))
        else:
            with pa.ipc.open_stream(body) as reader:
                table = reader.read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"the body is not {media}: {type(error).__name__}", option="body") from None
    if not table.num_columns or len(set(table.column_names)) < table.num_columns:
        raise InputError("the table needs columns of different names", option="body")
    return _pandas(table)


def _pandas(table: Any) -> pd.DataFrame:
    """Texts as objects and whole numbers with gaps as Int64: nothing becomes another type."""
    import pyarrow as pa

    whole = {
        kind: getattr(pd, name)()
        for kind, name in (
            (pa.int8(), "Int8Dtype"),
            (pa.int16(), "Int16Dtype"),
            (pa.int32(), "Int32Dtype"),
            (pa.int64(), "Int64Dtype"),
        )
    }
    frame: pd.DataFrame = table.to_pandas(
        types_mapper=lambda kind: whole.get(kind), ignore_metadata=True, date_as_object=False
    )
    return frame


def _bands(result: Any) -> dict[str, Any]:
    """The columns <name>_lo and <name>_hi of columns with gaps, where intervals were asked for."""
    if result.missing.lo is None:
        return {}
    gappy = ~result.observed.all(axis=0)
    return {
        f"{name}_{end}": result.band(end, j)
        for j, name in enumerate(result.columns)
        if gappy[j]
        for end in ("lo", "hi")
    }


def _to_json(table: pd.DataFrame, bands: dict[str, Any], about: dict[str, Any]) -> bytes:
    columns = {str(name): _cells(table[name]) for name in table.columns}
    columns |= {name: _cells(pd.Series(cells)) for name, cells in bands.items()}
    return json.dumps({"table": columns, **about}, allow_nan=False).encode()


def _cells(series: pd.Series[Any]) -> list[Any]:
    if series.dtype.kind == "M":
        return [None if cell is pd.NaT else cell.isoformat() for cell in series]
    if series.dtype.kind in "fc":
        finite = np.isfinite(series.to_numpy(dtype=float, na_value=np.nan)).tolist()
        return [cell if ok else None for cell, ok in zip(series.tolist(), finite, strict=True)]
    return [None if cell is pd.NA or cell is None or cell != cell else cell for cell in series.tolist()]


def _to_arrow(table: pd.DataFrame, bands: dict[str, Any], about: dict[str, Any], media: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.Table.from_pandas(table.assign(**bands), preserve_index=False)
    made = made.replace_schema_metadata({**(made.schema.metadata or {}), b"t1": json.dumps(about).encode()})
    out = io.BytesIO()
    if media == PARQUET:
        pq.write_table(made, out)
    else:
        with pa.ipc.new_stream(out, made.schema) as writer:
            writer.write_table(made)
    return out.getvalue()


def load_model(folder: Path) -> Any:
    """A fitted fill that a job kept."""
    import t1

    return t1.load(folder)
