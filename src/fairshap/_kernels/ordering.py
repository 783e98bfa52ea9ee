"""Rows in an order in which similar ones stand together."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.costs import Terms
from fairshap._typing import AnyCodes, Bools, Bytes, Floats, Ints

# The rows of a block at most: a constant, so that loops over a block need no remainder.
ROWS = 64

# The rows of a part that are looked at before it is split: enough to see where it is wide.
_SAMPLE = 512
# A category is rare if fewer than one in so many rows have it.
_RARE = 16
# Splits above a part after which it is split in the middle: no table has the tree degenerate.
_DEEPEST = 256


class Rows(NamedTuple):
    """The rows of one side, each in one piece."""

    #: shape (rows, columns of numbers), 0 where one is missing
    numbers: Floats
    #: shape (rows, columns with missing numbers, which are the last), 1 where one is missing
    missing: Bytes
    #: shape (rows, columns of categories), from 0 on
    codes: AnyCodes


class Buckets(NamedTuple):
    """The categories of each column, told apart by their last bits."""

    #: The bits that count
    mask: int
    #: shape (columns of categories + 1,): where the buckets of each column begin
    offsets: Ints


@compiled
def order_rows(rows: Rows, terms: Terms, buckets: Buckets, order: Ints, is_start: Bools) -> None:
    """Order the rows so that similar ones stand together, and mark where blocks of them start.

    A tree: a part with too many rows is split in two by the column in which its rows are farthest apart.
    ``order`` counts the rows up at first; within a block they still ascend.
    """
    aside = np.empty(len(order), dtype=np.int64)
    counts = np.empty(buckets.mask + 1, dtype=np.int64)
    # The smaller part is split first, so that no more parts wait than the number of rows has bits.
    starts, stops, depths = np.zeros(65, np.int64), np.zeros(65, np.int64), np.zeros(65, np.int64)
    stops[0] = len(order)
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        start, stop, depth = starts[n_waiting], stops[n_waiting], depths[n_waiting] + 1
        if stop - start <= ROWS:
            is_start[start] = True
            continue
        middle = start
        if depth < _DEEPEST:
            part = order[start:stop]
            column, pivot, is_one = _widest(rows, terms, buckets, part, counts)
            if column >= 0:
                middle += _split(rows, buckets.mask, part, column, pivot, is_one, aside)
        if middle in (start, stop):
            middle = (start + stop) // 2
        front = n_waiting if middle - start > stop - middle else n_waiting + 1
        back = 2 * n_waiting + 1 - front
        starts[front], stops[front], depths[front] = start, middle, depth
        starts[back], stops[back], depths[back] = middle, stop, depth
        n_waiting += 2


@compiled
def _widest(rows: Rows, terms: Terms, buckets: Buckets, part: Ints, counts: Ints) -> tuple[int, float, bool]:
    """Return the column to split by, where, and whether one category is split off.

    The column is the one in which a row is farthest, on average, from the half where it is not: half the
    variance of a number that is spread evenly, and a mismatch as often as two rows are parted. Columns of
    categories come after those of numbers; -1 if all rows are equal.
    """
    weights, starts, mismatch = terms.weights, terms.starts, terms.mismatch
    n_numbers = rows.numbers.shape[1]
    step = max(1, len(part) // _SAMPLE)
    n_seen = (len(part) + step - 1) // step
    widest, column, pivot, is_one = 0.0, -1, 0.0, False
    for k in range(n_numbers):
        origin = rows.numbers[part[0], k]
        total, squares = 0.0, 0.0
        for i in range(0, len(part), step):
            x = rows.numbers[part[i], k] - origin
            total += x
            squares += x * x
        mean = total / n_seen
        width = 0.5 * weights[k] * (squares / n_seen - mean * mean)
        if width > widest:
            widest, column, pivot = width, k, origin + mean
    run = 0
    for k in range(rows.codes.shape[1]):
        run += int(k == starts[run + 1])
        size = buckets.offsets[k + 1] - buckets.offsets[k]
        for v in range(size):
            counts[v] = 0
        for i in range(0, len(part), step):
            counts[rows.codes[part[i], k] & buckets.mask] += 1
        most = 0
        for v in range(size):
            most = v if counts[v] > counts[most] else most
        # The most frequent category is split off; many rare ones are halved.
        is_frequent = counts[most] * _RARE >= n_seen
        share = counts[most] / n_seen if is_frequent else 0.5
        width = mismatch[run] * 2.0 * share * (1.0 - share)
        if width > widest:
            widest, column, is_one = width, n_numbers + k, is_frequent
            if not is_frequent:
                most, below = 0, counts[0]
                while 2 * below < n_seen:
                    most += 1
                    below += counts[most]
            pivot = float(most)
    return column, pivot, is_one


@compiled
def _split(rows: Rows, mask: int, part: Ints, column: int, pivot: float, is_one: bool, aside: Ints) -> int:
    """Move the rows on one side of the pivot to the front, in their order, and return their number."""
    n_numbers = rows.numbers.shape[1]
    n_front, n_aside = 0, 0
    for i in range(len(part)):
        row = part[i]
        if column < n_numbers:
            in_front = rows.numbers[row, column] < pivot
        else:
            bucket = rows.codes[row, column - n_numbers] & mask
            in_front = bucket == pivot if is_one else bucket <= pivot
        if in_front:
            part[n_front] = row
            n_front += 1
        else:
            aside[n_aside] = row
            n_aside += 1
    for i in range(n_aside):
        part[n_front + i] = aside[i]
    return n_front
