"""DuckDB: a relation in and out."""

from typing import Any

from t1.adapters.library import library
from t1.api import impute as impute_table
from t1.errors import InputError


def impute(relation: Any, *, connection: Any = None, **options: Any) -> Any:
    """Fill a DuckDB relation; `options` are those of `t1.impute` (time, id, budget, ...).

    The result is a relation on `connection`, which should be the one that the given relation came from;
    without it, DuckDB's default one. Types and order of the columns stay; rows come as the relation gives
    them, so order it by time.
    """
    duckdb = library("duckdb")
    library("pyarrow")
    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise InputError(
            f"expected a DuckDB relation, got {type(relation).__name__}",
            cure='Give for example connection.sql("SELECT * FROM plant ORDER BY time").',
        )
    filled = impute_table(relation.to_arrow_table(), **options).data
    return duckdb.from_arrow(filled, connection=connection or duckdb.default_connection())
