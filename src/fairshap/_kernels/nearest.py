"""The compiled twin of :mod:`fairshap._kernels.distance`: the same distances to the last bit, faster."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.costs import Terms
from fairshap._kernels.ordering import Rows
from fairshap._typing import Floats, Ints

# The rows of the other side whose distances are held at a time: they stay in the fastest cache.
_WIDTH = 1024


# No flag lets the compiler reorder or fuse a sum, so that ties are the same as in numpy.
@compiled
def nearest_rows(
    rows: Rows,
    others: Rows,
    terms: Terms,
    start: int,
    stop: int,
    other_start: int,
    other_stop: int,
    nearest: Ints,
    squared: Floats,
    other_nearest: Ints,
    other_squared: Floats,
) -> None:
    """Write the nearest of some rows of the other side for some rows of this side, and back.

    Every distance is taken, which is quickest where no block of rows can be left out.

    Parameters
    ----------
    rows, others : Rows
        Turned round, so that the cells of a column stand in one piece.
    terms : Terms
        What differences cost.
    start, stop, other_start, other_stop : int
        Which rows of either side.
    nearest, squared : ndarray, shape (stop - start,)
        Lowered: the nearest of these rows of the other side, the lowest of equally near ones. ``squared``
        starts as infinity.
    other_nearest, other_squared : ndarray, shape (other_stop - other_start,)
        Lowered: the same the other way round.
    """
    numbers, missing, codes = rows.numbers, rows.missing, rows.codes
    other_numbers, other_missing, other_codes = others.numbers, others.missing, others.codes
    weights, lacking, starts, mismatch = terms.weights, terms.lacking, terms.starts, terms.mismatch
    distance, differing = np.empty(_WIDTH), np.empty(_WIDTH)
    count = np.empty(_WIDTH, dtype=np.uint8)
    n_whole = len(weights) - len(missing)
    for low in range(other_start, other_stop, _WIDTH):
        width = min(_WIDTH, other_stop - low)
        theirs = other_squared[low - other_start : low - other_start + width]
        for i in range(start, stop):
            for j in range(width):
                distance[j] = 0.0
            # Four columns at a time spare most loads and stores; the sum is taken in the same order.
            for c in range(0, n_whole - n_whole % 4, 4):
                x0, x1, x2, x3 = numbers[c, i], numbers[c + 1, i], numbers[c + 2, i], numbers[c + 3, i]
                w0, w1, w2, w3 = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
                column0 = other_numbers[c, low : low + width]
                column1 = other_numbers[c + 1, low : low + width]
                column2 = other_numbers[c + 2, low : low + width]
                column3 = other_numbers[c + 3, low : low + width]
                for j in range(width):
                    d0, d1 = column0[j] - x0, column1[j] - x1
                    d2, d3 = column2[j] - x2, column3[j] - x3
                    distance[j] = (
                        ((distance[j] + w0 * (d0 * d0)) + w1 * (d1 * d1)) + w2 * (d2 * d2)
                    ) + w3 * (d3 * d3)
            for c in range(n_whole - n_whole % 4, n_whole):
                x = numbers[c, i]
                w = weights[c]
                column = other_numbers[c, low : low + width]
                for j in range(width):
                    d = column[j] - x
                    distance[j] += w * (d * d)
            for h in range(len(missing)):
                x = numbers[n_whole + h, i]
                w, lack = weights[n_whole + h], lacking[n_whole + h]
                column = other_numbers[n_whole + h, low : low + width]
                hole = missing[h, i]
                holes = other_missing[h, low : low + width]
                for j in range(width):
                    d = column[j] - x
                    distance[j] += w * (d * d) if holes[j] == hole else lack
            for j in range(width):
                differing[j] = 0.0
            for run in range(len(mismatch)):
                for j in range(width):
                    count[j] = 0
                first, last, cost = starts[run], starts[run + 1], mismatch[run]
                fours = last - (last - first) % 4
                for c in range(first, fours, 4):
                    code0, code1, code2, code3 = (
                        codes[c, i],
                        codes[c + 1, i],
                        codes[c + 2, i],
                        codes[c + 3, i],
                    )
                    others0 = other_codes[c, low : low + width]
                    others1 = other_codes[c + 1, low : low + width]
                    others2 = other_codes[c + 2, low : low + width]
                    others3 = other_codes[c + 3, low : low + width]
                    for j in range(width):
                        count[j] += (
                            np.uint8(others0[j] != code0)
                            + np.uint8(others1[j] != code1)
                            + np.uint8(others2[j] != code2)
                            + np.uint8(others3[j] != code3)
                        )
                for c in range(fours, last):
                    code = codes[c, i]
                    column_codes = other_codes[c, low : low + width]
                    for j in range(width):
                        count[j] += np.uint8(column_codes[j] != code)
                for j in range(width):
                    differing[j] += cost * count[j]
            for j in range(width):
                distance[j] += differing[j]
            # Few rows are nearer than what is known: counting them is quicker than looking at each.
            mine = squared[i - start]
            nearer = 0
            nearer_back = 0
            for j in range(width):
                nearer += int(distance[j] < mine)
                nearer_back += int(distance[j] < theirs[j])
            if nearer > 0:
                for j in range(width):
                    if distance[j] < mine:
                        mine = distance[j]
                        nearest[i - start] = low + j
                squared[i - start] = mine
            if nearer_back > 0:
                for j in range(width):
                    if distance[j] < theirs[j]:
                        theirs[j] = distance[j]
                        other_nearest[low - other_start + j] = i
