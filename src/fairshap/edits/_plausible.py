"""Edits that leave a row with categories that occur together."""

from functools import cache

import numpy as np

from fairshap._typing import Bools, Codes, Floats, Ints, Sides


def keep_plausible(
    replaced: Bools,
    importance: Floats,
    rows: Ints,
    references: Ints,
    codes: Codes,
    player: Ints,
    side: Sides,
) -> None:
    """Give up replacements, the least important first, until what is left is plausible.

    A row with its new values is plausible if every two of its categories, of which one is new, occur together
    in some row of the other group. Numbers take no part: hardly two rows have the same ones.

    Parameters
    ----------
    replaced : ndarray of bool, shape (chosen rows, players)
        Changed: which players of each row are replaced.
    importance : ndarray, shape (chosen rows, players)
        How important each is; of equals the first is given up first.
    rows, references : ndarray of int, shape (chosen rows,)
        Positions in the table.
    codes : ndarray of int, shape (rows or twice as many, categories)
        The categories of the whole table, those of the sensitive attribute aside; where the references stand
        below the rows, of both.
    player : ndarray of int, shape (categories,)
        Whose they are.
    side : ndarray of int, shape (rows,)
        The group of each row of the whole table.
    """
    width = int(codes.max(initial=0)) + 2
    own, other = codes[rows], codes[references]

    def keys(cells: Codes, a: int, b: int) -> Ints:
        return (cells[:, a] + np.int64(1)) * width + cells[:, b] + 1

    @cache
    def occurring(of_side: int, a: int, b: int) -> Ints:
        return np.unique(keys(codes[-len(side) :][side == of_side], a, b))

    pending = np.arange(len(rows))
    while len(pending):
        mine = replaced[pending][:, player]
        mixed = np.where(mine, other[pending], own[pending])
        is_new = mine & (own[pending] != other[pending])
        broken = np.zeros((len(pending), replaced.shape[1]), dtype=np.bool_)
        for s in (0, 1):
            of_side = side[rows[pending]] == s
            for a in np.flatnonzero(is_new[of_side].any(axis=0)).tolist():
                at = np.flatnonzero(of_side & is_new[:, a])
                for b in np.flatnonzero(player != player[a]).tolist():
                    unseen = ~np.isin(keys(mixed[at], a, b), occurring(1 - s, a, b))
                    broken[at[unseen], player[a]] = True
        # One at a time: without it the others may be plausible.
        at = np.flatnonzero(broken.any(axis=1))
        least = np.where(broken, importance[pending], np.inf).argmin(axis=1)[at]
        pending = pending[at]
        replaced[pending, least] = False
