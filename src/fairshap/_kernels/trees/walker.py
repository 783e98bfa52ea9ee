"""Pairs of rows through the trees of an ensemble: the paths of their coalitions, and what they give."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_into_its_caller
from fairshap._kernels.trees.ensemble import BLOCK, POSITIVE, Descent, Trees, find_partings, make_descent
from fairshap._kernels.trees.games import INVERSE, MET, MOST_PLAYERS, ODDS, OTHER, OWN, VALUE
from fairshap._typing import Bools, Codes, Floats, Ints

# Where a node's properties stand; they are read together, so that they are kept together.
LINE, BOUND, LEFT, RIGHT = range(4)
# The column of the stack beside those of a path.
_NODE = 3


class Walker(NamedTuple):
    """An ensemble, a table and an attribute as the kernels take them.

    Parameters
    ----------
    nodes : ndarray of int32, shape (nodes, 4)
        A node's line and bound, as in ``Descent``, and its children; the complement of the line where its
        feature is the attribute's. A leaf is its own child.
    table_start, table : ndarray
        Which categories go left, as in ``Trees``.
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
    table_start: Codes
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
    descent = make_descent(trees, is_sensitive)
    nodes = np.empty((len(trees.left), 4), dtype=np.int32)
    asks = inner & is_sensitive[trees.feature]
    line = descent.line.astype(np.int32)
    nodes[:, LINE] = np.where(asks, ~line, line)
    nodes[:, BOUND] = descent.bound
    nodes[:, LEFT], nodes[:, RIGHT] = descent.child[::2], descent.child[1::2]
    with np.errstate(over="ignore"):
        odds, inverse = np.exp(-scale * trees.value), np.exp(scale * trees.value)
    return Walker(
        nodes=nodes,
        table_start=trees.table_start,
        table=trees.table,
        leaf=np.column_stack([trees.value, odds, inverse]),
        descent=descent,
        depth=int(descent.depth.max()),
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
def goes_right(line: int, bound: int, start: int, table: Bools, rank: int) -> bool:
    if start >= 0 and rank >= 0:
        return not table[start + rank]
    return (rank + (line & 1)) & POSITIVE > bound


# Arrays are handed on one by one: a named tuple's would be counted as used and unused at every step.
@compiled_into_its_caller
def _walk(
    nodes: Codes,
    starts: Codes,
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
    """Add the paths from a node on; return how many players and paths there are now.

    Where the two rows part, or two values of the attribute, both ways are taken. A player gets a slot when
    the rows part by it for the first time: one that never sends them different ways gets none.
    """
    top = 0
    stack[0, _NODE], stack[0, OWN], stack[0, OTHER], stack[0, MET] = root, 0, 0, everyone
    while top >= 0:
        node, own, other, met = stack[top, _NODE], stack[top, OWN], stack[top, OTHER], stack[top, MET]
        top -= 1
        while nodes[node, LEFT] != node:
            line, bound = nodes[node, LINE], nodes[node, BOUND]
            start = starts[node] if len(table) else -1
            if line < 0:
                line = ~line
                right = 0
                for a in range(len(switched)):
                    if goes_right(line, bound, start, table, switched[a, line >> 1]):
                        right |= 1 << a
                right &= met
                goes = right != 0
                if right != 0 and right != met:
                    top += 1
                    stack[top, _NODE] = nodes[node, LEFT]
                    stack[top, OWN], stack[top, OTHER], stack[top, MET] = own, other, met & ~right
                    met = right
            else:
                f = line >> 1
                goes = goes_right(line, bound, start, table, x[f])
                if goes_right(line, bound, start, table, r[f]) != goes and player[f] >= 0:
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
                        goes = not goes
                    elif not own & bit:
                        top += 1
                        stack[top, _NODE] = nodes[node, RIGHT - int(goes)]
                        stack[top, OWN], stack[top, OTHER], stack[top, MET] = own, other | bit, met
                        own |= bit
            node = nodes[node, LEFT + int(goes)]
        masks[n_paths, OWN], masks[n_paths, OTHER], masks[n_paths, MET] = own, other, met
        amounts[n_paths, VALUE] = leaf[node, VALUE]
        amounts[n_paths, ODDS], amounts[n_paths, INVERSE] = leaf[node, ODDS], leaf[node, INVERSE]
        n_paths += 1
    return q, n_paths


class Desk(NamedTuple):
    """What reading pairs works in.

    Parameters
    ----------
    partings : ndarray of int32, shape (trees, BLOCK)
        Where the rows of each pair of a block part, as :func:`find_partings` writes it.
    blocks : ndarray of int32, shape (2, 2 features, BLOCK)
        The ranks of these rows.
    slot_of, active : ndarray of int32, shape (players,), (MOST_PLAYERS,)
        The slot of each player, -1 between pairs, and the player of each slot.
    masks, amounts : ndarray, shape (leaves, 3)
        The paths of a pair.
    stack : ndarray of int, shape (depth + 2, 4)
        The ways that are still to be taken through a tree.
    """

    partings: Codes
    blocks: Codes
    slot_of: Codes
    active: Codes
    masks: Ints
    amounts: Floats
    stack: Ints


@compiled
def make_desk(walker: Walker) -> Desk:
    """Return room for reading pairs, one after the other."""
    return Desk(
        np.empty((_n_trees(walker), BLOCK), dtype=np.int32),
        np.empty((2, 2 * len(walker.player), BLOCK), dtype=np.int32),
        np.full(walker.n_players, -1, dtype=np.int32),
        np.empty(MOST_PLAYERS, dtype=np.int32),
        np.empty((walker.n_leaves, 3), dtype=np.int64),
        np.empty((walker.n_leaves, 3)),
        np.empty((walker.depth + 2, 4), dtype=np.int64),
    )


@compiled
def _n_trees(walker: Walker) -> int:
    """Return how many trees matter: without a link, those that split on the attribute."""
    return len(walker.descent.roots) if walker.is_logistic else walker.descent.n_switching


@compiled
def lay_out(walker: Walker, rows: Ints, references: Ints, desk: Desk) -> None:
    """Find where the rows of at most BLOCK pairs part."""
    find_partings(
        walker.descent, _n_trees(walker), walker.ranks, rows, references, desk.blocks, desk.partings
    )


@compiled
def collect(
    walker: Walker,
    row: int,
    reference: int,
    switched: Codes,
    desk: Desk,
    j: int,
    q: int,
    needs_level: bool,
) -> tuple[int, int, float, float, float]:
    """Write the paths of a pair; return how many players and paths there are, the rest, and a range.

    The desk's first q players have their slots already. A tree is walked from where the rows part. Where
    they do not, or where all coalitions end in one leaf, that leaf goes to the rest. The pair is the
    ``j``-th of those on the desk. There are no paths where the attribute makes no difference to any
    coalition: there is no risk then, unless the level is needed by itself. The range is one in which the sum
    over the paths lies for every coalition.
    """
    x, r = walker.ranks[row], walker.ranks[reference]
    partings, slot_of, active, stack = desk.partings, desk.slot_of, desk.active, desk.stack
    masks, amounts = desk.masks, desk.amounts
    nodes, starts, table, leaf, player = (
        walker.nodes,
        walker.table_start,
        walker.table,
        walker.leaf,
        walker.player,
    )
    n_switching = walker.descent.n_switching
    everyone = (1 << len(switched)) - 1
    n, constant, low, high = 0, 0.0, 0.0, 0.0
    differs = needs_level
    for t in range(len(partings)):
        if t >= n_switching and not differs:
            break
        node = partings[t, j]
        if nodes[node, LEFT] == node:
            constant += leaf[node, VALUE]
        elif q <= MOST_PLAYERS:
            known = n
            q, n = _walk(
                nodes,
                starts,
                table,
                leaf,
                player,
                node,
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
            if n == known + 1:
                constant += amounts[known, VALUE]
                n = known
                continue
            least, most = np.inf, -np.inf
            for k in range(known, n):
                differs |= masks[k, MET] != everyone
                least, most = min(least, amounts[k, VALUE]), max(most, amounts[k, VALUE])
            low += least
            high += most
    for s in range(min(q, MOST_PLAYERS)):
        slot_of[active[s]] = -1
    return q, n if differs else 0, constant, low, high
