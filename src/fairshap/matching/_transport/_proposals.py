"""Pairs of rows that are likely to be in a good transport plan."""

import numpy as np

from fairshap._typing import Bools, Ints
from fairshap.matching._matcher import Found
from fairshap.matching._nearest import Nearest
from fairshap.matching._space import Space
from fairshap.matching._transport._pairs import Pairs, Problem
from fairshap.matching._transport._slicing import sliced_coupling

#: The slicings that go with the nearest rows: without a coupling among the pairs there may be no plan at all.
N_SLICINGS = 3


def sliced_pairs(problem: Problem, n_slicings: int, rng: np.random.Generator) -> Pairs:
    """Return the pairs of so many slicings."""
    return Pairs.of_keys(problem, np.unique(_slicings(problem, n_slicings, rng)))


def nearby_pairs(problem: Problem, k: int, rng: np.random.Generator, n_threads: int) -> Pairs:
    """Return the pairs of each row with its k nearest rows, both ways, and those of a few slicings."""
    found = nearest(problem, problem.space, k, n_threads)
    keys, _ = keys_of(problem, found)
    return Pairs.of_keys(problem, np.unique(np.concatenate([keys, _slicings(problem, N_SLICINGS, rng)])))


def nearest(problem: Problem, space: Space, k: int, n_threads: int) -> Found:
    """Return the k nearest rows in a space of each row of either side, first of the rows, then the others."""
    return Nearest(k=k).find(space, [problem.stratum], n_threads, lambda _: None)


def keys_of(problem: Problem, found: Found) -> tuple[Ints, Bools]:
    """Return the key of each pair found, and whether it was found for a row rather than for an other row."""
    rows, others = problem.stratum
    place = np.empty(len(problem.space.numbers), dtype=np.int64)
    is_other = np.zeros(len(place), dtype=np.bool_)
    for members in (rows, others):
        place[members] = np.arange(len(members))
    is_other[others] = True
    forward: Bools = ~is_other[found.row]
    row = place[np.where(forward, found.row, found.reference)]
    other = place[np.where(forward, found.reference, found.row)]
    return row * len(others) + other, forward


def _slicings(problem: Problem, n: int, rng: np.random.Generator) -> Ints:
    """Return the keys of the pairs that so many slicings propose."""
    couplings = [sliced_coupling(problem.space, problem.stratum, rng) for _ in range(n)]
    return np.concatenate([row * problem.shape[1] + other for row, other, _ in couplings])
