"""polars: the namespace `t1` of lazy frames and data frames."""

import polars as pl
import pytest

import t1
import t1.adapters.polars


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.from_pandas(t1.load_sample().iloc[:200, :4].reset_index()).with_columns(
        pl.Series("n", [None if i % 9 == 4 else i for i in range(200)], dtype=pl.Int16)
    )


def test_a_lazy_frame_is_filled_when_it_is_collected(frame):
    lazy = frame.lazy().t1.impute(budget="fast")
    assert isinstance(lazy, pl.LazyFrame)
    filled = lazy.collect()
    assert filled.schema == frame.schema and filled.null_count().sum_horizontal().item() == 0
    assert filled.equals(t1.impute(frame, budget="fast").data) and filled.equals(
        frame.t1.impute(budget="fast")
    )


def test_the_optimiser_moves_nothing_before_the_fill(frame):
    whole = frame.t1.impute(method="regression", budget="fast")
    name = frame.columns[1]
    late = frame.lazy().t1.impute(method="regression", budget="fast").filter(pl.col("n") > 150).select(name)
    assert late.collect().equals(whole.filter(pl.col("n") > 150).select(name))
    head = frame.lazy().t1.impute(method="regression", budget="fast").head(20)
    assert head.collect().equals(whole.head(20))


def test_a_bad_option_is_told(frame):
    with pytest.raises((t1.InputError, pl.exceptions.ComputeError), match="no column 'nothing'"):
        frame.lazy().t1.impute(time="nothing").collect()
