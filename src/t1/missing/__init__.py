"""Which cells to hide: one file per pattern, all in `PATTERNS`, all called the same way by `hide`."""

from t1.arrays import BoolArray
from t1.missing.base import PATTERNS, Pattern, hide
from t1.missing.blackout import blackout
from t1.missing.block import block
from t1.missing.mixed import mixed
from t1.missing.mnar import mnar
from t1.missing.outage import outage
from t1.missing.own import own
from t1.missing.point import point

__all__ = [
    "PATTERNS",
    "BoolArray",
    "Pattern",
    "blackout",
    "block",
    "hide",
    "mixed",
    "mnar",
    "outage",
    "own",
    "point",
]
