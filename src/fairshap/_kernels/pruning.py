"""Nearest rows in blocks: only the blocks that can hold one are looked into."""

import numpy as np

from fairshap._kernels.blocks import LANES, ROWS, Blocks, Rows
from fairshap._kernels.compiling import compiled
from fairshap._typing import AnyCodes, Bytes, Codes, Floats, Ints

# Groups are visited in rounds: at first only those whose bound is at most this share of the way from the
# lowest bound to the distance known so far, which is often lower after every round.
_SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)

# What stands in for the row while fewer than k are known: higher than any.
_NO_ROW = np.iinfo(np.int64).max

# The columns that a byte can count.
_COUNTABLE = 255


# A bound is summed up in the same order as a distance, from terms that are not greater. Rounding keeps the
# order of numbers, so that the sum is not greater either: no slack is needed, as long as no flag lets
# the compiler reorder or fuse sums.
@compiled
def nearest_in_blocks(
    queries: Rows,
    order: Ints,
    blocks: Blocks,
    weights: Floats,
    mismatch: float,
    nearest: Ints,
    squared: Floats,
) -> int:
    """Write the nearest rows of some queries, and return the number of blocks that were looked into.

    Parameters
    ----------
    queries, order : Rows, ndarray of int
        The rows of one side, and which of them to search for; similar ones should follow one another.
    blocks : Blocks
        The rows of the other side.
    weights : ndarray of float64, shape (columns of numbers,)
        What a squared difference of one counts.
    mismatch : float
        What a category that differs counts, or a number that one row lacks.
    nearest, squared : ndarray, shape (queries, k)
        Written for the queries in ``order``: the nearest first, of equally near ones the lowest.
    """
    # Taken out of their tuples once: every look into a tuple counts a reference, which threads wait for.
    numbers, missing, codes = queries.numbers, queries.missing, queries.codes
    starts, rows = blocks.starts, blocks.order
    block_numbers, block_missing, block_codes = blocks.numbers, blocks.missing, blocks.codes
    low, high, gone, absent = blocks.boxes.low, blocks.boxes.high, blocks.boxes.gone, blocks.boxes.absent
    group_low, group_high = blocks.groups.low, blocks.groups.high
    group_gone, group_absent = blocks.groups.gone, blocks.groups.absent
    first, group_first = blocks.boxes.first, blocks.groups.first
    mask, offsets = blocks.buckets.mask, blocks.buckets.offsets
    n_blocks, n_groups, last = len(first), len(group_first), nearest.shape[1] - 1
    group_bounds, buckets = np.empty(n_groups), np.empty(codes.shape[1], dtype=np.int64)
    bounds, distances = np.empty(LANES), np.empty(ROWS)
    count, counts = np.empty(ROWS, dtype=np.uint8), np.empty(ROWS, dtype=np.int32)
    best, n_visited = 0, 0
    for position in range(len(order)):
        i = order[position]
        if position > 0 and _is_same(numbers, missing, codes, i, order[position - 1]):
            for k in range(last + 1):
                nearest[i, k] = nearest[order[position - 1], k]
                squared[i, k] = squared[order[position - 1], k]
            continue
        for k in range(len(buckets)):
            buckets[k] = offsets[k] + (codes[i, k] & mask)
        for k in range(last + 1):
            nearest[i, k], squared[i, k] = _NO_ROW, np.inf
        # Where the last query had its nearest row, this one has a near one.
        home = best
        _count_mismatches(i, codes, block_codes, home, count, counts)
        _add_numbers(i, numbers, missing, weights, mismatch, block_numbers, block_missing, home, distances)
        _keep_nearest(i, starts, rows, home, mismatch, counts, distances, nearest, squared)
        n_visited += 1
        for tile in range(len(group_low)):
            _bound(
                i,
                numbers,
                missing,
                buckets,
                weights,
                mismatch,
                group_low,
                group_high,
                group_gone,
                group_absent,
                tile,
                count,
                counts,
                bounds,
            )
            for lane in range(min(LANES, n_groups - tile * LANES)):
                group_bounds[tile * LANES + lane] = bounds[lane]
        least = np.inf
        for group in range(n_groups):
            least = min(least, group_bounds[group])
        for share in _SHARES:
            limit = least if share == 0.0 else least + share * (squared[i, last] - least)
            for group in range(n_groups):
                bound = group_bounds[group]
                if (
                    bound < 0.0
                    or bound > limit
                    or _is_beyond(bound, group_first[group], squared[i, last], nearest[i, last])
                ):
                    continue
                # No bound is negative: this group is done.
                group_bounds[group] = -1.0
                _bound(
                    i,
                    numbers,
                    missing,
                    buckets,
                    weights,
                    mismatch,
                    low,
                    high,
                    gone,
                    absent,
                    group,
                    count,
                    counts,
                    bounds,
                )
                for lane in range(min(LANES, n_blocks - group * LANES)):
                    b = group * LANES + lane
                    if b == home or _is_beyond(bounds[lane], first[b], squared[i, last], nearest[i, last]):
                        continue
                    n_visited += 1
                    fewest = _count_mismatches(i, codes, block_codes, b, count, counts)
                    if mismatch * fewest > squared[i, last]:
                        continue
                    _add_numbers(
                        i, numbers, missing, weights, mismatch, block_numbers, block_missing, b, distances
                    )
                    if _keep_nearest(i, starts, rows, b, mismatch, counts, distances, nearest, squared):
                        best = b
    return n_visited


