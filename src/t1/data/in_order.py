"""A table whose time stamps do not tell its rows apart: the rows are taken in their order, and that is told."""

from __future__ import annotations

from dataclasses import replace

from t1.data.data_file import DataFile
from t1.data.ids import contradicting, told_in_order


def in_order(file: DataFile) -> DataFile:
    """The file without its time where many rows of a series share their time stamps and say different things.

    On a clock they would become one row, and a gap would get what another row holds.
    """
    if file.time is None:
        return file
    n = contradicting(file.time, file.ids, file.values)
    if not n:
        return file
    why = dict.fromkeys(file.time_columns, "does not tell the rows apart")
    return replace(
        file,
        time=None,
        time_columns=(),
        time_format=None,
        passed_through={**file.passed_through, **why},
        problems=[*file.problems, told_in_order(n, len(file.values), file.time_column or "the time")],
    )
