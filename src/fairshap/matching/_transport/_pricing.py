"""Which pairs would make a transport plan cheaper, of all there are."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairshap._messages import warn
from fairshap._typing import Floats, Ints
from fairshap.exceptions import NotConvergedWarning
from fairshap.matching._transport._exact import Optimum, solve_exactly
from fairshap.matching._transport._joint import Joint
from fairshap.matching._transport._pairs import Pairs, Problem
from fairshap.matching._transport._proposals import keys_of, nearest

# The pairs that are added for each row of either side in a round at most.
_ADDED = 10
_ROUNDS = 25
# The distances held at a time.
_CELLS = 1 << 20


class Prices(NamedTuple):
    """What no plan over all pairs can cost less than, and the pairs that may bring the cost down."""

    lowest: float
    keys: Ints


def solve_growing(problem: Problem, pairs: Pairs, max_iter: int, tolerance: float, n_threads: int) -> Joint:
    """Return a plan whose cost is within ``tolerance`` of the lowest over all pairs, starting with some.

    The best plan over some pairs tells by its dual values which other pairs could lower the cost, and how low
    it could come at most. They are added until there is nothing to gain: no more than a few pairs a row
    are ever held.
    """
    for rounds in range(1, _ROUNDS + 1):
        optimum = solve_exactly(pairs, max_iter)
        lowest, keys = prices(problem, optimum, n_threads)
        cost = optimum.joint.cost
        gap = max(cost - lowest, 0.0) / cost if cost > 0 else 0.0
        joint = replace(optimum.joint, gap=gap, iterations=rounds)
        more = np.union1d(pairs.keys, keys)
        if gap <= tolerance or len(more) == len(pairs):
            return joint
        pairs = Pairs.of_keys(problem, more)
    warn(
        f"the plan for {problem.shape[0]} x {problem.shape[1]} rows may cost {gap:.2g} of itself more than "
        f"the best, over tolerance={tolerance:g}, after {_ROUNDS} rounds. Raise neighbours or tolerance.",
        NotConvergedWarning,
    )
    return joint


def prices(problem: Problem, optimum: Optimum, n_threads: int) -> Prices:
    """Return the bound, and the pairs, a few for each row, whose cost is under what their ends are worth."""
    search = prices_by_search if problem.is_squared else prices_in_blocks
    return search(problem, optimum, n_threads)


def prices_by_search(problem: Problem, optimum: Optimum, n_threads: int) -> Prices:
    """Return the prices for squared distances.

    Cost less the values of both ends, but for a constant, is a squared distance too, in a space with two more
    columns: so the pairs are found by the search for nearest rows, which leaves out most of them.
    """
    rows, others = problem.stratum
    values = optimum.row_value, optimum.other_value
    lift = np.zeros((len(problem.space.numbers), 2))
    for side, (members, value) in enumerate(zip((rows, others), values, strict=True)):
        lift[members, side] = np.sqrt(value.max() - value)
    space = replace(
        problem.space,
        numbers=np.hstack([problem.space.numbers, lift]),
        costs=problem.space.costs._replace(
            weights=np.append(problem.space.weights, [1.0, 1.0]),
            lacking=np.append(problem.space.costs.lacking, [0.0, 0.0]),
        ),
    )
    found = nearest(problem, space, _ADDED, n_threads)
    reduced = found.squared - values[0].max() - values[1].max()
    keys, is_ours = keys_of(problem, found)
    best = [
        _first_of_runs(reduced[part], len(members)) for part, members in ((is_ours, rows), (~is_ours, others))
    ]
    # A dual is made feasible by lowering either side's values: the better bound counts.
    lowest = sum(value.mean() for value in values) + max(b.mean() for b in best)
    return Prices(float(lowest), np.unique(keys[reduced < _hair(optimum)]))


def prices_in_blocks(problem: Problem, optimum: Optimum, n_threads: int = 1) -> Prices:  # noqa: ARG001
    """Return the prices for any cost, by taking the distances of all pairs, a block at a time."""
    rows, others = problem.stratum
    row_value, other_value = optimum.row_value, optimum.other_value
    best, size = np.empty(len(rows)), max(1, _CELLS // len(others))
    cheapest, lowest = np.zeros(len(others), dtype=np.int64), np.full(len(others), np.inf)
    keys = []
    for low in range(0, len(rows), size):
        block = slice(low, min(low + size, len(rows)))
        reduced = problem.cost(problem.space.squared(rows[block], others))
        reduced -= row_value[block, None] + other_value
        best[block] = reduced.min(axis=1)
        k = min(_ADDED, len(others))
        few = np.argpartition(reduced, k - 1, axis=1)[:, :k]
        row, place = np.nonzero(np.take_along_axis(reduced, few, axis=1) < _hair(optimum))
        keys.append((row + low) * len(others) + few[row, place])
        at, value = reduced.argmin(axis=0) + low, reduced.min(axis=0)
        cheapest, lowest = np.where(value < lowest, at, cheapest), np.minimum(value, lowest)
    there = np.flatnonzero(lowest < _hair(optimum))
    keys.append(cheapest[there] * len(others) + there)
    bound = row_value.mean() + other_value.mean() + max(best.mean(), lowest.mean())
    return Prices(float(bound), np.unique(np.concatenate(keys)))


def _first_of_runs(values: Floats, n: int) -> Floats:
    """Return the first of each of n runs of one length."""
    return values.reshape(n, -1)[:, 0]


def _hair(optimum: Optimum) -> float:
    """Return what a pair must be cheaper by, which is more than rounding."""
    return -1e-9 * max(optimum.joint.cost, 1e-300)
