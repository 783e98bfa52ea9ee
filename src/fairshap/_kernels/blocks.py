"""Blocks of similar rows, with what their cells are within."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.costs import Terms
from fairshap._kernels.ordering import ROWS, Buckets, Rows, order_rows
from fairshap._typing import AnyCodes, Bytes, Floats, Ints

# The blocks of a group, whose bounds are taken together: a constant, so that loops need no remainder.
LANES = 64

# The categories told apart in bounds: others share a bucket with one of them.
_BUCKETS = 256
# The bytes that the buckets of all blocks may take.
_BUCKET_BYTES = 1 << 26


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


def blocks_of(rows: Rows, terms: Terms, buckets: Buckets) -> Blocks:
    """Return the rows in blocks of similar ones."""
    n = len(rows.numbers)
    order = np.arange(n)
    is_start = np.zeros(n, dtype=np.bool_)
    order_rows(rows, terms, buckets, order, is_start)
    starts = np.append(np.flatnonzero(is_start), n)
    n_blocks = len(starts) - 1
    n_buckets = int(buckets.offsets[-1])
    blocks = Blocks(
        order,
        starts,
        np.empty((n_blocks, rows.numbers.shape[1], ROWS)),
        np.empty((n_blocks, rows.missing.shape[1], ROWS), dtype=np.uint8),
        np.empty((n_blocks, rows.codes.shape[1], ROWS), dtype=rows.codes.dtype),
        buckets,
        _open_boxes(rows, n_blocks, n_buckets),
        _open_boxes(rows, -(-n_blocks // LANES), n_buckets),
    )
    fill_blocks(rows, blocks)
    return blocks


def _open_boxes(rows: Rows, n_sets: int, n_buckets: int) -> Boxes:
    """Return boxes that hold no row yet."""
    tiles, n_numbers = -(-n_sets // LANES), rows.numbers.shape[1]
    return Boxes(
        np.full((tiles, n_numbers, LANES), np.inf),
        np.full((tiles, n_numbers, LANES), -np.inf),
        np.ones((tiles, 2 * rows.missing.shape[1], LANES), dtype=np.uint8),
        np.ones((tiles, n_buckets, LANES), dtype=np.uint8),
        np.full(n_sets, len(rows.numbers)),
    )


@compiled
def fill_blocks(rows: Rows, blocks: Blocks) -> None:
    """Write the blocks' cells, and widen their boxes and those of their groups to hold them."""
    n_whole = rows.numbers.shape[1] - rows.missing.shape[1]
    boxes = blocks.boxes
    for b in range(len(blocks.starts) - 1):
        last = blocks.starts[b + 1] - 1
        boxes.first[b] = blocks.order[blocks.starts[b]]
        low, high = boxes.low[b // LANES, :, b % LANES], boxes.high[b // LANES, :, b % LANES]
        gone, absent = boxes.gone[b // LANES, :, b % LANES], boxes.absent[b // LANES, :, b % LANES]
        for j in range(ROWS):
            row = blocks.order[min(blocks.starts[b] + j, last)]
            for k in range(rows.numbers.shape[1]):
                x = rows.numbers[row, k]
                blocks.numbers[b, k, j] = x
                low[k], high[k] = min(low[k], x), max(high[k], x)
            for h in range(rows.missing.shape[1]):
                flag = rows.missing[row, h]
                blocks.missing[b, h, j] = flag
                gone[2 * h + flag] = 0
            for k in range(rows.codes.shape[1]):
                code = rows.codes[row, k]
                blocks.codes[b, k, j] = code
                absent[blocks.buckets.offsets[k] + (code & blocks.buckets.mask)] = 0
        for h in range(rows.missing.shape[1]):
            if gone[2 * h + 1] == 0:
                low[n_whole + h], high[n_whole + h] = -np.inf, np.inf
        _widen(blocks.groups, b // LANES, low, high, gone, absent, boxes.first[b])


@compiled
def _widen(boxes: Boxes, i: int, low: Floats, high: Floats, gone: Bytes, absent: Bytes, first: int) -> None:
    """Widen box i to hold another one."""
    tile, lane = i // LANES, i % LANES
    for k in range(len(low)):
        boxes.low[tile, k, lane] = min(boxes.low[tile, k, lane], low[k])
        boxes.high[tile, k, lane] = max(boxes.high[tile, k, lane], high[k])
    for k in range(len(gone)):
        boxes.gone[tile, k, lane] &= gone[k]
    for k in range(len(absent)):
        boxes.absent[tile, k, lane] &= absent[k]
    boxes.first[i] = min(boxes.first[i], first)
