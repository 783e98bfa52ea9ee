"""Entropic transport over a list of pairs, in the log domain."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._typing import Codes, Floats, Ints


@compiled
def scale_rows(start: Ints, other: Codes, exponent: Floats, f: Floats, g: Floats, log_mass: float) -> None:
    """Change ``f`` so that the masses exp(f + g - exponent) of each row's pairs sum to exp(log_mass).

    Parameters
    ----------
    start : ndarray of int, shape (rows + 1,)
        Where the pairs of each row begin.
    other : ndarray of int32, shape (pairs,)
        The other row of each pair.
    exponent : ndarray of float64, shape (pairs,)
        The cost over the regularisation.
    f, g : ndarray of float64
        The log scalings of either side.
    log_mass : float
        The logarithm of the mass of each row.
    """
    for i in range(len(f)):
        low, high = start[i], start[i + 1]
        total = 0.0
        for p in range(low, high):
            total += np.exp(f[i] + g[other[p]] - exponent[p])
        if 0.0 < total < np.inf:
            f[i] += log_mass - np.log(total)
        else:
            # The last f is no use as a shift here: take the largest term as one.
            most = -np.inf
            for p in range(low, high):
                most = max(most, g[other[p]] - exponent[p])
            total = 0.0
            for p in range(low, high):
                total += np.exp(g[other[p]] - exponent[p] - most)
            f[i] = log_mass - most - np.log(total)


@compiled
def scale_others(start: Ints, other: Codes, exponent: Floats, f: Floats, g: Floats, log_mass: float) -> None:
    """Change ``g`` so that every row of the other side has the mass exp(log_mass), from any ``g``."""
    most = np.full(len(g), -np.inf)
    total = np.zeros(len(g))
    for i in range(len(f)):
        for p in range(start[i], start[i + 1]):
            most[other[p]] = max(most[other[p]], f[i] - exponent[p])
    for i in range(len(f)):
        for p in range(start[i], start[i + 1]):
            total[other[p]] += np.exp(f[i] - exponent[p] - most[other[p]])
    for j in range(len(g)):
        g[j] = log_mass - most[j] - np.log(total[j])


@compiled
def masses_of_pairs(start: Ints, other: Codes, exponent: Floats, f: Floats, g: Floats, mass: Floats) -> None:
    """Write the mass of each pair, exp(f + g - exponent)."""
    for i in range(len(f)):
        for p in range(start[i], start[i + 1]):
            mass[p] = np.exp(f[i] + g[other[p]] - exponent[p])


@compiled
def sums_of_rows(start: Ints, other: Codes, mass: Floats, scale: Floats, total: Floats) -> None:
    """Write the sum of each row's masses, each times the scale of its other row."""
    for i in range(len(total)):
        total[i] = 0.0
        for p in range(start[i], start[i + 1]):
            total[i] += mass[p] * scale[other[p]]


@compiled
def sums_of_others(start: Ints, other: Codes, mass: Floats, scale: Floats, total: Floats) -> None:
    """Write the sum of each other row's masses, each times the scale of its row."""
    total[:] = 0.0
    for i in range(len(scale)):
        for p in range(start[i], start[i + 1]):
            total[other[p]] += mass[p] * scale[i]
