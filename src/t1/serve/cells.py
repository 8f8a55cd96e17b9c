"""The filled cells of one gap, from the provenance of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from t1.serve.problems import Refused
from t1.serve.views import CellsView, CellView

MOST = 200


def gap_at(attempt: Path, column: str, *, row: int | None, time: str | None, place: int | None) -> CellsView:
    """The gap of a column that lies nearest to a row, a time, or where the report draws it."""
    table = pd.read_parquet(attempt / "provenance.parquet")
    table = table[table["column"] == column].reset_index(drop=True)
    if table.empty:
        raise Refused(404, "no cell of that column was filled", field="column")
    if place is not None:
        row = _row(attempt, place)
    if row is not None:
        distance = (table["row"].astype("Float64") - row).abs().to_numpy(float, na_value=np.inf)
    elif time is not None and "time" in table:
        try:
            when = pd.Timestamp(time)
        except ValueError:
            raise Refused(422, "that is no time", field="time") from None
        when = when.tz_convert("UTC").tz_localize(None) if when.tzinfo else when
        distance = np.abs((table["time"] - when).dt.total_seconds().to_numpy(float))
    else:
        raise Refused(422, "no place is given", cure="Give row, time or place.", field="row")
    return _gap(table, int(np.argmin(distance)), column)


def _row(attempt: Path, place: int) -> int:
    """The row that the report draws at a place: it draws one series after the other."""
    order = attempt / "order.npy"
    if not order.exists():
        return place
    rows = np.load(order)
    return int(rows[min(place, len(rows) - 1)])


def _gap(table: pd.DataFrame, at: int, column: str) -> CellsView:
    """All cells that are joined to one: of the same series, without an observed cell between them."""
    order = table.sort_values("time" if "time" in table else "row", kind="stable")
    if "id" in table:
        order = order[order["id"] == table["id"].iloc[at]]
    row = order["row"].astype("Float64").to_numpy(float, na_value=np.nan)
    length = order["gap_length"].to_numpy()
    new = np.concatenate([[True], ~((np.diff(row) == 1) | np.isnan(np.diff(row))) | (np.diff(length) != 0)])
    group = np.cumsum(new)
    here = group == group[int(np.flatnonzero(order.index == at)[0])]
    cells = order[here]
    return CellsView(
        column=column,
        cells=[_cell(one) for one in cells.head(MOST).to_dict("records")],
        more=max(len(cells) - MOST, 0),
    )


def _cell(one: dict[Any, Any]) -> CellView:
    def known(name: str) -> Any:
        cell = one.get(name)
        return None if cell is None or pd.isna(cell) or cell == "" else cell

    when = known("time")
    identity = known("id")
    return CellView(
        row=known("row"),
        time=None if when is None else str(when),
        id=None if identity is None else str(identity),
        value=known("value"),
        lo=known("lo"),
        hi=known("hi"),
        method=known("method"),
        gap_length=one["gap_length"],
        tested=one["tested"],
        rule=known("rule"),
    )
