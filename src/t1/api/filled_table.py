"""A filled table: the fill with the table it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import union_categoricals

from t1.arrays import AnyArray, TimeArray
from t1.fill.filled import Filled


@dataclass(frozen=True, kw_only=True)
class AddedRows:
    """Rows that a table lacked: their fill, when they are, and which series they belong to."""

    filled: Filled
    times: TimeArray  # (rows,)
    ids: AnyArray | None  # (rows,)


@dataclass(frozen=True, kw_only=True)
class FilledTable(Filled):
    """A filled table: `data` in the container it came in, `scorecard`, `provenance`, `report(path)`."""

    data: Any = field(repr=False)
    times: TimeArray | None = field(repr=False)
    series: list[Any] = field(repr=False)  # the rows of each series in time order
    name: str
    problems: tuple[str, ...]
    seconds: float
    understood: tuple[str, ...] = ()  # how the file was read
    ids: AnyArray | None = field(default=None, repr=False)  # (rows,), what tells several series apart
    added: AddedRows | None = field(default=None, repr=False)  # rows that were added for absent time stamps

    @classmethod
    def of(cls, filled: Filled, **table: Any) -> FilledTable:
        """A fill together with the table it belongs to."""
        return cls(**{f.name: getattr(filled, f.name) for f in fields(Filled)}, **table)

    def _count(self) -> int:
        return super()._count() + (0 if self.added is None else self.added.filled.n_filled)

    def _origin(self) -> pd.DataFrame:
        """With the time and the series of each cell, where there are any; added rows have no number."""
        origin = _with_place(super()._origin(), self.times, self.ids)
        if self.added is None:
            return origin
        more = _with_place(self.added.filled.provenance, self.added.times, self.added.ids)
        row = pd.array([pd.NA] * len(more), dtype="Int64")
        names = {
            name: union_categoricals([origin[name], more[name]]) for name in ("column", "method", "rule")
        }
        both = pd.concat([origin.astype({"row": "Int64"}), more.assign(row=row)], ignore_index=True)
        return both.assign(**names)

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML page: what was filled, by what, and how wrong it is."""
        from t1.report import write_report

        write_report(
            path,
            self,
            times=self.times,
            original_name=self.name,
            problems=self.problems,
            series=self.series if len(self.series) > 1 else None,
            understood=self.understood,
        )

    def to_dict(self) -> dict[str, Any]:
        """The scorecard with what was understood of the table and what was odd about it, for JSON."""
        return {
            "understood": list(self.understood),
            "problems": list(self.problems),
            "filled": self.n_filled,
            "seconds": round(self.seconds, 3),
            **self.scorecard.to_dict(),
        }


def _with_place(origin: pd.DataFrame, times: TimeArray | None, ids: AnyArray | None) -> pd.DataFrame:
    """The provenance with the time and the id of each cell's row."""
    row = origin["row"].to_numpy()
    for name, cells in (("id", ids), ("time", times)):
        if cells is not None:
            origin.insert(1, name, cells[row])
    return origin
