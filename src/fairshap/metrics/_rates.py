"""Rates by group, the gap between two groups, and its interval: for one model or for many at once."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, studentized_range

from fairshap._typing import Bools, Floats, Ints

#: The columns of counts: rows, rows predicted positive, positive rows, rows that are both.
ROWS, PREDICTED, POSITIVE, HITS = range(4)

#: Each gap is one of a rate: what is counted, and among what.
GAPS = {"dp": (PREDICTED, ROWS), "eo": (HITS, POSITIVE), "pqp": (HITS, PREDICTED)}

#: What intervals cover.
LEVEL = 0.95


def rates(part: NDArray[Any], of: NDArray[Any]) -> Floats:
    """Return the rate of each group, NaN where there is nothing to take the rate of."""
    return np.asarray(np.divide(part, of, out=np.full(part.shape, np.nan), where=of > 0))


def widest_pair(rate: Floats, among: Bools | None = None) -> tuple[Ints, Ints]:
    """Return the groups of the highest and of the lowest rate, along the last axis.

    Parameters
    ----------
    rate : ndarray, shape (..., groups)
        The rates; groups whose rate is NaN are passed over.
    among : ndarray of bool, shape (..., groups), optional
        The groups to choose from; by default all.
    """
    known = ~np.isnan(rate) if among is None else among & ~np.isnan(rate)
    high = np.where(known, rate, -np.inf).argmax(axis=-1)
    low = np.where(known, rate, np.inf).argmin(axis=-1)
    return high, low


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a proportion among n."""
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def newcombe(p: float, n: float, q: float, m: float, z: float) -> tuple[float, float]:
    """Return the ends of Newcombe's interval of the difference p - q of two proportions among n and m.

    His hybrid of two score intervals (Statistics in Medicine 17, 1998, method 10) covers what it says with
    small groups too, where an interval of p - q by its standard error, or by drawing rows anew, is too short.
    """
    low_p, high_p = wilson(p, n, z)
    low_q, high_q = wilson(q, m, z)
    below, above = np.hypot(p - low_p, high_q - q), np.hypot(high_p - p, q - low_q)
    return p - q - below, p - q + above


@cache
def critical_value(n_groups: int = 2) -> float:
    """Return how many standard errors an interval is wide on either side.

    The widest of all pairs of groups is wide by chance alone. With more than two groups the value is Tukey's,
    under which the intervals of all pairs hold at once.

    Examples
    --------
    >>> round(critical_value(2), 3), round(critical_value(5), 3)
    (1.96, 2.728)
    """
    if n_groups <= 2:
        return float(norm.ppf((1 + LEVEL) / 2))
    return float(studentized_range.ppf(LEVEL, n_groups, np.inf) / np.sqrt(2))
