"""How far a repaired table is from the original."""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from scipy.stats import wasserstein_distance

from fairshap._frames import Table
from fairshap._kernels.scaling import mean_and_scale
from fairshap._typing import Floats, Native


class Fidelity(NamedTuple):
    """How far the columns moved; see :func:`data_fidelity`."""

    mean: float
    std: float
    columns: dict[Hashable, float]


def data_fidelity(X_before: Native, X_after: Native) -> Fidelity:
    """Return how far each column's distribution moved, with the mean and std over the columns.

    For a numeric column it is the one-dimensional Wasserstein distance between the old and the new
    values; in a frame both are first divided by the old standard deviation, in an array they count as
    given. For a category it is half the sum of the absolute changes of the frequencies, which is the
    Wasserstein distance when any two categories are one apart. A missing value is a category in
    either: its share of the column counts as such.

    Parameters
    ----------
    X_before, X_after : data frame or array
        The original table and the repaired one, with the same rows and columns.

    Returns
    -------
    Fidelity
        ``mean`` and ``std`` over the columns, and ``columns``, the distance of each.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"colour": ["red", "red", "blue", "blue"]})
    >>> after = pd.DataFrame({"colour": ["red", "red", "red", "blue"]})
    >>> data_fidelity(before, after).mean
    0.25
    """
    both, n = _both(X_before, X_after)
    moved: dict[Hashable, float] = {}
    for column, name in enumerate(both.names):
        cells = both.column(column)
        if both.is_numeric(column):
            moved[name] = _numeric_distance(cells, n, both.is_array)
        else:
            old, new = (np.bincount(part + 1, minlength=cells.max() + 2) for part in (cells[:n], cells[n:]))
            moved[name] = float(np.abs(old - new).sum() / (2 * n))
    distances = np.array(list(moved.values()))
    return Fidelity(float(distances.mean()), float(distances.std()), moved)


def training_adjustment_rate(X_before: Native, X_after: Native) -> float:
    """Return the share of cells that were changed.

    Parameters
    ----------
    X_before, X_after : data frame or array
        The original table and the repaired one, with the same rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> training_adjustment_rate(np.zeros((2, 2)), np.array([[0, 1], [0, 0]]))
    0.25
    """
    both, n = _both(X_before, X_after)
    return float(both.differ(np.arange(n), np.arange(n) + n).mean())


def _both(X_before: Native, X_after: Native) -> tuple[Table, int]:
    """Return one table with the old rows and below them the new ones, and how many there are."""
    before = Table.read(X_before)
    return before.above(X_after), before.n_rows


def _numeric_distance(numbers: Floats, n: int, as_given: bool) -> float:
    old, new = (part[~np.isnan(part)] for part in (numbers[:n], numbers[n:]))
    missing = abs(len(old) - len(new)) / n
    if not len(old) or not len(new):
        return missing
    scale = 1.0 if as_given else float(mean_and_scale(old[:, None])[1][0])
    if len(old) == len(new):
        # The best way from as many values to as many is in their order: two quick sorts.
        distance = float(np.abs(np.sort(old) - np.sort(new)).mean())
    else:
        distance = float(wasserstein_distance(old, new))
    return distance / scale + missing
