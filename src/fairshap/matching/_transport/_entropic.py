"""Entropic transport between two sides, in the log domain."""

import numpy as np
import scipy.sparse as sp

from fairshap._messages import warn
from fairshap._typing import Floats
from fairshap.exceptions import NotConvergedWarning
from fairshap.matching._transport._joint import Joint
from fairshap.matching._transport._pairs import Pairs

# Larger regularisations come first, each half the one before: they bring the scalings near.
_COARSE_TOLERANCE, _COARSE_ITERATIONS = 1e-2, 100
# How large scalings may become beside exponentials, and sums of these that are too small to divide by.
_LARGEST, _VANISHING = 100.0, 1e-200


def solve_entropically(
    pairs: Pairs, regularisation: float, typical: float, max_iter: int, tolerance: float
) -> Joint:
    """Return the plan that minimises its cost less the regularisation times its entropy (Sinkhorn).

    The plan is ``exp(f + g - cost / regularisation)``; f and g are kept as logarithms, so that nothing
    overflows or vanishes.
    """
    # Imported here: whoever needs no scaling does not wait for the compiler.
    from fairshap._kernels.entropic import masses_of_pairs

    n, m = pairs.shape
    f, g, exponent, mass = np.zeros(n), np.zeros(m), np.empty(len(pairs)), np.empty(len(pairs))
    total = 0
    for step in range(max(0, int(np.ceil(np.log2(typical / regularisation)))), -1, -1):
        np.divide(pairs.cost, regularisation * 2.0**step, out=exponent)
        limits = (_COARSE_ITERATIONS, max(tolerance, _COARSE_TOLERANCE)) if step else (max_iter, tolerance)
        error, used = _scale(pairs, exponent, mass, f, g, *limits)
        total += used
        if step:
            # The same potentials in units of half the regularisation.
            f *= 2.0
            g *= 2.0
    if error > tolerance:
        warn(
            f"Sinkhorn's scalings for {n} x {m} rows have not settled after max_iter={max_iter}: {error:.2g} "
            f"of the mass is at the wrong rows, over tolerance={tolerance:g}. Raise max_iter, "
            f"regularisation{'' if len(pairs) == n * m else ', neighbours'} or tolerance.",
            NotConvergedWarning,
        )
    masses_of_pairs(pairs.start, pairs.other, exponent, f, g, mass)
    cost = float(np.einsum("i,i->", mass, pairs.cost) / mass.sum())
    return Joint(sp.csr_array((mass, pairs.other, pairs.start), shape=(n, m)), cost, error, None, total)


def _scale(
    pairs: Pairs, exponent: Floats, mass: Floats, f: Floats, g: Floats, max_iter: int, tolerance: float
) -> tuple[float, int]:
    """Scale both sides in turn, in place; return the share of the mass that is wrong, and how often.

    ``mass`` is room for the plan. Exponentials are dear: as long as the scalings since they were last taken
    are small, they are kept beside them and multiplied.
    """
    from fairshap._kernels.entropic import (
        masses_of_pairs,
        scale_others,
        scale_rows,
        sums_of_others,
        sums_of_rows,
    )

    (n, m), lists = pairs.shape, (pairs.start, pairs.other)
    sums, other_sums, used = np.empty(n), np.empty(m), 1
    scale_others(*lists, exponent, f, g, -np.log(m))
    scale_rows(*lists, exponent, f, g, -np.log(n))
    while True:
        masses_of_pairs(*lists, exponent, f, g, mass)
        u, v = np.ones(n), np.ones(m)
        while _is_moderate(u) and _is_moderate(v):
            sums_of_others(*lists, mass, u, other_sums)
            error = float(np.abs(other_sums * v - 1 / m).sum()) / 2
            is_done = error <= tolerance or used == max_iter
            if is_done or not (other_sums > _VANISHING).all():
                break
            used += 1
            v = 1 / (m * other_sums)
            sums_of_rows(*lists, mass, v, sums)
            u = 1 / (n * sums)
        f += np.log(u)
        g += np.log(v)
        if is_done:
            return error, used
        if not (other_sums > _VANISHING).all():
            used += 1
            scale_others(*lists, exponent, f, g, -np.log(m))
            scale_rows(*lists, exponent, f, g, -np.log(n))


def _is_moderate(scale: Floats) -> bool:
    return bool(scale.min() > 1 / _LARGEST and scale.max() < _LARGEST)
