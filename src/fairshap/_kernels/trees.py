"""Every coalition of a pair of rows through a tree ensemble, in one walk of each tree."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.games import (
    EXPONENTIALS,
    add_values,
    exponentials,
    raise_to_gap,
    shapley_by_folding,
    subset_sums,
)
from fairshap._typing import Bools, Codes, Floats, Ints

# What a feature's slot says of it: that both rows go the same way, or that it is the attribute's.
SAME = -1
SENSITIVE = -2


class Trees(NamedTuple):
    """An ensemble as flat arrays, one entry for each node; rows come as ranks.

    A row goes left if its rank is at most the node's ``cut``, or if the node's ``table`` says so for a
    category; a rank below 0 is a missing value.
    """

    roots: Codes
    feature: Codes
    cut: Codes
    left: Codes
    right: Codes
    default_left: Bools
    table_start: Codes
    table: Bools
    value: Floats


@compiled
def _goes_left(trees: Trees, node: int, rank: int) -> bool:
    if rank < 0:
        return trees.default_left[node]  # type: ignore[no-any-return]
    if trees.table_start[node] >= 0:
        return trees.table[trees.table_start[node] + rank]  # type: ignore[no-any-return]
    return rank <= trees.cut[node]  # type: ignore[no-any-return]


@compiled
def margins(trees: Trees, ranks: Codes) -> Floats:
    """Return the sum of the leaves that each row reaches."""
    total = np.zeros(len(ranks))
    for i in range(len(ranks)):
        for root in trees.roots:
            node = root
            while trees.left[node] >= 0:
                rank = ranks[i, trees.feature[node]]
                node = trees.left[node] if _goes_left(trees, node, rank) else trees.right[node]
            total[i] += trees.value[node]
    return total


@compiled
def active_counts(ranks: Codes, rows: Ints, references: Ints, player: Codes, n_players: int) -> Codes:
    """Return how many players send the two rows of each pair different ways; -1 is nobody's feature."""
    counts = np.zeros(len(rows), dtype=np.int32)
    seen = np.full(n_players, -1, dtype=np.int64)
    for i in range(len(rows)):
        x, r = ranks[rows[i]], ranks[references[i]]
        for f in range(len(player)):
            p = player[f]
            if x[f] != r[f] and p >= 0 and seen[p] != i:
                seen[p] = i
                counts[i] += 1
    return counts


@compiled
def _assign_slots(
    x: Codes,
    r: Codes,
    player: Codes,
    is_sensitive: Bools,
    slot: Codes,
    slot_of: Codes,
    active: Codes,
) -> int:
    """Return how many players are active; write each feature's slot and each slot's player.

    ``slot_of``, room to work in, holds -1 for each player, before and after.
    """
    q = 0
    for f in range(len(player)):
        p = player[f]
        if is_sensitive[f]:
            slot[f] = SENSITIVE
        elif p < 0 or x[f] == r[f]:
            slot[f] = SAME
        else:
            if slot_of[p] < 0:
                slot_of[p] = q
                active[q] = p
                q += 1
            slot[f] = slot_of[p]
    for k in range(q):
        slot_of[active[k]] = -1
    return q