@compiled
def _is_same(numbers: Floats, missing: Bytes, codes: AnyCodes, i: int, j: int) -> bool:
    for k in range(numbers.shape[1]):
        if numbers[i, k] != numbers[j, k]:
            return False
    for k in range(missing.shape[1]):
        if missing[i, k] != missing[j, k]:
            return False
    for k in range(codes.shape[1]):
        if codes[i, k] != codes[j, k]:
            return False
    return True


@compiled
def _is_beyond(bound: float, first: int, distance: float, row: int) -> bool:
    """Say whether no row from ``first`` on, at least so far away, comes before the given one."""
    return bound > distance or (bound == distance and first > row)


@compiled
def _bound(
    i: int,
    numbers: Floats,
    missing: Bytes,
    buckets: Ints,
    weights: Floats,
    mismatch: float,
    low: Floats,
    high: Floats,
    gone: Bytes,
    absent: Bytes,
    tile: int,
    count: Bytes,
    counts: Codes,
    bounds: Floats,
) -> None:
    """Write the least squared distance that a row in each box of a tile can have."""
    n_holes = missing.shape[1]
    n_whole = numbers.shape[1] - n_holes
    for lane in range(LANES):
        bounds[lane] = 0.0
    for k in range(n_whole):
        x, w = numbers[i, k], weights[k]
        for lane in range(LANES):
            below, above = low[tile, k, lane] - x, x - high[tile, k, lane]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            bounds[lane] += w * (gap * gap)
    for h in range(n_holes):
        x, w = numbers[i, n_whole + h], weights[n_whole + h]
        hole = missing[i, h]
        for lane in range(LANES):
            below, above = low[tile, n_whole + h, lane] - x, x - high[tile, n_whole + h, lane]
            gap = below if below > above else above
            gap = gap if gap > 0.0 and hole == 0 else 0.0
            bounds[lane] += mismatch if gone[tile, 2 * h + hole, lane] != 0 else w * (gap * gap)
    for lane in range(LANES):
        counts[lane] = 0
    for start in range(0, len(buckets), _COUNTABLE):
        for lane in range(LANES):
            count[lane] = 0
        for k in range(start, min(start + _COUNTABLE, len(buckets))):
            bucket = buckets[k]
            for lane in range(LANES):
                count[lane] += absent[tile, bucket, lane]
        for lane in range(LANES):
            counts[lane] += count[lane]
    for lane in range(LANES):
        bounds[lane] += mismatch * counts[lane]


@compiled
def _count_mismatches(i: int, codes: AnyCodes, others: AnyCodes, b: int, count: Bytes, counts: Codes) -> int:
    """Count the categories in which each row of a block differs from the query; return the fewest."""
    for j in range(ROWS):
        counts[j] = 0
    for start in range(0, codes.shape[1], _COUNTABLE):
        for j in range(ROWS):
            count[j] = 0
        for k in range(start, min(start + _COUNTABLE, codes.shape[1])):
            code = codes[i, k]
            for j in range(ROWS):
                count[j] += np.uint8(others[b, k, j] != code)
        for j in range(ROWS):
            counts[j] += count[j]
    fewest = counts[0]
    for j in range(ROWS):
        fewest = min(fewest, counts[j])
    return fewest


@compiled
def _add_numbers(
    i: int,
    numbers: Floats,
    missing: Bytes,
    weights: Floats,
    mismatch: float,
    others: Floats,
    others_missing: Bytes,
    b: int,
    distances: Floats,
) -> None:
    """Write the part of the squared distances to the rows of a block that the numbers make up."""
    n_holes = missing.shape[1]
    n_whole = numbers.shape[1] - n_holes
    for j in range(ROWS):
        distances[j] = 0.0
    for k in range(n_whole):
        x, w = numbers[i, k], weights[k]
        for j in range(ROWS):
            d = others[b, k, j] - x
            distances[j] += w * (d * d)
    for h in range(n_holes):
        x, w = numbers[i, n_whole + h], weights[n_whole + h]
        hole = missing[i, h]
        for j in range(ROWS):
            d = others[b, n_whole + h, j] - x
            distances[j] += w * (d * d) if others_missing[b, h, j] == hole else mismatch


@compiled
def _keep_nearest(
    i: int,
    starts: Ints,
    rows: Ints,
    b: int,
    mismatch: float,
    counts: Codes,
    distances: Floats,
    nearest: Ints,
    squared: Floats,
) -> bool:
    """Take the rows of a block among the nearest of query i where they are; say whether one is the first."""
    last = nearest.shape[1] - 1
    farthest = squared[i, last]
    n_near = 0
    for j in range(ROWS):
        distances[j] += mismatch * counts[j]
        n_near += int(distances[j] <= farthest)
    is_first = False
    if n_near:
        for j in range(starts[b + 1] - starts[b]):
            if distances[j] <= squared[i, last]:
                is_first |= _insert(i, rows[starts[b] + j], distances[j], nearest, squared)
    return is_first


@compiled
def _insert(i: int, row: int, distance: float, nearest: Ints, squared: Floats) -> bool:
    """Put a row among the nearest, unless all of them come before it; say whether it is the first now."""
    k = nearest.shape[1]
    place = k
    while place > 0 and (
        distance < squared[i, place - 1]
        or (distance == squared[i, place - 1] and row < nearest[i, place - 1])
    ):
        place -= 1
    if place == k:
        return False
    for other in range(k - 1, place, -1):
        nearest[i, other], squared[i, other] = nearest[i, other - 1], squared[i, other - 1]
    nearest[i, place], squared[i, place] = row, distance
    return place == 0
