"""The margins of coalitions, for each value of the attribute: what composed models are made of."""

import numpy as np

from fairshap._kernels.compiling import compiled, inner
from fairshap._kernels.trees.ensemble import Output, Walker
from fairshap._kernels.trees.games import NO_VALUE, sum_paths
from fairshap._kernels.trees.paths import MET, OTHER, OWN, VALUE, Pairs, make_pairs, read_pair
from fairshap._typing import Codes, Floats, Ints


def tabulate_margins(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    active: Codes,
    coalitions: Ints,
    margins: Floats,
) -> None:
    """Write the margins of coalitions of pairs with q players each, shape (pairs, alternatives, coalitions).

    The first parameters are those of :func:`~fairshap._kernels.trees.pairs.solve_pairs`. ``active``, of shape
    (pairs, q), names all players that the rows of a pair differ by. ``coalitions`` are bits in that order:
    who keeps the row's value; without any, all 2^q are tabulated.
    """
    direct = np.empty(0 if len(coalitions) else 1 << active.shape[1])
    pairs = make_pairs(walker, rows, references, switched)
    _tabulate_margins(pairs, walker.output, active, coalitions, direct, margins)


@compiled
def _tabulate_margins(
    pairs: Pairs, output: Output, active: Codes, coalitions: Ints, direct: Floats, margins: Floats
) -> None:
    q, desk = active.shape[1], pairs.desk
    for i in range(len(pairs.rows)):
        for k in range(q):
            desk.slot_of[active[i, k]] = k
            desk.active[k] = active[i, k]
        _, n, constant, _, _ = read_pair(pairs, i, q, True)
        masks, amounts = desk.masks[:n], desk.amounts[:n]
        for a in range(margins.shape[1]):
            table = margins[i, a]
            if len(coalitions):
                _sum_open(masks, amounts, a, coalitions, constant, table)
            else:
                sum_paths(masks, amounts, a, NO_VALUE, 0, constant, table, direct)
            for c in range(len(table)):
                table[c] = output.base + output.scale * table[c]


@inner
def _sum_open(
    masks: Ints, amounts: Floats, value: int, coalitions: Ints, constant: float, margins: Floats
) -> None:
    """Write the sums over the paths that are open to given coalitions, for a value of the attribute."""
    margins[:] = constant
    for k in range(len(masks)):
        if masks[k, MET] >> value & 1:
            own, named = masks[k, OWN], masks[k, OWN] | masks[k, OTHER]
            for c in range(len(coalitions)):
                if (coalitions[c] ^ own) & named == 0:
                    margins[c] += amounts[k, VALUE]
