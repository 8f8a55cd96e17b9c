"""The columns <name>_lo and <name>_hi that intervals add to a file."""

from collections.abc import Iterable, Iterator, Mapping

from t1.arrays import FloatArray
from t1.fill.filled import Filled

ENDS = ("lo", "hi")


def band_names(columns: Iterable[str], level: float | None) -> list[str]:
    """The names of the columns that intervals of some columns add; none without a level."""
    return [] if level is None else [f"{name}_{end}" for name in columns for end in ENDS]


class Bands(Mapping[str, FloatArray]):
    """The intervals of some columns, given by their positions, each made when it is asked for."""

    def __init__(self, filled: Filled, columns: Iterable[int]) -> None:
        self.filled = filled
        ends = () if filled.missing.lo is None else ENDS
        self.names = {f"{filled.columns[j]}_{end}": (end, j) for j in columns for end in ends}

    def __getitem__(self, name: str) -> FloatArray:
        return self.filled.band(*self.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
