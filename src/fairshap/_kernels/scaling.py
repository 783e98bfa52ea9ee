"""Means and scales of columns with missing values."""

import numpy as np

from fairshap._typing import Floats


def mean_and_scale(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the population standard deviation of each column, missing values left out.

    The scale of a constant column is 1, so that its rounding error is not blown up.
    """
    present = ~np.isnan(numbers)
    count = np.maximum(present.sum(axis=0), 1)
    # In units of the largest value, so that no square of a tiny or huge number is lost.
    size = np.where(present, np.abs(numbers), 0.0).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    units = np.where(present, numbers, 0.0) / size
    mean = units.sum(axis=0) / count
    scale = np.sqrt((np.where(present, units - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean * size, np.where(scale > 1e-12, scale * size, 1.0)
