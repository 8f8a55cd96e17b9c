"""polars: `import t1.adapters.polars`, then `frame.t1.impute()` on lazy frames and on data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from t1.adapters.library import library
from t1.api import impute as impute_table

if TYPE_CHECKING:
    import polars as pl
else:
    pl = library("polars")


@pl.api.register_lazyframe_namespace("t1")
class T1LazyFrame:
    """What `frame.t1` is on a lazy frame."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def impute(self, **options: Any) -> pl.LazyFrame:
        """The frame with its gaps filled when it is collected; `options` are those of `t1.impute`.

        A fill looks at all rows and columns, so the optimiser moves no filter and no selection before it.
        """
        return self._frame.map_batches(
            lambda frame: impute_table(frame, **options).data,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )


@pl.api.register_dataframe_namespace("t1")
class T1DataFrame:
    """What `frame.t1` is on a data frame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def impute(self, **options: Any) -> pl.DataFrame:
        """The frame with its gaps filled; `options` are those of `t1.impute`."""
        filled: pl.DataFrame = impute_table(self._frame, **options).data
        return filled
