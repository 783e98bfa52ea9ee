"""One-hot blocks, which are categories in disguise."""

import numpy as np

from fairshap._typing import Bools, Codes, Floats, Ints

# The cells compared at a time: a wide table is never copied whole.
_BLOCK_CELLS = 1 << 20


def one_hot_blocks(numbers: Floats, columns: Ints) -> list[tuple[Ints, Codes]]:
    """Return the runs of the given columns in which every row has one 1 and otherwise 0.

    Each comes with the place of the 1 in every row.
    """
    n_ones, is_binary = _count_ones(numbers)
    blocks = []
    start = 0
    while start < len(columns):
        stop = start
        # A block has as many ones as there are rows: whatever else has, is looked at more closely.
        total = 0.0
        while stop < len(columns) and is_binary[columns[stop]] and total < len(numbers):
            total += n_ones[columns[stop]]
            stop += 1
        codes = _places(numbers, columns[start:stop]) if total == len(numbers) else None
        if codes is None:
            start += 1
        else:
            blocks.append((columns[start:stop], codes))
            start = stop
    return blocks


def without_one_hot(numbers: Floats, columns: Ints, weights: Floats) -> tuple[Ints, Codes, Floats]:
    """Return which of the columns stand for themselves, and the codes and the weight of each one-hot block.

    Two rows that differ in a block differ in two of its columns by one, which costs what a category that
    differs does: distances are the same, for fewer columns. ``weights`` says what a squared difference of one
    counts in each column; only a block in which that is the same becomes a category.
    """
    blocks = [block for block in one_hot_blocks(numbers, columns) if len(np.unique(weights[block[0]])) == 1]
    codes = np.empty((len(numbers), len(blocks)), dtype=np.int32)
    for k, (_, places) in enumerate(blocks):
        codes[:, k] = places
    alone = np.setdiff1d(columns, np.concatenate([columns[:0], *(run for run, _ in blocks)]))
    return alone, codes, np.array([weights[run[0]] for run, _ in blocks])


def _count_ones(numbers: Floats) -> tuple[Floats, Bools]:
    """Return how often each column is 1, if it is 0 otherwise, and whether it is."""
    n_ones = np.zeros(numbers.shape[1])
    is_binary = np.ones(numbers.shape[1], dtype=np.bool_)
    size = max(1, _BLOCK_CELLS // max(1, numbers.shape[1]))
    for start in range(0, len(numbers), size):
        cells = numbers[start : start + size]
        is_binary &= ((cells == 0) | (cells == 1)).all(axis=0)
        # The sums of other columns mean nothing, even if they overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            n_ones += np.ones(len(cells)) @ cells
    return n_ones, is_binary


def _places(numbers: Floats, columns: Ints) -> Codes | None:
    """Return the place of the 1 in every row of binary columns, None unless each row has one."""
    if len(columns) < 2:
        return None
    first, width = columns[0], len(columns)
    is_run = columns[-1] - first + 1 == width
    block = numbers[:, first : first + width] if is_run else numbers[:, columns]
    # Two products: the number of ones, and the sum of their places.
    ones, places = (block @ np.column_stack([np.ones(width), np.arange(width)])).T
    return places.astype(np.int32) if (ones == 1).all() else None
