"""64-bit fingerprints of cells, which add up to fingerprints of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._typing import Hashes


def mix64(keys: Hashes) -> Hashes:
    """Return well-scattered fingerprints of 64-bit keys (the finalizer of splitmix64)."""
    h = keys + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def cell_hashes(cells: NDArray[Any], columns: NDArray[np.int64]) -> Hashes:
    """Return one fingerprint for each cell of a block (rows, columns) of numbers or codes.

    Equal cells of one column have equal fingerprints: zero has no sign and all NaN are one.
    The fingerprint of a row is the sum of its cells', modulo 2**64, so that replacing one cell
    changes it by a difference.
    """
    if cells.dtype.kind == "f":
        plain = np.where(np.isnan(cells), np.nan, cells + 0.0).astype(np.float64)
        keys = plain.view(np.uint64)
    else:
        keys = cells.astype(np.int64).view(np.uint64)
    salt = mix64(columns.astype(np.uint64))
    return mix64(keys ^ salt)
