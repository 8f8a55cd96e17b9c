"""The cells of a column as text."""

from __future__ import annotations

import numpy as np

from t1.data.csv.numbers import CELLS, WIDEST
from t1.data.csv.rows import Bytes
from t1.data.csv.scan import Cells


def texts_of(cells: Cells, column: int, encoding: str, limit: int | None = None) -> list[str]:
    """The cells of one column as text."""
    ends = cells.ends[:limit, column]
    first = cells.row_starts if column == 0 else cells.ends[:, column - 1] + 1
    starts = np.minimum(first[:limit], ends)
    width = int(ends[0] - starts[0]) if len(ends) else 0
    if 0 < width <= WIDEST and (ends - starts == width).all():  # time stamps mostly are: many at once
        texts: list[str] = []
        windows = np.lib.stride_tricks.sliding_window_view(cells.data, width)
        for begin in range(0, len(starts), CELLS):
            block = windows[starts[begin : begin + CELLS]]
            if not _is_plain(block):
                break
            texts += block.view(f"S{width}").ravel().astype(f"U{width}").tolist()
        else:
            return texts
    raw = memoryview(cells.data.data)
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [decode(bytes(raw[a:b]), encoding).strip() for a, b in spans]


def _is_plain(block: Bytes) -> bool:
    """Whether cells are plain ASCII without quotes, and have blanks only inside."""
    plain = (block < 128).all() and (block >= ord(" ")).all() and not (block == ord('"')).any()
    return bool(plain and (block[:, [0, -1]] != ord(" ")).all())


def decode(raw: bytes, encoding: str) -> str:
    """A cell's text, without the quotes around it."""
    text = raw.decode(encoding, "replace")
    bare = text.strip(" \t")
    return bare[1:-1].replace('""', '"') if len(bare) >= 2 and bare[0] == bare[-1] == '"' else text
