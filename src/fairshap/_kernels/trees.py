"""Every coalition of a pair of rows through a tree ensemble, in one walk of each tree."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

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


@njit(nogil=True, cache=True, error_model="numpy")
def _goes_left(trees: Trees, node: int, rank: int) -> bool:
    if rank < 0:
        return trees.default_left[node]  # type: ignore[no-any-return]
    if trees.table_start[node] >= 0:
        return trees.table[trees.table_start[node] + rank]  # type: ignore[no-any-return]
    return rank <= trees.cut[node]  # type: ignore[no-any-return]


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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
) -> None:
    """Add one tree's leaves to the coalitions that reach them.

    Where the two rows part, both ways are taken: ``own`` are the players who must keep the row's value
    to come this way, ``other`` those who must take the reference's. A leaf counts for the coalitions S
    with ``own`` inside S and ``other`` outside.
    """
    top = 0
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


@njit(nogil=True, cache=True, error_model="numpy")
def _count(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _subset_sums(values: Floats) -> None:
    """Replace the value of each coalition by the sum over its subsets."""
    size = len(values)
    step = 1
    while step < size:
        for start in range(0, size, 2 * step):
            for k in range(start, start + step):
                values[k + step] += values[k]
        step *= 2


@njit(nogil=True, cache=True, error_model="numpy")
def _shapley_by_folding(values: Floats, sizes: Codes, weights: Floats, phi: Floats) -> None:
    """Write the Shapley values of one game; ``values`` is used up.

    ``phi_k`` is the sum over the S with k of ``(w(|S| - 1) + w(|S|)) v(S)`` minus the sum over all S of
    ``w(|S|) v(S)``; the first is read off by folding the players away, the last one first.
    """
    q = len(phi)
    rest = 0.0
    for k in range(len(values)):
        n = sizes[k]
        rest += weights[n + 1] * values[k]
        values[k] *= weights[n] + weights[n + 1]
    half = len(values) // 2
    for k in range(q - 1, -1, -1):
        total = 0.0
        for j in range(half):
            total += values[half + j]
            values[j] += values[half + j]
        phi[k] = total - rest
        half //= 2


@njit(nogil=True, cache=True, error_model="numpy")
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
    n_features = len(player)
    slot = np.empty(n_features, dtype=np.int32)
    slot_of = np.full(n_players, -1, dtype=np.int32)
    players = np.empty(most, dtype=np.int32)
    signed = np.empty((n_alternatives + 1, 1 << most))
    direct = np.empty((n_alternatives + 1, 1 << most))
    risk = np.empty(1 << most)
    one = np.empty(most)
    node_stack = np.empty(depth + 2, dtype=np.int32)
    own_stack = np.empty(depth + 2, dtype=np.int64)
    other_stack = np.empty(depth + 2, dtype=np.int64)
    for i in range(len(rows)):
        x, r = ranks[rows[i]], ranks[references[i]]
        alternatives = switched[i if len(switched) > 1 else 0]
        q = 0
        for f in range(n_features):
            p = player[f]
            if is_sensitive[f]:
                slot[f] = SENSITIVE
            elif p < 0 or x[f] == r[f]:
                slot[f] = SAME
            else:
                if slot_of[p] < 0:
                    slot_of[p] = q
                    players[q] = p
                    q += 1
                slot[f] = slot_of[p]
        size = 1 << q
        signed[:, :size] = 0.0
        direct[:, :size] = 0.0
        for t in range(len(trees.roots)):
            # A tree that never asks for the attribute is the same for all its values.
            first, last = (0, n_alternatives) if switching[t] else (n_alternatives, n_alternatives + 1)
            for a in range(first, last):
                _walk(
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
            for k in range(size):
                signed[a, k] += signed[n_alternatives, k]
            _subset_sums(signed[a, :size])
            for k in range(size):
                m = base + scale * (signed[a, k] + direct[a, k] + direct[n_alternatives, k])
                signed[a, k] = 1.0 / (1.0 + math.exp(-m)) if is_logistic else m
        for k in range(size):
            risk[k] = 0.0
        for c in range(len(contrasts)):
            a, b = contrasts[c]
            for k in range(size):
                risk[k] = max(risk[k], abs(signed[a, k] - signed[b, k]))
        empty[i], full[i] = risk[0], risk[size - 1]
        _shapley_by_folding(risk[:size], sizes, weights[q], one[:q])
        for s in range(q):
            phi[i, players[s]] = one[s]
            slot_of[players[s]] = -1
