"""Pairs of rows through the trees of an ensemble: the paths of their coalitions, and what they give."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_into_its_caller
from fairshap._kernels.descending import BLOCK, Descent, find_leaves, make_descent, n_lines
from fairshap._kernels.paths import (
    INVERSE,
    MET,
    MOST_PLAYERS,
    ODDS,
    OTHER,
    OWN,
    VALUE,
)
from fairshap._kernels.trees import Trees
from fairshap._typing import Bools, Codes, Floats, Ints

# Where a node's properties stand in its line; they are read together, so that they are kept together.
FEATURE, _CUT, LEFT, RIGHT, _DEFAULT, _TABLE = range(6)
# The column of the stack beside those of a path.
_NODE = 3


class Walker(NamedTuple):
    """An ensemble, a table and an attribute as the kernels take them.

    Parameters
    ----------
    nodes : ndarray of int32, shape (nodes, 8)
        A node's feature, cut, children, default and table; the complement of the feature where that is
        the attribute's. A leaf is its own child.
    table : ndarray of bool
        Which categories go left.
    leaf : ndarray of float, shape (nodes, 3)
        The leaves' values, ``exp(-scale * value)`` and its inverse.
    descent : Descent
        The same trees for many rows at a time; those that split on the attribute come first.
    depth, n_leaves : int
        The greatest depth of a tree, and the number of leaves.
    ranks : ndarray of int32, shape (rows, features)
        The table.
    player : ndarray of int32, shape (features,)
        Whose each feature is; -1 nobody's.
    n_players : int
        The number of players.
    contrasts, is_mean : ndarray of int, shape (contrasts, 2), bool
        Which values of the attribute are compared, and whether the risk is the mean of their gaps or the
        largest.
    base, scale, is_logistic : float, float, bool
        The output is ``base + scale * margin``, through the logistic function or as it is.
    """

    nodes: Codes
    table: Bools
    leaf: Floats
    descent: Descent
    depth: int
    n_leaves: int
    ranks: Codes
    player: Codes
    n_players: int
    contrasts: Ints
    is_mean: bool
    base: float
    scale: float
    is_logistic: bool


def make_walker(
    trees: Trees,
    is_sensitive: Bools,
    depth: int,
    ranks: Codes,
    player: Codes,
    n_players: int,
    contrasts: Ints,
    is_mean: bool,
    base: float,
    scale: float,
    is_logistic: bool,
) -> Walker:
    """Return the walker of an ensemble, some of whose features are the attribute's."""
    inner = trees.left >= 0
    nodes = np.zeros((len(trees.left), 8), dtype=np.int32)
    asks = inner & is_sensitive[trees.feature]
    nodes[:, FEATURE] = np.where(asks, ~trees.feature, trees.feature)
    nodes[:, _CUT] = trees.cut
    everyone = np.arange(len(trees.left))
    nodes[:, LEFT] = np.where(inner, trees.left, everyone)
    nodes[:, RIGHT] = np.where(inner, trees.right, everyone)
    nodes[:, _DEFAULT] = trees.default_left
    nodes[:, _TABLE] = trees.table_start
    with np.errstate(over="ignore"):
        odds, inverse = np.exp(-scale * trees.value), np.exp(scale * trees.value)
    return Walker(
        nodes=nodes,
        table=trees.table,
        leaf=np.column_stack([trees.value, odds, inverse]),
        descent=make_descent(trees, is_sensitive),
        depth=depth,
        n_leaves=int((~inner).sum()),
        ranks=ranks,
        player=player,
        n_players=n_players,
        contrasts=contrasts,
        is_mean=is_mean,
        base=base,
        scale=scale,
        is_logistic=is_logistic,
    )


@compiled
def goes_left(nodes: Codes, table: Bools, node: int, rank: int) -> bool:
    if rank < 0:
        return nodes[node, _DEFAULT] != 0  # type: ignore[no-any-return]
    if nodes[node, _TABLE] >= 0:
        return table[nodes[node, _TABLE] + rank]  # type: ignore[no-any-return]
    return rank <= nodes[node, _CUT]  # type: ignore[no-any-return]


# Arrays are handed on one by one: a named tuple's would be counted as used and unused at every step.
@compiled_into_its_caller
def _walk(
    nodes: Codes,
    table: Bools,
    leaf: Floats,
    player: Codes,
    root: int,
    x: Codes,
    r: Codes,
    switched: Codes,
    everyone: int,
    slot_of: Codes,
    active: Codes,
    q: int,
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    stack: Ints,
) -> tuple[int, int]:
    """Add the paths through a tree; return how many players and paths there are now.

    Where the two rows part, or two values of the attribute, both ways are taken. A player gets a slot when
    the rows part by it for the first time: one that never sends them different ways gets none.
    """
    top = 0
    stack[0, _NODE], stack[0, OWN], stack[0, OTHER], stack[0, MET] = root, 0, 0, everyone
    while top >= 0:
        node, own, other, met = stack[top, _NODE], stack[top, OWN], stack[top, OTHER], stack[top, MET]
        top -= 1
        while nodes[node, LEFT] != node:
            f = nodes[node, FEATURE]
            if f < 0:
                left = 0
                for a in range(len(switched)):
                    if met >> a & 1 and goes_left(nodes, table, node, switched[a, ~f]):
                        left |= 1 << a
                go = left != 0
                if left != 0 and left != met:
                    top += 1
                    stack[top, _NODE] = nodes[node, RIGHT]
                    stack[top, OWN], stack[top, OTHER], stack[top, MET] = own, other, met & ~left
                    met = left
            else:
                go = goes_left(nodes, table, node, x[f])
                if x[f] != r[f] and goes_left(nodes, table, node, r[f]) != go and player[f] >= 0:
                    s = slot_of[player[f]]
                    if s < 0:
                        if q == MOST_PLAYERS:
                            return q + 1, n_paths
                        s = q
                        slot_of[player[f]] = s
                        active[s] = player[f]
                        q += 1
                    bit = 1 << s
                    if other & bit:
                        go = not go
                    elif not own & bit:
                        top += 1
                        stack[top, _NODE] = nodes[node, RIGHT if go else LEFT]
                        stack[top, OWN], stack[top, OTHER], stack[top, MET] = own, other | bit, met
                        own |= bit
            node = nodes[node, LEFT if go else RIGHT]
        masks[n_paths, OWN], masks[n_paths, OTHER], masks[n_paths, MET] = own, other, met
        amounts[n_paths, VALUE] = leaf[node, VALUE]
        amounts[n_paths, ODDS], amounts[n_paths, INVERSE] = leaf[node, ODDS], leaf[node, INVERSE]
        n_paths += 1
    return q, n_paths


