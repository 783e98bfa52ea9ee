"""The joint plan of two sides of a stratum, and what it says about each row."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fairshap._typing import Floats, Ints
from fairshap.matching._matcher import Found
from fairshap.matching._transport._memory import check_room
from fairshap.matching._transport._pairs import Problem, squared_of

# The pairs that are sorted at a time.
_CHUNK = 1 << 20
# What a kept pair takes until it stands in the match plan.
_BYTES = 150


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """How much mass goes between any two rows of a stratum.

    Parameters
    ----------
    mass : csr_array, shape (rows, other rows)
        The masses, in any unit. Those of a row, and those of an other row, sum to about the same.
    cost : float
        What moving a unit of mass costs, on average.
    marginal_error : float
        The share of the mass that is too much or too little at the other rows.
    gap : float, optional
        How far the cost can be over the lowest of all plans, as a share of it, if that is known.
    iterations : int
        How often the solver went over the rows, or how many problems it solved.
    """

    mass: sp.csr_array
    cost: float
    marginal_error: float
    gap: float | None
    iterations: int


def both_ways(problem: Problem, joint: Joint, keep: float) -> tuple[Found, Floats]:
    """Return the references of the rows of either side with P(. | row) as weights, and the mass kept of each.

    Of each row the largest masses are kept until they make up the share ``keep``.
    """
    rows, others = problem.stratum
    parts, kept = [], []
    for mine, theirs, mass in ((rows, others, joint.mass), (others, rows, joint.mass.tocsc())):
        row, other, weight, share = conditional(mass.indptr, mass.indices, mass.data, keep)
        squared = squared_of(problem.space, mine[row], theirs[other])
        parts.append(Found(mine[row], theirs[other], weight, squared))
        kept.append(share)
    return Found.together(parts), np.concatenate(kept)


def conditional(start: Ints, other: Ints, mass: Floats, keep: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Return each row's largest entries that make up the share ``keep``, as weights that sum to 1.

    Parameters
    ----------
    start : ndarray of int, shape (rows + 1,)
        Where the entries of each row begin.
    other, mass : ndarray, shape (entries,)
        The other row of each entry and its mass.
    keep : float
        The share of a row's mass that is kept at least.

    Returns
    -------
    row, other, weight : ndarray
        The entries, by row, the heaviest first and of equal ones the lowest other row.
    kept : ndarray of float, shape (rows,)
        The share of each row's mass that was kept.
    """
    parts, n_kept = [], 0
    low = 0
    while low < len(start) - 1:
        # As many whole rows as fit into a chunk, one at least.
        high = max(low + 1, int(np.searchsorted(start, start[low] + _CHUNK, side="right")) - 1)
        entries = slice(start[low], start[high])
        part = _largest(start[low : high + 1] - start[low], other[entries], mass[entries], keep)
        n_kept += len(part[0])
        check_room(
            n_kept * _BYTES,
            f"a match plan with {n_kept} references and more",
            "Take a smaller regularisation, a smaller keep, or neighbours=50.",
        )
        parts.append((part[0] + low, *part[1:]))
        low = high
    row, kept_other, weight, kept = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, kept_other, weight, kept


def _largest(start: Ints, other: Ints, mass: Floats, keep: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Do it for rows that are sorted at once."""
    n = len(start) - 1
    row = np.repeat(np.arange(n), np.diff(start))
    # Rounded, so that masses which are equal but for the last bits are equal.
    mass = np.round(mass / np.bincount(row, mass, minlength=n)[row], 12)
    order = np.lexsort((other, -mass, row))
    other, mass = other[order], mass[order]
    before = np.cumsum(mass) - mass
    before -= before[start[:-1]][row]
    # A hair less, so that the rounding of a sum does not ask for one more.
    chosen = (mass > 0) & (before < keep * (1 - 1e-9) if keep < 1 else True)
    row, other, mass = row[chosen], other[chosen], mass[chosen]
    kept = np.bincount(row, mass, minlength=n)
    return row, other.astype(np.int64), mass / kept[row], np.minimum(kept, 1.0)
