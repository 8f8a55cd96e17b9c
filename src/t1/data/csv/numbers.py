"""Numbers in the cells of a text table: read all of them, a few rows at a time, and write the fills."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t1.arrays import BoolArray, FloatArray, IntArray
from t1.data.csv.cells import MARKERS
from t1.data.csv.layout import QUOTE
from t1.data.csv.rows import Bytes
from t1.data.csv.scan import PAD, Cells

CELLS = 1 << 17  # cells at a time: bounds the memory that reading and writing need
WIDEST = PAD - 16  # bytes; longer cells are read one by one
MOST_DECIMALS = 20  # more are not written out but as 1e-30

POWERS = 10.0 ** np.arange(MOST_DECIMALS + 2)  # exact up to 1e22

OTHER, DIGIT, POINT, SIGN, EXPONENT, END = range(6)
LONG_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Numbers:
    """What the cells hold: all columns, also those that are no numbers."""

    values: FloatArray  # (rows, columns), NaN where there is no finite number
    n_numbers: IntArray  # (columns,)
    n_texts: IntArray  # (columns,), cells that are neither numbers nor missing
    first_text: IntArray  # (columns,), the row of the first one, or -1
    decimals: IntArray  # (columns,)
    places: IntArray  # (columns, MOST_DECIMALS + 2), how many numbers have so many decimals


def read_numbers(cells: Cells, decimal: bytes, missing_values: Sequence[bytes]) -> Numbers:
    """Read every cell as a number, a missing one, or text."""
    n_rows, n_columns = cells.ends.shape
    classes = _classes(decimal)
    markers = sorted({*(marker.encode() for marker in MARKERS), *(m.strip() for m in missing_values)})
    plain = [m.strip().replace(decimal, b".") for m in missing_values]
    codes = [float(m) for m in plain if LONG_NUMBER.fullmatch(m)]
    values = np.full((n_rows, n_columns), np.nan)
    n_texts = np.zeros(n_columns, dtype=np.int64)
    first_text = np.full(n_columns, -1, dtype=np.int64)
    histogram = np.zeros((n_columns, MOST_DECIMALS + 2), dtype=np.int64)
    step = max(1, CELLS // n_columns)
    for begin in range(0, n_rows, step):
        rows = slice(begin, min(begin + step, n_rows))
        found, text, places = _read_block(cells, rows, decimal, classes, markers, codes)
        values[rows] = found.reshape(-1, n_columns)
        number = np.flatnonzero(~np.isnan(found))
        slot = (number % n_columns) * histogram.shape[1] + places[number]
        histogram += np.bincount(slot, minlength=histogram.size).reshape(histogram.shape)
        at = np.flatnonzero(text)[::-1]  # backwards: the first one is kept
        new = np.full(n_columns, -1, dtype=np.int64)
        new[at % n_columns] = at // n_columns + begin
        first_text = np.where(first_text < 0, new, first_text)
        n_texts += np.bincount(at % n_columns, minlength=n_columns)
    return Numbers(values, histogram.sum(axis=1), n_texts, first_text, usual_decimals(histogram), histogram)


def usual_decimals(histogram: IntArray) -> IntArray:
    """The usual decimals of columns, of which so many numbers have 0, 1, 2 ... of them (columns, decimals).

    The most that are common: a tenth of the cells that have any, if one cell in a hundred has.
    """
    fractions = histogram[:, 1:].sum(axis=1)
    common = histogram >= np.maximum(0.1 * fractions, 1)[:, None]
    common[:, 0] = True
    most = histogram.shape[1] - 1 - common[:, ::-1].argmax(axis=1)
    return np.where(fractions >= 0.01 * histogram.sum(axis=1), most, 0)


def _classes(decimal: bytes) -> Bytes:
    classes = np.full(256, OTHER, dtype=np.uint8)
    classes[0] = END
    classes[ord("0") : ord("9") + 1] = DIGIT
    classes[decimal[0]] = POINT
    classes[[ord("+"), ord("-")]] = SIGN
    classes[[ord("e"), ord("E")]] = EXPONENT
    return classes


def inner_spans(data: Bytes, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """The spans without blanks around them, then quotes, then blanks again."""
    start, end = _trim(data, start, end)
    quoted = (end - start >= 2) & (data[start] == QUOTE) & (data[end - 1] == QUOTE)
    if quoted.any():
        start, end = _trim(data, start + quoted, end - quoted)
    return start, end


def _trim(data: Bytes, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    while (blank := (start < end) & _is_blank(data[start])).any():
        start = start + blank
    while (blank := (start < end) & _is_blank(data[end - 1])).any():
        end = end - blank
    return start, end


def _is_blank(byte: Bytes) -> BoolArray:
    return np.asarray((byte == ord(" ")) | (byte == ord("\t")))


def _read_block(
    cells: Cells,
    rows: slice,
    decimal: bytes,
    classes: Bytes,
    markers: Sequence[bytes],
    codes: Sequence[float],
) -> tuple[FloatArray, BoolArray, IntArray]:
    """Some rows' numbers, which cells are text, and how many decimals they have (cells,)."""
    data = cells.data
    start, end = inner_spans(data, cells.starts(rows).ravel(), cells.ends[rows].ravel())
    length = end - start
    numbers = np.full(len(start), np.nan)
    places = np.zeros(len(start), dtype=np.int64)
    short = np.flatnonzero((length > 0) & (length <= WIDEST))
    if len(short):
        width = int(length[short].max())
        letters = np.lib.stride_tricks.sliding_window_view(data, width)[start[short]]  # (cells, width)
        letters[np.arange(width) >= length[short, None]] = 0
        kinds = classes[letters]
        valid, decimals, plain = _check(kinds, length[short], letters)
        numbers[short[plain]] = _plain_numbers(letters[plain], kinds[plain], decimals[plain])
        good = letters[valid & ~plain]
        if len(good):
            if decimal != b".":
                good[good == decimal[0]] = ord(".")
            numbers[short[valid & ~plain]] = good.view(f"S{width}").ravel().astype(np.float64)
        places[short] = decimals
    for i in np.flatnonzero(length > WIDEST).tolist():
        raw = data[start[i] : end[i]].tobytes()
        with_point = raw.replace(decimal, b".") if decimal != b"." and b"." not in raw else raw
        if LONG_NUMBER.fullmatch(with_point):
            numbers[i] = float(with_point)
            places[i] = MOST_DECIMALS + 1
    numbers[np.isinf(numbers)] = np.nan  # text, then: 1e999 is no number to learn from
    text = np.isnan(numbers) & (length > 0)
    _drop_markers(data, start, length, text, markers)
    for code in codes:
        numbers[numbers == code] = np.nan
    return numbers, text, places


