"""One row against a block of rows, or against the bounds of many blocks."""

import numpy as np

from fairshap._kernels.blocks import LANES
from fairshap._kernels.compiling import compiled
from fairshap._kernels.ordering import ROWS
from fairshap._typing import AnyCodes, Bytes, Floats, Ints


# A bound is summed up in the same order as a distance, from terms that are not greater. Rounding keeps the
# order of numbers, so that the sum is not greater either: no slack is needed, as long as no flag lets
# the compiler reorder or fuse sums.
@compiled
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


@compiled
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


@compiled
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


@compiled
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


@compiled
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
