"""Every coalition of a pair of rows through a tree ensemble, in one walk of each tree."""

from typing import NamedTuple

import numpy as np
from numba import njit

from fairshap._typing import Bools, Codes, Floats, Ints

# What a feature's slot says of it: that both rows go the same way, or that it is the attribute's.
SAME = -1
SENSITIVE = -2

# Constants of the exponential function: 1 / log 2, log 2 in two parts, and 1.5 * 2^52, after whose
# addition a number has no binary places left.
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDING = 6755399441055744.0
# The numbers whose exponentials are taken at a time: they stay in the fastest cache.
_BLOCK = 512
# The coalitions whose subset sums are taken at a time, likewise.
_BLOCK_SUMS = 2048


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


@njit(nogil=True, cache=True, error_model="numpy")
def _add(values: Floats, more: Floats) -> None:
    for k in range(len(values)):
        values[k] += more[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _raise_to_gap(
    risk: Floats, a: Floats, b: Floats, is_first: bool, is_logistic: bool, scale: float
) -> None:
    """Raise the risk to the gap between two outputs; the first gap is where it starts.

    Logistic outputs come as ``exp(-m)``, so that their difference takes one division; others as sums of
    leaves, whose base cancels.
    """
    if is_first:
        risk[:] = 0.0
    if is_logistic:
        for k in range(len(risk)):
            gap = abs(b[k] - a[k]) / ((1.0 + a[k]) * (1.0 + b[k]))
            risk[k] = gap if gap > risk[k] else risk[k]
    else:
        for k in range(len(risk)):
            gap = abs(scale * (b[k] - a[k]))
            risk[k] = gap if gap > risk[k] else risk[k]


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
    # Blocks that fit into the fastest cache are finished before the next is begun.
    block = min(size, _BLOCK_SUMS)
    for low in range(0, size, block):
        part = values[low : low + block]
        step = 1
        if block >= 8:
            _sums_of_eights(part)
            step = 8
        while step < block:
            _add_halves(part, step)
            step *= 2
    step = block
    while step < size:
        _add_halves(values, step)
        step *= 2


@njit(nogil=True, cache=True, error_model="numpy")
def _sums_of_eights(values: Floats) -> None:
    """Do the first three players in one go: their steps are too short to be worth a loop each."""
    for k in range(0, len(values), 8):
        a0, a1, a2, a3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        a4, a5, a6, a7 = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
        a1, a3, a5, a7 = a1 + a0, a3 + a2, a5 + a4, a7 + a6
        a2, a3, a6, a7 = a2 + a0, a3 + a1, a6 + a4, a7 + a5
        values[k + 1], values[k + 2], values[k + 3] = a1, a2, a3
        values[k + 4], values[k + 5] = a4 + a0, a5 + a1
        values[k + 6], values[k + 7] = a6 + a2, a7 + a3


@njit(nogil=True, cache=True, error_model="numpy")
def _add_halves(values: Floats, step: int) -> None:
    """Add to every coalition with one player the one without; the player is bit ``step``."""
    for start in range(0, len(values), 2 * step):
        # As two arrays, so that the compiler sees that they do not overlap.
        without, with_one = values[start : start + step], values[start + step : start + 2 * step]
        for k in range(step):
            with_one[k] += without[k]


@njit(nogil=True, cache=True, error_model="numpy")
def exponentials(values: Floats, base: float, scale: float, sums: Floats, powers: Floats) -> None:
    """Replace each value m by exp(-base - scale m), several at a time, with some room to work in.

    A call of the exponential function cannot be done for several numbers at once; this can. With n the
    nearest whole number to ``x / log 2``, ``exp(x) = 2^n exp(r)``, and r is small enough for twelve
    terms of its series to be right to the fourteenth digit. Adding a large constant leaves n in the low bits
    of the sum; moved into the exponent they are 2^n. Values beyond 350 count as 350: the logistic
    function has long reached its limit there.
    """
    for low in range(0, len(values), len(sums)):
        _exponential_block(
            values[low : low + len(sums)],
            base,
            scale,
            sums,
            powers,
            sums.view(np.int64),
            powers.view(np.int64),
        )


@njit(nogil=True, cache=True, error_model="numpy")
def _exponential_block(
    values: Floats,
    base: float,
    scale: float,
    sums: Floats,
    powers: Floats,
    sum_bits: Ints,
    power_bits: Ints,
) -> None:
    for k in range(len(values)):
        x = -(base + scale * values[k])
        x = -350.0 if x < -350.0 else x
        x = 350.0 if x > 350.0 else x
        values[k] = x
        sums[k] = x * _LOG2_E + _ROUNDING
    for k in range(len(values)):
        n = sums[k] - _ROUNDING
        r = (values[k] - n * _LN2_HIGH) - n * _LN2_LOW
        series = 1.0 / 39916800.0
        series = series * r + 1.0 / 3628800.0
        series = series * r + 1.0 / 362880.0
        series = series * r + 1.0 / 40320.0
        series = series * r + 1.0 / 5040.0
        series = series * r + 1.0 / 720.0
        series = series * r + 1.0 / 120.0
        series = series * r + 1.0 / 24.0
        series = series * r + 1.0 / 6.0
        series = series * r + 0.5
        series = series * r + 1.0
        values[k] = series * r + 1.0
        power_bits[k] = (sum_bits[k] + 1023) << 52
    for k in range(len(values)):
        values[k] *= powers[k]


# The order of these sums is left to the compiler: it is the same in every run and every thread.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _shapley_by_folding(values: Floats, joint: Floats, alone: Floats, phi: Floats) -> None:
    """Write the Shapley values of one game; ``values`` is used up.

    ``phi_k`` is the sum over the S with k of ``(w(|S| - 1) + w(|S|)) v(S)`` minus the sum over all S of
    ``w(|S|) v(S)``; ``joint`` and ``alone`` are those weights. The first sum is read off by folding
    the players away, the last one first.
    """
    rest = 0.0
    for k in range(len(values)):
        rest += alone[k] * values[k]
    for k in range(len(values)):
        values[k] *= joint[k]
    half = len(values) // 2
    for k in range(len(phi) - 1, -1, -1):
        lower, upper = values[:half], values[half : 2 * half]
        total = 0.0
        for j in range(half):
            total += upper[j]
        for j in range(half):
            lower[j] += upper[j]
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
    slot = np.empty(len(player), dtype=np.int32)
    slot_of = np.full(n_players, -1, dtype=np.int32)
    players = np.empty(most, dtype=np.int32)
    signed = np.empty((n_alternatives + 1, 1 << most))
    direct = np.zeros((n_alternatives + 1, 1 << most))
    risk = np.empty(1 << most)
    sums, powers = np.empty(_BLOCK), np.empty(_BLOCK)
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
            _add(outputs, signed[n_alternatives, :size])
            _subset_sums(outputs)
            if used_direct:
                _add(outputs, direct[a, :size])
                _add(outputs, direct[n_alternatives, :size])
            if is_logistic:
                exponentials(outputs, base, scale, sums, powers)
        for c in range(len(contrasts)):
            one_output, other_output = signed[contrasts[c, 0], :size], signed[contrasts[c, 1], :size]
            _raise_to_gap(risk[:size], one_output, other_output, c == 0, is_logistic, scale)
        empty[i], full[i] = risk[0], risk[size - 1]
        _shapley_by_folding(risk[:size], joint[:size], alone[:size], one[:q])
        for s in range(q):
            phi[i, players[s]] = one[s]
        if used_direct:
            direct[:, :size] = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
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
    coalitions: Ints,
    active: Codes,
    risks: Floats,
) -> None:
    """Write the risk of given coalitions, one row through the trees for each.

    The parameters are those of :func:`attribute_trees`, and:

    coalitions : ndarray of int, shape (coalitions,)
        Bit k is whether a pair's active player k keeps the row's value.
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
                        elif s == SAME or coalitions[c] >> s & 1:
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
