"""Pairs of rows through the trees of an ensemble: the paths of their coalitions, and what they give.

A path says which players must keep the row's values and which must take the reference's, and which values
of the attribute come along it; the output of a coalition is the sum over the paths open to it. Paths come
as two arrays: ``masks`` holds those three as bits, ``amounts`` the path's value,
``exp(-scale * value)`` and its inverse.
"""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import inlined, inner
from fairshap._kernels.trees.ensemble import BLOCK, POSITIVE, Walker, Ways, find_partings
from fairshap._typing import Bools, Codes, Floats, Ints

# A coalition is the bits of one number.
MOST_PLAYERS = 62
# The columns of the two arrays of paths.
OWN, OTHER, MET = range(3)
VALUE, ODDS, INVERSE = range(3)
# The columns of a walker's nodes, and that of the stack beside those of a path.
LINE, BOUND, LEFT, RIGHT = range(4)
_NODE = 3


@inner
def goes_right(line: int, bound: int, start: int, table: Bools, rank: int) -> bool:
    if start >= 0 and rank >= 0:
        return not table[start + rank]
    return (rank + (line & 1)) & POSITIVE > bound


# Arrays are handed on one by one: a named tuple's would be counted as used and unused at every step.
@inlined
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
            asked, bound = nodes[node, LINE], nodes[node, BOUND]
            line, start = asked if asked >= 0 else ~asked, starts[node] if len(table) else -1
            if asked < 0:
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
    """What reading pairs works in."""

    #: shape (players,): the slot of each player, -1 between pairs
    slot_of: Codes
    #: shape (MOST_PLAYERS,): the player of each slot
    active: Codes
    #: shape (leaves, 3): the paths of a pair
    masks: Ints
    amounts: Floats
    #: shape (depth + 2, 4): the ways that are still to be taken through a tree
    stack: Ints


class Pairs(NamedTuple):
    """Pairs of rows of a walker's table, and what reading them takes."""

    ways: Ways
    desk: Desk
    #: shape (blocks, trees, BLOCK): where the rows of each pair part, as ``find_partings`` returns it
    partings: Codes
    #: shape (pairs,): positions in the table
    rows: Ints
    references: Ints
    #: shape (pairs or 1, alternatives, features): the attribute's ranks for the values that are compared
    switched: Codes


def make_pairs(walker: Walker, rows: Ints, references: Ints, switched: Codes) -> Pairs:
    """Return pairs to be read, one after the other."""
    desk = Desk(
        np.full(walker.n_players, -1, dtype=np.int32),
        np.empty(MOST_PLAYERS, dtype=np.int32),
        np.empty((walker.n_leaves, 3), dtype=np.int64),
        np.empty((walker.n_leaves, 3)),
        np.empty((walker.depth + 2, 4), dtype=np.int64),
    )
    partings = find_partings(walker.descent, walker.n_trees, walker.ways.ranks, rows, references)
    return Pairs(walker.ways, desk, partings, rows, references, switched)


@inner
def read_pair(pairs: Pairs, i: int, q: int, needs_level: bool) -> tuple[int, int, float, float, float]:
    """Write the paths of pair i; return how many players and paths there are, the rest, and a range.

    A tree is walked from where the rows part. Where they do not, or where
    all coalitions end in one leaf, that leaf goes to the rest. There are no paths where the attribute makes
    no difference to any coalition, and no risk then, unless the level is needed by itself. The sum over the
    paths is in the range for every coalition. The first q players have their slots on the desk already.
    """
    ways, desk, partings, switched = pairs.ways, pairs.desk, pairs.partings, pairs.switched
    slot_of, active, masks, amounts = desk.slot_of, desk.active, desk.masks, desk.amounts
    nodes, leaf = ways.nodes, ways.leaf
    x, r = ways.ranks[pairs.rows[i]], ways.ranks[pairs.references[i]]
    values = switched[i if len(switched) > 1 else 0]
    everyone = (1 << len(values)) - 1
    n, constant, low, high = 0, 0.0, 0.0, 0.0
    differs = needs_level
    for t in range(partings.shape[1]):
        if t >= ways.n_switching and not differs:
            break
        node = partings[i // BLOCK, t, i % BLOCK]
        if nodes[node, LEFT] == node:
            constant += leaf[node, VALUE]
        elif q <= MOST_PLAYERS:
            known = n
            q, n = _walk(
                nodes, ways.table_start, ways.table, leaf, ways.player, node, x, r, values, everyone,
                slot_of, active, q, masks, amounts, n, desk.stack,
            )  # fmt: skip
            if n == known + 1:
                constant += amounts[known, VALUE]
                n = known
                continue
            least, most = np.inf, -np.inf
            for k in range(known, n):
                differs |= masks[k, MET] != everyone
                value = amounts[k, VALUE]
                least, most = value if value < least else least, value if value > most else most
            low += least
            high += most
    for s in range(q if q < MOST_PLAYERS else MOST_PLAYERS):
        slot_of[active[s]] = -1
    return q, n if differs else 0, constant, low, high
