"""TEMPORARY."""

from typing import ClassVar

from t1.methods.base import LeftOut
from t1.methods.t1 import T1Fill


class TunedFill(T1Fill):
    name: ClassVar[str] = "t1 tuned"

    @classmethod
    def tune(cls, start, panel, learning):
        raise LeftOut("not tuned yet")