def _plain_numbers(letters: Bytes, kinds: Bytes, decimals: IntArray) -> FloatArray:
    """Numbers of at most 15 digits: digits and power of ten are exact, so their quotient is right."""
    digits = np.zeros(len(letters), dtype=np.int64)
    for column, kind in zip(letters.T, kinds.T, strict=True):
        digits = np.where(kind == DIGIT, digits * 10 + (column & 15), digits)
    numbers = digits / POWERS[decimals]
    return np.where(letters[:, 0] == ord("-"), -numbers, numbers)


def _drop_markers(
    data: Bytes, start: IntArray, length: IntArray, text: BoolArray, markers: Sequence[bytes]
) -> None:
    for size in {len(marker) for marker in markers} - {0}:
        at = np.flatnonzero(text & (length == size))
        if not len(at):
            continue
        if size > PAD:
            words = np.array([data[i : i + size].tobytes() for i in start[at].tolist()], dtype=f"S{size}")
        else:
            words = data[start[at, None] + np.arange(size, dtype=start.dtype)].view(f"S{size}").ravel()
        for marker in markers:
            if len(marker) == size:
                text[at[words == marker]] = False


def _check(kinds: Bytes, length: IntArray, letters: Bytes) -> tuple[BoolArray, IntArray, BoolArray]:
    """Which cells (cells, width) are numbers, how many decimals they have, and which are short and plain."""
    point = kinds == POINT
    n_points = point.sum(axis=1)
    digit = kinds == DIGIT
    sign = kinds == SIGN
    n_digits = digit.sum(axis=1)
    plain = n_digits + n_points + sign[:, 0] == length  # digits, a point, and a sign in front: nothing else
    valid = plain & (n_points <= 1) & (n_digits > 0)
    point_at = np.where(n_points > 0, point.argmax(axis=1), length - 1)
    places = np.minimum(length - 1 - point_at, MOST_DECIMALS + 1).astype(np.int64)
    short = valid & (n_digits <= 15)
    for_exponent = np.flatnonzero(~valid & (kinds == EXPONENT).any(axis=1) & (n_digits >= 2))
    if len(for_exponent):
        kinds, length = kinds[for_exponent], length[for_exponent]
        point, point_at = point[for_exponent], point_at[for_exponent]
        e_at = (kinds == EXPONENT).argmax(axis=1)
        column = np.arange(kinds.shape[1])
        before = column < e_at[:, None]
        head = (kinds == DIGIT) & before
        tail = (kinds == DIGIT) & ~before
        n_signs = (kinds[:, 0] == SIGN).astype(int) + (
            kinds[np.arange(len(e_at)), np.minimum(e_at + 1, length - 1)] == SIGN
        )
        n_points = (point & before).sum(axis=1)
        good = head.any(axis=1) & tail.any(axis=1) & (n_points <= 1)
        good &= head.sum(axis=1) + tail.sum(axis=1) + n_signs + n_points + 1 == length
        valid[for_exponent] = good
        for i in np.flatnonzero(good).tolist():
            power = int(letters[for_exponent[i], e_at[i] + 1 : length[i]].tobytes())
            fraction = int(e_at[i] - 1 - point_at[i]) if n_points[i] else 0
            places[for_exponent[i]] = min(max(fraction - power, 0), MOST_DECIMALS + 1)
    return valid, places, short


def write_numbers(numbers: FloatArray, decimals: int | None, decimal: bytes) -> list[bytes]:
    """Numbers as text with so many decimals, or as many as they need; never a minus before a zero."""
    if decimals is None or decimals > MOST_DECIMALS:
        texts = [repr(number) for number in numbers.tolist()]
    else:
        small = np.abs(numbers) <= 0.5 * 10.0**-decimals
        pattern = f"%.{decimals}f"
        texts = [
            pattern % number if -1e17 < number < 1e17 else repr(number)
            for number in np.where(small, 0.0, numbers).tolist()
        ]
    if decimal != b".":
        return [text.encode().replace(b".", decimal) for text in texts]
    return [text.encode() for text in texts]
