"""Which players of which rows are replaced: the budget, the limits."""

import numpy as np

from fairshap._typing import AnyCodes, Bools, Floats


def keep_few(replaced: Bools, importance: Floats, cells: AnyCodes, most: int) -> None:
    """Keep the most important replacements of each row, of so many cells together.

    Parameters
    ----------
    replaced : ndarray of bool, shape (rows, players)
        Changed.
    importance : ndarray, shape (rows, players)
        How important each is; of equals the first comes first.
    cells : ndarray of int, shape (rows, players)
        How many cells a replacement takes.
    most : int
        How many there may be in a row.
    """
    order = np.argsort(np.where(replaced, -importance, np.inf), axis=1, kind="stable")
    taken = np.take_along_axis(np.where(replaced, cells, 0), order, axis=1)
    # One that does not fit is passed over, and the next may.
    room = np.full(len(replaced), most)
    for k in range(int(replaced.sum(axis=1).max(initial=0))):
        fits = taken[:, k] <= room
        room -= np.where(fits, taken[:, k], 0)
        rows = np.flatnonzero(~fits)
        replaced[rows, order[rows, k]] = False


def keep_within(replaced: Bools, importance: Floats, cells: AnyCodes, budget: int) -> None:
    """Keep the most important replacements of the whole table, of so many cells together.

    The parameters are those of :func:`keep_few`. The first that does not fit ends it, so that a larger
    budget keeps all that a smaller one does.
    """
    row, player = np.nonzero(replaced)
    order = np.argsort(-importance[row, player], kind="stable")
    row, player = row[order], player[order]
    beyond = np.cumsum(cells[row, player], dtype=np.int64) > budget
    replaced[row[beyond], player[beyond]] = False