@compiled
def _walk(
    trees: Trees,
    root: int,
    x: Codes,
    r: Codes,
    slot: Codes,
    switched: Codes,
    everyone: int,
    signed: Floats,
    direct: Floats,
    node_stack: Codes,
    own_stack: Ints,
    other_stack: Ints,
) -> bool:
    """Add one tree's leaves to the coalitions that reach them; return whether ``direct`` was used.

    Where the two rows part, both ways are taken: ``own`` are the players who must keep the row's value
    to come this way, ``other`` those who must take the reference's. A leaf counts for the coalitions S
    with ``own`` inside S and ``other`` outside.
    """
    top = 0
    used_direct = False
    node_stack[0], own_stack[0], other_stack[0] = root, 0, 0
    while top >= 0:
        node, own, other = node_stack[top], own_stack[top], other_stack[top]
        top -= 1
        while trees.left[node] >= 0:
            f = trees.feature[node]
            s = slot[f]
            if s == SENSITIVE:
                go = _goes_left(trees, node, switched[f])
            elif s == SAME:
                go = _goes_left(trees, node, x[f])
            else:
                bit = 1 << s
                go = _goes_left(trees, node, r[f] if other & bit else x[f])
                if not (own | other) & bit and _goes_left(trees, node, r[f]) != go:
                    top += 1
                    node_stack[top] = trees.right[node] if go else trees.left[node]
                    own_stack[top], other_stack[top] = own, other | bit
                    own |= bit
            node = trees.left[node] if go else trees.right[node]
        w = trees.value[node]
        free = everyone & ~(own | other)
        if _count(free) < _count(other):
            part = free
            used_direct = True
            while True:
                direct[own | part] += w
                if part == 0:
                    break
                part = (part - 1) & free
        else:
            # Inclusion and exclusion: the subset sums that follow cancel w wherever one of other takes part.
            part = other
            while True:
                signed[own | part] += -w if _count(part) & 1 else w
                if part == 0:
                    break
                part = (part - 1) & other
    return used_direct


