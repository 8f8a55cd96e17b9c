"""Large tables a few columns at a time."""

from collections.abc import Iterator

BLOCK = 1 << 19  # cells that are worked on at once


def column_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """The columns of a table (time, vars), a few at a time: what is made of them on the way stays small."""
    step = max(1, BLOCK // max(shape[0], 1))
    return (slice(begin, min(begin + step, shape[1])) for begin in range(0, shape[1], step))
