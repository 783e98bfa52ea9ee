"""Rows of a space as points, for whatever takes numbers only."""

import numpy as np
from numpy.typing import NDArray

from fairshap._typing import Floats
from fairshap.exceptions import InputError
from fairshap.matching._space import Space

Points = NDArray[np.float32]


def embed(space: Space) -> Points:
    """Return points whose Euclidean distances are those of the space, up to rounding.

    Numbers are centred and scaled, categories one-hot and scaled. A missing number becomes the mean, beside a
    column that says that it is missing: two rows of which one lacks it are then as far apart as in the space
    on average over the numbers that it may be compared with, not one by one.
    """
    costs, holes = space.costs, np.flatnonzero(space.holes)
    codes = [np.unique(column, return_inverse=True)[1] for column in space.codes.T]
    sizes = [int(column.max(initial=-1)) + 1 for column in codes]
    n, n_numbers = space.numbers.shape
    points = np.zeros((n, n_numbers + len(holes) + sum(sizes)), dtype=np.float32)
    spread = np.zeros(n_numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(n_numbers):
            points[:, k], spread[k] = _centred(space.numbers[:, k], costs.weights[k])
    for h, k in enumerate(holes.tolist()):
        missing = np.isnan(space.numbers[:, k])
        points[missing, n_numbers + h] = np.sqrt(max(0.0, costs.lacking[k] - spread[k]))
    start = n_numbers + len(holes)
    for column, size, cost in zip(codes, sizes, costs.mismatch, strict=True):
        points[np.arange(n), start + column] = np.sqrt(cost / 2)
        start += size
    if not np.isfinite(points).all():
        raise InputError("the numbers of X are too large for this: scale the columns.")
    return points


def _centred(numbers: Floats, weight: float) -> tuple[Floats, float]:
    """Return numbers less their mean, 0 where one is missing, and the mean of their squares."""
    present = ~np.isnan(numbers)
    if not present.any():
        return np.zeros(len(numbers)), 0.0
    centred = np.where(present, numbers - numbers[present].mean(), 0.0) * np.sqrt(weight)
    return centred, float(np.square(centred[present]).mean())
