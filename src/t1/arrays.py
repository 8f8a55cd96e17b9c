"""The array types of this package, by what they hold."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

AnyArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.intp]
TimeArray: TypeAlias = npt.NDArray[np.datetime64]
Codes: TypeAlias = npt.NDArray[np.int8]  # a small code for each cell
Labels: TypeAlias = npt.NDArray[np.int16]  # one of some thousand names for each cell
Lengths: TypeAlias = npt.NDArray[np.int32]  # a number of rows for each cell
