"""Nearest rows in both directions with compiled code, in threads, bit by bit what numpy finds.

Only blocks whose bounding box is near enough are visited.
"""

import numpy as np

from fairshap._kernels.compiling import compiled, inner
from fairshap._kernels.neighbors.blocks import LANES, ROWS, Blocks, Rows, blocks_of, buckets_of, order_of
from fairshap._kernels.neighbors.distance import Costs, Found, Terms, terms_of
from fairshap._messages import in_threads
from fairshap._typing import Advance, AnyCodes, Bools, Bytes, Codes, Floats, Ints

# The comparisons of cells in a piece of work: some hundredths of a second if nothing can be left out.
_CELLS = 400_000_000
# The queries in a piece of work at least, and the pieces for each thread.
_FEWEST, _PIECES = 16, 16
# Groups are visited in rounds: after the one of the first round, only those whose bound is at most this share
# of the way from the lowest bound to the distance known so far, which is often lower after every round.
_SHARES = (0.0, 0.0, 0.1, 0.25, 0.5, 1.0)

# Stands for the bound of a group that was visited; no bound is negative.
_DONE = -1.0
# What stands in for the row while fewer than k are known: higher than any.
_NO_ROW = np.iinfo(np.int64).max


class Index:
    """The rows of one side in blocks, in which the nearest of any other rows are searched.

    ``sizes`` are the numbers of categories of each column, a missing one and those that other rows may have
    counted; ``n_rows`` is the number of rows of the larger side.
    """

    def __init__(
        self, numbers: Floats, codes: Codes, holes: Bools, costs: Costs, sizes: Ints, n_rows: int
    ) -> None:
        self.holes = holes
        self.by_number, self.by_category, self.terms = terms_of(costs, holes)
        sizes = sizes[self.by_category] if len(self.terms.mismatch) > 1 else sizes
        self.narrow = np.uint8 if sizes.max(initial=0) <= 256 else np.int32
        self.buckets = buckets_of(sizes, n_rows)
        self.rows = self.arrange(numbers, codes)
        self.blocks = blocks_of(self.rows, self.terms, self.buckets)

    def arrange(self, numbers: Floats, codes: Codes) -> Rows:
        """Return rows as the kernels take them."""
        filled: Floats = np.ascontiguousarray(numbers[:, self.by_number])
        filled[np.isnan(filled)] = 0.0
        if len(self.terms.mismatch) > 1:
            codes = codes[:, self.by_category]
        # A missing category, -1, becomes 0.
        narrow: AnyCodes = np.add(codes, 1, dtype=np.int32).astype(self.narrow, order="C")
        return Rows(filled, np.isnan(numbers[:, self.holes]).astype(np.uint8), narrow)

    def nearest(
        self, rows: Rows, order: Ints, k: int, n_threads: int, advance: Advance = None
    ) -> tuple[Ints, Floats]:
        """Return the k nearest rows in blocks for each of some rows, and their squared distances."""
        blocks, terms = self.blocks, self.terms
        n, m = len(order), len(blocks.order)
        nearest, squared = np.empty((n, min(k, m)), dtype=np.int64), np.empty((n, min(k, m)))
        most = _CELLS // (m * (rows.numbers.shape[1] + rows.codes.shape[1] + 1))
        # Several pieces a thread, so that none waits long for another at the end.
        size = max(_FEWEST, min(most, n // (_PIECES * n_threads)))
        parts = [(order[start : start + size],) for start in range(0, n, size)]

        def work(part: Ints) -> None:
            sums, count = np.empty((3, max(ROWS, LANES))), np.empty(max(ROWS, LANES), dtype=np.uint8)
            bounds = np.empty(len(blocks.groups.first))
            buckets = np.empty(rows.codes.shape[1], dtype=np.int64)
            nearest_in_blocks(rows, part, blocks, terms, sums, count, bounds, buckets, nearest, squared)

        in_threads(work, parts, n_threads, lambda item, _: advance(len(item[0])) if advance else None)
        return nearest, squared

    def nearest_of(self, numbers: Floats, codes: Codes, k: int, n_threads: int) -> tuple[Ints, Floats]:
        """Return the same for rows that are in no index."""
        rows = self.arrange(numbers, codes)
        return self.nearest(rows, order_of(rows, self.terms, self.buckets)[0], k, n_threads)


def search(
    numbers: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
    costs: Costs,
    *,
    k: int,
    n_threads: int,
    advance: Advance = None,
) -> Found:
    """Return what ``nearest_both_ways`` does, of two sides with rows."""
    sizes = np.maximum(codes.max(axis=0), other_codes.max(axis=0)).astype(np.int64) + 2
    shared = holes, costs, sizes, max(len(numbers), len(other_numbers))
    sides: dict[bool, Index] = {}
    items = [(False, numbers, codes), (True, other_numbers, other_codes)]
    in_threads(
        lambda _, numbers, codes: Index(numbers, codes, *shared),
        items,
        n_threads,
        lambda item, index: sides.update({item[0]: index}),
    )
    one, other = sides[False], sides[True]
    return (
        *other.nearest(one.rows, one.blocks.order, k, n_threads, advance),
        *one.nearest(other.rows, other.blocks.order, k, n_threads, advance),
    )


@compiled
def nearest_in_blocks(
    queries: Rows,
    order: Ints,
    blocks: Blocks,
    terms: Terms,
    sums: Floats,
    count: Bytes,
    group_bounds: Floats,
    buckets: Ints,
    nearest: Ints,
    squared: Floats,
) -> None:
    """Write the nearest rows of some queries, those in ``order``: similar ones should follow one another.

    The nearest stands first; of equally near ones the lowest. It works in places for the rows of a block, or
    the blocks of a group, for all groups, and for all columns of categories.
    """
    numbers, missing, codes = queries.numbers, queries.missing, queries.codes
    weights, lacking, runs, mismatch = terms.weights, terms.lacking, terms.starts, terms.mismatch
    starts, rows = blocks.starts, blocks.order
    other_numbers, other_missing, other_codes = blocks.numbers, blocks.missing, blocks.codes
    low, high, gone, absent, first = blocks.boxes
    group_low, group_high, group_gone, group_absent, group_first = blocks.groups
    mask, offsets = blocks.buckets
    n_blocks, n_groups, last = len(first), len(group_first), nearest.shape[1] - 1
    bounds, distances, differing = sums[0], sums[1], sums[2]
    best = 0
    for position in range(len(order)):
        i, before = order[position], order[max(position - 1, 0)]
        if i != before and _is_same(numbers, missing, codes, i, before):
            for k in range(last + 1):
                nearest[i, k], squared[i, k] = nearest[before, k], squared[before, k]
            continue
        for k in range(last + 1):
            nearest[i, k], squared[i, k] = _NO_ROW, np.inf
        for k in range(len(buckets)):
            buckets[k] = offsets[k] + (codes[i, k] & mask)
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


@inner
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


@inner
def _is_done(bound: float, first: int, distance: float, row: int) -> bool:
    """Say whether no row from ``first`` on, at least so far away, comes before the given one."""
    return bound == _DONE or bound > distance or (bound == distance and first > row)


# A bound is summed up in the same order as a distance, from terms that are not greater. Rounding keeps the
# order of numbers, so that the sum is not greater either: no slack is needed, as long as no flag lets
# the compiler reorder or fuse sums.
@inner
def bound(
    i: int,
    numbers: Floats,
    missing: Bytes,
    buckets: Ints,
    weights: Floats,
    lacking: Floats,
    starts: Ints,
    mismatch: Floats,
    low: Floats,
    high: Floats,
    gone: Bytes,
    absent: Bytes,
    tile: int,
    count: Bytes,
    differing: Floats,
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
        x, w, lack = numbers[i, n_whole + h], weights[n_whole + h], lacking[n_whole + h]
        hole = missing[i, h]
        for lane in range(LANES):
            below, above = low[tile, n_whole + h, lane] - x, x - high[tile, n_whole + h, lane]
            gap = below if below > above else above
            gap = gap if gap > 0.0 and hole == 0 else 0.0
            bounds[lane] += lack if gone[tile, 2 * h + hole, lane] != 0 else w * (gap * gap)
    for lane in range(LANES):
        differing[lane] = 0.0
    for run in range(len(mismatch)):
        for lane in range(LANES):
            count[lane] = 0
        for k in range(starts[run], starts[run + 1]):
            bucket = buckets[k]
            for lane in range(LANES):
                count[lane] += absent[tile, bucket, lane]
        cost = mismatch[run]
        for lane in range(LANES):
            differing[lane] += cost * count[lane]
    for lane in range(LANES):
        bounds[lane] += differing[lane]


@inner
def add_categories(
    i: int,
    codes: AnyCodes,
    starts: Ints,
    mismatch: Floats,
    b: int,
    others: AnyCodes,
    farthest: float,
    count: Bytes,
    differing: Floats,
) -> int:
    """Write the part of the squared distances to the rows of a block that the categories make up.

    Returns how many rows that part alone does not put beyond the farthest.
    """
    for j in range(ROWS):
        differing[j] = 0.0
    for run in range(len(mismatch)):
        for j in range(ROWS):
            count[j] = 0
        for k in range(starts[run], starts[run + 1]):
            code = codes[i, k]
            for j in range(ROWS):
                count[j] += np.uint8(others[b, k, j] != code)
        cost = mismatch[run]
        for j in range(ROWS):
            differing[j] += cost * count[j]
    n_near = 0
    for j in range(ROWS):
        n_near += int(differing[j] <= farthest)
    return n_near


@inner
def add_numbers(
    i: int,
    numbers: Floats,
    missing: Bytes,
    weights: Floats,
    lacking: Floats,
    b: int,
    others: Floats,
    others_missing: Bytes,
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
        x, w, lack = numbers[i, n_whole + h], weights[n_whole + h], lacking[n_whole + h]
        hole = missing[i, h]
        for j in range(ROWS):
            d = others[b, n_whole + h, j] - x
            distances[j] += w * (d * d) if others_missing[b, h, j] == hole else lack


@inner
def keep_nearest(
    i: int,
    b: int,
    starts: Ints,
    rows: Ints,
    differing: Floats,
    distances: Floats,
    nearest: Ints,
    squared: Floats,
) -> bool:
    """Put rows of a block among the nearest of row i where they are; say whether one is the nearest now."""
    farthest = squared[i, squared.shape[1] - 1]
    n_near = 0
    for j in range(ROWS):
        distances[j] += differing[j]
        n_near += int(distances[j] <= farthest)
    is_nearest = False
    if n_near > 0:
        start = starts[b]
        for j in range(starts[b + 1] - start):
            if distances[j] <= farthest and _insert(i, rows[start + j], distances[j], nearest, squared):
                is_nearest = True
    return is_nearest


@inner
def _insert(i: int, row: int, distance: float, nearest: Ints, squared: Floats) -> bool:
    """Put a row among the nearest, unless all of them come before it; say whether it is the first now."""
    k = int(nearest.shape[1])
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