@compiled
def _count(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@compiled
def attribute_trees(
    trees: Trees,
    switching: Bools,
    ranks: Codes,
    rows: Ints,
    references: Ints,
    switched: Codes,
    contrasts: Ints,
    player: Codes,
    is_sensitive: Bools,
    n_players: int,
    base: float,
    scale: float,
    is_logistic: bool,
    depth: int,
    most: int,
    sizes: Codes,
    weights: Floats,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Write the exact Shapley values of the risk of each pair.

    Parameters
    ----------
    trees : Trees
        The ensemble.
    switching : ndarray of bool, shape (trees,)
        Which trees split on the sensitive attribute.
    ranks : ndarray of int32, shape (table rows, features)
        The table as ranks.
    rows, references : ndarray of int, shape (pairs,)
        Positions in it.
    switched : ndarray of int32, shape (pairs or 1, alternatives, features)
        The ranks of the attribute's features for the values that it is switched between.
    contrasts : ndarray of int, shape (contrasts, 2)
        Which alternatives are compared.
    player : ndarray of int32, shape (features,)
        Whose each feature is.
    base, scale, is_logistic : float, float, bool
        The output is ``base + scale * margin``, through the logistic function or as it is.
    depth, most : int
        The greatest depth of a tree, and the greatest number of active players of a pair.
    sizes, weights : ndarray
        The sizes of the coalitions, shape (2^most,), and for each q the Shapley weights by size,
        shifted by one, shape (most + 1, most + 2).
    phi, full, empty : ndarray, shape (pairs, players), (pairs,), (pairs,)
        Written.
    """
    n_alternatives = switched.shape[1]
    slot = np.empty(len(player), dtype=np.int32)
    slot_of = np.full(n_players, -1, dtype=np.int32)
    players = np.empty(most, dtype=np.int32)
    signed = np.empty((n_alternatives + 1, 1 << most))
    direct = np.zeros((n_alternatives + 1, 1 << most))
    risk = np.empty(1 << most)
    sums, powers = np.empty(EXPONENTIALS), np.empty(EXPONENTIALS)
    joint, alone = np.empty(1 << most), np.empty(1 << most)
    weighted = -1
    one = np.empty(most)
    node_stack = np.empty(depth + 2, dtype=np.int32)
    own_stack = np.empty(depth + 2, dtype=np.int64)
    other_stack = np.empty(depth + 2, dtype=np.int64)
    for i in range(len(rows)):
        x, r = ranks[rows[i]], ranks[references[i]]
        alternatives = switched[i if len(switched) > 1 else 0]
        q = _assign_slots(x, r, player, is_sensitive, slot, slot_of, players)
        size = 1 << q
        signed[:, :size] = 0.0
        used_direct = False
        if q != weighted:
            weighted = q
            for k in range(size):
                joint[k] = weights[q, sizes[k]] + weights[q, sizes[k] + 1]
                alone[k] = weights[q, sizes[k] + 1]
        for t in range(len(trees.roots)):
            # A tree that never asks for the attribute is the same for all its values.
            first, last = (0, n_alternatives) if switching[t] else (n_alternatives, n_alternatives + 1)
            for a in range(first, last):
                used_direct |= _walk(
                    trees,
                    trees.roots[t],
                    x,
                    r,
                    slot,
                    alternatives[a % n_alternatives],
                    size - 1,
                    signed[a],
                    direct[a],
                    node_stack,
                    own_stack,
                    other_stack,
                )
        for a in range(n_alternatives):
            outputs = signed[a, :size]
            add_values(outputs, signed[n_alternatives, :size])
            subset_sums(outputs)
            if used_direct:
                add_values(outputs, direct[a, :size])
                add_values(outputs, direct[n_alternatives, :size])
            if is_logistic:
                exponentials(outputs, base, scale, sums, powers)
        for c in range(len(contrasts)):
            one_output, other_output = signed[contrasts[c, 0], :size], signed[contrasts[c, 1], :size]
            raise_to_gap(risk[:size], one_output, other_output, c == 0, is_logistic, scale)
        empty[i], full[i] = risk[0], risk[size - 1]
        shapley_by_folding(risk[:size], joint[:size], alone[:size], one[:q])
        for s in range(q):
            phi[i, players[s]] = one[s]
        if used_direct:
            direct[:, :size] = 0.0


@compiled
def coalition_risks(
    trees: Trees,
    switching: Bools,
    ranks: Codes,
    rows: Ints,
    references: Ints,
    switched: Codes,
    contrasts: Ints,
    player: Codes,
    is_sensitive: Bools,
    n_players: int,
    base: float,
    scale: float,
    is_logistic: bool,
    coalitions: Bools,
    active: Codes,
    risks: Floats,
) -> None:
    """Write the risk of given coalitions, one row through the trees for each.

    The parameters are those of :func:`attribute_trees`, and:

    coalitions : ndarray of bool, shape (coalitions, q)
        Whether a pair's active player k keeps the row's value.
    active, risks : ndarray, shape (pairs, q), (pairs, coalitions)
        Written: who player k is, and the risks. All pairs have q active players.
    """
    n_alternatives = switched.shape[1]
    slot = np.empty(len(player), dtype=np.int32)
    slot_of = np.full(n_players, -1, dtype=np.int32)
    outputs = np.empty(n_alternatives)
    for i in range(len(rows)):
        x, r = ranks[rows[i]], ranks[references[i]]
        alternatives = switched[i if len(switched) > 1 else 0]
        _assign_slots(x, r, player, is_sensitive, slot, slot_of, active[i])
        for c in range(len(coalitions)):
            outputs[:] = 0.0
            shared = 0.0
            for t in range(len(trees.roots)):
                for a in range(n_alternatives if switching[t] else 1):
                    node = trees.roots[t]
                    while trees.left[node] >= 0:
                        f = trees.feature[node]
                        s = slot[f]
                        if s == SENSITIVE:
                            rank = alternatives[a, f]
                        elif s == SAME or coalitions[c, s]:
                            rank = x[f]
                        else:
                            rank = r[f]
                        node = trees.left[node] if _goes_left(trees, node, rank) else trees.right[node]
                    if switching[t]:
                        outputs[a] += trees.value[node]
                    else:
                        shared += trees.value[node]
            for a in range(n_alternatives):
                m = base + scale * (outputs[a] + shared)
                outputs[a] = 1.0 / (1.0 + np.exp(-m)) if is_logistic else m
            risk = 0.0
            for k in range(len(contrasts)):
                risk = max(risk, abs(outputs[contrasts[k, 0]] - outputs[contrasts[k, 1]]))
            risks[i, c] = risk
