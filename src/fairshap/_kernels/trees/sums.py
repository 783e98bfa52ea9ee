"""Sums over the paths of trees: games without a link, and the margins that composed models are made of."""

import numpy as np

from fairshap._kernels.compiling import compiled, inner
from fairshap._kernels.trees.ensemble import Output, Walker
from fairshap._kernels.trees.games import NO_VALUE, count_bits, sum_paths
from fairshap._kernels.trees.paths import MET, OTHER, OWN, VALUE, Pairs, make_pairs, read_pair
from fairshap._typing import Codes, Floats, Ints


def solve_additive(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    begin: Ints,
    counts: Codes,
    active: Codes,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Write the exact Shapley values of the output of each pair, of up to 62 players, without enumeration.

    The parameters are those of :func:`~fairshap._kernels.trees.pairs.solve_pairs`. Without values to write
    only ``counts`` is written.
    """
    pairs = make_pairs(walker, rows, references, switched)
    _solve_additive(pairs, walker.output, begin, counts, active, phi, full, empty)


@compiled
def _solve_additive(
    pairs: Pairs,
    output: Output,
    begin: Ints,
    counts: Codes,
    active: Codes,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Add up the values of the paths, each of which is a game of its own.

    A path of amount w that takes e players with the row's value and b with the reference's is worth w to the
    coalitions with all of the former and none of the latter. Each of the former has the Shapley value
    ``w / (e C(e + b, e))``, each of the latter ``-w / (b C(e + b, e))``.
    """
    desk = pairs.desk
    for i in range(len(pairs.rows)):
        q, n, constant, _, _ = read_pair(pairs, i, 0, True)
        counts[i] = q
        if len(full) == 0:
            continue
        full[i], empty[i] = constant, constant
        values = phi[begin[i] : begin[i] + q]
        for s in range(q):
            active[begin[i] + s] = desk.active[s]
            values[s] = 0.0
        for k in range(n):
            own, other, amount = desk.masks[k, OWN], desk.masks[k, OTHER], desk.amounts[k, VALUE]
            n_own, n_other = count_bits(own), count_bits(other)
            full[i] += amount if n_other == 0 else 0.0
            empty[i] += amount if n_own == 0 else 0.0
            # Divided by C(e + b, e), one factor after the other.
            share = output.scale * amount
            for j in range(n_own):
                share *= (j + 1) / (n_other + j + 1)
            for s in range(q):
                if own >> s & 1:
                    values[s] += share / n_own
                elif other >> s & 1:
                    values[s] -= share / n_other
        full[i] = output.base + output.scale * full[i]
        empty[i] = output.base + output.scale * empty[i]


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
