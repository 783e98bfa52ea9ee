"""Numbers as their ranks among thresholds, and the rows of a table that tell most about a model."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._typing import Codes, Floats, Ints


@compiled
def rank_numbers(
    values: Floats, cuts: Floats, starts: Ints, strict: bool, single: bool, missing: float
) -> Codes:
    """Return how many thresholds of its column each value is above, -1 where it is missing.

    Parameters
    ----------
    values : ndarray, shape (rows, columns)
        The numbers.
    cuts, starts : ndarray, shape (thresholds,), (columns + 1,)
        The thresholds, sorted, one column's after the other's, and where each column's start.
    strict : bool
        Whether a value at a threshold is above it.
    single : bool
        Whether values are compared in single precision.
    missing : float
        The number that is a missing value, beside NaN.
    """
    ranks = np.empty(values.shape, dtype=np.int32)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if single:
                value = np.float64(np.float32(value))
            if np.isnan(value) or value == missing:
                ranks[i, j] = -1
                continue
            low, high = starts[j], starts[j + 1]
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] < value or (strict and cuts[middle] == value):
                    low = middle + 1
                else:
                    high = middle
            ranks[i, j] = low - starts[j]
    return ranks


@compiled
def note_special(values: Floats, start: int, special: Ints, least: Floats, greatest: Floats) -> None:
    """Note for each column the first row with a missing value, with a zero, the least and the greatest.

    Parameters
    ----------
    values : ndarray, shape (rows, columns)
        Some rows of a table.
    start : int
        The number of the first of them.
    special : ndarray of int, shape (4, columns)
        Those rows, written; -1 while there is none.
    least, greatest : ndarray, shape (columns,)
        The least and the greatest number up to now, written.
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if np.isnan(value):
                if special[0, j] < 0:
                    special[0, j] = start + i
                continue
            if value == 0.0 and special[1, j] < 0:
                special[1, j] = start + i
            if value < least[j]:
                least[j] = value
                special[2, j] = start + i
            if value > greatest[j]:
                greatest[j] = value
                special[3, j] = start + i
