"""The encoding of a text file. Wide ones are read as UTF-8 and written back as they came."""

from __future__ import annotations

import codecs

from t1.errors import InputError

PIECE = 1 << 20  # bytes that are checked at once


def narrow(raw: bytes) -> tuple[bytes, str | None]:
    """UTF-16 as UTF-8, its mark included, and the encoding to go back to; anything else as it is."""
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) and raw[4:8].count(0) == 3:
        raise InputError("the file is UTF-32.", cure="Save it as UTF-8.")
    codec = None
    if raw.startswith(codecs.BOM_UTF16_LE):
        codec = "utf-16-le"
    elif raw.startswith(codecs.BOM_UTF16_BE):
        codec = "utf-16-be"
    elif len(raw) >= 8 and len(raw) % 2 == 0:  # text without a mark: every other byte is 0
        head = raw[:2000]
        zeros = head[1::2].count(0), head[::2].count(0)
        if zeros[0] > 0.4 * len(head) and not zeros[1]:
            codec = "utf-16-le"
        elif zeros[1] > 0.4 * len(head) and not zeros[0]:
            codec = "utf-16-be"
    if codec is None:
        return raw, None
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as error:
        raise InputError(f"the file is damaged UTF-16: {error.reason}.", cure="Save it as UTF-8.") from None
    return text.encode(), codec


def find_encoding(raw: bytes, size: int, wanted: str | None, problems: list[str]) -> tuple[str, int]:
    """The encoding, and where the text starts behind a byte order mark."""
    if (at := raw.find(b"\0", 0, size)) >= 0:
        line = raw.count(b"\n", 0, at) + 1
        raise InputError(
            f"line {line} holds a NUL byte, so this is no text file.", cure="Save it as CSV in UTF-8."
        )
    start = 3 if raw.startswith(codecs.BOM_UTF8) else 0
    if wanted is None and raw.isascii():
        return "utf-8", start
    try:
        codec = codecs.lookup(wanted or "utf-8").name
    except LookupError:
        raise InputError(
            f"the encoding {wanted!r} is unknown.", cure="Try utf-8, latin-1 or cp1252.", option="encoding"
        ) from None
    if codec != "utf-8-sig" and not _is_like_ascii(codec):
        raise InputError(
            f"the encoding {wanted!r} is not supported.",
            cure="Save the file as UTF-8 first.",
            option="encoding",
        )
    codec = "utf-8" if codec == "utf-8-sig" else codec
    try:
        decoder = codecs.getincrementaldecoder(codec)()
        for begin in range(start, size, PIECE):
            decoder.decode(raw[begin : min(begin + PIECE, size)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if wanted is not None:
            raise InputError(
                f"the file is not {wanted}: {error.reason}.", cure="Try latin-1.", option="encoding"
            ) from None
        problems.append("the file is not UTF-8; its names and texts were read as Latin-1.")
        return "latin-1", start
    return codec, start


def _is_like_ascii(codec: str) -> bool:
    try:
        return '0,;\t|"\n'.encode(codec) == b'0,;\t|"\n'
    except (LookupError, UnicodeError):  # base64 and the like are no text encodings
        return False
