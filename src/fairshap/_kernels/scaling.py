"""Means and scales of columns with missing values."""

import numpy as np

from fairshap._typing import Floats


def mean_and_scale(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the population standard deviation of each column, missing values left out.

    The scale of a constant column is 1, so that its rounding error is not blown up.
    """
    present = ~np.isnan(numbers)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, numbers, 0.0).sum(axis=0) / count
    scale = np.sqrt(np.where(present, (numbers - mean) ** 2, 0.0).sum(axis=0) / count)
    return mean, np.where(scale > 1e-12 * np.maximum(1.0, np.abs(mean)), scale, 1.0)
