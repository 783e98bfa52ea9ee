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


def solve_entropically(
    pairs: Pairs, regularisation: float, typical: float, max_iter: int, tolerance: float
) -> Joint:
    """Return the plan that minimises its cost less the regularisation times its entropy (Sinkhorn).

    The plan is ``exp(f + g - cost / regularisation)``; its scalings f and g are kept as logarithms, so that
    none overflows or vanishes.
    """
    # Imported here: whoever needs no scaling does not wait for the compiler.
    from fairshap._kernels.entropic import masses_of_pairs

    n, m = pairs.shape
    f, g, exponent = np.zeros(n), np.zeros(m), np.empty(len(pairs))
    total = 0
    for step in range(max(0, int(np.ceil(np.log2(typical / regularisation)))), -1, -1):
        np.divide(pairs.cost, regularisation * 2.0**step, out=exponent)
        limits = (_COARSE_ITERATIONS, max(tolerance, _COARSE_TOLERANCE)) if step else (max_iter, tolerance)
        error, used = _scale(pairs, exponent, f, g, *limits)
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
    masses_of_pairs(pairs.start, pairs.other, exponent, f, g)
    cost = float(exponent @ pairs.cost / exponent.sum())
    return Joint(sp.csr_array((exponent, pairs.other, pairs.start), shape=(n, m)), cost, error, None, total)


def _scale(
    pairs: Pairs, exponent: Floats, f: Floats, g: Floats, max_iter: int, tolerance: float
) -> tuple[float, int]:
    """Scale both sides in turn, in place; return the share of the mass that is wrong, and how often."""
    from fairshap._kernels.entropic import masses_of_others, scale_others, scale_rows

    n, m = pairs.shape
    total = np.empty(m)
    scale_others(pairs.start, pairs.other, exponent, f, g, -np.log(m))
    for used in range(1, max_iter + 1):
        scale_rows(pairs.start, pairs.other, exponent, f, g, -np.log(n))
        masses_of_others(pairs.start, pairs.other, exponent, f, g, total)
        error = float(np.abs(total - 1 / m).sum()) / 2
        if error <= tolerance or used == max_iter:
            break
        if (total > 0).all():
            g -= np.log(total * m)
        else:
            scale_others(pairs.start, pairs.other, exponent, f, g, -np.log(m))
    return error, used
