"""DuckDB: a relation in and out."""

import numpy as np
import pytest

import t1
from t1.adapters.duckdb import impute

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")


@pytest.fixture
def connection():
    plant = t1.load_sample().iloc[:200, :3].reset_index(names="time")
    plant["station"] = "a"
    with duckdb.connect() as connection:
        connection.register("given", plant)
        connection.sql("CREATE TABLE plant AS SELECT * REPLACE (CAST(time AS TIMESTAMP) AS time) FROM given")
        connection.sql("UPDATE plant SET EWR_temp = NULL WHERE EWR_temp = 'NaN'::DOUBLE")
        yield connection


def test_a_relation_comes_back_without_gaps(connection):
    relation = connection.sql("SELECT * FROM plant ORDER BY time")
    filled = impute(relation, connection=connection, budget="fast")
    assert isinstance(filled, duckdb.DuckDBPyRelation)
    assert filled.columns == relation.columns and filled.types == relation.types
    old, new = relation.df(), filled.df()
    assert new.notna().all().all() and old.isna().any().any()
    seen = old.notna()
    assert (new[seen].fillna(0) == old.fillna(0)).all().all()
    joined = connection.sql("SELECT count(*) FROM filled JOIN plant USING (time)").fetchall()
    assert joined == [(200,)]  # it goes on as a relation of the same connection


def test_the_default_connection():
    relation = duckdb.sql(
        "SELECT i AS n, CASE WHEN i = 5 THEN NULL ELSE i * 1.5 END AS x FROM range(20) r(i)"
    )
    filled = impute(relation, method="linear", columns=["x"])
    assert np.isclose(float(filled.filter("n = 5").fetchall()[0][1]), 7.5)


def test_what_is_no_relation():
    with pytest.raises(t1.InputError, match="expected a DuckDB relation"):
        impute("SELECT 1")
