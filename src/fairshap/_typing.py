"""Type aliases: arrays, tables, and callbacks."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
#: Categories in as few bytes as they need.
AnyCodes: TypeAlias = NDArray[np.integer[Any]]
Bytes: TypeAlias = NDArray[np.uint8]
Sides: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]
Hashes: TypeAlias = NDArray[np.uint64]

#: A pandas, polars or pyarrow frame, or a numpy array: what the user gave and gets back.
Native: TypeAlias = Any

#: Called with the number of rows finished since the last call.
Advance: TypeAlias = Callable[[int], None] | None
