"""How the system's memory allocator behaves while a network trains."""

import ctypes
import sys
from functools import cache

M_TRIM_THRESHOLD = -1  # the names and numbers of malloc.h
M_MMAP_THRESHOLD = -3
LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc refuses more


def give_back_memory() -> None:
    """Hand freed memory back to the system now, where there is glibc."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@cache
def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for the next step; True if it will, False where there is no glibc.

    By default it gives every 5 MB activation back to the system and pays page faults to get it again,
    which is 15 to 20 % of a training step.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    raised = mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)
    return bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) and raised)
