"""Blocks of similar rows, and the bounding box of each block."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairshap._kernels.compiling import compiled, inner
from fairshap._kernels.neighbors.distance import Terms
from fairshap._typing import AnyCodes, Bools, Bytes, Floats, Ints

# The rows of a block at most: a constant, so that loops over a block need no remainder.
ROWS = 64
# The blocks of a group, whose bounds are taken together: a constant, so that loops need no remainder.
LANES = 64

# The rows of a part that are looked at before it is split: enough to see where it is wide.
_SAMPLE = 512
# A category is rare if fewer than one in so many rows have it.
_RARE = 16
# Splits above a part after which it is split in the middle: no table has the tree degenerate.
_DEEPEST = 256
# The categories told apart in bounds: others share a bucket with one of them.
_BUCKETS = 256
# The bytes that the buckets of all blocks may take.
_BUCKET_BYTES = 1 << 26


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
def order_rows(
    rows: Rows,
    terms: Terms,
    buckets: Buckets,
    aside: Ints,
    counts: Ints,
    waiting: Ints,
    order: Ints,
    is_start: Bools,
) -> None:
    """Order the rows so that similar ones stand together, and mark where blocks of them start.

    A tree: a part with too many rows is split in two by the column in which its rows are farthest apart.
    ``order`` counts the rows up at first; within a block they still ascend. It works in places for all rows,
    for all buckets of a column, and in ``waiting``, of shape (3, bits of the number of rows + 1).
    """
    # The smaller part is split first, so that no more parts wait than the number of rows has bits.
    starts, stops, depths = waiting[0], waiting[1], waiting[2]
    starts[0], stops[0], depths[0] = 0, len(order), 0
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
        if not start < middle < stop:
            middle = (start + stop) // 2
        front = n_waiting if middle - start > stop - middle else n_waiting + 1
        back = 2 * n_waiting + 1 - front
        starts[front], stops[front], depths[front] = start, middle, depth
        starts[back], stops[back], depths[back] = middle, stop, depth
        n_waiting += 2


@inner
def _widest(rows: Rows, terms: Terms, buckets: Buckets, part: Ints, counts: Ints) -> tuple[int, float, bool]:
    """Return the column to split by, where, and whether one category is split off.

    The column is the one in which a row is farthest, on average, from the half where it is not: half the
    variance of a number that is spread evenly, and a mismatch as often as two rows are parted. Columns of
    categories come after those of numbers; -1 if all rows are equal.
    """
    weights, starts, mismatch = terms.weights, terms.starts, terms.mismatch
    n_numbers = rows.numbers.shape[1]
    step = len(part) // _SAMPLE if len(part) >= _SAMPLE else 1
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


@inner
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


class Boxes(NamedTuple):
    """What the cells of some sets of rows are within, ``LANES`` sets at a time."""

    #: shape (sets / LANES, columns of numbers, LANES): the range, without bounds if one is missing
    low: Floats
    high: Floats
    #: shape (sets / LANES, 2 x columns with missing numbers, LANES): 1 if none is present, missing
    gone: Bytes
    #: shape (sets / LANES, buckets of all columns, LANES): 1 if no category is in the bucket
    absent: Bytes
    #: shape (sets,): the lowest row
    first: Ints


class Blocks(NamedTuple):
    """The rows of one side in blocks; cells beyond a block's rows repeat its last row."""

    #: shape (rows,): the rows, block after block
    order: Ints
    #: shape (blocks + 1,): where the blocks begin
    starts: Ints
    #: shape (blocks, columns, ROWS)
    numbers: Floats
    missing: Bytes
    codes: AnyCodes
    buckets: Buckets
    boxes: Boxes
    #: The boxes of the groups of ``LANES`` blocks.
    groups: Boxes


def buckets_of(sizes: Ints, n_rows: int) -> Buckets:
    """Return the buckets for columns of so many categories, in blocks of so many rows altogether."""
    n_buckets = _BUCKETS
    while n_buckets > 8 and np.minimum(sizes, n_buckets).sum() * n_rows > _BUCKET_BYTES * ROWS // 2:
        n_buckets //= 2
    return Buckets(n_buckets - 1, np.append(0, np.cumsum(np.minimum(sizes, n_buckets))))


def order_of(rows: Rows, terms: Terms, buckets: Buckets) -> tuple[Ints, Ints]:
    """Return the rows in an order in which similar ones stand together, and where blocks of them begin."""
    n = len(rows.numbers)
    order, aside, is_start = np.arange(n), np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    counts, waiting = np.empty(buckets.mask + 1, dtype=np.int64), np.empty((3, 65), dtype=np.int64)
    order_rows(rows, terms, buckets, aside, counts, waiting, order, is_start)
    return order, np.append(np.flatnonzero(is_start), n)


def blocks_of(rows: Rows, terms: Terms, buckets: Buckets) -> Blocks:
    """Return the rows in blocks of similar ones."""
    order, starts = order_of(rows, terms, buckets)
    cells = order[np.minimum(starts[:-1, None] + np.arange(ROWS), starts[1:, None] - 1)]
    numbers, missing, codes = (_by_column(part, cells) for part in rows)
    low, high = numbers.min(axis=2, initial=np.inf), numbers.max(axis=2, initial=-np.inf)
    n_holes = missing.shape[1]
    has_hole = missing.any(axis=2)
    holes = slice(numbers.shape[1] - n_holes, None)
    low[:, holes][has_hole], high[:, holes][has_hole] = -np.inf, np.inf
    gone = np.stack([missing.all(axis=2), ~has_hole], axis=2).reshape(len(cells), 2 * n_holes)
    absent = np.ones((len(cells), int(buckets.offsets[-1])), dtype=np.uint8)
    for k in range(codes.shape[1]):
        here = buckets.offsets[k] + (codes[:, k] & buckets.mask)
        absent[np.arange(len(cells))[:, None], here] = 0
    boxes = low, high, gone.astype(np.uint8), absent, order[starts[:-1]]
    groups = np.arange(0, len(cells), LANES)
    merge = np.minimum, np.maximum, np.minimum, np.minimum, np.minimum
    wider = (combine.reduceat(part, groups) for combine, part in zip(merge, boxes, strict=True))
    return Blocks(
        order, starts, numbers, missing, codes, buckets, _side_by_side(*boxes), _side_by_side(*wider)
    )


def _by_column(cells: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """Return the cells of blocks of rows, shape (blocks, columns, rows of a block)."""
    blocks = np.empty((len(rows), cells.shape[1], rows.shape[1]), dtype=cells.dtype)
    for k in range(cells.shape[1]):
        blocks[:, k] = cells[:, k][rows]
    return blocks


def _side_by_side(low: Floats, high: Floats, gone: Bytes, absent: Bytes, first: Ints) -> Boxes:
    """Return the boxes of sets of rows, LANES of them at a time; those beyond the last hold no row."""
    tiles = -(-len(first) // LANES)

    def tile(part: NDArray[Any], empty: float) -> NDArray[Any]:
        filled = np.full((tiles * LANES, part.shape[1]), empty, dtype=part.dtype)
        filled[: len(part)] = part
        return np.ascontiguousarray(filled.reshape(tiles, LANES, -1).swapaxes(1, 2))

    return Boxes(tile(low, np.inf), tile(high, -np.inf), tile(gone, 1), tile(absent, 1), first)
