"""One-hot blocks, which are categories in disguise."""

import numpy as np

from fairshap._typing import Codes, Floats


def one_hot_blocks(numbers: Floats) -> list[slice]:
    """Return the runs of columns in which every row has one 1 and otherwise 0.

    Examples
    --------
    >>> one_hot_blocks(np.array([[5.0, 1, 0, 0], [6.0, 0, 0, 1], [7.0, 0, 1, 0]]))
    [slice(1, 4, None)]
    """
    binary = ((numbers == 0) | (numbers == 1)).all(axis=0)
    blocks = []
    start = 0
    while start < numbers.shape[1]:
        stop = start
        ones = np.zeros(len(numbers))
        while stop < numbers.shape[1] and binary[stop] and ones.max(initial=0) <= 1 and ones.min() < 1:
            ones += numbers[:, stop]
            stop += 1
        if stop > start + 1 and (ones == 1).all():
            blocks.append(slice(start, stop))
            start = stop
        else:
            start += 1
    return blocks


def without_one_hot(numbers: Floats) -> tuple[Floats, Codes]:
    """Return the columns that stand for themselves, and a column of codes for each one-hot block.

    Two rows that differ in a block differ in two of its columns by one, which is what a category that
    differs costs: distances are the same, for fewer columns.
    """
    blocks = one_hot_blocks(numbers)
    alone = np.ones(numbers.shape[1], dtype=np.bool_)
    codes = np.empty((len(numbers), len(blocks)), dtype=np.int32)
    for k, block in enumerate(blocks):
        alone[block] = False
        codes[:, k] = numbers[:, block].argmax(axis=1)
    return numbers[:, alone], codes
