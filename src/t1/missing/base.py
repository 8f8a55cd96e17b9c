"""What all patterns share: the registry, one way to call any of them, and the checks of their settings.

A pattern takes `observed` (..., time, vars), a table or a batch of windows, and returns `hidden` of the same
shape: True where an observed cell is to be hidden. Leading axes are windows, each drawn on its own.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from t1.arrays import BoolArray
from t1.errors import InputError
from t1.registry import Registry

Pattern = Callable[..., BoolArray]

PATTERNS: Registry[Pattern] = Registry("missing pattern")


def hide(
    name: str,
    observed: BoolArray,
    *,
    rng: Generator,
    values: npt.NDArray[Any] | None = None,
    donor_observed: BoolArray | None = None,
    **settings: Any,
) -> BoolArray:
    """Draw a pattern by name on `observed` (..., time, vars), giving it the values or donor it needs."""
    pattern = PATTERNS[name]
    known = _parameters(pattern)
    if observed.dtype != np.bool_ or observed.ndim < 2:
        raise InputError(
            "observed must be a bool mask (..., time, vars), "
            f"got {observed.dtype} of shape {observed.shape}.\nUse ~np.isnan(values)."
        )
    own = known - {"observed", "rng", "values", "donor_observed"}
    for setting in settings:
        if setting not in own:
            raise InputError(
                f"missing pattern {name!r} has no setting {setting!r}.\n"
                f"It knows: {', '.join(sorted(own)) or 'none'}."
            )
    for context, given in (("values", values), ("donor_observed", donor_observed)):
        if context in known:
            settings[context] = given
    return pattern(observed, rng=rng, **settings)


@lru_cache
def _parameters(pattern: Pattern) -> frozenset[str]:
    return frozenset(inspect.signature(pattern).parameters)


def check_share(name: str, share: float) -> None:
    """Refuse a rate or share that is not between 0 and 1."""
    if not 0 <= share <= 1:
        raise InputError(f"{name} must be between 0 and 1, got {share}.\nGive 0.3 for 30 %.")


def uniform(shape: tuple[int, ...], rng: Generator) -> npt.NDArray[np.float32]:
    """Numbers in [0, 1); single precision is fine enough for any rate, and twice as fast."""
    return rng.random(shape, dtype=np.float32)
