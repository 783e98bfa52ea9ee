"""Nearest rows in blocks: only the blocks that can hold one are looked into."""

import numpy as np

from fairshap._kernels.blocks import LANES, Blocks
from fairshap._kernels.compiling import compiled
from fairshap._kernels.costs import Terms
from fairshap._kernels.ordering import ROWS, Rows
from fairshap._kernels.visiting import add_categories, add_numbers, bound, keep_nearest
from fairshap._typing import AnyCodes, Bytes, Floats, Ints

# Groups are visited in rounds: after the one of the first round, only those whose bound is at most this share
# of the way from the lowest bound to the distance known so far, which is often lower after every round.
_SHARES = (0.0, 0.0, 0.1, 0.25, 0.5, 1.0)

# Stands for the bound of a group that was visited; no bound is negative.
_DONE = -1.0
# What stands in for the row while fewer than k are known: higher than any.
_NO_ROW = np.iinfo(np.int64).max


@compiled
def nearest_in_blocks(
    queries: Rows,
    order: Ints,
    blocks: Blocks,
    terms: Terms,
    nearest: Ints,
    squared: Floats,
) -> None:
    """Write the nearest rows of some queries.

    Parameters
    ----------
    queries, order : Rows, ndarray of int
        The rows of one side, and which of them to search for; similar ones should follow one another.
    blocks : Blocks
        The rows of the other side.
    terms : Terms
        What differences cost.
    nearest, squared : ndarray, shape (queries, k)
        Written for the queries in ``order``: the nearest first, of equally near ones the lowest.
    """
    # Taken out of their tuples once: every look into a tuple counts a reference, which threads wait for.
    numbers, missing, codes = queries.numbers, queries.missing, queries.codes
    weights, lacking, runs, mismatch = terms.weights, terms.lacking, terms.starts, terms.mismatch
    starts, rows = blocks.starts, blocks.order
    other_numbers, other_missing, other_codes = blocks.numbers, blocks.missing, blocks.codes
    low, high, gone, absent, first = blocks.boxes
    group_low, group_high, group_gone, group_absent, group_first = blocks.groups
    mask, offsets = blocks.buckets
    n_blocks, n_groups, last = len(first), len(group_first), nearest.shape[1] - 1
    group_bounds, buckets = np.empty(n_groups), np.empty(codes.shape[1], dtype=np.int64)
    bounds, distances = np.empty(LANES), np.empty(ROWS)
    count, differing = np.empty(max(ROWS, LANES), np.uint8), np.empty(max(ROWS, LANES))
    best = 0
    for position in range(len(order)):
        i, before = order[position], order[max(position - 1, 0)]
        if i != before and _is_same(numbers, missing, codes, i, before):
            _copy(before, i, nearest, squared)
            continue
        _begin(i, codes, mask, offsets, buckets, nearest, squared)
        least = np.inf
        for tile in range(len(group_low)):
            bound(
                *(i, numbers, missing, buckets, weights, lacking, runs, mismatch),
                *(group_low, group_high, group_gone, group_absent, tile),
                *(count, differing, bounds),
            )
            for lane in range(min(LANES, n_groups - tile * LANES)):
                group_bounds[tile * LANES + lane] = bounds[lane]
                least = min(least, bounds[lane])
        # Where the last query had its nearest row, this one has a near one: its group and block come first.
        home = best
        for r in range(len(_SHARES)):
            limit = least + _SHARES[r] * (squared[i, last] - least) if _SHARES[r] > 0.0 else least
            if _SHARES[r] == 1.0:
                # Not by way of the sum, whose rounding could leave out a tie.
                limit = squared[i, last]
            start, stop = (home // LANES, home // LANES + 1) if r == 0 else (0, n_groups)
            for g in range(start, stop):
                far, row = squared[i, last], nearest[i, last]
                if (r > 0 and group_bounds[g] > limit) or _is_done(group_bounds[g], group_first[g], far, row):
                    continue
                group_bounds[g] = _DONE
                bound(
                    *(i, numbers, missing, buckets, weights, lacking, runs, mismatch),
                    *(low, high, gone, absent, g),
                    *(count, differing, bounds),
                )
                for step in range(LANES):
                    lane = (home + step) % LANES
                    b = g * LANES + lane
                    far, row = squared[i, last], nearest[i, last]
                    if b >= n_blocks or _is_done(bounds[lane], first[b], far, row):
                        continue
                    if not add_categories(i, codes, runs, mismatch, b, other_codes, far, count, differing):
                        continue
                    add_numbers(
                        i, numbers, missing, weights, lacking, b, other_numbers, other_missing, distances
                    )
                    if keep_nearest(i, b, starts, rows, differing, distances, nearest, squared):
                        best = b


@compiled
def _is_same(numbers: Floats, missing: Bytes, codes: AnyCodes, i: int, j: int) -> bool:
    """Say whether two rows have the same cells."""
    for k in range(numbers.shape[1]):
        if numbers[i, k] != numbers[j, k]:
            return False
    for k in range(missing.shape[1]):
        if missing[i, k] != missing[j, k]:
            return False
    n_different = 0
    for k in range(codes.shape[1]):
        n_different += int(codes[i, k] != codes[j, k])
    return n_different == 0


@compiled
def _copy(i: int, j: int, nearest: Ints, squared: Floats) -> None:
    """Give query j the nearest rows of query i."""
    for k in range(nearest.shape[1]):
        nearest[j, k], squared[j, k] = nearest[i, k], squared[i, k]


@compiled
def _begin(
    i: int, codes: AnyCodes, mask: int, offsets: Ints, buckets: Ints, nearest: Ints, squared: Floats
) -> None:
    """Write the buckets of query i, and that none of its nearest rows is known."""
    for k in range(len(buckets)):
        buckets[k] = offsets[k] + (codes[i, k] & mask)
    for k in range(nearest.shape[1]):
        nearest[i, k], squared[i, k] = _NO_ROW, np.inf


@compiled
def _is_done(bound: float, first: int, distance: float, row: int) -> bool:
    """Say whether no row from ``first`` on, at least so far away, comes before the given one."""
    return bound == _DONE or bound > distance or (bound == distance and first > row)
