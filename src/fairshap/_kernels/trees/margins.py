"""The margins of coalitions, for each value of the attribute: what composed models are made of."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.trees.ensemble import BLOCK
from fairshap._kernels.trees.enumeration import add_path
from fairshap._kernels.trees.games import MET, OTHER, OWN, VALUE, subset_sums
from fairshap._kernels.trees.walker import Walker, collect, lay_out, make_desk
from fairshap._typing import Codes, Floats, Ints


@compiled
def tabulate_margins(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    active: Codes,
    coalitions: Ints,
    margins: Floats,
) -> None:
    """Write the margins of coalitions of pairs that have equally many players.

    Parameters
    ----------
    walker : Walker
        The ensemble, the table and the attribute.
    rows, references : ndarray of int, shape (pairs,)
        Positions in the table.
    switched : ndarray of int32, shape (pairs or 1, alternatives, features)
        The ranks of the attribute's features for the values that it is switched between.
    active : ndarray of int32, shape (pairs, q)
        The players: all that the rows differ by, in the order of the coalitions' bits.
    coalitions : ndarray of int, shape (coalitions,)
        Which players keep the row's values, as bits; none for all 2^q coalitions in their order.
    margins : ndarray, shape (pairs, alternatives, coalitions)
        Written.
    """
    n_alternatives, q = switched.shape[1], active.shape[1]
    desk = make_desk(walker)
    direct = np.empty(0 if len(coalitions) else 1 << q)
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        lay_out(walker, rows[start:stop], references[start:stop], desk)
        for i in range(start, stop):
            for k in range(q):
                desk.slot_of[active[i, k]] = k
                desk.active[k] = active[i, k]
            values = switched[i if len(switched) > 1 else 0]
            _, n, constant, _, _ = collect(walker, rows[i], references[i], values, desk, i - start, q, True)
            if len(coalitions):
                _sum_open(desk.masks[:n], desk.amounts, coalitions, margins[i])
            else:
                _sum_all(desk.masks[:n], desk.amounts, direct, margins[i])
            for a in range(n_alternatives):
                for c in range(margins.shape[2]):
                    margins[i, a, c] = walker.base + walker.scale * (constant + margins[i, a, c])


@compiled
def _sum_all(masks: Ints, amounts: Floats, direct: Floats, margins: Floats) -> None:
    """Write the sums over the paths that are open to each coalition."""
    for a in range(len(margins)):
        level = margins[a]
        level[:] = 0.0
        used_direct = False
        for k in range(len(masks)):
            # Beyond the first value of the attribute, only what differs from it.
            sign = (masks[k, MET] >> a & 1) - (masks[k, MET] & 1 if a else 0)
            if sign:
                used_direct = add_path(
                    masks[k, OWN], masks[k, OTHER], sign * amounts[k, VALUE], level, direct, used_direct
                )
        subset_sums(level)
        for c in range(len(level)):
            level[c] += (direct[c] if used_direct else 0.0) + (margins[0, c] if a else 0.0)


@compiled
def _sum_open(masks: Ints, amounts: Floats, coalitions: Ints, margins: Floats) -> None:
    """Write the sums over the paths that are open to given coalitions."""
    margins[:] = 0.0
    for k in range(len(masks)):
        own, named = masks[k, OWN], masks[k, OWN] | masks[k, OTHER]
        for c in range(len(coalitions)):
            if (coalitions[c] ^ own) & named == 0:
                for a in range(len(margins)):
                    if masks[k, MET] >> a & 1:
                        margins[a, c] += amounts[k, VALUE]