class Desk(NamedTuple):
    """What reading pairs works in.

    Parameters
    ----------
    leaves : ndarray of int32, shape (2, lines, BLOCK)
        The leaves of both rows of a block of pairs, as :func:`find_leaves` writes them.
    block : ndarray of int32, shape (features, BLOCK)
        The ranks of these rows.
    slot_of, active : ndarray of int32, shape (players,), (MOST_PLAYERS,)
        The slot of each player, -1 between pairs, and the player of each slot.
    masks, amounts : ndarray, shape (leaves, 3)
        The paths of a pair.
    stack : ndarray of int, shape (depth + 2, 4)
        The ways that are still to be taken through a tree.
    """

    leaves: Codes
    block: Codes
    slot_of: Codes
    active: Codes
    masks: Ints
    amounts: Floats
    stack: Ints


@compiled
def make_desk(walker: Walker, n_alternatives: int) -> Desk:
    """Return room for reading pairs, one after the other."""
    return Desk(
        np.empty((2, n_lines(walker.descent, n_alternatives), BLOCK), dtype=np.int32),
        np.empty((len(walker.player), BLOCK), dtype=np.int32),
        np.full(walker.n_players, -1, dtype=np.int32),
        np.empty(MOST_PLAYERS, dtype=np.int32),
        np.empty((walker.n_leaves, 3), dtype=np.int64),
        np.empty((walker.n_leaves, 3)),
        np.empty((walker.depth + 2, 4), dtype=np.int64),
    )


@compiled
def lay_out(walker: Walker, rows: Ints, references: Ints, switched: Codes, desk: Desk) -> None:
    """Find the leaves of both rows of at most BLOCK pairs."""
    find_leaves(walker.descent, walker.ranks, rows, switched, desk.block, desk.leaves[0])
    find_leaves(walker.descent, walker.ranks, references, switched, desk.block, desk.leaves[1])


@compiled
def collect(
    walker: Walker,
    row: int,
    reference: int,
    switched: Codes,
    desk: Desk,
    j: int,
) -> tuple[int, int, float, float, float]:
    """Write the paths of a pair; return how many players and paths there are, the rest, and a range.

    Both rows in the same leaf means that every coalition is: such a tree is not walked, and its leaf goes
    to the rest. The pair is the ``j``-th of those on the desk. There are no paths where the attribute makes
    no difference to any coalition: there is no risk then. The range is one in which the sum over the paths
    lies for every coalition.
    """
    x, r = walker.ranks[row], walker.ranks[reference]
    leaves, slot_of, active, stack = desk.leaves, desk.slot_of, desk.active, desk.stack
    masks, amounts = desk.masks, desk.amounts
    nodes, table, leaf, player = walker.nodes, walker.table, walker.leaf, walker.player
    roots, n_switching = walker.descent.roots, walker.descent.n_switching
    n_alternatives = len(switched)
    everyone = (1 << n_alternatives) - 1
    q, n, constant, low, high = 0, 0, 0.0, 0.0, 0.0
    differs = False
    for t in range(len(roots)):
        n_values = n_alternatives if t < n_switching else 1
        line = t * n_alternatives if t < n_switching else t + n_switching * (n_alternatives - 1)
        if t >= n_switching and not (differs and walker.is_logistic):
            break
        end = leaves[0, line, j]
        same = True
        for a in range(n_values):
            same &= leaves[0, line + a, j] == end and leaves[1, line + a, j] == end
        if same:
            constant += leaf[end, VALUE]
        elif q <= MOST_PLAYERS:
            known = n
            q, n = _walk(
                nodes,
                table,
                leaf,
                player,
                roots[t],
                x,
                r,
                switched,
                everyone,
                slot_of,
                active,
                q,
                masks,
                amounts,
                n,
                stack,
            )
            least, most = amounts[known, VALUE], amounts[known, VALUE]
            for k in range(known, n):
                differs |= masks[k, MET] != everyone
                least, most = min(least, amounts[k, VALUE]), max(most, amounts[k, VALUE])
            low += least
            high += most
    for s in range(min(q, MOST_PLAYERS)):
        slot_of[active[s]] = -1
    return q, n if differs else 0, constant, low, high
