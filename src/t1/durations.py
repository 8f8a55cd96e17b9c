"""Lengths of time in words."""


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> duration(45), duration(1800), duration(3720)
    ('45 s', '30 min', '1 h 02 min')
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
