"""Exact nearest neighbours of mixed rows, block by block."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

from fairshap._typing import Bools, Codes, Floats, Ints

# Two one-hot vectors of different categories are sqrt(2) apart.
MISMATCH = 2.0

# The distances held at a time: 4 Mi of them are 32 MiB.
_BLOCK_CELLS = 1 << 22


def squared_distances(
    numbers: Floats, codes: Codes, other_numbers: Floats, other_codes: Codes, holes: Bools
) -> Floats:
    """Return the squared distance of every row of the first block to every row of the second.

    ``sum((a - b)^2)`` over the numbers plus ``MISMATCH`` for each category that differs and for
    each number that is present on one side and missing (NaN) on the other. ``holes`` says which
    columns of numbers may have missing ones; it must be the same for all blocks of a table, because the
    order of summation follows it, and ties follow the last bit.
    """
    whole = ~holes
    if whole.any():
        squared: Floats = cdist(numbers[:, whole], other_numbers[:, whole], "sqeuclidean")
    else:
        squared = np.zeros((len(numbers), len(other_numbers)))
    for column in np.flatnonzero(holes):
        a, b = numbers[:, column, None], other_numbers[None, :, column]
        gap = (a - b) ** 2
        one_missing = np.isnan(a) != np.isnan(b)
        squared += np.where(one_missing, MISMATCH, np.nan_to_num(gap))
    mismatches = np.zeros(squared.shape, dtype=np.int32)
    for a, b in zip(codes.T, other_codes.T, strict=True):
        mismatches += a[:, None] != b[None, :]
    return squared + MISMATCH * mismatches


def nearest_both_ways(
    numbers: Floats, codes: Codes, other_numbers: Floats, other_codes: Codes
) -> tuple[Ints, Floats, Ints, Floats]:
    """Return each row's nearest row on the other side, in both directions, in one pass.

    Returns
    -------
    nearest, squared : ndarray, shape (rows of the first block,)
        The nearest row of the second block and its squared distance; ties go to the lowest row.
    other_nearest, other_squared : ndarray, shape (rows of the second block,)
        The same, the other way round.
    """
    n, m = len(numbers), len(other_numbers)
    holes: Bools = np.asarray(np.isnan(numbers).any(axis=0) | np.isnan(other_numbers).any(axis=0))
    nearest = np.empty(n, dtype=np.int64)
    squared = np.empty(n)
    other_nearest = np.zeros(m, dtype=np.int64)
    other_squared = np.full(m, np.inf)
    for block in _blocks(n, m):
        distances = squared_distances(numbers[block], codes[block], other_numbers, other_codes, holes)
        nearest[block] = distances.argmin(axis=1)
        squared[block] = distances[np.arange(len(distances)), nearest[block]]
        row = distances.argmin(axis=0)
        best = distances[row, np.arange(m)]
        # Strictly nearer: of equally near rows the first block's, so the lowest, stays.
        nearer = best < other_squared
        other_squared[nearer] = best[nearer]
        other_nearest[nearer] = row[nearer] + block.start
    return nearest, squared, other_nearest, other_squared


def _blocks(n: int, m: int) -> Iterator[slice]:
    size = max(1, _BLOCK_CELLS // max(m, 1))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
